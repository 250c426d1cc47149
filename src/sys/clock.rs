//! The one clock, and how times are told.

use std::time::SystemTime;

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};

use crate::error::{Error, Result};

/// A moment.
pub type Time = DateTime<Utc>;

/// The moment this command runs at; `GIT_SANDBOX_NOW` (RFC 3339) sets it for tests.
pub fn now() -> Result<Time> {
    const KEY: &str = "GIT_SANDBOX_NOW";
    let Some(value) = std::env::var_os(KEY) else {
        #[expect(clippy::disallowed_methods, reason = "the one clock")]
        return Ok(SystemTime::now().into());
    };
    let value = value.to_string_lossy();
    DateTime::parse_from_rfc3339(&value).map(|time| time.to_utc()).map_err(|_| Error::Config {
        key: KEY.into(),
        value: value.into_owned(),
        wanted: "it must be a time such as 2026-01-31T12:00:00Z",
    })
}

/// RFC 3339, to the second.
pub fn rfc3339(time: Time) -> String {
    time.to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// RFC 3339, exact enough to tell what came first; texts sort as the times do.
pub fn exactly(time: Time) -> String {
    time.to_rfc3339_opts(SecondsFormat::Micros, true)
}

/// To the second, for JSON; null where there is no time.
#[expect(clippy::ref_option, reason = "serde calls it so")]
pub fn as_rfc3339<S: serde::Serializer>(time: &Option<Time>, to: S) -> Result<S::Ok, S::Error> {
    serde::Serialize::serialize(&time.map(rfc3339), to)
}

/// A second of the times that supervisors wait. Debug builds can be told another length in
/// milliseconds, for the tests.
pub fn second() -> TimeDelta {
    #[cfg(debug_assertions)]
    if let Some(length) =
        std::env::var("GIT_SANDBOX_SECOND").ok().and_then(|text| text.parse().ok())
    {
        return TimeDelta::milliseconds(length);
    }
    TimeDelta::seconds(1)
}
