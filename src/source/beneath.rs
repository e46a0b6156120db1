//! Directories of a source, reached without following a link on the way. Knows no tree.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags, open, openat, openat2};
use rustix::io::Errno;

/// A source that stays open, so that the way to each of its directories begins there.
#[derive(Debug)]
pub(super) struct Root {
    path: PathBuf,
    descriptor: OwnedFd,
}

impl Root {
    /// Opens the source itself, which may be named by a link.
    pub(super) fn open(path: &Path) -> Result<Self, Errno> {
        let descriptor = open(path, folder_flags(), Mode::empty())?;
        Ok(Self { path: path.to_path_buf(), descriptor })
    }

    /// As it was named.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the directory `path`, which begins with the root's own path. What took the place of a
    /// directory on the way since it was seen cannot lead elsewhere.
    ///
    /// # Errors
    /// Those of the system; `XDEV` when `path` does not lie under the root.
    pub(super) fn directory(&self, path: &Path) -> Result<OwnedFd, Errno> {
        let below = match path.strip_prefix(&self.path) {
            Ok(below) if !below.as_os_str().is_empty() => below,
            Ok(_) => return openat(&self.descriptor, ".", folder_flags(), Mode::empty()),
            Err(_) => return Err(Errno::XDEV),
        };
        let no_links = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        match openat2(&self.descriptor, below, folder_flags(), Mode::empty(), no_links) {
            // Kernels before 5.6, and sandboxes that have not heard of the call: step by step.
            Err(Errno::NOSYS | Errno::PERM) => {
                let mut steps = below.iter();
                let flags = folder_flags() | OFlags::NOFOLLOW;
                let first = steps.next().unwrap_or_default();
                let mut descriptor = openat(&self.descriptor, first, flags, Mode::empty())?;
                for step in steps {
                    descriptor = openat(&descriptor, step, flags, Mode::empty())?;
                }
                Ok(descriptor)
            }
            other => other,
        }
    }
}

fn folder_flags() -> OFlags {
    OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC
}
