//! Builds FAT12, FAT16 and FAT32 disk images from directories: everything is planned first, every
//! byte is written once.
//!
//! The work is one line, and each step sees only what the step before it made:
//!
//! 1. [`source::scan`]: host directories become a [`source::Tree`].
//! 2. [`plan::Plan::new`]: every decision; from here on only reading and writing can fail.
//! 3. [`image::Image::of`]: the plan as segments that touch and cover the image.
//! 4. [`sink::write`]: the segments go to a file or a stream.
//! 5. [`verify`]: is it what was planned? Only then does a file get its name.
//! 6. [`report`]: what was done, for people and for programs.
//!
//! ```no_run
//! use mkfatimg::plan::request::Free;
//! use mkfatimg::source::{Place, Sources};
//! use mkfatimg::verify::Depth;
//!
//! let request = mkfatimg::Request {
//!     sources: Sources {
//!         places: vec![Place { path: "rootfs".into(), destination: Vec::new() }],
//!         ..Sources::default()
//!     },
//!     free: Free::Bytes(64 << 20),
//!     ..mkfatimg::Request::default()
//! };
//! let output = mkfatimg::sink::Output::at("out.img".as_ref())?;
//! let report = mkfatimg::build(&request, &output, Depth::Structure, &())?;
//! println!("{}", mkfatimg::report::human::summary(&report));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[doc(hidden)]
pub mod cli;
pub mod error;
pub mod event;
pub mod fat;
pub mod image;
pub mod jobs;
pub mod pattern;
pub mod plan;
pub mod printable;
pub mod report;
pub mod sink;
pub mod source;
pub mod units;
pub mod verify;

pub use error::Error;
pub use plan::{Plan, Request};
pub use report::Report;

use std::time::Instant;

use event::Observer;
use image::Image;
use report::Verified;
use sink::Output;
use verify::{Depth, VerifyError};

/// Scans the sources and decides everything; writes nothing.
///
/// # Errors
/// All reasons why the image cannot be, or that `watch` asked to stop.
pub fn plan(request: &Request, watch: &dyn Observer) -> Result<Plan, Error> {
    let tree = source::scan(&request.sources, watch)?;
    Ok(Plan::new(tree, request)?)
}

/// Writes a planned image and looks at it, a file at least as closely as at its structure; a
/// stream cannot be read back. A file has its name only when all of it is there and right.
///
/// # Errors
/// When a read or a write fails, the source has changed, the image is not what was planned, or
/// `watch` asks to stop.
pub fn write(
    plan: Plan,
    output: &Output,
    depth: Depth,
    watch: &dyn Observer,
) -> Result<Report, Error> {
    if depth == Depth::Contents && !verify::readback::can_read(&plan) {
        return Err(VerifyError::TooLarge.into());
    }
    let written = sink::write(Image::of(&plan), output, watch)?;
    let began = Instant::now();
    let verified = match written.file() {
        Some(file) => {
            verify::run(&plan, file, depth, watch)?;
            Some(Verified { depth, elapsed: began.elapsed() })
        }
        None => None,
    };
    if watch.must_stop() {
        return Err(VerifyError::Stopped.into());
    }
    let writing = written.publish()?;
    Ok(Report::written(plan, output.name(), writing, verified))
}

/// [`plan()`], then [`write()`].
///
/// # Errors
/// Those of either.
pub fn build(
    request: &Request,
    output: &Output,
    depth: Depth,
    watch: &dyn Observer,
) -> Result<Report, Error> {
    write(plan(request, watch)?, output, depth, watch)
}
