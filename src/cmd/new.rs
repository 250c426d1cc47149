//! `git sandbox new`

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use serde::Serialize;

use super::{Here, run as runner};
use crate::args::Args;
use crate::background;
use crate::create::{Action, Maker, Outcome, Wish, random_hex};
use crate::error::{Error, Result};
use crate::name;
use crate::out::Out;
use crate::place::Root;
use crate::record;
use crate::repo::{self, Repo};
use crate::report::Report;
use crate::run::{Author, What, check_program, plain_program};
use crate::signals;
use crate::spare;
use crate::spec::{AUTHOR, BRANCH, COLOR, COUNT, DETACH, DIR, FROM, JSON, NAME, NO_RUN, ROOT};
use crate::time;

pub fn run(args: &Args, out: &mut Out) -> Result<u8> {
    let wishes = wishes(args)?;
    signals::note();
    let (repo, lock) = Repo::to_change(*out)?;
    *out = Out::new(args.word(&COLOR), &repo.config);
    let root = Root::wanted(args.value(&ROOT), &repo.config, &repo.git)?;
    let what = what_to_run(args, &repo, &wishes)?;
    let author = Author::wanted(args.word(&AUTHOR), &repo.config)?;
    let spares = spare::wanted(&repo.config)? > 0;
    let maker = Maker { repo: &repo, root, out: *out, now: time::now()?, author };
    let mut lock = Some(lock);
    let mut outcomes = Vec::new();
    let mut code = 0;
    for wish in &wishes {
        let outcome = maker.ensure(wish, lock.take())?;
        narrate(&outcome, what.is_some(), *out);
        for trouble in &outcome.troubles {
            out.warn(&format!("{trouble}; the sandbox stays"));
            code = 1;
        }
        match what {
            Some(_) => out.note(&outcome.path.to_string_lossy()),
            None if args.has(&JSON) => {}
            None => out.answer_path(&outcome.path)?,
        }
        outcomes.push(outcome);
    }
    if let Some(outcome) = outcomes.first() {
        background::tell(&outcome.root, *out);
        // Whether it starts is nobody's trouble now.
        let _ = background::reap_daily(&outcome.root, &repo, maker.now);
        if spares {
            let _ = spare::start(&repo, &maker.root);
        }
    }
    match (what, &outcomes[..]) {
        (Some(what), [outcome]) if code == 0 => return run_there(args, out, repo, outcome, &what),
        _ if args.has(&JSON) => answer_json(repo, args, out, &outcomes)?,
        _ => {}
    }
    Ok(code)
}

/// The typed command or, for a task, the agent. A program that is not there is an error before
/// anything is created.
fn what_to_run(args: &Args, repo: &Repo, wishes: &[Wish]) -> Result<Option<What>> {
    let typed = !args.command_line.is_empty();
    if let Some(option) = [&COUNT, &JSON].into_iter().find(|option| typed && args.has(option)) {
        let option = option.typed();
        return Err(args.wrong(format!("a command and '{option}' cannot be used together")));
    }
    let quiet = args.has(&NO_RUN) || args.has(&JSON) || args.has(&COUNT);
    let task = wishes.iter().any(|wish| wish.task.is_some());
    let what = match runner::what(repo, args) {
        What::Typed(words) => What::Typed(words),
        What::Agent(value) if task && !quiet => What::Agent(value),
        _ => return Ok(None),
    };
    let program = match &what {
        What::Typed(words) => words.first().cloned(),
        What::Agent(value) => plain_program(value).map(OsString::from),
        What::Shell => None,
    };
    // A path may be one of the checkout.
    if let Some(program) = program.filter(|word| !word.as_bytes().contains(&b'/')) {
        check_program(&program, &repo::user_folder())?;
    }
    Ok(Some(what))
}

fn run_there(args: &Args, out: &mut Out, repo: Repo, outcome: &Outcome, what: &What) -> Result<u8> {
    let here = Here::of(repo, args, out)?;
    let sandbox = here.sandboxes.iter().find(|sandbox| sandbox.path == outcome.path);
    let sandbox = sandbox.ok_or_else(|| Error::UnknownSandbox {
        name: outcome.path.to_string_lossy().into_owned(),
        nearest: None,
    })?;
    if outcome.action == Action::Resumed {
        runner::introduce(&here, sandbox, outcome.last_used, what, *out)?;
    }
    runner::session(&here.repo, &here.worktrees.main.path, sandbox, args)?.foreground(what, *out)
}

/// What the words ask for: one sandbox, or a pool of them.
fn wishes(args: &Args) -> Result<Vec<Wish>> {
    args.at_most_one(&[&NAME, &BRANCH, &DETACH])?;
    args.at_most_one(&[&COUNT, &BRANCH])?;
    args.at_most_one(&[&DIR, &ROOT])?;
    let (name, words) = match (args.value(&NAME), args.operands.split_first()) {
        (Some(name), _) => (Some(name.to_owned()), &args.operands[..]),
        (None, Some((name, words))) => (Some(name.clone()), words),
        (None, None) => (None, &[][..]),
    };
    if args.has(&BRANCH) && name.is_none() {
        return Err(args.wrong("option '--branch' needs a <name> for the folder"));
    }
    let wish = Wish {
        branch: None,
        folder: String::new(),
        from: args.value(&FROM).map(OsStr::to_owned),
        task: task(words)?,
        dir: args.value(&DIR).map(|dir| repo::tidy(&repo::user_folder().join(dir))),
    };
    let one = |name: Option<OsString>| {
        let (branch, folder) = match (name, args.value(&BRANCH)) {
            (Some(name), Some(branch)) => (Some(branch.to_owned()), name::branch_folder(&name)),
            (Some(name), None) if args.has(&DETACH) => (None, name::exploration_folder(&name)),
            (Some(name), None) => (Some(name.clone()), name::branch_folder(&name)),
            (None, _) => (None, format!("{}{}", name::EXPLORATION, random_hex()?)),
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

fn task(words: &[OsString]) -> Result<Option<String>> {
    let words: Option<Vec<&str>> = words.iter().map(|word| word.to_str()).collect();
    let task = words.ok_or(Error::NotText { what: "task" })?.join(" ");
    Ok((!task.is_empty()).then_some(task))
}

fn narrate(outcome: &Outcome, runs: bool, out: Out) {
    let name = outcome.path.file_name().unwrap_or_default().to_string_lossy();
    match &outcome.action {
        Action::Created(how) => out.note(&format!("created sandbox '{name}': {how}")),
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
