//! Partition tables out of any bytes: whatever they say, looking for them ends, and what is found can
//! be told.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mkfatimg::disk::found::find;
use mkfatimg::disk::gpt::HEADER_BYTES;
use mkfatimg::verify::bytes::ImageBytes;
use mkfatimg_fuzz::Patched;

/// Four bytes of the entries' length, at most some sectors of entries, follow the header here.
const HEAD_BYTES: usize = 512;

fuzz_target!(|bytes: &[u8]| {
    look(bytes, bytes.len() as u64);
    look(bytes, 1 << 33);
    let mut right = bytes.to_vec();
    if right.len() > 2 * HEAD_BYTES {
        put_right(&mut right);
        look(&right, right.len() as u64);
        look(&right, 1 << 33);
    }
});

fn look(bytes: &[u8], len: u64) {
    let disk = Patched { head: bytes, len, patches: Vec::new() };
    let mut largest = 0;
    let found = find(len, &mut |at, buffer| {
        largest = largest.max(buffer.len());
        disk.read_at(at, buffer)
    });
    // 1024 entries of 4 KiB.
    assert!(largest <= 4 << 20, "{largest} bytes at once");
    if let Ok(found) = found.expect("nothing was read beyond the end") {
        assert!(!format!("{found:?}").is_empty());
        for partition in found.partitions {
            let _ = partition.partition_type.may_hold_fat();
        }
    }
}

/// Signature, guard, and digests: of the header in sector 1, and of the entries where it says they are.
fn put_right(bytes: &mut [u8]) {
    bytes[510..512].copy_from_slice(&[0x55, 0xAA]);
    for entry in 0..4 {
        bytes[446 + 16 * entry] &= 0x80;
    }
    let (_, header) = bytes.split_at_mut(HEAD_BYTES);
    if header[0] & 1 == 0 {
        return;
    }
    header[..8].copy_from_slice(b"EFI PART");
    header[12..16].copy_from_slice(&(HEADER_BYTES as u32).to_le_bytes());
    header[24..32].copy_from_slice(&1_u64.to_le_bytes());
    let field = |at: usize| {
        u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    };
    let start = u64::from(field(72)) * 512;
    let len = u64::from(field(80)).saturating_mul(field(84).into());
    bytes[446 + 4] = 0xEE;
    if len > 4 << 20 {
        return;
    }
    let mut entries = vec![0; len as usize];
    let disk = Patched { head: bytes, len: 1 << 48, patches: Vec::new() };
    disk.read_at(start, &mut entries).expect("within the disk");
    let crc = crc32fast::hash(&entries);
    let header = &mut bytes[HEAD_BYTES..HEAD_BYTES + HEADER_BYTES];
    header[88..92].copy_from_slice(&crc.to_le_bytes());
    header[16..20].fill(0);
    let crc = crc32fast::hash(header);
    header[16..20].copy_from_slice(&crc.to_le_bytes());
}
