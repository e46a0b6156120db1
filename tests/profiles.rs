//! Profiles: what each makes, judged by the programs of others, what each refuses, word for word, and
//! that a refusal's advice leads to an image.

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use mkfatimg::disk::{Scheme, Table};
use mkfatimg::fat::kind::FatKind::{Fat12, Fat16, Fat32};
use mkfatimg::plan::request::{DiskWish, Free, ImageSize, TableWish};
use mkfatimg::plan::{Plan, Problem, Problems, Profile};
use mkfatimg::{Error, Request};
use serde_json::{Value, json};
use support::fsck;
use support::{
    Expect, Ran, Tool, TreeBuilder, Workplace, assert_sound, mkfatimg, request, scratch,
};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const SECTOR_BYTES: u64 = 512;

/// A tree with names that every consumer reads.
fn tree(root: &Path) -> PathBuf {
    let tree = TreeBuilder::new(root.join("tree"));
    tree.filled("kernel.img", 9_000)
        .file("config.txt", "text\n")
        .filled("a long name/larger", 3_123);
    tree.file("empty", "").settle();
    tree.root().to_path_buf()
}

fn plan(request: &Request) -> Result<Plan, Problems> {
    mkfatimg::plan(request, &()).map_err(|error| match error {
        Error::Refused(problems) => problems,
        other => panic!("{other}"),
    })
}

fn of_profile(source: &Path, profile: Profile, size: ImageSize) -> Request {
    Request { profile: Some(profile), size, ..request(source) }
}

/// A place with the sources `src`, of one small file, and `large`, of 40 MiB.
fn workplace() -> Workplace {
    let place = Workplace::new();
    TreeBuilder::new(place.path("src")).file("file.txt", "hello").settle();
    TreeBuilder::new(place.path("large"));
    fs::File::create(place.path("large/file")).unwrap().set_len(40 * MIB).unwrap();
    place
}

/// Holds what `mkfatimg --from src --profile ... --dry-run` says against `text`.
fn assert_refused(place: &Workplace, line: &str, status: i32, text: &str) {
    let mut arguments: Vec<&str> = line.split(' ').collect();
    if !line.contains("--from") {
        arguments.splice(0..0, ["--from", "src"]);
    }
    arguments.splice(0..0, ["--dry-run"]);
    let position = arguments.iter().position(|word| Profile::ALL.iter().any(|p| p.id() == *word));
    arguments.insert(position.unwrap(), "--profile");
    let ran = place.run(&arguments);
    assert_eq!(ran.stderr, format!("mkfatimg: {text}\n"), "{line}");
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(status), ""), "{line}");
}

#[test]
fn what_a_consumer_does_not_read_is_refused_with_what_it_reads() {
    let place = workplace();
    for (line, status, text) in [
        (
            "esp --partition-table mbr --partition-type 0C",
            2,
            "--profile esp: firmware looks for partitions of the type EFI system; leave out --partition-type",
        ),
        (
            "esp --partition-table gpt --partition-type EBD0A0A2-B9E5-4433-87C0-68B6B72699C7",
            2,
            "--profile esp: firmware looks for partitions of the type EFI system; leave out --partition-type",
        ),
        (
            "esp --partition-start 2M",
            2,
            "--partition-start is of a partition table, and none is made; use --partition-table mbr or gpt",
        ),
        (
            "esp --cluster-size 64K",
            2,
            "--profile esp: not all firmware reads clusters of more than 32K; use --cluster-size 32K or less",
        ),
        (
            "esp --root-entries 512",
            2,
            "--profile esp: firmware reads FAT32 on every disk, and the others on removable media; leave out --root-entries, or add --fat-type 16",
        ),
        (
            "raspberry-pi --partition-table gpt",
            2,
            "--profile raspberry-pi: the boot ROMs up to the Pi 3 read no table but MBR; use --partition-table mbr",
        ),
        (
            "raspberry-pi --partition-type esp",
            2,
            "--profile raspberry-pi: the boot ROMs up to the Pi 3 know FAT by the types 0C and 0E; leave out --partition-type",
        ),
        (
            "raspberry-pi --partition-type 0E",
            2,
            "--profile raspberry-pi: the boot ROMs up to the Pi 3 know FAT by the types 0C and 0E; leave out --partition-type",
        ),
        (
            "raspberry-pi --fat-type 12",
            2,
            "--profile raspberry-pi: every Raspberry Pi starts from FAT32, and all but some Compute Modules 3 from FAT16; leave out --fat-type",
        ),
        (
            "raspberry-pi --sector-size 4096",
            2,
            "--profile raspberry-pi: boot ROMs read sectors of 512 bytes; leave out --sector-size",
        ),
        (
            "raspberry-pi --cluster-size 64K",
            2,
            "--profile raspberry-pi: clusters of more than 32K are not known to start; use --cluster-size 32K or less",
        ),
        (
            "sd-card --partition-table gpt",
            2,
            "--profile sd-card: memory cards have an MBR; use --partition-table mbr",
        ),
        (
            "sd-card --partition-table none",
            2,
            "--profile sd-card: memory cards have an MBR; leave out --partition-table",
        ),
        (
            "sd-card --partition-start 1M",
            2,
            "--profile sd-card: the capacity decides over the layout of a memory card; leave out --partition-start",
        ),
        (
            "sd-card --partition-type 0C",
            2,
            "--profile sd-card: the capacity decides over the type of the partition; leave out --partition-type",
        ),
        (
            "sd-card --fat-type 32",
            2,
            "--profile sd-card: the capacity decides over the layout of a memory card; leave out --fat-type",
        ),
        (
            "sd-card --fats 1",
            2,
            "--profile sd-card: the capacity decides over the layout of a memory card; leave out --fats",
        ),
        (
            "sd-card --sector-size 4096",
            2,
            "--profile sd-card: memory cards have sectors of 512 bytes; leave out --sector-size",
        ),
        (
            "floppy-1440 --size 2M",
            2,
            "--profile floppy-1440: is 1440K to the byte, not 2M; leave out --size",
        ),
        (
            "floppy-720 --cluster-size 512",
            2,
            "--profile floppy-720: the layout of a floppy is fixed; leave out --cluster-size",
        ),
        (
            "floppy-720 --media F0",
            2,
            "--profile floppy-720: the layout of a floppy is fixed; leave out --media",
        ),
        (
            "floppy-360 --fat-type 16",
            2,
            "--profile floppy-360: floppies have FAT12; leave out --fat-type",
        ),
        (
            "floppy-1440 --partition-table mbr",
            2,
            "--profile floppy-1440: floppies have no partition table; leave out --partition-table",
        ),
        (
            "floppy-1440 --partition-start 1M",
            2,
            "--profile floppy-1440: there is no partition table; leave out --partition-start",
        ),
        (
            "el-torito --fat-type 32",
            2,
            "--profile el-torito: the boot catalogue of a CD counts too few sectors for FAT32; leave out --fat-type",
        ),
        (
            "el-torito --partition-table gpt",
            2,
            "--profile el-torito: the boot catalogue of a CD names a bare volume; leave out --partition-table",
        ),
        (
            "el-torito --sector-size 2048",
            2,
            "--profile el-torito: the boot catalogue of a CD counts sectors of 512 bytes; leave out --sector-size",
        ),
        (
            "el-torito --size 1001K",
            2,
            "--profile el-torito: --size 1025024 is no multiple of 2048 bytes, a sector of a CD; use --size 1026048",
        ),
        (
            "usb --hidden-sectors 63",
            2,
            "--profile usb: --hidden-sectors is where the partition begins, which is known; leave it out",
        ),
        (
            "u-boot --partition-type EBD0A0A2-B9E5-4433-87C0-68B6B72699C7",
            2,
            "--profile u-boot: --partition-type is of the other kind of table than mbr; use esp, fat or a byte such as 0C",
        ),
    ] {
        assert_refused(&place, line, status, text);
    }
}

#[test]
fn what_does_not_fit_is_refused_with_what_would() {
    let place = workplace();
    for (line, text) in [
        (
            "esp --size 20M",
            "--profile esp: FAT32 is not possible in 20M: with clusters of 512 bytes it would have 40298, and FAT32 takes 65541 to 268435445; use --size 33300K or more, or use --fat-type 16 for removable media",
        ),
        (
            "esp --size 2M",
            "--profile esp: FAT32 is not possible in 2M: with clusters of 512 bytes it would have 4000, and FAT32 takes 65541 to 268435445; use --size 33300K or more, or use --fat-type 12 for removable media",
        ),
        (
            "esp --size 100M --sector-size 4096",
            "--profile esp: FAT32 is not possible in 100M: with clusters of 4096 bytes it would have 25518, and FAT32 takes 65541 to 268435445; use --size 262812K or more, or use --fat-type 16 for removable media",
        ),
        (
            "esp --size 20M --fat-type 32",
            "--profile esp: FAT32 is not possible in 20M: with clusters of 512 bytes it would have 40298, and FAT32 takes 65541 to 268435445; use --size 33300K or more, or use --fat-type 16 for removable media",
        ),
        (
            "esp --size 300M --fat-type 12",
            "--profile esp: FAT12 is not possible in 300M: with clusters of 32768 bytes it would have 9598, and FAT12 takes 1 to 4068; use --size 130239K or less, or leave out --fat-type for the type that the profile makes",
        ),
        (
            "raspberry-pi --size 20M",
            "--profile raspberry-pi: FAT32 is not possible in 20M: with clusters of 512 bytes it would have 32232, and FAT32 takes 65541 to 268435445; use --size 37396K or more, or use --fat-type 16 for all but some Compute Modules 3",
        ),
        (
            "sd-card --size 33G",
            "--profile sd-card: --size 33G is too large: memory cards of more have exFAT; use --size 32G or less",
        ),
        (
            "sd-card --size 20K",
            "--profile sd-card: --size 20K is too small for a FAT volume; the smallest is --size 40K",
        ),
        (
            "sd-card --free 40G",
            "--profile sd-card: the source needs more than 32G, and memory cards of more have exFAT; leave something out of the source",
        ),
        (
            "sd-card --from large --size 30M",
            "--profile sd-card: image of 30M is too small: the source needs 40M in clusters of 16K, and there is room for 30672K; use --size 41024K",
        ),
        (
            "floppy-360 --from large",
            "--profile floppy-360: image of 360K is too small: the source needs 40M in clusters of 1K, and there is room for 354K; no image of this kind would do; leave something out",
        ),
        (
            "el-torito --size 33M",
            "--profile el-torito: --size 33M is too large: the boot catalogue of a CD counts no farther; use --size 32766K or less",
        ),
        (
            "el-torito --from large",
            "--profile el-torito: the source needs more than 32766K, and the boot catalogue of a CD counts no farther; leave out of this image what can lie on the CD itself",
        ),
        (
            "el-torito --from large --size 30M",
            "--profile el-torito: image of 30M is too small: the source needs 40M in clusters of 4K, and there is room for 30672K; 32766K is the most, since the boot catalogue of a CD counts no farther; leave out of this image what can lie on the CD itself",
        ),
        (
            "usb --from large --size 30M",
            "--profile usb: image of 30M is too small: the source needs 40M in clusters of 4K, and there is room for 29648K; use --size 42M",
        ),
        (
            "u-boot --from large --size 30M",
            "--profile u-boot: image of 30M is too small: the source needs 40M in clusters of 4K, and there is room for 29648K; use --size 42M",
        ),
    ] {
        assert_refused(&place, line, 3, text);
    }
}

#[test]
fn a_floppy_that_is_too_small_names_a_larger_one() {
    let place = workplace();
    TreeBuilder::new(place.path("half")).filled("file", 500_000).settle();
    assert_refused(
        &place,
        "floppy-360 --from half",
        3,
        "--profile floppy-360: image of 360K is too small: the source needs 489K in clusters of 1K, and there is room for 354K; use --profile floppy-720",
    );
    let many = TreeBuilder::new(place.path("many"));
    for number in 0..120 {
        many.file(format!("{number}"), "");
    }
    assert_refused(
        &place,
        "floppy-720 --from many",
        3,
        "--profile floppy-720: root directory needs 120 entries, long names and label included, and may have 112; put the files into directories",
    );
    let ran = place.run(&["--from", "many", "--profile", "floppy-1200", "out.img"]);
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
}

#[test]
fn names_that_a_consumer_cannot_open_are_refused() {
    let place = workplace();
    let long = "n".repeat(118);
    TreeBuilder::new(place.path("names"))
        .file(" blank", "")
        .file("con", "")
        .file(format!("sub/{long}"), "")
        .file("sub/\u{100}", "")
        .file("sub/\u{E9}", "")
        .settle();
    let told = |line: &str| {
        let arguments: Vec<&str> = line.split(' ').collect();
        let ran =
            place.run(&[&["--dry-run", "--from", "names", "--profile"], &arguments[..]].concat());
        (ran.status, ran.stderr)
    };
    let refused = |lines: &[&str]| {
        let lines: String = lines.iter().map(|line| format!("mkfatimg: {line}\n")).collect();
        (Some(4), lines)
    };
    let device = "note: names/con: Windows takes this name for a device";
    let blank = "names/ blank: --profile esp: name begins with a blank, and much firmware cannot open it; rename it";
    assert_eq!(told("esp"), refused(&[blank]));
    assert_eq!(told("el-torito"), refused(&[&blank.replace("esp", "el-torito")]));
    assert_eq!(
        told("usb"),
        refused(&["names/con: --profile usb: Windows takes this name for a device; rename it"])
    );
    assert_eq!(
        told("u-boot"),
        refused(&[
            &format!(
                "names/sub/{long}: --profile u-boot: name has 118 UTF-16 units, and U-Boot reads 117; rename it"
            ),
            "names/sub/\u{100}: --profile u-boot: name has the character U+0100, and U-Boot reads none above U+00FF; rename it",
            "no image was written: 2 problems",
        ])
    );
    // Others read them all; what they should know is told as without a profile.
    for profile in ["raspberry-pi", "sd-card", "floppy-1440"] {
        let blank = "note: names/ blank: name begins with a blank";
        let (_, lines) = refused(&[device, blank]);
        assert_eq!(told(profile), (Some(0), lines), "{profile}");
    }
    // A name that is made up is judged as it is stored.
    let bad = TreeBuilder::new(place.path("bad"));
    bad.file(format!("{}:", "x".repeat(117)), "").settle();
    let ran = place.run(&[
        "--dry-run",
        "--from",
        "bad",
        "--profile",
        "u-boot",
        "--invalid-names",
        "replace",
    ]);
    assert!(ran.stderr.contains("name has 118 UTF-16 units"), "{}", ran.stderr);
    let ran = place.run(&["--dry-run", "--from", "bad", "--profile", "u-boot"]);
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
}

#[test]
fn an_efi_system_partition_that_is_no_fat32_is_for_removable_media() {
    let place = workplace();
    let arguments =
        ["--from", "src", "--profile", "esp", "--fat-type", "16", "--size", "20M", "out.img"];
    let ran = place.run(&arguments);
    let note = "mkfatimg: note: an EFI system partition of FAT16 is for removable media: on other disks firmware looks for FAT32\n";
    assert!(ran.status == Some(0) && ran.stderr.starts_with(note), "{}", ran.stderr);
}

#[test]
fn a_verbose_build_tells_what_the_profile_chose_and_why() {
    let place = workplace();
    for (line, notes) in [
        (
            "esp --size 100M",
            &[
                "no partition table: firmware reads a bare volume too; --partition-table gpt makes a whole disk",
                "FAT32: firmware reads FAT32 on every disk, and the others on removable media",
                "clusters of 1K: with larger ones this size is no FAT32",
                "refused are names that begin with a blank",
            ][..],
        ),
        (
            "raspberry-pi --size 300M",
            &[
                "partition table MBR: the boot ROMs up to the Pi 3 read no table but MBR",
                "partition at 4M: the erase blocks of most cards divide it",
                "the partition's type: the boot ROMs up to the Pi 3 know FAT by the types 0C and 0E",
                "FAT32: every Raspberry Pi starts from FAT32, and all but some Compute Modules 3 from FAT16",
                "the last cluster stays free: EEPROMs of the Pi 4 from before 2024 cannot read a file there",
            ],
        ),
        (
            "sd-card --size 1G",
            &[
                "partition table MBR: memory cards have an MBR",
                "FAT16 with clusters of 16K, the first on a boundary of 64K: the SD Association has it for cards up to 1G",
                "partition at sector 351: from an earlier boundary on, readers would not agree on the type",
                "at most 32G: memory cards of more have exFAT",
            ],
        ),
        (
            "sd-card --size 2050M",
            &[
                "partition table MBR: memory cards have an MBR",
                "FAT32 with clusters of 16K: with FAT32 in clusters of 32K, which the SD Association has for cards up to 32G, readers would not agree on the type",
                "partition at sector 8192, its clusters on the next boundary",
                "at most 32G: memory cards of more have exFAT",
            ],
        ),
        (
            "usb --partition-table gpt --fat-type 16 --size 30M --cluster-size 2K",
            &[
                "partition table GPT, as asked",
                "partition at 1M, where everybody begins it",
                "FAT16, as asked",
                "clusters of 2K, as asked",
                "refused are names that Windows takes for devices",
            ],
        ),
        (
            "floppy-2880",
            &[
                "no partition table: floppies have no partition table",
                "FAT12: floppies have FAT12",
                "2880K: the floppy's size",
            ],
        ),
        (
            "u-boot --partition-table none --size 30M",
            &[
                "no partition table, as asked",
                "FAT16: it suits the size, and U-Boot reads all three types",
                "refused are names of more than 117 UTF-16 units or with characters above U+00FF",
            ],
        ),
    ] {
        let arguments: Vec<&str> = line.split(' ').collect();
        let ran = place
            .run(&[&["--from", "src", "-v", "--dry-run", "--profile"], &arguments[..]].concat());
        let mark = format!("mkfatimg: note: --profile {}: ", arguments[0]);
        let told: Vec<&str> =
            ran.stderr.lines().filter_map(|line| line.strip_prefix(&mark)).collect();
        assert_eq!(told, notes, "{line}: {}", ran.stderr);
        // And programs, without being asked.
        let ran = place.run(
            &[&["--from", "src", "--json", "--dry-run", "--profile"], &arguments[..]].concat(),
        );
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(report["profile"]["name"], arguments[0]);
        let texts: Vec<&Value> =
            report["profile"]["choices"].as_array().unwrap().iter().map(|c| &c["text"]).collect();
        assert_eq!(json!(texts), json!(notes), "{line}");
    }
}

/// Builds an image with `arguments`, checks it, and returns its report.
fn build(source: &Path, image: &Path, arguments: &[&str]) -> Value {
    let mut command = mkfatimg();
    command.arg("--from").arg(source).args(["-q", "--json", "--verify"]).args(arguments);
    let ran: Ran = command.arg(image).output().unwrap().into();
    assert_eq!(ran.status, Some(0), "{arguments:?}: {}{}", ran.stderr, ran.stdout);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let offset = report["disk"]["partition_at_byte"].as_u64().unwrap_or(0);
    let expect = Expect {
        offset,
        hidden_sectors: Some((offset / report["volume"]["sector_bytes"].as_u64().unwrap()) as u32),
        source: Some(source.to_path_buf()),
        times: true,
        ..Expect::default()
    };
    assert_sound(image, &expect);
    assert_fsck_accepts(image, offset, report["volume"]["bytes"].as_u64().unwrap());
    report
}

/// The volume alone, for a judge that reads no partition table.
fn assert_fsck_accepts(image: &Path, offset: u64, bytes: u64) {
    let Some(fsck) = Tool::find("fsck.fat") else { return };
    let volume = image.with_extension("volume");
    let whole = fs::read(image).unwrap();
    fs::write(&volume, &whole[offset as usize..(offset + bytes) as usize]).unwrap();
    fsck::assert_accepts(&fsck, &volume);
    fs::remove_file(volume).unwrap();
}

/// Start in sectors and type of the only partition, as sfdisk sees it.
fn assert_sfdisk_sees(image: &Path, label: &str, start: u64, partition_type: &str) {
    let Some(sfdisk) = Tool::find("sfdisk") else { return };
    let ran = sfdisk.run(["--json".as_ref(), image.as_os_str()]);
    let table: Value = serde_json::from_str(&ran.stdout).unwrap();
    let table = &table["partitiontable"];
    let partition = &table["partitions"][0];
    assert_eq!(table["label"], label, "{table}");
    assert_eq!((&partition["start"], &partition["type"]), (&json!(start), &json!(partition_type)));
    assert_eq!(sfdisk.run(["--verify".as_ref(), image.as_os_str()]).status, Some(0));
}

const ESP: &str = "C12A7328-F81F-11D2-BA4B-00A0C93EC93B";

#[test]
fn images_with_tables_are_what_partitioners_see() {
    let scratch = scratch();
    let (source, image) = (tree(scratch.path()), scratch.path().join("out.img"));
    for (line, label, start, partition_type, fat_type) in [
        ("esp --partition-table gpt", "gpt", 2048, ESP, "FAT32"),
        ("esp --partition-table mbr --partition-type EF", "dos", 2048, "ef", "FAT32"),
        ("esp --partition-table gpt --fat-type 16 --size 20M", "gpt", 2048, ESP, "FAT16"),
        ("raspberry-pi", "dos", 8192, "c", "FAT32"),
        ("raspberry-pi --partition-start 1M", "dos", 2048, "c", "FAT32"),
        ("raspberry-pi --fat-type 16 --size 30M --partition-type 0e", "dos", 8192, "e", "FAT16"),
        ("usb", "dos", 2048, "e", "FAT12"),
        ("usb --size 70M --fat-type 32", "dos", 2048, "c", "FAT32"),
        ("usb --partition-table gpt --partition-type esp", "gpt", 2048, ESP, "FAT12"),
        ("u-boot --fat-type 32", "dos", 2048, "c", "FAT32"),
        ("u-boot --size 40M", "dos", 2048, "e", "FAT16"),
    ] {
        let arguments: Vec<&str> = ["--profile"].into_iter().chain(line.split(' ')).collect();
        let report = build(&source, &image, &arguments);
        assert_eq!(report["volume"]["type"], fat_type, "{line}");
        assert_sfdisk_sees(&image, label, start, partition_type);
        if let (Some(sgdisk), "gpt") = (Tool::find("sgdisk"), label) {
            let ran = sgdisk.run(["-v".as_ref(), image.as_os_str()]);
            assert!(ran.stdout.contains("No problems found"), "{line}: {}", ran.stdout);
        }
        if let Some(parted) = Tool::find("parted") {
            let ran =
                parted.run(["-s".as_ref(), "-m".as_ref(), image.as_os_str(), "print".as_ref()]);
            assert_eq!(ran.status, Some(0), "{line}: {}", ran.stderr);
            // It looks for FAT only in volumes of some size.
            let known = fat_type == "FAT12" || ran.stdout.contains(&fat_type.to_lowercase());
            assert!(known, "{line}: {}", ran.stdout);
        }
    }
}

#[test]
fn bare_images_are_the_volume() {
    let scratch = scratch();
    let (source, image) = (tree(scratch.path()), scratch.path().join("out.img"));
    for (line, fat_type) in [
        ("esp", "FAT32"),
        ("esp --partition-table none --size 300M", "FAT32"),
        ("raspberry-pi --partition-table none", "FAT32"),
        ("usb --partition-table none --size 20M", "FAT16"),
        ("u-boot --partition-table none", "FAT12"),
        ("el-torito", "FAT12"),
        ("el-torito --size 32766K", "FAT16"),
    ] {
        let arguments: Vec<&str> = ["--profile"].into_iter().chain(line.split(' ')).collect();
        let report = build(&source, &image, &arguments);
        assert_eq!(report["volume"]["type"], fat_type, "{line}");
        assert!(report.get("disk").is_none(), "{line}");
    }
}

#[test]
fn the_last_cluster_of_a_raspberry_pi_stays_free() {
    let scratch = scratch();
    let tree = TreeBuilder::new(scratch.path().join("tree"));
    tree.filled("a", 100).settle();
    let volume = |bytes| {
        let request = of_profile(tree.root(), Profile::RaspberryPi, bytes);
        plan(&request).map(|plan| *plan.geometry())
    };
    let geometry = volume(ImageSize::Bytes(40 * MIB)).unwrap();
    // The root has one cluster.
    let room = u64::from(geometry.cluster_count() - 1) * u64::from(geometry.cluster_bytes());
    let file = fs::File::create(tree.root().join("a")).unwrap();
    file.set_len(room - u64::from(geometry.cluster_bytes())).unwrap();
    assert_eq!(volume(ImageSize::Bytes(40 * MIB)).unwrap(), geometry);
    file.set_len(room - u64::from(geometry.cluster_bytes()) + 1).unwrap();
    let refused = volume(ImageSize::Bytes(40 * MIB)).unwrap_err().to_string();
    let expected = "--profile raspberry-pi: image of 40M is too small: the source needs 36281K in clusters of 512 and 512 that stay free, and there is room for 36281K; use --size 41M";
    assert_eq!(refused, expected);
    assert!(volume(ImageSize::Bytes(41 * MIB)).is_ok());
    // Without the profile it fits, with a notice.
    let full = Request { profile: None, ..of_profile(tree.root(), Profile::Usb, ImageSize::Auto) };
    assert!(plan(&full).is_ok());
}

#[test]
fn floppies_are_what_mtools_know() {
    let scratch = scratch();
    let (source, image) = (tree(scratch.path()), scratch.path().join("out.img"));
    for (kib, heads_and_tracks) in [(360, 9), (720, 9), (1200, 15), (1440, 18), (2880, 36)] {
        let profile = format!("floppy-{kib}");
        let report = build(&source, &image, &["--profile", &profile]);
        assert_eq!(image.metadata().unwrap().len(), kib * KIB);
        let volume = &report["volume"];
        assert_eq!((&volume["type"], &volume["heads"]), (&json!("FAT12"), &json!(2)));
        assert_eq!(volume["sectors_per_track"], heads_and_tracks, "{profile}");
        // The same as the size alone makes.
        let whole = fs::read(&image).unwrap();
        build(&source, &image, &["--size", &format!("{kib}K")]);
        assert!(fs::read(&image).unwrap() == whole, "{profile}");
        // What is asked for and is so anyway does no harm.
        build(&source, &image, &["--profile", &profile, "--fat-type", "12", "--fats", "2"]);
        assert!(fs::read(&image).unwrap() == whole, "{profile}");
        if let Some(minfo) = Tool::find("minfo") {
            let ran = minfo.run(["-i".as_ref(), image.as_os_str(), "::".as_ref()]);
            assert_eq!(ran.status, Some(0), "{}", ran.stderr);
            let tracks = format!("sectors per track: {heads_and_tracks}\n");
            assert!(ran.stdout.contains(&tracks), "{}", ran.stdout);
        }
        if let Some(mdir) = Tool::find("mdir") {
            let ran = mdir.run(["-i".as_ref(), image.as_os_str(), "-b".as_ref(), "::".as_ref()]);
            assert!(ran.stdout.contains("::/kernel.img\n"), "{}{}", ran.stdout, ran.stderr);
        }
    }
}

#[test]
fn a_boot_catalogue_counts_the_largest_el_torito_image() {
    let scratch = scratch();
    let (source, folder) = (tree(scratch.path()), scratch.path().join("cd"));
    fs::create_dir(&folder).unwrap();
    build(&source, &folder.join("efi.img"), &["--profile", "el-torito", "--size", "32766K"]);
    let Some(xorriso) = Tool::find("xorriso") else { return };
    let iso = scratch.path().join("cd.iso");
    let ran = xorriso
        .command()
        .args(["-as", "mkisofs", "-quiet", "-eltorito-platform", "efi", "-b", "efi.img"])
        .args(["-no-emul-boot", "-boot-load-size", "full", "-o"])
        .args([&iso, &folder])
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let ran = xorriso.run([
        "-indev".as_ref(),
        iso.as_os_str(),
        "-report_el_torito".as_ref(),
        "plain".as_ref(),
    ]);
    let image = ran.stdout.lines().find(|line| line.starts_with("El Torito boot img :")).unwrap();
    let words: Vec<&str> = image.split_whitespace().collect();
    // Number, platform, bootable, emulation, load segment, system type, sectors, first block.
    assert_eq!((words[6], words[8]), ("UEFI", "none"), "{image}");
    assert_eq!(words[11].parse::<u64>().unwrap() * SECTOR_BYTES, 32_766 * KIB, "{image}");
}

/// By the table of the SD Association: type, sectors of a cluster and of a boundary.
fn card_class(sectors: u64) -> (u64, u64, u64) {
    match sectors * SECTOR_BYTES {
        bytes if bytes <= 8 * MIB => (12, 16, 16),
        bytes if bytes <= 64 * MIB => (12, 32, 32),
        bytes if bytes <= 256 * MIB => (16, 32, 64),
        bytes if bytes <= GIB => (16, 32, 128),
        bytes if bytes <= 2 * GIB => (16, 64, 128),
        _ => (32, 64, 8192),
    }
}

/// Holds a card against the rules; whether it is laid out as the table has it.
fn assert_card(plan: &Plan) -> bool {
    let (geometry, shape) = (plan.geometry(), plan.geometry().shape());
    let disk = plan.disk().unwrap();
    let (bits, cluster, boundary) = card_class(disk.total_sectors);
    let start = disk.first_sector;
    let data = start + geometry.first_data_sector();
    let made = (geometry.kind().entry_bits(), u64::from(shape.sectors_per_cluster));
    let context = format!("{disk:?} {geometry:?}");
    assert_eq!((shape.fat_count, disk.sectors + start), (2, disk.total_sectors), "{context}");
    assert!(geometry.is_safe_for_its_kind(), "{context}");
    let Table::Mbr { partition_type, .. } = disk.table else { panic!("{context}") };
    let expected_type = match geometry.kind() {
        Fat12 => 0x01,
        Fat16 if disk.sectors < 65_536 => 0x04,
        Fat16 => 0x06,
        Fat32 if disk.total_sectors <= 16_450_560 => 0x0B,
        Fat32 => 0x0C,
    };
    assert_eq!(partition_type, expected_type, "{context}");
    if geometry.kind() == Fat32 {
        assert_eq!((start, data % 8192), (8192, 0), "{context}");
        assert!(shape.reserved_sectors >= 9, "{context}");
    } else {
        assert_eq!(shape.reserved_sectors, 1, "{context}");
    }
    if made != (bits, cluster) {
        // As a card of the next lower capacities, or with clusters of half the size.
        assert!([(12, 32), (16, 64), (32, 32)].contains(&made), "{context}");
        let none = (boundary..2 * boundary).all(|start| {
            let shape = mkfatimg::fat::geometry::Shape {
                kind: if bits == 16 { Fat16 } else { Fat32 },
                total_sectors: (disk.total_sectors - start) as u32,
                sectors_per_cluster: cluster as u8,
                root_entries: if bits == 16 { 512 } else { 0 },
                reserved_sectors: if bits == 16 { 1 } else { 9 },
                ..*shape
            };
            shape.solve().is_none_or(|found| {
                found.cluster_count() < if bits == 16 { 4101 + 4 } else { 65_541 + 128 }
            })
        });
        assert!(none, "the card's own layout would be legal: {context}");
        return false;
    }
    assert_eq!(data % boundary, 0, "{context}");
    if bits != 32 {
        // Within the first two boundaries, unless readers would not agree on the type.
        let most = *geometry.kind().safe_cluster_counts().end();
        let earlier = geometry.cluster_count() + (boundary / cluster) as u32;
        assert!(start >= boundary && (start < 2 * boundary || earlier > most), "{context}");
        return start < 2 * boundary;
    }
    true
}

#[test]
fn cards_are_laid_out_by_their_capacity() {
    let scratch = scratch();
    let (source, image) = (tree(scratch.path()), scratch.path().join("out.img"));
    for (size, start, partition_type, fat_type, cluster_kib, data) in [
        ("auto", 29, "1", "FAT12", 8, 64),
        ("8M", 25, "1", "FAT12", 8, 64),
        ("60M", 39, "1", "FAT12", 16, 96),
        ("64M", 839, "1", "FAT12", 16, 896),
        ("100M", 109, "6", "FAT16", 16, 192),
    ] {
        let report = build(&source, &image, &["--profile", "sd-card", "--size", size]);
        let volume = &report["volume"];
        assert_eq!(volume["type"], fat_type, "{size}");
        assert_eq!(volume["cluster_bytes"], cluster_kib * KIB, "{size}");
        assert_eq!(volume["data_at_byte"], data * SECTOR_BYTES, "{size}");
        assert_sfdisk_sees(&image, "dos", start, partition_type);
    }
    // As the Association's own procedure has it where its number of clusters is out of doubt: MiB,
    // then the first sectors of partition and clusters, and the clusters.
    for (mib, start, data, clusters) in [
        (5, 27, 64, 636),
        (8, 25, 64, 1020),
        (30, 51, 96, 1917),
        (60, 39, 96, 3837),
        (100, 109, 192, 6394),
        (200, 123, 256, 12_792),
        (256, 95, 256, 16_376),
        (500, 229, 512, 31_984),
        (900, 157, 640, 57_580),
        (1500, 231, 640, 47_990),
        (2000, 235, 768, 63_988),
        // Where it is not, the partition begins some boundaries later.
        (1024, 351, 896, 65_508),
        (2048, 1247, 1792, 65_508),
        (4096, 8192, 16_384, 130_816),
        (32_768, 8192, 32_768, 1_048_064),
    ] {
        let size = ImageSize::Bytes(mib * MIB);
        let plan = plan(&of_profile(&source, Profile::SdCard, size)).unwrap();
        assert_card(&plan);
        let (at, geometry) = (plan.volume_at_byte() / SECTOR_BYTES, plan.geometry());
        let found = (at, at + geometry.first_data_sector(), geometry.cluster_count());
        assert_eq!(found, (start, data, clusters), "{mib} MiB");
    }
}

#[test]
fn the_smallest_card_is_the_least_that_holds_the_tree() {
    let scratch = scratch();
    let source = tree(scratch.path());
    for free in [
        0,
        100 * KIB,
        7 * MIB,
        9 * MIB,
        63 * MIB,
        64 * MIB,
        200 * MIB,
        900 * MIB,
        3 * GIB,
        30 * GIB,
    ] {
        let mut request = of_profile(&source, Profile::SdCard, ImageSize::Auto);
        request.free = Free::Bytes(free);
        let smallest = plan(&request).unwrap();
        assert_card(&smallest);
        let bytes = smallest.image_bytes();
        assert!(bytes.is_multiple_of(32 * SECTOR_BYTES), "{free}");
        // Less than this would do: one free cluster is left behind the room that was asked for.
        for (step, holds) in [(0, true), (2, false)] {
            let less = bytes - step * u64::from(smallest.geometry().cluster_bytes()).max(16 * KIB);
            request.size = ImageSize::Bytes(less);
            let fits = plan(&request).is_ok();
            // The smallest of a class can be larger than what it holds.
            let least_of_class =
                card_class(less / SECTOR_BYTES) != card_class(bytes / SECTOR_BYTES);
            assert!(
                fits == holds || least_of_class || bytes <= 96 * KIB,
                "{free}: {less} of {bytes}"
            );
        }
    }
}

/// Every way out that a refusal names, tried.
fn ways_out(request: &Request, text: &str) -> Vec<Request> {
    let words: Vec<&str> = text.split([' ', ',', ';']).filter(|word| !word.is_empty()).collect();
    let mut ways = Vec::new();
    for pair in words.windows(2) {
        let mut way = request.clone();
        match pair {
            ["--size", "or" | "is"] => continue,
            ["--size", size] => way.size = ImageSize::Bytes(bytes_of(size)),
            ["out", "--size"] => way.size = ImageSize::Auto,
            ["out", "--fat-type"] => way.format.kind = None,
            ["--fat-type", bits] => {
                way.format.kind = [Fat12, Fat16, Fat32]
                    .into_iter()
                    .find(|kind| kind.entry_bits().to_string() == *bits);
            }
            ["--cluster-size", size] => way.format.cluster_bytes = Some(bytes_of(size) as u32),
            _ => continue,
        }
        ways.push(way);
    }
    ways
}

fn bytes_of(typed: &str) -> u64 {
    let digits = typed.trim_end_matches(|unit: char| unit.is_ascii_alphabetic());
    let shift = match &typed[digits.len()..] {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        other => panic!("{typed}: {other}"),
    };
    digits.parse::<u64>().unwrap_or_else(|_| panic!("{typed}")) << shift
}

/// What the consumer reads, by docs/profiles.md.
fn assert_readable(profile: Profile, plan: &Plan) {
    let geometry = plan.geometry();
    let context = format!("{profile}: {geometry:?}");
    let (kind, cluster_bytes) = (geometry.kind(), geometry.cluster_bytes());
    let scheme = plan.disk().map(|disk| disk.scheme());
    assert!(geometry.is_safe_for_its_kind(), "{context}");
    let most = if matches!(profile, Profile::Usb | Profile::UBoot) { 64 << 10 } else { 32 << 10 };
    assert!(cluster_bytes <= most, "{context}");
    match profile {
        Profile::Esp => assert_eq!(scheme, None, "{context}"),
        Profile::RaspberryPi => {
            assert_eq!((scheme, plan.volume_at_byte()), (Some(Scheme::Mbr), 4 * MIB), "{context}");
            assert!(kind != Fat12 && plan.free_clusters().count > 0, "{context}");
        }
        Profile::SdCard => _ = assert_card(plan),
        Profile::Usb | Profile::UBoot => {
            assert_eq!((scheme, plan.volume_at_byte()), (Some(Scheme::Mbr), MIB), "{context}");
        }
        Profile::ElTorito => {
            assert!(scheme.is_none() && kind != Fat32, "{context}");
            assert!(plan.image_bytes() <= 65_535 * 512, "{context}");
            assert!(plan.image_bytes().is_multiple_of(2048), "{context}");
        }
        _ => {
            let kib = profile.id().trim_start_matches("floppy-").parse::<u64>().unwrap();
            assert_eq!((scheme, kind, plan.image_bytes()), (None, Fat12, kib * KIB), "{context}");
        }
    }
}

/// Holds the image for the request, or those to which its refusal leads, against what the consumer
/// reads. Whether there is an image without them.
fn assert_leads_to_an_image(request: &Request) -> bool {
    let profile = request.profile.unwrap();
    let problems = match plan(request) {
        Ok(plan) => {
            let ImageSize::Bytes(bytes) = request.size else { panic!("{:?}", request.size) };
            assert_eq!(plan.image_bytes(), bytes);
            assert_readable(profile, &plan);
            match (request.format.kind, profile) {
                (Some(kind), _) => assert_eq!(plan.geometry().kind(), kind, "{bytes}"),
                (None, Profile::Esp | Profile::RaspberryPi) => {
                    assert_eq!(plan.geometry().kind(), Fat32, "{bytes}");
                }
                _ => {}
            }
            return true;
        }
        Err(problems) => problems,
    };
    let context = format!("{:?} {:?}", request.size, request.format.kind);
    let [Problem::ProfileMisfit { .. }] = &problems.0[..] else { panic!("{problems:?}") };
    let text = problems.to_string();
    let advice = text.split_once("; ").unwrap_or_else(|| panic!("{context}: {text}")).1;
    let ways = ways_out(request, advice);
    assert!(!ways.is_empty(), "{context}: {text}");
    for way in ways {
        let plan = plan(&way).unwrap_or_else(|other| panic!("{context}: {text}\n{other}"));
        assert_readable(profile, &plan);
    }
    false
}

/// Whatever the size and the type, there is an image that the consumer reads, or a way to one.
fn assert_every_size_leads_to_an_image(sizes: impl Iterator<Item = u64>) {
    let scratch = scratch();
    let source = tree(scratch.path());
    let (mut made, mut refused) = (0, 0);
    for bytes in sizes {
        for profile in Profile::ALL {
            let kinds: &[_] = match profile {
                Profile::Esp | Profile::Usb | Profile::UBoot => {
                    &[None, Some(Fat12), Some(Fat16), Some(Fat32)]
                }
                Profile::RaspberryPi => &[None, Some(Fat16), Some(Fat32)],
                Profile::ElTorito => &[None, Some(Fat12), Some(Fat16)],
                _ => &[None],
            };
            for kind in kinds {
                // A size that is no whole sectors of a CD is refused for that alone.
                let size = match (profile, kind) {
                    (Profile::ElTorito, Some(_)) => bytes / 2048 * 2048,
                    _ => bytes,
                };
                let mut request = of_profile(&source, profile, ImageSize::Bytes(size));
                request.format.kind = *kind;
                match assert_leads_to_an_image(&request) {
                    true => made += 1,
                    false => refused += 1,
                }
            }
        }
    }
    assert!(made > 100 && refused > 100, "{made} {refused}");
}

/// From 64 KiB to 64 GiB.
#[test]
fn every_size_leads_to_an_image() {
    let steps = std::iter::successors(Some(64 * KIB), |size| Some(size + size / 9 / 512 * 512));
    assert_every_size_leads_to_an_image(steps.take_while(|size| *size <= 64 * GIB));
}

#[test]
fn every_size_around_a_border_leads_to_an_image() {
    let borders = [
        1440 * KIB,
        8 * MIB,
        16 * MIB,
        32_766 * KIB,
        33_300 * KIB,
        37_396 * KIB,
        64 * MIB,
        256 * MIB,
        GIB,
        2 * GIB,
        2 * GIB + 8 * MIB,
        32 * GIB,
    ];
    let around = |border: u64| (0..12).map(move |step| border - 6 * 67 * 512 + step * 67 * 512);
    assert_every_size_leads_to_an_image(borders.into_iter().flat_map(around));
}

#[test]
fn every_card_around_a_border_is_legal() {
    let scratch = scratch();
    let source = tree(scratch.path());
    let mut departed = 0;
    for border in [8 * MIB, 64 * MIB, 256 * MIB, GIB, 2 * GIB] {
        for step in 0..60 {
            let bytes = border - 20 * 129 * SECTOR_BYTES + step * 129 * SECTOR_BYTES;
            let plan =
                plan(&of_profile(&source, Profile::SdCard, ImageSize::Bytes(bytes))).unwrap();
            assert_eq!(plan.image_bytes(), bytes);
            departed += u64::from(!assert_card(&plan));
        }
    }
    assert!(departed > 20, "{departed}");
}

#[test]
fn a_volume_for_a_table_of_others_has_no_table() {
    let scratch = scratch();
    let source = tree(scratch.path());
    for (profile, within) in [
        (Profile::RaspberryPi, true),
        (Profile::Esp, true),
        (Profile::UBoot, true),
        (Profile::SdCard, false),
        (Profile::Floppy1440, false),
    ] {
        let mut request = of_profile(&source, profile, ImageSize::Auto);
        request.disk = DiskWish::Within { start_bytes: 8 * MIB };
        let planned = plan(&request);
        assert_eq!(planned.is_ok(), within, "{profile}");
        if let Ok(plan) = planned {
            assert!(plan.disk().is_none() && plan.volume_at_disk_byte() == 8 * MIB);
        }
        request.disk = DiskWish::Table(TableWish::of(Scheme::Gpt));
        let gpt = profile == Profile::Esp || profile == Profile::UBoot;
        assert_eq!(plan(&request).is_ok(), gpt, "{profile}");
    }
}

/// Nobody typed the size of a device or a partition.
#[test]
fn a_place_of_another_size_is_told_which_to_ask_for() {
    let scratch = scratch();
    let source = tree(scratch.path());
    let refused = |profile, bytes, sector_bytes| {
        let mut request = of_profile(&source, profile, ImageSize::Place(bytes));
        request.format.sector_bytes = sector_bytes;
        plan(&request).unwrap_err().to_string()
    };
    for (profile, bytes, sector_bytes, text) in [
        (Profile::Floppy1440, 2 * MIB, 512, "is 1440K to the byte, not 2M; add --size 1440K"),
        (Profile::Floppy1440, MIB, 512, "is 1440K to the byte, not 1M; take a larger one"),
        (
            Profile::SdCard,
            64 * GIB,
            512,
            "the size of the place, 64G, is too large: memory cards of more have exFAT; add --size 32G",
        ),
        (
            Profile::ElTorito,
            MIB + 512,
            512,
            "the size of the place, 1049088, is no multiple of 2048 bytes, a sector of a CD; add --size 1048576",
        ),
        (
            Profile::RaspberryPi,
            64 * MIB,
            4096,
            "boot ROMs read sectors of 512 bytes; take a device with such",
        ),
    ] {
        let expected = format!("--profile {profile}: {text}");
        assert_eq!(refused(profile, bytes, sector_bytes), expected);
    }
    let card = plan(&of_profile(&source, Profile::SdCard, ImageSize::Place(GIB))).unwrap();
    assert!(assert_card(&card) || card.disk().unwrap().first_sector == 351);
}
