//! Exactly what may be typed: the one definition behind parser, help, manual page and completions.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{ArgGroup, Parser, ValueEnum, ValueHint};

use crate::fat::kind::FatKind;
use crate::plan::request::{Profile, TypeWish};

use super::help;
use super::values::{
    self, AttrArg, DiskIdArg, FreeArg, IntoArg, LabelArg, OemName, SizeArg, VolumeIdArg,
};

/// Builds a FAT disk image from a directory.
///
/// The whole image is planned before the first byte is written: what FAT cannot hold is told at
/// once, all of it, and nothing is left out, renamed or cut without a flag or a notice. The image file
/// appears under its name only when it is complete. The same tree gives the same image.
#[derive(Debug, Parser)]
#[command(
    name = "mkfatimg",
    version,
    max_term_width = 100,
    after_help = help::SHORT,
    after_long_help = help::LONG,
    group = ArgGroup::new("disk").args(["partition_table", "profile"]).multiple(true)
)]
pub(crate) struct Args {
    /// Image file to make, or block device to overwrite; - for standard output
    #[arg(value_name = "OUT", value_hint = ValueHint::FilePath, required_unless_present_any = ["dry_run", "into"])]
    pub(crate) out: Option<PathBuf>,

    /// Directory whose contents go in, a file with a place for it, or an mtree manifest
    ///
    /// Repeat it to lay one source over another. SRC:/DEST puts the contents of SRC into the
    /// directory /DEST of the image; a file goes to the path /DEST, or into the directory /DEST/. A
    /// file without a place is a manifest if its first line begins with #mtree or its name ends in
    /// .mtree: each of its lines names a path in the image and what lies there, as in
    /// "./boot/vmlinuz type=file contents=out/vmlinuz"; contents are found from the working directory.
    #[arg(
        long,
        value_name = "SRC[:/DEST]",
        value_hint = ValueHint::AnyPath,
        required = true,
        help_heading = "Input"
    )]
    pub(crate) from: Vec<OsString>,

    /// Let a later source's file replace an earlier one's instead of refusing
    #[arg(long, help_heading = "Input")]
    pub(crate) overlay: bool,

    /// Leave out what matches at its path in the image; repeat it for more
    ///
    /// A pattern without / is of a name anywhere, one with / of the whole path from the image's root.
    /// A directory goes with all that is in it.
    #[arg(long, value_name = "GLOB", allow_hyphen_values = true, help_heading = "Input")]
    pub(crate) exclude: Vec<String>,

    /// Leave out what matches a pattern of a file, one a line; - for standard input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Input")]
    pub(crate) exclude_from: Vec<PathBuf>,

    /// What to do with symbolic links
    #[arg(long, value_enum, default_value_t = Links::Follow, value_name = "WHAT", help_heading = "Input")]
    pub(crate) symlinks: Links,

    /// What to do with links that lead nowhere, out of the source, or in a circle
    #[arg(long, value_enum, default_value_t = Refuse::Error, value_name = "WHAT", help_heading = "Input")]
    pub(crate) dangling: Refuse,

    /// What to do with FIFOs, sockets and devices; they are never opened
    #[arg(long, value_enum, default_value_t = Refuse::Error, value_name = "WHAT", help_heading = "Input")]
    pub(crate) special: Refuse,

    /// What to do with names that FAT cannot hold
    #[arg(long, value_enum, default_value_t = Invalid::Error, value_name = "WHAT", help_heading = "Names")]
    pub(crate) invalid_names: Invalid,

    /// What to do with names that differ in case or normalisation only, which are one to FAT
    #[arg(long, value_enum, default_value_t = Clashes::Error, value_name = "WHAT", help_heading = "Names")]
    pub(crate) clash: Clashes,

    /// When a name that fits 8.3 gets a long name beside it
    #[arg(long, value_enum, default_value_t = Long::Auto, value_name = "WHEN", help_heading = "Names")]
    pub(crate) long_names: Long,

    /// Refuse names that Windows takes for devices, such as con and nul.txt
    #[arg(long, help_heading = "Names")]
    pub(crate) windows_safe: bool,

    /// Set (+) or remove (-) attributes of what matches: read-only, hidden, system, archive
    ///
    /// As in --attr 'ldlinux.sys=+rhs'. Patterns are those of --exclude; the last that matches has the
    /// last word.
    #[arg(
        long,
        value_name = "GLOB=+rhsa",
        value_parser = values::attr,
        allow_hyphen_values = true,
        help_heading = "Attributes"
    )]
    pub(crate) attr: Vec<AttrArg>,

    /// Make files read-only that their owner may not write
    #[arg(long, help_heading = "Attributes")]
    pub(crate) keep_readonly: bool,

    /// Size of the image to the byte; auto is as small as the default clusters allow [default: auto]
    ///
    /// A block device is filled by default.
    #[arg(
        long,
        value_name = "SIZE",
        value_parser = values::image_size,
        allow_negative_numbers = true,
        help_heading = "Size"
    )]
    pub(crate) size: Option<SizeArg>,

    /// Room that stays free: bytes, or a percentage such as 10%
    ///
    /// With --size auto the image is made that much larger; with a given size it is refused when
    /// less would stay free.
    #[arg(
        long,
        value_name = "SIZE|PERCENT",
        value_parser = values::free,
        allow_negative_numbers = true,
        help_heading = "Size"
    )]
    pub(crate) free: Option<FreeArg>,

    /// Make it for one consumer, and refuse what that one does not read
    ///
    /// A profile completes what the other flags leave open: type, clusters, boundaries, table, size. -v
    /// tells what it chose and why.
    #[arg(long, value_name = "NAME", value_parser = values::profile(), help_heading = "Format")]
    pub(crate) profile: Option<Profile>,

    /// FAT type; by default the one that suits the size
    #[arg(long, value_name = "TYPE", value_parser = values::fat_type(), help_heading = "Format")]
    pub(crate) fat_type: Option<FatKind>,

    /// Bytes of a cluster, 512 to 64K; by default 4K or more wherever legal
    #[arg(
        long,
        value_name = "SIZE",
        value_parser = values::cluster_size,
        allow_negative_numbers = true,
        help_heading = "Format"
    )]
    pub(crate) cluster_size: Option<u32>,

    /// Bytes of a sector: 512, 1024, 2048 or 4096 [default: 512]
    ///
    /// Of a device and of a disk that is there they are known.
    #[arg(
        long,
        value_name = "SIZE",
        value_parser = values::sector_size,
        allow_negative_numbers = true,
        help_heading = "Format"
    )]
    pub(crate) sector_size: Option<u16>,

    /// Copies of the FAT, 1 or 2 [default: 2]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=2), help_heading = "Format")]
    pub(crate) fats: Option<u8>,

    /// Entries of the root directory of FAT12 and FAT16; by default 512, or what the source needs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), help_heading = "Format")]
    pub(crate) root_entries: Option<u16>,

    /// Sectors before the first FAT, exactly; by default 1, on FAT32 32, and what alignment needs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), help_heading = "Format")]
    pub(crate) reserved_sectors: Option<u16>,

    /// Boundary in the image on which the clusters begin; by default 4K for clusters of 4K or more
    #[arg(long, value_name = "SIZE", value_parser = values::align, help_heading = "Format")]
    pub(crate) align: Option<u32>,

    /// Volume label, up to 11 characters
    #[arg(long, value_name = "TEXT", value_parser = values::label, help_heading = "Format")]
    pub(crate) label: Option<LabelArg>,

    /// Volume serial number, eight hexadecimal digits, or random; by default derived from the source
    #[arg(long, value_name = "HEX|random", value_parser = values::volume_id, help_heading = "Format")]
    pub(crate) volume_id: Option<VolumeIdArg>,

    /// OEM name in the boot sector, up to 8 characters [default: MSWIN4.1]
    #[arg(long, value_name = "TEXT", value_parser = values::oem_name, help_heading = "Format")]
    pub(crate) oem_name: Option<OemName>,

    /// Media byte in hexadecimal: F0 or F8 to FF [default: F8]
    #[arg(long, value_name = "HEX", value_parser = values::media, help_heading = "Format")]
    pub(crate) media: Option<u8>,

    /// Heads, for old boot code, 1 to 255
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=255), help_heading = "Format")]
    pub(crate) heads: Option<u16>,

    /// Sectors per track, for old boot code, 1 to 63
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=63), help_heading = "Format")]
    pub(crate) sectors_per_track: Option<u16>,

    /// Sectors before the volume on the disk that it is meant for [default: 0]
    ///
    /// Of a partition that this image has itself they are known.
    #[arg(long, value_name = "N", help_heading = "Format")]
    pub(crate) hidden_sectors: Option<u32>,

    /// Boot sector whose code goes into ours, up to 512 bytes
    ///
    /// Parameters and signature stay ours, and so does the jump unless the file begins with one.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Format")]
    pub(crate) boot_code: Option<PathBuf>,

    /// Make a whole disk: a partition table of that kind, with the volume as its only partition
    ///
    /// The size is then that of the whole image. Backup tables, sectors before the volume and names are
    /// as the table wants them.
    #[arg(long, value_enum, value_name = "KIND", help_heading = "Disk")]
    pub(crate) partition_table: Option<TableKind>,

    /// Where the partition begins in the image [default: 1M]
    #[arg(long, value_name = "SIZE", value_parser = values::partition_start, requires = "disk", help_heading = "Disk")]
    pub(crate) partition_start: Option<u64>,

    /// What the table says that the partition holds: esp, fat, a byte for MBR, a GUID for GPT
    ///
    /// fat, the default, is 0C or 0E in an MBR, as the FAT's type wants it, and basic data in a GPT, unless
    /// the profile knows better.
    #[arg(long, value_name = "TYPE", value_parser = values::partition_type, requires = "disk", help_heading = "Disk")]
    pub(crate) partition_type: Option<TypeWish>,

    /// Name of the partition in a GPT, up to 36 characters; by default that of the volume
    #[arg(long, value_name = "TEXT", value_parser = values::partition_label, requires = "disk", help_heading = "Disk")]
    pub(crate) partition_label: Option<String>,

    /// Name of the disk: eight hexadecimal digits for MBR, a GUID for GPT, or random; by default derived
    #[arg(long, value_name = "ID", value_parser = values::disk_id, requires = "disk", help_heading = "Disk")]
    pub(crate) disk_id: Option<DiskIdArg>,

    /// Code that a BIOS starts, up to 440 bytes and the rest of the sector
    ///
    /// The table and its signature stay ours. With it, or with --boot-code, the partition is active.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "disk", help_heading = "Disk")]
    pub(crate) mbr_code: Option<PathBuf>,

    /// Time zone of the stored times, which FAT does not record: UTC, local, Europe/Berlin, +02:00
    #[arg(
        long,
        value_name = "ZONE",
        default_value = "UTC",
        allow_hyphen_values = true,
        help_heading = "Times"
    )]
    pub(crate) timezone: String,

    /// One time for everything: @SECONDS, 2024-02-29, 2024-02-29T12:00:00, 2024-02-29T12:00:00Z
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Times")]
    pub(crate) mtime: Option<String>,

    /// Replace the volume in a disk image that is there, in partition N or at a byte
    ///
    /// WHERE is pN or 'partition N', as in disk.img@p2, or the byte at which a FAT volume begins, as in
    /// disk.img@1M. The new volume is as large as the partition, or as the volume that is there, and
    /// nothing around it is touched. A partition that holds something else than FAT is refused without
    /// --force.
    #[arg(
        long,
        value_name = "IMAGE@WHERE",
        value_hint = ValueHint::FilePath,
        value_parser = values::into(),
        conflicts_with_all = [
            "out", "size", "partition_table", "if_changed", "preallocate", "depfile", "bmap", "digest"
        ],
        help_heading = "Output"
    )]
    pub(crate) into: Option<IntoArg>,

    /// Leave an image that would come out with the same bytes as it is, its time too
    #[arg(long, help_heading = "Output")]
    pub(crate) if_changed: bool,

    /// End only when the image is on the disk
    #[arg(long, help_heading = "Output")]
    pub(crate) sync: bool,

    /// Reserve room for the whole image first instead of leaving holes
    #[arg(long, help_heading = "Output")]
    pub(crate) preallocate: bool,

    /// Threads that scan, read and write at once, 1 to 256; by default one for each processor, up to 4
    ///
    /// Past the page cache the default is 4, into a stream 2 at least. Fewer work where there is less to
    /// do. The image is the same whatever their number.
    #[arg(long, value_name = "N", value_parser = values::jobs, allow_negative_numbers = true, help_heading = "Output")]
    pub(crate) jobs: Option<NonZeroUsize>,

    /// When to write past the page cache: at the disk's pace, with little of the processor's time
    #[arg(long, value_enum, default_value_t = PastCache::Auto, value_name = "WHEN", help_heading = "Output")]
    pub(crate) direct: PastCache,

    /// Read the finished image back with an independent reader and compare it with the source
    ///
    /// The structure of an image file is always checked. This compares names, times and every byte
    /// too, before the image gets its name.
    #[arg(long, help_heading = "Output")]
    pub(crate) verify: bool,

    /// Overwrite a block device, or what is no FAT volume (--into); image files are replaced without it
    #[arg(long, help_heading = "Output")]
    pub(crate) force: bool,

    /// Show the layout of the image and write nothing
    #[arg(long, help_heading = "Reports")]
    pub(crate) dry_run: bool,

    /// Write what the image depends on as a rule for make and ninja
    ///
    /// Every file that is in the image, every directory of the sources, and every other file that was
    /// read; one that is deleted later does not stop make.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Reports")]
    pub(crate) depfile: Option<PathBuf>,

    /// Write where each file lies, in the image and on the disk, as JSON
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Reports")]
    pub(crate) map: Option<PathBuf>,

    /// Write a block map, version 2.0, for bmaptool
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Reports")]
    pub(crate) bmap: Option<PathBuf>,

    /// Print the digest of the image, made while it is written, as sha256sum does
    ///
    /// The line goes to standard output, for sha256sum -c, unless the image goes there. The summary has
    /// the digest too, and --json has it in written.sha256.
    #[arg(long, value_enum, value_name = "KIND", help_heading = "Reports")]
    pub(crate) digest: Option<DigestKind>,

    /// Report as one JSON document on standard output
    #[arg(long, help_heading = "Reports")]
    pub(crate) json: bool,

    /// When to show progress; auto is on a terminal
    #[arg(long, value_enum, default_value_t = When::Auto, value_name = "WHEN", help_heading = "Reports")]
    pub(crate) progress: When,

    /// No summary and no notices, only errors
    #[arg(short, long, conflicts_with = "verbose", help_heading = "Reports")]
    pub(crate) quiet: bool,

    /// Every notice, and what was decided
    #[arg(short, long, help_heading = "Reports")]
    pub(crate) verbose: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Links {
    /// Store what they lead to inside the source; absolute links start there, as in a chroot
    Follow,
    /// Store what they lead to on the host
    Host,
    /// Leave them out
    Skip,
    /// Refuse
    Error,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableKind {
    /// The volume alone, whatever the profile has; for a table that something else makes
    None,
    /// Four entries in the first sector; for BIOS, Raspberry Pi and whatever is old
    Mbr,
    /// The table of UEFI, with a backup at the end
    Gpt,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Refuse {
    /// Refuse
    Error,
    /// Leave them out
    Skip,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Invalid {
    /// Refuse
    Error,
    /// Store each character that cannot stand as _
    Replace,
    /// Leave them out
    Skip,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Clashes {
    /// Refuse
    Error,
    /// Leave the later one out
    Skip,
    /// Store the later one as name~2.ext
    Rename,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Long {
    /// Only when it mixes capital and small letters
    Auto,
    /// Whenever it has small letters, for firmware that shows short names in capitals
    Always,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PastCache {
    /// When more is written than the system keeps in memory before it turns to the disk
    Auto,
    /// Wherever the file system lets us
    Always,
    /// Not at all
    Never,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DigestKind {
    /// SHA-256
    Sha256,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    /// On a terminal
    Auto,
    /// Everywhere
    Always,
    /// Nowhere
    Never,
}
