//! A regular file that gets its name only when it is complete. Until then it has none at all
//! where the system can do that, so that nothing is left whatever happens.

use std::fs::{File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FallocateFlags, Mode, OFlags, fallocate, linkat, open};
use rustix::io::Errno;
use tempfile::TempPath;

use super::direct::DirectFile;
use super::output::{Output, OutputError, directory_of};
use super::strategy::Room;
use super::{Destination, WriteError, reserve};

/// How the names of files that are not complete begin and end.
const PARTIAL_PREFIX: &str = ".mkfatimg-";
const PARTIAL_SUFFIX: &str = ".partial";

/// The owner's right to read and to write.
const OWNER_MAY_WORK: u32 = 0o600;

/// A file in the making.
#[derive(Debug)]
pub(super) struct NewFile {
    file: File,
    /// Its name until it is complete; removed when dropped.
    temporary: Option<TempPath>,
    path: PathBuf,
    output: Output,
    /// Permissions that it gets when it is complete; until then we may read and write it.
    permissions: Option<Permissions>,
    direct: Option<DirectFile>,
}

impl NewFile {
    /// A new file of `total_bytes` zeros in the folder of `output`.
    pub(super) fn create(output: &Output, total_bytes: u64) -> Result<Self, OutputError> {
        let Some(path) = output.path().map(Path::to_path_buf) else {
            return Err(output.error(io::Error::from(io::ErrorKind::InvalidInput)));
        };
        let (file, temporary) = create_beside(&path).map_err(|error| output.error(error))?;
        let error = |error| output.error(error);
        let created = file.metadata().map_err(error)?.permissions();
        let permissions = match output.old_mode() {
            Some(mode) => Some(Permissions::from_mode(mode)),
            // A umask that keeps even us from opening it once more.
            None if created.mode() & OWNER_MAY_WORK != OWNER_MAY_WORK => Some(created.clone()),
            None => None,
        };
        if created.mode() & OWNER_MAY_WORK != OWNER_MAY_WORK {
            let ours = Permissions::from_mode(created.mode() | OWNER_MAY_WORK);
            file.set_permissions(ours).map_err(error)?;
        }
        let output = output.clone();
        let new = Self { file, temporary, path, output, permissions, direct: None };
        let output = &new.output;
        if output.preallocate {
            new.preallocate(total_bytes)?;
        }
        new.file.set_len(total_bytes).map_err(|error| output.error(error))?;
        Ok(new)
    }

    fn preallocate(&self, total_bytes: u64) -> Result<(), OutputError> {
        match fallocate(&self.file, FallocateFlags::empty(), 0, total_bytes) {
            Ok(()) => Ok(()),
            Err(error @ (Errno::OPNOTSUPP | Errno::NOSYS)) => {
                Err(OutputError::CannotPreallocate { path: self.path.clone(), error: error.into() })
            }
            Err(error) => Err(self.output.error(error.into())),
        }
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Reserves room for `stretches`, first byte and length of each, where that makes the writing
    /// faster, and tells whether it did.
    pub(super) fn reserve(&self, stretches: &[(u64, u64)]) -> Result<Room, OutputError> {
        if !reserve::is_worth_it(&self.file) {
            return Ok(Room::None);
        }
        match reserve::reserve(&self.file, stretches) {
            Ok(true) => Ok(Room::Written),
            Ok(false) => Ok(Room::None),
            Err(error) => Err(self.output.error(error.into())),
        }
    }

    /// From now on writes go past the page cache, if the file system lets them.
    pub(super) fn go_past_cache(&mut self) {
        let name = match &self.temporary {
            Some(temporary) => temporary.to_path_buf(),
            None => name_of(&self.file),
        };
        self.direct = DirectFile::open(&name).ok();
    }

    /// Whether writes go past the page cache, and none was refused so far.
    pub(super) fn is_past_cache(&self) -> bool {
        self.direct.as_ref().is_some_and(|direct| !direct.was_refused())
    }

    /// How many of `bytes` went past the page cache.
    fn write_direct(&self, at: u64, bytes: &[u8]) -> io::Result<usize> {
        match &self.direct {
            Some(direct) => direct.write(at, bytes),
            None => Ok(0),
        }
    }

    /// Nothing is to be written any more: with `--sync` the bytes are on the disk then, before an
    /// old image gives way to them.
    pub(super) fn complete(&self) -> Result<(), OutputError> {
        if let Some(permissions) = &self.permissions {
            let set = self.file.set_permissions(permissions.clone());
            set.map_err(|error| self.output.error(error))?;
        }
        if self.output.sync {
            self.file.sync_all().map_err(|error| self.output.error(error))?;
        }
        Ok(())
    }

    /// Gives the file its name, in one step for whoever looks; with `--sync` the name is on the
    /// disk too then.
    pub(super) fn publish(self) -> Result<(), OutputError> {
        let published = match self.temporary {
            Some(temporary) => temporary.persist(&self.path).map_err(|error| error.error),
            None => publish_unnamed(&self.file, &self.path),
        };
        let sync = self.output.sync;
        let done = published.and_then(|()| {
            if sync { File::open(directory_of(&self.path))?.sync_all() } else { Ok(()) }
        });
        done.map_err(|error| self.output.error(error))
    }
}

impl Destination for NewFile {
    fn write(&self, at: u64, bytes: &[u8]) -> Result<(), WriteError> {
        let written = self.write_direct(at, bytes).and_then(|taken| {
            if taken == bytes.len() {
                return Ok(());
            }
            self.file.write_all_at(&bytes[taken..], at + taken as u64)
        });
        Ok(written.map_err(|error| self.output.error(error))?)
    }

    /// The file was made of zeros.
    fn zeros(&self, _: u64, _: u64) -> Result<bool, WriteError> {
        Ok(false)
    }
}

/// A file without a name, or with a temporary one where that cannot be, on the file system of
/// `path`. Permissions are what the umask leaves.
fn create_beside(path: &Path) -> io::Result<(File, Option<TempPath>)> {
    let directory = directory_of(path);
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    match open(directory, flags, Mode::from_raw_mode(0o666)) {
        Ok(unnamed) => {
            let file = File::from(unnamed);
            // Without /proc it could never get its name.
            if name_of(&file).symlink_metadata().is_ok() {
                return Ok((file, None));
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
    Ok((file, Some(temporary)))
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
