//! One directory: the names in it, and what the host says of each. Knows no policy and no tree.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::{AtFlags, fstat, statat};
use rustix::io::Errno;
use walkdir::WalkDir;

use super::beneath::Root;
use super::refusal::RefusalKind;
use super::seen::Seen;
use super::tree::{Identity, os_name};
use crate::event::Observer;

/// A directory that was met and is to be listed.
#[derive(Debug)]
pub(super) struct Folder {
    /// What must not be left on the way into it.
    pub(super) root: Arc<Root>,
    /// It begins with the root's own path.
    pub(super) path: PathBuf,
    /// What it was when it was met.
    pub(super) identity: Identity,
}

/// What is in a directory, sorted by the bytes of the names.
#[derive(Debug, Default)]
pub(super) struct Listing {
    names: Vec<u8>,
    entries: Vec<Listed>,
    /// Why it could not be read, or not to its end.
    pub(super) refusals: Vec<RefusalKind>,
}

#[derive(Debug)]
struct Listed {
    name_at: u32,
    name_bytes: u32,
    seen: io::Result<Seen>,
}

impl Folder {
    /// Reads the directory and asks after all that is in it, or after less once `watch` asks to
    /// stop. A link that has taken its place is not followed: what the names stand for is asked of
    /// the very directory that was met.
    pub(super) fn list(&self, watch: &dyn Observer) -> Listing {
        let refused = |kind| Listing { refusals: vec![kind], ..Listing::default() };
        let folder = match self.root.directory(&self.path) {
            Ok(folder) => folder,
            // Something else has its name now.
            Err(Errno::LOOP | Errno::NOTDIR | Errno::XDEV) => {
                return refused(RefusalKind::Replaced);
            }
            Err(error) => return refused(RefusalKind::Unreadable(error.into())),
        };
        match fstat(&folder) {
            Ok(found) if Seen::from(&found).identity.is_of(&self.identity) => {}
            Ok(_) => return refused(RefusalKind::Replaced),
            Err(error) => return refused(RefusalKind::Unreadable(error.into())),
        }
        let mut listing = Listing::default();
        for entry in WalkDir::new(&self.path).min_depth(1).max_depth(1) {
            match entry {
                Ok(entry) => listing.add_name(entry.file_name().as_bytes()),
                Err(error) => listing.refusals.push(RefusalKind::Unreadable(error_of(error))),
            }
        }
        listing.sort();
        for Listed { name_at, name_bytes, seen } in &mut listing.entries {
            if watch.must_stop() {
                break;
            }
            let name = &listing.names[*name_at as usize..][..*name_bytes as usize];
            let found = statat(&folder, os_name(name), AtFlags::SYMLINK_NOFOLLOW);
            *seen = found.map(|found| Seen::from(&found)).map_err(io::Error::from);
        }
        listing
    }
}

impl Listing {
    /// How many entries there are.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The name of an entry.
    pub(super) fn name(&self, index: usize) -> &[u8] {
        let Listed { name_at, name_bytes, .. } = self.entries[index];
        &self.names[name_at as usize..][..name_bytes as usize]
    }

    /// What is there; an error is given away.
    pub(super) fn take_seen(&mut self, index: usize) -> io::Result<Seen> {
        let again = match &self.entries[index].seen {
            Ok(seen) => Ok(*seen),
            Err(error) => Err(error.kind().into()),
        };
        std::mem::replace(&mut self.entries[index].seen, again)
    }

    /// The entries that are directories, by their numbers.
    pub(super) fn directories(&self) -> impl DoubleEndedIterator<Item = (usize, Identity)> + '_ {
        self.entries.iter().enumerate().filter_map(|(index, entry)| match &entry.seen {
            Ok(seen) if seen.is_directory() => Some((index, seen.identity)),
            _ => None,
        })
    }

    fn add_name(&mut self, name: &[u8]) {
        // A directory with names of 4 GiB in all would take more memory than machines have.
        let (Ok(name_at), Ok(name_bytes)) =
            (u32::try_from(self.names.len()), u32::try_from(name.len()))
        else {
            return self.refusals.push(RefusalKind::TooManyEntries);
        };
        self.names.extend_from_slice(name);
        let seen = Err(io::ErrorKind::NotFound.into());
        self.entries.push(Listed { name_at, name_bytes, seen });
    }

    fn sort(&mut self) {
        let names = &self.names;
        let name =
            |listed: &Listed| &names[listed.name_at as usize..][..listed.name_bytes as usize];
        self.entries.sort_unstable_by(|one, other| name(one).cmp(name(other)));
    }
}

fn error_of(error: walkdir::Error) -> io::Error {
    error.into_io_error().unwrap_or_else(|| io::Error::other("loop of directories"))
}
