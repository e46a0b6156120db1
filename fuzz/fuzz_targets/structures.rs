//! Every structure of a volume out of any bytes: what decodes is consistent in itself, and what can be
//! encoded again is the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mkfatimg::fat::boot::BOOT_SECTOR_BYTES;
use mkfatimg::fat::geometry::fat_sectors;
use mkfatimg::fat::kind::FatKind;
use mkfatimg::fat::mount::{decode_boot_sector, decode_fsinfo};
use mkfatimg::fat::record::{self, FoundRecord, RECORD_BYTES};
use mkfatimg::fat::table::{self, Link};
use mkfatimg::fat::{name, short::ShortNamer};

fuzz_target!(|bytes: &[u8]| {
    let mut sector = [0; BOOT_SECTOR_BYTES];
    let count = bytes.len().min(sector.len());
    sector[..count].copy_from_slice(&bytes[..count]);
    boot_sector(&sector);
    // The signature is no riddle worth solving.
    sector[510..].copy_from_slice(&[0x55, 0xAA]);
    boot_sector(&sector);
    sector[508..510].fill(0);
    sector[..4].copy_from_slice(b"RRaA");
    sector[484..488].copy_from_slice(b"rrAa");
    let _ = decode_fsinfo(&sector);
    records(bytes);
    fats(bytes);
    if let Ok(text) = std::str::from_utf8(bytes) {
        names(text);
    }
});

fn boot_sector(sector: &[u8; BOOT_SECTOR_BYTES]) {
    let Ok(found) = decode_boot_sector(sector) else { return };
    let geometry = found.geometry;
    let shape = geometry.shape();
    let count = u64::from(geometry.cluster_count());
    assert!(count > 0);
    assert_eq!(FatKind::of_cluster_count(geometry.cluster_count()), geometry.kind());
    assert_eq!(found.fat32.is_some(), geometry.kind() == FatKind::Fat32);
    assert!(
        fat_sectors(geometry.kind(), count, shape.bytes_per_sector.into())
            <= geometry.sectors_per_fat().into()
    );
    assert_eq!(
        geometry.volume_bytes(),
        u64::from(shape.total_sectors) * u64::from(shape.bytes_per_sector)
    );
    let after_last = geometry.cluster_at_byte(2) + count * u64::from(geometry.cluster_bytes());
    assert!(after_last <= geometry.volume_bytes());
    assert!(geometry.root_at_byte() + geometry.root_bytes() <= geometry.cluster_at_byte(2));
}

fn records(bytes: &[u8]) {
    let mut parts = Vec::new();
    let mut raw_parts: Vec<[u8; RECORD_BYTES]> = Vec::new();
    for raw in bytes.as_chunks::<RECORD_BYTES>().0 {
        match record::decode(raw) {
            FoundRecord::Long(part) => {
                parts.push(part);
                raw_parts.push(*raw);
            }
            FoundRecord::Short(entry) => {
                if let Some(long) = record::join_parts(&parts, entry.name) {
                    assert_eq!(record::encode_long(&long, entry.name), raw_parts, "{long:?}");
                    let _ = name::check(&long);
                }
                parts.clear();
                raw_parts.clear();
                let _ = (entry.name.to_string(), entry.written.is_real(), entry.is_label());
            }
            FoundRecord::End | FoundRecord::Deleted => {}
        }
    }
}

fn fats(bytes: &[u8]) {
    for kind in FatKind::ALL {
        let entries: Vec<u32> = table::decode(kind, bytes).collect();
        let whole = bytes.len() as u64 * 8 / kind.entry_bits();
        assert!(entries.len() as u64 >= whole && entries.len() as u64 <= whole + 1);
        for entry in entries {
            if let Link::Next(to) = Link::of(kind, entry) {
                assert!(to > 0 && to < kind.end_mark() - 8);
            }
        }
    }
}

fn names(text: &str) {
    let mut namer = ShortNamer::default();
    for line in text.lines().filter(|line| name::check(line).is_ok()) {
        let _ = (name::clash_key(line), name::is_device(line), name::long_parts(line));
        if let Some(plain) = name::plain(line) {
            namer.claim(plain.short);
        } else if let Some(short) = namer.make(line) {
            assert!(!namer.claim(short), "{line:?} got a name that was not taken");
            let parts = record::encode_long(line, short);
            let found: Vec<_> = parts
                .iter()
                .filter_map(|raw| match record::decode(raw) {
                    FoundRecord::Long(part) => Some(part),
                    _ => None,
                })
                .collect();
            assert_eq!(record::join_parts(&found, short).as_deref(), Some(line));
        }
    }
}
