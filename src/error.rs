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
    Write(WriteError),
    /// The image was written, but it is not what was planned; it was thrown away.
    #[error(transparent)]
    Verify(#[from] VerifyError),
    /// What the image was to take the place of is gone, since the image is written where it lay.
    #[error("{cause}; {output} holds no volume now")]
    Emptied {
        /// The output as text.
        output: String,
        /// Why there is no image.
        cause: Box<Error>,
    },
}

impl From<WriteError> for Error {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Emptied { output, cause } => {
                Self::Emptied { output, cause: Box::new(Self::from(*cause)) }
            }
            error => Self::Write(error),
        }
    }
}

impl From<Stopped> for Error {
    fn from(_: Stopped) -> Self {
        Self::Write(WriteError::Stopped)
    }
}
