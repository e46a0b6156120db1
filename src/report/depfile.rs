//! What an image depends on, as a rule that make and ninja read: every file that is in it, every
//! directory whose entries decide what is, and every other file that was read.
//!
//! Names are spelled so that both read them alike where that can be, and so that make does where it
//! cannot: ninja then finds files missing and builds each time, which a notice says. How the two read
//! names is not written down anywhere: `tests/depfile.rs` asks them. What make finds by `?` it may find
//! in a neighbour when it is gone; the folder's own time tells of that. Of `[a]` beside a file `a` make
//! sees the latter only, and so does not see when the contents of the former change.

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

/// The rule of an image, written by [`Delivery`](crate::Delivery).
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
    pub(crate) fn notices(&self, plan: &Plan) -> Vec<Notice> {
        let notice = |path: PathBuf| {
            let text = "ninja misreads the name in a depfile and builds each time; make does not";
            Notice::at(&path, NoticeKind::DependencyMisread, text)
        };
        self.dependencies(plan, is_misread).into_iter().map(notice).collect()
    }

    /// Writes the rule, and one without commands for each dependency: one that is deleted then makes
    /// the image out of date instead of stopping make.
    ///
    /// # Errors
    /// Those of `writer`, and one of its own for a plan whose sources were scanned without
    /// [`note_walked`](crate::source::Sources::note_walked).
    pub(crate) fn write(&self, plan: &Plan, writer: &mut dyn Write) -> io::Result<()> {
        if plan.tree().walked.is_empty() {
            return Err(io::Error::other(
                "the sources were scanned without noting what was walked",
            ));
        }
        let dependencies = self.dependencies(plan, |_| true);
        writer.write_all(&spelled(&self.target))?;
        writer.write_all(b":")?;
        for path in &dependencies {
            writer.write_all(b" \\\n ")?;
            writer.write_all(&spelled(path))?;
        }
        writer.write_all(b"\n\n")?;
        let patterns = Patterns::among(&dependencies);
        for path in &dependencies {
            let spelled = spelled(path);
            // Make takes no rule of a pattern and a plain name; this one goes without.
            if is_wild(path) && patterns.are_found_by(&spelled) {
                continue;
            }
            writer.write_all(&spelled)?;
            // To make this is a pattern, which matches its own name; a pattern needs a command, if an
            // empty one.
            writer.write_all(if holds(path, b'%') { b": ;\n" } else { b":\n" })?;
        }
        Ok(())
    }

    /// Everything that `plan` depends on and that is `wanted`, once each, sorted.
    fn dependencies(&self, plan: &Plan, wanted: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
        let tree = plan.tree();
        let files = plan.stored().filter(|id| !tree.node(*id).is_directory());
        let files = files.map(|id| tree.content_path(id));
        let others = tree.walked.iter().chain(&self.inputs).cloned();
        let all = files.chain(others).map(|path| plain(&path));
        let mut all: Vec<PathBuf> = all.filter(|path| wanted(path)).collect();
        all.sort();
        all.dedup();
        all
    }
}

/// The names that make takes for patterns, as they are spelled.
struct Patterns(Vec<Vec<u8>>);

impl Patterns {
    fn among(dependencies: &[PathBuf]) -> Self {
        let patterns = dependencies.iter().filter(|path| holds(path, b'%'));
        let mut spelled: Vec<Vec<u8>> = patterns.map(|path| spelled(path)).collect();
        spelled.sort();
        Self(spelled)
    }

    /// Whether make finds the file of one of them by a name that is spelled with `?`.
    fn are_found_by(&self, wild: &[u8]) -> bool {
        let sure_bytes = wild.iter().position(|byte| *byte == b'?').unwrap_or(wild.len());
        let sure = &wild[..sure_bytes];
        // Those that begin alike are neighbours: most often the few of one folder.
        let first = self.0.partition_point(|pattern| pattern.as_slice() < sure);
        let alike = |(one, other): (&u8, &u8)| one == other || *other == b'?';
        let found =
            |pattern: &Vec<u8>| pattern.len() == wild.len() && pattern.iter().zip(wild).all(alike);
        self.0[first..].iter().take_while(|pattern| pattern.starts_with(sure)).any(found)
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
    bytes.iter().any(|byte| is_wild_byte(*byte)) || bytes.last().is_some_and(is_wild_at_end)
}

/// Make passes over a blank before the colon of a rule, and reads `::` and `&:` as other colons.
fn is_wild_at_end(byte: &u8) -> bool {
    b" :&".contains(byte)
}

fn is_wild_byte(byte: u8) -> bool {
    byte.is_ascii_control() || b";|=".contains(&byte)
}

/// A path with marks before what would end it.
fn spelled(path: &Path) -> Vec<u8> {
    let bytes = path.as_os_str().as_bytes();
    let mut text = Vec::with_capacity(bytes.len());
    let mut backslashes = 0;
    for (index, byte) in bytes.iter().enumerate() {
        let last = index + 1 == bytes.len();
        match byte {
            byte if last && is_wild_at_end(byte) => text.push(b'?'),
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
