//! What is made of a plan: the image, and files that tell of it. All of it is written before the
//! first name appears, and the image's own name is the last. Knows no format.

use std::time::Instant;

use crate::error::Error;
use crate::event::Observer;
use crate::image::Image;
use crate::plan::Plan;
use crate::report::depfile::Depfile;
use crate::report::{Report, Verified, block_map, map};
use crate::sink::companion::Companion;
use crate::sink::{self, Output, OutputError, WriteError};
use crate::verify::{self, Depth, VerifyError};

/// What is wanted, and where.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// The image.
    pub image: Output,
    /// How closely it is looked at before it has its name. A stream cannot be read back.
    pub depth: Depth,
    /// A map of its files.
    pub map: Option<Output>,
    /// A map of its blocks; wants [`Output::block_map`] of the image.
    pub block_map: Option<Output>,
    /// What it depends on, for make and ninja, and where that goes.
    pub depfile: Option<(Depfile, Output)>,
}

impl Delivery {
    /// The image alone.
    pub fn of(image: Output, depth: Depth) -> Self {
        Self { image, depth, map: None, block_map: None, depfile: None }
    }

    /// Writes a planned image and what tells of it, and looks at a file at least as closely as at its
    /// structure.
    ///
    /// # Errors
    /// When a read or a write fails, the source has changed, the image is not what was planned, or
    /// `watch` asks to stop. Then nothing is left, and what was there stays.
    pub fn carry_out(&self, plan: Plan, watch: &dyn Observer) -> Result<Report, Error> {
        if self.depth == Depth::Contents && !verify::readback::can_read(&plan) {
            return Err(VerifyError::TooLarge.into());
        }
        let written = sink::write(Image::of(&plan), &self.image, watch)?;
        let began = Instant::now();
        let verified = match written.file() {
            Some(file) => {
                verify::run(&plan, file, self.depth, watch)?;
                Some(Verified { depth: self.depth, elapsed: began.elapsed() })
            }
            None => None,
        };
        let report = Report::written(plan, self.image.name(), written.writing().clone(), verified);
        let companions = self.companions(&report).map_err(WriteError::from)?;
        if watch.must_stop() {
            return Err(VerifyError::Stopped.into());
        }
        for companion in companions {
            companion.publish().map_err(WriteError::from)?;
        }
        written.publish()?;
        Ok(report)
    }

    fn companions(&self, report: &Report) -> Result<Vec<Companion>, OutputError> {
        let mut companions = Vec::new();
        if let Some(output) = &self.map {
            companions.push(Companion::write(output, |writer| map::write(report, writer))?);
        }
        if let Some(output) = &self.block_map {
            companions.push(Companion::write(output, |writer| block_map::write(report, writer))?);
        }
        if let Some((depfile, output)) = &self.depfile {
            companions
                .push(Companion::write(output, |writer| depfile.write(&report.plan, writer))?);
        }
        Ok(companions)
    }
}
