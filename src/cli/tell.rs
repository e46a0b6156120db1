//! What is said of a run: lines for people on standard error, documents for programs and pictures on
//! standard output. Decides nothing but who hears what.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::args::Args;
use super::exit::ExitCode;
use super::terminal;
use crate::event::{Notice, ProblemKind};
use crate::plan::profile::Choice;
use crate::plan::{Plan, Problems, Remedy};
use crate::report::{Report, human, json};
use crate::verify::VerifyError;
use crate::{Error, printable};

/// What standard output has, besides what is said of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stdout {
    /// Nothing.
    Free,
    /// The image, or what tells of it for programs.
    Taken,
}

/// What a report for programs tells of the run.
pub(super) fn run_of(args: &Args, code: ExitCode) -> json::Run {
    let sources = args.from.iter().map(|text| printable::os_str(text)).collect();
    json::Run { sources, exit_status: code as u8 }
}

/// What the user should know before the image is written.
pub(super) fn notices(args: &Args, notices: &[Notice]) {
    if args.quiet {
        return;
    }
    for line in human::notice_lines(notices, args.verbose) {
        complain(&format!("note: {line}"));
    }
    if args.verbose {
        complain(&format!("note: {}", human::NOT_STORED));
    }
}

/// What a profile chose, and why.
pub(super) fn choices(args: &Args, plan: &Plan) {
    if let (true, Some((profile, choices))) = (args.verbose, plan.profile()) {
        for Choice { text, .. } in choices {
            complain(&format!("note: --profile {profile}: {text}"));
        }
    }
}

/// What was made, or would be; the status is another one if nobody could be told.
pub(super) fn success(args: &Args, report: &Report, stdout: Stdout) -> ExitCode {
    let mut told = if args.json {
        print(json::success(&run_of(args, ExitCode::Done), report))
    } else if args.dry_run {
        print(match terminal::look() {
            Some(look) => human::pictured(report, &look),
            None => human::dry_run(report),
        })
    } else {
        ExitCode::Done
    };
    let digest = human::digest(report);
    if !args.quiet && !args.dry_run {
        let mut error = io::stderr().lock();
        // Nobody is left to be told that standard error is gone.
        let _ = writeln!(error, "{}", human::summary(report));
        if let Some(digest) = &digest {
            let _ = writeln!(error, "  sha256 {digest}");
        }
        if args.verbose {
            if let Some(written) = &report.written {
                let _ = write!(error, "{}", human::strategy(&written.writing.strategy));
            }
            let _ = write!(error, "\n{}", human::layout(report));
        }
    }
    if let (Some(digest), false) = (digest, args.json) {
        let line = digest_line(&digest, args.out.as_deref().unwrap_or(Path::new("-")));
        match stdout {
            Stdout::Free => told = print(line),
            // Nobody else would tell it.
            Stdout::Taken if args.quiet => _ = io::stderr().write_all(&line),
            Stdout::Taken => {}
        }
    }
    told
}

/// Digest and name as sha256sum prints and checks them: a name that would break the line is escaped,
/// and a mark before the line says so.
fn digest_line(digest: &str, path: &Path) -> Vec<u8> {
    let mut name = Vec::new();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'\\' => name.extend(br"\\"),
            b'\n' => name.extend(br"\n"),
            b'\r' => name.extend(br"\r"),
            byte => name.push(*byte),
        }
    }
    let mark: &[u8] = if name == path.as_os_str().as_bytes() { b"" } else { br"\" };
    [mark, digest.as_bytes(), b"  ", &name, b"\n"].concat()
}

/// Why there is no image.
pub(super) fn error(args: &Args, error: &Error) {
    match error {
        Error::Refused(problems) => {
            for problem in &problems.0 {
                complain(&problem.to_string());
            }
            if let Some(line) = way_out(problems) {
                complain(&line);
            }
            if args.json {
                print(json::refusal(&run_of(args, ExitCode::of(error)), problems));
            }
        }
        Error::Emptied { output, cause } => match &**cause {
            differs @ Error::Verify(VerifyError::Differs(_)) => {
                self::error(args, differs);
                complain(&format!("{output} holds no volume now"));
            }
            cause => {
                let (kind, path) = match cause {
                    Error::Write(cause) => (cause.problem_kind(), cause.path()),
                    Error::Verify(cause) => (cause.problem_kind(), cause.path()),
                    _ => (ProblemKind::System, None),
                };
                failed_build(args, error, kind, path);
            }
        },
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
                print(json::wrong(&run_of(args, ExitCode::of(error)), findings));
            }
        }
        Error::Write(cause) => {
            failed_build(args, error, cause.problem_kind(), cause.path());
        }
        Error::Verify(cause) => {
            failed_build(args, error, cause.problem_kind(), cause.path());
        }
    }
}

fn failed_build(args: &Args, error: &Error, kind: ProblemKind, path: Option<String>) {
    let code = ExitCode::of(error);
    let (blame, text) = (code.blame(), error.to_string());
    failures(args, code, vec![json::Failure { kind, blame, path, line: None, text }]);
}

/// What went wrong, a line for each.
pub(super) fn failures(args: &Args, code: ExitCode, failures: Vec<json::Failure>) {
    failures.iter().for_each(|failure| complain(&failure.text));
    if args.json {
        print(json::failure(&run_of(args, code), failures));
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

pub(super) fn complain(line: &str) {
    // Nobody is left to be told that standard error is gone.
    let _ = writeln!(io::stderr(), "mkfatimg: {line}");
}

/// What the parser says of the words, without its advice.
pub(super) fn parser_reason(error: &clap::Error) {
    let rendered = error.render();
    let text = if terminal::shows_colour(&io::stderr()) {
        rendered.ansi().to_string()
    } else {
        rendered.to_string()
    };
    let reason = text.split("\n\n").next().unwrap_or_default();
    // Nobody is left to be told that standard error is gone.
    let _ = writeln!(io::stderr(), "{}", reason.trim_end());
}

/// Reports go to standard output. A reader that has seen enough is no failure of the build, but a
/// report that is lost otherwise is one.
pub(super) fn print(text: impl AsRef<[u8]>) -> ExitCode {
    let mut stdout = io::stdout();
    match stdout.write_all(text.as_ref()).and_then(|()| stdout.flush()) {
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
