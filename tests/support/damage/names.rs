//! Damages to long and short names.

use super::change::{
    exchange_slots, long_slot, long_units, set_short_byte, set_unit, short_slot, slot, top_slot,
};
use super::find::{
    empty_file, long_name, nested_directory, other_long_name, root, short_neighbour,
};
use super::{ALL, Damage, damage};

pub fn damages() -> Vec<Damage> {
    vec![
        damage(34, ALL, "another checksum", |bytes, volume| bytes[long_slot(volume, 1) + 13] ^= 1),
        damage(34, ALL, "another number", |bytes, volume| bytes[long_slot(volume, 1)] ^= 3),
        damage(34, ALL, "number 0", |bytes, volume| bytes[top_slot(volume)] = 0x40),
        damage(34, ALL, "number 21", |bytes, volume| bytes[top_slot(volume)] = 0x40 | 21),
        damage(34, ALL, "no mark of the last part", |bytes, volume| {
            bytes[top_slot(volume)] &= 0x3F
        }),
        damage(34, ALL, "a type", |bytes, volume| bytes[long_slot(volume, 1) + 12] = 1),
        damage(34, ALL, "a cluster", |bytes, volume| bytes[long_slot(volume, 1) + 26] = 2),
        damage(34, ALL, "an attribute more", |bytes, volume| {
            bytes[long_slot(volume, 1) + 11] |= 0x40
        }),
        damage(34, ALL, "no short entry", |bytes, volume| {
            let file = long_name(volume);
            let gone = long_slot(volume, 1);
            exchange_slots(bytes, gone, short_slot(volume, file));
        }),
        damage(34, ALL, "the short entry deleted", |bytes, volume| {
            bytes[short_slot(volume, long_name(volume))] = 0xE5;
        }),
        damage(34, ALL, "another short entry", |bytes, volume| {
            bytes[short_slot(volume, long_name(volume))] ^= 1;
        }),
        damage(34, ALL, "a long name before the label", |bytes, volume| {
            let place = short_slot(volume, long_name(volume));
            exchange_slots(bytes, slot(volume, root(volume), 0), place);
        }),
        damage(34, ALL, "padding of zeros", |bytes, volume| {
            // The last two of a long name's units in its last part, which is not full.
            let place = top_slot(volume) + 28;
            bytes[place..place + 4].fill(0);
        }),
        damage(34, ALL, "a part more than the name needs", |bytes, volume| {
            set_unit(bytes, volume, 0, 0);
            set_unit(bytes, volume, 13, 0);
        }),
        damage(35, ALL, "a small letter", |bytes, volume| set_short_byte(bytes, volume, 1, b'a')),
        damage(35, ALL, "a space inside", |bytes, volume| set_short_byte(bytes, volume, 1, b' ')),
        damage(35, ALL, "a leading space", |bytes, volume| set_short_byte(bytes, volume, 0, b' ')),
        damage(35, ALL, "a forbidden character", |bytes, volume| {
            set_short_byte(bytes, volume, 1, b'+')
        }),
        damage(35, ALL, "the byte 7F", |bytes, volume| set_short_byte(bytes, volume, 1, 0x7F)),
        damage(35, ALL, "a dot", |bytes, volume| set_short_byte(bytes, volume, 1, b'.')),
        damage(35, ALL, "05 for E5", |bytes, volume| set_short_byte(bytes, volume, 0, 0x05)),
        damage(35, ALL, "a byte of a code page", |bytes, volume| {
            set_short_byte(bytes, volume, 1, 0x90)
        }),
        damage(36, ALL, "two equal short names", |bytes, volume| {
            let (one, other) = (empty_file(volume), short_neighbour(volume));
            let from = short_slot(volume, one);
            bytes.copy_within(from..from + 11, short_slot(volume, other));
        }),
        damage(36, ALL, "two equal long names", |bytes, volume| {
            let (one, other) = (long_name(volume), other_long_name(volume));
            let slots = one.slots as usize;
            let (one, other) = (short_slot(volume, one), short_slot(volume, other));
            for part in 1..slots {
                // All but the number, which is the same, and the checksum of the short name.
                for place in (1..13).chain(14..32) {
                    bytes[one - 32 * part + place] = bytes[other - 32 * part + place];
                }
            }
        }),
        damage(36, ALL, "the generated short name of another", |bytes, volume| {
            let from = short_slot(volume, long_name(volume));
            bytes.copy_within(from..from + 11, short_slot(volume, empty_file(volume)));
        }),
        damage(37, ALL, "a colon", |bytes, volume| set_unit(bytes, volume, 0, u16::from(b':'))),
        damage(37, ALL, "a control character", |bytes, volume| set_unit(bytes, volume, 0, 0x1F)),
        damage(37, ALL, "the padding unit", |bytes, volume| set_unit(bytes, volume, 0, 0xFFFF)),
        damage(37, ALL, "half a pair", |bytes, volume| set_unit(bytes, volume, 0, 0xD800)),
        damage(37, ALL, "no unit", |bytes, volume| set_unit(bytes, volume, 0, 0)),
        damage(37, ALL, "a dot at the end", |bytes, volume| {
            set_unit(bytes, volume, long_units(volume) - 1, u16::from(b'.'));
        }),
        damage(37, ALL, "a space at the end", |bytes, volume| {
            set_unit(bytes, volume, long_units(volume) - 1, u16::from(b' '));
        }),
        damage(37, ALL, "case bits beside a long name", |bytes, volume| {
            bytes[short_slot(volume, long_name(volume)) + 12] = 0x08;
        }),
        damage(37, ALL, "unknown case bits", |bytes, volume| {
            bytes[short_slot(volume, empty_file(volume)) + 12] = 0x20;
        }),
        damage(37, ALL, "the case of an extension that is not there", |bytes, volume| {
            bytes[short_slot(volume, nested_directory(volume)) + 12] |= 0x10;
        }),
        damage(37, ALL, "no ~ in a generated short name", |bytes, volume| {
            let file = long_name(volume);
            let place = short_slot(volume, file);
            let tail = file
                .raw_short
                .iter()
                .position(|&byte| byte == b'~')
                .expect("a generated short name");
            bytes[place + tail] = b'X';
            let name = &bytes[place..place + 11];
            let sum = name.iter().fold(0, |sum: u8, &byte| sum.rotate_right(1).wrapping_add(byte));
            for part in 1..file.slots {
                bytes[long_slot(volume, part) + 13] = sum;
            }
        }),
    ]
}
