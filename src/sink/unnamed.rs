//! A file that gets its name only when it is complete. Until then it has none at all where the
//! system can do that, so that nothing is left whatever happens. Knows nothing of its contents.

use std::fs::{File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open};
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
        let named = tempfile::Builder::new()
            .prefix(PARTIAL_PREFIX)
            .suffix(PARTIAL_SUFFIX)
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(directory)?;
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
    pub(super) fn publish(self, path: &Path) -> io::Result<File> {
        match self.temporary {
            Some(temporary) => temporary.persist(path).map_err(|error| error.error)?,
            None => publish_unnamed(&self.file, path)?,
        }
        Ok(self.file)
    }
}

fn name_of(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

fn publish_unnamed(file: &File, path: &Path) -> io::Result<()> {
    let link_as = |new: &Path| {
        let linked = linkat(CWD, name_of(file), CWD, new, AtFlags::SYMLINK_FOLLOW);
        linked.map_err(io::Error::from)
    };
    match link_as(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        other => return other,
    }
    // A link never replaces a file, a rename does.
    let directory = directory_of(path);
    let temporary = tempfile::Builder::new()
        .prefix(PARTIAL_PREFIX)
        .suffix(PARTIAL_SUFFIX)
        .make_in(directory, |name| link_as(name))?;
    temporary.into_temp_path().persist(path).map_err(|error| error.error)
}
