//! Builds FAT12, FAT16 and FAT32 disk images from directories: everything is planned first, every
//! byte is written once.
//!
//! The work is one line, and each step sees only what the step before it made:
//!
//! 1. [`source::scan`]: host directories become a [`source::Tree`].
//! 2. [`plan::Plan::new`]: every decision; from here on only reading and writing can fail.
//! 3. [`image::Image::of`]: the plan as segments that touch and cover the image.
//! 4. [`sink::write`]: the segments go to a file or a stream.
//! 5. [`verify`]: is it what was planned?
//! 6. [`report`]: what was done, for people and for programs.
//!
//! [`Delivery::carry_out`] is steps 3 to 6: only when all is well does anything get its name.
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
//! let image = mkfatimg::sink::Output::at("out.img".as_ref())?;
//! let delivery = mkfatimg::Delivery::of(image, Depth::Structure);
//! let report = mkfatimg::build(&request, &delivery, &())?;
//! println!("{}", mkfatimg::report::human::summary(&report));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[doc(hidden)]
pub mod cli;
pub mod delivery;
pub mod disk;
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
pub mod within;

pub use delivery::Delivery;
pub use error::Error;
pub use plan::{Plan, Request};
pub use report::Report;

use event::Observer;

/// Scans the sources and decides everything; writes nothing.
///
/// # Errors
/// All reasons why the image cannot be, or that `watch` asked to stop.
pub fn plan(request: &Request, watch: &dyn Observer) -> Result<Plan, Error> {
    let tree = source::scan(&request.sources, watch)?;
    Ok(Plan::new(tree, request)?)
}

/// Scans, plans, and carries out `delivery`.
///
/// # Errors
/// Those of [`plan()`] and of [`Delivery::carry_out`].
pub fn build(
    request: &Request,
    delivery: &Delivery,
    watch: &dyn Observer,
) -> Result<Report, Error> {
    delivery.carry_out(plan(request, watch)?, watch)
}
