//! Manifests in the format of mtree as sources: what of them ends up in an image, and what is told of
//! those that are wrong.

mod support;

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use mkfatimg::Delivery;
use mkfatimg::event::{Observer, Stage};
use mkfatimg::sink::Output;
use mkfatimg::source::{Place, Sources};
use mkfatimg::verify::Depth;
use support::{
    Expect, Ran, TREE_SECONDS, Tool, TreeBuilder, Workplace, assert_sound, invariants, make_fifo,
    request, set_time,
};

/// A folder with contents in `out`, and `expected`: what the image should hold.
struct Scene {
    place: Workplace,
    contents: TreeBuilder,
    expected: TreeBuilder,
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
        let contents = TreeBuilder::new(place.path("out"));
        let expected = TreeBuilder::new(place.path("expected"));
        Self { place, contents, expected }
    }

    /// A manifest `name` of these lines, as old as everything else.
    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> &Self {
        fs::write(self.path(name), text).unwrap();
        set_time(&self.path(name), TREE_SECONDS);
        self
    }

    /// Builds, reads all of it back, and expects these notices.
    fn build(&self, arguments: &[&str], notices: &[&str]) {
        let ran = self.run(&[arguments, &["--verify", "-v", "out.img"]].concat());
        assert_eq!(ran.status, Some(0), "{}", ran.stderr);
        let noted = ran.stderr.lines().filter_map(|line| line.strip_prefix("mkfatimg: note: "));
        let noted: Vec<&str> = noted.filter(|line| !line.ends_with("no place for them")).collect();
        assert_eq!(noted, notices);
        assert_sound(&self.path("out.img"), &Expect::default());
    }

    /// As [`Scene::build`], and expects an image that holds `expected`, times too.
    fn holds(&self, arguments: &[&str], notices: &[&str]) {
        self.build(arguments, notices);
        self.expected.settle();
        let source = Some(self.path("expected"));
        let expect = Expect { source, times: true, ..Expect::default() };
        assert_sound(&self.path("out.img"), &expect);
    }

    /// Expects a refusal with exactly these lines, and no image.
    fn refused(&self, arguments: &[&str], lines: &[&str]) {
        let ran = self.run(&[arguments, &["out.img"]].concat());
        assert_eq!(told(&ran), lines);
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(4), ""));
        assert!(!self.path("out.img").exists());
    }

    /// When the paths of the image that was built last were written, in seconds since 1970.
    fn stamps(&self, paths: &[&str]) -> Vec<u64> {
        let volume = invariants::read(&self.path("out.img"), 0).unwrap();
        let stamp = |path: &&str| volume.find(path).unwrap().written.seconds().unwrap();
        paths.iter().map(stamp).collect()
    }
}

fn told(ran: &Ran) -> Vec<&str> {
    ran.stderr.lines().map(|line| line.strip_prefix("mkfatimg: ").unwrap_or(line)).collect()
}

const FROM: [&str; 2] = ["--from", "files.mtree"];

#[test]
fn files_come_from_where_the_manifest_says() {
    let scene = Scene::new();
    scene
        .contents
        .file("vmlinuz-6.1", "kernel")
        .filled("initrd", 300_000)
        .file("empty", "")
        .settle();
    let text = "#mtree\n\
                ./boot type=dir mode=0755 uid=0\n\
                ./boot/vmlinuz type=file contents=out/vmlinuz-6.1 size=6\n\
                ./boot/initrd.img type=file contents=./out/initrd\n\
                # neither directory is named by a line\n\
                ./EFI/BOOT/BOOTX64.EFI contents=out/vmlinuz-6.1\n\
                ./a\\040name/gr\\303\\266\\303\\237e type=file contents=out/empty\n\
                ./none type=dir\n";
    scene
        .expected
        .file("boot/vmlinuz", "kernel")
        .filled("boot/initrd.img", 300_000)
        .file("EFI/BOOT/BOOTX64.EFI", "kernel")
        .file("a name/größe", "")
        .directory("none");
    scene.write("files.mtree", text).holds(&FROM, &[]);
}

#[test]
fn the_relative_form_goes_down_and_up() {
    let scene = Scene::new();
    scene.contents.file("a", "first").file("b", "second").settle();
    let text = "#mtree v1.0\n\
                /set type=file uid=0 gid=0 mode=0644 nlink=1\n\
                .               type=dir nlink=3\n\
                \tboot          type=dir\n\
                \t    grub      type=dir\n\
                \t        cfg   contents=out/a\n\
                \t    ..\n\
                \t    kernel    contents=out/b\n\
                \t..\n\
                \treadme        contents=out/a\n\
                ..\n";
    let expected = &scene.expected;
    expected.file("boot/grub/cfg", "first").file("boot/kernel", "second").file("readme", "first");
    scene.write("files.mtree", text).holds(&FROM, &[]);
}

#[test]
fn without_contents_a_file_lies_at_its_own_path() {
    let scene = Scene::new();
    scene.contents.file("a b", "here").settle();
    scene.expected.file("out/a b", "here");
    scene.write("files.mtree", "./out/a\\sb type=file\n").holds(&FROM, &[]);
}

#[test]
fn contents_may_be_given_by_an_absolute_path_and_by_links() {
    let scene = Scene::new();
    scene.contents.file("real/file", "contents").link("real", "link").link("link/file", "indirect");
    scene.contents.settle();
    let text = format!(
        "/set type=file\n./a contents={}\n./b contents=out/link/file\n./c contents=out/indirect\n\
         ./d contents=out/real/../real/file\n",
        scene.path("out/real/file").display()
    );
    for name in ["a", "b", "c", "d"] {
        scene.expected.file(name, "contents");
    }
    scene.write("files.mtree", text).holds(&FROM, &[]);
}

#[test]
fn a_manifest_is_known_by_its_name_or_its_first_bytes() {
    let scene = Scene::new();
    scene.contents.file("file", "x").settle();
    let text = "./file type=file contents=out/file\n";
    scene.expected.file("file", "x");
    scene.write("by-name.mtree", text).holds(&["--from", "by-name.mtree"], &[]);
    scene.write("by-text", format!("#mtree\n{text}")).holds(&["--from", "by-text"], &[]);
    // Editors of Windows put a mark before the text.
    for (name, beginning) in [("marked", "\u{FEFF}#mtree v2\r\n"), ("marked.mtree", "\u{FEFF}")] {
        scene.write(name, format!("{beginning}{text}")).holds(&["--from", name], &[]);
    }
    fs::remove_file(scene.path("out.img")).unwrap();
    let unknown = "list: is a file, not a directory; say where it goes: --from list:/list; a manifest begins with \
                   #mtree or is named *.mtree";
    scene.write("list", text).refused(&["--from", "list"], &[unknown]);
    // With a place a file is a file, and a directory is one whatever its name.
    fs::remove_file(scene.path("expected/file")).unwrap();
    TreeBuilder::new(scene.path("folder.mtree")).file("inside", "y").settle();
    scene.expected.file("lists/by-name.mtree", text).file("inside", "y");
    scene.holds(&["--from", "by-name.mtree:/lists/", "--from", "folder.mtree"], &[]);
}

#[test]
fn an_empty_manifest_is_an_empty_image() {
    let scene = Scene::new();
    for text in ["", "#mtree", "#mtree\n\n# nothing\n/set type=file\n", ". type=dir\n..\n"] {
        scene.write("files.mtree", text).holds(&FROM, &[]);
    }
}

#[test]
fn times_are_those_of_the_manifest_or_else_of_the_contents() {
    let scene = Scene::new();
    scene.contents.file("file", "x").directory("dir").settle();
    set_time(&scene.path("out/file"), 1_600_000_000);
    set_time(&scene.path("out/dir"), 1_500_000_000);
    let text = "#mtree\n\
                ./given/file contents=out/file time=1400000000.999999999\n\
                ./own/file contents=out/file\n\
                ./dir-given type=dir time=1300000001\n\
                ./dir-like type=dir contents=out/dir\n\
                ./dir-both type=dir contents=out/dir time=1300000000\n\
                ./dir-alone type=dir\n\
                ./later/file contents=out/file time=1200000000\n\
                ./later type=dir time=1100000000.1\n\
                ./later/other contents=out/file\n";
    scene.write("files.mtree", text).build(&FROM, &[]);
    let paths = [
        "/given/file",
        "/given",
        "/own/file",
        "/own",
        "/dir-given",
        "/dir-like",
        "/dir-both",
        "/dir-alone",
        "/later/file",
        "/later",
        "/later/other",
    ];
    let found = [
        1_400_000_000,
        1_400_000_000,
        1_600_000_000,
        1_600_000_000,
        1_300_000_000,
        1_500_000_000,
        1_300_000_000,
        TREE_SECONDS,
        1_200_000_000,
        1_100_000_000,
        1_600_000_000,
    ];
    assert_eq!(scene.stamps(&paths), found);
    scene.build(&["--from", "files.mtree", "--mtime", "@1000000000"], &[]);
    assert_eq!(scene.stamps(&paths), [1_000_000_000; 11]);
}

#[test]
fn times_outside_the_range_are_told_with_their_line() {
    let scene = Scene::new();
    scene.contents.file("file", "x").settle();
    scene.write("files.mtree", "\n./old contents=out/file time=-5.1\n");
    scene.build(&FROM, &["files.mtree:2: old: time moved to 1980"]);
}

#[test]
fn what_is_optional_may_be_missing() {
    let scene = Scene::new();
    scene.contents.file("file", "x").settle();
    let text = "./there contents=out/file optional\n\
                ./not/there contents=out/nothing optional\n\
                ./under contents=out/file/x optional\n\
                ./dangling contents=out/link optional\n\
                ./like type=dir contents=out/nothing optional\n\
                ./own type=file optional\n";
    symlink("nowhere", scene.path("out/link")).unwrap();
    scene.expected.file("there", "x");
    let notices = [
        "files.mtree:2: not/there: optional, and left out: there is no out/nothing",
        "files.mtree:3: under: optional, and left out: there is no out/file/x",
        "files.mtree:4: dangling: optional, and left out: there is no out/link",
        "files.mtree:5: like: optional, and left out: there is no out/nothing",
        "files.mtree:6: own: optional, and left out: there is no own",
    ];
    scene.write("files.mtree", text).holds(&FROM, &notices);
    let ran = scene
        .write("files.mtree", "\n".repeat(8) + "./a type=file optional\n./b type=file optional\n")
        .run(&["--from", "files.mtree", "out.img"]);
    let first = "note: 2 optional entries of a manifest left out, the first: files.mtree:9: a: optional, and left out: \
                 there is no a (all with -v)";
    assert_eq!(told(&ran)[0], first);
}

#[test]
fn all_faults_are_told_at_once_in_the_order_of_the_lines() {
    let scene = Scene::new();
    scene.contents.file("file", "12345").directory("dir").settle();
    make_fifo(&scene.path("out/fifo"));
    symlink("loop", scene.path("out/loop")).unwrap();
    let text = "#mtree\n\
                ./boot/vmlinuz type=file contents=out/vmlinuz\n\
                ./size contents=out/file size=4\n\
                ./no-type\n\
                ./dir contents=out/dir\n\
                ./fifo contents=out/fifo optional\n\
                ./like type=dir contents=out/file\n\
                ./../up type=file\n\
                ./under contents=out/file/x\n\
                ./loop contents=out/loop optional\n\
                ./esc\\q type=file\n\
                ./own type=file\n\
                ./bad\x1b[2J type=file\n\
                ./fine contents=out/file size=5\n";
    let lines = [
        "files.mtree:2: boot/vmlinuz: contents out/vmlinuz: no such file or directory; contents=, or without it the entry's own path, begins at the working directory; optional leaves out what is missing",
        "files.mtree:3: size: contents out/file: is 5 bytes long, not 4 as size= says",
        "files.mtree:4: has no type; add type=file or type=dir",
        "files.mtree:5: dir: contents out/dir: is a directory, not a file",
        "files.mtree:6: fifo: contents out/fifo: is a FIFO, not a file",
        "files.mtree:7: like: contents out/file: is a file, not a directory",
        "files.mtree:8: ./../up holds .., which a path of a manifest cannot",
        "files.mtree:9: under: contents out/file/x: not a directory",
        "files.mtree:10: loop: contents out/loop: too many levels of symbolic links",
        "files.mtree:11: \\q is no escape of mtree; write \\\\ for a backslash and \\s for a blank",
        "files.mtree:12: own: contents own: no such file or directory; contents=, or without it the entry's own path, begins at the working directory; optional leaves out what is missing",
        "files.mtree:13: holds the control character 0x1b; write it as \\033",
        "no image was written: 12 problems",
    ];
    scene.write("files.mtree", text).refused(&FROM, &lines);
}

#[test]
fn a_manifest_that_may_not_be_read_is_refused() {
    let scene = Scene::new();
    scene.refused(&FROM, &["files.mtree: cannot be read: no such file or directory"]);
    make_fifo(&scene.path("fifo.mtree"));
    let line =
        "fifo.mtree: is a FIFO; a source is a directory or a file, and a manifest has to be a file";
    scene.refused(&["--from", "fifo.mtree"], &[line]);
}

#[test]
fn contents_that_may_not_be_read_are_told() {
    let scene = Scene::new();
    scene.contents.file("secret", "x").settle();
    scene.write("files.mtree", "./file contents=out/secret optional\n");
    fs::set_permissions(scene.path("out/secret"), Permissions::from_mode(0o000)).unwrap();
    fs::set_permissions(scene.folder.path(), Permissions::from_mode(0o777)).unwrap();
    let ran: Ran = if fs::metadata("/proc/self").unwrap().uid() == 0 {
        let Some(setpriv) = Tool::find("setpriv") else { return };
        // The build folder may be closed to others.
        fs::copy(env!("CARGO_BIN_EXE_mkfatimg"), scene.path("mkfatimg")).unwrap();
        let mut command = setpriv.command();
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]);
        command.arg(scene.path("mkfatimg")).args(FROM).arg("out.img");
        command.current_dir(scene.folder.path()).output().unwrap().into()
    } else {
        scene.run(&["--from", "files.mtree", "out.img"])
    };
    let line = "files.mtree:1: file: contents out/secret: permission denied";
    assert_eq!((told(&ran), ran.status), (vec![line], Some(4)));
}

#[test]
fn links_and_special_files_are_refused_or_left_out() {
    let scene = Scene::new();
    let text = "./link type=link link=else\\040where\n./null type=char device=linux,1,3\n\
                ./disk type=block\n./pipe type=fifo\n./sock type=socket\n./kept type=dir\n";
    let lines = [
        "files.mtree:1: link: is a symbolic link, which FAT cannot hold; list what it leads to with type=file and \
         contents=, or leave links out with --symlinks skip",
        "files.mtree:2: null: is a character device, which FAT cannot hold; remove it, or leave such out with \
         --special skip",
        "files.mtree:3: disk: is a block device, which FAT cannot hold; remove it, or leave such out with --special \
         skip",
        "files.mtree:4: pipe: is a FIFO, which FAT cannot hold; remove it, or leave such out with --special skip",
        "files.mtree:5: sock: is a socket, which FAT cannot hold; remove it, or leave such out with --special skip",
        "no image was written: 5 problems, among them 4 special files; for these add --special skip",
    ];
    scene.write("files.mtree", text).refused(&FROM, &lines);
    scene.expected.directory("kept");
    let notices = [
        "files.mtree:1: link: symbolic link left out",
        "files.mtree:2: null: character device left out",
        "files.mtree:3: disk: block device left out",
        "files.mtree:4: pipe: FIFO left out",
        "files.mtree:5: sock: socket left out",
    ];
    scene.holds(&[&FROM[..], &["--symlinks", "skip", "--special", "skip"]].concat(), &notices);
}

#[test]
fn keywords_that_are_not_used_are_told_once() {
    let scene = Scene::new();
    scene.contents.file("file", "x").settle();
    let text = "/set type=file uid=0 gname=wheel flags=none sha256=00\n\
                ./a contents=out/file md5=00 colour=red tags=package=base\n\
                ./b contents=out/file md5=11 colour=blue nochange\n";
    scene.expected.file("a", "x").file("b", "x");
    let notices = [
        "files.mtree:1: sha256 is not compared with the file",
        "files.mtree:2: keyword colour is not known and says nothing here",
        "files.mtree:2: md5 is not compared with the file",
    ];
    scene.write("files.mtree", text);
    let ran = scene.run(&["--from", "files.mtree", "-q", "out.img"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""));
    scene.holds(&FROM, &notices);
}

#[test]
fn patterns_leave_out_entries_and_what_lies_in_them() {
    let scene = Scene::new();
    scene.contents.file("file", "x").settle();
    let text = "/set type=file\n./boot/a.bak contents=missing\n./boot/b contents=out/file\n./old/deep/c\n\
                ./old type=dir\n./old.d contents=out/file\n";
    scene.expected.file("boot/b", "x").file("old.d", "x");
    let notices = [
        "--exclude b/: matched nothing",
        "files.mtree:2: boot/a.bak: left out by --exclude *.bak",
        "files.mtree:4: old/deep/c: left out by --exclude old/",
        "files.mtree:5: old: left out by --exclude old/",
    ];
    let arguments = ["--exclude", "*.bak", "--exclude", "old/", "--exclude", "b/"];
    scene.write("files.mtree", text).holds(&[&FROM[..], &arguments].concat(), &notices);
}

#[test]
fn a_mode_says_instead_of_the_files_own_who_may_write_it() {
    const READ_ONLY: u8 = 0x01;
    let scene = Scene::new();
    scene.contents.file("open", "x").file("closed", "x").settle();
    fs::set_permissions(scene.path("out/closed"), Permissions::from_mode(0o444)).unwrap();
    let text = "./a contents=out/open\n./b contents=out/closed\n./c contents=out/open mode=0444\n\
                ./d contents=out/closed mode=644\n./e type=dir mode=0555\n";
    scene.write("files.mtree", text);
    let read_only = || -> Vec<String> {
        let volume = invariants::read(&scene.path("out.img"), 0).unwrap();
        let marked = volume.entries.iter().filter(|entry| entry.attributes & READ_ONLY != 0);
        marked.map(|entry| volume.path(entry)).collect()
    };
    scene.build(&FROM, &[]);
    assert_eq!(read_only(), [""; 0]);
    scene.build(&[&FROM[..], &["--keep-readonly"]].concat(), &[]);
    assert_eq!(read_only(), ["/b", "/c"]);
}

#[test]
fn an_image_depends_on_the_manifest_and_the_contents_as_they_are_named() {
    let scene = Scene::new();
    scene.contents.file("real/file", "x").link("real/file", "link").directory("dir").settle();
    let text = "./a contents=out/real/file\n./b contents=out/link\n./c type=dir contents=out/dir\n";
    scene.write("files.mtree", text).build(&[&FROM[..], &["--depfile", "out.d"]].concat(), &[]);
    let rule = "out.img: \\\n files.mtree \\\n out/dir \\\n out/link \\\n out/real/file\n\n";
    let written = fs::read_to_string(scene.path("out.d")).unwrap();
    assert!(written.starts_with(rule), "{written}");
}

#[test]
fn two_lines_for_one_file_refuse_each_other() {
    let scene = Scene::new();
    scene.contents.file("a", "first").file("b", "second").settle();
    let text = "./x/file contents=out/a\n./x type=dir\n./x/../x type=dir\n./x//file contents=out/b\n\
                ./x/file type=dir\n./x contents=out/a\n./x/file/below contents=out/a\n";
    let lines = [
        "files.mtree:3: ./x/../x holds .., which a path of a manifest cannot",
        "files.mtree:4: x/file: comes to the same place as files.mtree:1: x/file; rename one, or let the later source \
         win with --overlay",
        "files.mtree:5: x/file: comes to the same place as files.mtree:1: x/file, and only one of them is a directory; \
         rename one",
        "files.mtree:6: x: comes to the same place as files.mtree:1: x, and only one of them is a directory; rename \
         one",
        "files.mtree:7: x/file: comes to the same place as files.mtree:1: x/file, and only one of them is a directory; \
         rename one",
        "no image was written: 5 problems, among them 1 file of two sources; for these add --overlay",
    ];
    scene.write("files.mtree", text).refused(&FROM, &lines);
    let text = "./x/file contents=out/a\n./x type=dir\n./x type=dir\n./x/file contents=out/b\n";
    scene.expected.file("x/file", "second");
    let notices = ["files.mtree:4: x/file: takes the place of an earlier source's file"];
    scene.write("files.mtree", text).holds(&["--overlay", "--from", "files.mtree"], &notices);
}

#[test]
fn manifests_and_directories_lie_over_each_other() {
    let scene = Scene::new();
    scene.contents.file("new", "new").settle();
    let root = TreeBuilder::new(scene.path("rootfs"));
    root.file("etc/hosts", "hosts")
        .file("etc/deep/old", "old")
        .file("boot/kernel", "old kernel")
        .settle();
    scene.write("one.mtree", "./etc/deep type=dir\n./etc/deep/new contents=out/new\n");
    scene.write("two.mtree", "./boot/kernel contents=out/new\n./etc/more/new contents=out/new\n");
    let lines = [
        "two.mtree:1: boot/kernel: comes to the same place as rootfs/boot/kernel; rename one, or let the later source \
         win with --overlay",
    ];
    let sources = ["--from", "rootfs", "--from", "one.mtree", "--from", "two.mtree"];
    scene.refused(&sources, &lines);
    let lines = [
        "rootfs/boot/kernel: comes to the same place as two.mtree:1: boot/kernel; rename one, or let the later source \
         win with --overlay",
    ];
    scene.refused(&["--from", "two.mtree", "--from", "one.mtree", "--from", "rootfs"], &lines);
    scene
        .expected
        .file("etc/hosts", "hosts")
        .file("etc/deep/old", "old")
        .file("etc/deep/new", "new")
        .file("etc/more/new", "new")
        .file("boot/kernel", "new");
    let notices = ["two.mtree:1: boot/kernel: takes the place of an earlier source's file"];
    scene.holds(&[&sources[..], &["--overlay"]].concat(), &notices);
    scene.expected.file("boot/kernel", "old kernel");
    let notices = ["rootfs/boot/kernel: takes the place of an earlier source's file"];
    let sources = ["--from", "two.mtree", "--from", "one.mtree", "--from", "rootfs", "--overlay"];
    scene.holds(&sources, &notices);
}

#[test]
fn the_later_source_of_a_directory_gives_its_time() {
    let scene = Scene::new();
    TreeBuilder::new(scene.path("rootfs")).directory("dir").settle();
    scene.write("files.mtree", "./dir type=dir time=1500000000\n");
    scene.build(&["--from", "rootfs", "--from", "files.mtree"], &[]);
    assert_eq!(scene.stamps(&["/dir"]), [1_500_000_000]);
    scene.build(&["--from", "files.mtree", "--from", "rootfs"], &[]);
    assert_eq!(scene.stamps(&["/dir"]), [TREE_SECONDS]);
}

#[test]
fn names_that_fat_cannot_hold_are_told_with_their_line() {
    let scene = Scene::new();
    scene.contents.file("file", "x").settle();
    let text = "/set type=file contents=out/file\n./boot/a:b\n./boot/Readme\n./boot/README\n./not\\377unicode\n\
                ./dir./x\n";
    let lines = [
        "files.mtree:6: dir.: name ends with a dot, which readers of FAT drop; rename it, or use --invalid-names \
         replace or skip",
        "files.mtree:5: not\\xffunicode: name is not valid UTF-8 and has no form in FAT; rename it, or use \
         --invalid-names replace or skip",
        "files.mtree:2: boot/a:b: name holds ':', which FAT forbids; rename it, or use --invalid-names replace or skip",
        "files.mtree:3: boot/Readme: has the same name as files.mtree:4: boot/README for FAT, which ignores case and \
         normalisation; rename one, or use --clash rename or skip",
        "no image was written: 4 problems: 3 names that FAT cannot hold, 1 clash of names; to build all the same add \
         --invalid-names replace --clash rename",
    ];
    scene.write("files.mtree", text).refused(&FROM, &lines);
    let policies = ["--invalid-names", "replace", "--clash", "rename"];
    let ran = scene.run(&[&FROM[..], &policies, &["--verify", "out.img"]].concat());
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    assert_sound(&scene.path("out.img"), &Expect::default());
}

#[test]
fn outputs_of_the_build_are_no_contents_of_it() {
    let scene = Scene::new();
    scene.contents.file("file", "x").settle();
    scene.write("files.mtree", "./file contents=out/file\n./a/b contents=out/link optional\n");
    let tail = "is a source and an output as well; name another file for the output";
    for target in ["out/file", "one.bin"] {
        symlink(scene.path(target), scene.path("out/link")).unwrap();
        scene.write(target, "precious");
        let refused = |arguments: &[&str], lines: &[String]| {
            let ran = scene.run(arguments);
            assert_eq!(
                (told(&ran), ran.status),
                (lines.iter().map(String::as_str).collect(), Some(4))
            );
            assert_eq!(fs::read_to_string(scene.path(target)).unwrap(), "precious");
        };
        let by_link = format!("files.mtree:2: a/b: contents out/link: {tail}");
        let lines = match target {
            "out/file" => vec![
                format!("files.mtree:1: file: contents out/file: {tail}"),
                by_link,
                "no image was written: 2 problems".to_owned(),
            ],
            _ => vec![by_link],
        };
        refused(&["--from", "files.mtree", target], &lines);
        for flag in ["--map", "--bmap", "--depfile"] {
            refused(&["--from", "files.mtree", flag, target, "out.img"], &lines);
            let line = format!("{target}: {tail}");
            let given = format!("{target}:/boot/");
            refused(&["--from", &given, flag, target, "out.img"], &[line]);
            assert!(!scene.path("out.img").exists());
        }
        fs::remove_file(scene.path("out/link")).unwrap();
    }
    let ran = scene.run(&["--from", "files.mtree", "files.mtree"]);
    assert_eq!((told(&ran), ran.status), (vec![&*format!("files.mtree: {tail}")], Some(4)));
}

/// Nor do single files.
#[test]
fn what_is_left_out_makes_no_directories() {
    let scene = Scene::new();
    scene.contents.file("file", "x").settle();
    make_fifo(&scene.path("fifo"));
    let text = "/set type=file\n./a/b/missing contents=none optional\n./c/d/x.bak contents=out/file\n\
                ./e/f/pipe type=fifo\n./g/link type=link\n./h/dir type=dir contents=none optional\n\
                ./i.bak/j/file contents=out/file\n./kept contents=out/file\n";
    let sources =
        ["--from", "files.mtree", "--from", "out/file:/k/x.bak", "--from", "fifo:/l/pipe"];
    let policies = ["--exclude", "*.bak", "--special", "skip", "--symlinks", "skip"];
    scene.expected.file("kept", "x");
    let notices = [
        "fifo:/l/pipe: FIFO left out",
        "files.mtree:2: a/b/missing: optional, and left out: there is no none",
        "files.mtree:3: c/d/x.bak: left out by --exclude *.bak",
        "files.mtree:4: e/f/pipe: FIFO left out",
        "files.mtree:5: g/link: symbolic link left out",
        "files.mtree:6: h/dir: optional, and left out: there is no none",
        "files.mtree:7: i.bak/j/file: left out by --exclude *.bak",
        "out/file:/k/x.bak: left out by --exclude *.bak",
    ];
    scene.write("files.mtree", text).holds(&[&sources[..], &policies].concat(), &notices);
}

/// Changes a file when the first bytes are written.
struct Meddler<'a> {
    change: &'a (dyn Fn() + Sync),
    armed: AtomicBool,
}

impl Observer for Meddler<'_> {
    fn stage(&self, stage: Stage) {
        self.armed.store(matches!(stage, Stage::Write { .. }), Ordering::Relaxed);
    }

    fn advance(&self, _: u64) {
        if self.armed.swap(false, Ordering::Relaxed) {
            (self.change)();
        }
    }
}

#[test]
fn contents_that_change_during_the_build_are_told_whatever_their_time_in_the_manifest() {
    let scene = Scene::new();
    let contents = scene.contents.root().canonicalize().unwrap();
    let text = format!(
        "./early contents={0}/early time=5\n./late contents={0}/late time=1500000000\n",
        contents.display()
    );
    scene.contents.filled("early", 3 << 20).filled("late", 100_000).settle();
    scene.write("files.mtree", text);
    let places = vec![Place { path: scene.path("files.mtree"), destination: Vec::new() }];
    let sources = Sources { places, ..Sources::default() };
    let request = mkfatimg::Request { sources, ..request(&PathBuf::new()) };
    let output = Output::at(&scene.path("out.img")).unwrap();
    let delivery = Delivery::of(output, Depth::Contents);
    let late = contents.join("late");
    let again = "while the image was built; build again when nothing changes the source";
    let changes: [(&(dyn Fn() + Sync), &str); 3] = [
        (&|| set_time(&late, 1_500_000_000), "changed"),
        (&|| fs::write(&late, "short").unwrap(), "shrank from 100000 to 5 bytes"),
        (&|| fs::remove_file(&late).unwrap(), "vanished"),
    ];
    for (change, what) in changes {
        scene.contents.filled("late", 100_000).settle();
        let meddler = Meddler { change, armed: AtomicBool::new(false) };
        let error = mkfatimg::build(&request, &delivery, &meddler).unwrap_err();
        assert_eq!(error.to_string(), format!("{}: {what} {again}", late.display()));
        assert!(!scene.path("out.img").exists());
    }
    mkfatimg::build(&request, &delivery, &()).unwrap_err();
    scene.contents.filled("late", 100_000).settle();
    mkfatimg::build(&request, &delivery, &()).unwrap();
}

#[test]
fn a_manifest_made_by_bsdtar_gives_the_same_image_as_its_tree() {
    let Some(bsdtar) = Tool::find("bsdtar") else { return };
    let scene = Scene::new();
    let tree = TreeBuilder::new(scene.path("tree"));
    tree.file("boot/vmlinuz", "kernel")
        .filled("boot/grub/fonts/unicode.pf2", 70_000)
        .file("a b/#x=y,z[1]{2}'$&;~ü€😀", "odd names")
        .file("empty", "")
        .directory("none/at all")
        .settle();
    set_time(&scene.path("tree/boot/vmlinuz"), 1_600_000_000);
    let options = ["", "--options=all", "--options=!all,type,time,size"];
    for options in options {
        let mut command = bsdtar.command();
        command.args(["-cf", "../tree.mtree", "--format=mtree"]).current_dir(tree.root());
        command.args(Some(options).filter(|options| !options.is_empty())).arg(".");
        assert!(command.status().unwrap().success(), "{options}");
        // Its paths are relative to the tree.
        let arguments = ["--from", "../tree.mtree", "--volume-id", "random", "-q", "../out.img"];
        let ran: Ran = scene.command(&arguments).current_dir(tree.root()).output().unwrap().into();
        assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""), "{options}");
        let expect = Expect { source: Some(scene.path("tree")), times: true, ..Expect::default() };
        assert_sound(&scene.path("out.img"), &expect);
    }
    // With the names sorted alike it is the same image to the byte.
    let arguments = ["--from", "../tree.mtree", "../by-manifest.img"];
    let ran: Ran = scene.command(&arguments).current_dir(tree.root()).output().unwrap().into();
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    assert_eq!(scene.run(&["--from", "tree", "by-tree.img"]).status, Some(0));
    let image = |name| fs::read(scene.path(name)).unwrap();
    assert!(image("by-manifest.img") == image("by-tree.img"), "the images differ");
}

/// The first block of `docs/manifest.md` that begins so.
fn documented(beginning: &str) -> String {
    let document = include_str!("../docs/manifest.md");
    let mut blocks = document.split("```\n");
    blocks.find(|block| block.starts_with(beginning)).unwrap().to_owned()
}

#[test]
fn the_example_of_the_documentation_is_an_image() {
    let scene = Scene::new();
    let manifest = documented("#mtree");
    let root = TreeBuilder::new(scene.folder.path());
    for contents in manifest.split("contents=").skip(1) {
        root.file(contents.split_whitespace().next().unwrap(), "x");
    }
    scene.write("esp.mtree", &manifest).build(&["--from", "esp.mtree"], &[]);
    let stamps = scene.stamps(&["/EFI/BOOT/BOOTX64.EFI", "/loader/entries", "/loader/loader.conf"]);
    assert_eq!(stamps[1..], [1_700_000_000; 2]);
    fs::remove_file(scene.path("art/splash.bmp")).unwrap();
    let notice =
        "esp.mtree:5: loader/splash.bmp: optional, and left out: there is no art/splash.bmp";
    scene.build(&["--from", "esp.mtree"], &[notice]);
    fs::remove_file(scene.path("out.img")).unwrap();
    let faults = documented("mkfatimg: ");
    let faults: Vec<&str> =
        faults.lines().map(|line| line.strip_prefix("mkfatimg: ").unwrap()).collect();
    let wrong = "#mtree\n./EFI/BOOT/BOOTX64.EFI type=file contents=boot.efi\n\n\n./loader\n";
    let summary = "no image was written: 2 problems";
    scene.write("esp.mtree", wrong);
    scene.refused(&["--from", "esp.mtree"], &[&faults[..], &[summary]].concat());
}

#[test]
fn what_is_no_manifest_ends_in_a_message() {
    let scene = Scene::new();
    let nul = "files.mtree:1: holds a NUL byte, so that this is no mtree manifest";
    scene.write("files.mtree", fs::read("/proc/self/exe").unwrap()).refused(&FROM, &[nul]);
    let long = "files.mtree:1: is longer than 65536 bytes";
    scene.write("files.mtree", "a".repeat(1 << 20)).refused(&FROM, &[long]);
    scene.write("files.mtree", "a \\\n".repeat(1 << 18)).refused(&FROM, &[long]);
    let climbs =
        "files.mtree:1: ./../../../../etc/passwd holds .., which a path of a manifest cannot";
    scene.write("files.mtree", "./../../../../etc/passwd type=file\n").refused(&FROM, &[climbs]);
    let ran =
        scene.write("files.mtree", "..\n".repeat(1000)).run(&["--from", "files.mtree", "out.img"]);
    assert_eq!((ran.status, told(&ran).len()), (Some(4), 1001));
    // Every directory in the one before, until its path is too long.
    let deep = "d type=dir\n".repeat(100_000);
    let ran = scene.write("files.mtree", deep).run(&["--from", "files.mtree", "out.img"]);
    let first = "files.mtree:2049: gives a path of more than 4095 bytes";
    assert_eq!((ran.status, told(&ran)), (Some(4), vec![first]));
}

#[test]
fn many_lines_are_one_image() {
    let scene = Scene::new();
    scene.contents.file("file", "x").settle();
    let line = |n: u32| format!("./d{}/f{n} contents=out/file time=1700000000.5\n", n % 97);
    let text: String = (0..50_000).map(line).collect();
    scene.write("files.mtree", text);
    let ran = scene.run(&["--from", "files.mtree", "--dry-run", "--json"]);
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["contents"]["files"], 50_000);
    assert_eq!(report["contents"]["directories"], 97);
}
