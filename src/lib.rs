//! Builds FAT12, FAT16 and FAT32 disk images from directories: everything is planned first, every
//! byte is written once.
//!
//! The work is one line, and each step sees only what the step before it made:
//!
//! 1. [`source::scan`]: host directories become a [`source::Tree`].
//! 2. [`plan::Plan::new`]: every decision; from here on only reading and writing can fail.
//! 3. [`image::Image::of`]: the plan as segments that touch and cover the image.
//! 4. [`sink::write`]: the segments go to a file or a stream.
//! 5. [`report`]: what was done, for people and for programs.
//!
//! ```no_run
//! use mkfatimg::plan::request::{Format, Free, ImageSize, Names, Times};
//! use mkfatimg::source::{Place, Sources};
//!
//! let request = mkfatimg::Request {
//!     sources: Sources {
//!         places: vec![Place { path: "rootfs".into(), destination: Vec::new() }],
//!         ..Sources::default()
//!     },
//!     size: ImageSize::Auto,
//!     free: Free::Bytes(64 << 20),
//!     format: Format::default(),
//!     names: Names::default(),
//!     times: Times::default(),
//! };
//! let output = mkfatimg::sink::Output::at("out.img".as_ref())?;
//! let report = mkfatimg::build(&request, &output, &())?;
//! println!("{}", mkfatimg::report::human::summary(&report));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[doc(hidden)]
pub mod cli;
pub mod error;
pub mod event;
pub mod fat;
pub mod image;
pub mod plan;
pub mod printable;
pub mod report;
pub mod sink;
pub mod source;
pub mod units;

pub use error::Error;
pub use plan::{Plan, Request};
pub use report::Report;

use event::Observer;
use image::Image;
use sink::Output;

/// Scans the sources and decides everything; writes nothing.
///
/// # Errors
/// All reasons why the image cannot be, or that `watch` asked to stop.
pub fn plan(request: &Request, watch: &dyn Observer) -> Result<Plan, Error> {
    let tree = source::scan(&request.sources, watch)?;
    Ok(Plan::new(tree, request)?)
}

/// Writes a planned image. A file has its name only when all of it is there.
///
/// # Errors
/// When a read or a write fails, the source has changed, or `watch` asks to stop.
pub fn write(plan: Plan, output: &Output, watch: &dyn Observer) -> Result<Report, Error> {
    let written = sink::write(Image::of(&plan), output, watch)?;
    let outcome = written.publish()?;
    Ok(Report::written(plan, output.name(), outcome))
}

/// [`plan()`], then [`write()`].
///
/// # Errors
/// Those of either.
pub fn build(request: &Request, output: &Output, watch: &dyn Observer) -> Result<Report, Error> {
    write(plan(request, watch)?, output, watch)
}
