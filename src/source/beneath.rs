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
        let descriptor = open(path, flags(OFlags::PATH), Mode::empty())?;
        Ok(Self { path: path.to_path_buf(), descriptor })
    }

    /// As it was named.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the directory `path`, which begins with the root's own path: `RDONLY` to read it, `PATH`
    /// to open what is in it. What took the place of a directory on the way since it was seen cannot
    /// lead elsewhere.
    ///
    /// # Errors
    /// Those of the system; `XDEV` when `path` does not lie under the root.
    pub(super) fn directory(&self, path: &Path, access: OFlags) -> Result<OwnedFd, Errno> {
        let below = match path.strip_prefix(&self.path) {
            Ok(below) if !below.as_os_str().is_empty() => below,
            // By its path: through its descriptor it would have to be searchable too.
            Ok(_) => return open(path, flags(access), Mode::empty()),
            Err(_) => return Err(Errno::XDEV),
        };
        let no_links = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        match openat2(&self.descriptor, below, flags(access), Mode::empty(), no_links) {
            // Kernels before 5.6, and sandboxes that have not heard of the call: step by step.
            Err(Errno::NOSYS | Errno::PERM) => self.step_by_step(below, access),
            other => other,
        }
    }

    fn step_by_step(&self, below: &Path, access: OFlags) -> Result<OwnedFd, Errno> {
        let mut steps = below.iter().peekable();
        let mut held: Option<OwnedFd> = None;
        while let Some(step) = steps.next() {
            let access = if steps.peek().is_some() { OFlags::PATH } else { access };
            let above = held.as_ref().unwrap_or(&self.descriptor);
            held = Some(openat(above, step, flags(access) | OFlags::NOFOLLOW, Mode::empty())?);
        }
        held.ok_or(Errno::NOENT)
    }
}

fn flags(access: OFlags) -> OFlags {
    access | OFlags::DIRECTORY | OFlags::CLOEXEC
}
