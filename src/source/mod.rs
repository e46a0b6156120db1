//! What goes in: host directories and files as one [`Tree`]. Knows hosts, knows no FAT.
//!
//! | Room | Purpose |
//! |---|---|
//! | [`tree`] | the result: nodes in flat arrays |
//! | `growing` | a tree while it is being put together from several sources |
//! | `walk` | directories into the tree, in order |
//! | `ahead` | directories listed by other threads before the walk wants them |
//! | `listing` | one directory: names, and what the host says of each |
//! | `seen` | what the host says of an entry, in the figures that a tree needs |
//! | `entries` | what each entry is, by the policies |
//! | `manifest` | the entries that a list of files brings |
//! | `named` | files that are given by name |
//! | `link` | where a symbolic link leads |
//! | `beneath` | directories of a source, reached without following a link |
//! | [`made`] | a tree that no host has |
//! | [`content`] | the bytes of a file, and whether they are still those that were scanned |
//! | [`met`] | where something was met, for messages |
//! | [`refusal`] | what in a source stops the build |

mod ahead;
mod beneath;
pub mod content;
mod entries;
mod growing;
mod link;
mod listing;
pub mod made;
mod manifest;
pub mod met;
mod named;
pub mod refusal;
mod seen;
pub mod tree;
mod walk;

use std::ffi::OsString;
use std::path::PathBuf;

pub use manifest::ManifestFault;
pub use met::MetAt;
pub use refusal::{Refusal, RefusalKind, is_limit_of_process};
pub use tree::{Node, NodeId, NodeKind, Tree};

use crate::event::{Observer, Stage};
use crate::jobs::Jobs;
use crate::pattern::Patterns;

/// The sources of an image and how to take them.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// Directories and files, in the order in which they are laid over each other.
    pub places: Vec<Place>,
    /// Whether a later source's file replaces an earlier one's.
    pub overlay: bool,
    /// What to do with symbolic links.
    pub links: LinkPolicy,
    /// Whether links that lead nowhere, out of the source or in a circle are left out rather than
    /// refused.
    pub skip_dangling: bool,
    /// Whether FIFOs, sockets and devices are left out rather than refused.
    pub skip_special: bool,
    /// Files that never go in: the outputs of this build. Met in a directory they are left out; given
    /// as a source or named by a manifest they are refused.
    pub leave_out: Vec<PathBuf>,
    /// What is left out, by its path in the image under the names of the sources.
    pub exclude: Patterns,
    /// Whether [`Tree::walked`] is wanted.
    pub note_walked: bool,
    /// How many threads list directories; the tree does not depend on it.
    pub jobs: Jobs,
}

/// One source and where it goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// A directory, whose contents go in, a file, or a manifest: a list of files and directories.
    pub path: PathBuf,
    /// Names from the image's root to where it goes. A file needs one at least, its own; without any it
    /// is taken for a manifest.
    pub destination: Vec<OsString>,
}

/// What to do with symbolic links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LinkPolicy {
    /// Resolve as inside a root file system: `/` is the source, and nothing outside gets in.
    #[default]
    Follow,
    /// Resolve as the host does.
    Host,
    /// Leave out.
    Skip,
    /// Refuse.
    Error,
}

/// The watcher asked to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped;

/// Walks all sources into one tree. What cannot go in is in [`Tree::refusals`], all of it.
///
/// # Errors
/// Only when `watch` asks to stop.
pub fn scan(sources: &Sources, watch: &dyn Observer) -> Result<Tree, Stopped> {
    watch.stage(Stage::Scan);
    let walk = ahead::Ahead::while_walking(sources.jobs, &sources.exclude, watch, |ahead| {
        let mut walk = walk::Walk::new(sources, watch, ahead);
        for place in &sources.places {
            walk.add(place)?;
        }
        Ok(walk.into_tree())
    })?;
    Ok(walk.finish())
}
