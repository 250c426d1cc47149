//! `git sandbox new`

use std::ffi::{OsStr, OsString};

use serde::Serialize;

use super::Here;
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
use crate::signals;
use crate::spec::{BRANCH, COLOR, COUNT, DETACH, DIR, FROM, JSON, NAME, ROOT};
use crate::time;

pub fn run(args: &Args, out: &mut Out) -> Result<u8> {
    let wishes = wishes(args)?;
    let repo = Repo::discover()?;
    *out = Out::new(args.word(&COLOR), &repo.config);
    let root = Root::wanted(args.value(&ROOT), &repo.config, &repo.git)?;
    signals::note();
    let maker = Maker { repo: &repo, root, out: *out, now: time::now()? };
    let mut outcomes = Vec::new();
    let mut code = 0;
    for wish in &wishes {
        let outcome = maker.ensure(wish)?;
        narrate(&outcome, *out);
        if let Some(trouble) = &outcome.trouble {
            out.warn(&format!("{trouble}; the sandbox stays"));
            code = 1;
        }
        if !args.has(&JSON) {
            out.answer_path(&outcome.path)?;
        }
        outcomes.push(outcome);
    }
    if let Some(outcome) = outcomes.first() {
        background::tell(&outcome.root, *out);
        // Whether it starts is nobody's trouble now.
        let _ = background::reap_daily(&outcome.root, &repo, maker.now);
    }
    if args.has(&JSON) {
        answer_json(repo, args, out, &outcomes)?;
    }
    Ok(code)
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

fn narrate(outcome: &Outcome, out: Out) {
    let name = outcome.path.file_name().unwrap_or_default().to_string_lossy();
    match &outcome.action {
        Action::Created(how) => out.note(&format!("created sandbox '{name}': {how}")),
        Action::Finished => {
            out.note(&format!("finished sandbox '{name}', whose creation had been interrupted"));
        }
        Action::Resumed => {
            if let Some(task) = record::read(&outcome.entry).task {
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
