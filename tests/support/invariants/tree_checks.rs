//! I18, I28, I29, I31, I32, I35..I38: directories and their entries. I33 and I34 are found while
//! decoding.

use std::collections::HashMap;

use super::directory::{
    ATTRIBUTE_DIRECTORY, ATTRIBUTE_LABEL, Directory, Entry, MOST_SLOTS, SLOT_BYTES, Stamp,
};
use super::{Breaches, Expect, Volume};

/// 1980-01-01, the first day that FAT knows, in seconds since 1970.
pub const FAT_EPOCH: u64 = 315_532_800;

pub fn check(volume: &Volume, expect: &Expect, breaches: &mut Breaches) {
    check_label(volume, expect, breaches);
    for directory in &volume.directories {
        check_directory(volume, directory, breaches);
        check_names_differ(volume, directory, breaches);
        for label in &directory.labels {
            check_attributes(label, || volume.directory_path(directory), breaches);
            check_stamps(label, expect, || volume.directory_path(directory), breaches);
        }
    }
    for entry in &volume.entries {
        let path = || volume.path(entry);
        check_attributes(entry, path, breaches);
        check_length(volume, entry, breaches);
        check_short_name(entry, path, breaches);
        check_long_name(entry, path, breaches);
        check_stamps(entry, expect, path, breaches);
    }
}

/// I18.
fn check_label(volume: &Volume, expect: &Expect, breaches: &mut Breaches) {
    const NO_NAME: [u8; 11] = *b"NO NAME    ";
    let at = volume.geometry.extended_at() + 7;
    let boot_label = &volume.boot.bytes[at..at + 11];
    for directory in &volume.directories {
        let most = usize::from(directory.entry.is_none());
        breaches.require(18, directory.labels.len() <= most, || {
            format!("{}: {} labels", volume.directory_path(directory), directory.labels.len())
        });
    }
    let label = volume.directories.first().and_then(|root| root.labels.first());
    let root_label = label.map_or(NO_NAME, |label| label.raw_short);
    breaches.require(18, *boot_label == root_label, || {
        format!(
            "label {} in the boot sector, {} in the root",
            boot_label.escape_ascii(),
            root_label.escape_ascii()
        )
    });
    if let Some(wanted) = &expect.label {
        let wanted_name = wanted.as_ref().map(|name| format!("{name:<11}").into_bytes());
        let found = label.map(|label| label.raw_short.to_vec());
        breaches.require(18, found == wanted_name, || {
            format!("label {}, not {wanted:?}", root_label.escape_ascii())
        });
    }
    if let Some(label) = label {
        let is_legal =
            |byte: &u8| (b' '..0x7F).contains(byte) && !b"\"*+,./:;<=>?[\\]|".contains(byte);
        let name = &label.raw_short;
        let is_upper = !name.iter().any(u8::is_ascii_lowercase);
        let named = name[0] != b' ' && *name != NO_NAME;
        breaches.require(18, name.iter().all(is_legal) && is_upper && named, || {
            format!("label {} is not legal", name.escape_ascii())
        });
        breaches.require(18, label.slot == 0, || {
            format!("the label is in slot {} of the root", label.slot)
        });
        let is_plain =
            label.attributes == ATTRIBUTE_LABEL && label.case_bits == 0 && label.first_cluster == 0;
        breaches.require(18, is_plain, || {
            "the label has attributes, case bits or a cluster".to_owned()
        });
    }
}

/// I29 and I32.
fn check_directory(volume: &Volume, directory: &Directory, breaches: &mut Breaches) {
    let path = || volume.directory_path(directory);
    let slots = directory.slots_used;
    breaches.require(29, slots <= MOST_SLOTS, || format!("{}: {slots} slots or more", path()));
    if !directory.is_fixed_root {
        let clusters: u64 = directory.runs.iter().map(|run| u64::from(run.count)).sum();
        let needed = (u64::from(slots) * SLOT_BYTES).div_ceil(volume.geometry.cluster_bytes).max(1);
        breaches.require(29, clusters == needed, || {
            format!("{}: {slots} slots in {clusters} clusters, not {needed}", path())
        });
    }

    let Some(own) = directory.entry.map(|entry| &volume.entries[entry]) else {
        return;
    };
    let above = volume.directories[own.directory].entry;
    // The root is cluster 0 here even on FAT32, where it has a number.
    let parent = above.map_or(0, |above| volume.entries[above].first_cluster);
    for (dot, name, cluster) in
        [(&directory.dots[0], ".", own.first_cluster), (&directory.dots[1], "..", parent)]
    {
        let Some(dot) = dot else {
            breaches.add(32, || format!("{}: no {name} in its slot", path()));
            continue;
        };
        breaches.require(32, dot.first_cluster == cluster, || {
            format!("{}: {name} is cluster {}, not {cluster}", path(), dot.first_cluster)
        });
        let is_plain = dot.attributes == ATTRIBUTE_DIRECTORY && dot.case_bits == 0 && dot.size == 0;
        breaches.require(32, is_plain, || {
            format!("{}: {name} has attributes, case bits or a size", path())
        });
        let stamps = |entry: &Entry| {
            (entry.created, entry.created_hundredths, entry.accessed_date, entry.written)
        };
        breaches.require(32, stamps(dot) == stamps(own), || {
            format!("{}: {name} has other stamps", path())
        });
    }
}

/// I31.
fn check_attributes(entry: &Entry, path: impl Fn() -> String, breaches: &mut Breaches) {
    let attributes = entry.attributes;
    breaches.require(31, attributes & 0xC0 == 0, || {
        format!("{}: attributes {attributes:#04x}", path())
    });
    let sizeless = attributes & (ATTRIBUTE_DIRECTORY | ATTRIBUTE_LABEL) != 0;
    breaches.require(31, !sizeless || entry.size == 0, || {
        format!("{}: no file, but of {} bytes", path(), entry.size)
    });
}

/// I28, and of I29 that every directory has a cluster.
fn check_length(volume: &Volume, entry: &Entry, breaches: &mut Breaches) {
    let clusters = entry.clusters();
    if entry.is_directory() {
        breaches.require(29, clusters > 0, || {
            format!("{}: a directory without clusters", volume.path(entry))
        });
        return;
    }
    let needed = u64::from(entry.size).div_ceil(volume.geometry.cluster_bytes);
    breaches.require(28, clusters == needed, || {
        format!("{}: {} bytes in {clusters} clusters, not {needed}", volume.path(entry), entry.size)
    });
    breaches.require(28, (entry.size == 0) == (entry.first_cluster == 0), || {
        format!("{}: {} bytes from cluster {}", volume.path(entry), entry.size, entry.first_cluster)
    });
}

/// I35.
fn check_short_name(entry: &Entry, path: impl Fn() -> String, breaches: &mut Breaches) {
    let is_legal = |byte: &u8| {
        byte.is_ascii_uppercase() || byte.is_ascii_digit() || b"$%'-_@~`!(){}^#&".contains(byte)
    };
    let legal = entry.base().iter().chain(entry.extension()).all(is_legal);
    breaches.require(35, legal && !entry.base().is_empty(), || {
        format!("{}: short name {}", path(), entry.raw_short.escape_ascii())
    });
}

/// I37, without what only the UTF-16 units show.
fn check_long_name(entry: &Entry, path: impl Fn() -> String, breaches: &mut Breaches) {
    let Some(long) = &entry.long else {
        let bit = |part: &[u8], bit| if part.iter().any(u8::is_ascii_alphabetic) { bit } else { 0 };
        let meaningful = bit(entry.base(), 0x08) | bit(entry.extension(), 0x10);
        breaches.require(37, entry.case_bits & !meaningful == 0, || {
            format!("{}: case bits {:#04x}", path(), entry.case_bits)
        });
        return;
    };
    breaches.require(37, entry.case_bits == 0, || format!("{}: a long name and case bits", path()));
    let is_forbidden =
        |unit: char| unit < ' ' || unit == '\u{FFFF}' || "\"*/:<>?\\|".contains(unit);
    breaches.require(37, !long.contains(is_forbidden), || {
        format!("{}: a character that is forbidden", path())
    });
    breaches.require(37, !long.ends_with(['.', ' ']), || {
        format!("{}: a dot or space at the end", path())
    });
    // A short name that is more than the long one in capitals was generated.
    let short = entry.short();
    let is_generated = long.to_ascii_uppercase() != short;
    breaches.require(37, !is_generated || short.contains('~'), || {
        format!("{}: generated short name {short} has no ~", path())
    });
}

/// I36. A short name beside a long one is a name like any other: nobody else may have it.
fn check_names_differ(volume: &Volume, directory: &Directory, breaches: &mut Breaches) {
    let mut owners: HashMap<String, usize> = HashMap::new();
    for index in directory.entries.clone() {
        let entry = &volume.entries[index];
        for name in [entry.name(), entry.short()] {
            let owner = *owners.entry(collision_key(&name)).or_insert(index);
            breaches.require(36, owner == index, || {
                format!(
                    "{} and {} share the name {name}",
                    volume.path(&volume.entries[owner]),
                    volume.path(entry)
                )
            });
        }
    }
}

/// Equal for names that some reader takes for the same: each character in capitals, then in small
/// letters, where that is one character. Precomposed and decomposed letters stay apart, for the
/// standard library cannot compose them. The mark U+0345 stays itself: its capital is a letter, and no
/// reader takes the two for the same.
fn collision_key(name: &str) -> String {
    let folded = |unit: char| {
        let capital = single(unit, unit.to_uppercase());
        single(capital, capital.to_lowercase())
    };
    name.chars().map(|unit| if unit == '\u{345}' { unit } else { folded(unit) }).collect()
}

fn single(original: char, mut mapped: impl Iterator<Item = char>) -> char {
    match (mapped.next(), mapped.next()) {
        (Some(unit), None) => unit,
        _ => original,
    }
}

/// I38.
fn check_stamps(
    entry: &Entry,
    expect: &Expect,
    path: impl Fn() -> String,
    breaches: &mut Breaches,
) {
    let accessed = Stamp { date: entry.accessed_date, time: 0 };
    let hundredths = entry.created_hundredths;
    breaches.require(38, hundredths < 200, || {
        format!("{}: created at {hundredths} hundredths", path())
    });
    let stamps = [
        ("created", entry.created, u64::from(hundredths / 100)),
        ("accessed", accessed, 0),
        ("written", entry.written, 0),
    ];
    for (what, stamp, more_seconds) in stamps {
        let Some(seconds) = stamp.seconds() else {
            breaches
                .add(38, || format!("{}: {what} {:04x} {:04x}", path(), stamp.date, stamp.time));
            continue;
        };
        let ceiling = expect.epoch_ceiling.map_or(u64::MAX, |ceiling| ceiling.max(FAT_EPOCH));
        breaches.require(38, seconds + more_seconds <= ceiling, || {
            format!("{}: {what} after {ceiling}", path())
        });
    }
}

impl Stamp {
    /// Seconds since 1970, if there is such a day and time.
    pub fn seconds(self) -> Option<u64> {
        let (date, time) = (u64::from(self.date), u64::from(self.time));
        let (year, month, day) = (1980 + (date >> 9), date >> 5 & 15, date & 31);
        let (hour, minute, second) = (time >> 11, time >> 5 & 63, (time & 31) * 2);
        // 2100 is the only year of a century in the range of FAT that is no leap year.
        let is_leap = |year: u64| year.is_multiple_of(4) && year != 2100;
        let february = if is_leap(year) { 29 } else { 28 };
        let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        let month_index = month.checked_sub(1)? as usize;
        let is_day = (1..=*months.get(month_index)?).contains(&day);
        if !is_day || hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let leap_days = (1980..year).filter(|&year| is_leap(year)).count() as u64;
        let days =
            (year - 1980) * 365 + leap_days + months[..month_index].iter().sum::<u64>() + day - 1;
        Some(FAT_EPOCH + ((days * 24 + hour) * 60 + minute) * 60 + second)
    }
}
