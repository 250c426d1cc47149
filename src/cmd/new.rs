//! `git sandbox new`

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal};
use std::os::unix::ffi::OsStrExt;

use owo_colors::Style;
use serde::Serialize;

use crate::cli::args::Args;
use crate::cli::spec::{
    AUTHOR, BACKGROUND, BRANCH, CONFINE, COUNT, DETACH, DIR, FROM, JSON, NAME, NETWORK, NO_RUN, PR,
    RESTART, ROOT, WITH_CHANGES,
};
use crate::cmd::context::session::Start;
use crate::cmd::context::{self, Here, lock_repo, session, walls};
use crate::error::{Error, Result};
use crate::git::{self, Running, porcelain};
use crate::lifecycle::create::{Action, Maker, Outcome, Wish};
use crate::lifecycle::{background, spare};
use crate::repo::request::Named;
use crate::repo::root::Root;
use crate::repo::{self, Repo, name};
use crate::sandbox::report::Report;
use crate::sandbox::{Sandbox, record};
use crate::session::{Author, What, check_program, plain_program};
use crate::sys::{clock, path, random, signals};
use crate::ui::out::{self, Out, visible};
use crate::ui::table::Cell;
use crate::ui::words::{self, shell_word};

pub fn run(args: &Args, out: &mut Out) -> Result<u8> {
    let mut wishes = wishes(args)?;
    signals::note();
    if let Some(request) = request(args)? {
        // It may take long: before the repository is locked.
        let pull = request.fetch(&Repo::discover()?, *out)?;
        for wish in &mut wishes {
            wish.pull.clone_from(&pull);
        }
    }
    let (repo, lock) = lock_repo(*out)?;
    *out = context::colours(args, &repo.config);
    let root = Root::wanted(args.value(&ROOT), &repo.config, &repo.git)?;
    let what = what_to_run(args, &repo, &wishes)?;
    if what.is_none() {
        // It is recorded with walls only, and would be forgotten.
        args.needs(&NETWORK, &CONFINE)?;
    }
    if what.is_some() || args.has(&CONFINE) {
        walls::check_machine(&repo, args, &wishes[0].folder)?;
    }
    let author = Author::wanted(args.word(&AUTHOR), None, &repo.config)?;
    let spares = spare::wanted(&repo.config)? > 0;
    let maker = Maker { repo: &repo, root, out: *out, now: clock::now()?, author };
    let behind = (!args.has(&WITH_CHANGES)).then(|| changes_here(&repo)).flatten();
    let mut outcomes = Vec::new();
    let mut code = 0;
    maker.ensure_all(&wishes, lock, |outcome| {
        let takes_over = what.is_some() && !args.has(&BACKGROUND);
        narrate(&outcome, takes_over, *out);
        for trouble in &outcome.troubles {
            out.warn(&format!("{trouble}; the sandbox stays"));
            code = 1;
        }
        match takes_over {
            true => out.note(&outcome.path.to_string_lossy()),
            false if args.has(&JSON) => {}
            false => out.answer_path(&outcome.path)?,
        }
        if !outcome.troubles.is_empty() {
            signals::check()?;
        }
        outcomes.push(outcome);
        Ok(())
    })?;
    if outcomes.iter().any(|outcome| matches!(outcome.action, Action::Created(_))) {
        tell_what_stays(behind, *out);
    }
    if let Some(outcome) = outcomes.first() {
        background::tell(&outcome.root, *out);
        // A failure to start it must not fail this command.
        let _ = background::reap_daily(&outcome.root, &repo, maker.now);
        if spares {
            let _ = spare::tend::start(&repo, &maker.root);
        }
    }
    let has_agent = matches!(session::what(&repo, args, None), What::Agent(_));
    if let Some(why) = agent_obstacle(args)
        && has_agent
        && wants_agent(args, &wishes)
    {
        say_not_started(args, why, &outcomes, *out);
    }
    if what.is_none() || (code != 0 && !args.has(&BACKGROUND)) {
        if args.has(&JSON) {
            answer_json(repo, args, out, &outcomes)?;
        }
        return Ok(code);
    }
    let here = Here::of(repo, args, out)?;
    if let ([outcome], false) = (&outcomes[..], args.has(&BACKGROUND)) {
        return run_there(args, *out, &here, outcome);
    }
    for outcome in outcomes.iter().filter(|outcome| outcome.troubles.is_empty()) {
        Start::of(&here, sandbox_of(&here, outcome)?, args)?.background(*out)?;
    }
    if args.has(&JSON) {
        answer_json(here.repo, args, out, &outcomes)?;
    }
    Ok(code)
}

/// Asks for the uncommitted changes of the current worktree, where a person reads what is said. It is
/// answered while the sandbox is made.
fn changes_here(repo: &Repo) -> Option<Running> {
    let git = repo.git.in_worktree(repo.top.as_deref().filter(|_| io::stderr().is_terminal())?);
    git.look(["status", "--porcelain=v2", "-z", "--untracked-files=all"]).start().ok()
}

fn tell_what_stays(asked: Option<Running>, out: Out) {
    let answer = asked.and_then(|asked| asked.wait().ok()).filter(git::Answer::ok);
    let status = answer.and_then(|answer| porcelain::status(&answer.stdout));
    if let Some(count) = status.map(|status| status.changes()).filter(|count| *count > 0) {
        let (changes, stay) = (words::counted(count, "change"), if count == 1 { "s" } else { "" });
        out.note(&format!(
            "{changes} of the current worktree stay{stay} behind (--with-changes copies)"
        ));
    }
}

/// The typed command or, for a task, the agent. A program that is not there is an error before
/// anything is created.
fn what_to_run(args: &Args, repo: &Repo, wishes: &[Wish]) -> Result<Option<What>> {
    let (typed, background) = (!args.command_line.is_empty(), args.has(&BACKGROUND));
    args.needs(&RESTART, &BACKGROUND)?;
    args.at_most_one(&[&BACKGROUND, &NO_RUN])?;
    let alone = [&COUNT, &JSON].into_iter().find(|option| typed && args.has(option));
    if let Some(option) = alone.filter(|_| !background) {
        let option = option.typed();
        return Err(args.wrong(format!("a command and '{option}' cannot be used together")));
    }
    let what = match session::what(repo, args, None) {
        What::Typed(words) => What::Typed(words),
        What::Agent(agent) if background => What::Agent(agent),
        What::Agent(agent) if wants_agent(args, wishes) && agent_obstacle(args).is_none() => {
            What::Agent(agent)
        }
        _ if background => {
            return Err(args.wrong("option '--background' needs a command, or 'sandbox.agent'"));
        }
        _ => return Ok(None),
    };
    let program = match &what {
        What::Typed(words) => words.first().cloned(),
        What::Agent(agent) => plain_program(&agent.value).map(OsString::from),
        What::Shell => None,
    };
    // A path may be one of the checkout.
    if let Some(program) = program.filter(|word| !word.as_bytes().contains(&b'/')) {
        check_program(&program, &repo::user_folder())?;
    }
    Ok(Some(what))
}

/// Whether a task was given for the agent.
fn wants_agent(args: &Args, wishes: &[Wish]) -> bool {
    let quiet = args.has(&NO_RUN) || args.has(&JSON);
    !quiet && wishes.iter().any(|wish| wish.task.is_some())
}

/// Why the agent is not started, if it is not.
fn agent_obstacle(args: &Args) -> Option<&'static str> {
    match () {
        () if args.has(&BACKGROUND) => None,
        () if args.has(&COUNT) => Some("several cannot share the terminal"),
        () if !out::is_terminal() => Some("stdout is not a terminal"),
        () => None,
    }
}

/// Says that the agent was not started, and how to start it.
fn say_not_started(args: &Args, why: &str, outcomes: &[Outcome], out: Out) {
    out.note(&format!("the agent was not started: {why}"));
    let option = if args.has(&COUNT) { "--background " } else { "" };
    for outcome in outcomes {
        let name = outcome.path.file_name().unwrap_or_default().to_string_lossy();
        out.hint(&format!("git sandbox run {option}{}", shell_word(&name)));
    }
}

fn run_there(args: &Args, out: Out, here: &Here, outcome: &Outcome) -> Result<u8> {
    let mut start = Start::of(here, sandbox_of(here, outcome)?, args)?;
    start.tell_walls(out);
    if outcome.action == Action::Resumed {
        start.introduce(outcome.last_used, out);
    }
    start.foreground(out)
}

fn sandbox_of<'a>(here: &'a Here, outcome: &Outcome) -> Result<&'a Sandbox> {
    let sandbox = here.sandboxes.iter().find(|sandbox| sandbox.path == outcome.path);
    sandbox.ok_or_else(|| Error::UnknownSandbox {
        name: outcome.path.to_string_lossy().into_owned(),
        nearest: None,
    })
}

/// What the words ask for: one sandbox, or a pool of them.
fn wishes(args: &Args) -> Result<Vec<Wish>> {
    args.at_most_one(&[&NAME, &BRANCH, &DETACH])?;
    args.at_most_one(&[&COUNT, &BRANCH])?;
    args.at_most_one(&[&DIR, &ROOT])?;
    for other in [&NAME, &BRANCH, &DETACH, &COUNT, &FROM] {
        args.at_most_one(&[&PR, other])?;
    }
    let request = request(args)?.map(|request| request.branch());
    let named = args.value(&NAME).map(OsStr::to_owned).or(request);
    let (name, words) = match (named, args.operands.split_first()) {
        (Some(name), _) => (Some(name), &args.operands[..]),
        (None, Some((name, words))) => (Some(name.clone()), words),
        (None, None) => (None, &[][..]),
    };
    if args.has(&BRANCH) && name.is_none() {
        return Err(args.wrong("option '--branch' needs a <name> for the folder"));
    }
    let wish = Wish {
        branch: None,
        folder: String::new(),
        remote: None,
        from: args.value(&FROM).map(OsStr::to_owned),
        task: task(words)?,
        author: args.word(&AUTHOR).map(str::to_owned),
        confine: walls::asked(args)?.to_record(),
        dir: args.value(&DIR).map(|dir| path::tidy(&repo::user_folder().join(dir))),
        with_changes: args.has(&WITH_CHANGES),
        pull: None,
    };
    let one = |name: Option<OsString>| {
        let (branch, folder) = match (name, args.value(&BRANCH)) {
            (Some(name), Some(branch)) => (Some(branch.to_owned()), name::branch_folder(&name)),
            (Some(name), None) if args.has(&DETACH) => (None, name::exploration_folder(&name)),
            (Some(name), None) => (Some(name.clone()), name::branch_folder(&name)),
            (None, _) => (None, format!("{}{}", name::EXPLORATION, random::hex()?)),
        };
        Ok(Wish { branch, folder, ..wish.clone() })
    };
    let Some(count) = args.count(&COUNT) else { return Ok(vec![one(name)?]) };
    let numbered = |number: u32| {
        name.clone().map(|mut name| {
            name.push(format!("-{number}"));
            name
        })
    };
    (1..=count).map(|number| one(numbered(number))).collect()
}

/// The pull or merge request that was typed.
fn request(args: &Args) -> Result<Option<Named>> {
    let Some(text) = args.value(&PR).map(OsStr::to_string_lossy) else { return Ok(None) };
    let wrong = || args.wrong(format!("'{text}' is no number or address of a request"));
    Named::parse(&text).map(Some).ok_or_else(wrong)
}

fn task(words: &[OsString]) -> Result<Option<String>> {
    let words: Option<Vec<&str>> = words.iter().map(|word| word.to_str()).collect();
    let task = words.ok_or(Error::NotText { what: "task" })?.join(" ");
    Ok((!task.is_empty()).then_some(task))
}

fn narrate(outcome: &Outcome, runs: bool, out: Out) {
    let name = outcome.path.file_name().unwrap_or_default().to_string_lossy();
    match &outcome.action {
        Action::Created(how) => {
            // The task is shown so that a missing quote is seen.
            let task = record::read(&outcome.entry).task;
            let purpose = task.map(|task| format!(" for \"{}\"", beginning(&task, out)));
            let purpose = purpose.unwrap_or_default();
            out.note(&format!("created sandbox '{name}'{purpose}: {how}"));
        }
        Action::Finished => {
            out.note(&format!("finished sandbox '{name}', whose creation had been interrupted"));
        }
        Action::Resumed => {
            // What is run introduces itself.
            if let Some(task) = record::read(&outcome.entry).task.filter(|_| !runs) {
                out.note(&format!("task: {task}"));
            }
            out.note(&format!("resumed sandbox '{name}'"));
        }
    }
}

/// As much of a task as fits into a line.
fn beginning(task: &str, out: Out) -> String {
    const MOST: usize = 60;
    Cell::from((visible(task), Style::new())).fitted(MOST, out)
}

#[derive(Serialize)]
struct Answer {
    action: &'static str,
    #[serde(flatten)]
    report: Report,
}

/// One object or, for a pool, a list of them.
fn answer_json(repo: Repo, args: &Args, out: &mut Out, outcomes: &[Outcome]) -> Result<()> {
    let here = Here::of(repo, args, out)?;
    let reporter = here.reporter()?;
    let answers = outcomes.iter().filter_map(|outcome| {
        let sandbox = here.sandboxes.iter().find(|sandbox| sandbox.path == outcome.path)?;
        let action = if outcome.action == Action::Resumed { "resumed" } else { "created" };
        Some(Answer { action, report: reporter.one(sandbox) })
    });
    let answers: Vec<Answer> = answers.collect();
    match &answers[..] {
        [one] if !args.has(&COUNT) => out.answer_json(one),
        all => out.answer_json(&all),
    }
}
