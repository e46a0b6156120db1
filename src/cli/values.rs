//! Values of flags: what each takes, and what to say of anything else. Knows no flag's meaning.

use std::ffi::OsStr;
use std::num::NonZeroUsize;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};

use super::size;
use crate::disk::Guid;
use crate::disk::gpt::LABEL_UNITS;
use crate::disk::mbr::may_hold_a_volume;
use crate::fat::attr::Attributes;
use crate::fat::kind::FatKind;
use crate::fat::label::Label;
use crate::plan::request::{AttributeChange, Profile, TypeWish};
use crate::within::Address;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SizeArg {
    Auto,
    Bytes(u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FreeArg {
    Bytes(u64),
    Percent(u8),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VolumeIdArg {
    Given(u32),
    Random,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DiskIdArg {
    Signature(u32),
    Guid(Guid),
    Random,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LabelArg {
    pub(crate) label: Label,
    pub(crate) made_capital: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OemName(pub(crate) [u8; 8]);

/// A pattern and what it changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AttrArg {
    pub(crate) typed: String,
    pub(crate) pattern: String,
    pub(crate) change: AttributeChange,
}

/// An image and a place in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IntoArg {
    pub(crate) image: PathBuf,
    pub(crate) address: Address,
}

/// `IMAGE@p2`, `IMAGE@partition 2` or `IMAGE@1M`.
pub(super) fn into() -> impl TypedValueParser<Value = IntoArg> {
    OsStringValueParser::new().try_map(|text| place_in_image(&text))
}

fn place_in_image(text: &OsStr) -> Result<IntoArg, String> {
    let bytes = text.as_bytes();
    let wanted = "name an image and a place in it: IMAGE@p1, 'IMAGE@partition 1' or IMAGE@1M";
    let at = bytes.iter().rposition(|byte| *byte == b'@').filter(|at| *at > 0).ok_or(wanted)?;
    let place = std::str::from_utf8(&bytes[at + 1..]).map_err(|_| wanted)?.to_ascii_lowercase();
    let number = place.strip_prefix("partition").or_else(|| place.strip_prefix('p'));
    let address = match number {
        Some(number) => match number.trim_start().parse() {
            Ok(number @ 1..) => Address::Partition(number),
            _ => return Err("partitions are counted from 1".to_owned()),
        },
        None => Address::Byte(size::parse(&place).map_err(|reason| format!("{reason}; {wanted}"))?),
    };
    Ok(IntoArg { image: PathBuf::from(OsStr::from_bytes(&bytes[..at])), address })
}

/// More threads than this only take memory.
const MOST_JOBS: usize = 256;

pub(super) fn jobs(text: &str) -> Result<NonZeroUsize, String> {
    match text.parse::<NonZeroUsize>() {
        Ok(count) if count.get() <= MOST_JOBS => Ok(count),
        _ => Err(format!("a number of threads is 1 to {MOST_JOBS}")),
    }
}

/// The name of a profile.
pub(super) fn profile() -> impl TypedValueParser<Value = Profile> {
    let named = |profile: Profile| PossibleValue::new(profile.id()).help(profile.purpose());
    PossibleValuesParser::new(Profile::ALL.map(named)).try_map(|text| {
        let found = Profile::ALL.into_iter().find(|profile| profile.id() == text);
        found.ok_or("no such profile")
    })
}

/// `12`, `16` or `32`.
pub(super) fn fat_type() -> impl TypedValueParser<Value = FatKind> {
    PossibleValuesParser::new(["12", "16", "32"]).map(|text| match text.as_str() {
        "12" => FatKind::Fat12,
        "16" => FatKind::Fat16,
        _ => FatKind::Fat32,
    })
}

pub(super) fn image_size(text: &str) -> Result<SizeArg, String> {
    match text {
        "auto" => Ok(SizeArg::Auto),
        _ => size::parse(text).map(SizeArg::Bytes),
    }
}

pub(super) fn free(text: &str) -> Result<FreeArg, String> {
    match text.strip_suffix('%') {
        None => size::parse(text).map(FreeArg::Bytes),
        Some(percent) => match percent.parse() {
            Ok(percent @ 0..=99) => Ok(FreeArg::Percent(percent)),
            _ => Err("a percentage is a whole number from 0 to 99".to_owned()),
        },
    }
}

pub(super) fn cluster_size(text: &str) -> Result<u32, String> {
    let bytes = size::parse(text)?;
    match u32::try_from(bytes) {
        Ok(bytes) if bytes.is_power_of_two() && (512..=65_536).contains(&bytes) => Ok(bytes),
        _ => Err("a cluster size is a power of two from 512 to 65536".to_owned()),
    }
}

pub(super) fn sector_size(text: &str) -> Result<u16, String> {
    match u16::try_from(size::parse(text)?) {
        Ok(bytes @ (512 | 1024 | 2048 | 4096)) => Ok(bytes),
        _ => Err("a sector size is 512, 1024, 2048 or 4096".to_owned()),
    }
}

pub(super) fn align(text: &str) -> Result<u32, String> {
    match u32::try_from(size::parse(text)?) {
        // 65535 reserved sectors of 512 bytes reach no farther.
        Ok(bytes @ 1..=0x100_0000) => Ok(bytes),
        _ => Err("a boundary is 1 byte to 16M".to_owned()),
    }
}

/// `GLOB=+rhs`, `GLOB=-a` or `GLOB=+h-a`.
pub(super) fn attr(text: &str) -> Result<AttrArg, String> {
    let example = "such as 'ldlinux.sys=+rhs' or '*.bak=-a'";
    let Some((pattern, letters)) = text.rsplit_once('=') else {
        return Err(format!("a pattern, = and attributes, {example}"));
    };
    let mut change = AttributeChange::default();
    let mut sets = None;
    for letter in letters.chars() {
        let attribute = match letter.to_ascii_lowercase() {
            '+' | '-' => {
                sets = Some(letter == '+');
                continue;
            }
            'r' => Attributes::READ_ONLY,
            'h' => Attributes::HIDDEN,
            's' => Attributes::SYSTEM,
            'a' => Attributes::ARCHIVE,
            _ => return Err(format!("{letter:?} is no attribute; r, h, s and a are, {example}")),
        };
        let Some(sets) = sets else {
            return Err(format!("attributes begin with + to set or - to remove them, {example}"));
        };
        let set = if sets { attribute } else { Attributes::default() };
        let clear = if sets { Attributes::default() } else { attribute };
        change.set = change.set.without(attribute) | set;
        change.clear = change.clear.without(attribute) | clear;
    }
    if change == AttributeChange::default() {
        return Err(format!("no attribute to set or remove, {example}"));
    }
    Ok(AttrArg { typed: text.to_owned(), pattern: pattern.to_owned(), change })
}

pub(super) fn label(text: &str) -> Result<LabelArg, String> {
    let label = Label::new(text).map_err(|fault| fault.to_string())?;
    let made_capital = text.bytes().any(|byte| byte.is_ascii_lowercase());
    Ok(LabelArg { label, made_capital })
}

pub(super) fn volume_id(text: &str) -> Result<VolumeIdArg, String> {
    if text.eq_ignore_ascii_case("random") {
        return Ok(VolumeIdArg::Random);
    }
    eight_digits(text).map(VolumeIdArg::Given).ok_or_else(|| {
        "a volume id is eight hexadecimal digits, such as DEAD-BEEF, or random".to_owned()
    })
}

/// `DEADBEEF`, `0xDEADBEEF` or `DEAD-BEEF`.
fn eight_digits(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    let digits = match digits.split_once('-') {
        Some((high, low)) if high.len() == 4 && low.len() == 4 => format!("{high}{low}"),
        _ => digits.to_owned(),
    };
    let hexadecimal = digits.len() == 8 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u32::from_str_radix(&digits, 16).ok().filter(|_| hexadecimal)
}

pub(super) fn partition_start(text: &str) -> Result<u64, String> {
    match size::parse(text)? {
        0 => Err("the table comes first; 1M is usual".to_owned()),
        bytes => Ok(bytes),
    }
}

pub(super) fn partition_type(text: &str) -> Result<TypeWish, String> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    if text.eq_ignore_ascii_case("esp") {
        Ok(TypeWish::Esp)
    } else if text.eq_ignore_ascii_case("fat") {
        Ok(TypeWish::Fat)
    } else if let Ok(guid) = text.parse() {
        Ok(TypeWish::Guid(guid))
    } else if digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        match u8::from_str_radix(digits, 16) {
            Ok(byte) if may_hold_a_volume(byte) => Ok(TypeWish::Byte(byte)),
            _ => Err(format!("{digits} is no type of a partition that holds a volume")),
        }
    } else {
        Err("a type is esp, fat, two hexadecimal digits such as 0C, or a GUID".to_owned())
    }
}

pub(super) fn partition_label(text: &str) -> Result<String, String> {
    match text.encode_utf16().count() {
        units if units > LABEL_UNITS => {
            Err(format!("a partition's name has at most {LABEL_UNITS} UTF-16 units, not {units}"))
        }
        _ if text.contains(char::is_control) => {
            Err("a partition's name has no control characters".to_owned())
        }
        _ => Ok(text.to_owned()),
    }
}

pub(super) fn disk_id(text: &str) -> Result<DiskIdArg, String> {
    if text.eq_ignore_ascii_case("random") {
        return Ok(DiskIdArg::Random);
    }
    if let Ok(guid) = text.parse() {
        return if guid == Guid::NIL {
            Err("that is no name".into())
        } else {
            Ok(DiskIdArg::Guid(guid))
        };
    }
    match eight_digits(text) {
        Some(signature) if signature != 0 => Ok(DiskIdArg::Signature(signature)),
        _ => Err("a disk's name is eight hexadecimal digits for MBR, a GUID for GPT, or random"
            .to_owned()),
    }
}

pub(super) fn oem_name(text: &str) -> Result<OemName, String> {
    if text.len() > 8 || !text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return Err("an OEM name is up to 8 printable ASCII characters".to_owned());
    }
    let mut name = [b' '; 8];
    for (to, from) in name.iter_mut().zip(text.bytes()) {
        *to = from;
    }
    if [*b"EXFAT   ", *b"NTFS    "].contains(&name) || text.starts_with("2M") {
        return Err("readers take a volume of that OEM name for something else than FAT".to_owned());
    }
    Ok(OemName(name))
}

pub(super) fn media(text: &str) -> Result<u8, String> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    match u8::from_str_radix(digits, 16) {
        // Windows refuses FA.
        Ok(byte @ (0xF0 | 0xF8 | 0xF9 | 0xFB..=0xFF)) => Ok(byte),
        _ => Err("a media byte is F0, F8, F9 or FB to FF".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_with_a_volume_has_no_type_that_says_otherwise() {
        for text in ["00", "05", "0x0F", "85", "ee"] {
            let told = partition_type(text).unwrap_err();
            assert!(told.ends_with(" is no type of a partition that holds a volume"), "{told}");
        }
        assert_eq!(partition_type("0x1b"), Ok(TypeWish::Byte(0x1B)));
    }
}
