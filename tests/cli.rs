//! The command as scripts and people meet it: exit status, channels, messages, reports, progress.

mod support;

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use support::invariants::Volume;
use support::{
    Expect, Ran, Tool, TreeBuilder, Workplace, assert_sound, invariants, make_fifo, set_time,
};

/// A folder with a source `src` of one file and a place for images.
struct Scene {
    place: Workplace,
    source: TreeBuilder,
}

impl std::ops::Deref for Scene {
    type Target = Workplace;

    fn deref(&self) -> &Workplace {
        &self.place
    }
}

impl Scene {
    fn new() -> Self {
        let place = Workplace::new();
        let source = TreeBuilder::new(place.path("src"));
        source.file("file.txt", "hello").settle();
        Self { place, source }
    }

    /// A run that fails with this status and these lines, and leaves nothing behind.
    fn fails(&self, arguments: &[&str], status: i32, lines: &[&str]) {
        let before = self.names();
        let ran = self.run(arguments);
        let told: Vec<&str> = ran.stderr.lines().collect();
        let wanted: Vec<String> = lines.iter().map(|line| format!("mkfatimg: {line}")).collect();
        assert_eq!(told, wanted, "{arguments:?}");
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(status), ""), "{arguments:?}");
        assert_eq!(self.names(), before, "{arguments:?}");
    }

    /// The value of a flag is refused with this reason.
    fn refuses_value(&self, argument: &str, reason: &str) {
        let ran = self.run(&["--from", "src", argument, "out.img"]);
        let (flag, value) = argument.split_once('=').unwrap();
        let first = ran.stderr.lines().next().unwrap_or_default();
        assert!(
            first.starts_with(&format!("error: invalid value '{value}' for '{flag} <")),
            "{first}"
        );
        assert!(first.ends_with(&format!(">': {reason}")), "{argument}: {first}");
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(2), ""), "{argument}");
        assert!(!self.path("out.img").exists(), "{argument}");
    }

    fn names(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        names.sort();
        names
    }
}

/// Exactly one document, with a line's end and nothing after it.
fn document(ran: &Ran) -> Value {
    assert!(ran.stdout.ends_with("}\n"), "{:?}", ran.stdout);
    serde_json::from_str(&ran.stdout).unwrap()
}

#[test]
fn a_build_ends_with_0_and_a_summary_on_standard_error() {
    let scene = Scene::new();
    let ran = scene.run(&["--from", "src", "out.img"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(0), ""));
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(lines.len(), 3, "{}", ran.stderr);
    let volume_id =
        lines[0].strip_prefix("out.img: FAT12, 64 KiB, 11 clusters of 4 KiB, volume id ");
    assert_eq!(volume_id.map(str::len), Some(9), "{}", lines[0]);
    assert_eq!(lines[1], "  1 file in 0 directories, 5 B; 40 KiB free");
    assert!(lines[2].starts_with("  24 KiB written in "), "{}", lines[2]);
    assert_sound(
        &scene.path("out.img"),
        &Expect { source: Some(scene.path("src")), times: true, ..Expect::default() },
    );
}

#[test]
fn what_the_system_refuses_ends_with_1() {
    let scene = Scene::new();
    scene.fails(
        &["--from", "src", "missing/out.img"],
        1,
        &["missing/out.img: there is no directory missing; make it first"],
    );
    scene.fails(
        &["--from", "src", "--boot-code", "missing", "out.img"],
        1,
        &["--boot-code missing: cannot be read: no such file or directory"],
    );
}

#[test]
fn a_command_line_without_sense_ends_with_2() {
    let scene = Scene::new();
    scene.fails(
        &["--from", "src", "--size", "1000000", "out.img"],
        2,
        &["--size 1000000 is no whole number of sectors of 512 bytes; use 1000448"],
    );
    scene.fails(
        &["--from", "src", "--fat-type", "32", "--root-entries", "512", "out.img"],
        2,
        &["--root-entries is for FAT12 and FAT16: the root directory of FAT32 grows by itself"],
    );
    scene.fails(
        &["--from", "src", "--root-entries", "100", "out.img"],
        2,
        &["--root-entries 100 does not fill whole sectors; use a multiple of 16"],
    );
    scene.fails(
        &["--from", "src", "--align", "1000", "out.img"],
        2,
        &["--align 1000 is no multiple of the sector size, 512 bytes"],
    );
    scene.fails(
        &["--from", "src", "--sector-size", "4K", "--cluster-size", "2K", "out.img"],
        2,
        &["--cluster-size 2048 is not possible with sectors of 4096 bytes; use 4096 to 65536"],
    );
}

#[test]
fn an_image_that_is_too_small_or_not_legal_ends_with_3() {
    let scene = Scene::new();
    scene.source.filled("big", 3 << 20);
    scene.fails(
        &["--from", "src", "--size", "2M", "out.img"],
        3,
        &["image of 2M is too small: the source needs 3076K in clusters of 4K, and there is room for 2028K; use --size 3104K"],
    );
    scene.fails(
        &["--from", "src", "--size", "10M", "--fat-type", "32", "out.img"],
        3,
        &["FAT32 is not possible in 10M: with clusters of 512 bytes it would have 20132, and FAT32 takes 65541 to 268435445; use --size 33300K or more, or leave out --fat-type for the type that suits the size"],
    );
}

#[test]
fn the_size_that_is_advised_is_the_one_that_is_chosen_by_default() {
    let scene = Scene::new();
    scene.source.filled("big", 3 << 20);
    let refused = scene.run(&["--from", "src", "--size", "2M", "out.img"]);
    let advised = refused.stderr.trim_end().rsplit_once("use --size ").unwrap().1;
    let ran = scene.run(&["--from", "src", "--size", advised, "out.img"]);
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    let bytes = fs::metadata(scene.path("out.img")).unwrap().len();
    assert_eq!(bytes, 3104 << 10);
    assert_eq!(scene.run(&["--from", "src", "auto.img"]).status, Some(0));
    assert_eq!(fs::metadata(scene.path("auto.img")).unwrap().len(), bytes);
}

#[test]
fn an_oversized_file_alone_ends_with_3() {
    let scene = Scene::new();
    File::create(scene.path("src/huge")).unwrap().set_len(1 << 32).unwrap();
    scene.fails(
        &["--from", "src", "out.img"],
        3,
        &["src/huge: is 4294967296 bytes long; a file on FAT has at most 4294967295; split or compress it"],
    );
}

#[test]
fn a_source_that_fat_cannot_hold_ends_with_4() {
    let scene = Scene::new();
    scene.source.file("a:b", "x");
    scene.fails(
        &["--from", "src", "out.img"],
        4,
        &["src/a:b: name holds ':', which FAT forbids; rename it, or use --invalid-names replace or skip"],
    );
}

#[test]
fn every_problem_is_told_in_one_run_with_the_way_out_at_the_end() {
    let scene = Scene::new();
    scene
        .source
        .file("what?", "x")
        .file("dir/trailing.", "x")
        .file("README", "x")
        .file("readme", "x")
        .file("caf\u{e9}", "composed")
        .file("cafe\u{301}", "decomposed")
        .filled("large", 2 << 20)
        .link("nowhere", "gone");
    make_fifo(&scene.path("src/fifo"));
    File::create(scene.path("src/huge")).unwrap().set_len(1 << 32).unwrap();
    scene.fails(
        &["--from", "src", "--size", "1M", "out.img"],
        4,
        &[
            "src/fifo: is a FIFO, which FAT cannot hold; remove it, or leave such out with --special skip",
            "src/gone: is a link to nowhere, and inside src there is no /nowhere; leave such links out with --dangling skip, or follow them on this machine with --symlinks host",
            "src/what?: name holds '?', which FAT forbids; rename it, or use --invalid-names replace or skip",
            "src/caf\u{e9}: has the same name as src/cafe\u{301} for FAT, which ignores case and normalisation; rename one, or use --clash rename or skip",
            "src/readme: has the same name as src/README for FAT, which ignores case and normalisation; rename one, or use --clash rename or skip",
            "src/dir/trailing.: name ends with a dot, which readers of FAT drop; rename it, or use --invalid-names replace or skip",
            "src/huge: is 4294967296 bytes long; a file on FAT has at most 4294967295; split or compress it",
            "image of 1M is too small: the source, as far as it was not refused, needs 2080K in clusters of 4K, and there is room for 1004K; use --size 2112K",
            "no image was written: 8 problems, among them 1 link that leads nowhere, 1 special file, 2 names that FAT cannot hold, 2 clashes of names; for these add --dangling skip --special skip --invalid-names replace --clash rename",
        ],
    );
}

#[test]
fn the_way_out_works() {
    let scene = Scene::new();
    scene.source.file("what?", "x").file("README", "1").file("readme", "2").link("nowhere", "gone");
    make_fifo(&scene.path("src/fifo"));
    let refused = scene.run(&["--from", "src", "out.img"]);
    let flags = refused.stderr.trim_end().rsplit_once("all the same add ").unwrap().1;
    let arguments: Vec<&str> = flags.split(' ').collect();
    let ran = scene.run(&[&["--from", "src"], &arguments[..], &["out.img"]].concat());
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    let expected = TreeBuilder::new(scene.path("expected"));
    expected.file("what_", "x").file("README", "1").file("readme~2", "2").file("file.txt", "hello");
    let expect = Expect { source: Some(scene.path("expected")), ..Expect::default() };
    assert_sound(&scene.path("out.img"), &expect);
}

#[test]
fn bad_values_are_refused_with_the_rule() {
    let scene = Scene::new();
    let size = "a size is a whole number with an optional K, M, G or T";
    for text in ["", "-5", "abc", "G", "auto "] {
        scene.refuses_value(&format!("--size={text}"), size);
    }
    let letters = "use K, M, G or T";
    scene.refuses_value("--size=5X", &format!("unknown unit \"X\"; {letters}"));
    scene.refuses_value("--size=0x10", &format!("unknown unit \"x10\"; {letters}"));
    scene.refuses_value("--size=1.5G", "whole numbers only; 1536M is one and a half G");
    scene.refuses_value("--size=17179869184G", "more than 16 EiB");
    scene.refuses_value("--free=-1", size);
    for text in ["100%", "-1%", "1.5%", "%"] {
        let reason = "a percentage is a whole number from 0 to 99";
        scene.refuses_value(&format!("--free={text}"), reason);
    }
    for text in ["0", "256", "3000", "128K"] {
        let reason = "a cluster size is a power of two from 512 to 65536";
        scene.refuses_value(&format!("--cluster-size={text}"), reason);
    }
    for text in ["0", "256", "1000", "8K"] {
        let reason = "a sector size is 512, 1024, 2048 or 4096";
        scene.refuses_value(&format!("--sector-size={text}"), reason);
    }
    for text in ["0", "17M"] {
        scene.refuses_value(&format!("--align={text}"), "a boundary is 1 byte to 16M");
    }
    for text in ["", "xyz", "DEADBEE", "DEADBEEF0", "DEA-DBEEF", "0x1", "+EADBEEF"] {
        let reason = "a volume id is eight hexadecimal digits, such as DEAD-BEEF, or random";
        scene.refuses_value(&format!("--volume-id={text}"), reason);
    }
    for text in ["", "F1", "FA", "1F8", "fixed"] {
        scene.refuses_value(&format!("--media={text}"), "a media byte is F0, F8, F9 or FB to FF");
    }
    for text in ["ninechars", "t\u{fc}r"] {
        let reason = "an OEM name is up to 8 printable ASCII characters";
        scene.refuses_value(&format!("--oem-name={text}"), reason);
    }
    for text in ["NTFS", "EXFAT", "2M"] {
        let reason = "readers take a volume of that OEM name for something else than FAT";
        scene.refuses_value(&format!("--oem-name={text}"), reason);
    }
    for (text, reason) in [("0", "0 is not in 1..=2"), ("3", "3 is not in 1..=2")] {
        scene.refuses_value(&format!("--fats={text}"), reason);
    }
    for (text, reason) in [("0", "0 is not in 1..=65535"), ("65536", "65536 is not in 1..=65535")] {
        scene.refuses_value(&format!("--root-entries={text}"), reason);
        scene.refuses_value(&format!("--reserved-sectors={text}"), reason);
    }
    scene.refuses_value("--heads=256", "256 is not in 1..=255");
    scene.refuses_value("--sectors-per-track=64", "64 is not in 1..=63");
}

#[test]
fn bad_labels_are_refused_with_the_rule() {
    let scene = Scene::new();
    let empty = "is empty; leave the label out for a volume without one";
    scene.refuses_value("--label=", empty);
    scene.refuses_value("--label=   ", empty);
    let no_name = "stands for \"no label\"; leave the label out for a volume without one";
    scene.refuses_value("--label=NO NAME", no_name);
    scene.refuses_value("--label=TWELVE CHARS", "is 12 bytes long; a label has at most 11");
    scene.refuses_value("--label= DATA", "begins with a blank, which readers drop");
    let legal = "a label takes ASCII letters, digits, blanks and $ % ' - _ @ ~ ` ! ( ) { } ^ # &";
    scene.refuses_value("--label=A*B", &format!("holds '*'; {legal}"));
    scene.refuses_value("--label=A.B", &format!("holds '.'; {legal}"));
    scene.refuses_value("--label=\u{dc}BER", &format!("holds '\u{dc}'; {legal}"));
}

#[test]
fn choices_are_listed_when_none_of_them_was_made() {
    let scene = Scene::new();
    for (argument, choices) in [
        ("--fat-type=64", "12, 16, 32"),
        ("--symlinks=maybe", "follow, host, skip, error"),
        ("--dangling=maybe", "error, skip"),
        ("--special=maybe", "error, skip"),
        ("--invalid-names=maybe", "error, replace, skip"),
        ("--clash=maybe", "error, skip, rename"),
        ("--long-names=maybe", "auto, always"),
        ("--progress=maybe", "auto, always, never"),
    ] {
        let ran = scene.run(&["--from", "src", argument, "out.img"]);
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(2), ""), "{argument}");
        let listed = format!("[possible values: {choices}]");
        assert!(ran.stderr.contains(&listed), "{argument}: {}", ran.stderr);
    }
}

#[test]
fn the_largest_number_as_a_size_is_refused_and_no_crash() {
    let scene = Scene::new();
    let ran = scene.run(&["--from", "src", "--size", "18446744073709551615", "out.img"]);
    assert_eq!(ran.status, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.starts_with("mkfatimg: --size 18446744073709551615 is "), "{}", ran.stderr);
    scene.fails(
        &["--from", "src", "--size", "18446744073709551104", "out.img"],
        2,
        &["--size 18446744073709551104 is too large; with sectors of 512 bytes a FAT volume has at most 2199023255040 bytes"],
    );
}

#[test]
fn times_and_zones_that_do_not_exist_are_refused() {
    let scene = Scene::new();
    for zone in ["Mars/Olympus", "", "+2:0", "+99:00"] {
        let line = format!(
            "--timezone {zone}: no such zone on this system; use UTC, local, a name such as Europe/Berlin, or an offset such as +02:00"
        );
        scene.fails(&["--from", "src", "--timezone", zone, "out.img"], 2, &[&line]);
    }
    for time in ["", "@", "@now", "yesterday", "2023-02-29", "12:00"] {
        let line = format!(
            "--mtime {time}: is no time; use @SECONDS, 2024-02-29, 2024-02-29T12:00:00 or 2024-02-29T12:00:00Z"
        );
        scene.fails(&["--from", "src", "--mtime", time, "out.img"], 2, &[&line]);
    }
    {
        let line = "--mtime 1700000000: is no time; seconds since 1970 are @1700000000";
        scene.fails(&["--from", "src", "--mtime", "1700000000", "out.img"], 2, &[line]);
    }
    for epoch in ["yesterday", "1.5", "0x10", " 5", "99999999999999999999"] {
        let mut command = scene.command(&["--from", "src", "out.img"]);
        let ran = Ran::from(command.env("SOURCE_DATE_EPOCH", epoch).output().unwrap());
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(2), ""));
        assert_eq!(
            ran.stderr,
            format!(
                "mkfatimg: SOURCE_DATE_EPOCH is {epoch}, which is no number of seconds since 1970; unset it or correct it\n"
            )
        );
    }
}

#[test]
fn boot_code_of_more_than_a_sector_is_refused() {
    let scene = Scene::new();
    fs::write(scene.path("code"), [0x90; 513]).unwrap();
    scene.fails(
        &["--from", "src", "--boot-code", "code", "out.img"],
        2,
        &["--boot-code code: is more than 512 bytes, a boot sector"],
    );
}

#[test]
fn what_is_missing_is_named() {
    let scene = Scene::new();
    for (arguments, missing) in [
        (&["--from", "src"][..], "<OUT>"),
        (&["out.img"], "--from <SRC[:/DEST]>"),
        (&["--from", "src", "--json"], "<OUT>"),
    ] {
        let ran = scene.run(arguments);
        assert_eq!(ran.status, Some(2));
        assert!(ran.stderr.contains(missing), "{arguments:?}: {}", ran.stderr);
        if arguments.contains(&"--json") {
            let text = "the following required arguments were not provided: <OUT>";
            let problem = json!([{ "kind": "usage", "blame": "command line", "text": text }]);
            assert_eq!(document(&ran)["problems"], problem);
        } else {
            assert_eq!(ran.stdout, "");
        }
    }
}

#[test]
fn words_that_will_be_subcommands_are_no_names_of_images_without_a_folder() {
    let scene = Scene::new();
    for word in ["verify", "inspect", "extract", "add"] {
        let line =
            format!("{word} is kept for a subcommand; write ./{word} for an image of that name");
        scene.fails(&["--from", "src", word], 2, &[&line]);
        let path = format!("./{word}");
        assert_eq!(scene.run(&["--from", "src", &path]).status, Some(0));
        assert_sound(&scene.path(word), &Expect::default());
    }
}

#[test]
fn a_number_of_threads_is_refused_with_the_range() {
    let scene = Scene::new();
    for value in ["0", "257", "-1", "x", "", "1.5", "99999999999999999999", "0x2", "4k"] {
        let ran = scene.run(&["--from", "src", "--jobs", value, "out.img"]);
        let first = ran.stderr.lines().next().unwrap_or_default();
        let reason = "a number of threads is 1 to 256";
        assert_eq!(first, format!("error: invalid value '{value}' for '--jobs <N>': {reason}"));
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(2), ""), "{value}");
        assert!(!scene.path("out.img").exists(), "{value}");
    }
    for value in ["1", "256"] {
        let ran = scene.run(&["--from", "src", "--jobs", value, "-q", "out.img"]);
        assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""));
        assert_sound(&scene.path("out.img"), &Expect::default());
    }
}

/// The lines of `-v` between summary and layout, but for the one on reserved room, which follows
/// the file system.
fn strategy(scene: &Scene, flags: &[&str]) -> Vec<String> {
    let ran = scene.run(&[&["--from", "src", "-v"], flags, &["out.img"]].concat());
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    // The summary's last line begins with a blank.
    let (above, _) = ran.stderr.split_once("\n\n").unwrap();
    let lines = above.lines().rev().take_while(|line| !line.starts_with(' '));
    let mut lines: Vec<String> = lines.map(str::to_owned).collect();
    lines.reverse();
    let room = "room for what was to be written reserved first, which is faster here";
    lines.retain(|line| line != room);
    lines
}

#[test]
fn a_verbose_build_tells_how_the_image_was_written_and_why() {
    let scene = Scene::new();
    let one = "one thread read and wrote: as asked (--jobs)";
    let asked = "written through the page cache, as asked (--direct)";
    assert_eq!(strategy(&scene, &["--jobs", "1", "--direct", "never"]), [one, asked]);
    // A small image is one piece of work.
    assert_eq!(
        strategy(&scene, &["--jobs", "2", "--direct", "never"]),
        [
            "one thread read and wrote: fewer than asked, for want of work, memory or open files (--jobs)",
            asked
        ]
    );
    assert_eq!(
        strategy(&scene, &["--jobs", "2", "--direct", "never", "--free", "16M"]),
        ["2 threads read and wrote at the same time: as asked (--jobs)", asked]
    );
    let past = strategy(&scene, &["--jobs", "1", "--direct", "always"]);
    // `tests/system_calls.rs` makes sure of either.
    let possible = [
        "written past the page cache, as asked (--direct)",
        "written through the page cache: writes past it were refused",
    ];
    assert_eq!(past[0], one);
    assert!(past.len() == 2 && possible.contains(&past[1].as_str()), "{past:?}");
    let chosen = strategy(&scene, &["--jobs", "1"]);
    let room = chosen[1].strip_prefix("written through the page cache: it keeps ").unwrap();
    assert!(room.ends_with(" before the system turns to the disk (--direct)"), "{chosen:?}");
    assert_eq!(chosen.len(), 2, "{chosen:?}");
    let whole = strategy(&scene, &["--jobs", "1", "--direct", "never", "--preallocate"]);
    let room = "room for the whole image reserved first, as asked (--preallocate)";
    assert_eq!(whole, [one, room, asked]);
}

#[test]
fn a_verbose_build_of_a_stream_tells_of_threads_alone() {
    let scene = Scene::new();
    for (flags, line) in [
        (&["--jobs", "1"][..], "one thread read and wrote: as asked"),
        (&["--jobs", "3"], "3 threads read and wrote at the same time: as asked"),
    ] {
        let flags = [flags, &["--from", "src", "-v", "--size", "4M", "/dev/null"]].concat();
        let ran = scene.run(&flags);
        assert_eq!(ran.status, Some(0), "{}", ran.stderr);
        assert!(ran.stderr.contains(&format!("\n{line} (--jobs)\n\nregion")), "{}", ran.stderr);
    }
}

/// A read-only image gives way to a new one that is written past the page cache all the same, and
/// is read-only again.
#[test]
fn the_permissions_of_an_image_say_nothing_of_how_it_is_written() {
    let scene = Scene::new();
    let flags = ["--from", "src", "--json", "-q", "--direct", "always", "out.img"];
    let past = |ran: &Ran| {
        assert_eq!(ran.status, Some(0), "{}", ran.stderr);
        let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        report["written"]["page_cache"] == "past"
    };
    let first = past(&scene.run(&flags));
    let image = scene.path("out.img");
    fs::set_permissions(&image, fs::Permissions::from_mode(0o444)).unwrap();
    assert_eq!(past(&scene.run(&flags)), first);
    assert_eq!(fs::metadata(&image).unwrap().permissions().mode() & 0o7777, 0o444);
}

#[test]
fn writes_past_the_page_cache_are_for_files() {
    let scene = Scene::new();
    make_fifo(&scene.path("fifo"));
    for (out, name) in [("-", "standard output"), ("fifo", "fifo"), ("/dev/null", "/dev/null")] {
        let line = format!("--direct always is for image files; {name} is a stream");
        scene.fails(&["--from", "src", "--direct", "always", out], 2, &[&line]);
    }
    for direct in ["auto", "never"] {
        let ran = scene.run(&["--from", "src", "-q", "--direct", direct, "/dev/null"]);
        assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""), "{direct}");
    }
}

#[test]
fn sync_and_preallocate_are_for_files() {
    let scene = Scene::new();
    make_fifo(&scene.path("fifo"));
    for flag in ["--sync", "--preallocate"] {
        for (out, name) in [("-", "standard output"), ("fifo", "fifo"), ("/dev/null", "/dev/null")]
        {
            let line = format!("{flag} is for image files; {name} is a stream");
            scene.fails(&["--from", "src", flag, out], 2, &[&line]);
        }
        let ran = scene.run(&["--from", "src", flag, "out.img"]);
        assert_eq!(ran.status, Some(0), "{}", ran.stderr);
        assert_sound(&scene.path("out.img"), &Expect::default());
    }
}

#[test]
fn preallocation_leaves_no_hole() {
    let scene = Scene::new();
    let ran = scene.run(&["--from", "src", "--size", "8M", "--preallocate", "out.img"]);
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    assert!(fs::metadata(scene.path("out.img")).unwrap().blocks() * 512 >= 8 << 20);
}

#[test]
fn json_with_the_image_on_standard_output_is_refused() {
    let scene = Scene::new();
    let ran = scene.run(&["--from", "src", "--json", "-"]);
    assert_eq!(ran.status, Some(2));
    let line = "--json and the image cannot both go to standard output; name a file for the image";
    assert_eq!(ran.stderr, format!("mkfatimg: {line}\n"));
    let found = document(&ran);
    assert_eq!(found["status"], "failed");
    assert_eq!(
        found["problems"],
        json!([{ "kind": "usage", "blame": "command line", "text": line }])
    );
}

#[test]
fn a_dry_run_as_json_may_have_standard_output_as_the_image() {
    let scene = Scene::new();
    let ran = scene.run(&["--from", "src", "--json", "--dry-run", "-"]);
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    assert_eq!(document(&ran)["status"], "planned");
}

#[test]
fn an_image_is_not_sent_to_a_terminal() {
    let Some(script) = Tool::find("script") else { return };
    let scene = Scene::new();
    let binary = env!("CARGO_BIN_EXE_mkfatimg");
    let typed = format!("'{binary}' --from src -");
    let ran = Ran::from(scene.on_terminal(&script, &typed).output().unwrap());
    let wanted = "mkfatimg: standard output is a terminal; send the image to a file or a pipe";
    assert_eq!(ran.stdout.trim_end(), wanted);
    assert_eq!(ran.status, Some(2));
}

#[test]
fn the_image_goes_to_standard_output_and_words_to_standard_error() {
    let scene = Scene::new();
    let output = scene.command(&["--from", "src", "-"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let streamed = scene.path("streamed.img");
    fs::write(&streamed, &output.stdout).unwrap();
    assert_sound(
        &streamed,
        &Expect { source: Some(scene.path("src")), times: true, ..Expect::default() },
    );
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.starts_with("standard output: FAT12, 64 KiB, "), "{told}");
    assert_eq!(scene.run(&["--from", "src", "out.img"]).status, Some(0));
    assert!(output.stdout == fs::read(scene.path("out.img")).unwrap(), "file and stream differ");
}

#[test]
fn quiet_says_nothing_on_success_and_every_error() {
    let scene = Scene::new();
    scene.source.file("nul", "a notice").settle();
    for image in ["out.img", "/dev/null"] {
        let ran = scene.run(&["-q", "--from", "src", image]);
        assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "", ""));
    }
    scene.source.file("a:b", "x");
    scene.fails(
        &["--quiet", "--from", "src", "other.img"],
        4,
        &["src/a:b: name holds ':', which FAT forbids; rename it, or use --invalid-names replace or skip"],
    );
}

#[test]
fn quiet_and_verbose_exclude_each_other() {
    let scene = Scene::new();
    let ran = scene.run(&["-q", "-v", "--from", "src", "out.img"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(2), ""));
    let first = "error: the argument '--quiet' cannot be used with '--verbose'\n";
    assert!(ran.stderr.starts_with(first), "{}", ran.stderr);
}

/// A source with three notices of one kind and one of another, which is built with a label that is
/// made capital.
fn notable() -> Scene {
    let scene = Scene::new();
    scene.source.file("aux", "x").file("con.txt", "x").file("nul", "x").file("old", "x").settle();
    set_time(&scene.path("src/old"), 0);
    scene
}

#[test]
fn notices_are_one_line_for_each_kind_with_a_count() {
    let scene = notable();
    let ran = scene.run(&["--from", "src", "--label", "data", "out.img"]);
    let notices: Vec<&str> =
        ran.stderr.lines().filter(|line| line.starts_with("mkfatimg: note: ")).collect();
    assert_eq!(
        notices,
        [
            "mkfatimg: note: 3 names that Windows takes for devices, the first: src/aux: Windows takes this name for a device (all with -v)",
            "mkfatimg: note: src/old: time moved to 1980",
            "mkfatimg: note: label made capital: DATA",
        ]
    );
}

#[test]
fn verbose_tells_every_notice_and_the_layout() {
    let scene = notable();
    let ran = scene.run(&["-v", "--from", "src", "--label", "data", "out.img"]);
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(
        lines[..6],
        [
            "mkfatimg: note: src/aux: Windows takes this name for a device",
            "mkfatimg: note: src/con.txt: Windows takes this name for a device",
            "mkfatimg: note: src/nul: Windows takes this name for a device",
            "mkfatimg: note: src/old: time moved to 1980",
            "mkfatimg: note: label made capital: DATA",
            "mkfatimg: note: owners, permissions, extended attributes and the identity of hard links are not stored: FAT has no place for them",
        ]
    );
    for region in ["reserved area", "FAT 1", "FAT 2", "root directory", "files", "free"] {
        assert!(lines.iter().any(|line| line.starts_with(region)), "{region}: {}", ran.stderr);
    }
    assert!(lines.contains(&"largest files"), "{}", ran.stderr);
}

/// The figures of a report are those of the volume.
fn assert_tells_of(found: &Value, volume: &Volume, bytes: u64) {
    let geometry = &volume.geometry;
    let free = volume.free_clusters().count() as u64;
    let kind = format!("FAT{}", geometry.fat_type.bits());
    let id_at = geometry.extended_at() + 3;
    let id = u32::from_le_bytes(volume.boot.bytes[id_at..id_at + 4].try_into().unwrap());
    let label = volume.directories[0]
        .labels
        .first()
        .map(|label| String::from_utf8(label.raw_short.to_vec()).unwrap().trim_end().to_owned());
    assert_eq!(
        found["volume"],
        json!({
            "type": kind,
            "bytes": bytes,
            "sector_bytes": geometry.bytes_per_sector,
            "cluster_bytes": geometry.cluster_bytes,
            "clusters": geometry.cluster_count,
            "used_clusters": u64::from(geometry.cluster_count) - free,
            "free_clusters": free,
            "free_bytes": free * geometry.cluster_bytes,
            "total_sectors": geometry.total_sectors,
            "reserved_sectors": geometry.reserved_sectors,
            "fats": geometry.fats,
            "sectors_per_fat": geometry.fat_sectors,
            "root_entries": volume.boot.root_entries,
            "data_at_byte": geometry.cluster_position(2),
            "hidden_sectors": volume.boot.hidden_sectors,
            "media": volume.boot.media,
            "heads": volume.boot.heads,
            "sectors_per_track": volume.boot.sectors_per_track,
            "label": label,
            "volume_id": format!("{:04X}-{:04X}", id >> 16, id & 0xFFFF),
        })
    );
    let directories = volume.entries.iter().filter(|entry| entry.is_directory()).count();
    let content: u64 = volume.entries.iter().map(|entry| u64::from(entry.size)).sum();
    assert_eq!(
        found["contents"],
        json!({
            "files": volume.entries.len() - directories,
            "directories": directories,
            "bytes": content,
            "links": 0,
            "linked_bytes": 0,
        })
    );
    assert_regions_cover(found, bytes);
}

/// The regions touch and cover the image.
fn assert_regions_cover(found: &Value, bytes: u64) {
    let mut at = 0;
    for region in found["regions"].as_array().unwrap() {
        assert_eq!(region["at_byte"], at, "{region}");
        let len = region["bytes"].as_u64().unwrap();
        assert!(len > 0, "{region}");
        at += len;
    }
    assert_eq!(at, bytes);
}

fn region_names(found: &Value) -> Vec<&str> {
    let regions = found["regions"].as_array().unwrap();
    regions.iter().map(|region| region["name"].as_str().unwrap()).collect()
}

/// A source with directories, files of several sizes and notices.
fn varied() -> Scene {
    let scene = notable();
    scene
        .source
        .filled("dir/large.bin", 300_000)
        .filled("dir/sub/small.bin", 700)
        .file("a rather long name.text", "x")
        .settle();
    scene
}

const VARIANTS: [&[&str]; 6] = [
    &[],
    &["--size", "1440K", "--label", "floppy"],
    &["--size", "20M", "--volume-id", "DEAD-BEEF", "--fats", "1"],
    &["--size", "64M", "--fat-type", "32", "--cluster-size", "512", "--label", "ESP"],
    &["--sector-size", "4K", "--free", "10%", "--media", "F0", "--hidden-sectors", "2048"],
    &["--fat-type", "16", "--root-entries", "1024", "--heads", "16", "--sectors-per-track", "63"],
];

#[test]
fn the_report_of_a_build_is_one_json_document_that_tells_what_the_image_is() {
    let scene = varied();
    for arguments in VARIANTS {
        let ran =
            scene.run(&[&["--json", "-q", "--from", "src"], arguments, &["out.img"]].concat());
        assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""), "{arguments:?}");
        let found = document(&ran);
        assert_eq!(found["schema"], 1);
        assert_eq!(found["mkfatimg"], env!("CARGO_PKG_VERSION"));
        assert_eq!(found["status"], "written");
        assert_eq!(found["output"], "out.img");
        assert_eq!(found.get("problems"), None);
        let bytes = fs::metadata(scene.path("out.img")).unwrap().len();
        assert_tells_of(&found, &invariants::read(&scene.path("out.img"), 0).unwrap(), bytes);
        let written = found["written"]["bytes"].as_u64().unwrap();
        let holes = found["written"]["hole_bytes"].as_u64().unwrap();
        assert_eq!(written + holes, bytes, "{arguments:?}");
        assert!(found["written"]["seconds"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn the_regions_are_in_the_order_of_the_disk() {
    let scene = varied();
    let found = document(&scene.run(&["--json", "--from", "src", "--dry-run"]));
    let common =
        ["reserved area", "FAT 1", "FAT 2", "root directory", "directories", "files", "free"];
    assert_eq!(region_names(&found), common);
    let arguments = ["--json", "--from", "src", "--dry-run", "--size", "64M", "--fat-type", "32"];
    let found = document(&scene.run(&[&arguments[..], &["--fats", "1"]].concat()));
    let names = ["reserved area", "FAT 1", "root directory", "directories", "files", "free"];
    assert_eq!(region_names(&found), names);
    let empty = scene.path("empty");
    fs::create_dir(&empty).unwrap();
    let found = document(&scene.run(&["--json", "--from", "empty", "--dry-run"]));
    assert_eq!(region_names(&found), ["reserved area", "FAT 1", "FAT 2", "root directory", "free"]);
}

#[test]
fn the_largest_files_are_told_largest_first_and_at_most_ten() {
    let scene = Scene::new();
    for number in 1..=12 {
        scene.source.filled(&format!("d/f{number}"), number * 100);
    }
    let found = document(&scene.run(&["--json", "--from", "src", "--dry-run"]));
    let wanted: Vec<Value> = (3..=12)
        .rev()
        .map(|number| json!({ "path": format!("/d/f{number}"), "bytes": number * 100 }))
        .collect();
    assert_eq!(found["largest"], Value::from(wanted));
}

#[test]
fn notices_have_their_kinds_in_the_report() {
    let scene = notable();
    scene.source.file("gone", "x").link("nowhere", "dangling").file(" blank", "x");
    make_fifo(&scene.path("src/fifo"));
    let ran = scene.run(&[
        "--json",
        "--from",
        "src",
        "--label",
        "data",
        "--dangling",
        "skip",
        "--special",
        "skip",
        "out.img",
    ]);
    let found = document(&ran);
    let kinds: Vec<(&str, &str)> = found["notices"]
        .as_array()
        .unwrap()
        .iter()
        .map(|notice| (notice["kind"].as_str().unwrap(), notice["text"].as_str().unwrap()))
        .collect();
    assert_eq!(
        kinds,
        [
            ("dangling-link-skipped", "src/dangling: link to nowhere left out: leads nowhere"),
            ("special-file-skipped", "src/fifo: FIFO left out"),
            ("leading-blank", "src/ blank: name begins with a blank"),
            ("device-name", "src/aux: Windows takes this name for a device"),
            ("device-name", "src/con.txt: Windows takes this name for a device"),
            ("device-name", "src/nul: Windows takes this name for a device"),
            ("time-clamped", "src/old: time moved to 1980"),
            ("label-made-capital", "label made capital: DATA"),
        ]
    );
    // The same is told to people, on the other channel.
    assert!(ran.stderr.contains("mkfatimg: note: src/fifo: FIFO left out\n"), "{}", ran.stderr);
}

#[test]
fn a_refusal_is_one_json_document_with_every_problem() {
    let scene = Scene::new();
    scene.source.file("a:b", "x").link("nowhere", "gone").filled("big", 2 << 20);
    let ran = scene.run(&["--json", "--from", "src", "--size", "1M", "out.img"]);
    assert_eq!(ran.status, Some(4));
    let found = document(&ran);
    assert_eq!(found["schema"], 1);
    assert_eq!(found["status"], "refused");
    assert_eq!((found.get("volume"), found.get("written")), (None, None));
    let problems = found["problems"].as_array().unwrap();
    let blames: Vec<&str> =
        problems.iter().map(|problem| problem["blame"].as_str().unwrap()).collect();
    assert_eq!(blames, ["source", "source", "format"]);
    let told: Vec<String> = problems
        .iter()
        .map(|problem| format!("mkfatimg: {}", problem["text"].as_str().unwrap()))
        .collect();
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(lines[..3], told);
    let found = document(&scene.run(&["--json", "--from", "src", "--size", "1000", "out.img"]));
    assert_eq!(found["problems"][2]["blame"], "command line");
}

#[test]
fn a_failure_is_one_json_document() {
    let scene = Scene::new();
    let ran = scene.run(&["--json", "--from", "src", "missing/out.img"]);
    assert_eq!(ran.status, Some(1));
    let found = document(&ran);
    assert_eq!(found["schema"], 1);
    assert_eq!(found["status"], "failed");
    let text = "missing/out.img: there is no directory missing; make it first";
    let path = "missing/out.img";
    let problem =
        json!({ "kind": "output-folder-missing", "blame": "system", "path": path, "text": text });
    assert_eq!(found["problems"], json!([problem]));
    let found = document(&scene.run(&["--json", "--from", "src", "/dev/full"]));
    assert_eq!(found["status"], "failed");
    assert_eq!(found["problems"][0]["blame"], "system");
}

#[test]
fn a_command_line_without_sense_is_blamed_in_the_report() {
    let scene = Scene::new();
    let ran = scene.run(&["--json", "--from", "src", "--timezone", "Mars", "out.img"]);
    assert_eq!(ran.status, Some(2));
    assert_eq!(document(&ran)["problems"][0]["blame"], "command line");
}

#[test]
fn a_dry_run_writes_nothing_and_tells_what_a_build_would() {
    let scene = varied();
    for arguments in VARIANTS {
        let dry = [&["--json", "-q", "--dry-run", "--from", "src"], arguments].concat();
        let before = scene.names();
        let nameless = scene.run(&dry);
        let named = scene.run(&[&dry[..], &["out.img"]].concat());
        assert_eq!(scene.names(), before);
        assert_eq!(nameless, named);
        assert_eq!((named.status, named.stderr.as_str()), (Some(0), ""), "{arguments:?}");
        let planned = document(&named);
        assert_eq!(planned["status"], "planned");
        assert_eq!((planned.get("output"), planned.get("written")), (None, None));

        let built =
            scene.run(&[&["--json", "-q", "--from", "src"], arguments, &["out.img"]].concat());
        let written = document(&built);
        for part in ["volume", "contents", "regions", "largest", "notices"] {
            assert_eq!(planned[part], written[part], "{arguments:?}");
        }
        let bytes = fs::metadata(scene.path("out.img")).unwrap().len();
        assert_tells_of(&planned, &invariants::read(&scene.path("out.img"), 0).unwrap(), bytes);
        fs::remove_file(scene.path("out.img")).unwrap();
    }
}

#[test]
fn a_dry_run_leaves_an_old_image_alone() {
    let scene = Scene::new();
    fs::write(scene.path("out.img"), "old").unwrap();
    assert_eq!(scene.run(&["--dry-run", "--from", "src", "out.img"]).status, Some(0));
    assert_eq!(fs::read(scene.path("out.img")).unwrap(), b"old");
}

#[test]
fn a_dry_run_for_people_shows_the_layout_on_standard_output() {
    let scene = Scene::new();
    let ran = scene.run(&["--dry-run", "--from", "src", "--volume-id", "12345678"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""));
    assert_eq!(
        ran.stdout,
        "\
FAT12, 64 KiB, 11 clusters of 4 KiB, volume id 1234-5678
  1 file in 0 directories, 5 B; 40 KiB free

region                from byte          bytes
reserved area                 0           3072  3 KiB
FAT 1                      3072            512  512 B
FAT 2                      3584            512  512 B
root directory             4096          16384  16 KiB
files                     20480           4096  4 KiB
free                      24576          40960  40 KiB

largest files
         5 B  /file.txt
"
    );
}

#[test]
fn a_dry_run_is_refused_as_the_build_would_be() {
    let scene = Scene::new();
    scene.source.file("a:b", "x");
    scene.fails(
        &["--dry-run", "--from", "src"],
        4,
        &["src/a:b: name holds ':', which FAT forbids; rename it, or use --invalid-names replace or skip"],
    );
}

#[test]
fn a_reader_of_the_report_that_has_seen_enough_is_no_failure() {
    let scene = Scene::new();
    for arguments in
        [&["--dry-run", "--from", "src"][..], &["--json", "--from", "src", "out.img"], &["--help"]]
    {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output =
            scene.command(arguments).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {output:?}");
    }
    assert_sound(&scene.path("out.img"), &Expect::default());
}

#[test]
fn a_report_that_cannot_be_written_otherwise_is_a_failure() {
    let scene = Scene::new();
    for arguments in [&["--dry-run", "--from", "src"][..], &["--json", "--from", "src", "out.img"]]
    {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = scene.command(arguments).stdout(full).stderr(Stdio::piped()).output().unwrap();
        let ran = Ran::from(output);
        assert_eq!(ran.status, Some(1), "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("mkfatimg: standard output: "), "{}", ran.stderr);
    }
}

#[test]
fn a_reader_of_the_image_that_goes_away_is_a_failure() {
    let scene = Scene::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = scene
        .command(&["--from", "src", "-"])
        .stdout(writer)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    let ran = Ran::from(output);
    assert_eq!(ran.status, Some(1));
    assert_eq!(
        ran.stderr,
        "mkfatimg: standard output: the reader went away before all of it was written\n"
    );
}

#[test]
fn closed_standard_error_changes_nothing() {
    let scene = notable();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status =
        scene.command(&["-v", "--from", "src", "out.img"]).stderr(writer).status().unwrap();
    assert_eq!(status.code(), Some(0));
    assert_sound(&scene.path("out.img"), &Expect::default());
}

#[test]
fn help_and_version_go_to_standard_output() {
    let scene = Scene::new();
    let ran = scene.run(&["--version"]);
    let version = format!("mkfatimg {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!((ran.status, ran.stdout, ran.stderr.as_str()), (Some(0), version, ""));
    for flag in ["-h", "--help"] {
        let ran = scene.run(&[flag]);
        assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""));
        assert!(
            ran.stdout.starts_with("Builds a FAT disk image from a directory"),
            "{}",
            ran.stdout
        );
        assert!(ran.stdout.contains("\nExit status: "), "{}", ran.stdout);
    }
}

/// Reads a FIFO to its end, with a pause after the first bytes that leaves the writer waiting.
fn read_slowly(path: PathBuf, pause: Duration) -> thread::JoinHandle<usize> {
    thread::spawn(move || {
        let mut fifo = File::open(path).unwrap();
        let mut first = [0; 512];
        fifo.read_exact(&mut first).unwrap();
        thread::sleep(pause);
        let mut rest = Vec::new();
        fifo.read_to_end(&mut rest).unwrap();
        first.len() + rest.len()
    })
}

#[test]
fn progress_is_a_bar_on_a_terminal_and_lines_in_a_pipe_only_on_request() {
    let scene = Scene::new();
    scene.source.filled("large", 8 << 20);
    let ways = [("auto", ""), ("always", "--progress always"), ("quiet", "--progress always -q")];
    // All at once: each waits for its reader most of the time.
    let runs: Vec<_> = ways
        .iter()
        .map(|(name, flags)| {
            let fifo = scene.path(name);
            make_fifo(&fifo);
            let child = scene
                .command(&["--from", "src"])
                .args(flags.split_whitespace())
                .arg(&fifo)
                .stderr(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            (child, read_slowly(fifo, Duration::from_millis(2300)))
        })
        .collect();
    let terminal = Tool::find("script").map(|script| {
        make_fifo(&scene.path("tty"));
        let reader = read_slowly(scene.path("tty"), Duration::from_millis(800));
        let line = format!("'{}' --from src tty", env!("CARGO_BIN_EXE_mkfatimg"));
        let ran = Ran::from(scene.on_terminal(&script, &line).output().unwrap());
        (ran, reader.join().unwrap())
    });
    if let Some((ran, bytes)) = terminal {
        assert_eq!(ran.status, Some(0), "{}", ran.stdout);
        assert!(bytes > 8 << 20);
        assert!(ran.stdout.contains("writing ["), "{:?}", ran.stdout);
        assert!(ran.stdout.contains("MiB of 8."), "{:?}", ran.stdout);
        assert!(!ran.stdout.contains("mkfatimg: writing: "), "{:?}", ran.stdout);
        // The bar is gone when the summary comes.
        let summary = ran.stdout.rfind("tty: FAT12, 8.").expect("a summary");
        assert!(!ran.stdout[summary..].contains("writing ["), "{:?}", ran.stdout);
    }
    let told: Vec<Ran> = runs
        .into_iter()
        .map(|(child, reader)| {
            let output = child.wait_with_output().unwrap();
            assert!(reader.join().unwrap() > 8 << 20);
            output.into()
        })
        .collect();
    for ran in &told {
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(0), ""));
        assert!(!ran.stderr.contains("writing ["), "{:?}", ran.stderr);
        assert!(!ran.stderr.contains(['\r', '\x1b']), "{:?}", ran.stderr);
    }
    let lines = |ran: &Ran| {
        let all = ran.stderr.lines().filter(|line| line.starts_with("mkfatimg: writing: "));
        all.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(lines(&told[0]), Vec::<String>::new());
    for ran in &told[1..] {
        let lines = lines(ran);
        assert!(!lines.is_empty(), "{:?}", ran.stderr);
        assert!(lines.iter().all(|line| line.ends_with(" %")), "{lines:?}");
    }
}
