//! Damages to labels, attributes, dot entries and end marks.

use super::change::{exchange_slots, set_extended, set_size, short_slot, slot};
use super::find::{deep_file, deepest, empty_file, nested_directory, other_file, root};
use super::{ALL, Damage, FAT32, damage};

pub fn damages() -> Vec<Damage> {
    vec![
        damage(18, ALL, "a label in small letters", |bytes, volume| {
            bytes[slot(volume, root(volume), 0)] |= 0x20;
            set_extended(
                bytes,
                volume,
                7,
                &[volume.boot.bytes[volume.geometry.extended_at() + 7] | 0x20],
            );
        }),
        damage(18, ALL, "another label in the root", |bytes, volume| {
            bytes[slot(volume, root(volume), 0)] ^= 1;
        }),
        damage(18, ALL, "no label in the root", |bytes, volume| {
            // The label of the boot sector alone; the record becomes a file's.
            bytes[slot(volume, root(volume), 0) + 11] = 0x20;
        }),
        damage(18, ALL, "a second label", |bytes, volume| {
            bytes[short_slot(volume, empty_file(volume)) + 11] = 0x08;
        }),
        damage(18, ALL, "a label below the root", |bytes, volume| {
            bytes[short_slot(volume, deep_file(volume)) + 11] = 0x08;
        }),
        damage(18, ALL, "the label behind an entry", |bytes, volume| {
            exchange_slots(
                bytes,
                slot(volume, root(volume), 0),
                short_slot(volume, empty_file(volume)),
            );
        }),
        damage(18, ALL, "the label with a cluster", |bytes, volume| {
            bytes[slot(volume, root(volume), 0) + 26] = 2;
        }),
        damage(31, ALL, "attribute bit 6", |bytes, volume| {
            bytes[short_slot(volume, other_file(volume)) + 11] |= 0x40;
        }),
        damage(31, ALL, "directory and label", |bytes, volume| {
            bytes[short_slot(volume, nested_directory(volume)) + 11] |= 0x08;
        }),
        damage(31, ALL, "a directory with a size", |bytes, volume| {
            set_size(bytes, volume, nested_directory(volume), 1);
        }),
        damage(31, ALL, "a label with a size", |bytes, volume| {
            bytes[slot(volume, root(volume), 0) + 28] = 1
        }),
        damage(32, ALL, ". is another cluster", |bytes, volume| {
            bytes[slot(volume, deepest(volume), 0) + 26] ^= 1;
        }),
        damage(32, ALL, ".. is another cluster", |bytes, volume| {
            bytes[slot(volume, deepest(volume), 1) + 26] ^= 1;
        }),
        damage(32, FAT32, "the root by its number in ..", |bytes, volume| {
            let parent = &volume.directories[nested_directory(volume).directory];
            bytes[slot(volume, parent, 1) + 26] = 2;
        }),
        damage(32, ALL, "no .", |bytes, volume| bytes[slot(volume, deepest(volume), 0)] = b'X'),
        damage(32, ALL, ".. before .", |bytes, volume| {
            exchange_slots(
                bytes,
                slot(volume, deepest(volume), 0),
                slot(volume, deepest(volume), 1),
            );
        }),
        damage(32, ALL, ". with another stamp", |bytes, volume| {
            bytes[slot(volume, deepest(volume), 0) + 24] ^= 1;
        }),
        damage(32, ALL, ".. with an attribute", |bytes, volume| {
            bytes[slot(volume, deepest(volume), 1) + 11] |= 0x02;
        }),
        damage(32, ALL, "a dot entry in the root", |bytes, volume| {
            let place = short_slot(volume, empty_file(volume));
            bytes[place..place + 11].copy_from_slice(b".          ");
        }),
        damage(33, ALL, "a byte in the end mark", |bytes, volume| {
            let directory = deepest(volume);
            bytes[slot(volume, directory, directory.slots_used) + 31] = 1;
        }),
        damage(33, ALL, "an entry behind the end mark", |bytes, volume| {
            let directory = deepest(volume);
            let from = slot(volume, directory, directory.slots_used - 1);
            bytes.copy_within(from..from + 32, slot(volume, directory, directory.slots_used + 1));
        }),
        damage(33, ALL, "a deleted entry", |bytes, volume| {
            bytes[short_slot(volume, empty_file(volume))] = 0xE5;
        }),
    ]
}
