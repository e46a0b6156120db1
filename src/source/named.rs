//! Files that are given by name, and where the names lead. Knows no tree.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::seen::Seen;

/// A file as it was named, and where that leads.
#[derive(Debug)]
pub(super) struct NamedContent {
    /// As it was named.
    pub(super) path: Box<Path>,
    /// The directory that it is in, by a path without links.
    pub(super) folder: Arc<Path>,
    /// Its name there, where the path's own is a link.
    end: Option<Box<OsStr>>,
}

impl NamedContent {
    /// Its name in the folder; none of the root directory.
    pub(super) fn name(&self) -> Option<&OsStr> {
        self.end.as_deref().or_else(|| self.path.file_name())
    }

    /// Where it is, if it was named by a link.
    pub(super) fn end_of_link(&self) -> Option<PathBuf> {
        self.end.as_ref().map(|name| self.folder.join(&**name))
    }
}

/// Looks after files by their names.
#[derive(Debug, Default)]
pub(super) struct Finder {
    /// The folder of the last one, as named and without links in its path: most share it with
    /// their neighbour.
    last_folder: Option<(PathBuf, Arc<Path>)>,
}

impl Finder {
    /// What is at `path`, by way of any links.
    ///
    /// # Errors
    /// Those of the system.
    pub(super) fn look_at(&mut self, path: &Path) -> io::Result<(Seen, NamedContent)> {
        let found = fs::symlink_metadata(path)?;
        let folder = path.parent().filter(|_| path.file_name().is_some() && !found.is_symlink());
        if let Some(folder) = folder {
            let folder = self.folder(folder)?;
            let content = NamedContent { path: path.into(), folder, end: None };
            return Ok((Seen::from(&found), content));
        }
        let (found, real) = (fs::metadata(path)?, fs::canonicalize(path)?);
        // Only the root directory has neither.
        let folder = real.parent().unwrap_or(&real).into();
        let end = real.file_name().map(Into::into);
        Ok((Seen::from(&found), NamedContent { path: path.into(), folder, end }))
    }

    /// A directory by a path without links.
    fn folder(&mut self, named: &Path) -> io::Result<Arc<Path>> {
        if let Some((_, folder)) = self.last_folder.as_ref().filter(|last| last.0 == named) {
            return Ok(Arc::clone(folder));
        }
        let here = if named.as_os_str().is_empty() { Path::new(".") } else { named };
        let folder: Arc<Path> = fs::canonicalize(here)?.into();
        self.last_folder = Some((named.to_path_buf(), Arc::clone(&folder)));
        Ok(folder)
    }
}
