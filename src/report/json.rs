//! Reports for programs: one JSON document, described field by field in `docs/report.schema.json`.
//! Fields are added from version to version; when one changes its meaning or goes, the schema number
//! grows.

use serde::Serialize;

use super::{Report, WrittenTo, hexadecimal, region_name, volume_id_text};
use crate::disk::{Disk, Table};
use crate::event::ProblemKind;
use crate::plan::profile::Choice;
use crate::plan::{Figures, Problem, Problems, Profile, Remedy};
use crate::printable;
use crate::sink::{Cache, Cloning, Reason, Room, Strategy, Target, Writing};
use crate::source::MetAt;
use crate::verify::{Finding, Findings};

/// The document's version.
pub const SCHEMA: u32 = 1;

/// What every document tells of the run that it is of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Run {
    /// The sources as typed; none where the command line was not understood.
    pub sources: Vec<String>,
    /// With what the command ends.
    pub exit_status: u8,
}

/// A reason why a build failed that was not refused, and whose image was not wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What happened.
    pub kind: ProblemKind,
    /// Who is at fault: as in a refusal, or `system`.
    pub blame: &'static str,
    /// What it happened to, as in the text.
    pub path: Option<String>,
    /// The line of that file, from 1 on.
    pub line: Option<u64>,
    /// The message.
    pub text: String,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    mkfatimg: &'static str,
    status: &'static str,
    exit_status: u8,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    sources: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<&'a str>,
    #[serde(flatten)]
    image: Option<ImageFacts<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    written: Option<WrittenFacts>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<ProblemFacts>,
    /// How many there are, where not all are told.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem_count: Option<u64>,
}

#[derive(Serialize)]
struct ImageFacts<'a> {
    image_bytes: u64,
    volume: VolumeFacts,
    #[serde(skip_serializing_if = "Option::is_none")]
    disk: Option<DiskFacts<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<ProfileFacts<'a>>,
    contents: ContentsFacts,
    regions: Vec<RegionFacts>,
    largest: Vec<FileFacts>,
    notices: Vec<NoticeFacts<'a>>,
}

#[derive(Serialize)]
struct VolumeFacts {
    #[serde(rename = "type")]
    kind: String,
    bytes: u64,
    sector_bytes: u32,
    cluster_bytes: u32,
    clusters: u32,
    used_clusters: u32,
    free_clusters: u32,
    free_bytes: u64,
    total_sectors: u32,
    reserved_sectors: u16,
    fats: u8,
    sectors_per_fat: u32,
    root_entries: u16,
    data_at_byte: u64,
    hidden_sectors: u32,
    media: u8,
    heads: u16,
    sectors_per_track: u16,
    label: Option<String>,
    volume_id: String,
}

/// The disk around the volume, where it is part of the image.
#[derive(Serialize)]
struct DiskFacts<'a> {
    table: &'static str,
    sectors: u64,
    /// The disk's signature, or its GUID.
    id: String,
    partition_at_byte: u64,
    partition_bytes: u64,
    /// A byte in hexadecimal, or a GUID.
    partition_type: String,
    /// Of GPT only.
    #[serde(skip_serializing_if = "Option::is_none")]
    partition_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    partition_label: Option<&'a str>,
    bios_bootable: bool,
}

/// Whom the image is for, and what that decided.
#[derive(Serialize)]
struct ProfileFacts<'a> {
    name: &'static str,
    choices: Vec<ChoiceFacts<'a>>,
}

#[derive(Serialize)]
struct ChoiceFacts<'a> {
    about: &'static str,
    text: &'a str,
}

#[derive(Serialize)]
struct ContentsFacts {
    files: u64,
    directories: u64,
    bytes: u64,
    links: u64,
    linked_bytes: u64,
}

#[derive(Serialize)]
struct RegionFacts {
    name: String,
    at_byte: u64,
    bytes: u64,
}

#[derive(Serialize)]
struct FileFacts {
    path: String,
    bytes: u64,
}

#[derive(Serialize)]
struct NoticeFacts<'a> {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    text: &'a str,
}

#[derive(Serialize)]
struct WrittenFacts {
    bytes: u64,
    hole_bytes: u64,
    /// Shared with the source instead of copied.
    cloned_bytes: u64,
    /// Of free clusters that were left as the device held them.
    left_bytes: u64,
    target: &'static str,
    /// Threads that read and wrote, which may be fewer than were asked for.
    jobs: usize,
    jobs_asked: Option<usize>,
    cloning: &'static str,
    room: &'static str,
    page_cache: &'static str,
    page_cache_reason: Option<&'static str>,
    page_cache_room_bytes: Option<u64>,
    /// Whether the image that was there is the same and was left as it is.
    unchanged: bool,
    seconds: f64,
    /// Digest of the image in hexadecimal, if it was wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
    verified: Option<&'static str>,
    verify_seconds: Option<f64>,
}

#[derive(Serialize)]
struct ProblemFacts {
    kind: &'static str,
    blame: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    /// Where in the image, of a finding.
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<String>,
    #[serde(flatten)]
    figures: FigureFacts,
    /// The flag that lets a build go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    flag: Option<&'static str>,
    text: String,
}

#[derive(Serialize)]
struct FigureFacts {
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    needed_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    records: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit_records: Option<u64>,
}

impl From<Figures> for FigureFacts {
    fn from(figures: Figures) -> Self {
        let Figures { bytes, limit_bytes, needed_bytes, records, limit_records } = figures;
        Self { bytes, limit_bytes, needed_bytes, records, limit_records }
    }
}

/// The document of a build or a plan, with the last line's end.
pub fn success(run: &Run, report: &Report) -> String {
    let written = report.written.as_ref();
    render(&Document {
        status: if written.is_some() { "written" } else { "planned" },
        output: written.map(|written| written.output.as_str()),
        image: Some(image_facts(report)),
        written: written.map(written_facts),
        ..of(run)
    })
}

/// The document of a build that was refused before anything was written.
pub fn refusal(run: &Run, problems: &Problems) -> String {
    let fact = |problem: &Problem| ProblemFacts {
        kind: problem.kind().id(),
        blame: problem.blame().id(),
        path: problem.met_at().map(|met_at| printable::path(met_at.path())),
        line: problem.met_at().and_then(MetAt::line).map(u64::from),
        place: None,
        figures: problem.figures().into(),
        flag: problem.remedy().map(Remedy::flag),
        text: problem.to_string(),
    };
    let problems = problems.0.iter().map(fact).collect();
    render(&Document { status: "refused", problems, ..of(run) })
}

/// The document of an image that was thrown away because it was not what was planned.
pub fn wrong(run: &Run, findings: &Findings) -> String {
    let fact = |finding: &Finding| ProblemFacts {
        kind: finding.fault.problem_kind().id(),
        blame: "image",
        path: None,
        line: None,
        place: Some(printable::bytes(finding.place.as_bytes())),
        figures: Figures::default().into(),
        flag: None,
        text: finding.to_string(),
    };
    let problems = findings.kept().iter().map(fact).collect();
    let problem_count = Some(findings.count());
    render(&Document { status: "wrong", problems, problem_count, ..of(run) })
}

/// The document of a build that failed otherwise.
pub fn failure(run: &Run, failures: Vec<Failure>) -> String {
    let fact = |Failure { kind, blame, path, line, text }| ProblemFacts {
        kind: ProblemKind::id(kind),
        blame,
        path,
        line,
        place: None,
        figures: Figures::default().into(),
        flag: None,
        text,
    };
    let problems = failures.into_iter().map(fact).collect();
    render(&Document { status: "failed", problems, ..of(run) })
}

fn of(run: &Run) -> Document<'_> {
    Document {
        schema: SCHEMA,
        mkfatimg: env!("CARGO_PKG_VERSION"),
        status: "",
        exit_status: run.exit_status,
        sources: &run.sources,
        output: None,
        image: None,
        written: None,
        problems: Vec::new(),
        problem_count: None,
    }
}

fn render(document: &Document<'_>) -> String {
    // Strings and numbers always have a form in JSON.
    let mut text = serde_json::to_string_pretty(document).unwrap_or_default();
    text.push('\n');
    text
}

fn written_facts(written: &WrittenTo) -> WrittenFacts {
    let Writing { outcome, strategy, unchanged, digests, elapsed } = &written.writing;
    let Strategy { jobs, jobs_asked, room, cloning, cache, target } = *strategy;
    let (page_cache, reason) = match cache {
        Cache::Unused => ("unused", None),
        Cache::Stream => ("stream", None),
        Cache::Through(reason) => ("through", Some(reason)),
        Cache::Past(reason) => ("past", Some(reason)),
        Cache::Refused => ("refused", None),
    };
    let (page_cache_reason, page_cache_room_bytes) = match reason {
        None => (None, None),
        Some(Reason::Asked) => (Some("asked"), None),
        Some(Reason::Room { room_bytes }) => (Some("room"), Some(room_bytes)),
        Some(Reason::Device) => (Some("device"), None),
    };
    WrittenFacts {
        bytes: outcome.written_bytes,
        hole_bytes: outcome.hole_bytes,
        cloned_bytes: outcome.cloned_bytes,
        left_bytes: outcome.left_bytes,
        target: match target {
            Target::File => "file",
            Target::Stream => "stream",
            Target::Device => "device",
            Target::Part => "part",
        },
        jobs: jobs.count(),
        jobs_asked: jobs_asked.map(|jobs| jobs.count()),
        cloning: match cloning {
            Cloning::None => "none",
            Cloning::Done => "done",
            Cloning::EveryByteWanted => "digest",
            Cloning::Refused => "refused",
        },
        room: match room {
            Room::None => "none",
            Room::Written => "written",
            Room::Whole => "whole",
        },
        page_cache,
        page_cache_reason,
        page_cache_room_bytes,
        unchanged: *unchanged,
        sha256: digests.image.map(|digest| hexadecimal(&digest)),
        seconds: elapsed.as_secs_f64(),
        verified: written.verified.map(|verified| verified.depth.id()),
        verify_seconds: written.verified.map(|verified| verified.elapsed.as_secs_f64()),
    }
}

fn image_facts(report: &Report) -> ImageFacts<'_> {
    let plan = &report.plan;
    let regions = report.regions().into_iter().map(|extent| RegionFacts {
        name: region_name(extent.region),
        at_byte: extent.at,
        bytes: extent.len,
    });
    let largest = report
        .largest()
        .into_iter()
        .map(|(id, bytes)| FileFacts { path: plan.image_path(id), bytes });
    let notices = plan.notices.iter().map(|notice| NoticeFacts {
        kind: notice.kind.id(),
        path: notice.path(),
        line: notice.line(),
        text: &notice.text,
    });
    let totals = plan.totals();
    ImageFacts {
        image_bytes: plan.image_bytes(),
        volume: volume_facts(report),
        disk: plan.disk().map(disk_facts),
        profile: plan.profile().map(profile_facts),
        contents: ContentsFacts {
            files: totals.files,
            directories: totals.directories,
            bytes: totals.content_bytes,
            links: totals.links,
            linked_bytes: totals.linked_bytes,
        },
        regions: regions.collect(),
        largest: largest.collect(),
        notices: notices.collect(),
    }
}

fn profile_facts<'a>((profile, choices): (Profile, &'a [Choice])) -> ProfileFacts<'a> {
    let fact = |choice: &'a Choice| ChoiceFacts { about: choice.about, text: &choice.text };
    ProfileFacts { name: profile.id(), choices: choices.iter().map(fact).collect() }
}

fn disk_facts(disk: &Disk) -> DiskFacts<'_> {
    let (id, partition_type, partition_id, partition_label) = match &disk.table {
        Table::Mbr { signature, partition_type } => {
            (format!("{signature:08X}"), format!("{partition_type:02X}"), None, None)
        }
        Table::Gpt { disk, partition, partition_type, label } => (
            disk.to_string(),
            partition_type.to_string(),
            Some(partition.to_string()),
            Some(label.as_str()),
        ),
    };
    DiskFacts {
        table: disk.scheme().id(),
        sectors: disk.total_sectors,
        id,
        partition_at_byte: disk.partition_at_byte(),
        partition_bytes: disk.partition_bytes(),
        partition_type,
        partition_id,
        partition_label,
        bios_bootable: disk.bios_bootable,
    }
}

fn volume_facts(report: &Report) -> VolumeFacts {
    let plan = &report.plan;
    let geometry = plan.geometry();
    let shape = geometry.shape();
    let facts = plan.facts();
    VolumeFacts {
        kind: geometry.kind().to_string(),
        bytes: geometry.volume_bytes(),
        sector_bytes: geometry.sector_bytes(),
        cluster_bytes: geometry.cluster_bytes(),
        clusters: geometry.cluster_count(),
        used_clusters: plan.totals().used_clusters,
        free_clusters: plan.free_clusters().count,
        free_bytes: u64::from(plan.free_clusters().count) * u64::from(geometry.cluster_bytes()),
        total_sectors: shape.total_sectors,
        reserved_sectors: shape.reserved_sectors,
        fats: shape.fat_count,
        sectors_per_fat: geometry.sectors_per_fat(),
        root_entries: shape.root_entries,
        data_at_byte: plan.volume_at_byte() + geometry.cluster_at_byte(2),
        hidden_sectors: facts.hidden_sectors,
        media: facts.media,
        heads: facts.heads,
        sectors_per_track: facts.sectors_per_track,
        label: facts.label.map(|label| label.to_string()),
        volume_id: volume_id_text(facts.volume_id),
    }
}
