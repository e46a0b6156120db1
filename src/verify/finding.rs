//! What can be wrong with an image, as facts and in words. Finds nothing itself.

use std::fmt;

use thiserror::Error;

use crate::disk::found::NoTable;
use crate::event::ProblemKind;
use crate::fat::mount::BootFault;
use crate::fat::name::NameFault;
use crate::printable;

/// More findings than this are counted, not kept: an image that lies can have any number.
const MOST_KEPT: usize = 200;

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Where: a part of the volume, or a path in it.
    pub place: String,
    /// What.
    pub fault: Fault,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Both can hold what an image that lies says.
        f.write_str(&printable::bytes(format!("{}: {}", self.place, self.fault).as_bytes()))
    }
}

/// Everything that is wrong, as far as it is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Findings {
    kept: Vec<Finding>,
    count: u64,
}

impl Findings {
    /// Adds one. Its place is put into words only now: almost all that is looked at is right.
    pub fn add(&mut self, place: impl fmt::Display, fault: Fault) {
        self.count += 1;
        if self.kept.len() < MOST_KEPT {
            self.kept.push(Finding { place: place.to_string(), fault });
        }
    }

    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// How many there are, kept or not.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The first ones.
    pub fn kept(&self) -> &[Finding] {
        &self.kept
    }
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Fault {
    /// The boot sector describes no volume.
    #[error("boot sector with {0}")]
    Boot(BootFault),
    /// The partition table, or its backup.
    #[error("{0}")]
    Table(NoTable),
    /// A field that every reader, or the strictest, expects otherwise.
    #[error("{field} is {found}")]
    Field {
        /// The field.
        field: &'static str,
        /// What it holds.
        found: String,
    },
    /// The image ends before the volume does.
    #[error("volume of {volume_bytes} bytes in an image of {image_bytes}")]
    Truncated {
        /// Bytes that the boot sector tells of.
        volume_bytes: u64,
        /// Bytes that are there.
        image_bytes: u64,
    },
    /// A backup does not equal what it backs up.
    #[error("sector {backup} does not equal sector {original}, which it backs up")]
    Backup {
        /// The backup.
        backup: u16,
        /// What it should equal.
        original: u16,
    },
    /// Something where nothing should be.
    #[error("bytes other than zero at byte {at_byte}")]
    NotZero {
        /// The first such byte's place in the image.
        at_byte: u64,
    },
    /// FSInfo without its signatures.
    #[error("no FSInfo")]
    FsInfo,
    /// FSInfo counts otherwise than the FAT.
    #[error("FSInfo tells {told} free clusters, the FAT has {counted}")]
    FreeCount {
        /// FSInfo's number.
        told: u32,
        /// Clusters that are free.
        counted: u32,
    },
    /// FSInfo's hint.
    #[error("FSInfo names {} as the first free cluster, the FAT {}",
        number_or_none(*told), number_or_none(*found))]
    NextFree {
        /// FSInfo's cluster.
        told: Option<u32>,
        /// The first that is free.
        found: Option<u32>,
    },
    /// The copies of the FAT.
    #[error("FAT {copy} differs from FAT 1 at its byte {at_byte}")]
    FatsDiffer {
        /// Which copy, counted from 1.
        copy: u8,
        /// The first byte that differs.
        at_byte: u64,
    },
    /// Entry 0 or 1.
    #[error("entry {index} is {found:X}, not {expected:X}")]
    ReservedEntry {
        /// Which.
        index: u8,
        /// What it holds.
        found: u32,
        /// What it should.
        expected: u32,
    },
    /// The four upper bits of a FAT32 entry.
    #[error("entry of cluster {cluster} has reserved bits set")]
    ReservedBits {
        /// The cluster.
        cluster: u32,
    },
    /// A mark that a new volume has no reason for.
    #[error("cluster {cluster} is marked as bad")]
    BadCluster {
        /// The cluster.
        cluster: u32,
    },
    /// A chain that ends otherwise than with all ones.
    #[error("chain ends at cluster {cluster} with {found:X}")]
    EndMark {
        /// The last cluster.
        cluster: u32,
        /// Its entry.
        found: u32,
    },
    /// More runs than are looked at.
    #[error("too many fragments to be looked at")]
    TooFragmented,
    /// A chain that begins in or goes on to no cluster of the volume, or a free one.
    #[error("chain leads to cluster {to}, which is {what}")]
    WildChain {
        /// The cluster.
        to: u32,
        /// What it is.
        what: &'static str,
    },
    /// Two chains, or one chain twice, through one cluster.
    #[error("chain leads to cluster {cluster}, which another chain or this one holds already")]
    SharedCluster {
        /// The cluster.
        cluster: u32,
    },
    /// Clusters in use that no record leads to.
    #[error("{count} clusters in use belong to nothing, the first is {first}")]
    LostClusters {
        /// How many.
        count: u64,
        /// The first.
        first: u32,
    },
    /// A chain of another length than the size says.
    #[error("{size_bytes} bytes in {clusters} clusters")]
    ChainLength {
        /// The size.
        size_bytes: u64,
        /// The chain's length.
        clusters: u64,
    },
    /// An empty file with a chain, or another without one.
    #[error("{size_bytes} bytes and first cluster {first_cluster}")]
    FirstCluster {
        /// The size.
        size_bytes: u32,
        /// The chain's beginning.
        first_cluster: u32,
    },
    /// `.` or `..`.
    #[error("record {name} is missing or wrong")]
    Dot {
        /// Which.
        name: &'static str,
    },
    /// `.` or `..` elsewhere than at the beginning of a directory.
    #[error("a dot record out of its place")]
    StrayDot,
    /// A directory with a size.
    #[error("directory with size {0}")]
    DirectorySize(u32),
    /// A directory with more records than there may be.
    #[error("directory of more than 65536 records")]
    DirectoryTooLarge,
    /// A label where none may be, or a second one.
    #[error("a label out of its place")]
    StrayLabel,
    /// Boot sector and root directory.
    #[error("label {} in the boot sector, {} in the root directory",
        quoted(boot), root.as_ref().map_or("none".to_owned(), quoted))]
    Label {
        /// In the boot sector.
        boot: [u8; 11],
        /// In the root directory.
        root: Option<[u8; 11]>,
    },
    /// Bits that are reserved or do not go together.
    #[error("attributes {0:02X}")]
    Attributes(u8),
    /// Bits that mean nothing, or stand beside a long name.
    #[error("case bits {0:02X}")]
    CaseBits(u8),
    /// Parts that belong to no record.
    #[error("parts of a long name that belong to no record")]
    StrayLongName,
    /// A long name that some reader would not show.
    #[error("long name is not legal: {0}")]
    LongName(NameFault),
    /// A short name that some reader would not show.
    #[error("short name {} is not legal", quoted(.0))]
    ShortName([u8; 11]),
    /// Two records with one short name.
    #[error("short name {0} twice")]
    ShortNameTwice(String),
    /// Two names that are one to some reader.
    #[error("same name as another entry")]
    SameName,
    /// A record that was deleted, in a volume that never was written to.
    #[error("deleted record")]
    Deleted,
    /// A stamp that is no time.
    #[error("stamp {date:04X} {time:04X} is no time")]
    Stamp {
        /// The date.
        date: u16,
        /// The time.
        time: u16,
    },
    /// The volume is not the one that was planned.
    #[error("{what} is {found}, planned was {planned}")]
    NotAsPlanned {
        /// What differs.
        what: &'static str,
        /// As planned.
        planned: String,
        /// As found.
        found: String,
    },
    /// The plan has it, the foreign reader does not find it.
    #[error("not found by the foreign reader")]
    Missing,
    /// The foreign reader finds it, the plan does not have it.
    #[error("found by the foreign reader, but not planned")]
    Unplanned,
    /// The bytes are not those of the source.
    #[error("contents differ from {source_path} at byte {at_byte}")]
    Contents {
        /// The source's file.
        source_path: String,
        /// The first byte that differs.
        at_byte: u64,
    },
    /// The foreign reader fetched the contents elsewhere.
    #[error("contents were fetched from byte {found} of the image, planned was {planned}")]
    Place {
        /// As planned.
        planned: u64,
        /// The first fetch that was not where it should be.
        found: u64,
    },
    /// The foreign reader failed.
    #[error("foreign reader: {0}")]
    ForeignReader(String),
}

/// Eleven bytes as they stand, those that are no ASCII by their numbers.
fn quoted(name: &[u8; 11]) -> String {
    format!("\"{}\"", name.escape_ascii())
}

fn number_or_none(number: Option<u32>) -> String {
    number.map_or("none".to_owned(), |number| number.to_string())
}

impl Fault {
    /// What programs call it. How exactly a volume is broken is no matter to them: it is thrown away.
    pub fn problem_kind(&self) -> ProblemKind {
        match self {
            Self::NotAsPlanned { .. } | Self::Missing | Self::Unplanned | Self::Place { .. } => {
                ProblemKind::ImageNotAsPlanned
            }
            Self::Contents { .. } => ProblemKind::ImageContentsDiffer,
            Self::ForeignReader(_) => ProblemKind::ReaderFailed,
            _ => ProblemKind::ImageBroken,
        }
    }
}
