//! Whether the file system has taken what was written: some tell only when a file is closed that there
//! was no room, NFS among them. Knows nothing of what was written.

use std::io;
use std::os::fd::AsFd;

use nix::errno::Errno;
use nix::unistd::close;

/// Closes a second descriptor of `file`, which costs next to nothing elsewhere: what comes too late to
/// be told by a write is told now, while the file has no name yet.
///
/// # Errors
/// What the file system says of all that was written so far.
pub(super) fn confirm(file: impl AsFd) -> io::Result<()> {
    match close(file.as_fd().try_clone_to_owned()?) {
        // It is closed all the same.
        Ok(()) | Err(Errno::EINTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
