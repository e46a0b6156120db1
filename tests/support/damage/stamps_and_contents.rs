//! Damages to stamps, and to what is in the clusters.

use super::change::{at, last_cluster, set_short_byte, set_size, set_written, short_slot, slot};
use super::find::{long_file, nested_directory, other_file, root};
use super::{ALL, Damage, FAT12_16, damage};

pub fn damages() -> Vec<Damage> {
    vec![
        damage(38, ALL, "no date", |bytes, volume| set_written(bytes, volume, 0, 0)),
        damage(38, ALL, "month 13", |bytes, volume| {
            set_written(bytes, volume, 0, 20 << 9 | 13 << 5 | 1)
        }),
        damage(38, ALL, "30 February", |bytes, volume| {
            set_written(bytes, volume, 0, 20 << 9 | 2 << 5 | 30)
        }),
        damage(38, ALL, "29 February 2001", |bytes, volume| {
            set_written(bytes, volume, 0, 21 << 9 | 2 << 5 | 29)
        }),
        damage(38, ALL, "hour 24", |bytes, volume| set_written(bytes, volume, 24 << 11, 0x21)),
        damage(38, ALL, "minute 60", |bytes, volume| set_written(bytes, volume, 60 << 5, 0x21)),
        damage(38, ALL, "second 60", |bytes, volume| set_written(bytes, volume, 30, 0x21)),
        damage(38, ALL, "created at 200 hundredths", |bytes, volume| {
            bytes[short_slot(volume, other_file(volume)) + 13] = 200;
        }),
        damage(38, ALL, "never created", |bytes, volume| {
            bytes[short_slot(volume, other_file(volume)) + 16..][..2].fill(0);
        }),
        damage(38, ALL, "never accessed", |bytes, volume| {
            bytes[short_slot(volume, other_file(volume)) + 18..][..2].fill(0);
        }),
        damage(38, ALL, "the label without a date", |bytes, volume| {
            bytes[slot(volume, root(volume), 0) + 24..][..2].fill(0);
        }),
        damage(38, ALL, "later than the epoch given", |bytes, volume| {
            set_written(bytes, volume, 0xBF7D, 0xFF9F);
        }),
        damage(39, ALL, "slack in use", |bytes, volume| {
            let end = volume.geometry.cluster_position(last_cluster(long_file(volume)) + 1);
            bytes[at(volume, end) - 1] = 1;
        }),
        damage(39, ALL, "the first free cluster in use", |bytes, volume| {
            let free = volume.free_clusters().next().expect("a free cluster");
            bytes[at(volume, volume.geometry.cluster_position(free))] = 1;
        }),
        damage(39, ALL, "the last free cluster in use", |bytes, volume| {
            let end = volume.geometry.cluster_position(volume.geometry.last_cluster() + 1);
            bytes[at(volume, end) - 1] = 1;
        }),
        damage(39, FAT12_16, "a high half of the first cluster", |bytes, volume| {
            bytes[short_slot(volume, other_file(volume)) + 20] = 1;
        }),
        damage(39, ALL, "another byte in a file", |bytes, volume| {
            bytes[at(
                volume,
                volume.geometry.cluster_position(long_file(volume).first_cluster + 1),
            )] ^= 1;
        }),
        damage(39, ALL, "another size", |bytes, volume| {
            let file = long_file(volume);
            set_size(bytes, volume, file, file.size - 1);
        }),
        damage(39, ALL, "another name", |bytes, volume| set_short_byte(bytes, volume, 0, b'_')),
        damage(39, ALL, "another time", |bytes, volume| {
            bytes[short_slot(volume, other_file(volume)) + 22] ^= 1;
        }),
        damage(39, ALL, "a file for a directory", |bytes, volume| {
            bytes[short_slot(volume, nested_directory(volume)) + 11] = 0x20;
        }),
    ]
}
