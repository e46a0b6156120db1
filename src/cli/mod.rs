//! The terminal: arguments in, words and an exit status out. The only user of clap, anyhow and
//! indicatif; knows no structure of the disk.

mod args;
mod deliver;
mod exit;
mod help;
mod patterns;
mod progress;
mod request;
mod signals;
mod size;
mod slips;
mod terminal;
mod values;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use anyhow::{Context, Result};
use clap::{CommandFactory, Parser};

use crate::event::ProblemKind;
use crate::plan::{Plan, Problems, Remedy};
use crate::report::{Report, human, json};
use crate::sink::{Output, OutputError, WriteError};
use crate::verify::VerifyError;
use crate::{Delivery, Error, Request, printable};
use args::Args;
use exit::ExitCode;
use progress::Progress;
use signals::Signals;

/// The definition of the command line, for completions and the manual page.
pub fn command() -> clap::Command {
    Args::command()
}

/// The whole command.
pub fn run() -> std::process::ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return mistyped(&error),
    };
    match prepare(&args) {
        Ok(prepared) => build(&args, &prepared).into(),
        Err(error) => {
            let code = exit_code_of(&error);
            tell_failures(&args, code, failures_of(&error, code));
            code.into()
        }
    }
}

/// Help and version, or what is wrong with the words of the command line.
fn mistyped(error: &clap::Error) -> std::process::ExitCode {
    // Nobody is left to be told that the channel is gone.
    let _ = error.print();
    if !error.use_stderr() {
        return ExitCode::Done.into();
    }
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let meant = slips::meant(&words, |path| Path::new(path).is_dir());
    if let Some(meant) = &meant {
        complain(meant);
    }
    if words.iter().any(|word| word == "--json") {
        let text = error.to_string();
        let lines: Vec<&str> =
            text.lines().take_while(|line| !line.is_empty()).map(str::trim).collect();
        let mut text = lines.join(" ").trim_start_matches("error: ").to_owned();
        if let Some(meant) = meant {
            text = format!("{text}; {meant}");
        }
        let code = ExitCode::Usage;
        let run = json::Run { exit_status: code as u8, ..json::Run::default() };
        let (kind, blame) = (ProblemKind::Usage, code.blame());
        let failure = json::Failure { kind, blame, path: None, line: None, text };
        print(&json::failure(&run, vec![failure]));
    }
    ExitCode::Usage.into()
}

/// Everything that the command line says, understood.
struct Prepared {
    request: Request,
    /// What is to be made; `None` for a dry run without a name.
    delivery: Option<Delivery>,
    signals: Signals,
}

fn prepare(args: &Args) -> Result<Prepared> {
    let delivery = deliver::delivery(args)?;
    let image = delivery.as_ref().map(|delivery| &delivery.image);
    let to_terminal = image.is_some_and(|image| image.path().is_none())
        && !args.dry_run
        && io::stdout().is_terminal();
    if to_terminal {
        anyhow::bail!("standard output is a terminal; send the image to a file or a pipe");
    }
    let request = request::request(args)?;
    let stream = image.is_some_and(Output::is_stream);
    let signals = if stream { Signals::unhandled() } else { Signals::noted() };
    let signals = signals.context("cannot prepare for signals")?;
    Ok(Prepared { request, delivery, signals })
}

/// What the system refused ends with another status than what was mistyped.
fn exit_code_of(error: &anyhow::Error) -> ExitCode {
    let of_system = error.chain().any(|cause| {
        cause.is::<io::Error>() || cause.is::<request::Unreadable>() || cause.is::<OutputError>()
    });
    if of_system { ExitCode::System } else { ExitCode::Usage }
}

/// What went wrong before the build: one thing, or each pattern that is none.
fn failures_of(error: &anyhow::Error, code: ExitCode) -> Vec<json::Failure> {
    let failure =
        |kind, path, line, text| json::Failure { kind, blame: code.blame(), path, line, text };
    if let Some(patterns::NoPatterns(faults)) = error.downcast_ref() {
        let faults = faults.iter().map(|fault| {
            let (path, line) = fault.place.clone().unzip();
            failure(ProblemKind::PatternIllegal, path, line, fault.text.clone())
        });
        return faults.collect();
    }
    let (kind, path) = if let Some(error) = error.downcast_ref::<OutputError>() {
        (error.problem_kind(), Some(error.output_name()))
    } else if let Some(error) = error.downcast_ref::<request::Unreadable>() {
        (ProblemKind::Unreadable, Some(error.name.clone()))
    } else if code == ExitCode::System {
        (ProblemKind::System, None)
    } else {
        (ProblemKind::Usage, None)
    };
    vec![failure(kind, path, None, format!("{error:#}"))]
}

/// What a report for programs tells of the run.
fn run_of(args: &Args, code: ExitCode) -> json::Run {
    let sources = args.from.iter().map(|text| printable::os_str(text)).collect();
    json::Run { sources, exit_status: code as u8 }
}

fn build(args: &Args, prepared: &Prepared) -> ExitCode {
    let progress = Progress::new(args.progress, args.quiet, &prepared.signals);
    let done = carry_out(args, prepared, &progress);
    progress.clear();
    match done {
        Ok(report) => tell_success(args, &report),
        Err(error) => {
            let stopped = matches!(
                error,
                Error::Write(WriteError::Stopped) | Error::Verify(VerifyError::Stopped)
            );
            if let (true, Some(signal)) = (stopped, prepared.signals.received()) {
                let text = "interrupted; no image was written";
                complain(text);
                if args.json {
                    let run = json::Run {
                        // As a shell tells it of a command that a signal ended.
                        exit_status: u8::try_from(128 + signal).unwrap_or(u8::MAX),
                        ..run_of(args, ExitCode::System)
                    };
                    let (kind, blame) = (ProblemKind::Stopped, ExitCode::System.blame());
                    let text = text.to_owned();
                    let failure = json::Failure { kind, blame, path: None, line: None, text };
                    print(&json::failure(&run, vec![failure]));
                }
                Signals::end_by(signal);
            }
            tell_error(args, &error);
            ExitCode::of(&error)
        }
    }
}

fn carry_out(args: &Args, prepared: &Prepared, progress: &Progress<'_>) -> Result<Report, Error> {
    let mut plan = crate::plan(&prepared.request, progress)?;
    progress.clear();
    let delivery = prepared.delivery.as_ref().filter(|_| !args.dry_run);
    if let Some((depfile, _)) = delivery.and_then(|delivery| delivery.depfile.as_ref()) {
        let notices = depfile.notices(&plan);
        plan.notices.extend(notices);
    }
    tell_notices(args, &plan);
    match delivery {
        Some(delivery) => delivery.carry_out(plan, progress),
        None => Ok(Report::planned(plan)),
    }
}

fn tell_notices(args: &Args, plan: &Plan) {
    if args.quiet {
        return;
    }
    for line in human::notice_lines(&plan.notices, args.verbose) {
        complain(&format!("note: {line}"));
    }
    if args.verbose {
        complain(&format!("note: {}", human::NOT_STORED));
    }
}

fn tell_success(args: &Args, report: &Report) -> ExitCode {
    let told = if args.json {
        print(&json::success(&run_of(args, ExitCode::Done), report))
    } else if args.dry_run {
        print(&match terminal::look() {
            Some(look) => human::pictured(report, &look),
            None => human::dry_run(report),
        })
    } else {
        ExitCode::Done
    };
    if !args.quiet && !args.dry_run {
        let mut error = io::stderr().lock();
        // Nobody is left to be told that standard error is gone.
        let _ = writeln!(error, "{}", human::summary(report));
        if args.verbose {
            if let Some(written) = &report.written {
                let _ = write!(error, "{}", human::strategy(&written.writing.strategy));
            }
            let _ = write!(error, "\n{}", human::layout(report));
        }
    }
    told
}

fn tell_error(args: &Args, error: &Error) {
    match error {
        Error::Refused(problems) => {
            for problem in &problems.0 {
                complain(&problem.to_string());
            }
            if let Some(line) = way_out(problems) {
                complain(&line);
            }
            if args.json {
                print(&json::refusal(&run_of(args, ExitCode::of(error)), problems));
            }
        }
        Error::Verify(VerifyError::Differs(findings)) => {
            for finding in findings.kept() {
                complain(&format!("image check: {finding}"));
            }
            complain(&format!(
                "{error}, as {} {}; it was thrown away: memory, storage or mkfatimg is at fault",
                findings.count(),
                if findings.count() == 1 { "finding tells" } else { "findings tell" },
            ));
            if args.json {
                print(&json::wrong(&run_of(args, ExitCode::of(error)), findings));
            }
        }
        Error::Write(cause) => {
            tell_failed_build(args, error, cause.problem_kind(), cause.path());
        }
        Error::Verify(cause) => {
            tell_failed_build(args, error, cause.problem_kind(), cause.path());
        }
    }
}

fn tell_failed_build(args: &Args, error: &Error, kind: ProblemKind, path: Option<String>) {
    let code = ExitCode::of(error);
    let (blame, text) = (code.blame(), error.to_string());
    tell_failures(args, code, vec![json::Failure { kind, blame, path, line: None, text }]);
}

fn tell_failures(args: &Args, code: ExitCode, failures: Vec<json::Failure>) {
    failures.iter().for_each(|failure| complain(&failure.text));
    if args.json {
        print(&json::failure(&run_of(args, code), failures));
    }
}

/// After many lines, one that sums up, with the flags that let the build go on.
fn way_out(problems: &Problems) -> Option<String> {
    if problems.0.len() < 2 {
        return None;
    }
    let mut remedies: BTreeMap<Remedy, usize> = BTreeMap::new();
    for remedy in problems.0.iter().filter_map(crate::plan::Problem::remedy) {
        *remedies.entry(remedy).or_default() += 1;
    }
    let counted: usize = remedies.values().sum();
    let mut line = format!("no image was written: {} problems", problems.0.len());
    if counted > 0 {
        let subjects: Vec<String> = remedies
            .iter()
            .map(|(remedy, count)| format!("{count} {}", remedy.subject(*count)))
            .collect();
        let flags: Vec<&str> = remedies.keys().map(|remedy| remedy.flag()).collect();
        let all = counted == problems.0.len();
        line.push_str(&format!(
            "{}{}; {}add {}",
            if all { ": " } else { ", among them " },
            subjects.join(", "),
            if all { "to build all the same " } else { "for these " },
            flags.join(" ")
        ));
    }
    Some(line)
}

fn complain(line: &str) {
    // Nobody is left to be told that standard error is gone.
    let _ = writeln!(io::stderr(), "mkfatimg: {line}");
}

/// Reports go to standard output. A reader that has seen enough is no failure of the build, but a
/// report that is lost otherwise is one.
fn print(text: &str) -> ExitCode {
    let mut stdout = io::stdout();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            complain(&format!(
                "standard output: the report cannot be written: {}",
                printable::error(&error)
            ));
            ExitCode::System
        }
        _ => ExitCode::Done,
    }
}
