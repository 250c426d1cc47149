//! The config of a quarantine: the repository's own, without secrets and without what leads elsewhere.

use std::fmt::Write;

/// Sections that are left out whole.
const SECRET_SECTIONS: [&str; 4] = ["credential.", "include.", "includeif.", "sandbox."];
/// Keys that are left out, by how they end.
const SECRET_KEYS: [&str; 13] = [
    "extraheader",
    "proxy",
    "cookiefile",
    "sslkey",
    "sslcert",
    "pass",
    "passwd",
    "passphrase",
    "password",
    "apikey",
    "token",
    "secret",
    "emptyauth",
];

/// Returns the text of a config file with what `git config --list -z` printed, cleaned.
pub fn cleaned(listed: &[u8]) -> String {
    let mut text = String::new();
    for record in listed.split(|byte| *byte == 0).filter(|record| !record.is_empty()) {
        // What is not text cannot be written as it was.
        let Ok(record) = std::str::from_utf8(record) else { continue };
        let (key, value) = match record.split_once('\n') {
            Some((key, value)) => (key, Some(value)),
            None => (record, None),
        };
        if is_left_out(key) {
            continue;
        }
        let Some((section, name)) = key.rsplit_once('.') else { continue };
        let header = match section.split_once('.') {
            Some((section, rest)) => format!("[{section} \"{}\"]", quoted(&without_login(rest))),
            None => format!("[{section}]"),
        };
        let line = match value {
            Some(value) => format!("\t{name} = \"{}\"", escaped(&without_login(value))),
            None => format!("\t{name}"),
        };
        let _ = writeln!(text, "{header}\n{line}");
    }
    text
}

fn is_left_out(key: &str) -> bool {
    let key = key.to_lowercase();
    SECRET_SECTIONS.iter().any(|lead| key.starts_with(lead))
        || key == "extensions.refstorage"
        || key
            .rsplit('.')
            .next()
            .is_some_and(|name| SECRET_KEYS.iter().any(|it| name.ends_with(it)))
}

/// An address without the name and password in front of its host.
fn without_login(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let end = rest.find('/').unwrap_or(rest.len());
    let (host, path) = rest.split_at(end);
    match host.rsplit_once('@') {
        Some((login, host)) if login.contains(':') || is_web(scheme) => {
            format!("{scheme}://{host}{path}")
        }
        _ => text.to_owned(),
    }
}

/// Whether the name in front of the host may be a token: with ssh it is only a user.
fn is_web(scheme: &str) -> bool {
    matches!(scheme.to_lowercase().as_str(), "http" | "https")
}

/// Text between quotes: of a backslash and a quote, git takes the next character as it is.
fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

/// A value between quotes, in which a line break needs an escape of its own.
fn escaped(value: &str) -> String {
    quoted(value).replace('\n', "\\n").replace('\t', "\\t")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::fuzz;

    #[test]
    fn secrets_and_what_leads_elsewhere_are_left_out() {
        let listed =
            b"core.bare\nfalse\0credential.helper\nstore\0credential.https://x.helper\ny\0\
            imap.pass\nx\0sendemail.smtppass\nx\0a.b.apikey\nx\0a.sslkeypassphrase\nx\0a.passwd\nx\0\
            http.extraheader\nA: b\0http.https://x/.extraHeader\nA: b\0include.path\n/x\0\
            includeif.gitdir:/x.path\n/y\0extensions.refstorage\nreftable\0\
            remote.o.url\nhttps://me:pw@host/a/b@c\0remote.p.url\nhttps://token@host:8/x\0\
            remote.s.url\nssh://git@host/x\0remote.f.fetch\n+refs/*:refs/*\0\
            url.https://me:pw@host/.insteadof\ngh:\0sandbox.agent\nx\0bare.key\0\
            alias.x\n!a \"b\" \\c\td\ne\0";
        let cleaned = cleaned(listed);
        let wanted = "[core]\n\tbare = \"false\"\n\
            [remote \"o\"]\n\turl = \"https://host/a/b@c\"\n\
            [remote \"p\"]\n\turl = \"https://host:8/x\"\n\
            [remote \"s\"]\n\turl = \"ssh://git@host/x\"\n\
            [remote \"f\"]\n\tfetch = \"+refs/*:refs/*\"\n\
            [url \"https://host/\"]\n\tinsteadof = \"gh:\"\n\
            [bare]\n\tkey\n\
            [alias]\n\tx = \"!a \\\"b\\\" \\\\c\\td\\ne\"\n";
        assert_eq!(cleaned, wanted);
    }

    #[test]
    fn fuzz_config() {
        let real = [b"remote.o.url\nhttps://me:pw@host/a\0core.bare\nfalse\0a\0".as_slice()];
        fuzz::damaged(&real, |input| {
            let text = cleaned(input);
            assert!(text.lines().all(|line| line.starts_with('[') || line.starts_with('\t')));
        });
    }
}
