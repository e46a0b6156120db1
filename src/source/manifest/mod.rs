//! A manifest as a source: its entries into the tree, in the order of its lines. Opens no file that
//! it names.
//!
//! | Room | Purpose |
//! |---|---|
//! | `syntax` | text as entries and faults, each with its line |
//! | `keywords` | what is said of one entry |
//! | `escapes` | names as mtree writes them |
//! | `fault` | what is wrong with a line, in words |

mod escapes;
mod fault;
mod keywords;
mod syntax;

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::FileType;

pub use fault::ManifestFault;

use super::entries::{kind_of, readable};
use super::growing::{Found, Landing, Spot};
use super::met::{ManifestLine, MetAt};
use super::named::{Finder, NamedContent};
use super::refusal::RefusalKind;
use super::seen::Seen;
use super::tree::{Identity, NodeId, Origin, os_name};
use super::walk::Walk;
use super::{LinkPolicy, Stopped};
use crate::event::NoticeKind;
use crate::printable;
use keywords::EntryType;
use syntax::{Entry, Parser, Said, parent};

/// How the first line of a manifest begins.
const SIGNATURE: &[u8] = b"#mtree";

/// What some editors put before UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// A manifest whose entries are being taken.
struct Manifest {
    path: Arc<Path>,
    /// What it was when it was opened: its time is that of directories without one.
    identity: Identity,
    /// The directory in the tree that the last entry went into: most share it with their neighbour.
    last_parent: Option<(Vec<u8>, NodeId)>,
    finder: Finder,
}

/// Opens the file at `path` if it is a manifest: by its first bytes, or by its name. What comes from
/// the reader is its text.
pub(super) fn open(path: &Path) -> io::Result<Option<BufReader<File>>> {
    let mut reader = BufReader::new(File::open(path)?);
    if reader.fill_buf()?.starts_with(BYTE_ORDER_MARK) {
        reader.consume(BYTE_ORDER_MARK.len());
    }
    let by_name = path.extension().is_some_and(|extension| extension == "mtree");
    let is_manifest = by_name || reader.fill_buf()?.starts_with(SIGNATURE);
    Ok(is_manifest.then_some(reader))
}

impl Walk<'_> {
    /// Takes every entry of the manifest at `path`, whose text comes from `reader`.
    pub(super) fn manifest(
        &mut self,
        path: &Path,
        identity: Identity,
        reader: impl BufRead,
    ) -> Result<(), Stopped> {
        // Two lines may name one path, and the order of lines is not that of a walk.
        self.tree.expect_meetings();
        let mut manifest =
            Manifest { path: path.into(), identity, last_parent: None, finder: Finder::default() };
        let mut parser = Parser::new(reader);
        loop {
            if self.watch.must_stop() {
                return Err(Stopped);
            }
            let said = match parser.read_next() {
                Ok(Some(said)) => said,
                Ok(None) => return Ok(()),
                Err(error) => {
                    self.tree.refuse(path, RefusalKind::Unreadable(error));
                    return Ok(());
                }
            };
            self.watch.advance(1);
            match said {
                Said::Entry(entry) => self.manifest_entry(&mut manifest, &entry),
                Said::Unused { line, keyword, is_digest } => {
                    let (at, keyword) = (manifest.line(line, b""), printable::bytes(&keyword));
                    if is_digest {
                        let fact = format_args!("{keyword} is not compared with the file");
                        self.notice(NoticeKind::DigestUnchecked, &at, fact);
                    } else {
                        let fact =
                            format_args!("keyword {keyword} is not known and says nothing here");
                        self.notice(NoticeKind::KeywordUnknown, &at, fact);
                    }
                }
                Said::Fault { line, fault } => {
                    self.tree.refuse(manifest.line(line, b""), RefusalKind::Manifest(fault));
                }
            }
        }
    }

    fn manifest_entry(&mut self, manifest: &mut Manifest, entry: &Entry) {
        let listed = manifest.line(entry.line, &entry.path);
        let is_directory = entry.entry_type == EntryType::Directory;
        if self.is_excluded_on_the_way(&listed, Path::new(os_name(&entry.path)), is_directory) {
            return;
        }
        let special = match entry.entry_type {
            EntryType::File => return self.manifest_file(manifest, entry, &listed),
            EntryType::Directory => return self.manifest_directory(manifest, entry, &listed),
            EntryType::Link if self.sources.links == LinkPolicy::Skip => {
                return self.notice(NoticeKind::LinkSkipped, &listed, "symbolic link left out");
            }
            EntryType::Link => {
                self.tree.refuse(&listed, RefusalKind::ListedLink);
                return;
            }
            EntryType::BlockDevice => FileType::BlockDevice,
            EntryType::CharacterDevice => FileType::CharacterDevice,
            EntryType::Fifo => FileType::Fifo,
            EntryType::Socket => FileType::Socket,
        };
        self.special(&listed, special);
    }

    fn manifest_file(&mut self, manifest: &mut Manifest, entry: &Entry, listed: &MetAt) {
        let path = Path::new(os_name(entry.keywords.contents.as_deref().unwrap_or(&entry.path)));
        let Some((seen, content)) = self.content(manifest, entry, path, listed) else {
            return;
        };
        let contents = || path.to_path_buf();
        // A manifest lists its files exactly: none of them is left out unasked.
        if self.is_output(&seen) {
            self.tree.refuse(listed, RefusalKind::ContentsIsOutput(contents()));
            return;
        }
        if !seen.is_file() {
            let found = kind_of(seen.file_type);
            let kind = RefusalKind::ContentsNotFile { contents: contents(), found };
            self.tree.refuse(listed, kind);
            return;
        }
        if let Some(said) = entry.keywords.size_bytes
            && said != seen.size_bytes
        {
            let (contents, found) = (contents(), seen.size_bytes);
            self.tree.refuse(listed, RefusalKind::ContentsSize { contents, said, found });
            return;
        }
        if !seen.open_to_all
            && let Err(error) = readable(path)
        {
            self.refuse_contents(listed, contents(), error);
            return;
        }
        let modified_seconds = entry.keywords.modified_seconds;
        let identity = self::identity(modified_seconds, &seen.identity);
        let (above, own_name) = parent(&entry.path);
        let Some(parent) = self.manifest_parent(manifest, entry.line, above, identity) else {
            return;
        };
        let (line, content) = (manifest.at(entry.line), Some(content));
        let origin = self.tree.add_origin(Origin::Listed { line, modified_seconds, content });
        let spot = Spot { parent, name: own_name, origin };
        let read_only = entry.keywords.read_only.unwrap_or(seen.read_only);
        self.regular_file(listed, path, spot, &Seen { read_only, ..seen }, false);
    }

    fn manifest_directory(&mut self, manifest: &mut Manifest, entry: &Entry, listed: &MetAt) {
        let mut from = manifest.identity;
        if let Some(contents) = &entry.keywords.contents {
            let contents = Path::new(os_name(contents));
            let Some((seen, _)) = self.content(manifest, entry, contents, listed) else {
                return;
            };
            if !seen.is_directory() {
                let (contents, found) = (contents.to_path_buf(), kind_of(seen.file_type));
                let kind = RefusalKind::ContentsNotDirectory { contents, found };
                self.tree.refuse(listed, kind);
                return;
            }
            if self.sources.note_walked {
                self.tree.walked.push(contents.to_path_buf());
            }
            from = seen.identity;
        }
        let identity = identity(entry.keywords.modified_seconds, &from);
        let (above, name) = parent(&entry.path);
        let Some(parent) = self.manifest_parent(manifest, entry.line, above, identity) else {
            return;
        };
        // The root is there, and its time is stored nowhere.
        if name.is_empty() {
            return;
        }
        if let Some(there) = self.tree.directory_at(parent, name) {
            return self.tree.merge_directory(there, identity);
        }
        self.made_directory(manifest, entry.line, parent, name, identity, listed);
    }

    /// The directory at `path` of the image, made where nothing brought it; then with the time of
    /// the entry that needs it.
    fn manifest_parent(
        &mut self,
        manifest: &mut Manifest,
        line: u32,
        path: &[u8],
        identity: Identity,
    ) -> Option<NodeId> {
        if let Some((_, node)) = manifest.last_parent.as_ref().filter(|last| last.0 == path) {
            return Some(*node);
        }
        let mut node = NodeId::ROOT;
        let mut end = 0;
        for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            end += name.len() + usize::from(end > 0);
            node = match self.tree.directory_at(node, name) {
                Some(there) => there,
                None => {
                    let listed = manifest.line(line, &path[..end]);
                    self.made_directory(manifest, line, node, name, identity, &listed)?
                }
            };
        }
        manifest.last_parent = Some((path.to_vec(), node));
        Some(node)
    }

    fn made_directory(
        &mut self,
        manifest: &Manifest,
        line: u32,
        parent: NodeId,
        name: &[u8],
        identity: Identity,
        listed: &MetAt,
    ) -> Option<NodeId> {
        let line = manifest.at(line);
        // A directory's time is not compared with anything: it lies with the node.
        let origin = Origin::Listed { line, modified_seconds: None, content: None };
        let origin = self.tree.add_origin(origin);
        let found = Found { identity, file: None, through_link: false, read_only: false };
        let spot = Spot { parent, name, origin };
        match self.tree.place(spot, found, self.sources.overlay, listed) {
            Landing::New(node) | Landing::Met(node) => Some(node),
            Landing::Refused => None,
        }
    }

    /// What is at `path` of the host. What is not there is refused, or left out if it is optional.
    fn content(
        &mut self,
        manifest: &mut Manifest,
        entry: &Entry,
        path: &Path,
        listed: &MetAt,
    ) -> Option<(Seen, NamedContent)> {
        match manifest.finder.look_at(path) {
            Ok(content) => Some(content),
            Err(error) if entry.keywords.optional && is_missing(&error) => {
                let fact = format!("optional, and left out: there is no {}", printable::path(path));
                self.notice(NoticeKind::OptionalLeftOut, listed, fact);
                if self.sources.note_walked {
                    // Whose entries decide that it is not there.
                    let there = path.ancestors().skip(1).find(|folder| folder.is_dir());
                    let here = there.filter(|folder| !folder.as_os_str().is_empty());
                    self.tree.walked.push(here.unwrap_or(Path::new(".")).to_path_buf());
                }
                None
            }
            Err(error) => {
                self.refuse_contents(listed, path.into(), error);
                None
            }
        }
    }

    fn refuse_contents(&mut self, listed: &MetAt, contents: PathBuf, error: io::Error) {
        self.tree.refuse(listed, RefusalKind::ContentsUnreadable { contents, error });
    }
}

impl Manifest {
    fn at(&self, line: u32) -> ManifestLine {
        ManifestLine { manifest: Arc::clone(&self.path), line }
    }

    /// Where a path of the image is named, or the line itself where it is empty.
    fn line(&self, line: u32, path: &[u8]) -> MetAt {
        MetAt::Line(self.at(line), os_name(path).into())
    }
}

/// Of a directory: nothing but a time, the one that is given or else that of `from`.
fn identity(modified_seconds: Option<i64>, from: &Identity) -> Identity {
    let (modified_seconds, modified_nanoseconds) = match modified_seconds {
        Some(seconds) => (seconds, 0),
        None => (from.modified_seconds, from.modified_nanoseconds),
    };
    Identity { modified_seconds, modified_nanoseconds, ..Identity::default() }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
