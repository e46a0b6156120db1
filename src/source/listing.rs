//! One directory: the names in it, and what the host says of each. Knows no policy and no tree.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::{AtFlags, Dir, OFlags, statat};
use rustix::io::Errno;

use super::beneath::Root;
use super::refusal::RefusalKind;
use super::seen::Seen;
use super::tree::{Identity, os_name};
use crate::event::Observer;
use crate::pattern::Patterns;

/// A directory that was met and is to be listed.
#[derive(Debug)]
pub(super) struct Folder {
    /// What must not be left on the way into it.
    pub(super) root: Arc<Root>,
    /// It begins with the root's own path.
    pub(super) path: PathBuf,
    /// Where its contents go in the image, below its root.
    pub(super) image_path: PathBuf,
    /// What it was when it was met.
    pub(super) identity: Identity,
}

/// What is in a directory, sorted by the bytes of the names.
#[derive(Debug, Default)]
pub(super) struct Listing {
    names: Vec<u8>,
    entries: Vec<Listed>,
    /// What is left out, and the patterns that say so.
    pub(super) excluded: Vec<(Listed, Vec<usize>)>,
    /// Why it could not be read, or not to its end.
    pub(super) refusals: Vec<RefusalKind>,
}

/// An entry of a directory.
#[derive(Debug)]
pub(super) struct Listed {
    name_at: u32,
    name_bytes: u32,
    pub(super) seen: io::Result<Seen>,
}

impl Folder {
    /// Reads the directory and asks once after each thing in it, or after fewer once `watch` asks to
    /// stop. Names and what they stand for come from one descriptor of the very directory that was
    /// met: whatever takes its place meanwhile cannot hide an entry or bring another.
    ///
    /// What `exclude` matches is set apart here, where no thread has gone into it yet.
    pub(super) fn list(&self, exclude: &Patterns, watch: &dyn Observer) -> Listing {
        let mut listing = Listing::default();
        let refusal = match self.root.directory(&self.path, OFlags::RDONLY).and_then(Dir::new) {
            Ok(mut directory) => self.read(&mut directory, watch, &mut listing),
            // Something else has its name now.
            Err(Errno::LOOP | Errno::NOTDIR | Errno::XDEV) => Err(RefusalKind::Replaced),
            Err(Errno::NOENT) => Err(RefusalKind::Vanished),
            Err(error) => Err(RefusalKind::Unreadable(error.into())),
        };
        listing.refusals.extend(refusal.err());
        if !exclude.is_empty() {
            listing.set_apart(|name, directory| {
                exclude.matching(self.image_path.join(name).as_os_str().as_bytes(), directory)
            });
        }
        listing
    }

    fn read(
        &self,
        directory: &mut Dir,
        watch: &dyn Observer,
        listing: &mut Listing,
    ) -> Result<(), RefusalKind> {
        let unreadable = |error: Errno| RefusalKind::Unreadable(error.into());
        let found = Seen::from(&directory.stat().map_err(unreadable)?);
        if !found.identity.is_of(&self.identity) {
            return Err(RefusalKind::Replaced);
        }
        let mut read = Ok(());
        for entry in directory.by_ref() {
            match entry {
                Ok(entry) => listing.add_name(entry.file_name().to_bytes()),
                Err(error) => {
                    read = Err(unreadable(error));
                    break;
                }
            }
        }
        listing.sort();
        let folder = directory.fd().map_err(unreadable)?;
        for Listed { name_at, name_bytes, seen } in &mut listing.entries {
            if watch.must_stop() {
                break;
            }
            let name = &listing.names[*name_at as usize..][..*name_bytes as usize];
            let found = statat(folder, os_name(name), AtFlags::SYMLINK_NOFOLLOW);
            *seen = found.map(|found| Seen::from(&found)).map_err(io::Error::from);
        }
        // What came, went or changed its name meanwhile may have been met twice, or not at all.
        let identity = Seen::from(&directory.stat().map_err(unreadable)?).identity;
        read.and(if identity == found.identity { Ok(()) } else { Err(RefusalKind::Changed) })
    }
}

impl Listing {
    /// The name of an entry.
    pub(super) fn name(&self, entry: &Listed) -> &[u8] {
        &self.names[entry.name_at as usize..][..entry.name_bytes as usize]
    }

    /// Gives away the entries, in order; their names stay.
    pub(super) fn take_entries(&mut self) -> Vec<Listed> {
        std::mem::take(&mut self.entries)
    }

    /// Takes out the entries for which `patterns` are told.
    fn set_apart(&mut self, patterns: impl Fn(&OsStr, bool) -> Vec<usize>) {
        let mut kept = Vec::with_capacity(self.entries.len());
        for entry in self.take_entries() {
            // What cannot be asked after may be anything.
            let directory = entry.seen.as_ref().map_or(true, Seen::is_directory);
            let matching = patterns(os_name(self.name(&entry)), directory);
            if matching.is_empty() {
                kept.push(entry);
            } else {
                self.excluded.push((entry, matching));
            }
        }
        self.entries = kept;
    }

    /// The names of the entries that are directories, and what these are, in order.
    pub(super) fn directories(&self) -> impl Iterator<Item = (&[u8], Identity)> + '_ {
        self.entries.iter().filter_map(|entry| match &entry.seen {
            Ok(seen) if seen.is_directory() => Some((self.name(entry), seen.identity)),
            _ => None,
        })
    }

    fn add_name(&mut self, name: &[u8]) {
        if matches!(name, b"." | b"..") {
            return;
        }
        // FAT holds no directory whose names come near 4 GiB.
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
