//! The disk around the volume: whether its table says what was planned, to whoever reads it. The bytes
//! are held against the plan, and the table is read as that of any disk.

use std::io;

use super::bytes::ImageBytes;
use super::finding::{Fault, Findings};
use super::{VerifyError, first_not_zero};
use crate::disk::found::{self, FoundDisk, FoundPartition, FoundType};
use crate::disk::gpt::{self, HEADER_BYTES};
use crate::disk::{Disk, Scheme, Table};
use crate::event::Observer;

/// Compares table and backup with those of `disk`, and looks that nothing else lies around the
/// partition.
///
/// # Errors
/// When the image cannot be read, or `watch` asks to stop.
pub(super) fn check(
    disk: &Disk,
    image: &dyn ImageBytes,
    watch: &dyn Observer,
    findings: &mut Findings,
) -> Result<(), VerifyError> {
    let read = &mut |at, buffer: &mut [u8]| image.read_at(at, buffer);
    let planned = FoundDisk {
        scheme: disk.scheme(),
        sector_bytes: (disk.scheme() == Scheme::Gpt).then_some(disk.sector_bytes),
        partitions: vec![FoundPartition {
            number: 1,
            first_sector: disk.first_sector,
            sectors: disk.sectors,
            partition_type: match &disk.table {
                Table::Mbr { partition_type, .. } => FoundType::Mbr(*partition_type),
                Table::Gpt { partition_type, .. } => FoundType::Gpt(*partition_type),
            },
        }],
    };
    match found::find(disk.bytes(), read)? {
        Ok(found) if found == planned => {}
        Ok(found) => {
            let (planned, found) = (format!("{planned:?}"), format!("{found:?}"));
            let fault = Fault::NotAsPlanned { what: "content", planned, found };
            findings.add("partition table", fault);
        }
        Err(fault) => findings.add("partition table", Fault::Table(fault)),
    }
    if disk.scheme() == Scheme::Gpt && !backup_is_right(disk, image)? {
        findings.add("backup partition table", Fault::Table(found::NoTable::Damaged));
    }
    compare("partition table", 0, &disk.head(), disk.partition_at_byte(), image, watch, findings)?;
    let end = disk.partition_at_byte() + disk.partition_bytes();
    let tail = disk.tail();
    let tail_at = disk.bytes() - tail.len() as u64;
    compare("behind the partition", end, &[], tail_at, image, watch, findings)?;
    compare("backup partition table", tail_at, &tail, disk.bytes(), image, watch, findings)
}

/// Whether the header in the last sector and its entries are right in themselves.
fn backup_is_right(disk: &Disk, image: &dyn ImageBytes) -> io::Result<bool> {
    let last = disk.total_sectors - 1;
    let mut header = [0; HEADER_BYTES];
    image.read_at(last * u64::from(disk.sector_bytes), &mut header)?;
    let Some(header) = gpt::decode_header(&header, last) else { return Ok(false) };
    let read = &mut |at, buffer: &mut [u8]| image.read_at(at, buffer);
    let entries = found::read_entries(&header, disk.sector_bytes, disk.bytes(), read)?;
    Ok(header.other_sector == 1 && entries.is_some_and(|entries| entries.len() == 1))
}

/// Whether the bytes `at..end` are `planned` and then zero.
fn compare(
    place: &'static str,
    at: u64,
    planned: &[u8],
    end: u64,
    image: &dyn ImageBytes,
    watch: &dyn Observer,
    findings: &mut Findings,
) -> Result<(), VerifyError> {
    let mut found = vec![0; planned.len()];
    image.read_at(at, &mut found)?;
    let differing = planned.iter().zip(&found).position(|(planned, found)| planned != found);
    if let Some(byte) = differing {
        let hex = |value: u8| format!("{value:02X} at byte {}", at + byte as u64);
        let (planned, found) = (hex(planned[byte]), hex(found[byte]));
        findings.add(place, Fault::NotAsPlanned { what: "content", planned, found });
    }
    if let Some(at_byte) = first_not_zero(image, at + planned.len() as u64..end, watch)? {
        findings.add(place, Fault::NotZero { at_byte });
    }
    Ok(())
}
