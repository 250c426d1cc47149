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

/// `3 days ago`
pub fn ago(then: Time, now: Time) -> String {
    match amount(now - then) {
        None => "just now".into(),
        Some(amount) => format!("{amount} ago"),
    }
}

/// `in 87 days`, or `now` when it has passed.
pub fn ahead(then: Time, now: Time) -> String {
    // Rounded up: what is due in 89 days and 20 hours was promised 90 days.
    let left = then - now;
    let day = TimeDelta::days(1);
    let left = if left > day {
        TimeDelta::days((left + day - TimeDelta::seconds(1)).num_days())
    } else {
        left
    };
    amount(left).map_or_else(|| "now".into(), |amount| format!("in {amount}"))
}

fn amount(span: TimeDelta) -> Option<String> {
    let (count, unit) = match span.num_seconds() {
        ..60 => return None,
        60..3600 => (span.num_minutes(), "minute"),
        3600..86_400 => (span.num_hours(), "hour"),
        _ => (span.num_days(), "day"),
    };
    Some(counted(count.unsigned_abs(), unit))
}

/// `1 day`, `2 days`
pub fn counted(count: u64, unit: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {unit}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_told_in_their_largest_unit() {
        let now = DateTime::from_timestamp(1_000_000_000, 0).unwrap();
        let past = |seconds| ago(now - TimeDelta::seconds(seconds), now);
        assert_eq!(past(-5), "just now");
        assert_eq!(past(59), "just now");
        assert_eq!(past(60), "1 minute ago");
        assert_eq!(past(7199), "1 hour ago");
        assert_eq!(past(86_400 * 3), "3 days ago");
        let future = |seconds| ahead(now + TimeDelta::seconds(seconds), now);
        assert_eq!(future(-1), "now");
        assert_eq!(future(3600), "in 1 hour");
        assert_eq!(future(86_400 * 90 - 5), "in 90 days");
        assert_eq!(future(86_400 * 90), "in 90 days");
        assert_eq!(future(86_400 + 1), "in 2 days");
    }
}
