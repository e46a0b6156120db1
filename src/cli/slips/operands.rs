//! What the words without flag are: sources, a size, the image. Asks only what lies at a path.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::found::Found;
use super::habits;
use super::typed::{self, Part, Typed};
use crate::cli::outputs::RESERVED_WORDS;
use crate::cli::values::{self, SizeArg};

/// Endings of the names of images.
const IMAGE_ENDINGS: [&str; 11] =
    ["img", "image", "raw", "bin", "iso", "fat", "vfat", "efi", "dsk", "disk", "ima"];

/// Gives the operands of `typed` their flags, and takes the image out; `None` if it cannot be told
/// which is which. What lies there and is no image is not taken for one.
pub(super) fn place(typed: &mut Typed, found: impl Fn(&OsStr) -> Found) -> Option<()> {
    sources_of_mcopy(typed, &found)?;
    if typed.instead.is_some() {
        return Some(());
    }
    let has_place = |word: &OsStr| word.as_bytes().windows(2).any(|pair| pair == b":/");
    let is_source =
        |word: &OsStr| has_place(word) || matches!(found(word), Found::Source | Found::File);
    sizes(typed, is_source);
    let from = typed.parts.iter().any(|part| part.name() == Some("--from"));
    let words: Vec<&OsStr> = operands(typed).map(|(_, word)| word).collect();
    // A subcommand rather, and no name of an image.
    let is_reserved = |word: &OsStr| RESERVED_WORDS.iter().any(|reserved| word == *reserved);
    if words.iter().any(|word| is_reserved(word) && !is_source(word)) {
        return None;
    }
    let others = words.iter().filter(|word| !is_source(word)).count();
    let image = match words[..] {
        [] => None,
        _ if typed.image.is_some() && others == 0 => None,
        [_] if typed.image.is_some() && !from => None,
        _ if typed.image.is_some() => return None,
        [word] if from || !is_source(word) => Some(0),
        [_] => None,
        [first, second] if others == 2 && !from => {
            Some(usize::from(is_image(second) || !is_image(first)))
        }
        _ if others == 0 && words.iter().any(|word| found(word) == Found::File) => None,
        _ if others == 1 => words.iter().position(|word| !is_source(word)),
        _ => return None,
    };
    let image = image.and_then(|image| operands(typed).nth(image)).map(|(at, _)| at);
    if let Some(at) = image
        && let Part::Operand(word) = typed.parts.remove(at)
    {
        typed.image = Some(word);
    }
    if typed.adds && typed.image.as_ref().is_some_and(|image| found(image) != Found::Nothing) {
        typed.image = None;
        typed.notes.push(habits::ADDS.to_owned());
    }
    for part in &mut typed.parts {
        if let Part::Operand(word) = part {
            let mut source = std::mem::take(word);
            if is_number(&source) && found(&source) == Found::Nothing {
                return None;
            }
            if !has_place(&source) && found(&source) == Found::File {
                source.push(":/");
            }
            *part = Part::flag("--from", source);
            typed.slipped = true;
        }
    }
    // Without another one it may be the image that was meant.
    let doubtful = |word: &OsStr| is_image(word) && found(word) != Found::Source;
    let in_doubt = typed.image.is_none() && sources(typed).any(doubtful);
    (!in_doubt).then_some(())
}

/// Gives the sources their places where mcopy's are named (`::/boot/`): a directory goes there under
/// its name, a file as well if the place ends in a mark or several go.
fn sources_of_mcopy(typed: &mut Typed, found: impl Fn(&OsStr) -> Found) -> Option<()> {
    for part in &mut typed.parts {
        if let Part::Flag { name, value: Some(value) } = part
            && name == "--from"
            && let Some(mended) = without_second_colon(value, &found)
        {
            *value = mended;
            typed.slipped = true;
        }
    }
    let words: Vec<(usize, &OsStr)> = operands(typed).collect();
    let Some((&(last, to), copied)) = words.split_last() else { return Some(()) };
    if !words.iter().any(|(_, word)| typed::is_in_image(word)) {
        return Some(());
    }
    if !typed::is_in_image(to) || copied.iter().any(|(_, word)| typed::is_in_image(word)) {
        typed.instead = Some(habits::READS.to_owned());
        return Some(());
    }
    let names = to.as_bytes()[2..].split(|byte| *byte == b'/').filter(|name| !name.is_empty());
    let names: Vec<&OsStr> = names.map(OsStr::from_bytes).collect();
    let into = copied.len() > 1 || names.is_empty() || to.as_bytes().ends_with(b"/");
    let place: OsString = names.iter().flat_map(|name| [OsStr::new("/"), name]).collect();
    let copied: Vec<usize> = copied.iter().map(|(at, _)| *at).collect();
    if copied.is_empty() && sources(typed).next().is_none() {
        return None;
    }
    for (at, part) in typed.parts.iter_mut().enumerate() {
        let (source, keeps_name) = match part {
            Part::Operand(word) if copied.contains(&at) => (word, true),
            Part::Flag { name, value: Some(value) }
                if name == "--from" && !value.as_bytes().windows(2).any(|pair| pair == b":/") =>
            {
                (value, false)
            }
            _ => continue,
        };
        let mut placed = source.clone();
        let is_directory = found(source) == Found::Source;
        let own = Path::new(source.as_os_str()).file_name().filter(|_| into && keeps_name);
        if !is_directory || !place.is_empty() || own.is_some() {
            placed.push(":");
            placed.push(&place);
        }
        match own {
            Some(own) if is_directory => placed.extend([OsStr::new("/"), own]),
            _ if into && !is_directory => placed.push("/"),
            _ => {}
        }
        *part = Part::flag("--from", placed);
    }
    typed.parts.remove(last);
    typed.slipped = true;
    Some(())
}

/// `vmlinuz::/boot/` as it has to be, unless the name does end in a colon.
pub(super) fn without_second_colon(
    source: &OsStr,
    found: impl Fn(&OsStr) -> Found,
) -> Option<OsString> {
    let bytes = source.as_bytes();
    let at = bytes.windows(3).rposition(|three| three == b"::/")?;
    let mended = [&bytes[..at], &bytes[at + 1..]].concat();
    let lost = found(OsStr::from_bytes(&bytes[..=at])) == Found::Nothing;
    (lost && at > 0).then(|| OsStr::from_bytes(&mended).to_owned())
}

/// What the flags name as sources.
fn sources(typed: &Typed) -> impl Iterator<Item = &OsStr> {
    typed.parts.iter().filter_map(|part| match part {
        Part::Flag { name, value } if name == "--from" => value.as_deref(),
        _ => None,
    })
}

/// A size among the operands that is none of the image's name, nor a source.
fn sizes(typed: &mut Typed, is_source: impl Fn(&OsStr) -> bool) {
    if typed.parts.iter().any(|part| part.name() == Some("--size")) {
        return;
    }
    let found = operands(typed).find_map(|(at, word)| {
        let size = size(word, typed.counts_blocks).filter(|_| !is_source(word))?;
        let has_image = typed.image.is_some()
            || operands(typed).any(|(other, word)| other != at && !is_source(word));
        has_image.then_some((at, size))
    });
    if let Some((at, size)) = found {
        typed.parts[at] = Part::flag("--size", size);
        typed.slipped = true;
    }
}

/// Words without flag, and where they are among the parts.
fn operands(typed: &Typed) -> impl Iterator<Item = (usize, &OsStr)> {
    typed.parts.iter().enumerate().filter_map(|(at, part)| match part {
        Part::Operand(word) => Some((at, word.as_os_str())),
        Part::Flag { .. } | Part::ClusterSectors(_) => None,
    })
}

/// A size with its unit, or a number of blocks where the command counts them.
fn size(word: &OsStr, counts_blocks: bool) -> Option<OsString> {
    let text = word.to_str()?;
    let number_alone = is_number(word);
    match values::image_size(text) {
        Ok(SizeArg::Bytes(_)) if !number_alone => Some(text.into()),
        Ok(SizeArg::Bytes(_)) if counts_blocks => Some(format!("{text}K").into()),
        _ => None,
    }
}

fn is_number(word: &OsStr) -> bool {
    word.as_bytes().iter().all(u8::is_ascii_digit)
}

fn is_image(word: &OsStr) -> bool {
    let ending = Path::new(word).extension().and_then(OsStr::to_str);
    word == "-" || ending.is_some_and(|ending| IMAGE_ENDINGS.contains(&ending))
}
