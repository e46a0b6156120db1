//! Programs of others on each kind of image: `fsck.fat` finds nothing, mtools and the `fatfs` crate
//! read the source tree back.

mod support;

use std::path::{Path, PathBuf};

use fatfs::FatType;
use support::{Expect, Tool, TreeBuilder, assert_sound, build, mkfatimg, scratch};
use support::{contents, fatfs_reader, fsck};

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
        contents::assert_same(&contents::below(copied.path()), &contents::below(source), "mcopy");

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

fn assert_fatfs_reads(image: &Path, source: &Path, fat_type: &str, label: Option<&str>) {
    let volume = fatfs_reader::open_all(image);
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
    let found = fatfs_reader::contents(&volume);
    contents::assert_same(&found, &contents::below(source), "fatfs");
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
