//! Reports for programs: one JSON document. Fields are added from version to version; when one
//! changes its meaning or goes, the schema number grows.

use serde::Serialize;

use super::{Report, hexadecimal, region_name, volume_id_text};
use crate::event::Notice;
use crate::plan::{Problems, Remedy};
use crate::sink::{Cache, Room};
use crate::verify::Findings;

/// The document's version.
pub const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    mkfatimg: &'static str,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<&'a str>,
    #[serde(flatten)]
    image: Option<ImageFacts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    written: Option<WrittenFacts>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<ProblemFacts>,
    /// How many there are, where not all are told.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem_count: Option<u64>,
}

#[derive(Serialize)]
struct ImageFacts {
    volume: VolumeFacts,
    contents: ContentsFacts,
    regions: Vec<RegionFacts>,
    largest: Vec<FileFacts>,
    notices: Vec<NoticeFacts>,
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
struct NoticeFacts {
    kind: &'static str,
    text: String,
}

#[derive(Serialize)]
struct WrittenFacts {
    bytes: u64,
    hole_bytes: u64,
    /// Shared with the source instead of copied.
    cloned_bytes: u64,
    /// Threads that read and wrote, which may be fewer than were asked for.
    jobs: usize,
    /// Whether room on the disk was reserved before the first byte, by --preallocate or unasked.
    room_reserved: bool,
    /// Whether all writes went past the page cache.
    past_page_cache: bool,
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
    blame: &'static str,
    /// The flag that lets a build go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    flag: Option<&'static str>,
    text: String,
}

/// The document of a build or a plan, with the last line's end.
pub fn success(report: &Report) -> String {
    let written = report.written.as_ref();
    render(&Document {
        status: if written.is_some() { "written" } else { "planned" },
        output: written.map(|written| written.output.as_str()),
        image: Some(image_facts(report)),
        written: written.map(|written| WrittenFacts {
            bytes: written.writing.outcome.written_bytes,
            hole_bytes: written.writing.outcome.hole_bytes,
            cloned_bytes: written.writing.outcome.cloned_bytes,
            jobs: written.writing.strategy.jobs.count(),
            room_reserved: written.writing.strategy.room != Room::None,
            past_page_cache: matches!(written.writing.strategy.cache, Cache::Past(_)),
            unchanged: written.writing.unchanged,
            sha256: written.writing.digests.image.map(|digest| hexadecimal(&digest)),
            seconds: written.writing.elapsed.as_secs_f64(),
            verified: written.verified.map(|verified| verified.depth.id()),
            verify_seconds: written.verified.map(|verified| verified.elapsed.as_secs_f64()),
        }),
        ..empty()
    })
}

/// The document of a build that was refused before anything was written.
pub fn refusal(problems: &Problems) -> String {
    let fact = |problem: &crate::plan::Problem| ProblemFacts {
        blame: problem.blame().id(),
        flag: problem.remedy().map(Remedy::flag),
        text: problem.to_string(),
    };
    render(&Document {
        status: "refused",
        problems: problems.0.iter().map(fact).collect(),
        ..empty()
    })
}

/// The document of an image that was thrown away because it was not what was planned.
pub fn wrong(findings: &Findings) -> String {
    let problems = findings
        .kept()
        .iter()
        .map(|finding| ProblemFacts { blame: "image", flag: None, text: finding.to_string() })
        .collect();
    let problem_count = Some(findings.count());
    render(&Document { status: "wrong", problems, problem_count, ..empty() })
}

/// The document of a build that failed otherwise; `blame` as in a refusal, or `system`.
pub fn failure(blame: &'static str, text: &str) -> String {
    let problem = ProblemFacts { blame, flag: None, text: text.to_owned() };
    render(&Document { status: "failed", problems: vec![problem], ..empty() })
}

fn empty() -> Document<'static> {
    Document {
        schema: SCHEMA,
        mkfatimg: env!("CARGO_PKG_VERSION"),
        status: "",
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

fn image_facts(report: &Report) -> ImageFacts {
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
    let notice =
        |notice: &Notice| NoticeFacts { kind: notice.kind.id(), text: notice.text.clone() };
    let totals = plan.totals();
    ImageFacts {
        volume: volume_facts(report),
        contents: ContentsFacts {
            files: totals.files,
            directories: totals.directories,
            bytes: totals.content_bytes,
            links: totals.links,
            linked_bytes: totals.linked_bytes,
        },
        regions: regions.collect(),
        largest: largest.collect(),
        notices: plan.notices.iter().map(notice).collect(),
    }
}

fn volume_facts(report: &Report) -> VolumeFacts {
    let plan = &report.plan;
    let geometry = plan.geometry();
    let shape = geometry.shape();
    let facts = plan.facts();
    VolumeFacts {
        kind: geometry.kind().to_string(),
        bytes: plan.image_bytes(),
        sector_bytes: geometry.sector_bytes(),
        cluster_bytes: geometry.cluster_bytes(),
        clusters: geometry.cluster_count(),
        used_clusters: plan.totals().used_clusters,
        free_clusters: plan.free_clusters().count,
        total_sectors: shape.total_sectors,
        reserved_sectors: shape.reserved_sectors,
        fats: shape.fat_count,
        sectors_per_fat: geometry.sectors_per_fat(),
        root_entries: shape.root_entries,
        data_at_byte: geometry.cluster_at_byte(2),
        hidden_sectors: facts.hidden_sectors,
        media: facts.media,
        heads: facts.heads,
        sectors_per_track: facts.sectors_per_track,
        label: facts.label.map(|label| label.to_string()),
        volume_id: volume_id_text(facts.volume_id),
    }
}
