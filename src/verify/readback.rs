//! The volume as a foreign reader sees it, the crate `fatfs`, against the plan and the source:
//! names, sizes, attributes, times, bytes, and where the bytes were fetched from. The only user of
//! `fatfs` and `fscommon`.

use std::cell::RefCell;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Once;

use fatfs::{DirEntry, FileSystem, FsOptions};
use fscommon::StreamSlice;

use super::VerifyError;
use super::bytes::ImageBytes;
use super::finding::{Fault, Findings};
use super::window::{Fetched, Window};
use crate::event::Observer;
use crate::fat::kind::FatKind;
use crate::plan::Plan;
use crate::printable;
use crate::source::NodeId;
use crate::source::content::{ContentError, Opener, Part};

const BUFFER_BYTES: usize = 256 << 10;

/// Two lines in which the crate doubts what is legal and common: reserved sectors for alignment,
/// and clusters of 64 KiB, which are made only if asked for.
const HARMLESS_WARNING: &str = "fs compatibility:";

type Device<'a> = StreamSlice<Window<'a>>;

/// Whether the foreign reader can count the bits of the FAT: it does so in 32 bits.
pub fn can_read(plan: &Plan) -> bool {
    u32::try_from(plan.geometry().fat_bytes() * 8).is_ok()
}

/// Compares everything that is stored in `volume`, which must have passed
/// [`super::structure::check`].
///
/// # Errors
/// When `watch` asks to stop, or the source is not what it was, so that nothing can be said. That
/// the reader fails, or even panics, is a finding.
pub fn compare(
    plan: &Plan,
    volume: &dyn ImageBytes,
    watch: &dyn Observer,
    findings: &mut Findings,
) -> Result<(), VerifyError> {
    let done = warnings::collect(|| {
        catch_unwind(AssertUnwindSafe(|| walk(plan, volume, watch, findings)))
    });
    for warning in done.warnings.iter().filter(|warning| !warning.starts_with(HARMLESS_WARNING)) {
        findings.add("volume", Fault::ForeignReader(warning.clone()));
    }
    match done.value {
        Ok(Ok(())) => Ok(()),
        Ok(Err(Broken::Stopped)) => Err(VerifyError::Stopped),
        Ok(Err(Broken::Source(error))) => Err(VerifyError::Content(error)),
        Ok(Err(Broken::Reader(error))) => {
            findings.add("volume", Fault::ForeignReader(error.to_string()));
            Ok(())
        }
        Err(_) => {
            findings.add("volume", Fault::ForeignReader("panicked".to_owned()));
            Ok(())
        }
    }
}

enum Broken {
    Stopped,
    Source(ContentError),
    Reader(std::io::Error),
}

impl From<ContentError> for Broken {
    fn from(error: ContentError) -> Self {
        Self::Source(error)
    }
}

impl From<std::io::Error> for Broken {
    fn from(error: std::io::Error) -> Self {
        Self::Reader(error)
    }
}

fn walk(
    plan: &Plan,
    volume: &dyn ImageBytes,
    watch: &dyn Observer,
    findings: &mut Findings,
) -> Result<(), Broken> {
    let data_at_byte = plan.geometry().cluster_at_byte(2);
    let fetched = Rc::new(RefCell::new(Fetched::from_byte(data_at_byte)));
    let window = Window::new(volume, Rc::clone(&fetched))?;
    let device = StreamSlice::new(window, 0, plan.geometry().volume_bytes())?;
    let bytes = volume;
    let volume = FileSystem::new(device, FsOptions::new())?;
    let mut comparison = Comparison {
        plan,
        bytes,
        watch,
        opener: Opener::new(plan.tree()),
        fetched,
        findings,
        image_buffer: vec![0; BUFFER_BYTES],
        source_buffer: vec![0; BUFFER_BYTES],
    };
    comparison.volume(&volume)?;
    let mut pending = vec![(volume.root_dir(), NodeId::ROOT)];
    while let Some((directory, id)) = pending.pop() {
        let mut planned = plan.stored_children(id);
        for entry in directory.iter() {
            if watch.must_stop() {
                return Err(Broken::Stopped);
            }
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.as_str(), "." | "..") {
                comparison.stamps(&entry, &plan.image_path(id), id);
                continue;
            }
            // Records stand in the order of the plan, so that no search is needed, and a directory
            // without an end cannot go on for ever.
            let Some(child) = planned.next() else {
                comparison.findings.add(&name, Fault::Unplanned);
                break;
            };
            comparison.entry(&entry, &name, child)?;
            if entry.is_dir() && plan.tree().node(child).is_directory() {
                pending.push((entry.to_dir(), child));
            }
        }
        for missing in planned {
            comparison.findings.add(plan.image_path(missing), Fault::Missing);
        }
    }
    Ok(())
}

struct Comparison<'a> {
    plan: &'a Plan,
    bytes: &'a dyn ImageBytes,
    watch: &'a dyn Observer,
    opener: Opener<'a>,
    fetched: Rc<RefCell<Fetched>>,
    findings: &'a mut Findings,
    image_buffer: Vec<u8>,
    source_buffer: Vec<u8>,
}

impl Comparison<'_> {
    fn volume(&mut self, volume: &FileSystem<Device<'_>>) -> Result<(), Broken> {
        let kind = match volume.fat_type() {
            fatfs::FatType::Fat12 => FatKind::Fat12,
            fatfs::FatType::Fat16 => FatKind::Fat16,
            fatfs::FatType::Fat32 => FatKind::Fat32,
        };
        let facts = self.plan.facts();
        let label = volume.read_volume_label_from_root_dir_as_bytes()?;
        let flags = volume.read_status_flags()?;
        let planned_label = facts.label.map(|label| label.bytes());
        self.expect("volume", "type", self.plan.geometry().kind(), kind);
        self.expect("volume", "volume id", facts.volume_id, volume.volume_id());
        self.expect("volume", "label", planned_label, label);
        self.expect("volume", "dirty flag", false, flags.dirty() || flags.io_error());
        Ok(())
    }

    fn expect<T: PartialEq + std::fmt::Debug>(
        &mut self,
        place: &str,
        what: &'static str,
        planned: T,
        found: T,
    ) {
        if planned != found {
            let (planned, found) = (format!("{planned:?}"), format!("{found:?}"));
            self.findings.add(place, Fault::NotAsPlanned { what, planned, found });
        }
    }

    fn entry(
        &mut self,
        entry: &DirEntry<'_, Device<'_>>,
        name: &str,
        id: NodeId,
    ) -> Result<(), Broken> {
        let node = *self.plan.tree().node(id);
        let placed = *self.plan.placed(id);
        let path = self.plan.image_path(id);
        let directory = node.is_directory();
        self.expect(&path, "name", &*self.plan.name(id), name);
        self.expect(&path, "attributes", placed.attributes.bits(), entry.attributes().bits());
        self.expect(&path, "size", node.size_bytes(), entry.len());
        let short = placed.name.map(|name| name.short.to_string()).unwrap_or_default();
        self.expect(&path, "short name", short, entry.short_file_name());
        self.stamps(entry, &path, id);
        if !directory && entry.is_file() && node.size_bytes() > 0 {
            self.contents(entry, id, &path)?;
        }
        Ok(())
    }

    fn stamps(&mut self, entry: &DirEntry<'_, Device<'_>>, path: &str, id: NodeId) {
        let stamp = self.plan.placed(id).stamp;
        let stamp = (stamp.date, stamp.time);
        self.expect(path, "time of writing", stamp, encoded(entry.modified()));
        self.expect(path, "time of creation", stamp, encoded(entry.created()));
        let created = entry.created().time;
        self.expect(path, "fine time of creation", (0, 0), (created.sec % 2, created.millis));
        self.expect(path, "date of access", stamp.0, encoded_date(entry.accessed()));
    }

    fn contents(
        &mut self,
        entry: &DirEntry<'_, Device<'_>>,
        id: NodeId,
        path: &str,
    ) -> Result<(), Broken> {
        let geometry = self.plan.geometry();
        let size_bytes = self.plan.tree().node(id).size_bytes();
        let planned = geometry.cluster_at_byte(self.plan.first_cluster(id));
        self.fetched.borrow_mut().clear();
        if let Some(at_byte) = self.compare_bytes(entry, id)? {
            let source_path = printable::path(&self.plan.tree().content_path(id));
            self.findings.add(path, Fault::Contents { source_path, at_byte });
            return Ok(());
        }
        if let Some(found) = self.fetched.borrow().first_outside(planned, size_bytes) {
            self.findings.add(path, Fault::Place { planned, found });
        }
        // What follows the contents in their last cluster no reader shows.
        let whole = geometry.clusters_for(size_bytes) * u64::from(geometry.cluster_bytes());
        let slack = (whole - size_bytes) as usize;
        let slack = &mut self.image_buffer[..slack];
        self.bytes.read_at(planned + size_bytes, slack)?;
        if let Some(byte) = slack.iter().position(|byte| *byte != 0) {
            let at_byte = planned + size_bytes + byte as u64;
            self.findings.add(path, Fault::NotZero { at_byte });
        }
        Ok(())
    }

    /// The first byte that differs, if any.
    fn compare_bytes(
        &mut self,
        entry: &DirEntry<'_, Device<'_>>,
        id: NodeId,
    ) -> Result<Option<u64>, Broken> {
        let mut image = entry.to_file();
        let mut source = self.opener.open(id)?;
        let mut at_byte = 0;
        while let Some(part) = source.next_part()? {
            let (Part::Data(len) | Part::Hole(len)) = part;
            let mut left = len;
            while left > 0 {
                if self.watch.must_stop() {
                    return Err(Broken::Stopped);
                }
                let wanted = (BUFFER_BYTES as u64).min(left) as usize;
                let expected = &mut self.source_buffer[..wanted];
                let count = if matches!(part, Part::Hole(_)) {
                    expected.fill(0);
                    wanted
                } else {
                    source.read(expected)?
                };
                let found = &mut self.image_buffer[..count];
                image.read_exact(found)?;
                let expected = &self.source_buffer[..count];
                if let Some(byte) = found.iter().zip(expected).position(|(a, b)| a != b) {
                    // It is the image's fault only if the source is what it was.
                    source.finish()?;
                    return Ok(Some(at_byte + byte as u64));
                }
                at_byte += count as u64;
                left -= count as u64;
                self.watch.advance(count as u64);
            }
        }
        source.finish()?;
        Ok(None)
    }
}

fn encoded(stamp: fatfs::DateTime) -> (u16, u16) {
    let time = stamp.time;
    (encoded_date(stamp.date), time.hour << 11 | time.min << 5 | (time.sec / 2))
}

fn encoded_date(date: fatfs::Date) -> u16 {
    date.year.saturating_sub(1980) << 9 | date.month << 5 | date.day
}

/// The warnings of a crate that only logs them.
mod warnings {
    use super::{Once, RefCell};

    thread_local! {
        static COLLECTED: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
    }

    struct Collector;

    impl log::Log for Collector {
        fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
            metadata.level() <= log::Level::Warn
        }

        fn log(&self, record: &log::Record<'_>) {
            if self.enabled(record.metadata()) {
                COLLECTED.with_borrow_mut(|collected| {
                    if let Some(warnings) = collected
                        && warnings.len() < 100
                    {
                        warnings.push(record.args().to_string());
                    }
                });
            }
        }

        fn flush(&self) {}
    }

    pub(super) struct Collected<T> {
        pub(super) value: T,
        pub(super) warnings: Vec<String>,
    }

    /// Runs `work` and keeps what is logged meanwhile. A program that has a logger of its own keeps
    /// it; then the warnings are there and not here.
    pub(super) fn collect<T>(work: impl FnOnce() -> T) -> Collected<T> {
        static INSTALL: Once = Once::new();
        INSTALL.call_once(|| {
            if log::set_logger(&Collector).is_ok() {
                log::set_max_level(log::LevelFilter::Warn);
            }
        });
        COLLECTED.set(Some(Vec::new()));
        let value = work();
        Collected { value, warnings: COLLECTED.take().unwrap_or_default() }
    }
}
