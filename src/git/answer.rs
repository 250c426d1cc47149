//! What git answered.

use std::process::Output;

/// What git answered.
#[derive(Debug)]
pub struct Answer {
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// Its stdout.
    pub stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
}

impl From<Output> for Answer {
    fn from(Output { status, stdout, stderr }: Output) -> Answer {
        Answer { code: status.code(), stdout, stderr }
    }
}

impl Answer {
    /// Whether it exited with 0.
    pub fn ok(&self) -> bool {
        self.code == Some(0)
    }

    /// Everything it said, for people.
    pub fn words(&self) -> Vec<String> {
        let text = String::from_utf8_lossy(&self.stderr).replace('\t', "    ");
        text.lines().map(str::to_owned).collect()
    }

    /// What git says after that: how to mend it, where it knows.
    pub fn remedy(&self) -> Vec<String> {
        let lines = self.words().into_iter().map(|line| line.trim().to_owned());
        lines.filter(|line| !line.is_empty()).skip(1).collect()
    }

    /// git's own words on what went wrong, for people.
    pub fn why(&self) -> String {
        let text = String::from_utf8_lossy(&self.stderr);
        let lines = || text.lines().filter(|line| !line.trim().is_empty());
        let led = |lead: &str| lines().find(|line| line.starts_with(lead));
        let line = led("fatal: ").or_else(|| led("error: ")).or_else(|| lines().next_back());
        match (line, self.code) {
            (Some(line), _) => {
                let bare = ["fatal: ", "error: "].iter().find_map(|lead| line.strip_prefix(lead));
                bare.unwrap_or(line).to_owned()
            }
            (None, Some(code)) => format!("git exited with {code}"),
            (None, None) => "git was killed".to_owned(),
        }
    }
}
