//! The records of one directory: what they say, and what is wrong with them. Knows no other
//! directory and no chain.

use std::collections::HashSet;
use std::fmt::Arguments;

use super::finding::{Fault, Findings};
use crate::fat::attr::Attributes;
use crate::fat::name;
use crate::fat::record::{FoundEntry, FoundPart, FoundRecord, RECORD_BYTES, decode, join_parts};
use crate::fat::short::{ShortName, is_legal_short_byte};
use crate::fat::time::DosTime;

/// `DIR_NTRes`: the base in small letters.
const BASE_BIT: u8 = 0x08;
/// The extension in small letters.
const EXTENSION_BIT: u8 = 0x10;

/// An entry as a reader shows it.
#[derive(Debug, Clone)]
pub(super) struct Listed {
    pub(super) name: String,
    pub(super) entry: FoundEntry,
}

/// Where a directory is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Here<'a> {
    /// Its path, without a slash at the end; empty for the root.
    pub(super) path: &'a str,
    /// Its first cluster, and the one that `..` must name; `None` for the root.
    pub(super) clusters: Option<(u32, u32)>,
    /// Byte of the image at which it begins.
    pub(super) at_byte: u64,
}

/// What a directory holds.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) entries: Vec<Listed>,
    /// The label's record.
    pub(super) label: Option<FoundEntry>,
    /// Records before the end.
    pub(super) records: u64,
}

/// Reads the records in `bytes`, whole clusters or sectors.
pub(super) fn read(bytes: &[u8], here: Here<'_>, findings: &mut Findings) -> Listing {
    let mut reading = Reading {
        here,
        place: if here.path.is_empty() { "/".to_owned() } else { here.path.to_owned() },
        findings,
        listing: Listing::default(),
        parts: Vec::new(),
        shorts: HashSet::new(),
        keys: HashSet::new(),
    };
    let (records, _) = bytes.as_chunks::<RECORD_BYTES>();
    for (index, record) in (0..).zip(records) {
        reading.listing.records = index;
        match decode(record) {
            FoundRecord::End => {
                reading.zeros_from(&bytes[index as usize * RECORD_BYTES..], index);
                break;
            }
            FoundRecord::Deleted => {
                reading.stray_parts();
                reading.fault(Fault::Deleted);
            }
            FoundRecord::Long(part) => {
                if part.is_last {
                    reading.stray_parts();
                }
                reading.parts.push(part);
            }
            FoundRecord::Short(entry) => reading.entry(entry, index),
        }
        reading.listing.records = index + 1;
    }
    reading.stray_parts();
    if here.clusters.is_some() {
        for (name, index) in [(".", 0), ("..", 1)] {
            if reading.listing.records <= index {
                reading.fault(Fault::Dot { name });
            }
        }
    }
    reading.listing
}

struct Reading<'a> {
    here: Here<'a>,
    place: String,
    findings: &'a mut Findings,
    listing: Listing,
    parts: Vec<FoundPart>,
    shorts: HashSet<ShortName>,
    keys: HashSet<String>,
}

impl Reading<'_> {
    fn fault(&mut self, fault: Fault) {
        self.findings.add(&self.place, fault);
    }

    fn stray_parts(&mut self) {
        if !self.parts.is_empty() {
            self.parts.clear();
            self.fault(Fault::StrayLongName);
        }
    }

    fn zeros_from(&mut self, rest: &[u8], index: u64) {
        if let Some(byte) = rest.iter().position(|byte| *byte != 0) {
            let at_byte = self.here.at_byte + index * RECORD_BYTES as u64 + byte as u64;
            self.fault(Fault::NotZero { at_byte });
        }
    }

    fn entry(&mut self, entry: FoundEntry, index: u64) {
        if let (Some(clusters), 0..=1) = (self.here.clusters, index) {
            return self.dot(entry, index, clusters);
        }
        if entry.is_label() {
            return self.label(entry, index);
        }
        if entry.name.bytes().starts_with(b".") {
            self.stray_parts();
            return self.fault(Fault::StrayDot);
        }
        let had_parts = !self.parts.is_empty();
        let long = join_parts(&self.parts, entry.name);
        self.parts.clear();
        let has_long = long.is_some();
        let name = long.unwrap_or_else(|| shown(&entry));
        let parent = self.here.path;
        let place = format_args!("{parent}/{name}");
        if had_parts && !has_long {
            self.findings.add(place, Fault::StrayLongName);
        }
        if has_long && let Err(fault) = name::check(&name) {
            self.findings.add(place, Fault::LongName(fault));
        }
        self.check_fields(&entry, has_long, place);
        if !self.shorts.insert(entry.name) {
            self.findings.add(place, Fault::ShortNameTwice(entry.name.to_string()));
        }
        if !self.keys.insert(name::clash_key(&name)) {
            self.findings.add(place, Fault::SameName);
        }
        self.listing.entries.push(Listed { name, entry });
    }

    fn check_fields(&mut self, entry: &FoundEntry, has_long: bool, place: Arguments<'_>) {
        let known = Attributes::READ_ONLY
            | Attributes::HIDDEN
            | Attributes::SYSTEM
            | Attributes::DIRECTORY
            | Attributes::ARCHIVE;
        if entry.attributes & !known.bits() != 0 {
            self.findings.add(place, Fault::Attributes(entry.attributes));
        }
        let meaningful = if has_long { 0 } else { case_bits_of(entry.name) };
        if entry.case_bits & !meaningful != 0 {
            self.findings.add(place, Fault::CaseBits(entry.case_bits));
        }
        if !is_legal_short_name(entry.name) {
            self.findings.add(place, Fault::ShortName(entry.name.bytes()));
        }
        if entry.is_directory() && entry.size_bytes != 0 {
            self.findings.add(place, Fault::DirectorySize(entry.size_bytes));
        }
        self.check_stamps(entry, place);
    }

    fn check_stamps(&mut self, entry: &FoundEntry, place: Arguments<'_>) {
        let accessed = DosTime { date: entry.accessed_date, time: 0 };
        for stamp in [entry.written, entry.created, accessed] {
            if !stamp.is_real() {
                let DosTime { date, time } = stamp;
                self.findings.add(place, Fault::Stamp { date, time });
            }
        }
        if entry.created_tens_of_ms > 199 {
            let found = entry.created_tens_of_ms.to_string();
            self.findings.add(place, Fault::Field { field: "fine creation time", found });
        }
    }

    fn dot(&mut self, entry: FoundEntry, index: u64, (own, parent): (u32, u32)) {
        let (name, bytes, cluster) = match index {
            0 => (".", *b".          ", own),
            _ => ("..", *b"..         ", parent),
        };
        let right = entry.name.bytes() == bytes
            && entry.attributes == Attributes::DIRECTORY.bits()
            && entry.first_cluster == cluster
            && entry.size_bytes == 0
            && entry.case_bits == 0
            && self.parts.is_empty();
        self.parts.clear();
        if !right {
            self.fault(Fault::Dot { name });
        }
        let parent = self.here.path;
        self.check_stamps(&entry, format_args!("{parent}/{name}"));
    }

    fn label(&mut self, entry: FoundEntry, index: u64) {
        self.stray_parts();
        let clean = entry.attributes == Attributes::LABEL.bits()
            && entry.first_cluster == 0
            && entry.size_bytes == 0
            && entry.case_bits == 0
            && entry.created_tens_of_ms == 0;
        if self.here.clusters.is_some() || index != 0 || !clean {
            return self.fault(Fault::StrayLabel);
        }
        if !entry.written.is_real() {
            let DosTime { date, time } = entry.written;
            self.fault(Fault::Stamp { date, time });
        }
        self.listing.label = Some(entry);
    }
}

/// The short name with its case bits applied.
fn shown(entry: &FoundEntry) -> String {
    let text = entry.name.to_string();
    let (base, extension) = match text.split_once('.') {
        Some((base, extension)) => (base, Some(extension)),
        None => (text.as_str(), None),
    };
    let cased = |part: &str, bit: u8| {
        if entry.case_bits & bit == 0 { part.to_owned() } else { part.to_ascii_lowercase() }
    };
    let base = cased(base, BASE_BIT);
    extension
        .map_or(base.clone(), |extension| format!("{base}.{}", cased(extension, EXTENSION_BIT)))
}

/// The case bits that make a difference: those of parts with a letter. A new volume has no others.
fn case_bits_of(name: ShortName) -> u8 {
    let bytes = name.bytes();
    let (base, extension) = bytes.split_at(8);
    let bit = |part: &[u8], bit| if part.iter().any(u8::is_ascii_alphabetic) { bit } else { 0 };
    bit(base, BASE_BIT) | bit(extension, EXTENSION_BIT)
}

/// Capital ASCII, blanks at the ends of base and extension only.
fn is_legal_short_name(name: ShortName) -> bool {
    let bytes = name.bytes();
    let (base, extension) = bytes.split_at(8);
    let legal = |part: &[u8]| {
        let kept = part.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
        part[..kept].iter().all(|byte| is_legal_short_byte(*byte))
    };
    base[0] != b' ' && legal(base) && legal(extension)
}
