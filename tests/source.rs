//! What of a host's files ends up in an image: links, special files, unreadable entries, several
//! sources, holes and times.

mod support;

use std::fs::{self, File, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use support::{
    Expect, Ran, TREE_SECONDS, Tool, TreeBuilder, Workplace, assert_sound, invariants, make_fifo,
    mkfatimg, set_time,
};

const FAT_FIRST_SECONDS: u64 = 315_532_800;
const FAT_LAST_SECONDS: u64 = 4_354_819_198;
const YEAR_2200_SECONDS: u64 = 7_258_118_400;
const HANG: Duration = Duration::from_secs(30);

/// A folder with a source `src` and, beside it, `expected`: what the image should hold.
struct Scene {
    place: Workplace,
    source: TreeBuilder,
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
        let source = TreeBuilder::new(place.path("src"));
        let expected = TreeBuilder::new(place.path("expected"));
        Self { place, source, expected }
    }

    /// A further source, or any other folder beside `src`.
    fn beside(&self, name: &str) -> TreeBuilder {
        TreeBuilder::new(self.path(name))
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        ended(self.command(arguments))
    }

    /// Builds from `src` and expects an image that holds `expected`, and these notices.
    fn holds(&self, arguments: &[&str], notices: &[&str]) {
        let arguments = [&["--from", "src"], arguments].concat();
        self.holds_from(&arguments, notices);
    }

    /// As [`Scene::holds`] with the sources among the arguments.
    fn holds_from(&self, arguments: &[&str], notices: &[&str]) {
        let ran = self.run(&[arguments, &["out.img"]].concat());
        assert_eq!(ran.status, Some(0), "{}", ran.stderr);
        assert_eq!(noted(&ran), notices);
        let expect = Expect { source: Some(self.path("expected")), ..Expect::default() };
        assert_sound(&self.path("out.img"), &expect);
    }

    /// Builds from `src` and expects a refusal with exactly these lines.
    fn refused(&self, arguments: &[&str], lines: &[&str]) {
        let arguments = [&["--from", "src"], arguments].concat();
        self.refused_from(&arguments, lines);
    }

    /// As [`Scene::refused`] with the sources among the arguments.
    fn refused_from(&self, arguments: &[&str], lines: &[&str]) {
        let ran = self.run(&[arguments, &["out.img"]].concat());
        let told: Vec<&str> = ran.stderr.lines().collect();
        let wanted: Vec<String> = lines.iter().map(|line| format!("mkfatimg: {line}")).collect();
        assert_eq!(told, wanted);
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(4), ""));
        assert!(!self.path("out.img").exists());
    }
}

/// The notices of a run, without their common beginning.
fn noted(ran: &Ran) -> Vec<&str> {
    ran.stderr.lines().filter_map(|line| line.strip_prefix("mkfatimg: note: ")).collect()
}

/// Runs to the end; a run that waits for ever, say for a FIFO's writer, fails the test.
fn ended(mut command: Command) -> Ran {
    let stdout = tempfile::tempfile().unwrap();
    let stderr = tempfile::tempfile().unwrap();
    command.stdout(stdout.try_clone().unwrap()).stderr(stderr.try_clone().unwrap());
    let mut child = command.spawn().unwrap();
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if started.elapsed() > HANG {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("still running after {HANG:?}: {command:?}");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    Ran { status: status.code(), stdout: text_of(&stdout), stderr: text_of(&stderr) }
}

fn text_of(file: &File) -> String {
    let mut bytes = vec![0; file.metadata().unwrap().len() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Runs the command as somebody to whom permissions apply; `None` where that cannot be.
fn run_unprivileged(scene: &Scene, arguments: &[&str]) -> Option<Ran> {
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    if !is_root {
        return Some(scene.run(arguments));
    }
    let setpriv = Tool::find("setpriv")?;
    // The build folder may be closed to others, and so is the scratch folder.
    let binary = scene.path("mkfatimg");
    fs::copy(env!("CARGO_BIN_EXE_mkfatimg"), &binary).unwrap();
    fs::set_permissions(scene.folder.path(), Permissions::from_mode(0o777)).unwrap();
    let mut command = setpriv.command();
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]);
    command.arg(binary).args(arguments).current_dir(scene.folder.path());
    Some(ended(command))
}

#[test]
fn links_inside_the_source_are_stored_as_what_they_lead_to() {
    let scene = Scene::new();
    scene
        .source
        .file("usr/lib/libc.so.6", "library")
        .link("libc.so.6", "usr/lib/libc.so")
        .link("../usr/lib/libc.so.6", "lib/relative")
        .link("/usr/lib/libc.so.6", "absolute")
        .link("./usr/./lib/../lib/libc.so.6", "winding")
        .link("/usr/../usr/lib/libc.so.6", "up.and.down");
    scene
        .expected
        .file("usr/lib/libc.so.6", "library")
        .file("usr/lib/libc.so", "library")
        .file("lib/relative", "library")
        .file("absolute", "library")
        .file("winding", "library")
        .file("up.and.down", "library");
    scene.holds(&[], &[]);
}

#[test]
fn links_that_lead_to_links_are_followed_to_the_end() {
    let scene = Scene::new();
    scene
        .source
        .file("usr/lib/libc.so.6.1", "library")
        .link("libc.so.6.1", "usr/lib/libc.so.6")
        .link("libc.so.6", "usr/lib/libc.so")
        .link("/usr/lib/libc.so", "absolute")
        .link("usr/lib", "lib")
        .link("lib/libc.so.6.1", "through_dir")
        .link("/lib/../lib/libc.so.6", "round_about");
    for lib in ["usr/lib", "lib"] {
        for name in ["libc.so.6.1", "libc.so.6", "libc.so"] {
            scene.expected.file(format!("{lib}/{name}"), "library");
        }
    }
    scene
        .expected
        .file("absolute", "library")
        .file("through_dir", "library")
        .file("round_about", "library");
    scene.holds(&[], &[]);
}

#[test]
fn an_absolute_link_leads_into_the_source_and_not_to_the_hosts_file() {
    let scene = Scene::new();
    scene.source.file("etc/hostname", "inside").link("/etc/hostname", "name");
    scene.expected.file("etc/hostname", "inside").file("name", "inside");
    scene.holds(&[], &[]);
}

/// Whether a file may be read is asked of the file in the source, also where its name begins at
/// the source's root.
#[test]
fn an_absolute_link_to_a_private_file_is_stored() {
    let scene = Scene::new();
    scene
        .source
        .file("private/mkfatimg-test-key", "secret")
        .link("/private/mkfatimg-test-key", "key");
    let private = scene.path("src/private/mkfatimg-test-key");
    fs::set_permissions(private, Permissions::from_mode(0o600)).unwrap();
    scene.expected.file("private/mkfatimg-test-key", "secret").file("key", "secret");
    scene.holds(&[], &[]);
}

#[test]
fn a_link_to_a_directory_brings_all_of_it_with_links_in_it_resolved_where_they_are() {
    let scene = Scene::new();
    scene
        .source
        .file("usr/bin/tool", "tool")
        .file("usr/share/doc/read.me", "text")
        .link("../bin/tool", "usr/share/tool")
        .link("doc", "usr/share/manual")
        .link("usr/share", "share")
        .link("/usr/bin", "bin");
    scene.expected.file("usr/bin/tool", "tool").file("bin/tool", "tool");
    for share in ["usr/share", "share"] {
        scene
            .expected
            .file(format!("{share}/doc/read.me"), "text")
            .file(format!("{share}/manual/read.me"), "text")
            .file(format!("{share}/tool"), "tool");
    }
    scene.holds(&[], &[]);
}

#[test]
fn a_problem_is_told_once_however_many_links_lead_to_it() {
    let scene = Scene::new();
    scene.source.file("real/a:b", "x").link("real", "alias");
    make_fifo(&scene.path("src/real/fifo"));
    let ran = scene.run(&["--from", "src", "out.img"]);
    assert_eq!(ran.status, Some(4));
    let mut told: Vec<&str> = ran.stderr.lines().collect();
    let lines = told.len();
    told.sort_unstable();
    told.dedup();
    assert_eq!(told.len(), lines, "{}", ran.stderr);
}

#[test]
fn links_that_lead_out_of_the_source_are_refused() {
    let scene = Scene::new();
    scene.beside("outside").file("secret", "not ours");
    scene
        .source
        .file("a/file", "x")
        .link("../../outside/secret", "a/up")
        .link("../outside", "dir")
        .link("/../outside/secret", "top");
    scene.refused(
        &[],
        &[
            "src/a/up: is a link to ../../outside/secret, which leads out of src; leave such links out with --dangling skip, or follow them on this machine with --symlinks host",
            "src/dir: is a link to ../outside, which leads out of src; leave such links out with --dangling skip, or follow them on this machine with --symlinks host",
            "src/top: is a link to /../outside/secret, which leads out of src; leave such links out with --dangling skip, or follow them on this machine with --symlinks host",
            "no image was written: 3 problems: 3 links that lead nowhere; to build all the same add --dangling skip",
        ],
    );
}

#[test]
fn a_link_that_leads_out_and_back_in_is_refused_too() {
    let scene = Scene::new();
    scene.source.file("file", "x").link("../src/file", "round");
    scene.refused(
        &[],
        &["src/round: is a link to ../src/file, which leads out of src; leave such links out with --dangling skip, or follow them on this machine with --symlinks host"],
    );
}

#[test]
fn dangling_links_are_refused_with_what_is_missing_or_left_out_with_a_notice() {
    let scene = Scene::new();
    scene
        .source
        .file("kept", "x")
        .link("no/such/file", "gone1")
        .link("/etc/passwd", "gone2")
        .link("kept/below", "gone3");
    scene.refused(
        &[],
        &[
            "src/gone1: is a link to no/such/file, and inside src there is no /no; leave such links out with --dangling skip, or follow them on this machine with --symlinks host",
            "src/gone2: is a link to /etc/passwd, and inside src there is no /etc; leave such links out with --dangling skip, or follow them on this machine with --symlinks host",
            "src/gone3: is a link to kept/below, and inside src there is no /kept/below; leave such links out with --dangling skip, or follow them on this machine with --symlinks host",
            "no image was written: 3 problems: 3 links that lead nowhere; to build all the same add --dangling skip",
        ],
    );
    scene.expected.file("kept", "x");
    scene.holds(
        &["--dangling", "skip"],
        &["3 links that lead nowhere left out, the first: src/gone1: link to no/such/file left out: leads nowhere (all with -v)"],
    );
}

#[test]
fn links_to_themselves_and_to_each_other_are_refused_as_loops() {
    let scene = Scene::new();
    scene.source.link("self", "self").link("pong", "ping").link("ping", "pong");
    scene.refused(
        &[],
        &[
            "src/ping: is a link to pong, which inside src leads in a circle; leave such links out with --dangling skip, or follow them on this machine with --symlinks host",
            "src/pong: is a link to ping, which inside src leads in a circle; leave such links out with --dangling skip, or follow them on this machine with --symlinks host",
            "src/self: is a link to self, which inside src leads in a circle; leave such links out with --dangling skip, or follow them on this machine with --symlinks host",
            "no image was written: 3 problems: 3 links that lead nowhere; to build all the same add --dangling skip",
        ],
    );
}

#[test]
fn links_to_a_directory_that_they_lie_in_are_refused() {
    let scene = Scene::new();
    scene
        .source
        .directory("a/b")
        .link("../..", "a/b/root")
        .link("..", "a/b/parent")
        .link(".", "here")
        .link("/", "slash");
    let back = "which inside src leads in a circle; leave such links out with --dangling skip, or follow them on this machine with --symlinks host";
    let line = |path: &str, target: &str| format!("src/{path}: is a link to {target}, {back}");
    let lines = [
        line("a/b/parent", ".."),
        line("a/b/root", "../.."),
        line("here", "."),
        line("slash", "/"),
        "no image was written: 4 problems: 4 links that lead nowhere; to build all the same add --dangling skip".to_owned(),
    ];
    scene.refused(&[], &lines.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn directories_that_link_to_each_other_are_refused_and_not_walked_for_ever() {
    let scene = Scene::new();
    scene.source.directory("a").directory("b").link("../b", "a/to_b").link("../a", "b/to_a");
    let ran = scene.run(&["--from", "src", "out.img"]);
    assert_eq!(ran.status, Some(4));
    assert!(
        ran.stderr.contains("is a link to ../a, which inside src leads in a circle"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains("is a link to ../b, which inside src leads in a circle"),
        "{}",
        ran.stderr
    );
}

#[test]
fn links_are_followed_as_the_host_does_on_request() {
    let scene = Scene::new();
    let outside = scene.beside("outside");
    outside.file("secret", "outside").link("secret", "again");
    scene
        .source
        .link("../outside/secret", "relative")
        .link(scene.path("outside/secret").to_str().unwrap(), "absolute")
        .link("../outside", "dir");
    scene
        .expected
        .file("relative", "outside")
        .file("absolute", "outside")
        .file("dir/secret", "outside")
        .file("dir/again", "outside");
    scene.holds(&["--symlinks", "host"], &[]);
}

#[test]
fn loops_and_dangling_links_are_refused_under_the_hosts_rules_too() {
    let scene = Scene::new();
    scene.source.link("self", "self").link("/no/such/file", "gone").link(".", "here");
    scene.refused(
        &["--symlinks", "host"],
        &[
            "src/gone: is a link to /no/such/file, and there is no /no/such/file; leave such links out with --dangling skip",
            "src/here: is a link to ., which leads in a circle; leave such links out with --dangling skip",
            "src/self: is a link to self, which leads in a circle; leave such links out with --dangling skip",
            "no image was written: 3 problems: 3 links that lead nowhere; to build all the same add --dangling skip",
        ],
    );
}

#[test]
fn links_are_left_out_with_a_notice_on_request() {
    let scene = Scene::new();
    scene
        .source
        .file("file", "x")
        .link("file", "link1")
        .link("nowhere", "link2")
        .link(".", "link3");
    scene.expected.file("file", "x");
    scene.holds(
        &["--symlinks", "skip"],
        &["3 symbolic links left out, the first: src/link1: symbolic link left out (all with -v)"],
    );
}

#[test]
fn links_are_refused_on_request() {
    let scene = Scene::new();
    scene.source.file("file", "x").link("file", "link");
    scene.refused(
        &["--symlinks", "error"],
        &["src/link: is a symbolic link; --symlinks follow stores what it leads to"],
    );
}

#[test]
fn a_link_that_clashes_with_its_own_target_only_is_folded_into_it() {
    let scene = Scene::new();
    scene
        .source
        .file("man/PAM.7.gz", "page")
        .link("PAM.7.gz", "man/pam.7.gz")
        .file("doc/readme", "text")
        .link("readme", "doc/README")
        .file("share/x", "x")
        .link("share", "Share");
    scene.expected.file("man/PAM.7.gz", "page").file("doc/readme", "text").file("share/x", "x");
    scene.holds(
        &["-v"],
        &[
            "src/Share: folded into src/share, to which it links",
            "src/doc/README: folded into src/doc/readme, to which it links",
            "src/man/pam.7.gz: folded into src/man/PAM.7.gz, to which it links",
            "owners, permissions, extended attributes and the identity of hard links are not stored: FAT has no place for them",
        ],
    );
}

#[test]
fn a_link_that_clashes_with_another_file_is_a_clash() {
    let scene = Scene::new();
    scene.source.file("README", "one").file("other", "two").link("other", "readme");
    scene.refused(
        &[],
        &["src/readme: has the same name as src/README for FAT, which ignores case and normalisation; rename one, or use --clash rename or skip"],
    );
}

#[test]
fn hard_links_are_copied_under_each_name() {
    let scene = Scene::new();
    scene.source.filled("one", 5000).directory("dir");
    fs::hard_link(scene.path("src/one"), scene.path("src/dir/two")).unwrap();
    scene.expected.filled("one", 5000).filled("dir/two", 5000);
    scene.holds(&[], &[]);
    let volume = invariants::read(&scene.path("out.img"), 0).unwrap();
    let first_cluster = |path| volume.find(path).unwrap().first_cluster;
    assert_ne!(first_cluster("/one"), first_cluster("/dir/two"));
}

#[test]
fn a_hard_link_that_clashes_with_its_other_name_is_a_clash() {
    let scene = Scene::new();
    scene.source.file("A", "x");
    fs::hard_link(scene.path("src/A"), scene.path("src/a")).unwrap();
    scene.refused(
        &[],
        &["src/a: has the same name as src/A for FAT, which ignores case and normalisation; rename one, or use --clash rename or skip"],
    );
}

#[test]
fn names_with_a_leading_dot_are_included_at_the_top_and_below() {
    let scene = Scene::new();
    for tree in [&scene.source, &scene.expected] {
        tree.file(".profile", "a").file(".config/.hidden", "b").directory(".empty");
    }
    scene.holds(&[], &[]);
}

#[test]
fn special_files_are_refused_or_left_out_and_never_opened() {
    let scene = Scene::new();
    scene.source.file("file", "x").link("fifo", "to_fifo");
    make_fifo(&scene.path("src/fifo"));
    let _socket = UnixListener::bind(scene.path("src/socket")).unwrap();
    scene.refused(
        &[],
        &[
            "src/fifo: is a FIFO, which FAT cannot hold; remove it, or leave such out with --special skip",
            "src/socket: is a socket, which FAT cannot hold; remove it, or leave such out with --special skip",
            "src/to_fifo: is a FIFO, which FAT cannot hold; remove it, or leave such out with --special skip",
            "no image was written: 3 problems: 3 special files; to build all the same add --special skip",
        ],
    );
    scene.expected.file("file", "x");
    scene.holds(
        &["--special", "skip"],
        &["3 FIFOs, sockets and devices left out, the first: src/fifo: FIFO left out (all with -v)"],
    );
}

#[test]
fn a_device_is_refused_by_its_kind() {
    let scene = Scene::new();
    scene.source.link("/dev/null", "null");
    scene.refused(
        &["--symlinks", "host"],
        &["src/null: is a character device, which FAT cannot hold; remove it, or leave such out with --special skip"],
    );
}

#[test]
fn special_files_as_sources_of_their_own_are_refused_unopened() {
    let scene = Scene::new();
    make_fifo(&scene.path("pipe"));
    scene.refused_from(
        &["--from", "pipe:/data"],
        &["pipe:/data: is a FIFO, which FAT cannot hold; remove it, or leave such out with --special skip"],
    );
}

#[test]
fn what_may_not_be_read_is_refused_before_anything_is_written() {
    let scene = Scene::new();
    scene.source.file("open", "x").file("secret", "y").file("vault/inside", "z");
    let closed = [scene.path("src/secret"), scene.path("src/vault")];
    for path in &closed {
        fs::set_permissions(path, Permissions::from_mode(0o000)).unwrap();
    }
    let ran = run_unprivileged(&scene, &["--from", "src", "out.img"]);
    for path in &closed {
        fs::set_permissions(path, Permissions::from_mode(0o700)).unwrap();
    }
    let Some(ran) = ran else { return };
    assert_eq!(
        ran.stderr,
        "mkfatimg: src/secret: cannot be read: permission denied\n\
         mkfatimg: src/vault: cannot be read: permission denied\n\
         mkfatimg: no image was written: 2 problems\n"
    );
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(4), ""));
    assert!(!scene.path("out.img").exists());
}

#[test]
fn names_that_are_no_utf8_are_refused_replaced_or_left_out() {
    let scene = Scene::new();
    let name = std::ffi::OsStr::from_bytes(b"latin-\xE9.txt");
    scene.source.file(name, "x").file("plain", "y");
    scene.refused(
        &[],
        &["src/latin-\\xe9.txt: name is not valid UTF-8 and has no form in FAT; rename it, or use --invalid-names replace or skip"],
    );
    scene.expected.file("plain", "y");
    scene.holds(
        &["--invalid-names", "skip"],
        &["src/latin-\\xe9.txt: left out: name is not valid UTF-8"],
    );
    scene.expected.file("latin-_.txt", "x");
    scene.holds(
        &["--invalid-names", "replace"],
        &["src/latin-\\xe9.txt: stored as latin-_.txt: name is not valid UTF-8"],
    );
}

#[test]
fn a_name_that_would_break_the_line_is_escaped_in_messages() {
    let scene = Scene::new();
    scene.source.file("a\nb\x1b[2J", "x");
    scene.refused(
        &[],
        &["src/a\\nb\\u{1b}[2J: name holds '\\n', which FAT forbids; rename it, or use --invalid-names replace or skip"],
    );
}

#[test]
fn an_output_inside_the_source_is_left_out_with_a_notice() {
    let scene = Scene::new();
    scene.source.file("file", "x").file("out.img", "old image");
    scene.expected.file("file", "x");
    let expect = Expect { source: Some(scene.path("expected")), ..Expect::default() };
    for image in ["src/out.img", "src/../src/out.img"] {
        let ran = scene.run(&["--from", "src", image]);
        assert_eq!(ran.status, Some(0), "{}", ran.stderr);
        assert_eq!(noted(&ran), ["src/out.img: output of this build left out"]);
        assert_sound(&scene.path("src/out.img"), &expect);
    }
    assert_eq!(fs::read_dir(scene.path("src")).unwrap().count(), 2);
}

#[test]
fn standard_output_that_is_a_file_in_the_source_is_left_out_with_a_notice() {
    let scene = Scene::new();
    scene.source.file("file", "x");
    let mut command = scene.command(&["--from", "src", "-"]);
    command.stdout(File::create(scene.path("src/out.img")).unwrap());
    let output = command.output().unwrap();
    let ran = Ran::from(output);
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    assert_eq!(noted(&ran), ["src/out.img: output of this build left out"]);
    scene.expected.file("file", "x");
    let expect = Expect { source: Some(scene.path("expected")), ..Expect::default() };
    assert_sound(&scene.path("src/out.img"), &expect);
}

/// A link to the output is no way into the image either.
#[test]
fn a_link_in_the_source_that_is_the_output_is_left_out_whether_or_not_its_target_exists() {
    let scene = Scene::new();
    scene.source.file("file", "x").link("../elsewhere.img", "out.img");
    scene.expected.file("file", "x");
    let expect = Expect { source: Some(scene.path("expected")), ..Expect::default() };
    for _ in 0..2 {
        let ran = scene.run(&["--from", "src", "src/out.img"]);
        assert_eq!(ran.status, Some(0), "{}", ran.stderr);
        assert_eq!(noted(&ran), ["src/out.img: output of this build left out"]);
        assert_sound(&scene.path("elsewhere.img"), &expect);
    }
}

#[test]
fn later_sources_add_to_earlier_ones() {
    let scene = Scene::new();
    scene.source.file("etc/one", "1").file("top", "t");
    scene.beside("more").file("etc/two", "2").file("etc/sub/three", "3").directory("empty");
    scene.expected.file("etc/one", "1").file("top", "t").file("etc/two", "2");
    scene.expected.file("etc/sub/three", "3").directory("empty");
    scene.holds_from(&["--from", "src", "--from", "more"], &[]);
    scene.holds_from(&["--from", "more", "--from", "src"], &[]);
}

#[test]
fn a_destination_takes_directories_and_files() {
    let scene = Scene::new();
    scene.source.file("init", "i");
    scene.beside("parts").file("vmlinuz", "kernel").file("deep/config", "c");
    let arguments = |destinations: [&'static str; 4]| {
        destinations.into_iter().flat_map(|from| ["--from", from]).collect::<Vec<_>>()
    };
    scene
        .expected
        .file("opt/app/init", "i")
        .file("boot/vmlinuz", "kernel")
        .file("boot/linux", "kernel")
        .file("config", "c");
    let froms = arguments([
        "src:/opt/app",
        "parts/vmlinuz:/boot/",
        "parts/vmlinuz:/boot/linux",
        "parts/deep:/",
    ]);
    scene.holds_from(&froms, &[]);
    let froms = arguments([
        "src:/opt//app/",
        "parts/vmlinuz:/boot/.//",
        "parts/vmlinuz:/boot/linux",
        "parts/deep",
    ]);
    scene.holds_from(&froms, &[]);
}

#[test]
fn a_path_that_exists_with_its_colon_wins_over_a_destination() {
    let scene = Scene::new();
    scene.beside("a:/b").file("inside", "x");
    scene.beside("a").file("other", "y");
    scene.expected.file("inside", "x");
    scene.holds_from(&["--from", "a:/b"], &[]);
}

#[test]
fn a_destination_may_not_climb() {
    let scene = Scene::new();
    let ran = scene.run(&["--from", "src:/a/../b", "out.img"]);
    assert_eq!(ran.status, Some(2));
    assert_eq!(ran.stderr, "mkfatimg: --from src:/a/../b: the place in the image cannot hold ..\n");
}

#[test]
fn implied_directories_have_the_time_of_the_source_that_needs_them() {
    let scene = Scene::new();
    scene.source.file("file", "x").settle();
    set_time(&scene.path("src"), TREE_SECONDS - 3600);
    scene.expected.file("one/two/file", "x");
    scene.holds_from(&["--from", "src:/one/two"], &[]);
    let volume = invariants::read(&scene.path("out.img"), 0).unwrap();
    for path in ["/one", "/one/two"] {
        let written = volume.find(path).unwrap().written.seconds();
        assert_eq!(written, Some(TREE_SECONDS - 3600), "{path}");
    }
}

#[test]
fn a_single_file_needs_a_destination() {
    let scene = Scene::new();
    scene.source.file("file", "x");
    scene.refused_from(
        &["--from", "src/file"],
        &["src/file: is a file, not a directory; say where it goes: --from src/file:/file; a manifest begins with \
           #mtree or is named *.mtree"],
    );
}

#[test]
fn a_source_that_is_not_there_is_refused_by_name() {
    let scene = Scene::new();
    scene.refused_from(
        &["--from", "nowhere", "--from", "nor:/here"],
        &[
            "nor: cannot be read: no such file or directory",
            "nowhere: cannot be read: no such file or directory",
            "no image was written: 2 problems",
        ],
    );
}

/// What a shell makes of `<(...)`, and standard input by its names.
#[test]
fn a_source_that_is_a_pipe_is_told_what_to_do() {
    let scene = Scene::new();
    let remedy = "a source is a file or a directory: write it to a file first";
    let skip = &["--special", "skip"][..];
    for (arguments, line) in [
        (&["--from", "/dev/stdin:/x"][..], "/dev/stdin: is a pipe"),
        (&["--from", "/dev/stdin"], "/dev/stdin: is a pipe"),
        (&["--from", "/dev/fd/0:/x"], "/dev/fd/0: is a pipe"),
        (&["--from=-:/x"], "-: is standard input"),
        (&["--from", "-"], "-: is standard input"),
    ] {
        for more in [&[][..], skip] {
            let mut command = scene.command(&[arguments, more, &["out.img"]].concat());
            let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            drop(child.stdin.take());
            let ran: Ran = child.wait_with_output().unwrap().into();
            assert_eq!(ran.stderr, format!("mkfatimg: {line}; {remedy}\n"), "{arguments:?}");
            assert_eq!(ran.status, Some(4));
        }
    }
    // A name is enough, and standard input that is a file is one.
    scene.source.file("-", "by name").settle();
    let mut command = scene.command(&["--from", "src", "--from", "/dev/stdin:/y", "out.img"]);
    let ran: Ran = command.stdin(File::open(scene.path("src/-")).unwrap()).output().unwrap().into();
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
}

#[test]
fn a_source_that_is_a_link_to_a_directory_is_walked() {
    let scene = Scene::new();
    scene.source.file("file", "x").link("/file", "link");
    std::os::unix::fs::symlink("src", scene.path("alias")).unwrap();
    scene.expected.file("file", "x").file("link", "x");
    scene.holds_from(&["--from", "alias"], &[]);
}

#[test]
fn files_of_two_sources_at_one_place_are_refused_unless_the_later_is_to_win() {
    let scene = Scene::new();
    scene.source.file("etc/conf", "old").file("etc/kept", "k");
    scene.beside("over").file("etc/conf", "new");
    let from = ["--from", "src", "--from", "over"];
    scene.refused_from(
        &from,
        &["over/etc/conf: comes to the same place as src/etc/conf; rename one, or let the later source win with --overlay"],
    );
    scene.expected.file("etc/conf", "new").file("etc/kept", "k");
    scene.holds_from(
        &["--overlay", "--from", "src", "--from", "over"],
        &["over/etc/conf: takes the place of an earlier source's file"],
    );
}

#[test]
fn a_file_against_a_directory_is_refused_even_when_the_later_is_to_win() {
    let scene = Scene::new();
    scene.source.file("one", "file").file("two/x", "in a directory");
    scene.beside("over").file("one/x", "in a directory").file("two", "file");
    let lines = [
        "over/one: comes to the same place as src/one, and only one of them is a directory; rename one",
        "over/two: comes to the same place as src/two, and only one of them is a directory; rename one",
        "no image was written: 2 problems",
    ];
    scene.refused_from(&["--from", "src", "--from", "over"], &lines);
    scene.refused_from(&["--overlay", "--from", "src", "--from", "over"], &lines);
}

#[test]
fn a_directory_on_the_way_to_a_destination_is_named_with_its_whole_path() {
    let scene = Scene::new();
    scene.source.file("one", "1").file("two", "2");
    scene.refused_from(
        &["--from", "src/one:/x/a/b", "--from", "src/two:/x/a"],
        &["src/two:/x/a: comes to the same place as /x/a, and only one of them is a directory; rename one"],
    );
}

#[test]
fn names_of_two_sources_that_differ_in_case_clash() {
    let scene = Scene::new();
    scene.source.file("README", "a");
    scene.beside("over").file("readme", "b");
    scene.refused_from(
        &["--overlay", "--from", "src", "--from", "over"],
        &["over/readme: has the same name as src/README for FAT, which ignores case and normalisation; rename one, or use --clash rename or skip"],
    );
}

#[test]
fn absolute_links_start_at_the_root_of_their_own_source() {
    let scene = Scene::new();
    scene.source.file("data", "of src");
    scene.beside("other").file("data", "of other").link("/data", "link");
    scene.expected.file("data", "of src").file("sub/data", "of other").file("sub/link", "of other");
    scene.holds_from(&["--from", "src", "--from", "other:/sub"], &[]);
}

#[test]
fn three_hundred_levels_of_directories_are_stored() {
    let scene = Scene::new();
    let path = "d/".repeat(300) + "bottom";
    scene.source.file(&path, "deep");
    scene.expected.file(&path, "deep");
    scene.holds(&[], &[]);
}

#[test]
fn holes_of_sparse_files_stay_holes() {
    let scene = Scene::new();
    for tree in [&scene.source, &scene.expected] {
        let file = File::create(tree.root().join("sparse")).unwrap();
        file.set_len(64 << 20).unwrap();
        file.write_all_at(b"in the middle", 40 << 20).unwrap();
        let file = File::create(tree.root().join("hole only")).unwrap();
        file.set_len(8 << 20).unwrap();
    }
    scene.holds(&[], &[]);
    let image = fs::metadata(scene.path("out.img")).unwrap();
    assert!(image.len() > 72 << 20, "{}", image.len());
    assert!(image.blocks() * 512 < 2 << 20, "{} blocks", image.blocks());
}

/// The written stamps of `paths` as seconds since 1970, after a build with `arguments`.
fn stamps(
    scene: &Scene,
    arguments: &[&str],
    environment: &[(&str, &str)],
    paths: &[&str],
) -> Vec<u64> {
    let mut command = scene.command(&["--from", "src"]);
    command.args(arguments).arg("out.img").envs(environment.iter().copied());
    let ran = ended(command);
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    assert_sound(&scene.path("out.img"), &Expect::default());
    let volume = invariants::read(&scene.path("out.img"), 0).unwrap();
    let stamp = |path: &&str| {
        let entry = volume.find(path).unwrap();
        assert_eq!(entry.created, entry.written);
        assert_eq!(entry.accessed_date, entry.written.date);
        entry.written.seconds().unwrap()
    };
    paths.iter().map(stamp).collect()
}

#[test]
fn times_are_stored_in_utc_or_in_the_zone_asked_for() {
    let scene = Scene::new();
    scene.source.file("file", "x").settle();
    let paths = ["/file"];
    assert_eq!(stamps(&scene, &[], &[("TZ", "Asia/Tokyo")], &paths), [TREE_SECONDS]);
    assert_eq!(stamps(&scene, &["--timezone", "utc"], &[], &paths), [TREE_SECONDS]);
    let shifted = stamps(&scene, &["--timezone", "+02:00"], &[], &paths);
    assert_eq!(shifted, [TREE_SECONDS + 7200]);
    let shifted = stamps(&scene, &["--timezone=-0330"], &[], &paths);
    assert_eq!(shifted, [TREE_SECONDS - 12_600]);
    let local = stamps(&scene, &["--timezone", "local"], &[("TZ", "XYZ-3:30")], &paths);
    assert_eq!(local, [TREE_SECONDS + 12_600]);
}

#[test]
fn an_offset_west_of_greenwich_may_stand_apart_from_its_flag() {
    let scene = Scene::new();
    scene.source.file("file", "x").settle();
    let shifted = stamps(&scene, &["--timezone", "-03:30"], &[], &["/file"]);
    assert_eq!(shifted, [TREE_SECONDS - 12_600]);
}

#[test]
fn times_in_a_named_zone_follow_its_summer_time() {
    if !Path::new("/usr/share/zoneinfo/Europe/Berlin").exists() {
        support::skip("no time zones are installed");
        return;
    }
    let scene = Scene::new();
    // 2024-07-01 12:00:00 UTC
    let july = 1_719_835_200;
    scene.source.file("winter", "x").file("summer", "x").settle();
    set_time(&scene.path("src/summer"), july);
    let found = stamps(&scene, &["--timezone", "Europe/Berlin"], &[], &["/winter", "/summer"]);
    assert_eq!(found, [TREE_SECONDS + 3600, july + 7200]);
}

#[test]
fn odd_seconds_round_down() {
    let scene = Scene::new();
    scene.source.file("file", "x").directory("dir").settle();
    set_time(&scene.path("src/file"), TREE_SECONDS + 1);
    set_time(&scene.path("src/dir"), TREE_SECONDS + 3);
    let found = stamps(&scene, &[], &[], &["/file", "/dir"]);
    assert_eq!(found, [TREE_SECONDS, TREE_SECONDS + 2]);
}

#[test]
fn one_time_for_everything_is_taken_in_every_form() {
    let scene = Scene::new();
    scene.source.file("dir/file", "x").settle();
    for (text, seconds) in [
        ("@1700000000", 1_700_000_000),
        ("2023-11-15", 1_700_006_400),
        ("2023-11-14T22:13:20", 1_700_000_000),
        ("2023-11-14T22:13:20Z", 1_700_000_000),
        ("2023-11-14T23:13:20+01:00", 1_700_000_000),
    ] {
        let found = stamps(&scene, &["--mtime", text], &[], &["/dir", "/dir/file"]);
        assert_eq!(found, [seconds, seconds], "{text}");
    }
}

#[test]
fn source_date_epoch_pulls_newer_times_down_and_keeps_older_ones() {
    let scene = Scene::new();
    scene.source.file("new", "x").file("old", "x").settle();
    set_time(&scene.path("src/old"), 1_000_000_000);
    let epoch = |text: &'static str, arguments: &[&str]| {
        stamps(&scene, arguments, &[("SOURCE_DATE_EPOCH", text)], &["/new", "/old"])
    };
    assert_eq!(epoch("1600000000", &[]), [1_600_000_000, 1_000_000_000]);
    assert_eq!(epoch("", &[]), [TREE_SECONDS, 1_000_000_000]);
    assert_eq!(epoch("0", &[]), [FAT_FIRST_SECONDS, FAT_FIRST_SECONDS]);
    assert_eq!(epoch("-1", &[]), [FAT_FIRST_SECONDS, FAT_FIRST_SECONDS]);
    // The one time for everything comes first, then the ceiling.
    assert_eq!(epoch("1600000000", &["--mtime", "2024-01-01"]), [1_600_000_000; 2]);
    assert_eq!(epoch("1600000000", &["--mtime", "@1500000000"]), [1_500_000_000; 2]);
}

#[test]
fn times_that_fat_cannot_store_are_moved_with_a_notice() {
    let scene = Scene::new();
    scene.source.file("a", "1970").file("b", "now").file("c", "2200").settle();
    set_time(&scene.path("src/a"), 0);
    set_time(&scene.path("src/c"), YEAR_2200_SECONDS);
    let ran = scene.run(&["--from", "src", "out.img"]);
    assert_eq!(
        noted(&ran),
        [
            "2 times moved into the years 1980 to 2107, the first: src/a: time moved to 1980 (all with -v)"
        ]
    );
    let ran = scene.run(&["-v", "--from", "src", "out.img"]);
    assert_eq!(noted(&ran)[..2], ["src/a: time moved to 1980", "src/c: time moved to 2107"]);
    let found = stamps(&scene, &[], &[], &["/a", "/b", "/c"]);
    assert_eq!(found, [FAT_FIRST_SECONDS, TREE_SECONDS, FAT_LAST_SECONDS]);
}

#[test]
fn a_source_laid_onto_a_directory_that_is_there_adds_to_it() {
    let scene = Scene::new();
    scene.source.file("y/f", "1");
    scene.beside("second").file("g", "2");
    scene.expected.file("y/f", "1").file("y/g", "2");
    scene.holds_from(&["--from", "src", "--from", "second:/y"], &[]);
}

#[test]
fn a_link_is_not_folded_into_a_directory_when_a_source_added_to_either() {
    let scene = Scene::new();
    scene.source.file("Lib/own", "1").link("Lib", "lib");
    scene.beside("second").file("lib/extra", "2");
    let arguments = ["--from", "src", "--from", "second", "out.img"];
    let ran = scene.run(&arguments);
    assert_eq!(ran.status, Some(4), "{}", ran.stderr);
    assert!(ran.stderr.contains("src/lib: has the same name as src/Lib for FAT"), "{}", ran.stderr);
}

#[test]
fn a_source_that_is_named_by_a_link_is_like_any_other() {
    let scene = Scene::new();
    scene.source.file("file", "1").link("../file", "sub/up").link("b", "a").link("file", "b");
    scene.expected.file("file", "1").file("sub/up", "1").file("a", "1").file("b", "1");
    std::os::unix::fs::symlink("src", scene.path("named")).unwrap();
    for source in ["named", "named/", "./named", "src/.", "src/sub/.."] {
        scene.holds_from(&["--from", source], &[]);
    }
}

#[test]
fn the_directory_that_a_run_starts_in_is_a_source_like_any_other() {
    let scene = Scene::new();
    scene.source.file("d/file", "1").link("/d", "link");
    scene.expected.file("d/file", "1").file("link/file", "1");
    let mut command = mkfatimg();
    command.current_dir(scene.path("src")).args(["--from", ".", "../out.img"]);
    let ran = ended(command);
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    let expect = Expect { source: Some(scene.path("expected")), ..Expect::default() };
    assert_sound(&scene.path("out.img"), &expect);
}
