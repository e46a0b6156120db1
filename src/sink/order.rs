//! One image into its output: compared with what is there, streamed, or into a file of its own. The
//! order of the steps is here, each step in a room of its own.

use std::ops::Range;
use std::time::Instant;

use super::clone::{self, Cloned};
use super::digest::{Digesting, Digests, Wanted};
use super::file::NewFile;
use super::in_place::InPlace;
use super::output::{Direct, Output};
use super::standing::Standing;
use super::strategy::{self, Cache, Cloning, Reason, Room, Strategy, Target, Work};
use super::stream::Stream;
use super::{Destination, Made, Outcome, WriteError, Writing, Written, buffer, runs, workers};
use crate::event::{Observer, Stage};
use crate::image::Image;
use crate::image::blocks::MAP_BLOCK_BYTES;
use crate::jobs::Jobs;

/// Bytes of the run that a worker writes to a file before it takes the next: enough to make the
/// taking cheap, not so much that the others wait for the last one.
const FILE_RUN_BYTES: u64 = 8 << 20;

/// Of a stream: what a buffer holds, so that it is full when its turn comes.
const STREAM_RUN_BYTES: u64 = buffer::CAPACITY_BYTES as u64;

/// What is to be written, and where.
#[derive(Clone, Copy)]
pub(super) struct Order<'a> {
    pub(super) image: Image<'a>,
    pub(super) output: &'a Output,
    pub(super) wanted: Wanted,
    pub(super) watch: &'a dyn Observer,
}

/// What went through the workers.
struct Copied {
    outcome: Outcome,
    jobs: Jobs,
    digests: Digests,
}

impl Order<'_> {
    pub(super) fn carry_out(self) -> Result<Written, WriteError> {
        if self.output.if_changed
            && let Some(written) = self.compare()?
        {
            return Ok(written);
        }
        self.watch.stage(Stage::Write { total_bytes: self.total_bytes() });
        match self.output {
            output if output.is_stream() => self.into_stream(),
            output if output.is_in_place() => self.into_place(),
            _ => self.into_file(),
        }
    }

    /// Looks whether the image that is there is the one that would be written; `None` if it has to
    /// be written.
    fn compare(self) -> Result<Option<Written>, WriteError> {
        let total_bytes = self.total_bytes();
        let Some(standing) = Standing::open(self.output, total_bytes) else { return Ok(None) };
        self.watch.stage(Stage::Compare { total_bytes });
        let started = Instant::now();
        let cache = Cache::Unused;
        match self.copy(&standing, cache, FILE_RUN_BYTES, &Cloned::default()) {
            Ok(copied) => {
                // What was compared is in the file already.
                let copied = Copied { outcome: Outcome::default(), ..copied };
                let made = Made::Standing(standing.into_file(), self.output.clone());
                Ok(Some(self.written(copied, (Room::None, Cloning::None, cache), started, made)))
            }
            Err(WriteError::Stopped) if standing.differs() && !self.watch.must_stop() => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn into_stream(self) -> Result<Written, WriteError> {
        let started = Instant::now();
        let stream = Stream::open(self.output)?;
        let cache = Cache::Stream;
        let copied = self.copy(&stream, cache, STREAM_RUN_BYTES, &Cloned::default())?;
        stream.finish()?;
        Ok(self.written(copied, (Room::None, Cloning::None, cache), started, Made::Stream))
    }

    fn into_file(self) -> Result<Written, WriteError> {
        let started = Instant::now();
        let preallocate = self.output.preallocate;
        let mut file = NewFile::create(self.output, self.total_bytes())?;
        // Room that was asked for is the image's own, and a digest needs every byte.
        let cloned = if preallocate || self.wanted.is_any() {
            Cloned::default()
        } else {
            clone::clone_large_files(self.image, file.file(), self.watch)
        };
        let tree = self.image.plan().tree();
        let work = Work::of(self.image, |id| cloned.bytes_of(id, tree.node(id).size_bytes()));
        let room = if preallocate { Room::Whole } else { file.reserve(&work.stretches)? };
        let chosen = Cache::choose(self.output.direct, work.bytes);
        if matches!(chosen, Cache::Past(_)) {
            file.go_past_cache();
        }
        let mut copied = self.copy(&file, chosen, FILE_RUN_BYTES, &cloned)?;
        file.complete()?;
        copied.outcome.cloned_bytes = cloned.bytes;
        let cache = match chosen {
            Cache::Past(_) if !file.is_past_cache() => Cache::Refused,
            chosen => chosen,
        };
        let cloning =
            if self.wanted.is_any() { Cloning::EveryByteWanted } else { cloned.cloning() };
        Ok(self.written(copied, (room, cloning, cache), started, Made::File(file)))
    }

    fn into_place(self) -> Result<Written, WriteError> {
        let started = Instant::now();
        let mut place = InPlace::take(self.output, self.image)?;
        let is_device = self.output.device().is_some();
        let chosen = match self.output.direct {
            Direct::Auto if is_device => Cache::Past(Reason::Device),
            direct => Cache::choose(direct, Work::of(self.image, |_| 0).bytes),
        };
        if matches!(chosen, Cache::Past(_)) {
            place.go_past_cache();
        }
        let copied = place.begin().and_then(|()| {
            let copied = self.copy(&place, chosen, FILE_RUN_BYTES, &Cloned::default())?;
            place.complete()?;
            Ok(copied)
        });
        let copied = copied.map_err(|cause| WriteError::Emptied {
            output: self.output.name(),
            cause: Box::new(cause),
        })?;
        let cache = match chosen {
            Cache::Past(_) if !place.is_past_cache() => Cache::Refused,
            chosen => chosen,
        };
        Ok(self.written(copied, (Room::None, Cloning::None, cache), started, Made::InPlace(place)))
    }

    /// Fills and writes what is not cloned, with as many workers as were asked for or suit the way
    /// of writing, and no more than there are runs.
    fn copy(
        self,
        destination: &dyn Destination,
        cache: Cache,
        run_bytes: u64,
        cloned: &Cloned,
    ) -> Result<Copied, WriteError> {
        let Self { image, output, wanted, watch } = self;
        // Digests are made in the order of the image: with a run that is longer than a buffer the
        // others would wait for it.
        let run_bytes = if wanted.is_any() { STREAM_RUN_BYTES } else { run_bytes };
        let jobs = output.jobs.unwrap_or_else(|| strategy::default_jobs(cache));
        let jobs = jobs.at_most(self.total_bytes().div_ceil(run_bytes));
        let tree = image.plan().tree();
        let cloned_bytes = |id| cloned.bytes_of(id, tree.node(id).size_bytes());
        let runs = runs::runs(image.segments(), run_bytes, cloned_bytes);
        if !wanted.is_any() {
            let (outcome, jobs) = workers::write_runs(image, runs, destination, jobs, watch)?;
            return Ok(Copied { outcome, jobs, digests: Digests::default() });
        }
        let stretches = if wanted.mapped_blocks { self.mapped_bytes() } else { Vec::new() };
        let digesting = Digesting::new(destination, wanted.image, stretches);
        let (outcome, jobs) = workers::write_runs(image, runs, &digesting, jobs, watch)?;
        Ok(Copied { outcome, jobs, digests: digesting.finish() })
    }

    /// The bytes of the image that a block map has to tell of.
    fn mapped_bytes(self) -> Vec<Range<u64>> {
        let bytes = |blocks: Range<u64>| {
            blocks.start * MAP_BLOCK_BYTES..(blocks.end * MAP_BLOCK_BYTES).min(self.total_bytes())
        };
        self.image.mapped_blocks().into_iter().map(bytes).collect()
    }

    fn total_bytes(self) -> u64 {
        self.image.plan().image_bytes()
    }

    fn written(
        self,
        copied: Copied,
        (room, cloning, cache): (Room, Cloning, Cache),
        started: Instant,
        made: Made,
    ) -> Written {
        let Copied { outcome, jobs, digests } = copied;
        let target = match made {
            Made::Stream => Target::Stream,
            Made::File(_) | Made::Standing(..) => Target::File,
            Made::InPlace(_) if self.output.device().is_some() => Target::Device,
            Made::InPlace(_) => Target::Part,
        };
        let jobs_asked = self.output.jobs;
        let strategy = Strategy { jobs, jobs_asked, room, cloning, cache, target };
        let elapsed = started.elapsed();
        let unchanged = matches!(made, Made::Standing(..));
        Written { writing: Writing { outcome, strategy, unchanged, digests, elapsed }, made }
    }
}
