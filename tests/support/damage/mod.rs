//! Ways to break a sound volume, each against one invariant, to show that the checker sees it.
//!
//! A damage is applied to the bytes of a whole image that breaks nothing, and to that image
//! decoded. The image must contain:
//! - a label;
//! - in the root an empty file and another entry, both without a long name;
//! - in the root a file of three clusters or more whose last cluster is not full, and another file
//!   with clusters; the former is not the last file on the disk;
//! - in the root a long name of two slots or more, the last with three units to spare or more, and
//!   with a generated short name, and another of as many slots;
//! - a directory in a directory, with room for two more slots in its last cluster;
//! - a file in a directory that is not the root;
//! - two free clusters or more at the end, and on FAT12/16 two reserved sectors or more.
//!
//! The checker has to be told all that the image was made from (every field of `Expect`, times
//! included, and an alignment of more than a sector): some damages are none in themselves. What a
//! damage breaks besides its own invariant is not said.

mod boot_sector;
mod change;
mod directories;
mod find;
mod names;
mod reserved_sectors;
mod stamps_and_contents;
mod table;

use super::invariants::Volume;

pub struct Damage {
    pub invariant: u8,
    pub name: &'static str,
    /// The types it applies to, in bits of a FAT entry.
    pub kinds: &'static [u8],
    pub apply: fn(&mut Vec<u8>, &Volume),
}

const ALL: &[u8] = &[12, 16, 32];
const FAT12: &[u8] = &[12];
const FAT16: &[u8] = &[16];
const FAT32: &[u8] = &[32];
const FAT12_16: &[u8] = &[12, 16];

pub fn all() -> Vec<Damage> {
    [
        boot_sector::damages(),
        reserved_sectors::damages(),
        table::damages(),
        table::chain_damages(),
        directories::damages(),
        names::damages(),
        stamps_and_contents::damages(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn damage(
    invariant: u8,
    kinds: &'static [u8],
    name: &'static str,
    apply: fn(&mut Vec<u8>, &Volume),
) -> Damage {
    Damage { invariant, name, kinds, apply }
}
