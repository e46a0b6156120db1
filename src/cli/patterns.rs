//! Patterns as typed and as listed in files, with the words by which messages call each. Knows what
//! a file of patterns looks like; what a pattern means is told by `pattern`.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use anyhow::Result;

use super::args::Args;
use super::request::Unreadable;
use crate::pattern::Patterns;
use crate::plan::request::AttributeWishes;
use crate::printable;

/// What some editors put before UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Patterns that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.iter().map(|fault| fault.text.as_str()).collect::<Vec<_>>().join("\n"))]
pub(super) struct NoPatterns(pub(super) Vec<Fault>);

/// What is wrong with a pattern.
#[derive(Debug)]
pub(super) struct Fault {
    /// The file that it is in, and the line there; `None` for a flag.
    pub(super) place: Option<(String, u64)>,
    pub(super) text: String,
}

/// Those of `--exclude`, then those of `--exclude-from`.
pub(super) fn exclude(args: &Args) -> Result<Patterns> {
    let typed = |pattern: &String| (pattern.clone(), format!("--exclude {}", shown(pattern)));
    let mut pairs: Vec<(String, String)> = args.exclude.iter().map(typed).collect();
    let mut places = HashMap::new();
    let mut no_text = Vec::new();
    let stdin_twice = args.exclude_from.iter().filter(|path| is_stdin(path)).count() > 1;
    if stdin_twice {
        anyhow::bail!("--exclude-from -: standard input can be read once only");
    }
    for path in &args.exclude_from {
        let (name, bytes) = read(path)?;
        let text = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes);
        for (number, line) in (1..).zip(text.split(|byte| *byte == b'\n')) {
            match std::str::from_utf8(line) {
                // FAT holds no name that ends in a blank.
                Ok(line) => match line.trim_end() {
                    "" => {}
                    line if line.starts_with('#') => {}
                    line => {
                        let told_as = format!("{name}:{number}: {}", shown(line));
                        places.insert(told_as.clone(), (name.clone(), number));
                        pairs.push((line.to_owned(), told_as));
                    }
                },
                Err(_) => no_text.push(Fault {
                    place: Some((name.clone(), number)),
                    text: format!(
                        "{name}:{number}: is not UTF-8; ? stands for one byte of a name that is not"
                    ),
                }),
            }
        }
    }
    if !no_text.is_empty() {
        return Err(NoPatterns(no_text).into());
    }
    Ok(patterns(args, pairs, &places)?)
}

/// Those of `--attr`, and the flag for what is read-only on the host.
pub(super) fn attributes(args: &Args) -> Result<AttributeWishes> {
    let pairs = args
        .attr
        .iter()
        .map(|attr| (attr.pattern.clone(), format!("--attr {}", shown(&attr.typed))));
    Ok(AttributeWishes {
        keep_read_only: args.keep_readonly,
        patterns: patterns(args, pairs.collect(), &HashMap::new())?,
        changes: args.attr.iter().map(|attr| attr.change).collect(),
    })
}

/// Of pairs as [`Patterns::new`] takes them; `places` has those that lie in files.
fn patterns(
    args: &Args,
    pairs: Vec<(String, String)>,
    places: &HashMap<String, (String, u64)>,
) -> Result<Patterns, NoPatterns> {
    let doubts: Vec<Option<String>> =
        pairs.iter().map(|(text, _)| doubt(text, &args.from)).collect();
    let made = Patterns::new(pairs).map(|patterns| patterns.with_doubts(doubts));
    made.map_err(|faults| {
        let fault = |(told_as, fault)| Fault {
            place: places.get(&told_as).cloned(),
            text: format!("{told_as}: {fault}"),
        };
        NoPatterns(faults.into_iter().map(fault).collect())
    })
}

/// Why a pattern may match nothing, where its text shows it.
fn doubt(text: &str, sources: &[OsString]) -> Option<String> {
    if text.starts_with(char::is_whitespace) {
        return Some("the blank at its beginning counts".to_owned());
    }
    if text.contains(" #") {
        return Some("comments stand on lines of their own".to_owned());
    }
    let path = Path::new(text.trim_start_matches("./").trim_start_matches('/'));
    let first = path.components().next()?.as_os_str();
    let names_source = |source: &OsString| {
        let end = source.as_bytes().windows(2).rposition(|pair| pair == b":/");
        let source =
            Path::new(OsStr::from_bytes(&source.as_bytes()[..end.unwrap_or(source.len())]));
        path != Path::new(first) && (source.file_name() == Some(first) || path.starts_with(source))
    };
    if sources.iter().any(names_source) {
        return Some("it is of the path in the image, without the source's name".to_owned());
    }
    let capitals = text.chars().filter(|c| c.is_uppercase()).count();
    let in_capitals = capitals > 1 && !text.chars().any(char::is_lowercase);
    in_capitals.then(|| "capitals differ from small letters".to_owned())
}

/// More is something else, perhaps without an end.
const MAX_LIST_BYTES: u64 = 64 << 20;

/// A file of patterns, and its name in messages.
fn read(path: &Path) -> Result<(String, Vec<u8>), Unreadable> {
    let mut bytes = Vec::new();
    let most = MAX_LIST_BYTES + 1;
    let (name, read) = if is_stdin(path) {
        let stdin = io::stdin().lock();
        ("standard input".to_owned(), stdin.take(most).read_to_end(&mut bytes))
    } else {
        let read = File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes));
        (printable::path(path), read)
    };
    match read {
        Ok(read) if read as u64 == most => {
            let why = "is longer than 64 MiB, which is no list of patterns";
            Err(Unreadable { flag: "--exclude-from", name, error: io::Error::other(why) })
        }
        Ok(_) => Ok((name, bytes)),
        Err(error) => Err(Unreadable { flag: "--exclude-from", name, error }),
    }
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn shown(text: &str) -> String {
    printable::bytes(text.as_bytes())
}
