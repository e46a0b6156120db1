//! Reports for people: a few lines after a build, a table of the layout for a dry run, one line
//! for each kind of notice.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use humansize::{BINARY, format_size};

use super::bar::{self, Look};
use super::{Report, hexadecimal, region_name, volume_id_text};
use crate::disk::{Disk, Guid, Scheme, Table, mbr};
use crate::event::{Notice, NoticeKind};
use crate::plan::Plan;
use crate::printable;
use crate::sink::{Cache, Cloning, Reason, Room, Strategy, Target, Writing};
use crate::verify::Depth;

/// What FAT has no place for; told on request, since nobody can do anything about it.
pub const NOT_STORED: &str = "owners, permissions, extended attributes and the identity of hard links are not stored: FAT has no place for them";

/// Shorter work says nothing about speed.
const WORTH_A_RATE: Duration = Duration::from_millis(100);

/// What was built, in two or three lines without the last line's end.
pub fn summary(report: &Report) -> String {
    let mut text = match &report.written {
        Some(written) => format!("{}: {}", written.output, volume_line(&report.plan)),
        None => volume_line(&report.plan),
    };
    let _ = write!(text, "\n  {}", contents_line(&report.plan));
    if let Some(written) = &report.written {
        let Writing { outcome, elapsed, unchanged, .. } = &written.writing;
        if *unchanged {
            let _ = write!(text, "\n  unchanged, as {} of looking showed", duration(*elapsed));
        } else {
            let _ = write!(
                text,
                "\n  {} written in {}",
                format_size(outcome.written_bytes, BINARY),
                duration(*elapsed)
            );
        }
        if *elapsed >= WORTH_A_RATE && !unchanged {
            // Whole bytes are precise enough.
            let rate = outcome.written_bytes as f64 / elapsed.as_secs_f64();
            let _ = write!(text, ", {}/s", format_size(rate as u64, BINARY));
        }
        if outcome.cloned_bytes > 0 {
            let _ = write!(
                text,
                "; {} shared with the source",
                format_size(outcome.cloned_bytes, BINARY)
            );
        }
        if outcome.hole_bytes > 0 {
            let _ = write!(text, "; {} zero", format_size(outcome.hole_bytes, BINARY));
        }
        if outcome.left_bytes > 0 {
            let _ = write!(
                text,
                "; {} of free clusters left as they were",
                format_size(outcome.left_bytes, BINARY)
            );
        }
        if written.verified.is_some_and(|verified| verified.depth == Depth::Contents) {
            text.push_str("; read back and equal to the source");
        }
    }
    text
}

/// The digest of the image in hexadecimal, if one was made.
pub fn digest(report: &Report) -> Option<String> {
    report.written.as_ref()?.writing.digests.image.map(|digest| hexadecimal(&digest))
}

/// What a dry run shows: the summary, then the layout.
pub fn dry_run(report: &Report) -> String {
    format!("{}\n\n{}", summary(report), layout(report))
}

/// What a dry run shows on a terminal: as [`dry_run`], with the regions as a picture and how full the
/// volume would be.
pub fn pictured(report: &Report, look: &Look) -> String {
    format!(
        "{}\n\n{}\n{}{}",
        summary(report),
        bar::picture(&report.regions(), look),
        fullness(&report.plan),
        largest_files(report)
    )
}

/// How the image was written, and why so: a line for each decision, each with its end.
pub fn strategy(strategy: &Strategy) -> String {
    let mut text = String::new();
    let did = if strategy.cache == Cache::Unused { "compared" } else { "wrote" };
    let jobs = match strategy.jobs.count() {
        1 => format!("one thread read and {did}"),
        jobs => format!("{jobs} threads read and {did} at the same time"),
    };
    let why = match (strategy.jobs_asked, strategy.cache) {
        (Some(asked), _) if asked == strategy.jobs => "as asked",
        (Some(_), _) => "fewer than asked, for want of work, memory or open files",
        (None, _) if strategy.jobs.count() == 1 => "there was no work or processor for more",
        (None, Cache::Past(_) | Cache::Refused) => "so that the disk always has something to do",
        (None, Cache::Stream) => "so that one reads while another writes",
        (None, Cache::Unused | Cache::Through(_)) => {
            "one for each processor, four at most, where there is work"
        }
    };
    let _ = writeln!(text, "{jobs}: {why} (--jobs)");
    text.push_str(match strategy.cloning {
        Cloning::None => "",
        Cloning::Done => {
            "large files cloned: the file system shares their blocks with the source\n"
        }
        Cloning::EveryByteWanted => {
            "nothing cloned: every byte is read for the digest or the block map (--digest, --bmap)\n"
        }
        Cloning::Refused => "nothing cloned: source and image cannot share blocks here\n",
    });
    text.push_str(match strategy.room {
        Room::None => "",
        Room::Written => "room for what was to be written reserved first, which is faster here\n",
        Room::Whole => "room for the whole image reserved first, as asked (--preallocate)\n",
    });
    text.push_str(match strategy.target {
        Target::File | Target::Stream => "",
        Target::Device => {
            "written in place, the device's first block as the last, and synced once at the end\n"
        }
        Target::Part => {
            "written in place, the first block as the last; nothing around it was touched\n"
        }
    });
    let size = |room_bytes| format_size(room_bytes, BINARY);
    let _ = match strategy.cache {
        Cache::Unused | Cache::Stream => Ok(()),
        Cache::Through(Reason::Asked) => {
            writeln!(text, "written through the page cache, as asked (--direct)")
        }
        Cache::Past(Reason::Asked) => {
            writeln!(text, "written past the page cache, as asked (--direct)")
        }
        Cache::Through(Reason::Device) => writeln!(text, "written through the page cache"),
        Cache::Past(Reason::Device) => {
            writeln!(
                text,
                "written past the page cache, so that the device sets the pace (--direct)"
            )
        }
        Cache::Refused => {
            writeln!(text, "written through the page cache: writes past it were refused")
        }
        Cache::Through(Reason::Room { room_bytes }) => writeln!(
            text,
            "written through the page cache: it keeps {} before the system turns to the disk (--direct)",
            size(room_bytes)
        ),
        Cache::Past(Reason::Room { room_bytes }) => writeln!(
            text,
            "written past the page cache, which keeps only {} before the system turns to the disk (--direct)",
            size(room_bytes)
        ),
    };
    text
}

/// The layout of the image: regions, then the largest files.
pub fn layout(report: &Report) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{:<16}{:>15}{:>15}", "region", "from byte", "bytes");
    for extent in report.regions() {
        let name = region_name(extent.region);
        let size = format_size(extent.len, BINARY);
        let _ = writeln!(text, "{name:<16}{:>15}{:>15}  {size}", extent.at, extent.len);
    }
    text + &largest_files(report)
}

/// The largest files with a line before them; nothing without files.
fn largest_files(report: &Report) -> String {
    let mut text = String::new();
    let largest = report.largest();
    if !largest.is_empty() {
        text.push_str("\nlargest files\n");
    }
    for (id, size_bytes) in largest {
        let path = printable::bytes(report.plan.image_path(id).as_bytes());
        let _ = writeln!(text, "{:>12}  {path}", format_size(size_bytes, BINARY));
    }
    text
}

/// How much of the clusters is used, rounded down so that only a full volume is full.
fn fullness(plan: &Plan) -> String {
    let geometry = plan.geometry();
    let used = u64::from(plan.totals().used_clusters);
    let clusters = u64::from(geometry.cluster_count());
    let size = |count: u64| format_size(count * u64::from(geometry.cluster_bytes()), BINARY);
    let thousandths = used * 1000 / clusters;
    format!(
        "full: {}.{} % of {} in clusters used, {} free\n",
        thousandths / 10,
        thousandths % 10,
        size(clusters),
        size(clusters - used)
    )
}

/// Bytes as people read them.
pub(super) fn size_text(bytes: u64) -> String {
    format_size(bytes, BINARY)
}

/// Notices as lines: one for each kind with a count and an example, or, with `all`, each of them.
pub fn notice_lines(notices: &[Notice], all: bool) -> Vec<String> {
    if all {
        return notices.iter().map(|notice| notice.text.to_string()).collect();
    }
    let mut kinds: BTreeMap<NoticeKind, (&Notice, u64)> = BTreeMap::new();
    for notice in notices {
        kinds.entry(notice.kind).or_insert((notice, 0)).1 += 1;
    }
    let line = |(kind, (first, count)): (NoticeKind, (&Notice, u64))| match count {
        1 => first.text.to_string(),
        _ => format!("{count} {}, the first: {} (all with -v)", kind.summary(), first.text),
    };
    kinds.into_iter().map(line).collect()
}

fn volume_line(plan: &Plan) -> String {
    let geometry = plan.geometry();
    let facts = plan.facts();
    let mut line = String::new();
    if let Some(disk) = plan.disk() {
        let (size, at) =
            (format_size(disk.bytes(), BINARY), format_size(disk.partition_at_byte(), BINARY));
        let _ = write!(
            line,
            "{} disk of {size}, its partition ({}) at {at}: ",
            table_name(disk),
            type_text(disk)
        );
    }
    let _ = write!(
        line,
        "{}, {}, {} clusters of {}",
        geometry.kind(),
        format_size(geometry.volume_bytes(), BINARY),
        geometry.cluster_count(),
        format_size(geometry.cluster_bytes(), BINARY),
    );
    if let Some(label) = &facts.label {
        let _ = write!(line, ", label {label}");
    }
    let _ = write!(line, ", volume id {}", volume_id_text(facts.volume_id));
    line
}

fn table_name(disk: &Disk) -> &'static str {
    match disk.scheme() {
        Scheme::Mbr => "MBR",
        Scheme::Gpt => "GPT",
    }
}

/// The partition's type, by name where people know it by one.
fn type_text(disk: &Disk) -> String {
    match &disk.table {
        Table::Mbr { partition_type: mbr::ESP, .. } => "EFI system, EF".to_owned(),
        Table::Mbr { partition_type, .. } => format!("type {partition_type:02X}"),
        Table::Gpt { partition_type, .. } if *partition_type == Guid::ESP => {
            "EFI system".to_owned()
        }
        Table::Gpt { partition_type, .. } if *partition_type == Guid::BASIC_DATA => {
            "basic data".to_owned()
        }
        Table::Gpt { partition_type, .. } => format!("type {partition_type}"),
    }
}

fn contents_line(plan: &Plan) -> String {
    let totals = plan.totals();
    let free = u64::from(plan.free_clusters().count) * u64::from(plan.geometry().cluster_bytes());
    let links = match totals.links {
        0 => String::new(),
        1 => format!(", {} of it through a link", format_size(totals.linked_bytes, BINARY)),
        links => {
            format!(", {} of it through {links} links", format_size(totals.linked_bytes, BINARY))
        }
    };
    format!(
        "{} {} in {} {}, {}{links}; {} free",
        totals.files,
        if totals.files == 1 { "file" } else { "files" },
        totals.directories,
        if totals.directories == 1 { "directory" } else { "directories" },
        format_size(totals.content_bytes, BINARY),
        format_size(free, BINARY),
    )
}

fn duration(elapsed: Duration) -> String {
    match elapsed.as_secs_f64() {
        seconds if seconds < 1.0 => format!("{:.0} ms", seconds * 1000.0),
        seconds => format!("{seconds:.1} s"),
    }
}
