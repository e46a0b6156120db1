//! docs/from-mtools.md: scripts of mkfs.fat and mtools, genimage and makefs, and the commands that
//! replace them. Both sides run, and what mtools finds in the images is the same; each row of the
//! tables names flags that there are, and those of the boot sector set the same fields.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use support::{
    Expect, Ran, TempDir, Tool, TreeBuilder, assert_sound, printed, run, scratch, search_path,
};

const DOCUMENT: &str = "docs/from-mtools.md";
const FOLDER: &str = "tests/from_mtools";

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(FOLDER).join(name)
}

/// Runs the script `name` in `folder`, with all tools of this machine and mkfatimg.
fn follow(name: &str, folder: &Path) {
    let mut command = Command::new(script(name));
    command.env("PATH", search_path::beginning_with(&[search_path::of_program()]));
    command.current_dir(folder);
    command.env("LC_ALL", "C.UTF-8").env("TZ", "UTC").env_remove("SOURCE_DATE_EPOCH");
    let ran: Ran = command.stdin(Stdio::null()).output().unwrap().into();
    assert_eq!(ran.status, Some(0), "{name}: {}{}", ran.stdout, ran.stderr);
}

/// All that mtools tells of a volume and that no tool decides for itself: label, serial number,
/// paths, attributes and contents, and times where `times` says so.
fn told(image: &Path, times: bool) -> Option<String> {
    let tools = ["mdir", "mattrib", "mcopy"].map(Tool::find);
    let [Some(list), Some(attributes), Some(copy)] = tools else { return None };
    let mut told = String::new();
    let ask = |tool: &Tool, arguments: &[&str]| {
        let ran = tool.run([&["-i", image.to_str().unwrap()], arguments].concat());
        assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""), "{arguments:?}");
        ran.stdout
    };
    for line in ask(&list, &["::"]).lines().filter(|line| line.starts_with(" Volume")) {
        told += line;
        told.push('\n');
    }
    let mut lines: Vec<String> =
        ask(&attributes, &["-/", "::"]).lines().map(str::to_owned).collect();
    lines.sort();
    let copied = scratch();
    ask(&copy, &["-s", "-n", "-m", "::*", copied.path().to_str().unwrap()]);
    let format = if times { "%P %y %s %T@\\n" } else { "%P %y %s\\n" };
    let mut find = Command::new("find");
    let found = find.arg(copied.path()).args(["-type", "f", "-printf", format]).output().unwrap();
    let mut files: Vec<String> =
        String::from_utf8(found.stdout).unwrap().lines().map(str::to_owned).collect();
    files.sort();
    let sums = Command::new("sh")
        .args(["-c", "find . -type f -print0 | sort -z | xargs -0 sha256sum"])
        .current_dir(copied.path())
        .output()
        .unwrap();
    told +=
        &[lines.join("\n"), files.join("\n"), String::from_utf8(sums.stdout).unwrap()].join("\n");
    Some(told)
}

/// What two scripts make of `inputs`, each in a copy of them, is told in the same words.
fn assert_same(inputs: &TreeBuilder, before: &str, after: &str, image: &str, times: bool) {
    let folder = scratch();
    let images = [before, after].map(|name| {
        let work = folder.path().join(name);
        let copied = Command::new("cp").arg("-a").arg(inputs.root()).arg(&work).status();
        assert!(copied.unwrap().success());
        follow(name, &work);
        work.join(image)
    });
    assert_sound(&images[1], &Expect::default());
    assert_eq!(told(&images[0], times), told(&images[1], times), "{before}, {after}");
}

fn inputs() -> (TempDir, TreeBuilder) {
    let folder = scratch();
    let tree = TreeBuilder::new(folder.path().join("inputs"));
    (folder, tree)
}

#[test]
fn the_document_prints_the_scripts() {
    printed::assert_prints_folder(DOCUMENT, FOLDER);
}

#[test]
fn mtools_and_its_replacement_make_the_same_volume() {
    if ["mkfs.fat", "mmd", "mattrib"].into_iter().any(|name| Tool::find(name).is_none()) {
        return;
    }
    let (_folder, inputs) = inputs();
    inputs
        .file("systemd-bootx64.efi", "stand-in\n")
        .file("loader.conf", "timeout 3\n")
        .file("entries/first.conf", "title First\n")
        .file("entries/second entry.conf", "title Second\n")
        .file("entries/old.bak", "left out by both\n")
        .filled("vmlinuz", 300_000)
        .filled("initrd.img", 500_000)
        .settle();
    assert_same(&inputs, "esp-before.sh", "esp-after.sh", "esp.img", true);
}

#[test]
fn genimage_and_its_replacement_make_the_same_volume() {
    if ["genimage", "mkfs.fat", "mcopy"].into_iter().any(|name| Tool::find(name).is_none()) {
        return;
    }
    let (_folder, inputs) = inputs();
    inputs
        .filled("input/zImage", 300_000)
        .file("input/board.dtb", "stand-in\n")
        .file("input/extlinux.conf", "label linux\n")
        .file("genimage.cfg", fs::read(script("genimage.cfg")).unwrap())
        .settle();
    // It stores the moment of the build.
    assert_same(&inputs, "genimage-before.sh", "genimage-after.sh", "boot.vfat", false);
}

#[test]
fn the_replacement_of_makefs_makes_what_its_flags_say() {
    let (_folder, inputs) = inputs();
    inputs.file("rootfs/.hidden", "too\n").file("rootfs/a/b", "b\n").settle();
    follow("makefs-after.sh", inputs.root());
    let image = inputs.root().join("data.img");
    let expect = Expect {
        label: Some(Some("DATA".to_owned())),
        volume_id: Some(0x1234_ABCD),
        source: Some(inputs.root().join("rootfs")),
        times: true,
        ..Expect::default()
    };
    assert_sound(&image, &expect);
    let volume = support::invariants::read(&image, 0).unwrap();
    assert_eq!((volume.geometry.fat_type.bits(), volume.geometry.cluster_bytes), (16, 4096));
    assert_eq!(fs::metadata(&image).unwrap().len(), 64 << 20);
}

/// Cells of the rows of the tables.
fn rows(text: &str) -> Vec<[&str; 2]> {
    text.lines()
        .filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | "))
        .map(|(theirs, ours)| [theirs, ours])
        .collect()
}

/// Words of code in a cell that begin with two dashes.
fn flags(cell: &str) -> impl Iterator<Item = &str> {
    let quoted = cell.split('`').skip(1).step_by(2);
    quoted.flat_map(str::split_whitespace).filter(|word| word.starts_with("--"))
}

#[test]
fn the_tables_name_flags_that_there_are() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(DOCUMENT);
    let text = fs::read_to_string(path).unwrap();
    let help = run(["--help"]).stdout;
    let mut checked = 0;
    for [theirs, ours] in rows(&text) {
        for flag in flags(ours).filter(|flag| *flag != "--offset") {
            let known = help.split_whitespace().any(|word| word.trim_end_matches(',') == flag);
            assert!(known, "{theirs}: mkfatimg has no {flag}");
            checked += 1;
        }
    }
    assert!(checked > 60, "{checked}");
}

#[test]
fn the_table_of_mkfs_fat_is_complete() {
    let Some(tool) = Tool::find("mkfs.fat") else { return };
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(DOCUMENT)).unwrap();
    let table = text.split("### mkfs.fat").nth(1).unwrap().split("###").next().unwrap();
    let ran = tool.run(["--help"]);
    let mut checked = 0;
    for line in (ran.stdout + &ran.stderr).lines().filter(|line| line.starts_with("  -")) {
        let flag = line.trim().split(['=', '[', ' ']).next().unwrap();
        if flag != "--help" {
            let named = rows(table).iter().any(|row| row[0].contains(&format!("`{flag}`")));
            assert!(named, "{flag} is not in the table");
            checked += 1;
        }
    }
    assert!(checked > 20, "{checked}");
}

/// Flags of mkfs.fat, ours, and the bytes of the boot sector that they decide.
const FIELDS: [(&[&str], &[&str], std::ops::Range<usize>); 13] = [
    (&["-S", "1024"], &["--sector-size", "1024"], 11..13),
    (&["-s", "8"], &["--cluster-size", "4K"], 13..14),
    (&["-R", "64"], &["--reserved-sectors", "64"], 14..16),
    (&["-f", "1"], &["--fats", "1"], 16..17),
    (&["-r", "1024"], &["--root-entries", "1024"], 17..19),
    (&["-M", "0xF0"], &["--media", "F0"], 21..22),
    (&["-g", "5/9"], &["--heads", "5", "--sectors-per-track", "9"], 24..28),
    (&["-h", "2048"], &["--hidden-sectors", "2048"], 28..32),
    (&["-i", "1234abcd"], &["--volume-id", "1234abcd"], 39..43),
    (&["-n", "SOME NAME"], &["--label", "SOME NAME"], 43..54),
    (&["-F", "16"], &["--fat-type", "16"], 54..62),
    (&["-F", "12", "-s", "32"], &["--fat-type", "12", "--cluster-size", "16K"], 54..62),
    (&["-F", "32", "-s", "1"], &["--fat-type", "32", "--cluster-size", "512"], 82..90),
];

#[test]
fn flags_of_the_boot_sector_set_the_same_fields() {
    let Some(tool) = Tool::find("mkfs.fat") else { return };
    let folder = scratch();
    let source = TreeBuilder::new(folder.path().join("empty"));
    let (theirs, ours) = (folder.path().join("theirs"), folder.path().join("ours"));
    for (their_flags, our_flags, field) in FIELDS {
        let _ = fs::remove_file(&theirs);
        // Without its alignment, which rounds what it was told.
        let mut command = tool.command();
        command.args(["-C", "-a"]).args(their_flags).arg(&theirs).arg((40 << 10).to_string());
        let ran: Ran = command.output().unwrap().into();
        assert_eq!(ran.status, Some(0), "{their_flags:?}: {}", ran.stderr);
        let mut command = support::mkfatimg();
        command.arg("--from").arg(source.root()).args(["--size", "40M"]).args(our_flags);
        let ran: Ran = command.arg(&ours).output().unwrap().into();
        assert_eq!(ran.status, Some(0), "{our_flags:?}: {}", ran.stderr);
        let [theirs, ours] =
            [&theirs, &ours].map(|image| fs::read(image).unwrap()[field.clone()].to_vec());
        assert_eq!(theirs, ours, "{their_flags:?}, {our_flags:?}");
    }
}
