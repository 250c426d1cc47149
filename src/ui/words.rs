//! How counts, times, sizes and shell words are written.

use chrono::{DateTime, TimeDelta, Utc};

/// A moment.
type Time = DateTime<Utc>;

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

/// `40s`, `12m`, `3h`, `2d`
pub fn brief(span: TimeDelta) -> String {
    match span.num_seconds().max(0) {
        seconds @ ..60 => format!("{seconds}s"),
        seconds @ 60..3600 => format!("{}m", seconds / 60),
        seconds @ 3600..86_400 => format!("{}h", seconds / 3600),
        seconds => format!("{}d", seconds / 86_400),
    }
}

/// `1 day`, `2 days`, `2 sandboxes`
pub fn counted(count: u64, unit: &str) -> String {
    let plural = match count {
        1 => "",
        _ if unit.ends_with('x') => "es",
        _ => "s",
    };
    format!("{count} {unit}{plural}")
}

/// The known word most like `word`, if one is like it at all.
pub fn nearest(word: &str, known: impl Iterator<Item = String>) -> Option<String> {
    // Comparing takes room for both: no user mistypes a word of this length.
    const LONGEST: usize = 200;
    known
        .filter(|candidate| candidate.len().max(word.len()) <= LONGEST)
        .map(|candidate| (strsim::damerau_levenshtein(word, &candidate), candidate))
        .filter(|(distance, candidate)| distance * 3 <= candidate.chars().count().max(3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// A word as a shell takes it, quoted only where it must be.
pub fn shell_word(word: &str) -> String {
    let bare = |c: char| c.is_alphanumeric() || "-_./+@%:,=".contains(c);
    if !word.is_empty() && word.chars().all(bare) && !word.starts_with('=') {
        word.to_owned()
    } else if word.contains(['"', '$', '`', '\\', '!']) {
        format!("'{}'", word.replace('\'', r"'\''"))
    } else {
        format!("\"{word}\"")
    }
}

/// `1.5 MiB`
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    let mut tenths = bytes.saturating_mul(10) / 1024;
    let mut unit = 0;
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        tenths /= 1024;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shell_words_are_quoted_where_they_must_be() {
        assert_eq!(shell_word("feat/ui-2"), "feat/ui-2");
        assert_eq!(shell_word("Fix the bug"), "\"Fix the bug\"");
        assert_eq!(shell_word("it's"), "\"it's\"");
        assert_eq!(shell_word("it's $HOME"), r"'it'\''s $HOME'");
        assert_eq!(shell_word(""), "\"\"");
    }

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

    #[test]
    fn sizes_in_words() {
        assert_eq!(size(0), "0.0 KiB");
        assert_eq!(size(1536), "1.5 KiB");
        assert_eq!(size(80 << 30), "80.0 GiB");
    }
}
