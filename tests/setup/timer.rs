//! `setup --timer`: the daily run, with a `systemctl` of the test's own.

use crate::fixture::Test;

/// A `systemctl` that writes down what it is asked.
fn with_systemctl(answer: &str) -> (Test, String) {
    let test = Test::bare();
    let script = format!("echo \"$*\" >>\"$HOME/asked\"; {answer}");
    let fake = test.script("fake/systemctl", &script);
    let path = format!("{}:{}", fake.parent().unwrap().display(), std::env::var("PATH").unwrap());
    (test, path)
}

#[test]
fn the_timer_is_installed_and_taken_back() {
    let answer = "case $2 in is-enabled) exit 0;; esac; exit 0";
    let (test, path) = with_systemctl(answer);
    let asked = || std::fs::read_to_string(test.home.join("asked")).unwrap_or_default();
    let units = test.home.join(".config/systemd/user");
    let timer = units.join("git-sandbox-reap.timer");
    let run = |words: &[&str]| test.program(&test.home, words).env("PATH", &path);
    run(&["setup", "--timer"])
        .stderr(&format!("installed the daily timer: {}\n", timer.display()))
        .ok();
    assert_eq!(
        asked(),
        "--user show-environment\n--user daemon-reload\n\
         --user enable --now git-sandbox-reap.timer\n"
    );
    let service = std::fs::read_to_string(units.join("git-sandbox-reap.service")).unwrap();
    let line = service.lines().find(|line| line.starts_with("ExecStart=")).unwrap();
    assert!(line.ends_with("/git-sandbox\" reap --all --quiet"), "{line}");
    let text = std::fs::read_to_string(&timer).unwrap();
    assert!(text.contains("\nOnCalendar=daily\n") && text.contains("\nPersistent=true\n"));
    run(&["setup", "--timer"]).stderr("the daily timer is in place\n").ok();
    run(&["setup", "--timer", "--uninstall"])
        .stderr(&format!(
            "removed {}\nremoved {}/git-sandbox-reap.service\n",
            timer.display(),
            units.display()
        ))
        .ok();
    assert!(
        asked().ends_with("--user disable --now git-sandbox-reap.timer\n--user daemon-reload\n")
    );
    assert!(!test.home.join(".config").exists());
    run(&["setup", "--timer", "--uninstall"]).stderr("nothing is installed\n").ok();
}

#[test]
fn without_systemd_the_line_for_the_crontab_is_shown() {
    let (test, path) = with_systemctl("exit 1");
    let output = test.program(&test.home, &["setup", "--timer"]).env("PATH", &path).output();
    let text = String::from_utf8(output.stderr).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("there is no systemd for the current user"));
    let line = lines.next().unwrap();
    assert!(line.starts_with("hint: add with 'crontab -e': 17 4 * * * /"), "{line}");
    assert!(line.ends_with("/git-sandbox reap --all --quiet"), "{line}");
    assert!(!test.home.join(".config").exists());
}
