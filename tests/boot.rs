//! What the images are for: UEFI firmware starts what is on our disks, a BIOS starts syslinux from our
//! sticks, and live systems made by the recipes come up, from a disk, a stick and a CD.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use support::kitchen::{Kitchen, are_there, recipe};
use support::machine::Machine;
use support::{Oracle, Ran, Tool, TreeBuilder, firmware, scratch};

const MIB: u64 = 1 << 20;

/// Firmware starts a program from a partition of every type, behind both tables, on each of `buses`
/// in turn.
fn assert_firmware_boots_disks(sector_bytes: &str, buses: &[&str]) {
    let Some(oracle) = Oracle::find("uefi-boot.sh") else { return };
    let scratch = scratch();
    let tree = TreeBuilder::new(scratch.path().join("tree"));
    let Some(()) = firmware::make_bootable(&oracle, &tree) else { return };
    let disk = scratch.path().join("disk");
    let tables = ["gpt", "mbr"];
    let kinds = tables.iter().flat_map(|table| ["12", "16", "32"].map(|bits| (*table, bits)));
    for ((table, bits), bus) in kinds.zip(buses.iter().cycle()) {
        let arguments = ["--partition-table", table, "--partition-type", "esp", "--fat-type", bits];
        let arguments = [&arguments[..], &["--sector-size", sector_bytes]].concat();
        let mut command = support::mkfatimg();
        command.arg("--from").arg(tree.root()).args(&arguments).arg(&disk);
        let ran: Ran = command.output().unwrap().into();
        assert_eq!(ran.status, Some(0), "{arguments:?}: {}", ran.stderr);
        let options = ["--bus", bus, "--block-size", sector_bytes];
        firmware::assert_boots(&oracle, &disk, &options, &format!("{arguments:?} {options:?}"));
    }
}

#[test]
fn uefi_firmware_boots_disks_of_both_tables_and_every_type() {
    assert_firmware_boots_disks("512", &["virtio", "usb", "nvme", "ide", "virtio"]);
}

#[test]
fn uefi_firmware_boots_disks_with_sectors_of_4096() {
    assert_firmware_boots_disks("4096", &["virtio"]);
}

/// What the process that Linux starts says. It is nowhere else than in the initramfs.
const LINUX_IS_UP: &str = "MKFATIMG-LINUX-IS-UP";

/// Debian's kernel, and an initramfs in which one process says that it is there.
struct Linux {
    kernel: Vec<u8>,
    initramfs: Vec<u8>,
}

impl Linux {
    /// `None` is a skip that has been told.
    fn find() -> Option<Self> {
        // The judge that boots Linux by itself keeps a kernel, and sees to a static busybox.
        let ran = Oracle::find("linux-mount.sh")?.prepare(["--setup"])?;
        let (_, folder) = ran.stderr.trim_end().rsplit_once(": ready: ").unwrap();
        let kernel = fs::read(Path::new(folder).join("vmlinuz")).unwrap();

        let cpio = Tool::find("cpio")?;
        let scratch = scratch();
        let tree = TreeBuilder::new(scratch.path().join("root"));
        tree.file("init", format!("#!/busybox sh\necho {LINUX_IS_UP}\n/busybox poweroff -f\n"));
        for name in ["init", "busybox"] {
            // A copy keeps the permissions.
            fs::copy("/bin/busybox", tree.root().join("busybox")).unwrap();
            let permissions = tree.root().join("busybox").metadata().unwrap().permissions();
            fs::set_permissions(tree.root().join(name), permissions).unwrap();
        }
        tree.settle();
        fs::write(scratch.path().join("names"), "init\nbusybox\n").unwrap();
        let mut command = cpio.command();
        command.args(["-o", "-H", "newc", "--quiet"]).current_dir(tree.root());
        command.stdin(fs::File::open(scratch.path().join("names")).unwrap());
        let archive = command.stderr(Stdio::inherit()).output().unwrap();
        assert!(archive.status.success());
        Some(Self { kernel, initramfs: archive.stdout })
    }
}

/// What `livecd.sh` and `iso.sh` take.
fn live_kitchen(linux: &Linux) -> Kitchen {
    let kitchen = Kitchen::new();
    kitchen.inputs(&[
        ("live/boot/vmlinuz", &linux.kernel),
        ("live/boot/initrd.img", &linux.initramfs),
        ("live/live/rootfs.squashfs", b"stand-in\n"),
        ("mirror/pool/package.deb", b"stand-in\n"),
        ("keys/archive.gpg", b"stand-in\n"),
    ]);
    for name in ["livecd.exclude", "livecd-grub.cfg", "livecd-menu.cfg"] {
        fs::copy(recipe(name), kitchen.work(name)).unwrap();
    }
    kitchen
}

#[test]
fn the_live_system_of_the_recipe_starts_from_its_stick() {
    if !are_there(&["grub-mkimage"]) {
        return;
    }
    let Some(linux) = Linux::find() else { return };
    let kitchen = live_kitchen(&linux);
    kitchen.follow("livecd.sh");
    let Some(machine) = Machine::uefi(&kitchen.path("home")) else { return };
    machine.stick(&kitchen.work("live.img")).assert_says(LINUX_IS_UP);
}

#[test]
fn the_live_system_of_the_recipe_starts_from_its_cd_and_from_its_cd_on_a_stick() {
    if !are_there(&["grub-mkimage", "xorriso"]) {
        return;
    }
    let Some(linux) = Linux::find() else { return };
    let kitchen = live_kitchen(&linux);
    kitchen.follow("iso.sh");
    let (volume, cd) = (kitchen.work("efi.img"), kitchen.work("live.iso"));
    let [volume_bytes, cd_bytes] = [&volume, &cd].map(|path| fs::read(path).unwrap());
    let is_whole = |window: &[u8]| window == volume_bytes;
    // On sectors of a CD.
    let places = cd_bytes.windows(volume_bytes.len()).step_by(2048).filter(|part| is_whole(part));
    assert_eq!(places.count(), 1, "the volume lies in the CD as it is");
    let machine = || Machine::uefi(&kitchen.path("home"));
    let Some(with_volume) = machine() else { return };
    with_volume.stick(&volume).assert_says(LINUX_IS_UP);
    machine().unwrap().disc(&cd).assert_says(LINUX_IS_UP);
    machine().unwrap().stick(&cd).assert_says(LINUX_IS_UP);

    kitchen.follow("iso.sh");
    assert!(fs::read(&cd).unwrap() == cd_bytes, "a second build has other bytes");
}

#[test]
fn the_efi_system_partition_of_the_recipe_starts_linux() {
    if !are_there(&["grub-mkstandalone"]) {
        return;
    }
    let Some(linux) = Linux::find() else { return };
    let kitchen = Kitchen::new();
    kitchen.inputs(&[("vmlinuz", &linux.kernel), ("initrd.img", &linux.initramfs)]);
    fs::copy(recipe("esp-grub.cfg"), kitchen.work("esp-grub.cfg")).unwrap();
    kitchen.follow("esp.sh");
    let Some(machine) = Machine::uefi(&kitchen.path("home")) else { return };
    machine.stick(&kitchen.work("disk.img")).assert_says(LINUX_IS_UP);
}

#[test]
fn the_syslinux_stick_of_the_recipe_starts_linux() {
    if !are_there(&["syslinux", "mcopy"]) {
        return;
    }
    let Some(linux) = Linux::find() else { return };
    let kitchen = Kitchen::new();
    let configuration = "DEFAULT live\nLABEL live\nKERNEL vmlinuz\nINITRD initrd.img\n\
                         APPEND console=ttyS0 quiet\n";
    kitchen.inputs(&[
        ("stick/syslinux.cfg", configuration.as_bytes()),
        ("stick/vmlinuz", &linux.kernel),
        ("stick/initrd.img", &linux.initramfs),
    ]);
    kitchen.follow("syslinux-usb.sh");
    let Some(machine) = Machine::bios() else { return };
    machine.stick(&kitchen.work("stick.img")).assert_says(LINUX_IS_UP);
}

/// Where Debian keeps the code of syslinux that goes before a partition table.
const SYSLINUX_MBR: &str = "/usr/lib/syslinux/mbr";

/// What syslinux shows from a file in a directory of the volume.
const SHOWN_BY_SYSLINUX: &str = "MKFATIMG-SHOWN-BY-SYSLINUX";

/// A tree of which syslinux reads its configuration and a text, and a file that makes it larger.
fn syslinux_tree(root: &Path) -> PathBuf {
    let tree = TreeBuilder::new(root.join("tree"));
    tree.file("syslinux/syslinux.cfg", "SERIAL 0 115200\nPROMPT 1\nDISPLAY shown.txt\n")
        .file("syslinux/shown.txt", format!("{SHOWN_BY_SYSLINUX}\n"))
        .filled("something in between", 300_000)
        .settle();
    tree.root().to_path_buf()
}

#[test]
fn a_bios_starts_syslinux_from_every_type_behind_both_tables_and_without_one() {
    if !are_there(&["syslinux", "mcopy"]) {
        return;
    }
    let Some(syslinux) = Tool::find("syslinux") else { return };
    let scratch = scratch();
    let (source, stick) = (syslinux_tree(scratch.path()), scratch.path().join("stick"));
    let mbr = [("mbr", "mbr.bin"), ("gpt", "gptmbr.bin")]
        .map(|(table, code)| (table, format!("{SYSLINUX_MBR}/{code}")));
    let behind = |(table, code): &(&str, String)| {
        ["--partition-table", table, "--mbr-code", code].map(str::to_owned).to_vec()
    };
    for surroundings in [vec![], behind(&mbr[0]), behind(&mbr[1])] {
        for bits in ["12", "16", "32"] {
            let offset = if surroundings.is_empty() { 0 } else { MIB };
            let mut command = support::mkfatimg();
            command.arg("--from").arg(&source).args(["--free", "1M", "--fat-type", bits]);
            let ran: Ran = command.args(&surroundings).arg(&stick).output().unwrap().into();
            assert_eq!(ran.status, Some(0), "{surroundings:?} {bits}: {}", ran.stderr);
            let offset = offset.to_string();
            let arguments = ["--offset", &offset, "--directory", "syslinux", "--install"];
            let ran = syslinux.run(arguments.iter().map(Path::new).chain([stick.as_path()]));
            assert_eq!(ran.status, Some(0), "{surroundings:?} {bits}: {}", ran.stderr);
            let Some(machine) = Machine::bios() else { return };
            machine.stick(&stick).assert_says(SHOWN_BY_SYSLINUX);
        }
    }
}
