//! What FAT is: structures, limits and name rules of FAT12, FAT16 and FAT32. Pure: no input or
//! output, no paths, no clocks, no choice of one legal value over another.
//!
//! | Specification | Here |
//! |---|---|
//! | BPB, boot sector, FSInfo | [`boot`] as written, [`mount`] as found |
//! | `CountofClusters`, `FATSz` | [`geometry::Geometry`] |
//! | FAT entry | [`table`] |
//! | `DIR_*`, `LDIR_*` | [`record`] |
//! | long name, short name | [`name`], [`short`] |
//!
//! The specification is Microsoft's "FAT: General Overview of On-Disk Format" 1.03 of 2000 and
//! the "Microsoft FAT Specification" of 2005; where readers are stricter, the strictest one counts
//! (`docs/format.md`).
#![deny(clippy::unwrap_used, clippy::cast_possible_truncation, clippy::indexing_slicing)]

pub mod attr;
pub mod boot;
pub mod geometry;
pub mod kind;
pub mod label;
pub mod mount;
pub mod name;
pub mod record;
pub mod short;
pub mod table;
pub mod time;
