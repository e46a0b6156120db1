//! What is made of a plan: the image, and files that tell of it. All of it is written before the
//! first name appears, and the image's own name is the last. Knows no format.

use std::fs::File;
use std::time::Instant;

use crate::error::Error;
use crate::event::{Notice, Observer};
use crate::image::Image;
use crate::plan::Plan;
use crate::report::depfile::Depfile;
use crate::report::{Report, Verified, block_map, map};
use crate::sink::companion::{Companion, Published};
use crate::sink::{self, Output, OutputError, Wanted, WriteError};
use crate::verify::part::Part;
use crate::verify::{self, Depth, FreeSpace, VerifyError};

/// What is wanted, and where.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// The image.
    pub image: Output,
    /// How closely it is looked at before it has its name. A stream cannot be read back.
    pub depth: Depth,
    /// Whether a digest of it is told.
    pub digest: bool,
    /// Where a map of its files goes.
    pub map: Option<Output>,
    /// Where a map of its blocks goes.
    pub block_map: Option<Output>,
    /// What it depends on, for make and ninja, and where that goes. It wants a tree whose sources
    /// had [`note_walked`](crate::source::Sources::note_walked).
    pub depfile: Option<(Depfile, Output)>,
}

/// The companions that are wanted, open.
struct Companions {
    map: Option<Companion>,
    block_map: Option<Companion>,
    depfile: Option<Companion>,
}

impl Delivery {
    /// The image alone.
    pub fn of(image: Output, depth: Depth) -> Self {
        Self { image, depth, digest: false, map: None, block_map: None, depfile: None }
    }

    /// What the user should know of the delivery besides the notices of the plan; the report has
    /// them too.
    pub fn notices(&self, plan: &Plan) -> Vec<Notice> {
        self.depfile.iter().flat_map(|(depfile, _)| depfile.notices(plan)).collect()
    }

    /// Writes a planned image and what tells of it, and looks at a file at least as closely as at its
    /// structure.
    ///
    /// # Errors
    /// When a read or a write fails, the source has changed, the image is not what was planned, or
    /// `watch` asks to stop. Then nothing is left, and what was there stays; but after
    /// [`OutputError::Unsettled`] everything is there and complete.
    pub fn carry_out(&self, mut plan: Plan, watch: &dyn Observer) -> Result<Report, Error> {
        if self.depth == Depth::Contents && !verify::readback::can_read(&plan) {
            return Err(VerifyError::TooLarge.into());
        }
        let notices = self.notices(&plan);
        plan.notices.extend(notices);
        let companions = self.companions().map_err(WriteError::from)?;
        let wanted = Wanted { image: self.digest, mapped_blocks: self.block_map.is_some() };
        let written = sink::write(Image::of(&plan), &self.image, wanted, watch)?;
        let began = Instant::now();
        let verified = match written.file() {
            Some(file) => {
                let looked_at = match written.in_place_at() {
                    None => verify::run(&plan, file, self.depth, FreeSpace::Zero, watch),
                    Some(at) => self.look_at_part(&plan, file, at, watch),
                };
                looked_at.map_err(|error| self.emptied(error.into()))?;
                Some(Verified { depth: self.depth, elapsed: began.elapsed() })
            }
            None => None,
        };
        let report = Report::written(plan, self.image.name(), written.writing().clone(), verified);
        let told = self.tell(&report, &companions).map_err(WriteError::from);
        told.map_err(|error| self.emptied(error.into()))?;
        if watch.must_stop() {
            return Err(self.emptied(VerifyError::Stopped.into()));
        }
        let published = companions.publish().map_err(WriteError::from);
        let published = published.map_err(|error| self.emptied(error.into()))?;
        let named = written.publish()?;
        // From here on everything is there: nothing is left undone because of an error.
        let kept: Vec<_> = published.into_iter().map(Published::keep).collect();
        let settled = named.settle(self.depfile.is_some());
        kept.into_iter().chain([settled]).collect::<Result<(), _>>().map_err(WriteError::from)?;
        Ok(report)
    }

    /// Looks at an image that begins at byte `at` of a device, or of a file that holds more.
    fn look_at_part(
        &self,
        plan: &Plan,
        file: &File,
        at: u64,
        watch: &dyn Observer,
    ) -> Result<(), VerifyError> {
        // Those of a device are as they were, or the device has zeroed them: to read them all would take
        // longer than all the rest.
        let is_device = self.image.device().is_some();
        let free = if is_device { FreeSpace::Unread } else { FreeSpace::Zero };
        let part = Part::new(file, at, plan.image_bytes())?;
        verify::run(plan, &part, self.depth, free, watch)
    }

    /// The error of a build that went wrong when the image was written.
    fn emptied(&self, error: Error) -> Error {
        if self.image.is_in_place() {
            Error::Emptied { output: self.image.name(), cause: Box::new(error) }
        } else {
            error
        }
    }

    fn companions(&self) -> Result<Companions, OutputError> {
        let open = |output: Option<&Output>| output.map(Companion::open).transpose();
        Ok(Companions {
            map: open(self.map.as_ref())?,
            block_map: open(self.block_map.as_ref())?,
            depfile: open(self.depfile.as_ref().map(|(_, output)| output))?,
        })
    }

    fn tell(&self, report: &Report, companions: &Companions) -> Result<(), OutputError> {
        if let Some(companion) = &companions.map {
            companion.write(|writer| map::write(report, writer))?;
        }
        if let Some(companion) = &companions.block_map {
            companion.write(|writer| block_map::write(report, writer))?;
        }
        if let Some((companion, (depfile, _))) =
            companions.depfile.as_ref().zip(self.depfile.as_ref())
        {
            companion.write(|writer| depfile.write(&report.plan, writer))?;
        }
        Ok(())
    }
}

impl Companions {
    /// What has its name loses it again if it is not kept.
    fn publish(self) -> Result<Vec<Published>, OutputError> {
        let all = [self.map, self.block_map, self.depfile];
        all.into_iter().flatten().map(Companion::publish).collect()
    }
}
