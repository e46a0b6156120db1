//! What was typed as what is wanted: looks up zones, the environment and small files; names the
//! flag at fault when flags do not go together.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::{Offset, TimeZone};

use super::args::{Args, Clashes, Invalid, Links, Long, Refuse, TableKind};
use super::patterns;
use super::values::{DiskIdArg, FreeArg, SizeArg, VolumeIdArg};
use crate::disk::Scheme;
use crate::fat::boot::BOOT_SECTOR_BYTES;
use crate::jobs::Jobs;
use crate::plan::request::{
    Clash, DiskIdWish, DiskWish, Format, Free, ImageSize, InvalidNames, LabelWish, Names, Profile,
    Request, TableWish, Times,
};
use crate::printable;
use crate::source::{LinkPolicy, Place, Sources};

/// The environment's latest time.
const EPOCH_VARIABLE: &str = "SOURCE_DATE_EPOCH";

/// A file named on the command line that the system does not give.
#[derive(Debug, thiserror::Error)]
#[error("{flag} {name}: cannot be read: {}", printable::error(error))]
pub(super) struct Unreadable {
    /// The flag that names it.
    pub(super) flag: &'static str,
    /// Its name in messages.
    pub(super) name: String,
    /// What the system said.
    pub(super) error: std::io::Error,
}

/// What a place that does not grow says of the image that goes there: a device, or a part of an image.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ground {
    /// What has those sectors.
    pub(super) what: &'static str,
    /// How large it is.
    pub(super) bytes: u64,
    /// Bytes of its sectors.
    pub(super) sector_bytes: u32,
    /// Byte of the disk at which it begins, where it is a part of one.
    pub(super) start_bytes: Option<u64>,
}

/// The request, but for its output; of that only what the `ground` says on which the image comes to lie.
pub(super) fn request(args: &Args, ground: Option<Ground>) -> Result<Request> {
    let zone = zone(&args.timezone)?;
    Ok(Request {
        sources: sources(args)?,
        profile: args.profile,
        size: match (args.size, ground) {
            (None, Some(ground)) => ImageSize::Place(ground.bytes),
            (None | Some(SizeArg::Auto), _) => ImageSize::Auto,
            (Some(SizeArg::Bytes(bytes)), _) => ImageSize::Bytes(bytes),
        },
        free: match args.free {
            None => Free::default(),
            Some(FreeArg::Bytes(bytes)) => Free::Bytes(bytes),
            Some(FreeArg::Percent(percent)) => Free::Percent(percent),
        },
        format: Format { sector_bytes: sector_bytes(args, ground)?, ..format(args)? },
        disk: disk(args, ground)?,
        names: Names {
            always_long: args.long_names == Long::Always,
            windows_safe: args.windows_safe,
            invalid: match args.invalid_names {
                Invalid::Error => InvalidNames::Error,
                Invalid::Replace => InvalidNames::Replace,
                Invalid::Skip => InvalidNames::Skip,
            },
            clash: match args.clash {
                Clashes::Error => Clash::Error,
                Clashes::Skip => Clash::Skip,
                Clashes::Rename => Clash::Rename,
            },
        },
        times: Times {
            fixed: args.mtime.as_deref().map(|text| time(text, &zone)).transpose()?,
            ceiling: ceiling(std::env::var_os(EPOCH_VARIABLE))?,
            zone,
        },
        attributes: patterns::attributes(args)?,
    })
}

fn sources(args: &Args) -> Result<Sources> {
    let places = args.from.iter().map(|text| place(text)).collect::<Result<_>>()?;
    let mut leave_out: Vec<PathBuf> =
        [&args.out, &args.map, &args.bmap, &args.depfile].into_iter().flatten().cloned().collect();
    leave_out.extend(args.into.iter().map(|into| into.image.clone()));
    if args.out.as_deref() == Some(Path::new("-")) {
        // Standard output may be a file in the source.
        leave_out.push(PathBuf::from("/proc/self/fd/1"));
    }
    Ok(Sources {
        places,
        overlay: args.overlay,
        jobs: args.jobs.map_or_else(Jobs::default, Jobs::new),
        links: match args.symlinks {
            Links::Follow => LinkPolicy::Follow,
            Links::Host => LinkPolicy::Host,
            Links::Skip => LinkPolicy::Skip,
            Links::Error => LinkPolicy::Error,
        },
        skip_dangling: args.dangling == Refuse::Skip,
        skip_special: args.special == Refuse::Skip,
        leave_out,
        exclude: patterns::exclude(args)?,
        note_walked: args.depfile.is_some(),
    })
}

/// `SRC` or `SRC:/DEST`. A path of that very name wins.
fn place(text: &OsStr) -> Result<Place> {
    if text.is_empty() {
        bail!("--from needs a directory, or a file and its place in the image");
    }
    let whole = Place { path: PathBuf::from(text), destination: Vec::new() };
    let bytes = text.as_bytes();
    if whole.path.symlink_metadata().is_ok() {
        return Ok(whole);
    }
    let Some(colon) = bytes.windows(2).rposition(|pair| pair == b":/") else {
        if let Some((path, place)) = text.to_str().and_then(|text| text.split_once(':'))
            && Path::new(path).exists()
        {
            bail!("--from {path}:{place}: a place in the image begins with /: {path}:/{place}");
        }
        return Ok(whole);
    };
    let path = PathBuf::from(OsStr::from_bytes(&bytes[..colon]));
    let destination = &bytes[colon + 1..];
    let mut names: Vec<OsString> = destination
        .split(|byte| *byte == b'/')
        .filter(|name| !name.is_empty() && *name != b".")
        .map(|name| OsString::from_vec(name.to_vec()))
        .collect();
    if names.iter().any(|name| name == "..") {
        bail!("--from {}: the place in the image cannot hold ..", printable::os_str(text));
    }
    if destination.ends_with(b"/") && path.is_file() {
        names.extend(path.file_name().map(OsStr::to_owned));
    }
    Ok(Place { path, destination: names })
}

/// The sectors of a device are those of its volume: Windows takes no other, and Linux no smaller ones.
fn sector_bytes(args: &Args, ground: Option<Ground>) -> Result<u16> {
    let Some(Ground { what, sector_bytes: own, .. }) = ground else {
        return Ok(args.sector_size.unwrap_or(Format::default().sector_bytes));
    };
    match (args.sector_size, u16::try_from(own)) {
        (None, Ok(own @ (512 | 1024 | 2048 | 4096))) => Ok(own),
        (Some(asked), Ok(own)) if asked == own => Ok(own),
        (Some(asked), _) => bail!(
            "--sector-size {asked}: the {what} has sectors of {own} bytes, and readers want those; leave it out"
        ),
        (None, _) => bail!("the {what} has sectors of {own} bytes, which no FAT volume can have"),
    }
}

fn format(args: &Args) -> Result<Format> {
    let usual = Format::default();
    Ok(Format {
        kind: args.fat_type,
        cluster_bytes: args.cluster_size,
        sector_bytes: usual.sector_bytes,
        fat_count: args.fats,
        root_entries: args.root_entries,
        reserved_sectors: args.reserved_sectors,
        align_bytes: args.align,
        media: args.media,
        heads: args.heads,
        sectors_per_track: args.sectors_per_track,
        hidden_sectors: args.hidden_sectors,
        oem_name: args.oem_name.map_or(usual.oem_name, |name| name.0),
        label: args
            .label
            .map(|typed| LabelWish { label: typed.label, made_capital: typed.made_capital }),
        volume_id: match args.volume_id {
            None => None,
            Some(VolumeIdArg::Given(id)) => Some(id),
            Some(VolumeIdArg::Random) => Some(random_id()?),
        },
        boot_code: code_of("--boot-code", args.boot_code.as_deref())?,
    })
}

fn disk(args: &Args, ground: Option<Ground>) -> Result<DiskWish> {
    let of_table = [
        (args.partition_start.is_some(), "--partition-start"),
        (args.partition_type.is_some(), "--partition-type"),
        (args.partition_label.is_some(), "--partition-label"),
        (args.disk_id.is_some(), "--disk-id"),
        (args.mbr_code.is_some(), "--mbr-code"),
    ];
    let of_table = of_table.into_iter().find_map(|(given, flag)| given.then_some(flag));
    if let Some(start_bytes) = ground.and_then(|ground| ground.start_bytes) {
        return match of_table {
            Some(flag) => bail!("{flag} is of a partition table, and this one is there already"),
            None => Ok(DiskWish::Within { start_bytes }),
        };
    }
    let bare = if args.partition_table.is_some() { DiskWish::Bare } else { DiskWish::None };
    let scheme = match args.partition_table {
        Some(TableKind::Mbr) => Some(Scheme::Mbr),
        Some(TableKind::Gpt) => Some(Scheme::Gpt),
        Some(TableKind::None) => None,
        None if of_table.is_none() => None,
        None => args.profile.and_then(Profile::usual_table),
    };
    let refusing = args.profile.filter(|profile| !profile.may_have_table());
    if let (Some(profile), Some(flag)) = (refusing, of_table) {
        bail!("--profile {profile}: there is no partition table; leave out {flag}");
    }
    let scheme = match (scheme, of_table) {
        (Some(scheme), _) => scheme,
        (None, None) => return Ok(bare),
        (None, Some(flag)) => {
            bail!(
                "{flag} is of a partition table, and none is made; use --partition-table mbr or gpt"
            )
        }
    };
    Ok(DiskWish::Table(TableWish {
        scheme,
        start_bytes: args.partition_start,
        partition_type: args.partition_type.unwrap_or_default(),
        label: args.partition_label.clone(),
        disk_id: match args.disk_id {
            None => None,
            Some(DiskIdArg::Signature(signature)) => Some(DiskIdWish::Signature(signature)),
            Some(DiskIdArg::Guid(guid)) => Some(DiskIdWish::Guid(guid)),
            Some(DiskIdArg::Random) => Some(DiskIdWish::Drawn(drawn("--disk-id")?)),
        },
        mbr_code: code_of("--mbr-code", args.mbr_code.as_deref())?,
    }))
}

fn random_id() -> Result<u32> {
    drawn("--volume-id").map(u32::from_le_bytes)
}

/// Bytes by chance.
fn drawn<const N: usize>(flag: &str) -> Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut bytes))
        .with_context(|| format!("{flag} random: no random numbers to be had"))?;
    Ok(bytes)
}

/// The file of boot code that `flag` names, if any: a sector of 512 bytes at most.
fn code_of(flag: &'static str, path: Option<&Path>) -> Result<Option<Vec<u8>>> {
    let Some(path) = path else { return Ok(None) };
    let name = printable::path(path);
    let mut code = Vec::new();
    File::open(path)
        .and_then(|file| file.take(BOOT_SECTOR_BYTES as u64 + 1).read_to_end(&mut code))
        .map_err(|error| Unreadable { flag, name: name.clone(), error })?;
    if code.len() > BOOT_SECTOR_BYTES {
        bail!("{flag} {name}: is more than {BOOT_SECTOR_BYTES} bytes, a boot sector");
    }
    Ok(Some(code))
}

fn zone(text: &str) -> Result<TimeZone> {
    if text.eq_ignore_ascii_case("utc") {
        return Ok(TimeZone::UTC);
    }
    if text.eq_ignore_ascii_case("local") {
        return TimeZone::try_system().context("--timezone local: this system names no zone");
    }
    if let Some(zone) = fixed_offset(text) {
        return Ok(zone);
    }
    TimeZone::get(text).ok().with_context(|| {
        format!(
            "--timezone {}: no such zone on this system; use UTC, local, a name such as Europe/Berlin, or an offset such as +02:00",
            printable::bytes(text.as_bytes())
        )
    })
}

/// `+02:00`, `-0330` or `+2`.
fn fixed_offset(text: &str) -> Option<TimeZone> {
    let (sign, digits) = match text.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let (hours, minutes) = match digits.split_once(':') {
        Some((hours, minutes)) if minutes.len() == 2 => (hours, minutes),
        None if digits.len() == 4 => digits.split_at_checked(2)?,
        None => (digits, "0"),
        Some(_) => return None,
    };
    let number = |text: &str, most: i32| {
        let plain = (1..=2).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        text.parse::<i32>().ok().filter(|number| plain && *number <= most)
    };
    let seconds = sign * (number(hours, 25)? * 3600 + number(minutes, 59)? * 60);
    Some(TimeZone::fixed(Offset::from_seconds(seconds).ok()?))
}

fn time(text: &str, zone: &TimeZone) -> Result<Timestamp> {
    let civil = |time: DateTime| zone.to_timestamp(time).ok();
    let parsed = match text.strip_prefix('@') {
        Some(seconds) => seconds.parse().ok().and_then(|s| Timestamp::from_second(s).ok()),
        None => text
            .parse::<Timestamp>()
            .ok()
            // A date alone would be read as midnight by the date-time's own parser too.
            .or_else(|| civil(text.parse::<DateTime>().ok()?))
            .or_else(|| {
                civil(text.parse::<Date>().ok()?.to_datetime(jiff::civil::Time::midnight()))
            }),
    };
    // A year or a date has fewer digits.
    if parsed.is_none() && text.len() > 8 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        bail!("--mtime {text}: is no time; seconds since 1970 are @{text}");
    }
    parsed.with_context(|| {
        format!(
            "--mtime {}: is no time; use @SECONDS, 2024-02-29, 2024-02-29T12:00:00 or 2024-02-29T12:00:00Z",
            printable::bytes(text.as_bytes())
        )
    })
}

/// The latest time that may be stored. Unset and empty are none; what lies before 1980 is 1980,
/// since FAT has no earlier time.
fn ceiling(value: Option<OsString>) -> Result<Option<Timestamp>> {
    let Some(value) = value.filter(|value| !value.is_empty()) else { return Ok(None) };
    let seconds = value.to_str().and_then(|text| text.parse::<i64>().ok());
    let seconds = seconds.with_context(|| {
        format!(
            "{EPOCH_VARIABLE} is {}, which is no number of seconds since 1970; unset it or correct it",
            printable::os_str(&value)
        )
    })?;
    let end = if seconds < 0 { Timestamp::MIN } else { Timestamp::MAX };
    let time = Timestamp::from_second(seconds).unwrap_or(end);
    Ok(Some(time))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_read_with_and_without_minutes() {
        let seconds = |text| {
            fixed_offset(text).and_then(|zone| zone.to_fixed_offset().ok()).map(Offset::seconds)
        };
        assert_eq!(seconds("+02:00"), Some(7200));
        assert_eq!(seconds("-0330"), Some(-12_600));
        assert_eq!(seconds("+2"), Some(7200));
        for text in ["2", "+", "+2:0", "+99:00", "+02:60", "+-2", "+０２"] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    #[test]
    fn times_are_read_in_the_zone_of_the_image() {
        let berlin = TimeZone::fixed(Offset::from_seconds(3600).expect("an hour"));
        for (text, second) in [
            ("@1700000000", 1_700_000_000),
            ("@-5", -5),
            ("2023-11-14T22:13:20Z", 1_700_000_000),
            ("2023-11-14T23:13:20", 1_700_000_000),
            ("2023-11-15", 1_700_002_800),
        ] {
            assert_eq!(
                time(text, &berlin).map(|time| time.as_second()).ok(),
                Some(second),
                "{text}"
            );
        }
        for text in ["", "@", "yesterday", "2023-13-01"] {
            assert!(time(text, &berlin).is_err(), "{text}");
        }
    }

    #[test]
    fn the_ceiling_is_a_number_or_an_error() {
        let of = |text: &str| ceiling(Some(text.into())).ok();
        assert_eq!(of(""), Some(None));
        assert_eq!(of("1700000000"), Some(Timestamp::from_second(1_700_000_000).ok()));
        assert_eq!(of("-1"), Some(Timestamp::from_second(-1).ok()));
        assert_eq!(of("yesterday"), None);
        assert_eq!(of("9223372036854775807"), Some(Some(Timestamp::MAX)));
        assert_eq!(of("9223372036854775808"), None);
    }

    #[test]
    fn a_destination_is_split_off_at_the_last_mark() {
        let split = |text: &str| {
            let place = place(OsStr::new(text)).expect("a legal place");
            (place.path, place.destination)
        };
        let names = |names: &[&str]| names.iter().map(OsString::from).collect::<Vec<_>>();
        assert_eq!(split("a:/b/c"), ("a".into(), names(&["b", "c"])));
        assert_eq!(split("a:/b:/c"), ("a:/b".into(), names(&["c"])));
        assert_eq!(split("a:/"), ("a".into(), names(&[])));
        assert_eq!(split("a:b"), ("a:b".into(), names(&[])));
        assert_eq!(split("a:/./b//"), ("a".into(), names(&["b"])));
        assert!(place(OsStr::new("a:/../b")).is_err());
    }
}
