//! The recipes: docs/recipes.md prints the files of tests/recipes, and each of them does what it says
//! when it is run as it stands, in a folder of its own. Inputs that cannot be had here have small
//! stand-ins: kernels, firmware of boards, FreeDOS, the services that run jobs, and nixpkgs.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;
use support::commit::commit;
use support::kitchen::{Kitchen, are_there, recipe};
use support::{
    Expect, TREE_SECONDS, Tool, assert_sound, fsck, has_file, printed, search_path, set_time,
    set_times,
};

const MIB: u64 = 1 << 20;

/// Of the package syslinux-common.
const MBR_CODE: &str = "/usr/lib/syslinux/mbr/mbr.bin";

/// `fsck.fat` has nothing to say against `image`.
fn assert_fsck_accepts(image: &Path) {
    if let Some(tool) = Tool::find("fsck.fat") {
        fsck::assert_accepts(&tool, image);
    }
}

/// What mtools tells of `image`, which may end in `@@` and an offset.
fn mtools(program: &str, image: &str, arguments: &[&str]) -> Option<String> {
    let ran = Tool::find(program)?.run([&["-i", image], arguments].concat());
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""), "{program} {arguments:?}");
    Some(ran.stdout)
}

/// Every path in the volume, sorted; those of directories end in `/`.
fn paths_in(image: &str) -> Option<Vec<String>> {
    let listing = mtools("mdir", image, &["-/", "-a", "-b", "::"])?;
    let mut paths: Vec<String> = listing.lines().map(|line| line.replace("::/", "")).collect();
    paths.sort();
    Some(paths)
}

fn assert_holds(image: &Path, paths: &[&str]) {
    if let Some(found) = paths_in(image.to_str().unwrap()) {
        assert_eq!(found, paths, "{}", image.display());
    }
}

fn assert_content(image: &str, path: &str, content: &str) {
    if let Some(found) = mtools("mtype", image, &[&format!("::{path}")]) {
        assert_eq!(found, content, "{path} in {image}");
    }
}

/// The letters of the attributes of a file.
fn assert_attributes(image: &Path, path: &str, letters: &str) {
    let image = image.to_str().unwrap();
    if let Some(found) = mtools("mattrib", image, &["-X", &format!("::{path}")]) {
        let found: String = found.split_whitespace().take(1).collect();
        assert_eq!(found, letters, "{path} in {image}");
    }
}

/// A file with the volume that begins 1 MiB into `disk`.
fn volume_in(disk: &Path) -> PathBuf {
    let geometry = support::invariants::read(disk, MIB).unwrap().geometry;
    let volume_bytes = geometry.total_sectors * geometry.bytes_per_sector;
    let volume = disk.with_extension("volume");
    let disk = fs::read(disk).unwrap();
    let [begin, length] = [MIB, volume_bytes].map(|bytes| usize::try_from(bytes).unwrap());
    fs::write(&volume, &disk[begin..][..length]).unwrap();
    volume
}

/// The bytes of `disk` at `at_byte` are those of `volume`.
fn assert_holds_volume(disk: &Path, at_byte: u64, volume: &Path) {
    let (disk, volume) = (fs::read(disk).unwrap(), fs::read(volume).unwrap());
    let within = &disk[usize::try_from(at_byte).unwrap()..][..volume.len()];
    assert!(within == volume, "the partition has other bytes");
}

#[test]
fn the_document_prints_the_recipes() {
    printed::assert_prints_folder("docs/recipes.md", "tests/recipes");
}

/// The examples at the beginning, as somebody would paste them.
#[test]
fn the_examples_of_the_readme_run() {
    if !are_there(&["zstd"]) {
        return;
    }
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = fs::read_to_string(readme).unwrap();
    let (_, examples) = readme.split_once("## Examples\n\n```sh\n").unwrap();
    let (examples, _) = examples.split_once("```").unwrap();
    let kitchen = Kitchen::new();
    kitchen
        .inputs(&[
            ("rootfs/a:b", b"x\n"),
            ("esp/EFI/BOOT/BOOTX64.EFI", b"x\n"),
            ("vmlinuz", b"x\n"),
        ])
        .link("nowhere", "rootfs/link");
    support::make_fifo(&kitchen.work("rootfs/fifo"));
    // The last example is for such a tree; the others are for one without its offenders.
    let (ordinary, last) = examples.rsplit_once("\n\n").unwrap();
    kitchen.succeed(kitchen.command("sh").args(["-euc", last]));
    assert_fsck_accepts(&kitchen.work("root.img"));
    assert_holds(&kitchen.work("root.img"), &["a_b"]);
    fs::remove_dir_all(kitchen.work("rootfs")).unwrap();
    kitchen.inputs(&[("rootfs/a", b"x\n"), ("rootfs/a~", b"x\n")]);
    kitchen.succeed(kitchen.command("sh").args(["-euc", ordinary]));
    kitchen.succeed(kitchen.command("zstd").args(["-q", "-d", "live.img.zst"]));
    let made = [("data.img", &["a", "a~"][..]), ("live.img", &["a", "boot/", "boot/vmlinuz"])];
    for (image, paths) in made {
        assert_fsck_accepts(&kitchen.work(image));
        assert_holds(&kitchen.work(image), paths);
    }
    assert_fsck_accepts(&kitchen.work("esp.img"));
}

#[test]
fn an_efi_system_partition_lies_in_its_disk() {
    if !are_there(&["grub-mkstandalone", "sfdisk", "mdir"]) {
        return;
    }
    let kitchen = Kitchen::new();
    kitchen.inputs(&[
        ("vmlinuz", b"stand-in for a kernel\n"),
        ("initrd.img", b"stand-in for an initrd\n"),
    ]);
    fs::copy(recipe("esp-grub.cfg"), kitchen.work("esp-grub.cfg")).unwrap();
    kitchen.follow("esp.sh");
    let paths = ["EFI/", "EFI/BOOT/", "EFI/BOOT/BOOTX64.EFI", "initrd.img", "vmlinuz"];
    let disk = kitchen.work("disk.img");
    assert_holds(&volume_in(&disk), &paths);
    assert_fsck_accepts(&volume_in(&disk));
    assert_eq!(fs::metadata(&disk).unwrap().len(), 262 * MIB);
    let expect = Expect {
        offset: MIB,
        hidden_sectors: Some(2048),
        label: Some(Some("EFI".to_owned())),
        volume_id: Some(0xE5B0_0001),
        ..Expect::default()
    };
    assert_sound(&disk, &expect);
    let table = kitchen.succeed(kitchen.command("sfdisk").args(["--json", "disk.img"]));
    let table: Value = serde_json::from_str(&table.stdout).unwrap();
    let partition = &table["partitiontable"]["partitions"][0];
    assert_eq!(table["partitiontable"]["label"], "gpt");
    assert_eq!(partition["type"], "C12A7328-F81F-11D2-BA4B-00A0C93EC93B");
    // 260 MiB and more.
    assert_eq!(partition["start"], 2048);
    assert!(partition["size"].as_u64().unwrap() >= 532_480, "{partition}");
}

#[test]
fn a_raspberry_pi_card_begins_with_its_boot_partition() {
    if !are_there(&["sfdisk", "mdir"]) {
        return;
    }
    let kitchen = Kitchen::new();
    kitchen.inputs(&[
        ("firmware/bootcode.bin", b"stand-in\n"),
        ("firmware/start4.elf", b"stand-in\n"),
        ("firmware/fixup4.dat", b"stand-in\n"),
        ("firmware/bcm2711-rpi-4-b.dtb", b"stand-in\n"),
        ("firmware/overlays/disable-bt.dtbo", b"stand-in\n"),
        ("firmware/config.txt", b"as it comes\n"),
        ("config/config.txt", b"arm_64bit=1\n"),
        ("config/cmdline.txt", b"root=PARTUUID=4d4b4641-02\n"),
        ("kernel8.img", b"stand-in\n"),
    ]);
    fs::write(kitchen.work("card.img"), vec![0xFF; 8 << 20]).unwrap();
    let ran = kitchen.follow("raspberry-pi.sh");
    assert!(ran.stderr.contains("config/config.txt: takes the place"), "{}", ran.stderr);
    let paths = [
        "bcm2711-rpi-4-b.dtb",
        "bootcode.bin",
        "cmdline.txt",
        "config.txt",
        "fixup4.dat",
        "kernel8.img",
        "overlays/",
        "overlays/disable-bt.dtbo",
        "start4.elf",
    ];
    let (volume, card) = (kitchen.work("boot.img"), kitchen.work("card.img"));
    assert_holds(&volume, &paths);
    assert_fsck_accepts(&volume);
    let within = format!("{}@@4M", card.display());
    assert_content(&within, "/config.txt", "arm_64bit=1\n");
    let expect = Expect {
        offset: 4 * MIB,
        hidden_sectors: Some(8192),
        label: Some(Some("BOOTFS".to_owned())),
        ..Expect::default()
    };
    assert_sound(&card, &expect);
    assert_holds_volume(&card, 4 * MIB, &volume);
    let geometry = support::invariants::read(&card, 4 * MIB).unwrap().geometry;
    assert_eq!((geometry.fat_type.bits(), geometry.cluster_bytes), (32, 2048));
    // The table, by its bytes: bootable, type 0c, sector 8192, 524288 sectors, and the disk's id.
    let mbr = &fs::read(&card).unwrap()[..512];
    assert_eq!((mbr[446], mbr[450]), (0x80, 0x0C));
    assert_eq!(mbr[454..462], [0, 0x20, 0, 0, 0, 0, 8, 0]);
    assert_eq!(mbr[440..444], 0x4D4B_4641_u32.to_le_bytes());
}

#[test]
fn syslinux_installs_itself_on_a_stick() {
    if !are_there(&["syslinux", "mcopy"]) || !has_file(MBR_CODE) {
        return;
    }
    let kitchen = Kitchen::new();
    kitchen.inputs(&[
        ("stick/syslinux.cfg", b"DEFAULT vmlinuz initrd=initrd.img\n"),
        ("stick/vmlinuz", &[0xAA; 100_000]),
        ("stick/initrd.img", &[0x55; 300_000]),
    ]);
    let mut command = kitchen.command(recipe("syslinux-usb.sh"));
    kitchen.succeed(command.env("SOURCE_DATE_EPOCH", TREE_SECONDS.to_string()));
    let stick = kitchen.work("stick.img");
    let image = volume_in(&stick);
    let paths = ["initrd.img", "ldlinux.c32", "ldlinux.sys", "syslinux.cfg", "vmlinuz"];
    assert_holds(&image, &paths);
    assert_attributes(&image, "/ldlinux.sys", "ASHR");
    assert_fsck_accepts(&image);
    // Nor are its own files newer than the rest.
    let expect =
        Expect { epoch_ceiling: Some(TREE_SECONDS), stray_boot_code: true, ..Expect::default() };
    assert_sound(&image, &Expect { hidden_sectors: Some(2048), ..expect });
    let sector = &fs::read(&image).unwrap()[..512];
    // Its name, and a jump over what any type may need to the first two instructions of its code.
    assert_eq!(sector[..11], *b"\xEB\x58\x90SYSLINUX");
    assert_eq!(sector[90..92], [0xFA, 0xFC], "cli, cld");
    assert_eq!(sector[510..], [0x55, 0xAA]);
    // The code before the table, the active partition at 1 MiB, and the signature.
    let (mbr, code) = (&fs::read(&stick).unwrap()[..512], fs::read(MBR_CODE).unwrap());
    assert_eq!(mbr[..code.len()], code);
    assert_eq!((mbr[446], mbr[454..458].to_vec()), (0x80, vec![0, 8, 0, 0]));
    assert_eq!(mbr[510..], [0x55, 0xAA]);
}

#[test]
fn a_floppy_has_its_layout_its_boot_code_and_its_attributes() {
    let kitchen = Kitchen::new();
    let mut code = [0xF4_u8; 512];
    code[..3].copy_from_slice(&[0xEB, 0x3C, 0x90]);
    code[510..].copy_from_slice(&[0x55, 0xAA]);
    kitchen.inputs(&[
        ("dos/KERNEL.SYS", b"stand-in\n"),
        ("dos/COMMAND.COM", b"stand-in\n"),
        ("dos/FDAUTO.BAT", b"@echo off\r\n"),
        ("dos/TOOLS/EDIT.EXE", b"stand-in\n"),
        ("fat12.bin", &code),
    ]);
    kitchen.follow("floppy.sh");
    let image = kitchen.work("floppy.img");
    let paths = ["COMMAND.COM", "FDAUTO.BAT", "KERNEL.SYS", "TOOLS/", "TOOLS/EDIT.EXE"];
    assert_holds(&image, &paths);
    assert_attributes(&image, "/KERNEL.SYS", "ASHR");
    assert_attributes(&image, "/FDAUTO.BAT", "AR");
    assert_attributes(&image, "/COMMAND.COM", "A");
    assert_content(image.to_str().unwrap(), "/FDAUTO.BAT", "@echo off\r\n");
    assert_fsck_accepts(&image);
    let bytes = fs::read(&image).unwrap();
    assert_eq!(bytes.len(), 1440 * 1024);
    assert_eq!((bytes[21], bytes[24], bytes[26]), (0xF0, 18, 2), "media, sectors, heads");
    assert_eq!(bytes[62..510], code[62..510]);
}

#[test]
fn a_live_system_holds_its_repository_and_is_flashed_by_its_block_map() {
    if !are_there(&["grub-mkimage"]) {
        return;
    }
    let kitchen = Kitchen::new();
    let later = TREE_SECONDS + 1_000_000_000;
    let tree = kitchen.inputs(&[]);
    for number in 0..300 {
        let package = format!("mirror/pool/main/p{number:03}/package-{number:03}_1.0-1_amd64.deb");
        tree.filled(&package, 1000 + 7 * number);
    }
    tree.file("live/boot/vmlinuz", "stand-in\n")
        .file("live/boot/initrd.img", "stand-in\n")
        .filled("live/live/rootfs.squashfs", 3_000_000)
        .file("live/boot/grub.cfg~", "an editor's\n")
        .file("live/.git/config", "of the checkout\n")
        .file("mirror/dists/stable/Release", "signed\n")
        .file("mirror/dists/stable/.lock", "")
        .file("mirror/logs/today", "fetched\n")
        .filled("mirror/images/registry.tar", 400_000)
        .file("mirror/images/other.tar.part", "half\n")
        .file("keys/archive.gpg", "a key\n");
    for name in ["livecd.exclude", "livecd-grub.cfg", "livecd-menu.cfg"] {
        fs::copy(recipe(name), kitchen.work(name)).unwrap();
    }
    set_times(tree.root(), later);
    set_time(&kitchen.work("live/boot/vmlinuz"), TREE_SECONDS);
    let ran = kitchen.follow("livecd.sh");
    let notes: Vec<&str> = ran.stderr.lines().filter(|line| line.contains("note: ")).collect();
    // And none of a pattern that matched nothing.
    let left_out = "mkfatimg: note: 5 entries left out by patterns, the first: \
                    live/.git: left out by livecd.exclude:2: .git/ (all with -v)";
    assert_eq!(notes, [left_out]);
    let image = kitchen.work("live.img");
    let volume = volume_in(&image);
    assert_fsck_accepts(&volume);
    // The latest time is the release's, and the digest that is printed is the image's.
    let expect = Expect {
        epoch_ceiling: Some(1_795_996_800),
        label: Some(Some("LIVE".to_owned())),
        volume_id: Some(0x2026_1130),
        ..Expect::default()
    };
    assert_sound(&volume, &expect);
    if let Some(tool) = Tool::find("sha256sum") {
        let told = tool.run([&image]).stdout;
        let digest = told.split_whitespace().next().unwrap();
        assert_eq!(ran.stdout, format!("{digest}  live.img\n"));
    }
    let Some(paths) = paths_in(volume.to_str().unwrap()) else { return };
    let files: Vec<&String> = paths.iter().filter(|path| !path.ends_with('/')).collect();
    assert_eq!(files.len(), 300 + 8, "{files:?}");
    for left_out in [".git", "grub.cfg~", ".lock", "logs", "other.tar.part"] {
        assert!(!paths.iter().any(|path| path.contains(left_out)), "{left_out} is in the image");
    }
    for there in
        ["live/rootfs.squashfs", "repository/archive.gpg", "repository/images/registry.tar"]
    {
        assert!(paths.iter().any(|path| path == there), "{there} is missing");
    }

    let first = fs::read(&image).unwrap();
    kitchen.follow("livecd.sh");
    assert!(fs::read(&image).unwrap() == first, "a second build has other bytes");

    // As the recipe's last line says, on a file for the stick.
    let Some(bmaptool) = Tool::find("bmaptool") else { return };
    let stick = kitchen.work("stick");
    let ran = bmaptool.run([Path::new("copy"), &image, &stick]);
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    assert!(fs::read(&stick).unwrap() == first, "the stick has other bytes");
}

/// GNU make at work on the recipe's Makefile.
struct Make<'a>(&'a Kitchen);

impl Make<'_> {
    /// Whether the image was made again. A run after that has nothing to do.
    fn builds(&self) -> bool {
        let image = self.0.work("live.img");
        let written = || image.metadata().and_then(|found| found.modified()).ok();
        // Older than what a test changes after it, however coarse the file system's clock is.
        let long_ago = TREE_SECONDS + 100;
        self.run();
        let built = written() != Some(support::time(long_ago));
        let first = written();
        self.run();
        assert_eq!(written(), first, "a second run built again");
        assert_fsck_accepts(&image);
        set_times(&self.0.work("rootfs"), TREE_SECONDS);
        set_time(&image, long_ago);
        built
    }

    fn run(&self) {
        let mut command = self.0.command("make");
        let ran = self.0.succeed(command.arg("--warn-undefined-variables"));
        assert_eq!(ran.stderr, "");
    }

    fn image_holds(&self, path: &str) -> Option<bool> {
        let paths = paths_in(self.0.work("live.img").to_str().unwrap())?;
        Some(paths.iter().any(|found| found == path))
    }
}

#[test]
fn make_builds_again_what_has_changed_and_nothing_else() {
    if !are_there(&["make"]) {
        return;
    }
    let kitchen = Kitchen::new();
    kitchen.inputs(&[
        ("rootfs/etc/motd", b"hello\n"),
        ("rootfs/etc/name with blanks", b"x\n"),
        ("rootfs/usr/$dollar#hash", b"x\n"),
    ]);
    fs::copy(recipe("Makefile"), kitchen.work("Makefile")).unwrap();
    set_time(&kitchen.work("Makefile"), TREE_SECONDS);
    let make = Make(&kitchen);
    assert!(make.builds(), "the first time");
    assert!(!make.builds(), "nothing has changed");

    fs::write(kitchen.work("rootfs/etc/name with blanks"), "y\n").unwrap();
    assert!(make.builds(), "a file has changed");
    assert!(!make.builds(), "nothing has changed");

    fs::write(kitchen.work("rootfs/etc/new"), "new\n").unwrap();
    assert!(make.builds(), "a file has come");
    assert_ne!(make.image_holds("etc/new"), Some(false));
    assert!(!make.builds(), "nothing has changed");

    fs::remove_file(kitchen.work("rootfs/etc/new")).unwrap();
    assert!(make.builds(), "a file has gone");
    assert_ne!(make.image_holds("etc/new"), Some(true));
}

/// What `program` does with a recipe for `--if-changed`: whether it looks at the image's inputs, and
/// whether it compresses the image.
fn looks_and_compresses(kitchen: &Kitchen, program: &str, arguments: &[&str]) -> (bool, bool) {
    let ran = kitchen.succeed(kitchen.command(program).args(arguments));
    assert_fsck_accepts(&kitchen.work("live.img"));
    kitchen
        .succeed(kitchen.command("sh").args(["-c", "zstd -q -d -c live.img.zst | cmp - live.img"]));
    // Newer than all that was there, however coarse the file system's clock is.
    sleep(Duration::from_millis(30));
    (ran.stdout.contains("mkfatimg "), ran.stdout.contains("zstd "))
}

fn assert_compresses_what_has_changed(recipe_name: &str, program: &str, arguments: &[&str]) {
    if !are_there(&[program, "zstd"]) {
        return;
    }
    let kitchen = Kitchen::new();
    let tree = kitchen.inputs(&[("rootfs/a", b"x\n"), ("rootfs/b/c", b"x\n")]);
    fs::copy(recipe(recipe_name), kitchen.work(recipe_name)).unwrap();
    let follow = || looks_and_compresses(&kitchen, program, arguments);
    assert_eq!(follow(), (true, true), "the first time");
    assert_eq!(follow(), (false, false), "nothing has changed");
    tree.file("rootfs/a", "x\n");
    assert_eq!(follow(), (true, false), "the same contents");
    assert_eq!(follow(), (false, false), "nothing has changed since");
    tree.file("rootfs/a", "y\n");
    assert_eq!(follow(), (true, true), "other contents");
    assert_eq!(follow(), (false, false), "nothing has changed since");
    tree.file("rootfs/b/new", "");
    assert_eq!(follow(), (true, true), "a file has come");
    assert_eq!(follow(), (false, false), "nothing has changed since");
    fs::remove_file(kitchen.work("rootfs/a")).unwrap();
    assert_eq!(follow(), (true, true), "a file has gone");
    assert_eq!(follow(), (false, false), "nothing has changed since");
    fs::remove_file(kitchen.work("live.img")).unwrap();
    assert_eq!(follow(), (true, true), "the image has gone");
    assert_eq!(follow(), (false, false), "nothing has changed since");
}

#[test]
fn make_compresses_an_image_that_has_changed_and_no_other() {
    assert_compresses_what_has_changed("if-changed.mk", "make", &["-f", "if-changed.mk"]);
}

#[test]
fn ninja_compresses_an_image_that_has_changed_and_no_other() {
    assert_compresses_what_has_changed("build.ninja", "ninja", &["-v"]);
}

/// A document in YAML, through the reader of others.
fn yaml(name: &str) -> Option<Value> {
    let python = Tool::find("python3")?;
    let mut command = python.command();
    command
        .args(["-c", "import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin), sys.stdout)"]);
    let ran = command.stdin(fs::File::open(recipe(name)).unwrap()).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    Some(serde_json::from_slice(&ran.stdout).unwrap())
}

/// A commit whose checkout is newer than itself, with mkfatimg's sources where the jobs have a
/// submodule. What `cargo install` would build is already built: its stand-in puts it where cargo
/// does, and nothing else.
fn checkout(kitchen: &Kitchen) -> Option<()> {
    kitchen.inputs(&[("rootfs/EFI/BOOT/BOOTX64.EFI", b"stand-in\n"), ("rootfs/a/b", b"c\n")]);
    commit(&kitchen.work(""), "rootfs")?;
    set_times(&kitchen.work("rootfs"), TREE_SECONDS + 1_000_000);
    fs::create_dir(kitchen.work("tools")).unwrap();
    symlink(env!("CARGO_MANIFEST_DIR"), kitchen.work("tools/mkfatimg")).unwrap();

    let installed = kitchen.path("home/.cargo/bin/mkfatimg");
    fs::remove_file(&installed).unwrap();
    let cargo = kitchen.path("home/.cargo/bin/cargo");
    let mut file = fs::File::create(&cargo).unwrap();
    writeln!(
        file,
        "#!/bin/sh\n[ \"$*\" = 'install --locked --path tools/mkfatimg' ] || exit 1\n\
         grep -q '^name = \"mkfatimg\"' tools/mkfatimg/Cargo.toml || exit 1\n\
         ln -s {} {}",
        env!("CARGO_BIN_EXE_mkfatimg"),
        installed.display()
    )
    .unwrap();
    file.set_permissions(fs::Permissions::from_mode(0o755)).unwrap();
    Some(())
}

/// No stamp in the image of a job is later than its commit, and its digest is the one kept with it.
fn assert_of_the_commit(kitchen: &Kitchen) {
    let image = kitchen.work("live.img");
    let expect = Expect {
        epoch_ceiling: Some(TREE_SECONDS),
        label: Some(Some("LIVE".to_owned())),
        source: Some(kitchen.work("rootfs")),
        ..Expect::default()
    };
    assert_sound(&image, &expect);
    assert_fsck_accepts(&image);
    let paths = ["EFI/", "EFI/BOOT/", "EFI/BOOT/BOOTX64.EFI", "a/", "a/b"];
    assert_holds(&image, &paths);
    kitchen.succeed(kitchen.command("sha256sum").args(["--check", "live.img.sha256"]));
}

#[test]
fn the_steps_of_the_github_job_build_the_image_of_the_commit() {
    let Some(workflow) = yaml("github-actions.yml") else { return };
    let kitchen = Kitchen::new();
    let Some(()) = checkout(&kitchen) else { return };
    let job = &workflow["jobs"]["image"];
    assert!(job["runs-on"].is_string() && workflow["name"].is_string());
    // The variables that one step leaves to the next.
    let variables = kitchen.path("variables");
    fs::write(&variables, "").unwrap();
    let mut ran = 0;
    for step in job["steps"].as_array().unwrap() {
        let Some(script) = step["run"].as_str() else {
            let action = step["uses"].as_str().unwrap();
            assert!(action.starts_with("actions/") && action.contains("@v"), "{action}");
            continue;
        };
        let file = kitchen.path("step.sh");
        fs::write(&file, script).unwrap();
        let mut command = kitchen.command("bash");
        command.arg("-e").arg(&file).env("GITHUB_ENV", &variables).env("CI", "true");
        let told = fs::read_to_string(&variables).unwrap();
        command.envs(told.lines().filter_map(|line| line.split_once('=')));
        kitchen.succeed(&mut command);
        ran += 1;
    }
    assert_eq!(ran, 4);
    assert_of_the_commit(&kitchen);
    let is_upload = |step: &&Value| {
        step["uses"].as_str().is_some_and(|action| action.starts_with("actions/upload-artifact@"))
    };
    let upload = job["steps"].as_array().unwrap().iter().find(is_upload).unwrap();
    let kept: Vec<&str> = upload["with"]["path"].as_str().unwrap().lines().collect();
    assert_eq!(kept, ["live.img", "live.img.sha256"]);
    assert!(kept.iter().all(|name| kitchen.work(name).is_file()), "{kept:?}");
}

#[test]
fn the_script_of_the_gitlab_job_builds_the_image_of_the_commit() {
    let Some(pipeline) = yaml("gitlab-ci.yml") else { return };
    let kitchen = Kitchen::new();
    let Some(()) = checkout(&kitchen) else { return };
    let job = &pipeline["live-image"];
    assert!(job["image"].is_string() && job["variables"]["GIT_SUBMODULE_STRATEGY"].is_string());
    // One shell runs both lists, as the runner does.
    let lines: Vec<&str> = ["before_script", "script"]
        .iter()
        .flat_map(|list| job[list].as_array().unwrap())
        .map(|line| line.as_str().unwrap())
        .collect();
    assert_eq!(lines.len(), 5);
    let script = format!("set -eo pipefail\n{}\n", lines.join("\n"));
    kitchen.succeed(kitchen.command("bash").args(["-c", &script]).env("CI", "true"));
    assert_of_the_commit(&kitchen);
    for kept in job["artifacts"]["paths"].as_array().unwrap() {
        assert!(kitchen.work(kept.as_str().unwrap()).is_file(), "{kept}");
    }
    let report = fs::read_to_string(kitchen.work("live.json")).unwrap();
    let report: Value = serde_json::from_str(&report).unwrap();
    // The plan that is kept is the image's.
    let image = kitchen.work("live.img");
    assert_eq!((&report["status"], &report["exit_status"]), (&"planned".into(), &0.into()));
    let volume = &report["volume"];
    assert_eq!(volume["bytes"], fs::metadata(&image).unwrap().len());
    assert_eq!(volume["label"], "LIVE");
    let id = u32::from_str_radix(&volume["volume_id"].as_str().unwrap().replace('-', ""), 16);
    assert_sound(&image, &Expect { volume_id: Some(id.unwrap()), ..Expect::default() });
}

#[test]
fn buildroot_gets_a_disk_with_the_partition() {
    if !are_there(&["genimage", "mdir"]) {
        return;
    }
    let kitchen = Kitchen::new();
    let images = kitchen.work("output/images");
    kitchen.inputs(&[
        ("output/images/Image", b"stand-in\n"),
        ("output/images/acme-board.dtb", b"stand-in\n"),
        ("output/images/rootfs.ext4", &[0xEE; 1 << 20]),
        ("external/board/acme/boot/extlinux/extlinux.conf", b"label linux\n"),
        ("output/build/genimage.tmp/left by the build before", b"x\n"),
    ]);
    let board = kitchen.work("external/board/acme");
    fs::copy(recipe("buildroot-post-image.sh"), board.join("post-image.sh")).unwrap();
    fs::copy(recipe("buildroot-genimage.cfg"), board.join("genimage.cfg")).unwrap();
    // Buildroot has its own tools first on the PATH, and no others of ours.
    fs::create_dir_all(kitchen.work("output/host/bin")).unwrap();
    fs::remove_file(kitchen.path("home/.cargo/bin/mkfatimg")).unwrap();
    kitchen.install_mkfatimg(&kitchen.work("output/host/bin/mkfatimg"));
    let host = kitchen.work("output/host");
    let mut command = kitchen.command(board.join("post-image.sh"));
    command
        .arg(&images)
        .env("PATH", search_path::beginning_with(&[&host.join("bin"), &host.join("sbin")]))
        .env("BINARIES_DIR", &images)
        .env("BUILD_DIR", kitchen.work("output/build"))
        .env("HOST_DIR", &host)
        .env("TARGET_DIR", kitchen.work("output/target"))
        .env("BASE_DIR", kitchen.work("output"))
        .env("BR2_EXTERNAL", kitchen.work("external"))
        .env("BR2_EXTERNAL_ACME_PATH", kitchen.work("external"))
        .env("SOURCE_DATE_EPOCH", TREE_SECONDS.to_string());
    kitchen.succeed(&mut command);
    let paths = ["Image", "acme-board.dtb", "extlinux/", "extlinux/extlinux.conf"];
    assert_holds(&images.join("boot.vfat"), &paths);
    assert_fsck_accepts(&images.join("boot.vfat"));
    let disk = images.join("sdcard.img");
    assert_holds_volume(&disk, MIB, &images.join("boot.vfat"));
    let bytes = fs::read(&disk).unwrap();
    assert_eq!((bytes[446], bytes[450], bytes[466]), (0x80, 0x0C, 0x83));
    assert_eq!(bytes[440..444], 0x4143_4D45_u32.to_le_bytes());
    assert_eq!(bytes[(33 * MIB) as usize], 0xEE, "what follows it");
}

/// Without nixpkgs there is no building by Nix here: its reader reads the file, its evaluator gives
/// the commands to a stand-in for `runCommand`, and they are run with what a derivation gives them.
#[test]
fn the_commands_of_the_nix_derivation_make_the_image() {
    let Some(nix) = Tool::find("nix-instantiate") else { return };
    let kitchen = Kitchen::new();
    kitchen.inputs(&[("rootfs/etc/motd", b"hello\n")]);
    fs::copy(recipe("image.nix"), kitchen.work("image.nix")).unwrap();
    // The time of everything in the store.
    set_times(&kitchen.work("rootfs"), 1);
    let state = |mut command: Command| {
        for (variable, folder) in [
            ("NIX_STORE_DIR", "nix/store"),
            ("NIX_STATE_DIR", "nix/state"),
            ("NIX_LOG_DIR", "nix/log"),
        ] {
            command.env(variable, kitchen.path(folder));
        }
        command.current_dir(kitchen.path("work"));
        command
    };
    kitchen.succeed(state(nix.command()).args(["--parse", "image.nix"]));
    let stand_in = "import ./image.nix { \
        pkgs.runCommand = name: environment: commands: { inherit name commands; }; \
        mkfatimg = \"installed\"; }";
    let mut command = state(nix.command());
    command.args(["--eval", "--strict", "--json", "--readonly-mode", "--expr", stand_in]);
    let told: BTreeMap<String, String> =
        serde_json::from_str(&kitchen.succeed(&mut command).stdout).unwrap();
    assert_eq!(told["name"], "live.img");
    let mut command = kitchen.command("bash");
    command.args(["-e", "-c", &told["commands"]]);
    command.env("rootfs", kitchen.work("rootfs")).env("out", kitchen.work("out"));
    // The beginning of FAT's time, as the builder of nixpkgs sets it.
    command.env("SOURCE_DATE_EPOCH", "315532800");
    let ran = kitchen.succeed(&mut command);
    assert!(!ran.stderr.contains("note:"), "{}", ran.stderr);
    let image = kitchen.work("out");
    assert_holds(&image, &["etc/", "etc/motd"]);
    assert_fsck_accepts(&image);
}
