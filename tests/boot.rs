//! What the images are for: UEFI firmware starts what is on our disks, a BIOS starts syslinux from our
//! sticks, and live systems made by the recipes come up, from a disk, a stick and a CD.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use support::kitchen::{Kitchen, are_there, recipe};
use support::machine::Machine;
use support::{Oracle, Ran, Tool, TreeBuilder, firmware, has_file, scratch};

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
    if !are_there(&["syslinux", "mcopy"]) || !has_file(MBR_CODE) {
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

/// Where Debian keeps the modules of syslinux, and its code that goes before a table.
const MODULES: &str = "/usr/lib/syslinux/modules/bios";
const MBR_CODE: &str = "/usr/lib/syslinux/mbr/mbr.bin";
const GPT_CODE: &str = "/usr/lib/syslinux/mbr/gptmbr.bin";

/// What a module of syslinux shows from a file.
const SHOWN_BY_SYSLINUX: &str = "MKFATIMG-SHOWN-BY-SYSLINUX";

/// A tree from which syslinux reads a configuration, two modules and a text.
fn syslinux_tree(root: &Path) -> PathBuf {
    let tree = TreeBuilder::new(root.join("tree"));
    let configuration = "SERIAL 0 115200\nDEFAULT show\n\
                         LABEL show\nCOM32 cat.c32\nAPPEND /syslinux/shown.txt\n";
    tree.file("syslinux/syslinux.cfg", configuration)
        .file("syslinux/shown.txt", format!("{SHOWN_BY_SYSLINUX}\n"));
    for module in ["cat.c32", "libcom32.c32"] {
        let contents = fs::read(format!("{MODULES}/{module}")).unwrap();
        tree.file(format!("syslinux/{module}"), contents);
    }
    tree.settle();
    tree.root().to_path_buf()
}

#[test]
fn a_bios_starts_syslinux_from_every_type_behind_both_tables_and_without_one() {
    if !are_there(&["syslinux", "mcopy"]) || !has_file(MBR_CODE) {
        return;
    }
    let Some(syslinux) = Tool::find("syslinux") else { return };
    let scratch = scratch();
    let (source, stick) = (syslinux_tree(scratch.path()), scratch.path().join("stick"));
    for surroundings in [
        &[][..],
        &["--partition-table", "mbr", "--mbr-code", MBR_CODE],
        &["--partition-table", "gpt", "--mbr-code", GPT_CODE],
    ] {
        for bits in ["12", "16", "32"] {
            let offset = if surroundings.is_empty() { 0 } else { MIB };
            let mut command = support::mkfatimg();
            command.arg("--from").arg(&source).args(["--free", "1M", "--fat-type", bits]);
            let ran: Ran = command.args(surroundings).arg(&stick).output().unwrap().into();
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

/// Sends the label in the boot sector, which lies at 7C00, down the serial line, and stops. For FAT12 and
/// FAT16, where the label is at 2B and code begins at 3E.
const TELLS_ITS_LABEL: [u8; 21] = [
    0x31, 0xC0, // xor ax, ax
    0x8E, 0xD8, // mov ds, ax
    0xFC, // cld
    0xBE, 0x2B, 0x7C, // mov si, 7C2B
    0xB9, 0x0B, 0x00, // mov cx, 11
    0xBA, 0xF8, 0x03, // mov dx, 3F8
    0xAC, // more: lodsb
    0xEE, // out dx, al
    0xE2, 0xFC, // loop more
    0xF4, // stop: hlt
    0xEB, 0xFD, // jmp stop
];

/// A boot sector of others: a jump, parameters that are not ours, the code.
fn boot_sector_of_others() -> Vec<u8> {
    let mut sector = vec![0xCC; 512];
    sector[..3].copy_from_slice(&[0xEB, 0x3C, 0x90]);
    sector[0x3E..][..TELLS_ITS_LABEL.len()].copy_from_slice(&TELLS_ITS_LABEL);
    sector[510..].copy_from_slice(&[0x55, 0xAA]);
    sector
}

/// An image of one small file, made in `folder`.
fn small_image(folder: &Path, name: &str, arguments: &[&str]) -> PathBuf {
    let tree = TreeBuilder::new(folder.join("small tree"));
    tree.file("file", "text\n").settle();
    fs::write(folder.join("boot sector"), boot_sector_of_others()).unwrap();
    let mut command = support::mkfatimg();
    command.current_dir(folder).args(["--from", "small tree"]).args(arguments).arg(name);
    let ran: Ran = command.output().unwrap().into();
    assert_eq!(ran.status, Some(0), "{arguments:?}: {}", ran.stderr);
    folder.join(name)
}

#[test]
fn a_bios_runs_the_boot_code_of_others_with_our_parameters() {
    if !has_file(MBR_CODE) {
        return;
    }
    let scratch = scratch();
    let build = |name, arguments: &[&str]| {
        let code = ["--boot-code", "boot sector"];
        small_image(scratch.path(), name, &[&code[..], arguments].concat())
    };
    let Some(machine) = Machine::bios() else { return };
    let floppy = build("floppy", &["--size", "1440K", "--label", "ON A FLOPPY"]);
    machine.floppy(&floppy).assert_says("ON A FLOPPY");

    let table = ["--partition-table", "mbr", "--mbr-code", MBR_CODE];
    let arguments = [&table[..], &["--fat-type", "16", "--label", "ON A DISK"]].concat();
    let Some(machine) = Machine::bios() else { return };
    machine.stick(&build("disk", &arguments)).assert_says("ON A DISK  ");
}

/// Without boot code of others ours is run, which gives the machine back to the BIOS.
#[test]
fn a_bios_goes_on_from_images_without_boot_code() {
    if !has_file(MBR_CODE) {
        return;
    }
    let scratch = scratch();
    let folder = scratch.path();
    let boot_code = ["--boot-code", "boot sector", "--size", "1440K", "--label", "THE NEXT"];
    let floppy = small_image(folder, "floppy", &boot_code);
    for arguments in [
        &["--fat-type", "32"][..],
        &["--partition-table", "mbr"],
        &["--partition-table", "gpt"],
        // Their code starts the partition, in which there is ours.
        &["--partition-table", "mbr", "--mbr-code", MBR_CODE],
    ] {
        let Some(machine) = Machine::bios() else { return };
        let stick = small_image(folder, "stick", arguments);
        machine.stick(&stick).floppy(&floppy).assert_says("THE NEXT");
    }
}
