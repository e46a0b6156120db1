//! Where everything goes, as typed, and which outputs do not go together. Knows flags and paths,
//! and writes nothing.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::args::{Args, DigestKind, PastCache};
use super::request::Ground;
use super::values::IntoArg;
use crate::delivery::Delivery;
use crate::jobs::Jobs;
use crate::printable;
use crate::report::depfile::Depfile;
use crate::sink::{Device, Direct, Output, OutputError};
use crate::verify::Depth;
use crate::within::{self, Address, Place};

/// Words that are no name of an image without `./`, so that they can become subcommands.
pub(super) const RESERVED_WORDS: [&str; 4] = ["verify", "inspect", "extract", "add"];

/// The place in an image that is there, if one was named. A plan for it asks for no more than that it is
/// one.
pub(super) fn place(args: &Args) -> Result<Option<Place>> {
    let Some(IntoArg { image, address }) = &args.into else { return Ok(None) };
    let force = args.force || args.dry_run;
    Ok(Some(within::find(image, *address, args.sector_size, force)?))
}

/// What a place that does not grow says of the image that goes there.
pub(super) fn ground(image: Option<&Output>, place: Option<&Place>) -> Option<Ground> {
    let of_place = |place: &Place| Ground {
        what: "disk",
        bytes: place.bytes.end - place.bytes.start,
        sector_bytes: place.sector_bytes,
        start_bytes: Some(place.bytes.start),
    };
    let of_device = |device: &Device| Ground {
        what: "device",
        bytes: device.bytes(),
        sector_bytes: device.sector_bytes(),
        start_bytes: device.partition_at_byte(),
    };
    place.map(of_place).or_else(|| image.and_then(Output::device).map(of_device))
}

/// What is to be made in `place`, or where OUT says; `None` for a dry run without a name.
pub(super) fn delivery(args: &Args, place: Option<&Place>) -> Result<Option<Delivery>> {
    if args.dry_run {
        let tells_of_image = [
            (args.map.is_some(), "--map"),
            (args.bmap.is_some(), "--bmap"),
            (args.depfile.is_some(), "--depfile"),
            (args.digest.is_some(), "--digest"),
            (args.if_changed, "--if-changed"),
        ];
        if let Some((_, flag)) = tells_of_image.iter().find(|(given, _)| *given) {
            bail!("{flag} goes with an image that is written; leave out --dry-run");
        }
    }
    let Some(path) = args.out.as_ref().or(args.into.as_ref().map(|into| &into.image)) else {
        return Ok(None);
    };
    let image = image(args, path, place)?;
    let mut taken = vec![("the image", path.clone())];
    taken.extend(inputs(args).map(|(flag, path)| (flag, path.to_path_buf())));
    let mut wanted = |flag, path: &Option<PathBuf>| {
        let path = path.as_deref();
        path.map(|path| companion(args, flag, path, &mut taken)).transpose()
    };
    let map = wanted("--map", &args.map)?;
    let block_map = wanted("--bmap", &args.bmap)?;
    let depfile = match wanted("--depfile", &args.depfile)? {
        Some(output) => Some((rule(args, &image, path)?, output)),
        None => None,
    };
    Ok(Some(Delivery {
        depth: if args.verify { Depth::Contents } else { Depth::Structure },
        digest: args.digest == Some(DigestKind::Sha256),
        map,
        block_map,
        depfile,
        image,
    }))
}

fn image(args: &Args, path: &Path, place: Option<&Place>) -> Result<Output> {
    if place.is_none()
        && let Some(word) = RESERVED_WORDS.iter().find(|word| path.as_os_str() == **word)
    {
        bail!("{word} is kept for a subcommand; write ./{word} for an image of that name");
    }
    for (flag, input) in inputs(args) {
        if is_same_file(input, path) {
            let name = printable::path(path);
            bail!("{flag} {name}: is the output as well; name another file for the image");
        }
    }
    let mut output = match place {
        Some(place) => {
            let name = match args.into.as_ref().map(|into| into.address) {
                Some(Address::Partition(number)) => format!(", partition {number}"),
                _ => format!(" from byte {} on", place.bytes.start),
            };
            let name = format!("{}{name}", printable::path(path));
            Output::part(path.to_path_buf(), place.bytes.clone(), name)
        }
        None if path.as_os_str() == "-" => Output::standard_output(),
        None => Output::at(path)?,
    };
    let stream = output.is_stream();
    if args.json && is_standard_output(&output) && !args.dry_run {
        bail!("--json and the image cannot both go to standard output; name a file for the image");
    }
    let for_files = [
        (args.sync, "--sync"),
        (args.preallocate, "--preallocate"),
        (args.verify, "--verify"),
        (args.direct == PastCache::Always, "--direct always"),
        (args.if_changed, "--if-changed"),
        (args.depfile.is_some(), "--depfile"),
    ];
    if let Some((_, flag)) = for_files.iter().find(|(given, _)| *given && stream) {
        bail!("{flag} is for image files; {} is a stream", output.name());
    }
    output.force = args.force;
    if let Some(device) = output.device().filter(|_| !args.dry_run) {
        for_device(args, device, &output)?;
    }
    output.sync = args.sync;
    output.preallocate = args.preallocate;
    output.jobs = args.jobs.map(Jobs::new);
    output.direct = match args.direct {
        PastCache::Auto => Direct::Auto,
        PastCache::Always => Direct::Always,
        PastCache::Never => Direct::Never,
    };
    output.if_changed = args.if_changed;
    Ok(output)
}

/// Refuses what makes no sense with a block device, and a device that cannot be written, before the
/// source is read.
fn for_device(args: &Args, device: &Device, output: &Output) -> Result<()> {
    let gone = "the old image is gone before the new one can be compared with it";
    let free = "free clusters of a device may hold anything";
    let not_for_devices = [
        (args.if_changed, "--if-changed", gone),
        (args.preallocate, "--preallocate", "a device has all the room that it will ever have"),
        (args.depfile.is_some(), "--depfile", "the time of a device tells make nothing"),
        (args.digest.is_some(), "--digest", free),
        (args.bmap.is_some(), "--bmap", free),
    ];
    if let Some((_, flag, why)) = not_for_devices.iter().find(|(given, ..)| *given) {
        bail!("{flag} is for image files; {} is a block device: {why}", output.name());
    }
    if args.partition_table.is_some() && device.partition_at_byte().is_some() {
        let name = output.name();
        bail!(
            "--partition-table is for whole disks; {name} is a partition, and nobody looks for a table in it"
        );
    }
    match output.check() {
        // Whoever typed the command can help it.
        Err(error @ OutputError::NeedsForce { .. }) => bail!("{error}"),
        checked => Ok(checked?),
    }
}

/// Where a file that tells of the image goes: to none of those that are `taken`.
fn companion(
    args: &Args,
    flag: &'static str,
    path: &Path,
    taken: &mut Vec<(&'static str, PathBuf)>,
) -> Result<Output> {
    let name = printable::path(path);
    if path.as_os_str() == "-" {
        bail!("{flag} -: name a file; ./- is one of that name");
    }
    for (other, there) in taken.iter() {
        if is_same_place(there, path) {
            bail!("{flag} {name}: is {other} as well; name another file");
        }
    }
    let output = Output::at(path)?;
    if output.device().is_some() {
        bail!("{flag} {name}: is a block device; name a file");
    }
    let image_there = args.out.as_deref() == Some(Path::new("-"));
    if is_standard_output(&output) && (args.json || image_there) {
        let what = if image_there { "the image" } else { "--json" };
        bail!("{flag} and {what} cannot both go to standard output; name a file");
    }
    taken.push((flag, path.to_path_buf()));
    Ok(output)
}

/// The rule of the image for make.
fn rule(args: &Args, image: &Output, path: &Path) -> Result<Depfile> {
    let inputs = inputs(args).map(|(_, path)| path.to_path_buf());
    let depfile = Depfile { target: path.to_path_buf(), inputs: inputs.collect() };
    if !depfile.can_name_target() {
        bail!("--depfile: make and ninja cannot name {}; rename the image", image.name());
    }
    Ok(depfile)
}

/// Files that are read besides the sources, with their flags.
fn inputs(args: &Args) -> impl Iterator<Item = (&'static str, &Path)> {
    let boot_code = args.boot_code.iter().map(|path| ("--boot-code", path.as_path()));
    let mbr_code = args.mbr_code.iter().map(|path| ("--mbr-code", path.as_path()));
    let lists = args.exclude_from.iter().map(|path| ("--exclude-from", path.as_path()));
    boot_code.chain(mbr_code).chain(lists).filter(|(_, path)| path.as_os_str() != "-")
}

/// Whether anything of a delivery goes to standard output.
pub(super) fn take_standard_output(delivery: &Delivery) -> bool {
    let depfile = delivery.depfile.as_ref().map(|(_, output)| output);
    let others = [delivery.map.as_ref(), delivery.block_map.as_ref(), depfile];
    others.into_iter().flatten().chain([&delivery.image]).any(is_standard_output)
}

fn is_standard_output(output: &Output) -> bool {
    match output.path() {
        None => true,
        Some(path) => output.is_stream() && may_be_same_file(path, Path::new("/dev/stdout")),
    }
}

/// As [`is_same_file`], but what cannot be told of files that are there may be true.
fn may_be_same_file(one: &Path, other: &Path) -> bool {
    match (one.metadata(), other.metadata()) {
        (Ok(one), Ok(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
        (Err(error), _) | (_, Err(error)) => error.kind() != io::ErrorKind::NotFound,
    }
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| path.metadata().ok().map(|found| (found.dev(), found.ino()));
    identity(one).is_some_and(|one| identity(other) == Some(one))
}

/// Whether two names are of one file, there or not.
fn is_same_place(one: &Path, other: &Path) -> bool {
    let place = |path: &Path| -> Option<PathBuf> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = fs::canonicalize(folder.unwrap_or(Path::new("."))).ok()?;
        Some(folder.join(path.file_name()?))
    };
    let is_file = one.metadata().is_ok_and(|found| found.is_file());
    (is_file && is_same_file(one, other)) || place(one).is_some_and(|one| place(other) == Some(one))
}
