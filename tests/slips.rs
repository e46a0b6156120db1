//! Slips of the command line: after the parser's own message one line with the command to type, which
//! does what was meant when it is pasted into a shell.

use std::fs;

use serde_json::json;

mod support;

use support::{Expect, Ran, Tool, TreeBuilder, Workplace, assert_sound, search_path};

/// A folder with sources `src` and `my files`.
fn place() -> Workplace {
    let place = Workplace::new();
    TreeBuilder::new(place.path("src")).file("a.txt", "a").settle();
    TreeBuilder::new(place.path("my files")).file("b.txt", "b").settle();
    place
}

/// The line that follows the parser's message, without the name of the command.
fn answer(ran: &Ran) -> Option<&str> {
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(2), ""), "{}", ran.stderr);
    assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
    let mut lines = ran.stderr.lines().filter_map(|line| line.strip_prefix("mkfatimg: "));
    let found = lines.next();
    assert_eq!(lines.next(), None, "{}", ran.stderr);
    found
}

#[test]
fn a_slip_is_answered_with_the_command_to_paste() {
    let place = place();
    let Some(shell) = Tool::find("sh") else { return };
    let path = search_path::beginning_with(&[search_path::of_program()]);
    for (typed, command) in [
        (&["src", "out.img"][..], "--from src out.img"),
        (&["out.img", "src"], "--from src out.img"),
        (&["my files", "out.img"], "--from 'my files' out.img"),
        (&["--rootdir", "src", "--output=out.img"], "--from src out.img"),
        (&["--from", "src", "--size", "5", "M", "out.img"], "--from src --size 5M out.img"),
        (&["--from", "src", "my files", "out.img"], "--from src --from 'my files' out.img"),
        (
            &["-t", "msdos", "-o", "fat_type=32", "-s", "40m", "out.img", "src"],
            "--fat-type 32 --size 40m --from src out.img",
        ),
        (
            &["-C", "-F", "16", "-n", "IT'S", "out.img", "16384", "src"],
            "--fat-type 16 --label 'IT'\\''S' --size 16384K --from src out.img",
        ),
    ] {
        let ran = place.run(typed);
        let answer = answer(&ran).unwrap_or_else(|| panic!("{typed:?}: {}", ran.stderr));
        assert_eq!(answer, format!("did you mean: mkfatimg {command}"), "{typed:?}");
        assert!(!place.path("out.img").exists(), "{typed:?}");

        let pasted = answer.strip_prefix("did you mean: ").unwrap();
        let mut shell = shell.command();
        shell.current_dir(place.folder.path()).env("PATH", &path).args(["-c", pasted]);
        let ran: Ran = shell.output().unwrap().into();
        assert_eq!(ran.status, Some(0), "{pasted}: {}", ran.stderr);
        assert_sound(&place.path("out.img"), &Expect::default());
        fs::remove_file(place.path("out.img")).unwrap();
    }
}

/// A disk, a file that is no image and an image stay what they are.
#[test]
fn nothing_is_written_over_that_was_not_meant_as_output() {
    let place = place();
    fs::write(place.path("vmlinuz"), "a kernel").unwrap();
    fs::write(place.path("initrd.img"), "more").unwrap();
    let disk = [&[0; 510][..], &[0x55, 0xAA]].concat();
    fs::write(place.path("disk.img"), &disk).unwrap();
    fs::write(place.path("blank.img"), [0; 4096]).unwrap();
    for (typed, last) in [
        (
            &["--from", "src", "--offset", "2048", "disk.img"][..],
            "--offset: --into IMAGE@BYTE replaces the volume that begins there in a disk image, and --partition-table makes a new disk around the volume",
        ),
        (
            &["src", "vmlinuz", "initrd.img"],
            "did you mean: mkfatimg --from src --from vmlinuz:/ --from initrd.img:/ OUT",
        ),
        (
            &["-i", "disk.img", "vmlinuz", "::/boot/"],
            "did you mean: mkfatimg --from vmlinuz:/boot/ OUT",
        ),
        (&["-i", "new.img", "-s", "src", "::/"], "did you mean: mkfatimg --from src:/src new.img"),
        (&["src", "blank.img"], "did you mean: mkfatimg --from src blank.img"),
        (&["src", "disk.img"], "did you mean: mkfatimg --from src disk.img"),
        // The parser takes these.
        (
            &["--from", "src", "--json", "r.json", "-q"],
            "did you mean: mkfatimg --from src --json -q OUT >r.json",
        ),
        (&["--from", "src", "::/"], "did you mean: mkfatimg --from src OUT"),
        (
            &["--from", "vmlinuz::/boot/", "new.img"],
            "did you mean: mkfatimg --from vmlinuz:/boot/ new.img",
        ),
    ] {
        let ran = place.run(typed);
        assert_eq!(ran.status, Some(2), "{typed:?}");
        let told = ran.stderr.lines().last().unwrap();
        assert_eq!(told, format!("mkfatimg: {last}"), "{typed:?}");
        assert!(!place.path("r.json").exists() && !place.path("::").exists());
    }
    assert_eq!(fs::read(place.path("disk.img")).unwrap(), disk);
    // Only the word behind --json, and only where nothing ends in a colon, is taken so.
    fs::create_dir(place.path("odd:")).unwrap();
    for typed in [
        &["--json", "--from", "src", "r.json"][..],
        &["--from", "odd::/boot", "two.img"],
        &["--from", "src", "./::x"],
    ] {
        let ran = place.run(typed);
        assert_eq!(ran.status, Some(0), "{typed:?}: {}", ran.stderr);
    }
}

/// The parser's near flags, usage and `--` are of no use to whoever is told what to type.
#[test]
fn an_answer_stands_behind_the_reason_alone() {
    let place = place();
    for (typed, told) in [
        (
            &["--from", "src", "--fat", "32", "out.img"][..],
            "error: unexpected argument '--fat' found\n\
             mkfatimg: did you mean: mkfatimg --from src --fat-type 32 out.img\n",
        ),
        (
            &["-c", "-o", "out.img", "src"],
            "error: unexpected argument '-c' found\n\
             mkfatimg: -c: nothing replaces it; image files have no bad blocks\n\
             mkfatimg: did you mean: mkfatimg --from src out.img\n",
        ),
        (
            &["-n", "X", "--rootdir=src"],
            "error: unexpected argument '-n' found\n\
             mkfatimg: did you mean: mkfatimg --label X --from src OUT\n",
        ),
        (
            &["-h", "2048", "--from", "src", "out.img"],
            "mkfatimg: -h shows the help and takes no value; sectors before the volume are --hidden-sectors 2048\n\
             mkfatimg: did you mean: mkfatimg --hidden-sectors 2048 --from src out.img\n",
        ),
    ] {
        let ran = place.run(typed);
        assert_eq!((ran.status, ran.stderr.as_str(), ran.stdout.as_str()), (Some(2), told, ""));
    }
    let ran = place.run(&["--from", "src", "-x", "out.img"]);
    assert!(ran.stderr.contains("Usage: ") && !ran.stderr.contains("tip: "), "{}", ran.stderr);
    for help in [&["-h"][..], &["-h", "src"], &["src", "-h", "--", "5"]] {
        assert_eq!(place.run(help).status, Some(0), "{help:?}");
    }
}

#[test]
fn names_that_a_terminal_cannot_show_are_quoted_by_number() {
    let place = place();
    let Some(shell) = Tool::find("bash") else { return };
    let name = "two\nlines' \u{1b}[2J";
    TreeBuilder::new(place.path(name)).file("c.txt", "c").settle();
    let ran = place.run(&[name, "out.img"]);
    let command = r"mkfatimg --from $'two\012lines\' \033[2J' out.img";
    assert_eq!(answer(&ran), Some(format!("did you mean: {command}").as_str()));
    let mut shell = shell.command();
    shell
        .current_dir(place.folder.path())
        .env("PATH", search_path::of_program())
        .args(["-c", command]);
    assert_eq!(shell.output().unwrap().status.code(), Some(0));
    assert_sound(&place.path("out.img"), &Expect::default());
}

#[test]
fn a_misspelt_flag_suggests_the_near_one_and_nothing_else() {
    let place = place();
    for (typed, meant) in [("--siez", "--size"), ("--lable", "--label"), ("--dryrun", "--dry-run")]
    {
        let ran = place.run(&["--from", "src", typed, "5G", "out.img"]);
        assert_eq!(answer(&ran), None, "{typed}");
        assert!(ran.stderr.starts_with(&format!("error: unexpected argument '{typed}' found\n")));
        let tip = format!("tip: a similar argument exists: '{meant}'");
        assert!(ran.stderr.contains(&tip), "{typed}: {}", ran.stderr);
    }
}

#[test]
fn what_is_no_slip_is_told_by_the_parser_alone() {
    let place = place();
    for typed in [
        &[][..],
        &["out.img"],
        &["--from", "src"],
        &["--from", "src", "one.img", "two.img"],
        &["--from", "src", "--size", "5X", "out.img"],
        &["--from", "src", "--size", "5X", "-o", "out.img"],
        &["--from", "src", "--compress", "zstd", "out.img"],
        &["--from", "src", "-q", "-v", "out.img"],
        &["verify", "out.img"],
        &["src", "my files"],
    ] {
        assert_eq!(answer(&place.run(typed)), None, "{typed:?}");
    }
}

#[test]
fn the_report_as_json_carries_the_command() {
    let place = place();
    let ran = place.run(&["src", "out.img", "--json"]);
    assert_eq!(ran.status, Some(2));
    let found: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let text =
        "unexpected argument 'out.img' found; did you mean: mkfatimg --from src --json out.img";
    assert_eq!(
        found["problems"],
        json!([{ "blame": "command line", "kind": "usage", "text": text }])
    );
}
