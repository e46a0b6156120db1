//! What an image depends on, as a rule that make and ninja read: every file that is in it, every
//! directory whose entries decide what is, and every other file that was read.
//!
//! Names are spelled so that both read them alike where that can be, and so that make does where it
//! cannot: ninja then finds files missing and builds each time, which [`Depfile::notices`] says. How the
//! two read names is not written down anywhere: `tests/depfile.rs` asks them. One name escapes:
//! `[a]` beside a file `a`, which make takes for that.

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::event::{Notice, NoticeKind};
use crate::plan::Plan;

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

impl Depfile {
    /// Whether make and ninja can read the target's name.
    pub fn can_name_target(&self) -> bool {
        !is_misread(&self.target) && !holds(&self.target, b'%')
    }

    /// What `plan` depends on under names that ninja misreads.
    pub fn notices(&self, plan: &Plan) -> Vec<Notice> {
        let misread = self.dependencies(plan).into_iter().filter(|path| is_misread(path));
        let notice = |path: PathBuf| {
            let fact = "ninja misreads the name in a depfile and builds each time; make does not";
            Notice::at(&path, NoticeKind::DependencyMisread, fact)
        };
        misread.map(notice).collect()
    }

    /// Writes the rule, and one without commands for each dependency: one that is deleted then makes
    /// the image out of date instead of stopping make.
    ///
    /// # Errors
    /// Those of `writer`.
    pub fn write(&self, plan: &Plan, writer: &mut dyn Write) -> io::Result<()> {
        let dependencies = self.dependencies(plan);
        writer.write_all(&spelled(&self.target))?;
        writer.write_all(b":")?;
        for path in &dependencies {
            writer.write_all(b" \\\n ")?;
            writer.write_all(&spelled(path))?;
        }
        writer.write_all(b"\n\n")?;
        let patterns: Vec<Vec<u8>> = dependencies
            .iter()
            .filter(|path| holds(path, b'%'))
            .map(|path| spelled(path))
            .collect();
        for path in &dependencies {
            let spelled = spelled(path);
            // Make takes no rule of a pattern and a plain name; this one goes without.
            if is_wild(path) && patterns.iter().any(|other| finds(&spelled, other)) {
                continue;
            }
            writer.write_all(&spelled)?;
            // To make this is a pattern, which matches its own name; a pattern needs a command, if an
            // empty one.
            writer.write_all(if holds(path, b'%') { b": ;\n" } else { b":\n" })?;
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

/// Whether ninja takes the name for several, none of which is there.
fn is_misread(path: &Path) -> bool {
    let bytes = path.as_os_str().as_bytes();
    is_wild(path) || bytes.iter().any(|byte| b"\"&'*<>?^`\\".contains(byte))
}

/// Whether a byte of the name cannot stand in a rule at all. Make finds the file by `?` in its place.
fn is_wild(path: &Path) -> bool {
    let bytes = path.as_os_str().as_bytes();
    bytes.iter().any(|byte| is_wild_byte(*byte)) || bytes.ends_with(b" ") || bytes.ends_with(b":")
}

fn is_wild_byte(byte: u8) -> bool {
    byte.is_ascii_control() || b";|=".contains(&byte)
}

/// Whether make finds the file `other` too by what is spelled with `?`.
fn finds(spelled: &[u8], other: &[u8]) -> bool {
    let alike = |(one, other): (&u8, &u8)| one == other || *one == b'?';
    spelled.len() == other.len() && spelled.iter().zip(other).all(alike)
}

/// A path with marks before what would end it.
fn spelled(path: &Path) -> Vec<u8> {
    let bytes = path.as_os_str().as_bytes();
    let mut text = Vec::with_capacity(bytes.len());
    let mut backslashes = 0;
    for (index, byte) in bytes.iter().enumerate() {
        let last = index + 1 == bytes.len();
        match byte {
            b' ' | b':' if last => text.push(b'?'),
            b' ' | b'#' | b':' => {
                // Those before it would mean it.
                text.extend(std::iter::repeat_n(b'\\', backslashes + 1));
                text.push(*byte);
            }
            b'$' => text.extend(b"$$"),
            b'*' | b'?' => text.extend([b'\\', *byte]),
            byte if is_wild_byte(*byte) => text.push(b'?'),
            byte => text.push(*byte),
        }
        backslashes = if *byte == b'\\' { backslashes + 1 } else { 0 };
    }
    text.extend(std::iter::repeat_n(b'\\', backslashes));
    text
}
