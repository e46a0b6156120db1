//! What the command's exit status means.

use std::process;

use crate::Error;
use crate::plan::Blame;
use crate::sink::{OutputError, WriteError};
use crate::source::content::ContentErrorKind;
use crate::source::is_limit_of_process;
use crate::verify::VerifyError;

/// Exit status. The numbers are part of the command's interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitCode {
    /// The image is there, or the plan is shown.
    Done = 0,
    /// The system refused a read or a write.
    System = 1,
    /// The command line makes no sense.
    Usage = 2,
    /// The image is too small or would not be legal.
    Format = 3,
    /// The source holds what FAT cannot, or changed while it was read.
    Source = 4,
    /// The finished image was not what was planned.
    Verification = 5,
}

impl ExitCode {
    pub(crate) fn of(error: &Error) -> Self {
        match error {
            Error::Refused(problems) => match problems.blame() {
                Blame::System => Self::System,
                Blame::CommandLine => Self::Usage,
                Blame::Format => Self::Format,
                Blame::Source => Self::Source,
            },
            Error::Write(WriteError::Content(error))
            | Error::Verify(VerifyError::Content(error)) => match &error.kind {
                ContentErrorKind::Unreadable(error) if is_limit_of_process(error) => Self::System,
                _ => Self::Source,
            },
            Error::Write(WriteError::Output(OutputError::TooSmall { .. })) => Self::Format,
            Error::Emptied { cause, .. } => Self::of(cause),
            Error::Write(
                WriteError::Emptied { .. }
                | WriteError::Output(_)
                | WriteError::Memory
                | WriteError::Stopped,
            ) => Self::System,
            Error::Verify(VerifyError::Differs(_)) => Self::Verification,
            Error::Verify(VerifyError::TooLarge) => Self::Format,
            Error::Verify(VerifyError::Read(_) | VerifyError::Stopped) => Self::System,
        }
    }
}

impl ExitCode {
    /// Who is at fault, in a report for programs.
    pub(crate) fn blame(self) -> &'static str {
        match self {
            Self::Done | Self::System => Blame::System.id(),
            Self::Usage => Blame::CommandLine.id(),
            Self::Format => Blame::Format.id(),
            Self::Source => Blame::Source.id(),
            Self::Verification => "image",
        }
    }
}

impl From<ExitCode> for process::ExitCode {
    fn from(code: ExitCode) -> Self {
        Self::from(code as u8)
    }
}
