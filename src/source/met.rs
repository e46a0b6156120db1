//! Where something was met, for messages: on the host, or in a line of a manifest. Knows no tree.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::event::{Notice, NoticeKind};
use crate::printable;

/// A line of a manifest.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ManifestLine {
    /// The manifest.
    pub manifest: Arc<Path>,
    /// Lines up to it, itself included.
    pub line: u32,
}

/// Where something was met.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum MetAt {
    /// There: a link itself, not its target.
    Host(PathBuf),
    /// In that line, as that path in the image, which is empty where the line itself is meant.
    Line(ManifestLine, PathBuf),
}

impl MetAt {
    /// What a person opens to see it: the entry of the host, or the manifest.
    pub fn path(&self) -> &Path {
        match self {
            Self::Host(path) => path,
            Self::Line(at, _) => &at.manifest,
        }
    }

    /// The line of the manifest, from 1 on.
    pub fn line(&self) -> Option<u32> {
        match self {
            Self::Host(_) => None,
            Self::Line(at, _) => Some(at.line),
        }
    }

    /// A fact of what was met there.
    pub fn notice(&self, kind: NoticeKind, fact: impl fmt::Display) -> Notice {
        match self {
            Self::Host(path) => Notice::at(path, kind, fact),
            Self::Line(at, named) => Notice::at_line(&at.manifest, at.line, named, kind, fact),
        }
    }
}

impl fmt::Display for MetAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&printable::path(self.path()))?;
        if let Self::Line(at, named) = self {
            write!(f, ":{}", at.line)?;
            if !named.as_os_str().is_empty() {
                write!(f, ": {}", printable::path(named))?;
            }
        }
        Ok(())
    }
}

impl From<&Path> for MetAt {
    fn from(path: &Path) -> Self {
        Self::Host(path.to_path_buf())
    }
}

impl From<&PathBuf> for MetAt {
    fn from(path: &PathBuf) -> Self {
        Self::Host(path.clone())
    }
}

impl From<&Self> for MetAt {
    fn from(met_at: &Self) -> Self {
        met_at.clone()
    }
}
