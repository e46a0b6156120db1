//! A file that gets its name only when it is complete. Until then it has none at all where the
//! system can do that, so that nothing is left whatever happens. Knows nothing of its contents.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags, linkat, open, renameat_with};
use rustix::io::Errno;
use tempfile::TempPath;

use super::output::directory_of;

/// How the names of files that are not complete begin and end.
const PARTIAL_PREFIX: &str = ".mkfatimg-";
const PARTIAL_SUFFIX: &str = ".partial";

/// A file in the making.
#[derive(Debug)]
pub(super) struct Unnamed {
    file: File,
    /// Its name until it is complete, where it has to have one; removed when dropped.
    temporary: Option<TempPath>,
}

impl Unnamed {
    /// An empty file on the file system of `path`. Permissions are what the umask leaves.
    pub(super) fn beside(path: &Path) -> io::Result<Self> {
        let directory = directory_of(path);
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        match open(directory, flags, Mode::from_raw_mode(0o666)) {
            Ok(unnamed) => {
                let file = File::from(unnamed);
                // Without /proc it could never get its name.
                if name_of(&file).symlink_metadata().is_ok() {
                    return Ok(Self { file, temporary: None });
                }
            }
            // File systems, and kernels, that know no unnamed files.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT | Errno::NOSYS) => {}
            Err(error) => return Err(error.into()),
        }
        let named =
            named_as_partial().permissions(Permissions::from_mode(0o666)).tempfile_in(directory)?;
        let (file, temporary) = named.into_parts();
        Ok(Self { file, temporary: Some(temporary) })
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// A name under which it can be opened once more.
    pub(super) fn name(&self) -> PathBuf {
        match &self.temporary {
            Some(temporary) => temporary.to_path_buf(),
            None => name_of(&self.file),
        }
    }

    /// Gives it the name `path`, in one step for whoever looks. What had it is replaced.
    pub(super) fn publish(mut self, path: &Path) -> io::Result<File> {
        if let Some(temporary) = self.temporary_name(path)? {
            temporary.persist(path).map_err(|error| error.error)?;
        }
        Ok(self.file)
    }

    /// The same, but what had the name is kept until nothing can fail any more.
    pub(super) fn publish_revocably(mut self, path: &Path) -> io::Result<Revocable> {
        let before = match self.temporary_name(path)? {
            Some(temporary) => exchange(temporary, path)?,
            None => Before::Nothing,
        };
        Ok(Revocable { path: path.to_path_buf(), before })
    }

    /// A name beside `path` from which a rename can replace what is there; `None` if nothing was
    /// there and the file has the name `path` now.
    fn temporary_name(&mut self, path: &Path) -> io::Result<Option<TempPath>> {
        if let Some(temporary) = self.temporary.take() {
            return Ok(Some(temporary));
        }
        let link_as = |new: &Path| {
            let linked = linkat(CWD, name_of(&self.file), CWD, new, AtFlags::SYMLINK_FOLLOW);
            linked.map_err(io::Error::from)
        };
        match link_as(path) {
            // A link never replaces a file, a rename does.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            other => return other.map(|()| None),
        }
        let temporary = named_as_partial().make_in(directory_of(path), |name| link_as(name))?;
        Ok(Some(temporary.into_temp_path()))
    }
}

/// A name that is taken back when this is dropped, unless it is kept.
#[derive(Debug)]
#[must_use]
pub(super) struct Revocable {
    path: PathBuf,
    before: Before,
}

/// What had the name before.
#[derive(Debug)]
enum Before {
    Nothing,
    /// A file, under another name now.
    File(TempPath),
    /// A file that is gone, on file systems that cannot exchange two names; or it is gone because the
    /// new one is to stay.
    Gone,
}

impl Revocable {
    /// The new file keeps its name.
    ///
    /// # Errors
    /// Where the one before cannot be removed, its name and what the system said.
    pub(super) fn keep(mut self) -> Result<(), (PathBuf, io::Error)> {
        match std::mem::replace(&mut self.before, Before::Gone) {
            Before::File(mut old) => {
                // What is told as left is not to be gone a moment later.
                old.disable_cleanup(true);
                fs::remove_file(&old).map_err(|error| (old.to_path_buf(), error))
            }
            Before::Nothing | Before::Gone => Ok(()),
        }
    }
}

impl Drop for Revocable {
    fn drop(&mut self) {
        match std::mem::replace(&mut self.before, Before::Gone) {
            // Whoever takes a name back has an error to tell, and no use for a second one.
            Before::Nothing => _ = fs::remove_file(&self.path),
            Before::File(old) => _ = old.persist(&self.path),
            Before::Gone => {}
        }
    }
}

/// Lets `new` and what has the name `path` change names.
fn exchange(new: TempPath, path: &Path) -> io::Result<Before> {
    match renameat_with(CWD, &*new, CWD, path, RenameFlags::EXCHANGE) {
        Ok(()) => Ok(Before::File(new)),
        // There was none, or the file system knows no exchange.
        Err(error) => {
            let before = if error == Errno::NOENT { Before::Nothing } else { Before::Gone };
            new.persist(path).map_err(|error| error.error)?;
            Ok(before)
        }
    }
}

fn named_as_partial() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PARTIAL_PREFIX).suffix(PARTIAL_SUFFIX);
    builder
}

fn name_of(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}
