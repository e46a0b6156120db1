//! The terminal: arguments in, words and an exit status out. The only user of clap, anyhow and
//! indicatif; knows no structure of the disk.

mod args;
mod exit;
mod help;
mod outputs;
mod patterns;
mod progress;
mod request;
mod signals;
mod size;
mod slips;
mod tell;
mod terminal;
mod values;

use std::ffi::OsString;
use std::io::{self, IsTerminal};

use anyhow::{Context, Result};
use clap::error::{ContextKind, ErrorKind};
use clap::{CommandFactory, Parser};

use crate::event::ProblemKind;
use crate::report::{Report, json};
use crate::sink::{Output, OutputError, WriteError};
use crate::verify::VerifyError;
use crate::within::{Fact, NoPlace};
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
        Err(error) => return mistyped(error),
    };
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let Some(reason) = slips::refused(&args, &words, slips::on_disk) {
        tell::complain(&reason);
        let answer = slips::meant(&words, slips::on_disk).unwrap_or_default();
        return refuse_words(args.json, tell::run_of(&args, ExitCode::Usage), reason, &answer);
    }
    match prepare(&args) {
        Ok(prepared) => build(&args, &prepared).into(),
        Err(error) => {
            let code = exit_code_of(&error);
            tell::failures(&args, code, failures_of(&error, code));
            code.into()
        }
    }
}

/// Help and version, or what is wrong with the words of the command line.
fn mistyped(mut error: clap::Error) -> std::process::ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let number_for_help =
        (error.kind() == ErrorKind::DisplayHelp).then(|| slips::number_for_help(&words)).flatten();
    if !error.use_stderr() && number_for_help.is_none() {
        // Nobody is left to be told that the channel is gone.
        let _ = error.print();
        return ExitCode::Done.into();
    }
    // That a flag of others is to be passed as a value is never meant.
    error.remove(ContextKind::Suggested);
    let answer = slips::meant(&words, slips::on_disk);
    let reason = match number_for_help {
        Some(reason) => {
            tell::complain(&reason);
            reason
        }
        None => {
            match answer {
                // Near flags and the usage would lead away from the answer.
                Some(_) => tell::parser_reason(&error),
                None => _ = error.print(),
            }
            let text = error.to_string();
            let lines = text.lines().take_while(|line| !line.is_empty()).map(str::trim);
            let text = lines.collect::<Vec<_>>().join(" ");
            text.trim_start_matches("error: ").to_owned()
        }
    };
    let json = words.iter().any(|word| word == "--json");
    refuse_words(json, json::Run::default(), reason, &answer.unwrap_or_default())
}

/// Tells what to type instead, and a program the reason too, which people have been told.
fn refuse_words(
    json: bool,
    run: json::Run,
    reason: String,
    answer: &[String],
) -> std::process::ExitCode {
    answer.iter().for_each(|line| tell::complain(line));
    let code = ExitCode::Usage;
    if json {
        let text = std::iter::once(&reason).chain(answer).map(String::as_str);
        let text = text.collect::<Vec<_>>().join("; ");
        let (kind, blame) = (ProblemKind::Usage, code.blame());
        let failure = json::Failure { kind, blame, path: None, line: None, text };
        let run = json::Run { exit_status: code as u8, ..run };
        tell::print(json::failure(&run, vec![failure]));
    }
    code.into()
}

/// Everything that the command line says, understood.
struct Prepared {
    request: Request,
    /// What is to be made; `None` for a dry run without a name.
    delivery: Option<Delivery>,
    signals: Signals,
}

fn prepare(args: &Args) -> Result<Prepared> {
    let place = outputs::place(args)?;
    let delivery = outputs::delivery(args, place.as_ref())?;
    let image = delivery.as_ref().map(|delivery| &delivery.image);
    let to_terminal = image.is_some_and(|image| image.path().is_none())
        && !args.dry_run
        && io::stdout().is_terminal();
    if to_terminal {
        anyhow::bail!("standard output is a terminal; send the image to a file or a pipe");
    }
    let request = request::request(args, outputs::ground(image, place.as_ref()))?;
    let stream = image.is_some_and(Output::is_stream);
    let signals = if stream { Signals::unhandled() } else { Signals::noted() };
    let signals = signals.context("cannot prepare for signals")?;
    Ok(Prepared { request, delivery, signals })
}

/// What the system refused ends with another status than what was mistyped.
fn exit_code_of(error: &anyhow::Error) -> ExitCode {
    let of_system = error.chain().any(|cause| {
        let unreadable = |no: &NoPlace| matches!(no.fact, Fact::Unreadable(_));
        cause.is::<io::Error>()
            || cause.is::<request::Unreadable>()
            || cause.is::<OutputError>()
            || cause.downcast_ref().is_some_and(unreadable)
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
    } else if let Some(NoPlace { path, .. }) = error.downcast_ref() {
        (ProblemKind::OutputUnsuitable, Some(printable::path(path)))
    } else if let Some(error) = error.downcast_ref::<request::Unreadable>() {
        (ProblemKind::Unreadable, Some(error.name.clone()))
    } else if code == ExitCode::System {
        (ProblemKind::System, None)
    } else {
        (ProblemKind::Usage, None)
    };
    vec![failure(kind, path, None, format!("{error:#}"))]
}

fn build(args: &Args, prepared: &Prepared) -> ExitCode {
    let progress = Progress::new(args.progress, args.quiet, &prepared.signals);
    let done = carry_out(args, prepared, &progress);
    progress.clear();
    match done {
        Ok(report) => {
            let taken = prepared.delivery.as_ref().is_some_and(outputs::take_standard_output);
            let stdout = if taken { tell::Stdout::Taken } else { tell::Stdout::Free };
            tell::success(args, &report, stdout)
        }
        Err(error) => {
            if let (Some(left), Some(signal)) = (left_by_stop(&error), prepared.signals.received())
            {
                let text = format!("interrupted; {left}");
                tell::complain(&text);
                if args.json {
                    let run = json::Run {
                        // As a shell tells it of a command that a signal ended.
                        exit_status: u8::try_from(128 + signal).unwrap_or(u8::MAX),
                        ..tell::run_of(args, ExitCode::System)
                    };
                    let (kind, blame) = (ProblemKind::Stopped, ExitCode::System.blame());
                    let failure = json::Failure { kind, blame, path: None, line: None, text };
                    tell::print(json::failure(&run, vec![failure]));
                }
                Signals::end_by(signal);
            }
            tell::error(args, &error);
            ExitCode::of(&error)
        }
    }
}

/// What there is after a wish to stop was followed; `None` of any other error.
fn left_by_stop(error: &Error) -> Option<String> {
    match error {
        Error::Write(WriteError::Stopped) | Error::Verify(VerifyError::Stopped) => {
            Some("no image was written".to_owned())
        }
        Error::Emptied { output, cause } => {
            left_by_stop(cause).map(|_| format!("{output} holds no volume now"))
        }
        _ => None,
    }
}

fn carry_out(args: &Args, prepared: &Prepared, progress: &Progress<'_>) -> Result<Report, Error> {
    let plan = crate::plan(&prepared.request, progress)?;
    progress.clear();
    if let Some(delivery) = &prepared.delivery {
        let room = delivery.image.check_room(plan.image_bytes());
        room.map_err(WriteError::from)?;
    }
    let delivery = prepared.delivery.as_ref().filter(|_| !args.dry_run);
    let of_delivery = delivery.map(|delivery| delivery.notices(&plan)).unwrap_or_default();
    tell::choices(args, &plan);
    tell::notices(args, &[&plan.notices[..], &of_delivery].concat());
    match delivery {
        Some(delivery) => delivery.carry_out(plan, progress),
        None => Ok(Report::planned(plan)),
    }
}
