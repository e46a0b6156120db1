//! Names in directories, end to end: the short name that each gets, what is done with names that
//! FAT cannot hold or tell apart, and directories of the largest size.

mod support;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use support::fsck;
use support::invariants::{self, Entry, Volume};
use support::{Expect, Ran, Tool, TreeBuilder, assert_sound, build, build_with, mkfatimg, scratch};

/// The source as the messages below show it: the tests run the command in the directory above.
const TREE: &str = "tree";

/// Runs the command in `folder` on the tree in it, into `image` there.
fn run_in(folder: &Path, arguments: &[&str]) -> Ran {
    let mut command = mkfatimg();
    command.current_dir(folder).args(["--from", TREE]).args(arguments).arg("image");
    command.output().unwrap().into()
}

/// As [`run_in`], which must work, and what the image then holds.
fn build_in(folder: &Path, arguments: &[&str]) -> (Ran, Volume) {
    let ran = run_in(folder, arguments);
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    let image = folder.join("image");
    assert_sound(&image, &Expect::default());
    (ran, invariants::read(&image, 0).unwrap())
}

/// The lines of a run without the summary at their end.
fn lines(ran: &Ran) -> Vec<&str> {
    ran.stderr.lines().filter(|line| line.starts_with("mkfatimg: ")).collect()
}

/// Paths and short names in the order of the directories.
fn names(volume: &Volume) -> Vec<(String, String)> {
    volume.entries.iter().map(|entry| (volume.path(entry), entry.short())).collect()
}

fn paths(volume: &Volume) -> Vec<String> {
    volume.entries.iter().map(|entry| volume.path(entry)).collect()
}

fn assert_short_names(files: &[(&str, &str)]) {
    let scratch = scratch();
    let tree = TreeBuilder::new(scratch.path().join(TREE));
    for (name, _) in files {
        tree.file(name, "");
    }
    let image = scratch.path().join("image");
    for fat_type in ["12", "16", "32"] {
        build(tree.settle().root(), &image, &["--fat-type", fat_type]);
        let mut wanted: Vec<(String, String)> =
            files.iter().map(|(name, short)| (format!("/{name}"), (*short).to_owned())).collect();
        wanted.sort();
        assert_eq!(names(&invariants::read(&image, 0).unwrap()), wanted);
    }
}

#[test]
fn a_name_that_is_short_keeps_its_own_short_name_before_look_alikes() {
    assert_short_names(&[
        ("LONGNA~1.TXT", "LONGNA~1.TXT"),
        ("longname one.txt", "LONGNA~2.TXT"),
        ("longname two.txt", "LONGNA~3.TXT"),
    ]);
    // Though it comes after them.
    assert_short_names(&[
        ("longname one.txt", "LONGNA~2.TXT"),
        ("longname two.txt", "LONGNA~3.TXT"),
        ("longna~1.txt", "LONGNA~1.TXT"),
    ]);
}

#[test]
fn the_tenth_look_alike_has_a_number_of_two_digits() {
    assert_short_names(&[
        ("longname01.txt", "LONGNA~1.TXT"),
        ("longname02.txt", "LONGNA~2.TXT"),
        ("longname03.txt", "LONGNA~3.TXT"),
        ("longname04.txt", "LONGNA~4.TXT"),
        ("longname05.txt", "LONGNA~5.TXT"),
        ("longname06.txt", "LONGNA~6.TXT"),
        ("longname07.txt", "LONGNA~7.TXT"),
        ("longname08.txt", "LONGNA~8.TXT"),
        ("longname09.txt", "LONGNA~9.TXT"),
        ("longname10.txt", "LONGN~10.TXT"),
        ("longname11.txt", "LONGN~11.TXT"),
        ("longname12.txt", "LONGN~12.TXT"),
    ]);
}

#[test]
fn letters_that_have_no_single_capital_keep_names_apart() {
    assert_short_names(&[("STRASSE", "STRASSE"), ("Straße", "STRA_E~1")]);
}

#[test]
fn an_extension_of_four_letters_does_not_take_the_name_of_three() {
    assert_short_names(&[("foo.htm", "FOO.HTM"), ("foo.html", "FOO~1.HTM")]);
}

/// Builds from a tree of these files, which must be refused for clashes; returns what was said.
fn clash_of(files: &[&str]) -> (Option<i32>, Vec<String>) {
    let scratch = scratch();
    let tree = TreeBuilder::new(scratch.path().join(TREE));
    for name in files {
        tree.file(name, "");
    }
    let ran = run_in(scratch.path(), &[]);
    assert!(!scratch.path().join("image").exists());
    (ran.status, lines(&ran).into_iter().map(str::to_owned).collect())
}

fn clash_line(later: &str, earlier: &str) -> String {
    format!(
        "mkfatimg: tree/{later}: has the same name as tree/{earlier} for FAT, which ignores case and \
         normalisation; rename one, or use --clash rename or skip"
    )
}

#[test]
fn names_that_differ_in_case_clash() {
    let clash = clash_of(&["readme.txt", "README.TXT"]);
    assert_eq!(clash, (Some(4), vec![clash_line("readme.txt", "README.TXT")]));
    let clash = clash_of(&["ÄRGER", "Ärger", "ärger"]);
    assert_eq!(
        clash,
        (
            Some(4),
            vec![
                clash_line("Ärger", "ÄRGER"),
                clash_line("ärger", "ÄRGER"),
                "mkfatimg: no image was written: 2 problems: 2 clashes of names; to build all the same \
                 add --clash rename"
                    .to_owned(),
            ]
        )
    );
}

#[test]
fn names_that_differ_in_normalisation_clash() {
    let clash = clash_of(&["\u{E9}", "e\u{301}"]);
    assert_eq!(clash, (Some(4), vec![clash_line("\u{E9}", "e\u{301}")]));
}

#[test]
fn directories_clash_as_files_do() {
    let clash = clash_of(&["lib/a", "Lib"]);
    assert_eq!(clash, (Some(4), vec![clash_line("lib", "Lib")]));
}

/// Four names that are one to FAT, a file that has the name which the second would get, and a
/// directory that is the later of two.
fn clashing_tree(root: &Path) {
    let tree = TreeBuilder::new(root.join(TREE));
    tree.file("README.TXT", "first")
        .file("README.txt", "second")
        .file("Readme.txt", "third")
        .file("readme.txt", "fourth")
        .file("readme~2.TXT", "taken")
        .file("LIB/one", "1")
        .file("lib/two", "2")
        .settle();
}

fn contents(image: &Path, volume: &Volume, path: &str) -> String {
    let entry = volume.find(path).unwrap_or_else(|| panic!("no {path}"));
    let bytes = fs::read(image).unwrap();
    let start = volume.geometry.cluster_position(entry.first_cluster) as usize;
    String::from_utf8(bytes[start..start + entry.size as usize].to_vec()).unwrap()
}

#[test]
fn the_later_of_two_clashing_names_is_left_out_on_request() {
    let scratch = scratch();
    clashing_tree(scratch.path());
    let (ran, volume) = build_in(scratch.path(), &["--clash", "skip", "-v"]);
    assert_eq!(paths(&volume), ["/LIB", "/README.TXT", "/readme~2.TXT", "/LIB/one"]);
    let left_out = |later: &str, earlier: &str| {
        format!(
            "mkfatimg: note: tree/{later}: left out: has the same name as tree/{earlier} for FAT, which ignores case and normalisation"
        )
    };
    assert_eq!(
        lines(&ran)[..4],
        [
            left_out("README.txt", "README.TXT"),
            left_out("Readme.txt", "README.TXT"),
            left_out("lib", "LIB"),
            left_out("readme.txt", "README.TXT"),
        ]
    );
    assert_eq!(contents(&scratch.path().join("image"), &volume, "/README.TXT"), "first");
}

#[test]
fn the_later_of_two_clashing_names_gets_a_number_on_request() {
    let scratch = scratch();
    clashing_tree(scratch.path());
    let (ran, volume) = build_in(scratch.path(), &["--clash", "rename", "-v"]);
    let stored = |later: &str, new: &str, earlier: &str| {
        format!(
            "mkfatimg: note: tree/{later}: stored as {new}: has the same name as tree/{earlier} for FAT, which ignores case and normalisation"
        )
    };
    assert_eq!(
        lines(&ran)[..4],
        [
            stored("README.txt", "README~3.txt", "README.TXT"),
            stored("Readme.txt", "Readme~4.txt", "README.TXT"),
            stored("lib", "lib~2", "LIB"),
            stored("readme.txt", "readme~5.txt", "README.TXT"),
        ]
    );
    let image = scratch.path().join("image");
    for (path, short, text) in [
        ("/README.TXT", "README.TXT", "first"),
        ("/README~3.txt", "README~3.TXT", "second"),
        ("/Readme~4.txt", "README~4.TXT", "third"),
        ("/readme~5.txt", "README~5.TXT", "fourth"),
        ("/readme~2.TXT", "README~2.TXT", "taken"),
        ("/LIB/one", "ONE", "1"),
        ("/lib~2/two", "TWO", "2"),
    ] {
        assert_eq!(contents(&image, &volume, path), text);
        assert_eq!(volume.find(path).unwrap().short(), short);
    }
    assert_eq!(volume.entries.len(), 9);
    if let Some(fsck) = Tool::find("fsck.fat") {
        fsck::assert_accepts(&fsck, &image);
    }
}

/// A name of a file, case bits of its record, records that it takes, and its short name.
type Row<'a> = (&'a str, u8, u32, &'a str);

/// The accepted rows of the name vectors that a host can have as file names.
const ROWS: [Row<'_>; 47] = [
    ("README.TXT", 0x00, 1, "README.TXT"),
    ("readme.txt", 0x18, 1, "README.TXT"),
    ("Readme.txt", 0x00, 2, "README.TXT"),
    ("README.txt", 0x10, 1, "README.TXT"),
    ("readme.TXT", 0x08, 1, "README.TXT"),
    ("A1", 0x00, 1, "A1"),
    ("makefile", 0x08, 1, "MAKEFILE"),
    ("12345678.123", 0x00, 1, "12345678.123"),
    ("123456789.123", 0x00, 2, "123456~1.123"),
    ("foo.html", 0x00, 2, "FOO~1.HTM"),
    ("x.y.z", 0x00, 2, "XY~1.Z"),
    ("archive.tar.gz", 0x00, 3, "ARCHIV~1.GZ"),
    (".bashrc", 0x00, 2, "BASHRC~1"),
    (".gitignore", 0x00, 2, "GITIGN~1"),
    (".a.b", 0x00, 2, "A~1.B"),
    ("..foo", 0x00, 2, "FOO~1"),
    ("foo bar.txt", 0x00, 2, "FOOBAR~1.TXT"),
    (" lead.txt", 0x00, 2, "LEAD~1.TXT"),
    ("a+b.txt", 0x00, 2, "A_B~1.TXT"),
    ("[x].cfg", 0x00, 2, "_X_~1.CFG"),
    ("a,b;c=d", 0x00, 2, "A_B_C_~1"),
    ("file~1.txt", 0x18, 1, "FILE~1.TXT"),
    ("The quick brown.fox", 0x00, 3, "THEQUI~1.FOX"),
    ("caf\u{E9}.txt", 0x00, 2, "CAF_~1.TXT"),
    ("straße", 0x00, 2, "STRA_E~1"),
    ("日本語.txt", 0x00, 2, "___~1.TXT"),
    ("😀.txt", 0x00, 2, "__~1.TXT"),
    ("e\u{301}.txt", 0x00, 2, "E_~1.TXT"),
    ("ab\u{7F}.txt", 0x00, 2, "AB_~1.TXT"),
    ("con", 0x08, 1, "CON"),
    ("CON.txt", 0x10, 1, "CON.TXT"),
    ("nul.tar.gz", 0x00, 2, "NULTAR~1.GZ"),
    ("BOOTX64.EFI", 0x00, 1, "BOOTX64.EFI"),
    ("bootaa64.efi", 0x18, 1, "BOOTAA64.EFI"),
    ("vmlinuz-6.1.0", 0x00, 2, "VMLINU~1.0"),
    ("bcm2712-rpi-5-b.dtb", 0x00, 3, "BCM271~1.DTB"),
    ("thirteenchars", 0x00, 2, "THIRTE~1"),
    ("fourteen_chars", 0x00, 3, "FOURTE~1"),
    ("abcdefghijklmnopqrstuvwxyz", 0x00, 3, "ABCDEF~1"),
    ("UPPERCASE.LONG", 0x00, 3, "UPPERC~1.LON"),
    ("$%'-_@~`.!()", 0x00, 1, "$%'-_@~`.!()"),
    ("{}^#&", 0x00, 1, "{}^#&"),
    ("-", 0x00, 1, "-"),
    (". x", 0x00, 2, "X~1"),
    ("a..b", 0x00, 2, "A~1.B"),
    ("LONGNA~1.TXT", 0x00, 1, "LONGNA~1.TXT"),
    ("\u{FF21}.txt", 0x00, 2, "_~1.TXT"),
];

fn form(entry: &Entry) -> (u8, u32, String) {
    (entry.case_bits, entry.slots, entry.short())
}

#[test]
fn every_legal_name_has_its_form_in_an_image() {
    let scratch = scratch();
    let tree = TreeBuilder::new(scratch.path().join(TREE));
    for (index, (name, ..)) in ROWS.iter().enumerate() {
        tree.file(format!("{index:02}/{name}"), "");
    }
    tree.file("47/".to_owned() + &"a".repeat(255), "").file("smileys", "").settle();
    // Hosts hold 255 bytes, FAT 255 units: this name is 254 units in 508 bytes.
    let smileys = "😀".repeat(127);
    let place = format!("tree/smileys:/48/{smileys}");
    for fat_type in ["12", "16", "32"] {
        let (_, volume) = build_in(scratch.path(), &["--fat-type", fat_type, "--from", &place]);
        let form_of = |path: &str| form(volume.find(path).unwrap_or_else(|| panic!("no {path}")));
        for (index, (name, case_bits, records, short)) in ROWS.iter().enumerate() {
            let wanted = (*case_bits, *records, (*short).to_owned());
            assert_eq!(form_of(&format!("/{index:02}/{name}")), wanted, "{name}");
        }
        let long = format!("/47/{}", "a".repeat(255));
        assert_eq!(form_of(&long), (0, 21, "AAAAAA~1".to_owned()));
        assert_eq!(form_of(&format!("/48/{smileys}")), (0, 21, "______~1".to_owned()));
        if let Some(fsck) = Tool::find("fsck.fat") {
            fsck::assert_accepts(&fsck, &scratch.path().join("image"));
        }
    }
}

#[test]
fn every_legal_name_but_for_clashes_fits_into_one_directory() {
    let scratch = scratch();
    let tree = TreeBuilder::new(scratch.path().join(TREE));
    let clashing = ["Readme.txt", "README.txt", "readme.TXT", "readme.txt"];
    for (name, ..) in ROWS.iter().filter(|row| !clashing.contains(&row.0)) {
        tree.file(name, name).file(format!("below/{name}"), name);
    }
    let image = scratch.path().join("image");
    for (fat_type, long_names) in [("12", "auto"), ("16", "always"), ("32", "auto")] {
        let arguments = ["--fat-type", fat_type, "--long-names", long_names, "--label", "NAMES"];
        let ran = build(tree.settle().root(), &image, &arguments);
        assert!(ran.stderr.contains("names that Windows takes for devices"), "{}", ran.stderr);
        let volume = invariants::read(&image, 0).unwrap();
        // Of two names with the same stem the first in byte order has the lower number.
        assert_eq!(volume.find("/below/.a.b").unwrap().short(), "A~1.B");
        assert_eq!(volume.find("/below/a..b").unwrap().short(), "A~2.B");
        let lower = volume.find("/below/makefile").unwrap();
        let wanted = if long_names == "always" { (0, 2) } else { (0x08, 1) };
        assert_eq!((lower.case_bits, lower.slots), wanted);
        if let Some(fsck) = Tool::find("fsck.fat") {
            fsck::assert_accepts(&fsck, &image);
        }
    }
}

/// Names that FAT cannot hold, why, and what stands for them.
fn illegal_names() -> [(&'static [u8], &'static str, &'static str); 9] {
    [
        (b"...", "name consists of dots only", "___"),
        (b"a:b", "name holds ':', which FAT forbids", "a_b"),
        (b"bad\xFFutf", "name is not valid UTF-8", "bad_utf"),
        (b"end\\", "name holds '\\\\', which FAT forbids", "end_"),
        (b"pad\xEF\xBF\xBF", "name holds U+FFFF, with which FAT pads names", "pad_"),
        (b"tab\there", "name holds '\\t', which FAT forbids", "tab_here"),
        (b"trail.", "name ends with a dot, which readers of FAT drop", "trail_"),
        (b"trail.txt ", "name ends with a blank, which readers of FAT drop", "trail.txt_"),
        (b"who?", "name holds '?', which FAT forbids", "who_"),
    ]
}

fn tree_of_illegal_names(root: &Path) {
    let tree = TreeBuilder::new(root.join(TREE));
    for (name, ..) in illegal_names() {
        tree.file(OsStr::from_bytes(name), name);
    }
    tree.file("legal", "").file("dir?/below", "").settle();
}

/// A host name as messages show it.
fn shown(name: &[u8]) -> String {
    match name {
        b"bad\xFFutf" => "bad\\xffutf".to_owned(),
        b"tab\there" => "tab\\there".to_owned(),
        _ => String::from_utf8(name.to_vec()).unwrap(),
    }
}

#[test]
fn names_that_fat_cannot_hold_are_refused_all_at_once() {
    let scratch = scratch();
    tree_of_illegal_names(scratch.path());
    let long = format!("tree/legal:/{}", "a".repeat(256));
    let smileys = format!("tree/legal:/{}", "😀".repeat(128));
    let ran = run_in(scratch.path(), &["--from", &long, "--from", &smileys]);
    assert_eq!(ran.status, Some(4));
    assert!(!scratch.path().join("image").exists());
    let told = lines(&ran);
    let remedy = "rename it, or use --invalid-names replace or skip";
    for (name, why, _) in illegal_names() {
        let no_text = why == "name is not valid UTF-8";
        let more = if no_text { " and has no form in FAT" } else { "" };
        let line = format!("mkfatimg: tree/{}: {why}{more}; {remedy}", shown(name));
        assert!(told.contains(&line.as_str()), "no {line} in\n{}", ran.stderr);
    }
    for typed in [&long, &smileys] {
        let line = format!(
            "mkfatimg: {typed}: name is 256 UTF-16 units long; FAT holds at most 255; {remedy}"
        );
        assert!(told.contains(&line.as_str()), "no {line} in\n{}", ran.stderr);
    }
    let directory = format!("mkfatimg: tree/dir?: name holds '?', which FAT forbids; {remedy}");
    assert!(told.contains(&directory.as_str()), "{}", ran.stderr);
    assert!(told.last().unwrap().starts_with(
        "mkfatimg: no image was written: 12 problems: 12 names that FAT cannot hold; "
    ));
    assert_eq!(told.len(), 13);
}

#[test]
fn names_that_fat_cannot_hold_are_replaced_on_request() {
    let scratch = scratch();
    tree_of_illegal_names(scratch.path());
    let (ran, volume) = build_in(scratch.path(), &["--invalid-names", "replace", "-v"]);
    let told = lines(&ran);
    let image = scratch.path().join("image");
    let bytes = fs::read(&image).unwrap();
    for (name, why, new) in illegal_names() {
        let line = format!("mkfatimg: note: tree/{}: stored as {new}: {why}", shown(name));
        assert!(told.contains(&line.as_str()), "no {line} in\n{}", ran.stderr);
        let entry = volume.find(&format!("/{new}")).unwrap();
        let start = volume.geometry.cluster_position(entry.first_cluster) as usize;
        assert_eq!(&bytes[start..start + name.len()], name);
    }
    assert!(volume.find("/dir_/below").is_some());
    assert_eq!(volume.entries.len(), 12);
    if let Some(fsck) = Tool::find("fsck.fat") {
        fsck::assert_accepts(&fsck, &image);
    }
}

#[test]
fn names_that_fat_cannot_hold_are_left_out_on_request() {
    let scratch = scratch();
    tree_of_illegal_names(scratch.path());
    let (ran, volume) = build_in(scratch.path(), &["--invalid-names", "skip", "-v"]);
    let told = lines(&ran);
    for (name, why, _) in illegal_names() {
        let line = format!("mkfatimg: note: tree/{}: left out: {why}", shown(name));
        assert!(told.contains(&line.as_str()), "no {line} in\n{}", ran.stderr);
    }
    assert_eq!(paths(&volume), ["/legal"]);
}

#[test]
fn a_replaced_name_clashes_like_any_other() {
    let scratch = scratch();
    let tree = TreeBuilder::new(scratch.path().join(TREE));
    tree.file("a?b", "replaced").file("A_B", "capital").settle();
    let ran = run_in(scratch.path(), &["--invalid-names", "replace"]);
    assert_eq!(ran.status, Some(4));
    let line = "mkfatimg: tree/a?b: would be stored as a_b, the name of tree/A_B for FAT; \
                rename one, or use --clash rename or skip";
    assert!(lines(&ran).contains(&line), "{}", ran.stderr);
    let arguments = ["--invalid-names", "replace", "--clash", "rename"];
    let (_, volume) = build_in(scratch.path(), &arguments);
    let image = scratch.path().join("image");
    assert_eq!(paths(&volume), ["/A_B", "/a_b~2"]);
    assert_eq!(contents(&image, &volume, "/a_b~2"), "replaced");
}

#[test]
fn a_directory_holds_65000_short_names() {
    let scratch = scratch();
    let tree = TreeBuilder::new(scratch.path().join(TREE));
    let directory = tree.directory("dir").root().join("dir");
    for number in 0..65_000 {
        fs::File::create(directory.join(format!("{number:05}.TXT"))).unwrap();
    }
    let image = scratch.path().join("image");
    build(tree.root(), &image, &[]);
    let volume = invariants::read(&image, 0).unwrap();
    assert_eq!(volume.directories[1].slots_used, 65_002);
    let entries = &volume.entries[volume.directories[1].entries.clone()];
    assert_eq!(entries.len(), 65_000);
    for (number, entry) in entries.iter().enumerate() {
        assert_eq!(form(entry), (0, 1, format!("{number:05}.TXT")));
    }
}

/// The short name of the `number`th name, counted from 1, of those that begin `shared stem`.
fn short_of_stem(number: usize) -> String {
    let digits = number.to_string();
    format!("{}~{digits}.TEX", &"SHARED"[..7 - digits.len()])
}

#[test]
fn a_directory_holds_21844_long_names_of_one_stem_and_not_one_more() {
    const MOST: usize = 21_844;
    let scratch = scratch();
    let tree = TreeBuilder::new(scratch.path().join(TREE));
    let directory = tree.directory("dir").root().join("dir");
    let add = |number: usize| {
        fs::File::create(directory.join(format!("shared stem {number:05}.text"))).unwrap();
    };
    (1..=MOST).for_each(add);
    let image = scratch.path().join("image");
    build(tree.root(), &image, &[]);
    let volume = invariants::read(&image, 0).unwrap();
    assert_eq!(volume.directories[1].slots_used, 65_534);
    let entries = &volume.entries[volume.directories[1].entries.clone()];
    assert_eq!(entries.len(), MOST);
    for (index, entry) in entries.iter().enumerate() {
        assert_eq!(form(entry), (0, 3, short_of_stem(index + 1)));
    }

    fs::remove_file(&image).unwrap();
    add(MOST + 1);
    let ran = run_in(scratch.path(), &[]);
    assert_eq!(ran.status, Some(3));
    assert_eq!(
        ran.stderr,
        "mkfatimg: tree/dir: takes 65537 directory entries, long names included; a directory on \
         FAT has at most 65536; spread its contents over several\n"
    );
    assert!(!image.exists());

    // The root of FAT32 has no dots, so one more fits there; the label is a record too.
    let root = format!("{TREE}/dir");
    let build_root = |arguments: &[&str]| {
        let mut command = mkfatimg();
        command.current_dir(scratch.path()).args(["--from", &root]).args(arguments).arg("image");
        Ran::from(command.output().unwrap())
    };
    assert_eq!(build_root(&["--fat-type", "32", "--label", "FULL"]).status, Some(0));
    assert_sound(&image, &Expect { source: Some(directory.clone()), ..Expect::default() });
    let volume = invariants::read(&image, 0).unwrap();
    assert_eq!(volume.directories[0].slots_used, 65_536);

    // A fixed root holds 65520 entries, so a tree with more becomes FAT32 unasked.
    assert_eq!(build_root(&[]).status, Some(0));
    let volume = invariants::read(&image, 0).unwrap();
    assert_eq!(volume.geometry.fat_type, invariants::FatType::Fat32);
}

#[test]
fn a_root_beyond_any_fixed_root_is_refused_with_its_records() {
    let scratch = scratch();
    let tree = TreeBuilder::new(scratch.path().join(TREE));
    for number in 0..3120 {
        // 255 units are 20 records, and the short name is one.
        tree.file(format!("{number:0255}"), "");
    }
    tree.file("ONE.MORE", "");
    for size in ["64M", "auto"] {
        let ran = run_in(scratch.path(), &["--fat-type", "16", "--size", size]);
        assert_eq!(ran.status, Some(3));
        assert_eq!(
            ran.stderr,
            "mkfatimg: root directory needs 65522 entries, long names and label included, and may \
             have 65520; use --fat-type 32, or put the files into directories\n",
            "--size {size}"
        );
    }
}

#[test]
fn a_fixed_root_grows_with_the_tree_and_that_is_told() {
    let scratch = scratch();
    let tree = TreeBuilder::new(scratch.path().join(TREE));
    for number in 0..600 {
        tree.file(format!("a long name {number:03}"), "");
    }
    tree.settle();
    let image = scratch.path().join("image");
    // Three records each and the label, up to whole sectors.
    for (arguments, entries) in [
        (&["--fat-type", "16", "--label", "ROOT"][..], 1808),
        (&["--fat-type", "12"], 1808),
        (&["--size", "1440K"], 1808),
        (&["--fat-type", "16", "--sector-size", "4096"], 1920),
    ] {
        let ran = build(tree.root(), &image, arguments);
        let note =
            format!("mkfatimg: note: root directory grown to {entries} entries to hold the tree");
        assert_eq!(lines(&ran), [note], "{arguments:?}");
        let volume = invariants::read(&image, 0).unwrap();
        assert_eq!(volume.boot.root_entries, entries, "{arguments:?}");
        if let Some(fsck) = Tool::find("fsck.fat") {
            fsck::assert_accepts(&fsck, &image);
        }
    }
}

#[test]
fn a_fixed_root_of_given_entries_does_not_grow() {
    let scratch = scratch();
    let tree = TreeBuilder::new(scratch.path().join(TREE));
    for number in 0..600 {
        tree.file(format!("a long name {number:03}"), "");
    }
    tree.settle();
    for size in ["auto", "32M"] {
        let ran = run_in(scratch.path(), &["--root-entries", "1792", "--size", size]);
        assert_eq!(ran.status, Some(3));
        assert_eq!(
            ran.stderr,
            "mkfatimg: root directory needs 1800 entries, long names and label included, and may \
             have 1792; use --root-entries 1808\n",
            "--size {size}"
        );
    }
    let expect = Expect { source: Some(tree.root().to_path_buf()), ..Expect::default() };
    let image = scratch.path().join("image");
    let ran = build_with(tree.root(), &image, &["--root-entries", "1808"], &expect);
    assert_eq!(lines(&ran), [""; 0]);
}

#[test]
fn a_name_of_the_source_comes_before_one_that_we_make_up() {
    let scratch = scratch();
    let tree = TreeBuilder::new(scratch.path().join(TREE));
    tree.file("a:b", "made up").file("a_b", "as it is").settle();
    let arguments = ["--invalid-names", "replace", "--clash", "rename"];
    let (_, volume) = build_in(scratch.path(), &arguments);
    let image = scratch.path().join("image");
    assert_eq!(contents(&image, &volume, "/a_b"), "as it is");
    assert_eq!(contents(&image, &volume, "/a_b~2"), "made up");
}

#[test]
fn what_is_wrong_below_a_name_that_is_refused_is_told_too() {
    let scratch = scratch();
    let tree = TreeBuilder::new(scratch.path().join(TREE));
    tree.file("a:b/c?d/e", "x").file("a:b/README", "x").file("a:b/readme", "x").settle();
    let ran = run_in(scratch.path(), &[]);
    let told: Vec<&str> =
        lines(&ran).into_iter().filter_map(|line| line.split(": ").nth(1)).collect();
    assert_eq!(told, ["tree/a:b", "tree/a:b/c?d", "tree/a:b/readme", "no image was written"]);
}

#[test]
fn a_clash_is_told_against_the_name_that_stays() {
    let scratch = scratch();
    let tree = TreeBuilder::new(scratch.path().join(TREE));
    tree.file("foo", "x").file("Foo", "y").link("foo", "FOO").settle();
    let ran = run_in(scratch.path(), &[]);
    assert_eq!(lines(&ran)[0], clash_line("Foo", "foo"));
}
