//! How long an unused sandbox is kept.

use chrono::TimeDelta;

use crate::error::{Error, Result};
use crate::git::config::Config;
use crate::sandbox::Class;
use crate::sys::clock::Time;

/// The periods in force; `None` is never.
#[derive(Clone, Copy, Debug)]
pub struct Retention {
    transient: Option<TimeDelta>,
    persistent: Option<TimeDelta>,
    orphan: Option<TimeDelta>,
}

impl Retention {
    /// The environment's periods, else the config's, else 30 and 90 days. A bad value is an error.
    pub fn read(config: &Config) -> Result<Retention> {
        let period = |variable: &str, key: &str, default| {
            let variable_value = std::env::var_os(variable);
            match (variable_value, config.get(&key.to_lowercase())) {
                (Some(value), _) => days(variable, &value.to_string_lossy()),
                (None, Some(value)) => days(key, value),
                (None, None) => Ok(default),
            }
        };
        let transient = Some(TimeDelta::days(30));
        let persistent = Some(TimeDelta::days(90));
        let transient =
            period("GIT_SANDBOX_HEADLESS_EXPIRY_DAYS", "sandbox.headlessExpiryDays", transient)?;
        let persistent =
            period("GIT_SANDBOX_BRANCH_EXPIRY_DAYS", "sandbox.branchExpiryDays", persistent)?;
        let orphan =
            period("GIT_SANDBOX_ORPHAN_EXPIRY_DAYS", "sandbox.orphanExpiryDays", persistent)?;
        Ok(Retention { transient, persistent, orphan })
    }

    /// When a sandbox of this class, last used then, becomes stale.
    pub fn expires(&self, class: Class, last_used: Time) -> Option<Time> {
        let period = match class {
            Class::Transient => self.transient,
            Class::Persistent => self.persistent,
            Class::Orphan => self.orphan,
        };
        last_used.checked_add_signed(period?)
    }
}

/// How long what was removed is kept where; `None` is for ever.
#[derive(Clone, Copy, Debug)]
pub struct AfterRemoval {
    /// In the trash, before it is put away: `sandbox.trashExpiryDays`, else 14 days.
    pub trash: Option<TimeDelta>,
    /// Altogether, before it is deleted from the vault: `sandbox.vaultExpiryDays`, else for ever.
    pub vault: Option<TimeDelta>,
}

impl AfterRemoval {
    /// Reads both periods. A bad value is an error.
    pub fn read(config: &Config) -> Result<AfterRemoval> {
        let period = |key: &str, default| {
            config.get(&key.to_lowercase()).map_or(Ok(default), |value| days(key, value))
        };
        Ok(AfterRemoval {
            trash: period("sandbox.trashExpiryDays", Some(TimeDelta::days(14)))?,
            vault: period("sandbox.vaultExpiryDays", None)?,
        })
    }
}

/// Whole days, or `never`.
fn days(key: &str, value: &str) -> Result<Option<TimeDelta>> {
    if value == "never" {
        return Ok(None);
    }
    let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    let days =
        value.parse::<u32>().ok().filter(|_| digits).map(|days| TimeDelta::days(days.into()));
    days.map(Some).ok_or_else(|| Error::Config {
        key: key.into(),
        value: value.into(),
        wanted: "it must be a whole number of days, or 'never'",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::clock;
    use crate::sys::fuzz;
    use crate::ui::words;

    #[test]
    fn days_are_whole_numbers_or_never() {
        assert_eq!(days("k", "7").unwrap(), Some(TimeDelta::days(7)));
        assert_eq!(days("k", "0").unwrap(), Some(TimeDelta::zero()));
        assert_eq!(days("k", "never").unwrap(), None);
        for bad in ["", "-1", "+1", "1.5", "7 days", "Never", "99999999999", " 7"] {
            assert!(days("k", bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn orphans_are_kept_as_persistent_ones_unless_told() {
        let config = Config::parse(b"sandbox.branchexpirydays\nnever\0");
        let retention = Retention::read(&config).unwrap();
        let then = Time::UNIX_EPOCH;
        assert_eq!(retention.expires(Class::Orphan, then), None);
        assert_eq!(retention.expires(Class::Transient, then), Some(then + TimeDelta::days(30)));
    }

    #[test]
    fn fuzz_days_and_times() {
        let real = ["30", "never", "2026-01-31T12:00:00Z", "+262142-12-31T23:59:59Z", "4294967295"];
        fuzz::damaged_text(&real, |text| {
            if let Ok(Some(period)) = days("k", text) {
                assert_eq!(Ok(period.num_days()), text.parse());
                let retention =
                    Retention { transient: None, persistent: Some(period), orphan: None };
                let expires = retention.expires(Class::Persistent, Time::MAX_UTC);
                assert_eq!(expires.is_some(), period.is_zero());
            }
            if let Ok(then) = text.parse::<Time>() {
                for now in [Time::UNIX_EPOCH, Time::MIN_UTC, Time::MAX_UTC] {
                    assert!(
                        !words::ago(then, now).is_empty() && !words::ahead(then, now).is_empty()
                    );
                }
                assert!(!clock::rfc3339(then).is_empty());
            }
        });
    }
}
