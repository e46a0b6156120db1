//! Whole disks: partition tables as the programs of others read them, and the volume in its place.

mod support;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use gpt::GptConfig;
use gpt::disk::LogicalBlockSize;
use mkfatimg::disk::{Disk, Guid, Scheme, Table, found};
use mkfatimg::plan::request::{DiskWish, ImageSize, TableWish};
use mkfatimg::sink::Output;
use mkfatimg::verify::{self, Depth, FreeSpace, VerifyError};
use mkfatimg::{Delivery, Plan};
use serde_json::Value;
use support::{
    Expect, Oracle, Ran, Tool, TreeBuilder, Workplace, assert_sound, hexadecimal,
    loop_device::LoopDevice, mkfatimg, scratch,
};

const MIB: u64 = 1 << 20;
const ESP: &str = "C12A7328-F81F-11D2-BA4B-00A0C93EC93B";
const BASIC_DATA: &str = "EBD0A0A2-B9E5-4433-87C0-68B6B72699C7";

fn tree(root: &Path) -> PathBuf {
    let tree = TreeBuilder::new(root.join("tree"));
    tree.filled("kernel.img", 70_000).file("config.txt", "text\n").filled("sub/larger", 300_123);
    tree.file("empty", "").settle();
    tree.root().to_path_buf()
}

/// A disk to be made: what is asked for, and what must be there.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    scheme: &'static str,
    fat_type: u8,
    sector_bytes: u64,
    size: &'static str,
    /// As `sfdisk` tells it.
    partition_type: &'static str,
    others: &'static [&'static str],
    start_bytes: u64,
}

const fn wanted(
    scheme: &'static str,
    fat_type: u8,
    sector_bytes: u64,
    size: &'static str,
) -> Wanted {
    let partition_type = match (scheme.as_bytes(), fat_type) {
        (b"gpt", _) => BASIC_DATA,
        (_, 32) => "c",
        _ => "e",
    };
    let (others, start_bytes) = (&[] as &[&str], MIB);
    Wanted { scheme, fat_type, sector_bytes, size, partition_type, others, start_bytes }
}

const DISKS: [Wanted; 14] = [
    wanted("mbr", 12, 512, "auto"),
    wanted("mbr", 16, 512, "20M"),
    wanted("mbr", 32, 512, "auto"),
    wanted("mbr", 12, 4096, "8M"),
    wanted("mbr", 16, 4096, "20000768"),
    wanted("mbr", 32, 4096, "260M"),
    wanted("gpt", 12, 512, "5000192"),
    wanted("gpt", 16, 512, "auto"),
    wanted("gpt", 32, 512, "64M"),
    wanted("gpt", 12, 4096, "auto"),
    wanted("gpt", 16, 4096, "20M"),
    wanted("gpt", 32, 4096, "auto"),
    // As early as can be, off every boundary; clusters lie on theirs all the same.
    Wanted {
        others: &["--partition-start", "17408"],
        start_bytes: 17_408,
        ..wanted("gpt", 12, 512, "auto")
    },
    Wanted {
        others: &["--partition-start", "63K", "--align", "64K", "--partition-type", "esp"],
        start_bytes: 63 << 10,
        partition_type: "ef",
        ..wanted("mbr", 16, 512, "40M")
    },
];

fn build(source: &Path, image: &Path, arguments: &[&str]) -> Value {
    let mut command = mkfatimg();
    command.arg("--from").arg(source).args(["--quiet", "--json", "--verify"]).args(arguments);
    let ran: Ran = command.arg(image).output().unwrap().into();
    assert_eq!(ran.status, Some(0), "{arguments:?}: {}{}", ran.stderr, ran.stdout);
    serde_json::from_str(&ran.stdout).unwrap()
}

impl Wanted {
    fn arguments(&self) -> Vec<String> {
        let mut arguments: Vec<String> = [
            "--partition-table",
            self.scheme,
            "--fat-type",
            &self.fat_type.to_string(),
            "--sector-size",
            &self.sector_bytes.to_string(),
            "--size",
            self.size,
        ]
        .map(str::to_owned)
        .into();
        arguments.extend(self.others.iter().map(|&argument| argument.to_owned()));
        arguments
    }

    /// Builds it and holds volume and report against what is wanted.
    fn build(&self, source: &Path, image: &Path) -> Value {
        let arguments = self.arguments();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let report = build(source, image, &arguments);
        let disk = &report["disk"];
        assert_eq!(disk["table"], self.scheme, "{self:?}");
        assert_eq!(disk["partition_at_byte"], self.start_bytes, "{self:?}");
        let image_bytes = image.metadata().unwrap().len();
        assert_eq!(report["image_bytes"], image_bytes, "{self:?}");
        assert_eq!(disk["sectors"], image_bytes / self.sector_bytes, "{self:?}");
        assert_eq!(disk["partition_bytes"], report["volume"]["bytes"], "{self:?}");
        assert_eq!(report["volume"]["type"], format!("FAT{}", self.fat_type));
        let hidden_sectors = u32::try_from(self.start_bytes / self.sector_bytes).unwrap();
        let align_bytes = if self.others.contains(&"--align") { 64 << 10 } else { 4096 };
        let clusters = report["volume"]["cluster_bytes"].as_u64().unwrap();
        let expect = Expect {
            offset: self.start_bytes,
            hidden_sectors: Some(hidden_sectors),
            align_bytes: (clusters >= 4096 || align_bytes > 4096).then_some(align_bytes),
            source: Some(source.to_path_buf()),
            times: true,
            ..Expect::default()
        };
        assert_sound(image, &expect);
        report
    }
}

/// A loop device over a disk image, with sectors of its own.
fn device(image: &Path, sector_bytes: u64) -> Option<LoopDevice> {
    LoopDevice::over(image, &["--read-only", "--sector-size", &sector_bytes.to_string()])
}

/// What all three partitioners say of the disk `path`, which is an image or a device.
fn assert_partitioners_accept(wanted: &Wanted, path: &Path, report: &Value) {
    let disk = &report["disk"];
    let sectors = |what: &str| disk[what].as_u64().unwrap() / wanted.sector_bytes;
    let (start, length) = (sectors("partition_at_byte"), sectors("partition_bytes"));
    if let Some(sfdisk) = Tool::find("sfdisk") {
        let ran = sfdisk.run([OsStr::new("--verify"), path.as_ref()]);
        let told = format!("{wanted:?}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.status == Some(0) && ran.stdout.contains("No errors detected."), "{told}");
        let ran = sfdisk.run([OsStr::new("--json"), path.as_ref()]);
        let table: Value = serde_json::from_str(&ran.stdout).unwrap();
        let table = &table["partitiontable"];
        let label = if wanted.scheme == "mbr" { "dos" } else { "gpt" };
        assert_eq!(table["label"], label, "{told}");
        let id = table["id"].as_str().unwrap().trim_start_matches("0x").to_uppercase();
        assert_eq!(disk["id"], id, "{wanted:?}");
        assert_eq!(table["partitions"].as_array().unwrap().len(), 1, "{table}");
        let partition = &table["partitions"][0];
        assert_eq!((&partition["start"], &partition["size"]), (&start.into(), &length.into()));
        assert_eq!(partition["type"], wanted.partition_type, "{wanted:?}");
        if wanted.scheme == "gpt" {
            assert_eq!(partition["uuid"], disk["partition_id"]);
        }
    }
    if let (Some(sgdisk), "gpt") = (Tool::find("sgdisk"), wanted.scheme) {
        let ran = sgdisk.run([OsStr::new("--verify"), path.as_ref()]);
        let told = format!("{wanted:?}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.status == Some(0) && ran.stdout.contains("No problems found."), "{told}");
        // It doubts the ends of partitions and starts that were asked to lie off boundaries.
        let others = told.lines().filter(|line| line.contains("Warning") || line.contains("rror"));
        assert_eq!(others.count(), 0, "{told}");
    }
    if let Some(parted) = Tool::find("parted") {
        let arguments = ["--script", "--machine"].map(OsStr::new).into_iter();
        let print = ["unit", "s", "print"].map(OsStr::new);
        let ran = parted.run(arguments.chain([path.as_ref()]).chain(print));
        assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""), "{wanted:?}");
        let begin = format!("1:{start}s:{}s:{length}s:", start + length - 1);
        assert!(ran.stdout.lines().any(|line| line.starts_with(&begin)), "{}", ran.stdout);
    }
}

/// The crate `gpt`, which checks both headers.
fn assert_crate_accepts(wanted: &Wanted, image: &Path, report: &Value) {
    let size =
        if wanted.sector_bytes == 512 { LogicalBlockSize::Lb512 } else { LogicalBlockSize::Lb4096 };
    let config = GptConfig::new().writable(false).logical_block_size(size);
    let found = config.only_valid_headers(true).open(image);
    let found = found.unwrap_or_else(|error| panic!("{wanted:?}: {error}"));
    let (primary, backup) = (found.primary_header().unwrap(), found.backup_header().unwrap());
    let last = image.metadata().unwrap().len() / wanted.sector_bytes - 1;
    assert_eq!((primary.current_lba, primary.backup_lba), (1, last));
    assert_eq!((backup.current_lba, backup.backup_lba), (last, 1));
    let entries = if wanted.sector_bytes == 512 { 32 } else { 4 };
    assert_eq!((primary.first_usable, primary.last_usable), (2 + entries, last - entries - 1));
    assert_eq!((primary.part_start, backup.part_start), (2, last - entries));
    let disk = &report["disk"];
    assert_eq!(disk["id"], primary.disk_guid.to_string().to_uppercase());
    let partition = &found.partitions()[&1];
    assert_eq!(found.partitions().len(), 1);
    assert_eq!(disk["partition_id"], partition.part_guid.to_string().to_uppercase());
    assert_eq!(disk["partition_label"], partition.name);
    assert!(
        partition.last_lba <= primary.last_usable && partition.first_lba >= primary.first_usable
    );
}

#[test]
fn partitioners_read_every_kind_of_disk() {
    let scratch = scratch();
    let source = tree(scratch.path());
    let image = scratch.path().join("disk.img");
    for wanted in &DISKS {
        let report = wanted.build(&source, &image);
        if wanted.scheme == "gpt" {
            assert_crate_accepts(wanted, &image, &report);
        }
        if wanted.sector_bytes == 512 {
            assert_partitioners_accept(wanted, &image, &report);
        } else if let Some(device) = device(&image, wanted.sector_bytes) {
            assert_partitioners_accept(wanted, &device.path, &report);
        }
    }
}

#[test]
fn the_kernel_finds_the_partition_and_mounts_what_is_in_it() {
    let Some(oracle) = Oracle::find("linux-mount.sh") else { return };
    let scratch = scratch();
    let source = tree(scratch.path());
    for sector_bytes in [512, 4096] {
        let of_sector = || DISKS.iter().filter(|wanted| wanted.sector_bytes == sector_bytes);
        let images: Vec<PathBuf> = of_sector()
            .enumerate()
            .map(|(index, wanted)| {
                let image = scratch.path().join(format!("{sector_bytes}-{index}.img"));
                wanted.build(&source, &image);
                image
            })
            .collect();
        let listings = scratch.path().join(format!("listings-{sector_bytes}"));
        let mut arguments: Vec<std::ffi::OsString> =
            vec!["--block-size".into(), sector_bytes.to_string().into(), "--mtime".into()];
        arguments.extend(["--compare".into(), source.clone().into()]);
        arguments.extend(["--outdir".into(), listings.clone().into()]);
        let spec = |image: &PathBuf| format!("{}@p1", image.display());
        arguments.extend(images.iter().map(|image| spec(image).into()));
        let Some(ran) = oracle.ask(arguments) else { return };
        assert_eq!(ran.status, Some(0), "{}{}", ran.stdout, ran.stderr);
        for (index, wanted) in of_sector().enumerate() {
            let (number, image) = (index + 1, &images[index]);
            let ok = format!("# {number} ok {}", spec(image));
            assert!(ran.stdout.lines().any(|line| line == ok), "no {ok} in {}", ran.stdout);
            let listing = fs::read_to_string(listings.join(format!("{number}.tsv"))).unwrap();
            let found = format!("# {number} partition {} ", wanted.start_bytes);
            assert!(listing.lines().any(|line| line.starts_with(&found)), "no {found}: {listing}");
        }
    }
}

/// An image of a disk and the plan that it was made by.
fn made(source: &Path, image: &Path, table: TableWish) -> Plan {
    let mut request = support::request(source);
    request.disk = DiskWish::Table(table);
    request.size = ImageSize::Bytes(3 * MIB);
    let output = Output::at(image).unwrap();
    mkfatimg::build(&request, &Delivery::of(output, Depth::Contents), &()).unwrap();
    mkfatimg::plan(&request, &()).unwrap()
}

#[test]
fn no_byte_of_a_table_changes_unseen() {
    let scratch = scratch();
    let source = tree(scratch.path());
    let image = scratch.path().join("disk.img");
    for scheme in [Scheme::Mbr, Scheme::Gpt] {
        let plan = made(&source, &image, TableWish::of(scheme));
        let file = fs::File::options().read(true).write(true).open(&image).unwrap();
        let findings = || match verify::run(&plan, &file, Depth::Structure, FreeSpace::Zero, &()) {
            Ok(()) => Vec::new(),
            Err(VerifyError::Differs(findings)) => {
                findings.kept().iter().map(ToString::to_string).collect()
            }
            Err(other) => panic!("{other}"),
        };
        assert_eq!(findings(), Vec::<String>::new());
        let end = 3 * MIB;
        // The table itself, the gap, and at the end what is left, entries and header.
        let mut places: Vec<u64> = (0..1200).chain([17_407, 17_408, 500_000, MIB - 1]).collect();
        if scheme == Scheme::Gpt {
            places.extend([end - 33 * 512 - 1, end - 420, end - 1]);
            places.extend((end - 33 * 512..end - 33 * 512 + 128).chain(end - 512..end - 400));
        }
        for at in places {
            let mut byte = [0];
            file.read_exact_at(&mut byte, at).unwrap();
            file.write_all_at(&[byte[0] ^ 1 << (at % 8)], at).unwrap();
            assert_ne!(findings(), Vec::<String>::new(), "{scheme:?}: byte {at}");
            file.write_all_at(&byte, at).unwrap();
        }
        // What is found is named.
        let (at, told) = match scheme {
            Scheme::Mbr => (450, "partition table: content is "),
            Scheme::Gpt => (end - 512 + 60, "backup partition table: has a damaged GPT"),
        };
        file.write_all_at(&[0x77], at).unwrap();
        assert!(findings().iter().any(|text| text.starts_with(told)), "{:?}", findings());
        file.set_len(end - 1).unwrap();
        assert_ne!(findings(), Vec::<String>::new());
    }
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(2000))]

    /// Whatever a disk holds, its table is read or refused: no panic, no end missing, no more memory than
    /// a table may take.
    #[test]
    fn tables_that_nobody_vouches_for_are_read_or_refused(
        scheme in proptest::sample::select(vec![Scheme::Mbr, Scheme::Gpt]),
        changes in proptest::collection::vec((0..1200_usize, proptest::num::u8::ANY), 0..12),
        mended in proptest::bool::ANY,
        len in proptest::sample::select(vec![0, 511, 512, 600, 1024, 17_408, 20_000]),
    ) {
        let disk = Disk {
            sector_bytes: 512,
            total_sectors: 6144,
            first_sector: 2048,
            sectors: 4000,
            code: Vec::new(),
            bios_bootable: false,
            table: match scheme {
                Scheme::Mbr => Table::Mbr { signature: 1, partition_type: 0x0C },
                Scheme::Gpt => Table::Gpt {
                    disk: Guid::ESP,
                    partition: Guid::ESP,
                    partition_type: Guid::ESP,
                    label: "x".to_owned(),
                },
            },
        };
        let mut bytes = disk.head();
        for (at, byte) in changes {
            if let Some(place) = bytes.get_mut(at) {
                *place = byte;
            }
        }
        // A digest that is right leads further in.
        if mended && bytes.len() > 1024 {
            bytes[528..532].fill(0);
            let digest = crc(&bytes[512..604]);
            bytes[528..532].copy_from_slice(&digest.to_le_bytes());
        }
        bytes.resize(len, 0);
        let read = &mut |at: u64, buffer: &mut [u8]| {
            assert!(buffer.len() <= 4 << 20);
            let at = usize::try_from(at).unwrap();
            buffer.copy_from_slice(bytes.get(at..at + buffer.len()).expect("within the disk"));
            Ok(())
        };
        let _ = found::find(len as u64, read).unwrap();
    }
}

/// The digest of a GPT, bit by bit.
fn crc(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 };
        }
    }
    !crc
}

#[test]
fn a_stream_has_the_bytes_of_the_file() {
    let scratch = scratch();
    let source = tree(scratch.path());
    let image = scratch.path().join("disk.img");
    for wanted in DISKS.iter().filter(|wanted| wanted.size == "auto" && wanted.fat_type < 32) {
        wanted.build(&source, &image);
        for jobs in ["1", "7"] {
            let mut command = mkfatimg();
            command.arg("--from").arg(&source).args(["--quiet", "--jobs", jobs]);
            let output = command.args(wanted.arguments()).arg("-").output().unwrap();
            assert!(output.stdout == fs::read(&image).unwrap(), "{wanted:?} with {jobs} jobs");
        }
    }
}

#[test]
fn names_of_the_disk_are_derived_given_or_drawn() {
    let scratch = scratch();
    let source = tree(scratch.path());
    let id = |arguments: &[&str]| {
        let image = scratch.path().join("disk.img");
        let disk = &build(&source, &image, arguments)["disk"];
        [&disk["id"], &disk["partition_id"]].map(|id| id.as_str().unwrap_or("none").to_owned())
    };
    for scheme in ["mbr", "gpt"] {
        let table = ["--partition-table", scheme];
        let derived = id(&table);
        assert_eq!(id(&table), derived);
        assert_ne!(derived[0], derived[1]);
        // Whatever tells volumes apart tells their disks apart.
        for other in [
            ["--label", "OTHER"],
            ["--volume-id", "00000001"],
            ["--partition-start", "2M"],
            ["--mtime", "@1700000000"],
        ] {
            assert_ne!(id(&[table, other].concat())[0], derived[0], "{other:?}");
        }
        let drawn = [table, ["--disk-id", "random"]].concat();
        let [one, other] = [id(&drawn), id(&drawn)];
        assert!(one[0] != other[0] && one[0] != derived[0], "{one:?}");
        // The partition is the same, wherever it lies.
        assert_eq!(one[1], derived[1]);
    }
    let given = "0123ABCD-4567-89ab-cdef-0123456789AB";
    let found = id(&["--partition-table", "gpt", "--disk-id", given]);
    assert_eq!(found[0], given.to_uppercase());
    for typed in ["DEADBEEF", "dead-beef", "0xDeadBeef"] {
        assert_eq!(id(&["--partition-table", "mbr", "--disk-id", typed])[0], "DEADBEEF");
    }
}

#[test]
fn types_and_labels_are_as_asked() {
    let scratch = scratch();
    let source = tree(scratch.path());
    let image = scratch.path().join("disk.img");
    let facts = |scheme: &str, arguments: &[&str]| {
        let arguments = [&["--partition-table", scheme][..], arguments].concat();
        let disk = build(&source, &image, &arguments)["disk"].take();
        let text = |what: &str| disk[what].as_str().unwrap_or("none").to_owned();
        (text("partition_type"), text("partition_label"))
    };
    let own = |partition_type: &str, label: &str| (partition_type.to_owned(), label.to_owned());
    let none = || "none".to_owned();
    assert_eq!(facts("mbr", &["--partition-type", "esp"]), ("EF".to_owned(), none()));
    assert_eq!(facts("mbr", &["--partition-type", "0x1b"]), ("1B".to_owned(), none()));
    assert_eq!(facts("mbr", &["--partition-type", "fat"]), ("0E".to_owned(), none()));
    assert_eq!(facts("gpt", &[]), own(BASIC_DATA, ""));
    assert_eq!(facts("gpt", &["--label", "boot"]), own(BASIC_DATA, "BOOT"));
    let label = "Größe 😀";
    let arguments = ["--partition-type", "ESP", "--partition-label", label, "--label", "boot"];
    assert_eq!(facts("gpt", &arguments), own(ESP, label));
    let guid = "0FC63DAF-8483-4772-8E79-3D69D8477DE4";
    let long = "x".repeat(36);
    assert_eq!(
        facts("gpt", &["--partition-type", &guid.to_lowercase(), "--partition-label", &long]),
        own(guid, &long)
    );
}

#[test]
fn boot_code_keeps_table_signature_and_parameters() {
    let scratch = scratch();
    let source = tree(scratch.path());
    let plain = scratch.path().join("plain.img");
    let image = scratch.path().join("disk.img");
    let code: Vec<u8> = (0..512_usize).map(|at| (at % 255) as u8 + 1).collect();
    let file = scratch.path().join("code");
    fs::write(&file, &code).unwrap();
    let file = file.to_str().unwrap();
    let sector = |image: &Path, at: u64| {
        let mut bytes = [0; 512];
        fs::File::open(image).unwrap().read_exact_at(&mut bytes, at).unwrap();
        bytes
    };
    for scheme in ["mbr", "gpt"] {
        let table = ["--partition-table", scheme];
        let report = build(&source, &plain, &table);
        assert_eq!(report["disk"]["bios_bootable"], false);
        // Without code, a BIOS is told to try the next disk.
        assert_eq!(hexadecimal(&sector(&plain, 0)[..6]), "cd18f4ebfd00");
        let report = build(&source, &image, &[table, ["--mbr-code", file]].concat());
        assert_eq!(report["disk"]["bios_bootable"], true);
        let (with, without) = (sector(&image, 0), sector(&plain, 0));
        assert_eq!(with[..440], code[..440], "{scheme}");
        // An MBR's partition is active; what guards a GPT never is.
        let active = if scheme == "mbr" { 0x80 } else { 0 };
        assert_eq!((with[446], without[446]), (active, 0), "{scheme}");
        assert_eq!((&with[440..446], &with[447..]), (&without[440..446], &without[447..]));
        let attribute = |image: &Path| sector(image, 1024)[48];
        if scheme == "gpt" {
            assert_eq!((attribute(&image), attribute(&plain)), (4, 0));
        }
        // Neither touches the volume.
        assert_eq!(sector(&image, MIB), sector(&plain, MIB));

        let report = build(&source, &image, &[table, ["--boot-code", file]].concat());
        assert_eq!(report["disk"]["bios_bootable"], true);
        assert_eq!(sector(&image, 0)[..446], without[..446]);
        let (with, without) = (sector(&image, MIB), sector(&plain, MIB));
        assert_eq!((&with[3..62], &with[510..]), (&without[3..62], &without[510..]));
        assert_eq!(with[62..510], code[62..510]);
        // Code of both kinds, and the backup boot sector of FAT32 has it too.
        let both = ["--fat-type", "32", "--boot-code", file, "--mbr-code", file];
        build(&source, &image, &[&table[..], &both].concat());
        assert_eq!(sector(&image, MIB)[90..510], code[90..510]);
        assert_eq!(sector(&image, MIB + 6 * 512), sector(&image, MIB));
        assert_eq!(sector(&image, 0)[..440], code[..440]);
    }
}

#[test]
fn the_size_is_that_of_the_whole_image() {
    let scratch = scratch();
    let source = tree(scratch.path());
    let image = scratch.path().join("disk.img");
    for scheme in ["mbr", "gpt"] {
        for size in [3 * MIB, 3 * MIB + 512, 3 * MIB - 512, 64 * MIB, 4_000_256] {
            let arguments = ["--partition-table", scheme, "--size", &size.to_string()];
            let report = build(&source, &image, &arguments);
            assert_eq!(image.metadata().unwrap().len(), size, "{scheme}");
            let end = report["disk"]["partition_bytes"].as_u64().unwrap() + MIB;
            let behind = size - end;
            match scheme {
                "mbr" => assert_eq!(behind, 0),
                // The backup, and less than a block that the partition's end is rounded down by.
                _ => assert!((33 * 512..33 * 512 + 4096).contains(&behind), "{size}: {behind}"),
            }
        }
        // What a refusal advises does work.
        let workplace = Workplace::new();
        tree(workplace.folder.path());
        let arguments =
            ["--from", "tree", "--partition-table", scheme, "--size", "1200K", "disk.img"];
        let ran = workplace.run(&arguments);
        assert_eq!(ran.status, Some(3), "{}", ran.stderr);
        let advised = ran.stderr.split("use --size ").nth(1).unwrap();
        let advised = advised.split([',', '\n']).next().unwrap();
        let arguments =
            ["--from", "tree", "--partition-table", scheme, "--size", advised, "disk.img"];
        let ran = workplace.run(&arguments);
        assert_eq!(ran.status, Some(0), "{advised}: {}", ran.stderr);
    }
}

#[test]
fn regions_and_map_tell_places_in_the_image() {
    let scratch = scratch();
    let source = tree(scratch.path());
    let (image, map) = (scratch.path().join("disk.img"), scratch.path().join("map"));
    let arguments = ["--partition-table", "gpt", "--size", "8M", "--map", map.to_str().unwrap()];
    let report = build(&source, &image, &arguments);
    let regions: Vec<(&str, u64, u64)> = report["regions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|region| {
            let number = |what: &str| region[what].as_u64().unwrap();
            (region["name"].as_str().unwrap(), number("at_byte"), number("bytes"))
        })
        .collect();
    assert_eq!(regions.first(), Some(&("partition table", 0, MIB)));
    assert_eq!(regions[1].0, "reserved area");
    assert_eq!(regions.last(), Some(&("behind partition", 8 * MIB - 20_480, 20_480)));
    for pair in regions.windows(2) {
        assert_eq!(pair[0].1 + pair[0].2, pair[1].1, "{pair:?}");
    }
    let map: Value = serde_json::from_slice(&fs::read(&map).unwrap()).unwrap();
    assert_eq!(map["volume_at_disk_byte"], MIB);
    let bytes = fs::read(&image).unwrap();
    for entry in map["files"].as_array().unwrap().iter().filter(|entry| entry["bytes"] != 0) {
        assert_eq!(entry["at_byte"], entry["at_disk_byte"]);
        let at = entry["at_byte"].as_u64().unwrap() as usize;
        let path = source.join(&entry["path"].as_str().unwrap()[1..]);
        let contents = fs::read(path).unwrap();
        assert!(bytes[at..at + contents.len()] == contents, "{entry}");
    }
}

#[test]
fn what_a_table_cannot_have_is_refused() {
    let workplace = Workplace::new();
    tree(workplace.folder.path());
    let refused = |arguments: &[&str], status: i32, told: &str| {
        let ran = workplace.run(&[&["--from", "tree"], arguments, &["disk.img"]].concat());
        assert_eq!((ran.status, ran.stderr.trim_end()), (Some(status), told), "{arguments:?}");
        assert!(!workplace.path("disk.img").exists());
    };
    let mbr = ["--partition-table", "mbr"];
    let gpt = ["--partition-table", "gpt"];
    for (arguments, told) in [
        (
            [&mbr[..], &["--partition-type", ESP]].concat(),
            "mkfatimg: --partition-type is of the other kind of table than mbr; use esp, fat or a byte such as 0C",
        ),
        (
            [&gpt[..], &["--partition-type", "0C"]].concat(),
            "mkfatimg: --partition-type is of the other kind of table than gpt; use esp, fat or a GUID",
        ),
        (
            [&mbr[..], &["--partition-label", "x"]].concat(),
            "mkfatimg: --partition-label is of the other kind of table than mbr; leave it out, or use --partition-table gpt",
        ),
        (
            [&gpt[..], &["--disk-id", "DEADBEEF"]].concat(),
            "mkfatimg: --disk-id is of the other kind of table than gpt; use a GUID",
        ),
        (
            [&mbr[..], &["--disk-id", ESP]].concat(),
            "mkfatimg: --disk-id is of the other kind of table than mbr; use eight hexadecimal digits",
        ),
        (
            [&mbr[..], &["--hidden-sectors", "2048"]].concat(),
            "mkfatimg: --hidden-sectors is where the partition begins, which is known; leave it out",
        ),
        (
            [&gpt[..], &["--partition-start", "16K"]].concat(),
            "mkfatimg: --partition-start 16K lies in the partition table; use 17K or more",
        ),
        (
            [&gpt[..], &["--partition-start", "20K", "--sector-size", "4096"]].concat(),
            "mkfatimg: --partition-start 20K lies in the partition table; use 24K or more",
        ),
        (
            [&mbr[..], &["--partition-start", "1000"]].concat(),
            "mkfatimg: a partition that starts at byte 1000 starts within a sector of 512 bytes; use a multiple of 512",
        ),
        (
            [&mbr[..], &["--partition-start", "3T"]].concat(),
            "mkfatimg: a volume that starts at byte 3298534883328 is too far into the disk for its boot sector, which tells places up to 2199023255040",
        ),
    ] {
        refused(&arguments, 2, told);
    }
    for arguments in [
        &["--partition-type", "esp"][..],
        &["--partition-start", "1M"],
        &["--partition-label", "x"],
        &["--disk-id", "random"],
        &["--mbr-code", "tree/config.txt"],
    ] {
        let ran = workplace.run(&[&["--from", "tree"], arguments, &["disk.img"]].concat());
        assert_eq!(ran.status, Some(2));
        assert!(ran.stderr.contains("--partition-table <KIND>"), "{}", ran.stderr);
    }
}

/// The gap before a partition can hold anything, and its end is counted right.
#[test]
fn a_partition_can_begin_far_into_the_disk() {
    let scratch = scratch();
    let source = tree(scratch.path());
    let image = scratch.path().join("disk.img");
    for (scheme, start_bytes) in [("mbr", 3 << 30), ("gpt", 5_000_000_000_u64 / 4096 * 4096)] {
        let start = start_bytes.to_string();
        let arguments = ["--partition-table", scheme, "--partition-start", &start];
        let report = build(&source, &image, &arguments);
        assert_eq!(report["disk"]["partition_at_byte"], start_bytes);
        let source = Some(source.clone());
        let hidden_sectors = Some((start_bytes / 512) as u32);
        let expect = Expect { offset: start_bytes, hidden_sectors, source, ..Expect::default() };
        assert_sound(&image, &expect);
        let wanted = Wanted { start_bytes, ..wanted(scheme, 12, 512, "auto") };
        assert_partitioners_accept(&wanted, &image, &report);
    }
}
