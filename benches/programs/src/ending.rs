//! How the programs end: status 0, or one line that says what went wrong and status 1.

use std::process::ExitCode;

use anyhow::Result;

/// The exit code for `result` of the program `name`, told on standard error if it is a fault.
pub fn of(name: &str, result: Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{name}: {error:#}");
            ExitCode::FAILURE
        }
    }
}
