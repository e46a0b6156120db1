//! Changes figures in the bytes of an image.

use super::super::invariants::{Directory, Entry, FatType, Volume};
use super::find::{empty_file, long_name, other_file};

/// Index in the image of a byte of the volume.
pub fn at(volume: &Volume, position: u64) -> usize {
    (volume.offset + position) as usize
}

pub fn set_sector(bytes: &mut [u8], volume: &Volume, sector: u64, place: usize, values: &[u8]) {
    let place = at(volume, sector * volume.geometry.bytes_per_sector) + place;
    bytes[place..place + values.len()].copy_from_slice(values);
}

pub fn set_boot(bytes: &mut [u8], volume: &Volume, place: usize, values: &[u8]) {
    set_sector(bytes, volume, 0, place, values);
}

/// `place` counts from BS_DrvNum, which is elsewhere on FAT32.
pub fn set_extended(bytes: &mut [u8], volume: &Volume, place: usize, values: &[u8]) {
    set_boot(bytes, volume, volume.geometry.extended_at() + place, values);
}

/// Changes the total of sectors so that this many clusters fit, whatever the file or the table
/// holds.
pub fn set_clusters(bytes: &mut [u8], volume: &Volume, clusters: u64) {
    let total = volume.geometry.first_data_sector + clusters * volume.geometry.sectors_per_cluster;
    let in_16_bits = volume.geometry.fat_type != FatType::Fat32 && total < 65536;
    set_boot(bytes, volume, 19, &(if in_16_bits { total as u16 } else { 0 }).to_le_bytes());
    set_boot(bytes, volume, 32, &(if in_16_bits { 0 } else { total as u32 }).to_le_bytes());
}

pub fn set_fat_sectors(bytes: &mut [u8], volume: &Volume, sectors: u64) {
    match volume.geometry.fat_type {
        FatType::Fat32 => set_boot(bytes, volume, 36, &(sectors as u32).to_le_bytes()),
        _ => set_boot(bytes, volume, 22, &(sectors as u16).to_le_bytes()),
    }
}

/// In every copy.
pub fn set_fat(bytes: &mut [u8], volume: &Volume, number: u32, value: u32) {
    for copy in 0..volume.geometry.fats {
        let table = at(volume, volume.geometry.fat_position(copy));
        let number = number as usize;
        match volume.geometry.fat_type {
            FatType::Fat12 => {
                let place = table + number + number / 2;
                let (mask, shift) =
                    if number.is_multiple_of(2) { (0xF000, 0) } else { (0x000F, 4) };
                let pair = u16::from_le_bytes([bytes[place], bytes[place + 1]]) & mask
                    | (value as u16) << shift;
                bytes[place..place + 2].copy_from_slice(&pair.to_le_bytes());
            }
            FatType::Fat16 => {
                bytes[table + number * 2..][..2].copy_from_slice(&(value as u16).to_le_bytes());
            }
            FatType::Fat32 => {
                bytes[table + number * 4..][..4].copy_from_slice(&value.to_le_bytes())
            }
        }
    }
}

pub fn set_first_cluster(bytes: &mut [u8], volume: &Volume, entry: &Entry, cluster: u32) {
    let place = short_slot(volume, entry);
    bytes[place + 20..place + 22].copy_from_slice(&((cluster >> 16) as u16).to_le_bytes());
    bytes[place + 26..place + 28].copy_from_slice(&(cluster as u16).to_le_bytes());
}

pub fn set_size(bytes: &mut [u8], volume: &Volume, entry: &Entry, size: u32) {
    let place = short_slot(volume, entry) + 28;
    bytes[place..place + 4].copy_from_slice(&size.to_le_bytes());
}

pub fn set_short_byte(bytes: &mut [u8], volume: &Volume, place: usize, value: u8) {
    bytes[short_slot(volume, empty_file(volume)) + place] = value;
}

pub fn set_written(bytes: &mut [u8], volume: &Volume, time: u16, date: u16) {
    let place = short_slot(volume, other_file(volume)) + 22;
    bytes[place..place + 2].copy_from_slice(&time.to_le_bytes());
    bytes[place + 2..place + 4].copy_from_slice(&date.to_le_bytes());
}

/// Sets a UTF-16 unit of the long name.
pub fn set_unit(bytes: &mut [u8], volume: &Volume, unit: usize, value: u16) {
    const PLACES: [usize; 13] = [1, 3, 5, 7, 9, 14, 16, 18, 20, 22, 24, 28, 30];
    let place = long_slot(volume, 1 + (unit / 13) as u32) + PLACES[unit % 13];
    bytes[place..place + 2].copy_from_slice(&value.to_le_bytes());
}

pub fn exchange_slots(bytes: &mut [u8], one: usize, other: usize) {
    for byte in 0..32 {
        bytes.swap(one + byte, other + byte);
    }
}

/// Index in the image of a slot.
pub fn slot(volume: &Volume, directory: &Directory, slot: u32) -> usize {
    at(volume, volume.slot_position(directory, slot).expect("a slot of the directory"))
}

pub fn short_slot(volume: &Volume, entry: &Entry) -> usize {
    slot(volume, &volume.directories[entry.directory], entry.slot)
}

/// Part 1, 2, .. of the long name.
pub fn long_slot(volume: &Volume, part: u32) -> usize {
    let entry = long_name(volume);
    slot(volume, &volume.directories[entry.directory], entry.slot - part)
}

pub fn top_slot(volume: &Volume) -> usize {
    long_slot(volume, long_name(volume).slots - 1)
}

pub fn long_units(volume: &Volume) -> usize {
    long_name(volume).long.as_ref().map_or(0, |name| name.encode_utf16().count())
}

pub fn last_cluster(entry: &Entry) -> u32 {
    entry.runs.last().map_or(0, |run| run.first + run.count - 1)
}
