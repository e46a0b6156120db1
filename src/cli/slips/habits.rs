//! Flags of other tools, and what they are here: mkfs.fat, makefs, genimage, mke2fs and their like.
//! Knows no command line.

/// What a flag of another tool asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Habit {
    /// The image, which needs no flag.
    Image,
    /// What a flag of ours does with the same value.
    Flag(&'static str),
    /// A type of FAT (`32`, `fat32`) or of file system (`msdos`).
    Type,
    /// makefs's `fat_type=32,volume_label=X`; to others `-o` is the image.
    Options,
    /// mkfs.fat's sectors per cluster (`8`), or makefs's size of the image (`5g`).
    ClusterOrSize,
    /// mkfs.fat's copies of the FAT (`2`); to others `-f` overwrites what is there, as we always do.
    FatsOrForce,
    /// mkfs.fat's `HEADS/SECTORS`.
    Tracks,
    /// mkfs.fat's order to make the file: the size follows the image, in blocks of 1 KiB.
    Create,
    /// Seconds since 1970.
    Seconds,
    /// mkfs.fat's and makefs's serial number (`1234abcd`), or the image of mtools.
    IdOrImage,
    /// mkfs.fat's sector of the backup (`6`), or makefs's room that stays free (`10m`).
    BackupOrFree,
    /// What a flag of ours does, with this value if it has one; no value.
    Ours(&'static str, Option<&'static str>),
    /// What is done here always; no value.
    Always,
    /// What nothing replaces, and why nothing is lost by that; the rest stands without it.
    Nothing(Takes, &'static str),
    /// What makes the whole command another one: what to do instead. No command is named, for it
    /// would write over what the flag spares.
    Instead(&'static str),
}

/// Whether a flag that nothing replaces has a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    /// None but what touches it.
    None,
    /// A number, if one follows.
    Number,
    /// The next word.
    Word,
}

/// Of an offset into a disk.
pub(super) const INTO_A_DISK: &str = "--into IMAGE@BYTE replaces the volume that begins there in a \
     disk image, and --partition-table makes a new disk around the volume";

/// Of a flag of mtools whose image is there.
pub(super) const ADDS: &str =
    "mcopy adds to an image that exists; here OUT is made anew, and replaces one of that name";

/// Of what mtools does with an image besides putting files into it.
pub(super) const READS: &str = "images are only made here; read and change them with mtools";

/// The flags, as typed.
const HABITS: [(&[&str], Habit); 38] = [
    (&["--output", "--out", "--outfile", "--image", "--to"], Habit::Image),
    (
        &["--rootdir", "--root", "--rootpath", "--inputpath", "--source", "--src", "--input"],
        Habit::Flag("--from"),
    ),
    (&["-d", "--dir", "--directory"], Habit::Flag("--from")),
    (&["-F", "-t", "--fat", "--type", "--fstype"], Habit::Type),
    (&["-o"], Habit::Options),
    (&["-s"], Habit::ClusterOrSize),
    (&["-f"], Habit::FatsOrForce),
    (&["-g"], Habit::Tracks),
    (&["-C"], Habit::Create),
    (&["-I", "--invariant"], Habit::Always),
    (&["-n", "-L", "--name", "--volume-label", "--volume-name"], Habit::Flag("--label")),
    (&["-i"], Habit::IdOrImage),
    (&["-U", "--volid", "--serial", "--uuid"], Habit::Flag("--volume-id")),
    (&["-S"], Habit::Flag("--sector-size")),
    (&["-R"], Habit::Flag("--reserved-sectors")),
    (&["-r"], Habit::Flag("--root-entries")),
    (&["-M"], Habit::Flag("--media")),
    (&["-j"], Habit::Flag("--jobs")),
    (&["-T"], Habit::Seconds),
    (&["-a"], Habit::Ours("--align", Some("512"))),
    (&["-b"], Habit::BackupOrFree),
    (&["--image-size"], Habit::Flag("--size")),
    (&["--block-size"], Habit::Flag("--cluster-size")),
    (&["--bootcode", "--boot-sector"], Habit::Flag("--boot-code")),
    (&["--hidden"], Habit::Flag("--hidden-sectors")),
    (&["--offset", "-O"], Habit::Instead(INTO_A_DISK)),
    (
        &["--config"],
        Habit::Instead(
            "what genimage's file says of an image, flags say here: docs/from-mtools.md has each",
        ),
    ),
    (&["-c"], Habit::Nothing(Takes::None, "image files have no bad blocks")),
    (&["-l"], Habit::Nothing(Takes::Word, "image files have no bad blocks")),
    (&["-m"], Habit::Nothing(Takes::Word, "--boot-code takes code of your own that shows a text")),
    (&["-A"], Habit::Nothing(Takes::None, "there is no Atari variant")),
    (&["--variant"], Habit::Nothing(Takes::Word, "there is no Atari variant")),
    (&["-D"], Habit::Nothing(Takes::Number, "the drive is 80 with media F8, else 00")),
    (&["--mbr"], Habit::Nothing(Takes::None, "no table is faked over the volume")),
    (&["--codepage"], Habit::Nothing(Takes::Word, "labels are ASCII")),
    (&["--outputpath"], Habit::Nothing(Takes::Word, "OUT is the path of the image")),
    (&["--tmppath"], Habit::Nothing(Takes::Word, "there are no files in between")),
    (&["--includepath"], Habit::Nothing(Takes::Word, "there is no file to include")),
];

/// The flags of mcopy, as typed; they mean so where a word names a path in the image (`::/`).
const MCOPY_HABITS: [(&[&str], Habit); 6] = [
    (&["-i"], Habit::Image),
    (&["-b", "-m", "-n", "-Q", "-s"], Habit::Always),
    (&["-o"], Habit::Ours("--overlay", None)),
    (&["-p"], Habit::Ours("--keep-readonly", None)),
    (&["-D"], Habit::Nothing(Takes::Word, "--clash tells what becomes of names that are one")),
    (&["-a", "-t", "-T"], Habit::Nothing(Takes::None, "files are stored as they are")),
];

/// What follows `-o` of makefs, before the `=`.
const OPTIONS: [(&str, &str); 16] = [
    ("OEM_string", "--oem-name"),
    ("block_size", "--cluster-size"),
    ("bootstrap", "--boot-code"),
    ("bytes_per_sector", "--sector-size"),
    ("create_size", "--size"),
    ("directory_entries", "--root-entries"),
    ("drive_heads", "--heads"),
    ("fat_type", "--fat-type"),
    ("hidden_sectors", "--hidden-sectors"),
    ("media_descriptor", "--media"),
    ("num_FAT", "--fats"),
    ("reserved_sectors", "--reserved-sectors"),
    ("sectors_per_track", "--sectors-per-track"),
    ("size", "--size"),
    ("volume_id", "--volume-id"),
    ("volume_label", "--label"),
];

/// What `flag` is to other tools, or to mcopy.
pub(super) fn of(flag: &str, mcopy: bool) -> Option<Habit> {
    let mcopys = if mcopy { &MCOPY_HABITS[..] } else { &[] };
    let mut habits = mcopys.iter().chain(&HABITS);
    habits.find(|(flags, _)| flags.contains(&flag)).map(|(_, habit)| *habit)
}

/// Our flag for an option of makefs.
pub(super) fn of_option(name: &str) -> Option<&'static str> {
    OPTIONS.iter().find(|(option, _)| *option == name).map(|(_, flag)| *flag)
}

/// What `--fat-type` takes for a type as others write it, or nothing where any FAT is meant; `None`
/// for what is no FAT.
pub(super) fn bits(kind: &str) -> Option<Option<&'static str>> {
    let kind = kind.to_ascii_lowercase();
    let number = ["msdos", "vfat", "fat", "dos"]
        .iter()
        .find_map(|family| kind.strip_prefix(family))
        .map_or(kind.as_str(), |number| number.trim_start_matches(['-', '_']));
    match number {
        "" if !kind.is_empty() => Some(None),
        _ => ["12", "16", "32"].into_iter().find(|bits| *bits == number).map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flag_that_is_named_is_ours_and_no_habit_is() {
        let mut ours = crate::cli::command();
        ours.build();
        let is_ours = |flag: &str| {
            ours.get_arguments().any(|arg| {
                arg.get_long().is_some_and(|long| flag == format!("--{long}"))
                    || arg.get_short().is_some_and(|short| flag == format!("-{short}"))
            })
        };
        for (flags, habit) in HABITS.into_iter().chain(MCOPY_HABITS) {
            assert!(!flags.iter().any(|flag| is_ours(flag)), "{flags:?}");
            if let Habit::Flag(flag) | Habit::Ours(flag, _) = habit {
                assert!(is_ours(flag), "{flag}");
            }
        }
        assert!(OPTIONS.iter().all(|(_, flag)| is_ours(flag)));
    }

    #[test]
    fn types_are_known_by_many_names() {
        for (typed, meant) in [
            ("32", Some(Some("32"))),
            ("FAT32", Some(Some("32"))),
            ("fat-16", Some(Some("16"))),
            ("vfat12", Some(Some("12"))),
            ("msdos", Some(None)),
            ("VFAT", Some(None)),
            ("", None),
            ("ext4", None),
            ("64", None),
            ("exfat", None),
        ] {
            assert_eq!(bits(typed), meant, "{typed}");
        }
    }
}
