//! Is the image what was planned? Reads bytes only; knows nothing of how they were written, and
//! uses none of the code that did.
//!
//! | Room | Purpose |
//! |---|---|
//! | [`structure`] | the volume in itself: chains, records, copies, counts |
//! | `chains` | a FAT as runs of clusters, each with one owner |
//! | `directory` | the records of one directory |
//! | [`readback`] | the volume through a foreign reader, against the plan and the source |
//! | `disk` | partition table and backup, against the plan |
//! | [`part`] | a part of an image as an image of its own |
//! | `window` | a read-only device that notes what is fetched |
//! | [`finding`] | what can be wrong |
//! | [`bytes`] | where an image's bytes come from |

pub mod bytes;
mod chains;
mod directory;
mod disk;
pub mod finding;
pub mod part;
pub mod readback;
pub mod structure;
mod window;

use std::io;
use std::ops::Range;

use thiserror::Error;

pub use finding::{Fault, Finding, Findings};

use crate::event::{Observer, ProblemKind, Stage};
use crate::fat::boot::encode_reserved_area;
use crate::fat::geometry::Geometry;
use crate::fat::time::DosTime;
use crate::plan::Plan;
use crate::printable;
use crate::source::content::ContentError;
use bytes::ImageBytes;
use part::Part;
use structure::Survey;

/// How closely an image is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// The volume in itself, and its figures against the plan.
    Structure,
    /// Every name, time and byte too, through a foreign reader, against plan and source.
    Contents,
}

impl Depth {
    /// A name for programs.
    pub fn id(self) -> &'static str {
        match self {
            Self::Structure => "structure",
            Self::Contents => "contents",
        }
    }
}

/// What is known of clusters that nothing owns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FreeSpace {
    /// They are zero, which is looked at.
    Zero,
    /// They may hold anything, and are not read.
    Unread,
}

/// An image that is not what was planned, or cannot be looked at.
#[derive(Debug, Error)]
pub enum VerifyError {
    /// The foreign reader would not cope.
    #[error(
        "the independent reader takes no FAT of 512 MiB and more; leave out --verify, or use larger clusters"
    )]
    TooLarge,
    /// The image cannot be read.
    #[error("the image cannot be read back: {}", printable::error(.0))]
    Read(#[from] io::Error),
    /// A file of the source is not what was stored.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// The watcher asked to stop.
    #[error("stopped; no image was written")]
    Stopped,
    /// At least one thing is wrong.
    #[error("the image is not what was planned")]
    Differs(Findings),
}

impl VerifyError {
    /// What programs call it; of findings each has its own.
    pub fn problem_kind(&self) -> ProblemKind {
        match self {
            Self::TooLarge => ProblemKind::VerifyImpossible,
            Self::Read(_) => ProblemKind::ImageUnreadable,
            Self::Content(error) => error.kind.problem_kind(),
            Self::Stopped => ProblemKind::Stopped,
            Self::Differs(_) => ProblemKind::ImageNotAsPlanned,
        }
    }

    /// The file of the source at fault, if one is, as in the message.
    pub fn path(&self) -> Option<String> {
        match self {
            Self::Content(error) => Some(printable::path(&error.path)),
            _ => None,
        }
    }
}

/// Looks at the image of `plan` that fills `image`.
///
/// # Errors
/// When anything is wrong.
pub fn run(
    plan: &Plan,
    image: &dyn ImageBytes,
    depth: Depth,
    free: FreeSpace,
    watch: &dyn Observer,
) -> Result<(), VerifyError> {
    let mut findings = Findings::default();
    let length = image.length()?;
    if length != plan.image_bytes() {
        let (planned, found) = (plan.image_bytes().to_string(), length.to_string());
        findings.add("image", Fault::NotAsPlanned { what: "length", planned, found });
    }
    if let Some(disk) = plan.disk().filter(|_| findings.is_empty()) {
        disk::check(disk, image, watch, &mut findings)?;
    }
    let volume = &Part::new(image, plan.volume_at_byte(), plan.geometry().volume_bytes())?;
    if let Some(survey) = structure::check(volume, watch, &mut findings)? {
        compare_figures(plan, &survey, &mut findings);
        compare_reserved_area(plan, volume, &mut findings)?;
        if free == FreeSpace::Zero {
            check_free_area(plan, volume, watch, &mut findings)?;
        }
        // The foreign reader is not asked about volumes that could lead it astray.
        if depth == Depth::Contents && findings.is_empty() {
            watch.stage(Stage::Verify { total_bytes: plan.totals().content_bytes });
            readback::compare(plan, volume, watch, &mut findings)?;
        }
    }
    if findings.is_empty() { Ok(()) } else { Err(VerifyError::Differs(findings)) }
}

/// The volume's own figures against those of the plan.
fn compare_figures(plan: &Plan, survey: &Survey, findings: &mut Findings) {
    let boot = &survey.boot;
    let facts = plan.facts();
    let totals = plan.totals();
    let mut differs = |what, planned: String, found: String| {
        if planned != found {
            findings.add("volume", Fault::NotAsPlanned { what, planned, found });
        }
    };
    let layout = |geometry: &Geometry| {
        let shape = geometry.shape();
        format!(
            "{} of {} sectors of {} bytes: {} reserved, {} FATs of {}, {} root entries, {} clusters of {} sectors",
            shape.kind,
            shape.total_sectors,
            shape.bytes_per_sector,
            shape.reserved_sectors,
            shape.fat_count,
            geometry.sectors_per_fat(),
            shape.root_entries,
            geometry.cluster_count(),
            shape.sectors_per_cluster,
        )
    };
    differs("layout", layout(plan.geometry()), layout(&boot.geometry));
    differs("volume id", format!("{:08X}", facts.volume_id), format!("{:08X}", boot.volume_id));
    differs("media byte", format!("{:02X}", facts.media), format!("{:02X}", boot.media));
    differs("hidden sectors", facts.hidden_sectors.to_string(), boot.hidden_sectors.to_string());
    differs("number of files", totals.files.to_string(), survey.files.to_string());
    let directories = survey.directories.to_string();
    differs("number of directories", totals.directories.to_string(), directories);
    differs("clusters in use", totals.used_clusters.to_string(), survey.used_clusters.to_string());
    let label = |name: [u8; 11], written: DosTime, created: DosTime, accessed_date: u16| {
        let name = String::from_utf8_lossy(&name).into_owned();
        format!("{name:?} of {written:?}, {created:?}, {accessed_date}")
    };
    let stamp = plan.label_stamp();
    let planned = facts.label.map(|planned| label(planned.bytes(), stamp, stamp, stamp.date));
    let found = survey
        .label
        .map(|found| label(found.name.bytes(), found.written, found.created, found.accessed_date));
    let or_none = |label: Option<String>| label.unwrap_or_else(|| "none".to_owned());
    differs("label", or_none(planned), or_none(found));
}

/// The reserved area byte for byte: names, code, jump, and what lies in no field.
fn compare_reserved_area(
    plan: &Plan,
    volume: &dyn ImageBytes,
    findings: &mut Findings,
) -> io::Result<()> {
    let mut planned = encode_reserved_area(plan.geometry(), plan.facts(), plan.free_clusters());
    // At most 65535 sectors of 4096 bytes.
    planned.resize(plan.geometry().reserved_bytes() as usize, 0);
    let mut found = vec![0; planned.len()];
    volume.read_at(0, &mut found)?;
    let differing = planned.iter().zip(&found).position(|(planned, found)| planned != found);
    if let Some(at) = differing {
        let hex = |byte: u8| format!("{byte:02X} at byte {at}");
        let (planned, found) = (hex(planned[at]), hex(found[at]));
        findings.add("reserved area", Fault::NotAsPlanned { what: "content", planned, found });
    }
    Ok(())
}

/// Nothing but zeros behind the last cluster in use.
fn check_free_area(
    plan: &Plan,
    volume: &dyn ImageBytes,
    watch: &dyn Observer,
    findings: &mut Findings,
) -> Result<(), VerifyError> {
    let geometry = plan.geometry();
    let free_at = geometry.cluster_at_byte(2 + plan.totals().used_clusters);
    if let Some(at_byte) = first_not_zero(volume, free_at..geometry.volume_bytes(), watch)? {
        findings.add("free clusters", Fault::NotZero { at_byte });
    }
    Ok(())
}

/// The first byte of `range` that is not zero.
fn first_not_zero(
    image: &dyn ImageBytes,
    range: Range<u64>,
    watch: &dyn Observer,
) -> Result<Option<u64>, VerifyError> {
    bytes::first_not_zero(image, range, || stop_if_asked(watch))
}

fn stop_if_asked(watch: &dyn Observer) -> Result<(), VerifyError> {
    if watch.must_stop() { Err(VerifyError::Stopped) } else { Ok(()) }
}
