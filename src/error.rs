//! Why there is no image: one variant for each stage that can fail.

use thiserror::Error;

use crate::plan::Problems;
use crate::sink::WriteError;
use crate::source::Stopped;
use crate::verify::VerifyError;

/// Why there is no image.
#[derive(Debug, Error)]
pub enum Error {
    /// Nothing was written: the source or the request is at fault.
    #[error(transparent)]
    Refused(#[from] Problems),
    /// The image could not be written as planned.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The image was written, but it is not what was planned; it was thrown away.
    #[error(transparent)]
    Verify(#[from] VerifyError),
}

impl From<Stopped> for Error {
    fn from(_: Stopped) -> Self {
        Self::Write(WriteError::Stopped)
    }
}
