//! The volume in itself: whatever the image holds, this ends, and tells what is wrong. Knows no
//! plan and no source.

use std::io;
use std::rc::Rc;

use super::bytes::ImageBytes;
use super::chains::{Chains, Stretch};
use super::directory::{self, Here, Listed, Listing};
use super::finding::{Fault, Findings};
use super::{VerifyError, stop_if_asked};
use crate::event::Observer;
use crate::fat::boot::{BACKUP_BOOT_SECTOR, BOOT_SECTOR_BYTES, FSINFO_SECTOR};
use crate::fat::geometry::Geometry;
use crate::fat::kind::FatKind;
use crate::fat::mount::{FoundBootSector, decode_boot_sector, decode_fsinfo};
use crate::fat::record::{FoundEntry, MAX_RECORDS, RECORD_BYTES};

/// What a volume turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    /// The boot sector.
    pub boot: FoundBootSector,
    /// The label's record in the root directory.
    pub label: Option<FoundEntry>,
    /// Files.
    pub files: u64,
    /// Directories, the root not counted.
    pub directories: u64,
    /// Clusters in use.
    pub used_clusters: u32,
}

/// Checks the volume that fills `image`. `None` when it is too broken to be surveyed; then there
/// are findings.
///
/// # Errors
/// When the image cannot be read, or `watch` asks to stop.
pub fn check(
    image: &(impl ImageBytes + ?Sized),
    watch: &dyn Observer,
    findings: &mut Findings,
) -> Result<Option<Survey>, VerifyError> {
    let image_bytes = image.length()?;
    let mut sector = [0; BOOT_SECTOR_BYTES];
    if image_bytes < sector.len() as u64 {
        let volume_bytes = sector.len() as u64;
        findings.add("boot sector", Fault::Truncated { volume_bytes, image_bytes });
        return Ok(None);
    }
    image.read_at(0, &mut sector)?;
    let boot = match decode_boot_sector(&sector) {
        Ok(boot) => boot,
        Err(fault) => {
            findings.add("boot sector", Fault::Boot(fault));
            return Ok(None);
        }
    };
    let volume_bytes = boot.geometry.volume_bytes();
    if volume_bytes > image_bytes {
        findings.add("boot sector", Fault::Truncated { volume_bytes, image_bytes });
        return Ok(None);
    }
    check_fields(&boot, findings);
    check_reserved_area(image, &boot, findings)?;
    let Some(chains) = Chains::read(image, &boot.geometry, boot.media, watch, findings)? else {
        return Ok(None);
    };
    check_fsinfo(image, &boot, &chains, findings)?;
    let used_clusters = boot.geometry.cluster_count() - chains.free_count;
    let geometry = boot.geometry;
    let mut survey = Survey { boot, label: None, files: 0, directories: 0, used_clusters };
    let mut walk = Walk { image, watch, geometry, chains, findings, survey: &mut survey };
    walk.run()?;
    let lost = walk.chains.lost();
    if let Some((count, first)) = lost {
        findings.add("FAT", Fault::LostClusters { count, first });
    }
    let in_boot = survey.boot.label;
    let unlabelled = in_boot == *b"NO NAME    ";
    let in_root = survey.label.map(|record| record.name.bytes());
    if in_root != (!unlabelled).then_some(in_boot) {
        findings.add("label", Fault::Label { boot: in_boot, root: in_root });
    }
    Ok(Some(survey))
}

/// Fields that do not change the layout but that some reader insists on.
fn check_fields(boot: &FoundBootSector, findings: &mut Findings) {
    let kind = boot.geometry.kind();
    let mut expect = |field, holds: bool, found: String| {
        if !holds {
            findings.add("boot sector", Fault::Field { field, found });
        }
    };
    let jumps = matches!(boot.jump, [0xEB, _, 0x90] | [0xE9, _, _]);
    expect("jump", jumps, format!("{:02X?}", boot.jump));
    let media = matches!(boot.media, 0xF0 | 0xF8 | 0xF9 | 0xFB..=0xFF);
    expect("media byte", media, format!("{:02X}", boot.media));
    let track = boot.sectors_per_track;
    expect("sectors per track", (1..=63).contains(&track), track.to_string());
    expect("heads", (1..=255).contains(&boot.heads), boot.heads.to_string());
    expect("flags", boot.dirty_flags == 0, format!("{:02X}", boot.dirty_flags));
    let signature = boot.boot_signature;
    expect("extended signature", signature == 0x29, format!("{signature:02X}"));
    let drive = if boot.media == 0xF8 { 0x80 } else { 0 };
    expect("drive number", boot.drive_number == drive, format!("{:02X}", boot.drive_number));
    let text = String::from_utf8_lossy(&boot.type_string).into_owned();
    expect("type string", boot.type_string == *kind.type_string(), format!("{text:?}"));
    let count = boot.geometry.cluster_count();
    expect("cluster count", boot.geometry.is_safe_for_its_kind(), count.to_string());
    if let Some(fat32) = boot.fat32 {
        expect(
            "mirroring flags",
            fat32.extended_flags == 0,
            format!("{:04X}", fat32.extended_flags),
        );
        expect("version", fat32.version == 0, format!("{:04X}", fat32.version));
        expect("root cluster", fat32.root_cluster == 2, fat32.root_cluster.to_string());
        let fsinfo = fat32.fsinfo_sector;
        expect("FSInfo sector", fsinfo == FSINFO_SECTOR, fsinfo.to_string());
        let backup = fat32.backup_boot_sector;
        expect("backup boot sector", backup == BACKUP_BOOT_SECTOR, backup.to_string());
        let reserved = format!("{:02X?}", fat32.reserved);
        expect("reserved bytes", fat32.reserved == [0; 12], reserved);
    }
}

/// Backups, and zeros where nothing is. Sector 0 behind its 512 bytes is for those to judge who know
/// what boot code was meant.
fn check_reserved_area(
    image: &(impl ImageBytes + ?Sized),
    boot: &FoundBootSector,
    findings: &mut Findings,
) -> io::Result<()> {
    let geometry = &boot.geometry;
    let sector_bytes = u64::from(geometry.sector_bytes());
    let read = |index: u16| {
        let mut sector = vec![0; usize::from(geometry.shape().bytes_per_sector)];
        image.read_at(u64::from(index) * sector_bytes, &mut sector).map(|()| sector)
    };
    let fat32 = geometry.kind() == FatKind::Fat32;
    for index in 1..geometry.shape().reserved_sectors {
        let sector = read(index)?;
        match index {
            FSINFO_SECTOR if fat32 => {}
            2 if fat32 => {
                let (head, end) = sector.split_at(510);
                let signed = end.starts_with(&[0x55, 0xAA]);
                let rest = head.iter().chain(&end[2..]).any(|byte| *byte != 0);
                if !signed || rest {
                    let found = if signed { "not empty" } else { "without 55 AA" };
                    let fault = Fault::Field { field: "sector 2", found: found.to_owned() };
                    findings.add("reserved area", fault);
                }
            }
            6..=8 if fat32 => {
                let original = index - BACKUP_BOOT_SECTOR;
                if sector != read(original)? {
                    findings.add("reserved area", Fault::Backup { backup: index, original });
                }
            }
            _ => {
                if let Some(byte) = sector.iter().position(|byte| *byte != 0) {
                    let at_byte = u64::from(index) * sector_bytes + byte as u64;
                    findings.add("reserved area", Fault::NotZero { at_byte });
                }
            }
        }
    }
    Ok(())
}

fn check_fsinfo(
    image: &(impl ImageBytes + ?Sized),
    boot: &FoundBootSector,
    chains: &Chains,
    findings: &mut Findings,
) -> io::Result<()> {
    if boot.geometry.kind() != FatKind::Fat32 {
        return Ok(());
    }
    let mut sector = [0; BOOT_SECTOR_BYTES];
    image
        .read_at(u64::from(FSINFO_SECTOR) * u64::from(boot.geometry.sector_bytes()), &mut sector)?;
    match decode_fsinfo(&sector) {
        None => findings.add("FSInfo", Fault::FsInfo),
        Some(told) => {
            if told.count != chains.free_count {
                let fault = Fault::FreeCount { told: told.count, counted: chains.free_count };
                findings.add("FSInfo", fault);
            }
            if told.first != chains.first_free {
                let fault = Fault::NextFree { told: told.first, found: chains.first_free };
                findings.add("FSInfo", fault);
            }
        }
    }
    Ok(())
}

/// An image that lies can nest names to any length; what is shown of them is bounded.
const MOST_PATH_BYTES: usize = 4096;

fn path_of(parent: &str, name: &str) -> String {
    if parent.len() > MOST_PATH_BYTES { format!("/.../{name}") } else { format!("{parent}/{name}") }
}

/// A directory that is still to be read. Neighbours share their parent's path: an image that lies can
/// have a directory in every cluster, each of them deep down.
struct Pending {
    parent: Rc<str>,
    name: String,
    first_cluster: u32,
    parent_cluster: u32,
    stretches: Vec<Stretch>,
}

struct Walk<'a, I: ?Sized> {
    image: &'a I,
    watch: &'a dyn Observer,
    geometry: Geometry,
    chains: Chains,
    findings: &'a mut Findings,
    survey: &'a mut Survey,
}

impl<I: ImageBytes + ?Sized> Walk<'_, I> {
    /// Reads every directory once: each owns a chain of its own, or it is not read.
    fn run(&mut self) -> Result<(), VerifyError> {
        let mut pending = Vec::new();
        let root = self.root()?;
        self.survey.label = root.label;
        self.take_entries(root.entries, &"".into(), 0, &mut pending);
        while let Some(next) = pending.pop() {
            stop_if_asked(self.watch)?;
            let bytes = self.directory_bytes(&next.stretches)?;
            let path = Rc::from(path_of(&next.parent, &next.name));
            let here = Here {
                path: &path,
                clusters: Some((next.first_cluster, next.parent_cluster)),
                at_byte: self.geometry.cluster_at_byte(next.first_cluster),
            };
            let listing = directory::read(&bytes, here, self.findings);
            self.check_length(&path, &next.stretches, listing.records);
            self.take_entries(listing.entries, &path, next.first_cluster, &mut pending);
        }
        Ok(())
    }

    fn root(&mut self) -> io::Result<Listing> {
        let Some(fat32) = self.survey.boot.fat32 else {
            let at_byte = self.geometry.root_at_byte();
            // At most 65535 records.
            let mut bytes = vec![0; self.geometry.root_bytes() as usize];
            self.image.read_at(at_byte, &mut bytes)?;
            let here = Here { path: "", clusters: None, at_byte };
            return Ok(directory::read(&bytes, here, self.findings));
        };
        let first_cluster = fat32.root_cluster;
        let mut stretches = Vec::new();
        if let Err(fault) = self.chains.claim(first_cluster, &mut stretches) {
            self.findings.add("/", fault);
            return Ok(Listing::default());
        }
        let at_byte = self.geometry.cluster_at_byte(first_cluster);
        let bytes = self.directory_bytes(&stretches)?;
        let here = Here { path: "", clusters: None, at_byte };
        let listing = directory::read(&bytes, here, self.findings);
        self.check_length("/", &stretches, listing.records);
        Ok(listing)
    }

    /// Counts the entries, takes their chains, and puts directories on the list.
    fn take_entries(
        &mut self,
        entries: Vec<Listed>,
        parent: &Rc<str>,
        parent_cluster: u32,
        pending: &mut Vec<Pending>,
    ) {
        let mut stretches = Vec::new();
        for Listed { name, entry } in entries {
            let path = || path_of(parent, &name);
            let (first_cluster, size_bytes) = (entry.first_cluster, entry.size_bytes);
            let directory = entry.is_directory();
            *(if directory { &mut self.survey.directories } else { &mut self.survey.files }) += 1;
            if (first_cluster == 0) != (size_bytes == 0 && !directory) {
                self.findings.add(path(), Fault::FirstCluster { size_bytes, first_cluster });
            }
            if first_cluster == 0 {
                continue;
            }
            match self.chains.claim(first_cluster, &mut stretches) {
                Err(fault) => self.findings.add(path(), fault),
                Ok(()) if directory => {
                    let stretches = std::mem::take(&mut stretches);
                    let parent = Rc::clone(parent);
                    pending.push(Pending {
                        parent,
                        name,
                        first_cluster,
                        parent_cluster,
                        stretches,
                    });
                }
                Ok(()) => {
                    let clusters = stretches.iter().map(|stretch| stretch.clusters()).sum();
                    let size_bytes = u64::from(size_bytes);
                    if clusters != self.geometry.clusters_for(size_bytes) {
                        self.findings.add(path(), Fault::ChainLength { size_bytes, clusters });
                    }
                }
            }
        }
    }

    /// A directory has no cluster without a record.
    fn check_length(&mut self, path: &str, stretches: &[Stretch], records: u64) {
        let clusters = stretches.iter().map(|stretch| stretch.clusters()).sum();
        let size_bytes = records * RECORD_BYTES as u64;
        if records > MAX_RECORDS {
            self.findings.add(path, Fault::DirectoryTooLarge);
        } else if clusters != self.geometry.clusters_for(size_bytes).max(1) {
            self.findings.add(path, Fault::ChainLength { size_bytes, clusters });
        }
    }

    /// The directory's clusters, as many as one may have.
    fn directory_bytes(&self, stretches: &[Stretch]) -> io::Result<Vec<u8>> {
        let cluster_bytes = u64::from(self.geometry.cluster_bytes());
        // One cluster more shows that there are too many.
        let most = MAX_RECORDS * RECORD_BYTES as u64 + cluster_bytes;
        let mut bytes = Vec::new();
        for stretch in stretches {
            let room = most.saturating_sub(bytes.len() as u64);
            let wanted = (stretch.clusters() * cluster_bytes).min(room);
            let start = bytes.len();
            // At most some MiB.
            bytes.resize(start + wanted as usize, 0);
            self.image
                .read_at(self.geometry.cluster_at_byte(stretch.first), &mut bytes[start..])?;
        }
        Ok(bytes)
    }
}
