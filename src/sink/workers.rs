//! Workers that take runs of the image in order, and fill and write them at the same time. Knows
//! no FAT and no output.

use super::buffer::Buffer;
use super::runs::{Filling, Piece, Run};
use super::{Destination, Outcome, WriteError};
use crate::event::Observer;
use crate::image::Image;
use crate::jobs::Jobs;
use crate::source::NodeId;
use crate::source::content::{Opener, Part};

/// To ask after fewer takes less time than to start a thread.
const NODES_WORTH_A_WORKER: u64 = 64;

/// Fills and writes all `runs` of `image`, then asks after what has no bytes and so was not opened;
/// tells what was written, and by how many workers.
///
/// # Errors
/// Whatever the number of workers, the error that is first in the order of the image.
pub(super) fn write_runs(
    image: Image<'_>,
    runs: impl Iterator<Item = Run> + Send,
    destination: &dyn Destination,
    jobs: Jobs,
    watch: &dyn Observer,
) -> Result<(Outcome, Jobs), WriteError> {
    let plan = image.plan();
    let hire = || {
        let (opener, buffer) = (Opener::new(plan.tree()), Buffer::new(destination, watch)?);
        Ok(Worker { image, opener, buffer })
    };
    let workers = jobs.in_order(runs, hire, |worker, run| {
        let promise = Promise { at: run.at, destination, kept: false };
        worker.write(&run).map(|()| promise.keep())
    })?;
    let without_bytes: Vec<NodeId> =
        plan.stored().filter(|id| plan.tree().node(*id).size_bytes() == 0).collect();
    let crowd = (without_bytes.len() as u64).div_ceil(NODES_WORTH_A_WORKER);
    jobs.at_most(crowd).in_order(
        without_bytes.into_iter(),
        || Ok(Opener::new(plan.tree())),
        |opener, id| {
            if watch.must_stop() {
                return Err(WriteError::Stopped);
            }
            Ok(opener.confirm(id)?)
        },
    )?;
    let worked = Jobs::ONE.at_least(workers.len());
    let outcomes = workers.into_iter().map(|worker| worker.buffer.outcome());
    Ok((outcomes.fold(Outcome::default(), |sum, outcome| sum.plus(&outcome)), worked))
}

struct Worker<'a> {
    image: Image<'a>,
    opener: Opener<'a>,
    buffer: Buffer<'a>,
}

impl Worker<'_> {
    fn write(&mut self, run: &Run) -> Result<(), WriteError> {
        self.buffer.begin(run.at);
        for piece in &run.pieces {
            match piece.filling {
                Filling::Zero => self.buffer.zeros(piece.len)?,
                Filling::Cloned => self.buffer.skip(piece.len)?,
                Filling::Content(id) => self.copy(id, piece)?,
                Filling::Meta(meta) => {
                    let mut done = 0;
                    while done < piece.len {
                        let space = self.buffer.space(piece.len - done)?;
                        self.image.render(meta, piece.from + done, space);
                        let count = space.len();
                        self.buffer.filled(count);
                        done += count as u64;
                    }
                }
            }
        }
        self.buffer.flush()
    }

    fn copy(&mut self, id: NodeId, piece: &Piece) -> Result<(), WriteError> {
        let mut content = self.opener.open(id)?;
        content.narrow(piece.from..piece.from + piece.len);
        while let Some(part) = content.next_part()? {
            match part {
                Part::Hole(len) => self.buffer.zeros(len)?,
                Part::Data(len) => {
                    let mut left = len;
                    while left > 0 {
                        let read = content.read(self.buffer.space(left)?)?;
                        self.buffer.filled(read);
                        left -= read as u64;
                    }
                }
            }
        }
        content.finish()?;
        Ok(())
    }
}

/// That the bytes of a run will come. Others may wait for them, and are told when they will not,
/// for whatever reason.
struct Promise<'a> {
    at: u64,
    destination: &'a dyn Destination,
    kept: bool,
}

impl Promise<'_> {
    fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Promise<'_> {
    fn drop(&mut self) {
        if !self.kept {
            self.destination.break_off(self.at);
        }
    }
}
