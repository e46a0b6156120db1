//! Damages to the boot sector.

use super::change::{at, set_boot, set_clusters, set_extended, set_fat, set_fat_sectors};
use super::{ALL, Damage, FAT12, FAT12_16, FAT16, FAT32, damage};

pub fn damages() -> Vec<Damage> {
    vec![
        damage(1, ALL, "the file ends a sector early", |bytes, volume| {
            bytes.truncate(bytes.len() - volume.geometry.bytes_per_sector as usize);
        }),
        damage(1, ALL, "the file ends in the FAT", |bytes, volume| {
            bytes.truncate(at(volume, volume.geometry.fat_position(0)) + 1);
        }),
        damage(2, ALL, "no 55 AA", |bytes, volume| set_boot(bytes, volume, 510, &[0, 0])),
        damage(3, ALL, "no jump", |bytes, volume| set_boot(bytes, volume, 0, &[0, 0, 0])),
        damage(3, ALL, "a jump to elsewhere", |bytes, volume| set_boot(bytes, volume, 1, &[0x76])),
        damage(4, ALL, "768 bytes per sector", |bytes, volume| {
            set_boot(bytes, volume, 11, &[0, 3])
        }),
        damage(4, ALL, "8192 bytes per sector", |bytes, volume| {
            set_boot(bytes, volume, 11, &[0, 32])
        }),
        damage(5, ALL, "no sectors per cluster", |bytes, volume| set_boot(bytes, volume, 13, &[0])),
        damage(5, ALL, "3 sectors per cluster", |bytes, volume| set_boot(bytes, volume, 13, &[3])),
        damage(5, ALL, "clusters of 64 KiB or more", |bytes, volume| {
            set_boot(bytes, volume, 13, &[128])
        }),
        damage(6, ALL, "no reserved sectors", |bytes, volume| set_boot(bytes, volume, 14, &[0, 0])),
        damage(6, FAT32, "8 reserved sectors", |bytes, volume| {
            set_boot(bytes, volume, 14, &[8, 0])
        }),
        damage(7, ALL, "no FAT", |bytes, volume| set_boot(bytes, volume, 16, &[0])),
        damage(7, ALL, "3 FATs", |bytes, volume| set_boot(bytes, volume, 16, &[3])),
        damage(7, ALL, "another number of FATs than asked for", |bytes, volume| {
            set_boot(bytes, volume, 16, &[3 - volume.boot.fats]);
        }),
        damage(8, FAT12_16, "root entries that fill no sector", |bytes, volume| {
            set_boot(bytes, volume, 17, &(volume.boot.root_entries + 1).to_le_bytes());
        }),
        damage(8, FAT12_16, "no root entries", |bytes, volume| {
            set_boot(bytes, volume, 17, &[0, 0])
        }),
        damage(8, FAT32, "root entries on FAT32", |bytes, volume| {
            set_boot(bytes, volume, 17, &[128, 0])
        }),
        damage(9, ALL, "both counts of sectors", |bytes, volume| {
            let total = volume.geometry.total_sectors as u32;
            set_boot(bytes, volume, 19, &(total as u16).to_le_bytes());
            set_boot(bytes, volume, 32, &total.to_le_bytes());
        }),
        damage(9, ALL, "no count of sectors", |bytes, volume| {
            set_boot(bytes, volume, 19, &[0; 2]);
            set_boot(bytes, volume, 32, &[0; 4]);
        }),
        damage(9, FAT12_16, "the 32-bit count of few sectors", |bytes, volume| {
            set_boot(bytes, volume, 19, &[0; 2]);
            set_boot(bytes, volume, 32, &(volume.geometry.total_sectors as u32).to_le_bytes());
        }),
        damage(10, ALL, "media FA", |bytes, volume| {
            set_boot(bytes, volume, 21, &[0xFA]);
            set_fat(bytes, volume, 0, volume.fat[0] & !0xFF | 0xFA);
        }),
        damage(10, ALL, "other media than in the FAT", |bytes, volume| {
            set_boot(bytes, volume, 21, &[if volume.boot.media == 0xF9 { 0xF8 } else { 0xF9 }]);
        }),
        damage(11, FAT12_16, "no 16-bit length of the FAT", |bytes, volume| {
            set_boot(bytes, volume, 22, &[0, 0]);
        }),
        damage(11, FAT32, "both lengths of the FAT", |bytes, volume| {
            set_boot(bytes, volume, 22, &(volume.boot.fat_sectors_32 as u16).to_le_bytes());
        }),
        damage(11, FAT32, "no length of the FAT", |bytes, volume| {
            set_boot(bytes, volume, 36, &[0; 4])
        }),
        damage(12, ALL, "another type in words", |bytes, volume| {
            set_boot(bytes, volume, volume.geometry.extended_at() + 18, b"FAT     ");
        }),
        damage(12, FAT12, "4070 clusters", |bytes, volume| set_clusters(bytes, volume, 4070)),
        damage(12, FAT16, "4100 clusters", |bytes, volume| set_clusters(bytes, volume, 4100)),
        damage(12, FAT16, "the clusters of FAT12", |bytes, volume| {
            set_clusters(bytes, volume, 4000)
        }),
        damage(12, FAT16, "the clusters of FAT32", |bytes, volume| {
            set_clusters(bytes, volume, 70000)
        }),
        damage(12, FAT32, "65540 clusters", |bytes, volume| set_clusters(bytes, volume, 65540)),
        damage(12, FAT32, "the clusters of FAT16", |bytes, volume| {
            set_clusters(bytes, volume, 60000)
        }),
        damage(13, ALL, "the FAT a sector too short", |bytes, volume| {
            set_fat_sectors(bytes, volume, volume.geometry.fat_sectors - 1);
        }),
        damage(13, ALL, "the FAT a sector too long", |bytes, volume| {
            set_fat_sectors(bytes, volume, volume.geometry.fat_sectors + 1);
        }),
        damage(14, ALL, "no sectors per track", |bytes, volume| {
            set_boot(bytes, volume, 24, &[0, 0])
        }),
        damage(14, ALL, "64 sectors per track", |bytes, volume| {
            set_boot(bytes, volume, 24, &[64, 0])
        }),
        damage(14, ALL, "no heads", |bytes, volume| set_boot(bytes, volume, 26, &[0, 0])),
        damage(14, ALL, "256 heads", |bytes, volume| set_boot(bytes, volume, 26, &[0, 1])),
        damage(15, ALL, "other hidden sectors", |bytes, volume| {
            set_boot(bytes, volume, 28, &volume.boot.hidden_sectors.wrapping_add(1).to_le_bytes());
        }),
        damage(16, ALL, "BS_BootSig 28", |bytes, volume| set_extended(bytes, volume, 2, &[0x28])),
        damage(16, ALL, "marked dirty", |bytes, volume| set_extended(bytes, volume, 1, &[1])),
        damage(16, ALL, "the other drive", |bytes, volume| {
            let drive = volume.boot.bytes[volume.geometry.extended_at()];
            set_extended(bytes, volume, 0, &[drive ^ 0x80]);
        }),
        damage(17, ALL, "another volume id", |bytes, volume| {
            let first = volume.boot.bytes[volume.geometry.extended_at() + 3];
            set_extended(bytes, volume, 3, &[first ^ 1]);
        }),
        damage(18, ALL, "NO NAME in the boot sector alone", |bytes, volume| {
            set_extended(bytes, volume, 7, b"NO NAME    ");
        }),
        damage(19, FAT32, "one active FAT", |bytes, volume| set_boot(bytes, volume, 40, &[0x80])),
        damage(19, FAT32, "version 1", |bytes, volume| set_boot(bytes, volume, 42, &[1])),
        damage(19, FAT32, "root at cluster 3", |bytes, volume| set_boot(bytes, volume, 44, &[3])),
        damage(19, FAT32, "root at cluster 0", |bytes, volume| set_boot(bytes, volume, 44, &[0])),
        damage(19, FAT32, "no FSInfo", |bytes, volume| set_boot(bytes, volume, 48, &[0])),
        damage(19, FAT32, "FSInfo in sector 2", |bytes, volume| set_boot(bytes, volume, 48, &[2])),
        damage(19, FAT32, "no backup", |bytes, volume| set_boot(bytes, volume, 50, &[0])),
        damage(19, FAT32, "reserved bytes in use", |bytes, volume| {
            set_boot(bytes, volume, 63, &[1])
        }),
        damage(40, ALL, "the data a sector later", |bytes, volume| {
            set_boot(bytes, volume, 14, &(volume.boot.reserved_sectors + 1).to_le_bytes());
        }),
        damage(40, ALL, "looks like an MBR", |bytes, volume| set_boot(bytes, volume, 446, &[0x80])),
    ]
}
