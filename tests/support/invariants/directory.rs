//! Decodes the slots of one directory into entries, and names the flaws that entries no longer
//! show.

use std::ops::Range;

use super::geometry::FatType;
use super::volume::Run;
use super::volume_bytes::{array_at, u16_at, u32_at};

pub const SLOT_BYTES: u64 = 32;
pub const MOST_SLOTS: u32 = 65536;

pub const ATTRIBUTE_LABEL: u8 = 0x08;
pub const ATTRIBUTE_DIRECTORY: u8 = 0x10;
const ATTRIBUTE_LONG_NAME: u8 = 0x0F;

/// UTF-16 units in one slot of a long name.
const UNITS_PER_SLOT: usize = 13;
const MOST_LONG_SLOTS: u8 = 20;

const DOT: [u8; 11] = *b".          ";
const DOT_DOT: [u8; 11] = *b"..         ";

/// Date and time as stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    pub date: u16,
    pub time: u16,
}

/// A short entry with the long name before it.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Index in `Volume::directories` of the directory it stands in.
    pub directory: usize,
    /// Number of its short entry in the directory, from 0.
    pub slot: u32,
    /// Slots it takes, its long name included.
    pub slots: u32,
    pub long: Option<String>,
    pub raw_short: [u8; 11],
    pub attributes: u8,
    pub case_bits: u8,
    pub created: Stamp,
    pub created_hundredths: u8,
    pub accessed_date: u16,
    pub written: Stamp,
    /// On FAT12/16 the low half alone.
    pub first_cluster: u32,
    pub size: u32,
    /// The clusters of its chain, as far as they are its own.
    pub runs: Vec<Run>,
}

impl Entry {
    fn decode(
        slot: u32,
        raw: &[u8],
        long: Option<String>,
        long_slots: usize,
        fat_type: FatType,
    ) -> Entry {
        let low = u32::from(u16_at(raw, 26));
        let high = u32::from(u16_at(raw, 20));
        Entry {
            directory: 0,
            slot,
            slots: 1 + long_slots as u32,
            long,
            raw_short: array_at(raw, 0),
            attributes: raw[11],
            case_bits: raw[12],
            created: Stamp { time: u16_at(raw, 14), date: u16_at(raw, 16) },
            created_hundredths: raw[13],
            accessed_date: u16_at(raw, 18),
            written: Stamp { time: u16_at(raw, 22), date: u16_at(raw, 24) },
            first_cluster: if fat_type == FatType::Fat32 { high << 16 | low } else { low },
            size: u32_at(raw, 28),
            runs: Vec::new(),
        }
    }

    pub fn is_directory(&self) -> bool {
        self.attributes & ATTRIBUTE_DIRECTORY != 0
    }

    pub fn clusters(&self) -> u64 {
        self.runs.iter().map(|run| u64::from(run.count)).sum()
    }

    /// The short name as stored, with its dot.
    pub fn short(&self) -> String {
        join_short(self.base(), self.extension())
    }

    /// The long name, or the short one in the case its case bits ask for.
    pub fn name(&self) -> String {
        if let Some(long) = &self.long {
            return long.clone();
        }
        let cased = |part: &[u8], bit: u8| {
            if self.case_bits & bit == 0 { part.to_vec() } else { part.to_ascii_lowercase() }
        };
        join_short(&cased(self.base(), 0x08), &cased(self.extension(), 0x10))
    }

    /// The bytes of the short name before the extension, without padding.
    pub fn base(&self) -> &[u8] {
        without_padding(&self.raw_short[..8])
    }

    pub fn extension(&self) -> &[u8] {
        without_padding(&self.raw_short[8..])
    }
}

fn without_padding(part: &[u8]) -> &[u8] {
    let length = part.iter().rposition(|&byte| byte != b' ').map_or(0, |last| last + 1);
    &part[..length]
}

fn join_short(base: &[u8], extension: &[u8]) -> String {
    let dot: &[u8] = if extension.is_empty() { b"" } else { b"." };
    // Bytes beyond ASCII have no known code page; they only have to differ.
    [base, dot, extension].concat().into_iter().map(char::from).collect()
}

/// A directory, its entries apart.
#[derive(Debug, Clone)]
pub struct Directory {
    /// Index in `Volume::entries` of its own entry; the root has none.
    pub entry: Option<usize>,
    /// The root of FAT12/16, which lies before the clusters.
    pub is_fixed_root: bool,
    pub runs: Vec<Run>,
    /// Slots before the end mark.
    pub slots_used: u32,
    /// `.` and `..`, where they belong.
    pub dots: [Option<Entry>; 2],
    pub labels: Vec<Entry>,
    /// Indices in `Volume::entries` of what it holds.
    pub entries: Range<usize>,
}

/// Something in the slots that breaks an invariant.
pub struct Flaw {
    pub invariant: u8,
    pub slot: u32,
    pub what: &'static str,
}

pub struct Decoded {
    pub entries: Vec<Entry>,
    pub labels: Vec<Entry>,
    pub dots: [Option<Entry>; 2],
    pub slots_used: u32,
    pub flaws: Vec<Flaw>,
}

/// Decodes slots up to the end mark. Long names that are not sound are left out, as readers do.
pub fn decode(contents: &[u8], is_root: bool, fat_type: FatType) -> Decoded {
    let mut decoded = Decoded {
        entries: Vec::new(),
        labels: Vec::new(),
        dots: [None, None],
        slots_used: 0,
        flaws: Vec::new(),
    };
    // The slots of a long name whose short entry is yet to come.
    let mut parts: Vec<&[u8]> = Vec::new();
    for (slot, raw) in (0..).zip(contents.chunks_exact(SLOT_BYTES as usize)) {
        let mut flaw = |invariant, what| decoded.flaws.push(Flaw { invariant, slot, what });
        if raw[0] == 0 {
            let rest = &contents[slot as usize * SLOT_BYTES as usize..];
            if rest.iter().any(|&byte| byte != 0) {
                flaw(33, "bytes that are not zero at or behind the end mark");
            }
            break;
        }
        decoded.slots_used = slot + 1;
        let kind = raw[11] & 0x3F;
        if raw[0] != 0xE5 && kind == ATTRIBUTE_LONG_NAME {
            take_long_slot(&mut parts, raw, flaw);
            continue;
        }
        let mut parts = std::mem::take(&mut parts);
        if raw[0] == 0xE5 {
            flaw(33, "a deleted entry");
            if !parts.is_empty() {
                flaw(34, "a long name without its short entry before this");
            }
            continue;
        }
        if !parts.is_empty() && kind & ATTRIBUTE_LABEL != 0 {
            flaw(34, "a long name before a label");
            parts.clear();
        }
        let long_slots = parts.len();
        let long = long_name(&parts, raw, &mut flaw);
        if fat_type != FatType::Fat32 && u16_at(raw, 20) != 0 {
            flaw(39, "the high half of the first cluster is not zero");
        }
        let entry = Entry::decode(slot, raw, long, long_slots, fat_type);
        let is_dot = [DOT, DOT_DOT].iter().position(|name| entry.raw_short == *name);
        match is_dot {
            Some(place) if place == slot as usize && !is_root => decoded.dots[place] = Some(entry),
            Some(_) => flaw(32, "a dot entry where none belongs"),
            None if kind & ATTRIBUTE_LABEL == 0 => decoded.entries.push(entry),
            None if kind & ATTRIBUTE_DIRECTORY == 0 => decoded.labels.push(entry),
            None => flaw(31, "directory and label at once"),
        }
    }
    if !parts.is_empty() {
        let slot = decoded.slots_used - 1;
        let what = "a long name without its short entry at the end";
        decoded.flaws.push(Flaw { invariant: 34, slot, what });
    }
    decoded
}

/// Adds a slot to the long name it continues, or begins another with it.
fn take_long_slot<'a>(
    parts: &mut Vec<&'a [u8]>,
    raw: &'a [u8],
    mut flaw: impl FnMut(u8, &'static str),
) {
    const LAST_PART: u8 = 0x40;
    if raw[11] != ATTRIBUTE_LONG_NAME {
        flaw(34, "a long-name slot with more attributes than 0F");
    }
    if raw[12] != 0 {
        flaw(34, "a long-name slot with a type");
    }
    if u16_at(raw, 26) != 0 {
        flaw(34, "a long-name slot with a cluster");
    }
    let continues = parts.last().is_some_and(|before| {
        let awaited = (before[0] & !LAST_PART).wrapping_sub(1);
        raw[0] == awaited && awaited > 0 && raw[13] == before[13]
    });
    if continues {
        parts.push(raw);
        return;
    }
    if !parts.is_empty() {
        flaw(34, "a long name broken off before this");
        parts.clear();
    }
    let number = raw[0] & !LAST_PART;
    if raw[0] & LAST_PART == 0 {
        flaw(34, "a long-name slot without the ones before it");
    } else if number == 0 || number > MOST_LONG_SLOTS {
        flaw(34, "a long-name slot whose number is out of range");
    } else {
        parts.push(raw);
    }
}

/// The name in slots that come before the short entry `short`, if they are all of it.
fn long_name(
    parts: &[&[u8]],
    short: &[u8],
    flaw: &mut impl FnMut(u8, &'static str),
) -> Option<String> {
    let last = parts.last()?;
    // The number of a name of one slot still has the bit that says so.
    if last[0] & 0x3F != 1 {
        flaw(34, "a long name that lacks its first slots");
        return None;
    }
    if last[13] != checksum(&short[..11]) {
        flaw(34, "a long name with the checksum of another short name");
        return None;
    }
    let mut units: Vec<u16> = Vec::with_capacity(parts.len() * UNITS_PER_SLOT);
    for part in parts.iter().rev() {
        for bytes in [&part[1..11], &part[14..26], &part[28..32]] {
            units.extend(bytes.chunks_exact(2).map(|unit| u16_at(unit, 0)));
        }
    }
    if let Some(length) = units.iter().position(|&unit| unit == 0) {
        if units[length + 1..].iter().any(|&unit| unit != 0xFFFF) {
            flaw(34, "a long name whose padding is not FFFF");
        }
        if length.div_ceil(UNITS_PER_SLOT) != parts.len() {
            flaw(34, "a long name in more slots than it needs");
        }
        units.truncate(length);
    }
    if units.is_empty() || units.len() > 255 {
        flaw(37, "a long name of no or more than 255 units");
    }
    let name = String::from_utf16(&units);
    if name.is_err() {
        flaw(37, "a long name that is not UTF-16");
    }
    Some(name.unwrap_or_else(|_| String::from_utf16_lossy(&units)))
}

/// Of the short name, as each slot of its long name has it.
pub fn checksum(raw_short: &[u8]) -> u8 {
    raw_short.iter().fold(0, |sum: u8, &byte| sum.rotate_right(1).wrapping_add(byte))
}
