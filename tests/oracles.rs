//! Judges that others wrote, called through a folder of scripts: eight readers, the driver of Linux
//! and UEFI firmware accept images of every kind.

mod support;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use support::{
    Expect, Oracle, TREE_SECONDS, TempDir, TreeBuilder, build_with, firmware, invariants, scratch,
    set_time, skip,
};

const SERIAL: u32 = 0xCAFE_0042;

/// A kind of image.
#[derive(Debug, Clone, Copy)]
struct Kind {
    fat_type: u8,
    sector_bytes: u32,
    cluster_bytes: u32,
    fats: u8,
    label: Option<&'static str>,
    /// Long names also where case bits would do.
    always_long: bool,
    /// More arguments.
    others: &'static [&'static str],
}

impl Kind {
    /// Both FATs, no label, case bits.
    fn plain(fat_type: u8, sector_bytes: u32, cluster_bytes: u32) -> Self {
        let (fats, label, always_long) = (2, None, false);
        Self { fat_type, sector_bytes, cluster_bytes, fats, label, always_long, others: &[] }
    }

    fn with(self, others: &'static [&'static str]) -> Self {
        Self { others, ..self }
    }

    /// Builds it from `source`, which the invariants are held against as well.
    fn build(&self, source: &Path, image: &Path) {
        let mut arguments: Vec<String> =
            ["--volume-id", "CAFE-0042", "--fats", &self.fats.to_string()]
                .map(str::to_owned)
                .into();
        arguments.extend(["--fat-type".to_owned(), self.fat_type.to_string()]);
        arguments.extend(["--sector-size".to_owned(), self.sector_bytes.to_string()]);
        arguments.extend(["--cluster-size".to_owned(), self.cluster_bytes.to_string()]);
        arguments.extend(self.label.iter().flat_map(|label| ["--label", label]).map(str::to_owned));
        if self.always_long {
            arguments.extend(["--long-names", "always"].map(str::to_owned));
        }
        arguments.extend(self.others.iter().map(|&argument| argument.to_owned()));
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let expect = Expect {
            fats: Some(self.fats),
            volume_id: Some(SERIAL),
            label: Some(self.label.map(str::to_owned)),
            cluster_64k: self.cluster_bytes == 65_536,
            source: Some(source.to_path_buf()),
            times: true,
            ..Expect::default()
        };
        build_with(source, image, &arguments, &expect);
    }

    /// What `file`, `blkid` and `minfo` must call it; `blkid` gives the label as for a shell.
    fn facts(&self) -> String {
        let (bits, label) = (self.fat_type, self.label.unwrap_or_default().replace(' ', r"\ "));
        let told = |who: &str| format!("{who} FAT{bits} {SERIAL:08x}");
        format!("{}, {}, {}, label {label}", told("file"), told("blkid"), told("minfo"))
    }
}

/// Every sector size with every cluster size that it allows; the rest takes turns.
fn kinds_of(fat_type: u8) -> Vec<Kind> {
    let mut kinds = Vec::new();
    for sector_bytes in [512, 1024, 2048, 4096] {
        let clusters = (9..=16).map(|shift| 1 << shift).filter(|bytes| *bytes >= sector_bytes);
        for (index, cluster_bytes) in clusters.enumerate() {
            kinds.push(Kind {
                fats: 2 - (index % 2) as u8,
                label: [Some("VOLUME NAME"), None][index / 2 % 2],
                always_long: index % 3 == 1,
                ..Kind::plain(fat_type, sector_bytes, cluster_bytes)
            });
        }
    }
    kinds
}

/// Names of every form, sizes around clusters, the times that FAT can hold. All readers get it.
fn tree(root: &Path) -> TreeBuilder {
    let tree = TreeBuilder::new(root.join("tree"));
    tree.file("README.TXT", "capital\n")
        .file("lower.txt", "both case bits\n")
        .file("LOWER.ext", "one case bit\n")
        .file("lower2.EXT", "the other case bit\n")
        .file("Mixed.Txt", "no case bit\n")
        .file("A Long Name in Mixed Case.text", "long\n")
        .file("several.dots.in.name.tar.gz", "dots\n")
        .file(".dotfile", "nothing before the dot\n")
        .file("a+b=c[1];d,e.txt", "not for short names\n")
        .file("%$#@!'`^(){}&-_.tx", "for short names\n")
        .file("exactly13char", "no terminator\n")
        .file("größe.txt", "Latin\n")
        .file("decomposed u\u{308}.txt", "combining\n")
        .file("日本語の名前 и кириллица.txt", "beyond Latin\n")
        .file("😀 face 𝄞.txt", "surrogate pairs\n")
        .filled("🚀/🛰 orbit.bin", 700)
        .file(format!("{}.txt", "n".repeat(230)), "234 units\n")
        .file("empty", "")
        .file("folder/empty too.dat", "")
        .directory("folder/EMPTY")
        .directory("nothing inside");
    for len in [1, 511, 512, 513, 4095, 4096, 4097, 32_768, 65_536, 65_537] {
        tree.filled(&format!("bin/{len}"), len);
    }
    let deep: Vec<String> = (1..=12).map(|level| format!("Level {level:02}")).collect();
    tree.file(format!("{}/deep.txt", deep.join("/")), "deep\n");
    for number in 0..300 {
        tree.file(format!("many/file number {number:03}.txt"), format!("{number}\n"));
    }
    tree.settle();
    for (name, seconds) in [
        ("empty", 315_532_800),        // 1980-01-01 00:00:00
        ("lower.txt", 1_000_000_001),  // an odd second
        ("Mixed.Txt", 1_709_251_199),  // 2024-02-29 23:59:59
        ("bin", 2_147_483_648),        // 2038-01-19 03:14:08
        ("README.TXT", 4_354_819_198), // 2107-12-31 23:59:58
    ] {
        set_time(&tree.root().join(name), seconds);
    }
    tree
}

/// [`tree`] with names that firmware does not copy: EDK2 opens none that begins with a blank, its
/// shell makes no path of more than some 240 units, and where it has made a long name it takes
/// `FILENA~1.TXT` for that file, also when `mcopy` made the image.
fn tree_with_harder_names(root: &Path) -> PathBuf {
    let tree = tree(root);
    for (name, contents) in [
        (" leading blank.txt", "blank\n"),
        (&"m".repeat(255), "255 units\n"),
        ("FILENA~1.TXT", "a short name that another would have\n"),
        ("filename that is longer.txt", "the other\n"),
    ] {
        tree.file(name, contents);
        set_time(&tree.root().join(name), TREE_SECONDS);
    }
    tree.root().to_path_buf()
}

/// The paths below `root`.
fn paths_below(root: &Path) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    let mut unseen = vec![root.to_path_buf()];
    while let Some(directory) = unseen.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                unseen.push(path.clone());
            }
            paths.push(path.strip_prefix(root).unwrap().to_path_buf());
        }
    }
    paths
}

/// The readers of `readers.sh` but the two that run in Python.
const FAST: [&str; 6] = ["fsck", "ident", "mtools", "7z", "sleuthkit", "grub"];

/// Each of `readers` finds in `image` what is in `source`.
fn assert_readers_accept(
    oracle: &Oracle,
    image: &Path,
    source: &Path,
    kind: Kind,
    readers: &[&str],
) {
    let only = readers.join(",");
    let arguments = [OsStr::new("--only"), only.as_ref(), image.as_ref(), source.as_ref()];
    let Some(ran) = oracle.ask(arguments) else { return };
    let paths = paths_below(source);
    let all = paths.len();
    let ascii = paths.iter().filter(|path| path.as_os_str().is_ascii()).count();
    let wanted: Vec<String> = readers
        .iter()
        .map(|&reader| match reader {
            "fsck" => "pass fsck".to_owned(),
            "ident" => format!("pass ident {}", kind.facts()),
            "grub" => "pass grub nothing of the folder is missing or different".to_owned(),
            "pyfatfs" => format!("pass pyfatfs {all} entries; names without regard to case"),
            "chan" => format!("pass chan {ascii} entries; ASCII names only"),
            _ => format!("pass {reader} {all} entries"),
        })
        .collect();
    let (skipped, found): (Vec<&str>, Vec<&str>) =
        ran.stdout.lines().partition(|line| line.starts_with("skip "));
    for line in &skipped {
        skip(&format!("{line} for {kind:?}"));
    }
    let is_skipped = |line: &&String| {
        let name = line.split(' ').nth(1).unwrap();
        skipped.iter().any(|line| line.split(' ').nth(1) == Some(name))
    };
    let wanted: Vec<&String> = wanted.iter().filter(|line| !is_skipped(line)).collect();
    assert_eq!(found, wanted, "{kind:?}: {}", ran.stderr);
    assert_eq!(ran.status, Some(0), "{kind:?}: {}", ran.stderr);
}

fn assert_readers_accept_all(fat_type: u8) {
    let Some(oracle) = Oracle::find("readers.sh") else { return };
    let scratch = scratch();
    let source = tree_with_harder_names(scratch.path());
    let image = scratch.path().join("image");
    for kind in kinds_of(fat_type) {
        kind.build(&source, &image);
        let mut readers = FAST.to_vec();
        // pyfatfs takes four to six seconds for one image, all others together one to three.
        if [512, 4096].contains(&kind.sector_bytes) && kind.cluster_bytes == kind.sector_bytes {
            readers.push("pyfatfs");
        }
        // This build of ChaN's FatFs refuses every volume with larger sectors: mount ends with 13,
        // no file system.
        if kind.sector_bytes == 512 {
            readers.push("chan");
        }
        assert_readers_accept(&oracle, &image, &source, kind, &readers);
    }
}

#[test]
fn fat12_with_every_sector_and_cluster_is_read_by_eight_readers() {
    assert_readers_accept_all(12);
}

#[test]
fn fat16_with_every_sector_and_cluster_is_read_by_eight_readers() {
    assert_readers_accept_all(16);
}

#[test]
fn fat32_with_every_sector_and_cluster_is_read_by_eight_readers() {
    assert_readers_accept_all(32);
}

#[test]
fn floppies_and_empty_volumes_are_read_by_eight_readers() {
    let Some(oracle) = Oracle::find("readers.sh") else { return };
    let scratch = scratch();
    let source = tree_with_harder_names(scratch.path());
    let empty = TreeBuilder::new(scratch.path().join("no entries"));
    let image = scratch.path().join("image");
    let all = [&FAST[..], &["pyfatfs", "chan"]].concat();
    for (kind, source) in [
        (Kind::plain(12, 512, 512).with(&["--size", "1440K"]), source.as_path()),
        (Kind::plain(12, 512, 1024).with(&["--size", "2880K"]), source.as_path()),
        (Kind::plain(12, 512, 4096).with(&["--size", "64K"]), empty.root()),
        (Kind::plain(16, 512, 512), empty.root()),
        (Kind::plain(32, 512, 512), empty.root()),
    ] {
        kind.build(source, &image);
        assert_readers_accept(&oracle, &image, source, kind, &all);
    }
}

#[test]
fn the_smallest_volume_that_we_choose_is_read_by_eight_readers() {
    let Some(oracle) = Oracle::find("readers.sh") else { return };
    let scratch = scratch();
    let tree = TreeBuilder::new(scratch.path().join("tree"));
    tree.file("config.txt", "setting=1\n").settle();
    let image = scratch.path().join("image");
    let seven = [&FAST[..], &["pyfatfs"]].concat();
    let kind = Kind::plain(12, 512, 4096);
    kind.build(tree.root(), &image);
    assert_eq!(image.metadata().unwrap().size(), 128 * 512);
    assert_readers_accept(&oracle, &image, tree.root(), kind, &[&seven[..], &["chan"]].concat());
    // ChaN's FatFs refuses 127 sectors of the same as no file system; the others read them.
    let kind = kind.with(&["--size", "65024"]);
    kind.build(tree.root(), &image);
    assert_readers_accept(&oracle, &image, tree.root(), kind, &seven);
}

/// Builds one image of each kind, numbered from 1.
fn build_all(kinds: &[Kind], source: &Path, scratch: &TempDir) -> Vec<PathBuf> {
    let image_of = |(index, kind): (usize, &Kind)| {
        let image = scratch.path().join(format!("{}.image", index + 1));
        kind.build(source, &image);
        image
    };
    kinds.iter().enumerate().map(image_of).collect()
}

/// The lines that say what became of each image, `ok` for all.
fn all_ok(images: &[PathBuf]) -> Vec<String> {
    let told =
        |(index, image): (usize, &PathBuf)| format!("# {} ok {}", index + 1, image.display());
    images.iter().enumerate().map(told).collect()
}

/// Size, time and attributes of each path, directories with size 0.
type Listing = BTreeMap<String, (u64, i64, String)>;

/// What Linux must show: sizes, times on even seconds, and the archive attribute of files.
fn listing_wanted(source: &Path) -> Listing {
    let shown = |path: PathBuf| {
        let found = source.join(&path).metadata().unwrap();
        let (bytes, attributes) = if found.is_dir() { (0, "d") } else { (found.len(), "a") };
        let seconds = found.mtime() / 2 * 2;
        (path.to_str().unwrap().to_owned(), (bytes, seconds, attributes.to_owned()))
    };
    paths_below(source).into_iter().map(shown).collect()
}

/// The listing and the volume line of the oracle's file.
fn listing_found(file: &Path) -> (Listing, String) {
    let mut listing = Listing::new();
    let mut volume = String::new();
    for line in fs::read_to_string(file).unwrap().lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            let is_volume = comment.split(' ').nth(1) == Some("volume");
            volume = if is_volume { comment.to_owned() } else { volume };
            continue;
        }
        let columns: Vec<&str> = line.split('\t').collect();
        let [_, bytes, seconds, attributes, _, path] = columns[..] else { panic!("{line}") };
        let shown = (bytes.parse().unwrap(), seconds.parse().unwrap(), attributes.to_owned());
        listing.insert(path.to_owned(), shown);
    }
    (listing, volume)
}

/// Linux mounts an image of each kind, shows all of `source` with the right contents, times and
/// attributes, and counts the clusters that the FAT has.
fn assert_linux_shows(kinds: &[Kind], source: &Path, scratch: &TempDir, options: &[&str]) {
    let Some(oracle) = Oracle::find("linux-mount.sh") else { return };
    let images = build_all(kinds, source, scratch);
    let listings = scratch.path().join("listings");
    let mut arguments: Vec<OsString> = options.iter().map(OsString::from).collect();
    arguments.extend(["--mtime".into(), "--compare".into(), source.into()]);
    arguments.extend(["--outdir".into(), listings.clone().into()]);
    arguments.extend(images.iter().map(OsString::from));
    let Some(ran) = oracle.ask(arguments) else { return };
    assert_eq!(ran.stdout.lines().collect::<Vec<_>>(), all_ok(&images), "{}", ran.stderr);
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);

    // The oracle compares times later than 2038 to six digits only, and attributes not at all.
    let wanted = listing_wanted(source);
    for (index, image) in images.iter().enumerate() {
        let number = index + 1;
        let (found, shown) = listing_found(&listings.join(format!("{number}.tsv")));
        let names = |listing: &Listing| listing.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&found), names(&wanted), "{:?}", kinds[index]);
        for (path, entry) in &found {
            assert_eq!(entry, &wanted[path], "{path}: {:?}", kinds[index]);
        }
        let volume = invariants::read(image, 0).unwrap();
        let (clusters, free) = (volume.geometry.cluster_count, volume.free_clusters().count());
        let cluster_bytes = kinds[index].cluster_bytes;
        assert_eq!(shown, format!("{number} volume {clusters} {free} {cluster_bytes}"));
    }
}

#[test]
fn linux_mounts_every_type_with_the_smallest_and_the_largest_clusters_of_every_sector() {
    let scratch = scratch();
    let source = tree_with_harder_names(scratch.path());
    let of_type = |fat_type| {
        let outermost = |kind: &Kind| [kind.sector_bytes, 65_536].contains(&kind.cluster_bytes);
        kinds_of(fat_type).into_iter().filter(outermost)
    };
    let kinds: Vec<Kind> = [12, 16, 32].into_iter().flat_map(of_type).collect();
    // As many as one boot takes.
    assert_eq!(kinds.len(), 24);
    assert_linux_shows(&kinds, &source, &scratch, &[]);
}

#[test]
fn linux_mounts_sectors_of_4096_on_a_disk_of_such_sectors() {
    let scratch = scratch();
    let source = tree_with_harder_names(scratch.path());
    let kinds = [12, 16, 32].map(|fat_type| Kind::plain(fat_type, 4096, 4096));
    assert_linux_shows(&kinds, &source, &scratch, &["--block-size", "4096"]);
}

#[test]
fn linux_writes_renames_deletes_and_fills_every_type_to_the_last_cluster() {
    let Some(oracle) = Oracle::find("linux-mount.sh") else { return };
    let scratch = scratch();
    let source = tree_with_harder_names(scratch.path());
    let kinds = [
        Kind::plain(12, 512, 512).with(&["--free", "64K"]),
        Kind { fats: 1, ..Kind::plain(12, 4096, 4096).with(&["--free", "64K"]) },
        // The most clusters that FAT12 gets.
        Kind::plain(12, 512, 512).with(&["--size", "2112000"]),
        Kind::plain(16, 512, 512),
        Kind { fats: 1, ..Kind::plain(16, 4096, 4096) },
        // The most clusters that FAT16 gets.
        Kind::plain(16, 512, 512).with(&["--size", "33819136"]),
        Kind::plain(32, 512, 512),
    ];
    let images = build_all(&kinds, &source, &scratch);
    let clusters_of = |image: &PathBuf| invariants::read(image, 0).unwrap().geometry.cluster_count;
    assert_eq!((clusters_of(&images[2]), clusters_of(&images[5])), (4068, 65_508));

    let mut arguments = vec![OsString::from("--rw-smoke"), "--rw-fill".into()];
    arguments.extend(images.iter().map(OsString::from));
    let Some(ran) = oracle.ask(arguments) else { return };
    let told = format!("{}{}", ran.stdout, ran.stderr);
    assert_eq!(ran.status, Some(0), "{told}");
    for line in all_ok(&images) {
        assert!(ran.stdout.lines().any(|told| told == line), "no {line} in\n{told}");
    }
    // No step was passed over for lack of files or of room.
    let steps: Vec<&str> = ran.stdout.lines().filter(|line| !line.contains(" volume ")).collect();
    let passed_over: Vec<_> = steps.iter().filter(|line| !line.contains(" ok ")).collect();
    assert!(passed_over.is_empty(), "{passed_over:?}");
    for number in 1..=kinds.len() {
        for step in ["delete", "mkdir in", "write", "rename", "fill:", "mount again", "read back"] {
            let begin = format!("# {number} ok {step}");
            assert!(steps.iter().any(|line| line.starts_with(&begin)), "no {begin} in\n{told}");
        }
    }
}

/// [`tree`] with a program that UEFI firmware boots; `None` if it cannot be had.
fn bootable_tree(oracle: &Oracle, root: &Path) -> Option<PathBuf> {
    let tree = tree(root);
    firmware::make_bootable(oracle, &tree)?;
    Some(tree.root().to_path_buf())
}

#[test]
fn uefi_firmware_boots_every_type_and_copies_out_all_files() {
    let Some(oracle) = Oracle::find("uefi-boot.sh") else { return };
    let scratch = scratch();
    let Some(source) = bootable_tree(&oracle, scratch.path()) else { return };
    let image = scratch.path().join("image");
    for fat_type in [12, 16, 32] {
        let kind = Kind { label: Some("EFI"), ..Kind::plain(fat_type, 512, 512) };
        kind.build(&source, &image);
        firmware::assert_boots(&oracle, &image, &[], &format!("{kind:?}"));

        let options = ["--copy-out", "--compare"].map(OsStr::new);
        let Some(ran) = oracle.ask(options.into_iter().chain([source.as_ref(), image.as_ref()]))
        else {
            continue;
        };
        assert_eq!(ran.status, Some(0), "{kind:?}: {}{}", ran.stdout, ran.stderr);
        let begin = format!("ok {} ({} entries ", image.display(), paths_below(&source).len());
        assert!(ran.stdout.starts_with(&begin), "no {begin} in {}", ran.stdout);
    }
}

#[test]
fn uefi_firmware_boots_sectors_of_4096_from_a_disk_of_such_sectors() {
    let Some(oracle) = Oracle::find("uefi-boot.sh") else { return };
    let scratch = scratch();
    let Some(source) = bootable_tree(&oracle, scratch.path()) else { return };
    let image = scratch.path().join("image");
    for fat_type in [12, 16, 32] {
        let kind = Kind::plain(fat_type, 4096, 4096);
        kind.build(&source, &image);
        let options = ["--block-size", "4096"];
        firmware::assert_boots(&oracle, &image, &options, &format!("{kind:?}"));
    }
}
