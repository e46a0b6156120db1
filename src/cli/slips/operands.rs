//! What the words without flag are: sources, a size, the image. Asks only whether a path is a
//! directory.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::typed::{Part, Typed};
use crate::cli::outputs::RESERVED_WORDS;
use crate::cli::values::{self, SizeArg};

/// Endings of the names of images.
const IMAGE_ENDINGS: [&str; 11] =
    ["img", "image", "raw", "bin", "iso", "fat", "vfat", "efi", "dsk", "disk", "ima"];

/// Gives the operands of `typed` their flags, and takes the image out; `None` if it cannot be told
/// which is which.
pub(super) fn place(typed: &mut Typed, is_directory: impl Fn(&OsStr) -> bool) -> Option<()> {
    let is_source =
        |word: &OsStr| is_directory(word) || word.as_bytes().windows(2).any(|pair| pair == b":/");
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
        _ if others == 1 => words.iter().position(|word| !is_source(word)),
        _ => return None,
    };
    let image = image.and_then(|image| operands(typed).nth(image)).map(|(at, _)| at);
    if let Some(at) = image
        && let Part::Operand(word) = typed.parts.remove(at)
    {
        typed.image = Some(word);
    }
    for part in &mut typed.parts {
        if let Part::Operand(word) = part {
            *part = Part::flag("--from", std::mem::take(word));
            typed.slipped = true;
        }
    }
    Some(())
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
    let number_alone = text.bytes().all(|byte| byte.is_ascii_digit());
    match values::image_size(text) {
        Ok(SizeArg::Bytes(_)) if !number_alone => Some(text.into()),
        Ok(SizeArg::Bytes(_)) if counts_blocks => Some(format!("{text}K").into()),
        _ => None,
    }
}

fn is_image(word: &OsStr) -> bool {
    let ending = Path::new(word).extension().and_then(OsStr::to_str);
    word == "-" || ending.is_some_and(|ending| IMAGE_ENDINGS.contains(&ending))
}
