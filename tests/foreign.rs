//! Programs of others on each kind of image: `fsck.fat` finds nothing, mtools and the `fatfs` crate
//! read the source tree back.

mod support;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use fatfs::{Dir, FatType, FileAttributes, FileSystem, FsOptions};
use fscommon::StreamSlice;
use support::fsck;
use support::{Expect, TREE_SECONDS, Tool, TreeBuilder, assert_sound, build, mkfatimg, scratch};

const SERIAL: u32 = 0xCAFE_0042;

/// A kind of image.
#[derive(Debug)]
struct Kind {
    fat_type: &'static str,
    sector_bytes: u32,
    /// `None` is the default for the size.
    cluster_bytes: Option<u32>,
    fats: u8,
    label: Option<&'static str>,
}

impl Kind {
    fn arguments(&self) -> Vec<String> {
        let mut arguments: Vec<String> =
            ["--volume-id", "CAFE-0042", "--fat-type", self.fat_type].map(String::from).into();
        arguments.extend(["--sector-size".to_owned(), self.sector_bytes.to_string()]);
        arguments.extend(["--fats".to_owned(), self.fats.to_string()]);
        if let Some(cluster_bytes) = self.cluster_bytes {
            arguments.extend(["--cluster-size".to_owned(), cluster_bytes.to_string()]);
        }
        if let Some(label) = self.label {
            arguments.extend(["--label".to_owned(), label.to_owned()]);
        }
        arguments
    }
}

/// Every sector size with every cluster size that it allows; with the default cluster, every number
/// of FATs with and without a label.
fn kinds_of(fat_type: &'static str) -> Vec<Kind> {
    let mut kinds = Vec::new();
    for sector_bytes in [512, 1024, 2048, 4096] {
        let labels = [None, Some("VOLUME NAME")];
        for (fats, label) in [(1, labels[0]), (1, labels[1]), (2, labels[0]), (2, labels[1])] {
            kinds.push(Kind { fat_type, sector_bytes, cluster_bytes: None, fats, label });
        }
        let clusters = (9..=16).map(|shift| 1 << shift).filter(|bytes| *bytes >= sector_bytes);
        for (index, cluster_bytes) in clusters.enumerate() {
            let cluster_bytes = Some(cluster_bytes);
            let (fats, label) = (1 + (index % 2) as u8, labels[index / 2 % 2]);
            kinds.push(Kind { fat_type, sector_bytes, cluster_bytes, fats, label });
        }
    }
    kinds
}

/// Names of every form and sizes around clusters. Surrogate pairs are not for mtools.
fn tree(root: &Path) -> PathBuf {
    let tree = TreeBuilder::new(root.join("tree"));
    tree.file("README.TXT", "capital\n")
        .file("lower.txt", "case bits\n")
        .file("Mixed Case.Name", "long\n")
        .file("größe-日本語.txt", "beyond ASCII\n")
        .file(format!("{}.long", "n".repeat(200)), "many parts\n")
        .file("exactly13char", "no terminator\n")
        .file("empty", "")
        .filled("bin/512", 512)
        .filled("bin/513", 513)
        .filled("bin/4096", 4096)
        .filled("bin/65536", 65_536)
        .filled("bin/65537", 65_537)
        .directory("nothing inside")
        .file("a/b/c/d/e/deep.txt", "deep\n");
    for number in 0..70 {
        tree.file(format!("many/file number {number:02}.txt"), format!("{number}\n"));
    }
    tree.settle();
    tree.root().to_path_buf()
}

/// A file's bytes and its time in seconds since 1970; `None` is a directory.
type Contents = BTreeMap<String, Option<(Vec<u8>, u64)>>;

fn contents_below(root: &Path) -> Contents {
    let mut contents = Contents::new();
    let mut unseen = vec![root.to_path_buf()];
    while let Some(directory) = unseen.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                contents.insert(name, None);
                unseen.push(path);
            } else {
                let written = path.metadata().unwrap().modified().unwrap();
                let seconds = written.duration_since(UNIX_EPOCH).unwrap().as_secs();
                contents.insert(name, Some((fs::read(&path).unwrap(), seconds)));
            }
        }
    }
    contents
}

/// Equal, or the names of what is not: the contents would fill the screen.
fn assert_same_contents(found: &Contents, wanted: &Contents, who: &str) {
    let names = |contents: &Contents| contents.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(found), names(wanted), "{who}");
    let differing: Vec<&String> =
        found.keys().filter(|name| found.get(*name) != wanted.get(*name)).collect();
    assert!(differing.is_empty(), "{who}: other contents or times: {differing:?}");
}

/// Programs of mtools, told by nothing but the image.
struct Mtools {
    copy: Tool,
    list: Tool,
    info: Tool,
}

impl Mtools {
    fn find() -> Option<Self> {
        let (copy, list, info) = (Tool::find("mcopy"), Tool::find("mdir"), Tool::find("minfo"));
        Some(Self { copy: copy?, list: list?, info: info? })
    }

    fn run(&self, tool: &Tool, image: &Path, arguments: &[&str]) -> String {
        let mut command = tool.command();
        command.env_remove("MTOOLS_SKIP_CHECK").env("MTOOLSRC", "/dev/null").arg("-i").arg(image);
        let ran = command.args(arguments).output().unwrap();
        let complaints = String::from_utf8_lossy(&ran.stderr);
        assert_eq!((ran.status.code(), &*complaints), (Some(0), ""), "{arguments:?}");
        String::from_utf8(ran.stdout).unwrap()
    }

    fn assert_reads(&self, image: &Path, source: &Path, fat_type: &str, label: Option<&str>) {
        let copied = scratch();
        let to = copied.path().to_str().unwrap();
        self.run(&self.copy, image, &["-s", "-n", "-m", "::*", to]);
        assert_same_contents(&contents_below(copied.path()), &contents_below(source), "mcopy");

        let listing = self.run(&self.list, image, &["::"]);
        let shown = label.map_or("has no label".to_owned(), |label| format!("is {label:<11}"));
        let heading = format!(" Volume in drive : {shown}\n Volume Serial Number is CAFE-0042\n");
        assert!(listing.starts_with(&heading), "{listing}");

        let info = self.run(&self.info, image, &["::"]);
        let in_boot_sector = label.unwrap_or("NO NAME");
        for line in [
            "serial number: CAFE0042".to_owned(),
            format!("disk label=\"{in_boot_sector:<11}\""),
            format!("disk type=\"FAT{fat_type}   \""),
        ] {
            assert!(info.lines().any(|told| told == line), "no {line} in\n{info}");
        }
    }
}

type Volume = FileSystem<StreamSlice<File>>;

fn open(image: &Path) -> Volume {
    let file = File::open(image).unwrap();
    let bytes = file.metadata().unwrap().len();
    FileSystem::new(StreamSlice::new(file, 0, bytes).unwrap(), FsOptions::new()).unwrap()
}

fn read_below(directory: &Dir<'_, StreamSlice<File>>, path: &str, contents: &mut Contents) {
    for entry in directory.iter() {
        let entry = entry.unwrap();
        let name = entry.file_name();
        if [".", ".."].contains(&name.as_str()) {
            continue;
        }
        let path = format!("{path}{name}");
        let written = entry.modified();
        let (date, time) = (written.date, written.time);
        assert_eq!(
            (date.year, date.month, date.day, time.hour, time.min, time.sec),
            (2024, 2, 29, 12, 0, 0),
            "{path}"
        );
        if entry.is_dir() {
            assert_eq!(entry.attributes(), FileAttributes::DIRECTORY, "{path}");
            read_below(&entry.to_dir(), &format!("{path}/"), contents);
            contents.insert(path, None);
        } else {
            assert_eq!(entry.attributes(), FileAttributes::ARCHIVE, "{path}");
            let mut bytes = Vec::new();
            entry.to_file().read_to_end(&mut bytes).unwrap();
            assert_eq!(entry.len(), bytes.len() as u64, "{path}");
            contents.insert(path, Some((bytes, TREE_SECONDS)));
        }
    }
}

fn assert_fatfs_reads(image: &Path, source: &Path, fat_type: &str, label: Option<&str>) {
    let volume = open(image);
    let wanted_type = match fat_type {
        "12" => FatType::Fat12,
        "16" => FatType::Fat16,
        _ => FatType::Fat32,
    };
    assert_eq!(volume.fat_type(), wanted_type);
    assert_eq!(volume.volume_id(), SERIAL);
    assert_eq!(volume.volume_label(), label.unwrap_or("NO NAME"));
    let in_root = volume.read_volume_label_from_root_dir().unwrap();
    assert_eq!(in_root.as_deref(), label);
    let flags = volume.read_status_flags().unwrap();
    assert!(!flags.dirty() && !flags.io_error());
    let mut contents = Contents::new();
    read_below(&volume.root_dir(), "", &mut contents);
    assert_same_contents(&contents, &contents_below(source), "fatfs");
}

fn assert_others_read(kinds: &[Kind]) {
    let scratch = scratch();
    let source = tree(scratch.path());
    let image = scratch.path().join("image");
    let (fsck, mtools) = (Tool::find("fsck.fat"), Mtools::find());
    for kind in kinds {
        let mut command = mkfatimg();
        command.arg("--from").arg(&source).args(kind.arguments()).arg(&image);
        let ran = command.output().unwrap();
        assert!(ran.status.success(), "{kind:?}: {}", String::from_utf8_lossy(&ran.stderr));
        let expect = Expect {
            fats: Some(kind.fats),
            volume_id: Some(SERIAL),
            label: Some(kind.label.map(str::to_owned)),
            hidden_sectors: Some(0),
            align_bytes: kind.cluster_bytes.filter(|bytes| *bytes >= 4096).map(|_| 4096),
            cluster_64k: kind.cluster_bytes == Some(65_536),
            source: Some(source.clone()),
            times: true,
            ..Expect::default()
        };
        assert_sound(&image, &expect);
        if let Some(fsck) = &fsck {
            fsck::assert_accepts(fsck, &image);
        }
        if let Some(mtools) = &mtools {
            mtools.assert_reads(&image, &source, kind.fat_type, kind.label);
        }
        assert_fatfs_reads(&image, &source, kind.fat_type, kind.label);
    }
}

#[test]
fn fat12_with_every_sector_and_cluster_is_read_by_others() {
    assert_others_read(&kinds_of("12"));
}

#[test]
fn fat16_with_every_sector_and_cluster_is_read_by_others() {
    assert_others_read(&kinds_of("16"));
}

#[test]
fn fat32_with_every_sector_and_cluster_is_read_by_others() {
    assert_others_read(&kinds_of("32"));
}

#[test]
fn classic_floppies_are_read_by_others() {
    let scratch = scratch();
    let source = tree(scratch.path());
    let image = scratch.path().join("image");
    for size in ["360K", "720K", "1200K", "1440K", "2880K"] {
        for label in [None, Some("FLOPPY")] {
            let mut arguments = vec!["--volume-id", "CAFE-0042", "--size", size];
            arguments.extend(label.iter().flat_map(|label| ["--label", label]));
            build(&source, &image, &arguments);
            if let Some(fsck) = Tool::find("fsck.fat") {
                fsck::assert_accepts(&fsck, &image);
            }
            if let Some(mtools) = Mtools::find() {
                mtools.assert_reads(&image, &source, "12", label);
            }
            assert_fatfs_reads(&image, &source, "12", label);
        }
    }
}

#[test]
fn names_with_surrogate_pairs_are_read_by_fatfs() {
    let scratch = scratch();
    let tree = TreeBuilder::new(scratch.path().join("tree"));
    tree.file("😀.txt", "face\n").file("𝄞/𝄢 and more.txt", "clefs\n").settle();
    let image = scratch.path().join("image");
    for fat_type in ["12", "16", "32"] {
        build(tree.root(), &image, &["--fat-type", fat_type, "--volume-id", "CAFE-0042"]);
        if let Some(fsck) = Tool::find("fsck.fat") {
            fsck::assert_accepts(&fsck, &image);
        }
        assert_fatfs_reads(&image, tree.root(), fat_type, None);
    }
}
