//! An image file in the making.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

use super::direct::DirectFile;
use super::output::{Output, OutputError, directory_of};
use super::strategy::Room;
use super::unnamed::Unnamed;
use super::{Destination, Outcome, WriteError, reserve, taken};

/// The owner's right to read and to write.
const OWNER_MAY_WORK: u32 = 0o600;

/// A file in the making.
#[derive(Debug)]
pub(super) struct NewFile {
    file: Unnamed,
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
        let file = Unnamed::beside(&path).map_err(|error| output.error(error))?;
        let error = |error| output.error(error);
        let created = file.file().metadata().map_err(error)?.permissions();
        let permissions = match output.old_mode() {
            Some(mode) => Some(Permissions::from_mode(mode)),
            // A umask that keeps even us from opening it once more.
            None if created.mode() & OWNER_MAY_WORK != OWNER_MAY_WORK => Some(created.clone()),
            None => None,
        };
        if created.mode() & OWNER_MAY_WORK != OWNER_MAY_WORK {
            let ours = Permissions::from_mode(created.mode() | OWNER_MAY_WORK);
            file.file().set_permissions(ours).map_err(error)?;
        }
        let output = output.clone();
        let new = Self { file, path, output, permissions, direct: None };
        let output = &new.output;
        if output.preallocate {
            new.preallocate(total_bytes)?;
        }
        new.file().set_len(total_bytes).map_err(|error| output.error(error))?;
        Ok(new)
    }

    fn preallocate(&self, total_bytes: u64) -> Result<(), OutputError> {
        match fallocate(self.file(), FallocateFlags::empty(), 0, total_bytes) {
            Ok(()) => Ok(()),
            Err(error @ (Errno::OPNOTSUPP | Errno::NOSYS)) => {
                Err(OutputError::CannotPreallocate { path: self.path.clone(), error: error.into() })
            }
            Err(error) => Err(self.output.error(error.into())),
        }
    }

    pub(super) fn file(&self) -> &File {
        self.file.file()
    }

    /// Reserves room for `stretches`, first byte and length of each, where that makes the writing
    /// faster, and tells whether it did.
    pub(super) fn reserve(&self, stretches: &[(u64, u64)]) -> Result<Room, OutputError> {
        if !reserve::is_worth_it(self.file()) {
            return Ok(Room::None);
        }
        match reserve::reserve(self.file(), stretches) {
            Ok(true) => Ok(Room::Written),
            Ok(false) => Ok(Room::None),
            Err(error) => Err(self.output.error(error.into())),
        }
    }

    /// From now on writes go past the page cache, if the file system lets them.
    pub(super) fn go_past_cache(&mut self) {
        self.direct = DirectFile::open(&self.file.name()).ok();
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
            let set = self.file().set_permissions(permissions.clone());
            set.map_err(|error| self.output.error(error))?;
        }
        if self.output.sync {
            self.file().sync_all().map_err(|error| self.output.error(error))?;
        }
        taken::confirm(self.file()).map_err(|error| self.output.error(error))
    }

    /// Gives the file its name, in one step for whoever looks.
    pub(super) fn publish(self) -> Result<NamedFile, OutputError> {
        let Self { file, path, output, .. } = self;
        let file = file.publish(&path).map_err(|error| output.error(error))?;
        Ok(NamedFile { file, path, output })
    }
}

/// A file that is complete and has its name.
#[derive(Debug)]
pub(super) struct NamedFile {
    file: File,
    path: PathBuf,
    output: Output,
}

impl NamedFile {
    /// Makes it newer than its folder on request; with `--sync` its name is on the disk too then.
    pub(super) fn settle(self, newer_than_folder: bool) -> Result<(), OutputError> {
        let Self { file, path, output } = self;
        let unsettled = |what: &str| {
            let (name, what) = (output.name(), what.to_owned());
            move |error| OutputError::Unsettled { name, what, error }
        };
        if newer_than_folder {
            let set = file.set_modified(SystemTime::now());
            set.map_err(unsettled("its time cannot be set, so that make may build it again"))?;
        }
        if output.sync {
            let synced = File::open(directory_of(&path)).and_then(|folder| folder.sync_all());
            synced.map_err(unsettled("its name may not be on the disk yet"))?;
        }
        Ok(())
    }
}

impl Destination for NewFile {
    fn write(&self, at: u64, bytes: &[u8]) -> Result<(), WriteError> {
        let written = self.write_direct(at, bytes).and_then(|taken| {
            if taken == bytes.len() {
                return Ok(());
            }
            self.file().write_all_at(&bytes[taken..], at + taken as u64)
        });
        Ok(written.map_err(|error| self.output.error(error))?)
    }

    /// The file was made of zeros.
    fn zeros(&self, _: u64, len: u64) -> Result<Outcome, WriteError> {
        Ok(Outcome::hole(len))
    }
}
