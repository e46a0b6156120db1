//! What an image depends on, as a rule that make and ninja read: every file that is in it, every
//! directory whose entries decide what is, and every other file that was read.
//!
//! Names are spelled so that both read them alike; where that cannot be, [`Depfile::notices`] says
//! so. How the two read names is not written down anywhere: `tests/depfile.rs` asks them.

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::event::{Notice, NoticeKind};
use crate::plan::Plan;
use crate::printable;

/// Words that make takes for directives at the beginning of a line.
const DIRECTIVES: [&str; 16] = [
    "define", "else", "endef", "endif", "export", "ifdef", "ifeq", "ifndef", "ifneq", "include",
    "load", "override", "private", "sinclude", "undefine", "vpath",
];

/// The rule of an image.
#[derive(Debug, Clone)]
pub struct Depfile {
    /// The image as make calls it.
    pub target: PathBuf,
    /// What was read besides the sources.
    pub inputs: Vec<PathBuf>,
}

/// How a name can be spelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spelling {
    /// Make and ninja read it alike.
    Both,
    /// Ninja takes it for several names, none of which is there, and rebuilds each time.
    MakeOnly,
    /// Make cannot read it.
    Neither,
}

impl Depfile {
    /// Whether make and ninja can read the target's name.
    pub fn can_name_target(&self) -> bool {
        let bytes = self.target.as_os_str().as_bytes();
        spelling(bytes) == Spelling::Both && !bytes.iter().any(|byte| b"%=".contains(byte))
    }

    /// What `plan` depends on and cannot be told, or not to ninja.
    pub fn notices(&self, plan: &Plan) -> Vec<Notice> {
        let notice = |path: PathBuf| {
            let shown = printable::path(&path);
            let (kind, text) = match spelling(path.as_os_str().as_bytes()) {
                Spelling::Both => return None,
                Spelling::MakeOnly => (
                    NoticeKind::DependencyMisread,
                    "ninja misreads the name in a depfile and builds each time; make does not",
                ),
                Spelling::Neither => (
                    NoticeKind::DependencyUntold,
                    "a depfile cannot name it; when it changes, build again by hand",
                ),
            };
            Some(Notice { kind, text: format!("{shown}: {text}") })
        };
        self.dependencies(plan).into_iter().filter_map(notice).collect()
    }

    /// Writes the rule, and one without commands for each dependency: one that is deleted then makes
    /// the image out of date instead of stopping make.
    ///
    /// # Errors
    /// Those of `writer`.
    pub fn write(&self, plan: &Plan, writer: &mut dyn Write) -> io::Result<()> {
        let mut told = self.dependencies(plan);
        told.retain(|path| spelling(path.as_os_str().as_bytes()) != Spelling::Neither);
        // Make takes a first word with = for the value of a variable.
        match told.iter().position(|path| !holds(path, b'=')) {
            Some(first) => told[..=first].rotate_right(1),
            None if told.is_empty() => {}
            None => told.insert(0, PathBuf::from("/")),
        }
        writer.write_all(&spelled(&self.target))?;
        writer.write_all(b":")?;
        for path in &told {
            writer.write_all(b" \\\n ")?;
            writer.write_all(&spelled(path))?;
        }
        writer.write_all(b"\n\n")?;
        // One rule for all, so that no name with = begins a line.
        let mut plain = told.iter().filter(|path| !holds(path, b'%')).peekable();
        if plain.peek().is_some() {
            for (index, path) in plain.enumerate() {
                writer.write_all(if index == 0 { b"" } else { b" \\\n " })?;
                writer.write_all(&spelled(path))?;
            }
            writer.write_all(b":\n")?;
        }
        // To make these are patterns, which match their own names; a pattern needs a command, if an
        // empty one.
        for path in told.iter().filter(|path| holds(path, b'%')) {
            writer.write_all(&spelled(path))?;
            writer.write_all(b": ;\n")?;
        }
        Ok(())
    }

    fn dependencies(&self, plan: &Plan) -> Vec<PathBuf> {
        let tree = plan.tree();
        let files = plan.stored().filter(|id| !tree.node(*id).is_directory());
        let files = files.map(|id| tree.content_path(id));
        let others = tree.walked.iter().chain(&self.inputs).cloned();
        let mut all: Vec<PathBuf> = files.chain(others).map(|path| plain(&path)).collect();
        all.sort();
        all.dedup();
        all
    }
}

fn holds(path: &Path, byte: u8) -> bool {
    path.as_os_str().as_bytes().contains(&byte)
}

/// The path without needless marks, and so that it begins with nothing that means something else.
fn plain(path: &Path) -> PathBuf {
    let path: PathBuf = path.components().collect();
    let bytes = path.as_os_str().as_bytes();
    let special_target =
        bytes.first() == Some(&b'.') && bytes.get(1).is_some_and(u8::is_ascii_uppercase);
    let harmless = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._".contains(byte);
    let directive = DIRECTIVES.iter().any(|word| bytes == word.as_bytes());
    match bytes.first() {
        Some(first) if harmless(first) && !directive && !special_target => path,
        _ => Path::new(".").join(path),
    }
}

fn spelling(path: &[u8]) -> Spelling {
    let unreadable = |byte: &u8| byte.is_ascii_control() || b";|".contains(byte);
    let pattern_and_value = path.contains(&b'%') && path.contains(&b'=');
    if path.iter().any(unreadable)
        || path.ends_with(b" ")
        || path.ends_with(b":")
        || pattern_and_value
    {
        Spelling::Neither
    } else if path.iter().any(|byte| b"\"&'*<>?^`\\".contains(byte)) {
        Spelling::MakeOnly
    } else {
        Spelling::Both
    }
}

/// A path with marks before what would end it.
fn spelled(path: &Path) -> Vec<u8> {
    let mut text = Vec::new();
    let mut backslashes = 0;
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b' ' | b'#' | b':' => {
                // Those before it would mean it.
                text.extend(std::iter::repeat_n(b'\\', backslashes + 1));
            }
            b'$' => text.push(b'$'),
            _ => {}
        }
        backslashes = if *byte == b'\\' { backslashes + 1 } else { 0 };
        text.push(*byte);
    }
    text.extend(std::iter::repeat_n(b'\\', backslashes));
    text
}
