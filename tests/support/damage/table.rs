//! Damages to the allocation table and to the chains in it.

use super::change::{at, last_cluster, set_fat, set_first_cluster, set_size, short_slot};
use super::find::{deep_file, empty_file, long_file, nested_directory, other_file};
use super::{ALL, Damage, FAT32, damage};

pub fn damages() -> Vec<Damage> {
    vec![
        damage(23, ALL, "first bytes of the copy differ", |bytes, volume| {
            bytes[at(volume, volume.geometry.fat_position(1))] ^= 1;
        }),
        damage(23, ALL, "last bytes of the copy differ", |bytes, volume| {
            bytes[at(volume, volume.geometry.fat_position(2)) - 1] ^= 1;
        }),
        damage(23, FAT32, "reserved bits of the copy differ", |bytes, volume| {
            bytes[at(volume, volume.geometry.fat_position(1)) + 4 * 2 + 3] ^= 0x80;
        }),
        damage(24, ALL, "FAT[0] not all ones", |bytes, volume| {
            set_fat(bytes, volume, 0, volume.fat[0] ^ 0x100)
        }),
        damage(24, ALL, "marked dirty in FAT[1]", |bytes, volume| {
            let ones = volume.geometry.fat_type.ones();
            set_fat(bytes, volume, 1, ones >> 1);
        }),
        damage(24, ALL, "an error marked in FAT[1]", |bytes, volume| {
            let ones = volume.geometry.fat_type.ones();
            set_fat(bytes, volume, 1, ones ^ (ones >> 1 ^ ones >> 2));
        }),
        damage(24, FAT32, "reserved bits of FAT[1] set", |bytes, volume| {
            set_fat(bytes, volume, 1, u32::MAX)
        }),
        damage(25, ALL, "a bad cluster", |bytes, volume| {
            set_fat(
                bytes,
                volume,
                volume.geometry.last_cluster(),
                volume.geometry.fat_type.ones() - 8,
            );
        }),
        damage(25, ALL, "another end mark", |bytes, volume| {
            let last = last_cluster(long_file(volume));
            set_fat(bytes, volume, last, volume.geometry.fat_type.ones() - 7);
        }),
        damage(25, ALL, "the reserved value 1", |bytes, volume| {
            set_fat(bytes, volume, volume.geometry.last_cluster(), 1);
        }),
        damage(25, ALL, "a cluster beyond the last", |bytes, volume| {
            let last = last_cluster(long_file(volume));
            set_fat(bytes, volume, last, volume.geometry.last_cluster() + 1);
        }),
        damage(25, FAT32, "reserved bits of a free cluster set", |bytes, volume| {
            set_fat(bytes, volume, volume.geometry.last_cluster(), 0xF000_0000);
        }),
        damage(26, ALL, "the entry behind the last", |bytes, volume| {
            set_fat(
                bytes,
                volume,
                volume.geometry.last_cluster() + 1,
                volume.geometry.fat_type.ones(),
            );
        }),
        damage(26, ALL, "the last byte of each copy", |bytes, volume| {
            for copy in 1..=volume.geometry.fats {
                bytes[at(volume, volume.geometry.fat_position(copy)) - 1] = 1;
            }
        }),
    ]
}

pub fn chain_damages() -> Vec<Damage> {
    vec![
        damage(27, ALL, "a lost cluster", |bytes, volume| {
            set_fat(bytes, volume, volume.geometry.last_cluster(), volume.geometry.fat_type.ones());
        }),
        damage(27, ALL, "two chains that meet", |bytes, volume| {
            let last = last_cluster(long_file(volume));
            set_fat(bytes, volume, last, last_cluster(other_file(volume)));
        }),
        damage(27, ALL, "a loop", |bytes, volume| {
            let file = long_file(volume);
            set_fat(bytes, volume, last_cluster(file), file.first_cluster);
        }),
        damage(27, ALL, "a cluster that leads to itself", |bytes, volume| {
            let last = last_cluster(long_file(volume));
            set_fat(bytes, volume, last, last);
        }),
        damage(27, ALL, "a chain into the free clusters", |bytes, volume| {
            let last = last_cluster(long_file(volume));
            set_fat(bytes, volume, last, volume.geometry.last_cluster());
        }),
        damage(27, ALL, "a broken chain", |bytes, volume| {
            set_fat(bytes, volume, long_file(volume).first_cluster + 1, 0);
        }),
        damage(27, ALL, "two entries of one chain", |bytes, volume| {
            set_first_cluster(bytes, volume, other_file(volume), long_file(volume).first_cluster);
        }),
        damage(27, ALL, "a first cluster that is none", |bytes, volume| {
            set_first_cluster(
                bytes,
                volume,
                other_file(volume),
                volume.geometry.last_cluster() + 1,
            );
        }),
        damage(27, ALL, "a directory in itself", |bytes, volume| {
            let directory = nested_directory(volume);
            let parent =
                volume.directories[directory.directory].entry.expect("nested in a directory");
            set_first_cluster(bytes, volume, directory, volume.entries[parent].first_cluster);
        }),
        damage(27, ALL, "a directory that holds its container", |bytes, volume| {
            let (file, directory) = (deep_file(volume), nested_directory(volume));
            let container =
                volume.directories[directory.directory].entry.expect("nested in a directory");
            let place = short_slot(volume, file);
            bytes[place + 11] = 0x10;
            bytes[place + 28..place + 32].fill(0);
            set_first_cluster(bytes, volume, file, volume.entries[container].first_cluster);
        }),
        damage(28, ALL, "a cluster more than the size needs", |bytes, volume| {
            let file = long_file(volume);
            set_size(bytes, volume, file, file.size - volume.geometry.cluster_bytes as u32);
        }),
        damage(28, ALL, "a cluster less than the size needs", |bytes, volume| {
            let file = long_file(volume);
            set_size(bytes, volume, file, file.size + volume.geometry.cluster_bytes as u32);
        }),
        damage(28, ALL, "a size without a cluster", |bytes, volume| {
            set_size(bytes, volume, empty_file(volume), 1);
        }),
        damage(28, ALL, "a cluster without a size", |bytes, volume| {
            set_size(bytes, volume, other_file(volume), 0);
        }),
        damage(29, ALL, "a directory with a cluster too many", |bytes, volume| {
            // The free clusters are at the end, and the last one of all is as good as any.
            let free = volume.geometry.last_cluster();
            set_fat(bytes, volume, last_cluster(nested_directory(volume)), free);
            set_fat(bytes, volume, free, volume.geometry.fat_type.ones());
        }),
        damage(29, ALL, "a directory without a cluster", |bytes, volume| {
            set_first_cluster(bytes, volume, nested_directory(volume), 0);
        }),
        damage(30, ALL, "a file in pieces", |bytes, volume| {
            let first = long_file(volume).first_cluster;
            set_fat(bytes, volume, first, first + 2);
            let behind = volume.next(first + 2);
            set_fat(bytes, volume, first + 2, first + 1);
            set_fat(bytes, volume, first + 1, behind);
        }),
        damage(30, ALL, "two files exchanged", |bytes, volume| {
            let (one, other) = (long_file(volume), other_file(volume));
            set_first_cluster(bytes, volume, one, other.first_cluster);
            set_first_cluster(bytes, volume, other, one.first_cluster);
        }),
        damage(30, ALL, "a gap before the last file", |bytes, volume| {
            let files = volume.entries.iter().filter(|entry| !entry.is_directory());
            let file = files.max_by_key(|file| file.first_cluster).expect("a file");
            set_fat(bytes, volume, last_cluster(file) + 1, volume.geometry.fat_type.ones());
            set_fat(bytes, volume, last_cluster(file), last_cluster(file) + 1);
            set_fat(bytes, volume, file.first_cluster, 0);
            set_first_cluster(bytes, volume, file, file.first_cluster + 1);
        }),
        damage(30, ALL, "free clusters between files", |bytes, volume| {
            let file = long_file(volume);
            for cluster in file.first_cluster..=last_cluster(file) {
                set_fat(bytes, volume, cluster, 0);
            }
            set_first_cluster(bytes, volume, file, 0);
            set_size(bytes, volume, file, 0);
        }),
        damage(30, ALL, "a file before a directory", |bytes, volume| {
            let (file, directory) = (other_file(volume), nested_directory(volume));
            set_first_cluster(bytes, volume, file, directory.first_cluster);
            set_first_cluster(bytes, volume, directory, file.first_cluster);
        }),
    ]
}
