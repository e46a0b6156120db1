//! Damages to FSInfo, the backup and the sectors that nothing is for.

use super::change::{at, set_sector};
use super::{ALL, Damage, FAT32, damage};

pub fn damages() -> Vec<Damage> {
    vec![
        damage(20, FAT32, "no first signature", |bytes, volume| {
            set_sector(bytes, volume, 1, 0, &[0])
        }),
        damage(20, FAT32, "no second signature", |bytes, volume| {
            set_sector(bytes, volume, 1, 484, &[0])
        }),
        damage(20, FAT32, "no third signature", |bytes, volume| {
            set_sector(bytes, volume, 1, 510, &[0])
        }),
        damage(20, FAT32, "reserved bytes in use", |bytes, volume| {
            set_sector(bytes, volume, 1, 4, &[1])
        }),
        damage(20, FAT32, "last reserved byte in use", |bytes, volume| {
            set_sector(bytes, volume, 1, 507, &[1])
        }),
        damage(20, FAT32, "free clusters unknown", |bytes, volume| {
            set_sector(bytes, volume, 1, 488, &[0xFF; 4])
        }),
        damage(20, FAT32, "a free cluster more", |bytes, volume| {
            let place = at(volume, volume.geometry.bytes_per_sector) + 488;
            bytes[place] ^= 1;
        }),
        damage(20, FAT32, "next free cluster 2", |bytes, volume| {
            set_sector(bytes, volume, 1, 492, &2_u32.to_le_bytes());
        }),
        damage(21, FAT32, "another backup boot sector", |bytes, volume| {
            set_sector(bytes, volume, 6, 3, b"x")
        }),
        damage(21, FAT32, "another backup FSInfo", |bytes, volume| {
            set_sector(bytes, volume, 7, 488, &[0xFF; 4])
        }),
        damage(21, FAT32, "no 55 AA in sector 8", |bytes, volume| {
            set_sector(bytes, volume, 8, 510, &[0, 0])
        }),
        damage(21, FAT32, "no 55 AA in sectors 2 and 8", |bytes, volume| {
            set_sector(bytes, volume, 2, 510, &[0, 0]);
            set_sector(bytes, volume, 8, 510, &[0, 0]);
        }),
        damage(22, FAT32, "sector 3 in use", |bytes, volume| set_sector(bytes, volume, 3, 0, &[1])),
        damage(22, FAT32, "sector 9 in use", |bytes, volume| set_sector(bytes, volume, 9, 0, &[1])),
        damage(22, ALL, "bytes that nothing is for", |bytes, volume| {
            // In a boot sector of more than 512 bytes behind those, else in another sector.
            let spare_sector = volume.geometry.reserved_sectors - 1;
            match volume.geometry.bytes_per_sector {
                512 => set_sector(bytes, volume, spare_sector, 0, &[1]),
                _ => set_sector(bytes, volume, 0, 512, &[1]),
            }
        }),
        damage(22, ALL, "last byte of the reserved sectors in use", |bytes, volume| {
            let end = at(volume, volume.geometry.fat_position(0));
            bytes[end - 1] = 1;
        }),
    ]
}
