//! The same tree gives the same bytes, whatever surrounds the build; another tree or another wish
//! gives another serial number. That the bytes do not follow the clock, `golden.rs` shows too: its
//! images were made long ago.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use support::invariants::{self, Entry, Volume};
use support::{
    Expect, TREE_SECONDS, TreeBuilder, assert_sound, mkfatimg, scratch, set_time, set_times,
};

/// Paths with contents, more than one directory deep and of every form of name.
const FILES: [(&str, &str); 9] = [
    ("README.TXT", "read\n"),
    ("a long name.txt", "long\n"),
    ("b/one", "1"),
    ("b/two", "22"),
    ("b/c/three", "333"),
    ("b/c/öäü", "4444"),
    ("empty", ""),
    ("z/longname 1.text", "first"),
    ("z/longname 2.text", "second"),
];

fn tree(root: PathBuf) -> PathBuf {
    let tree = TreeBuilder::new(root);
    for (path, contents) in FILES {
        tree.file(path, contents);
    }
    tree.settle();
    tree.root().to_path_buf()
}

/// The bytes that `command` with `--from source` and `arguments` writes into `image`, which is
/// sound.
fn bytes_by(mut command: Command, source: &Path, image: &Path, arguments: &[&str]) -> Vec<u8> {
    let ran = command.arg("--from").arg(source).args(arguments).arg(image).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert_sound(image, &Expect { source: Some(source.to_path_buf()), ..Expect::default() });
    fs::read(image).unwrap()
}

fn bytes(source: &Path, arguments: &[&str]) -> Vec<u8> {
    let scratch = scratch();
    bytes_by(mkfatimg(), source, &scratch.path().join("image"), arguments)
}

/// Not `assert_eq`, which would print both images.
fn assert_same(one: &[u8], other: &[u8], what: &str) {
    let differing = one.iter().zip(other).position(|(one, other)| one != other);
    assert_eq!((one.len(), differing), (other.len(), None), "{what}: first byte that differs");
}

#[test]
fn bytes_do_not_depend_on_the_order_of_creation_or_the_directory() {
    let scratch = scratch();
    let forward = tree(scratch.path().join("forward"));
    let backward = TreeBuilder::new(scratch.path().join("elsewhere/of another name"));
    for (path, contents) in FILES.into_iter().rev() {
        // A file that is gone again may leave its place in the host's directory to another.
        backward.file(format!("{path}.gone"), "").file(path, contents);
        fs::remove_file(backward.root().join(format!("{path}.gone"))).unwrap();
    }
    backward.settle();
    for fat_type in ["12", "16", "32"] {
        let arguments = ["--fat-type", fat_type];
        let first = bytes(&forward, &arguments);
        assert_same(&first, &bytes(backward.root(), &arguments), fat_type);
    }
}

#[test]
fn bytes_do_not_depend_on_the_moment() {
    let scratch = scratch();
    let source = tree(scratch.path().join("tree"));
    let first = bytes(&source, &[]);
    // Reading has set times of access, changing modes times of change.
    for (path, _) in FILES {
        let path = source.join(path);
        let permissions = fs::metadata(&path).unwrap().permissions();
        fs::set_permissions(&path, permissions).unwrap();
    }
    // The root's own time is stored nowhere.
    set_time(&source, TREE_SECONDS + 1000);
    assert_same(&first, &bytes(&source, &[]), "later");
}

#[test]
fn bytes_do_not_depend_on_the_environment() {
    let scratch = scratch();
    let source = tree(scratch.path().join("tree"));
    let usual = bytes(&source, &[]);
    let image = scratch.path().join("image");
    for (variable, value) in [
        ("TZ", "Pacific/Kiritimati"),
        ("TZ", "EST5EDT"),
        ("LC_ALL", "C"),
        ("LC_ALL", "tr_TR.UTF-8"),
        ("LANG", "de_DE.UTF-8"),
        ("SOURCE_DATE_EPOCH", ""),
        ("COLUMNS", "20"),
    ] {
        let mut command = mkfatimg();
        command.env(variable, value);
        assert_same(&usual, &bytes_by(command, &source, &image, &[]), variable);
    }
    let mut command = mkfatimg();
    command.env_clear().current_dir(&source);
    assert_same(&usual, &bytes_by(command, &source, &image, &[]), "no environment");
}

#[test]
fn bytes_do_not_depend_on_the_umask() {
    let scratch = scratch();
    let source = tree(scratch.path().join("tree"));
    let usual = bytes(&source, &[]);
    let image = scratch.path().join("image");
    for umask in ["000", "022", "077"] {
        let mut command = Command::new("sh");
        let script = format!("umask {umask}; exec \"$@\"");
        command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_mkfatimg")]);
        command.env_remove("SOURCE_DATE_EPOCH");
        assert_same(&usual, &bytes_by(command, &source, &image, &[]), umask);
        fs::remove_file(&image).unwrap();
    }
}

#[test]
fn bytes_do_not_depend_on_the_name_of_the_image() {
    let scratch = scratch();
    let source = tree(scratch.path().join("tree"));
    let usual = bytes(&source, &[]);
    for name in ["x", "an image of another name.img", "größe"] {
        let image = scratch.path().join(name);
        assert_same(&usual, &bytes_by(mkfatimg(), &source, &image, &[]), name);
    }
}

#[test]
fn a_stream_has_the_bytes_of_a_file() {
    let scratch = scratch();
    let source = tree(scratch.path().join("tree"));
    let caught = scratch.path().join("caught");
    for arguments in [
        &["--fat-type", "12", "--label", "STREAM"][..],
        &["--fat-type", "16", "--size", "20M"],
        &["--fat-type", "32", "--label", "STREAM"],
        &["--sector-size", "4096"],
        &["--size", "1440K"],
    ] {
        let filed = bytes(&source, arguments);
        let mut command = mkfatimg();
        command.arg("--from").arg(&source).args(arguments).arg("-");
        let piped = command.output().unwrap();
        assert!(piped.status.success(), "{}", String::from_utf8_lossy(&piped.stderr));
        assert_same(&filed, &piped.stdout, "a pipe");

        let mut command = mkfatimg();
        command.arg("--from").arg(&source).args(arguments).arg("-").stderr(Stdio::null());
        assert!(command.stdout(fs::File::create(&caught).unwrap()).status().unwrap().success());
        assert_same(&filed, &fs::read(&caught).unwrap(), "standard output as a file");
    }
}

fn with_epoch(source: &Path, epoch: &str) -> Volume {
    let scratch = scratch();
    let image = scratch.path().join("image");
    let mut command = mkfatimg();
    command.env("SOURCE_DATE_EPOCH", epoch);
    bytes_by(command, source, &image, &["--label", "EPOCH"]);
    let expect = Expect {
        source: Some(source.to_path_buf()),
        epoch_ceiling: Some(epoch.parse().unwrap()),
        times: true,
        ..Expect::default()
    };
    assert_sound(&image, &expect);
    invariants::read(&image, 0).unwrap()
}

fn seconds(entry: &Entry) -> u64 {
    entry.written.seconds().unwrap()
}

#[test]
fn source_date_epoch_pulls_later_times_down_and_keeps_earlier_ones() {
    const EPOCH: u64 = 1_600_000_000;
    let scratch = scratch();
    let tree = TreeBuilder::new(scratch.path().join("tree"));
    tree.file("old", "o").file("new", "n").file("dir/old", "o").file("dir/new", "n");
    for (path, time) in [
        ("old", EPOCH - 100),
        ("new", EPOCH + 100),
        ("dir/old", EPOCH - 200),
        ("dir/new", EPOCH + 2),
        ("dir", EPOCH + 1_000_000),
    ] {
        set_time(&tree.root().join(path), time);
    }
    let volume = with_epoch(tree.root(), "1600000000");
    for (path, time) in [
        ("/old", EPOCH - 100),
        ("/new", EPOCH),
        ("/dir/old", EPOCH - 200),
        ("/dir/new", EPOCH),
        ("/dir", EPOCH),
    ] {
        assert_eq!(seconds(volume.find(path).unwrap()), time, "{path}");
    }
    let label = &volume.directories[0].labels[0];
    assert_eq!(seconds(label), EPOCH);
    // A ceiling above everything changes nothing.
    let volume = with_epoch(tree.root(), "1700000000");
    assert_eq!(seconds(volume.find("/dir").unwrap()), EPOCH + 1_000_000);
    assert_eq!(seconds(&volume.directories[0].labels[0]), EPOCH + 1_000_000);
    // Before 1980 there is nothing.
    let volume = with_epoch(tree.root(), "0");
    assert!(volume.entries.iter().all(|entry| seconds(entry) == 315_532_800));
}

#[test]
fn trees_of_other_times_are_one_under_the_same_epoch() {
    let scratch = scratch();
    let (one, other) = (tree(scratch.path().join("one")), tree(scratch.path().join("other")));
    set_times(&other, TREE_SECONDS + 12_345);
    let image = scratch.path().join("image");
    let under_epoch = |source: &Path| {
        let mut command = mkfatimg();
        command.env("SOURCE_DATE_EPOCH", (TREE_SECONDS - 1).to_string());
        bytes_by(command, source, &image, &[])
    };
    assert_ne!(bytes(&one, &[]), bytes(&other, &[]));
    assert_same(&under_epoch(&one), &under_epoch(&other), "the same ceiling");
}

#[test]
fn a_source_date_epoch_that_is_no_number_is_an_error() {
    let scratch = scratch();
    let source = tree(scratch.path().join("tree"));
    let image = scratch.path().join("image");
    let mut command = mkfatimg();
    command.env("SOURCE_DATE_EPOCH", "today").arg("--from").arg(&source).arg(&image);
    let ran = command.output().unwrap();
    assert_eq!(ran.status.code(), Some(2));
    assert_eq!(
        String::from_utf8_lossy(&ran.stderr),
        "mkfatimg: SOURCE_DATE_EPOCH is today, which is no number of seconds since 1970; unset it \
         or correct it\n"
    );
    assert!(!image.exists());
}

fn volume_id(image: &[u8]) -> u32 {
    // FAT32 has more fields before it.
    let at = if image[22..24] == [0, 0] { 67 } else { 39 };
    u32::from_le_bytes(image[at..at + 4].try_into().unwrap())
}

#[test]
fn a_random_volume_id_is_another_each_time_and_all_that_differs() {
    let scratch = scratch();
    let source = tree(scratch.path().join("tree"));
    let mut images = [0, 1, 2].map(|_| bytes(&source, &["--volume-id", "random"]));
    let ids = images.each_ref().map(|image| volume_id(image));
    assert!(ids[0] != ids[1] || ids[1] != ids[2], "three times {:08X}", ids[0]);
    for image in &mut images {
        image[39..43].fill(0);
    }
    assert_same(&images[0], &images[1], "without the id");
    assert_same(&images[1], &images[2], "without the id");
}

#[test]
fn a_given_volume_id_is_stored_however_it_is_written() {
    let scratch = scratch();
    let source = tree(scratch.path().join("tree"));
    for id in ["DEADBEEF", "dead-beef", "0xDEADBEEF", "0XdeadBEEF"] {
        for fat_type in ["12", "32"] {
            let image = bytes(&source, &["--volume-id", id, "--fat-type", fat_type]);
            assert_eq!(volume_id(&image), 0xDEAD_BEEF, "{id}");
        }
    }
}

#[test]
fn the_derived_volume_id_follows_the_tree() {
    let scratch = scratch();
    let source = tree(scratch.path().join("tree"));
    let id = || volume_id(&bytes(&source, &[]));
    let mut ids = vec![id()];
    let path = source.join("b/one");
    let touch = |path: &Path, seconds| {
        for directory in ["", "b", "z"] {
            set_time(&source.join(directory), TREE_SECONDS);
        }
        set_time(path, seconds);
    };

    fs::write(&path, "9").unwrap();
    touch(&path, TREE_SECONDS);
    assert_eq!(id(), ids[0], "contents alone are not read for it");

    fs::write(&path, "12").unwrap();
    touch(&path, TREE_SECONDS);
    ids.push(id());

    touch(&path, TREE_SECONDS + 2);
    ids.push(id());

    set_time(&source.join("b"), TREE_SECONDS + 2);
    ids.push(id());

    let renamed = source.join("b/One");
    fs::rename(&path, &renamed).unwrap();
    touch(&renamed, TREE_SECONDS);
    ids.push(id());

    let moved = source.join("z/One");
    fs::rename(&renamed, &moved).unwrap();
    touch(&moved, TREE_SECONDS);
    ids.push(id());

    fs::remove_file(&moved).unwrap();
    fs::create_dir(&moved).unwrap();
    touch(&moved, TREE_SECONDS);
    ids.push(id());

    fs::remove_dir(&moved).unwrap();
    touch(&source, TREE_SECONDS);
    ids.push(id());
    assert_all_differ(&ids);
}

#[test]
fn the_derived_volume_id_follows_the_options() {
    let scratch = scratch();
    let source = tree(scratch.path().join("tree"));
    let ids: Vec<u32> = [
        &[][..],
        &["--label", "ONE"],
        &["--label", "TWO"],
        &["--size", "1M"],
        &["--size", "2M"],
        &["--size", "1M", "--fats", "1"],
        &["--size", "1M", "--cluster-size", "8K"],
        &["--size", "1M", "--sector-size", "1024"],
        &["--size", "1M", "--root-entries", "1024"],
        &["--size", "1M", "--reserved-sectors", "8"],
        &["--size", "1M", "--oem-name", "MSDOS5.0"],
        &["--size", "1M", "--media", "F0"],
        &["--size", "1M", "--hidden-sectors", "63"],
        &["--fat-type", "16"],
        &["--fat-type", "32"],
        &["--mtime", "2001-02-03"],
        &["--timezone", "+01:00"],
    ]
    .into_iter()
    .map(|arguments| volume_id(&image_of(&source, arguments)))
    .collect();
    assert_all_differ(&ids);
}

/// As [`bytes`], for wishes of which the invariants must know more.
fn image_of(source: &Path, arguments: &[&str]) -> Vec<u8> {
    let scratch = scratch();
    let image = scratch.path().join("image");
    let mut command = mkfatimg();
    let ran = command.arg("--from").arg(source).args(arguments).arg(&image).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let explicit_reserved = arguments.contains(&"--reserved-sectors");
    assert_sound(&image, &Expect { explicit_reserved, ..Expect::default() });
    fs::read(&image).unwrap()
}

fn assert_all_differ(ids: &[u32]) {
    let mut sorted = ids.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), ids.len(), "{ids:08X?}");
}
