//! Images on file systems of their own: blocks that source and image share, and room on a small
//! disk.

mod support;

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt, symlink};
use std::path::Path;

use serde_json::Value;
use support::{Expect, Mounted, Ran, Tool, TreeBuilder, assert_sound, fsck, mkfatimg, scratch};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// What makes images of equal trees equal wherever the trees lie.
const FIXED: [&str; 4] = ["--mtime", "2024-02-29T12:00:00Z", "--volume-id", "C10ED001"];

/// The bytes of the files of [`cloneable_tree`] that are large enough, in whole blocks of 4 KiB.
const WHOLE_BLOCKS_BYTES: u64 = MIB + (MIB + 4096) + 5 * MIB + 12 * MIB;

/// Files around the size from which on files are cloned, and a sparse one.
fn cloneable_tree(root: &Path) -> TreeBuilder {
    let tree = TreeBuilder::new(root);
    tree.filled("a little less", MIB as usize - 1).filled("exactly", MIB as usize);
    tree.filled("sub/one block more", MIB as usize + 4096 + 4095);
    tree.filled("sub/large", 5 * MIB as usize + 123);
    tree.filled("sub/small", 5000).file("empty", "");
    let sparse = File::create(tree.root().join("sparse")).unwrap();
    sparse.set_len(12 * MIB + 5).unwrap();
    sparse.write_all_at(&[0xA5; 5000], 3 * MIB + 77).unwrap();
    sparse.write_all_at(&[0x5A; 5], 12 * MIB).unwrap();
    tree.settle();
    tree
}

/// The report of a build that must work.
fn build(source: &Path, image: &Path, arguments: &[&str]) -> Value {
    let mut command = mkfatimg();
    command.arg("--from").arg(source).args(["-q", "--json"]).args(FIXED).args(arguments);
    let ran: Ran = command.arg(image).output().unwrap().into();
    assert_eq!(ran.status, Some(0), "{arguments:?}: {}", ran.stderr);
    serde_json::from_str(&ran.stdout).unwrap()
}

fn written(report: &Value, what: &str) -> u64 {
    report["written"][what].as_u64().unwrap()
}

/// Not `assert_eq`, which would print both images; and slices are compared faster than bytes.
fn assert_same(image: &Path, expected: &[u8], what: &str) {
    let bytes = fs::read(image).unwrap();
    if bytes != expected {
        let differing = bytes.iter().zip(expected).position(|(one, other)| one != other);
        panic!("{what}: byte {differing:?} of {} differs from {}", bytes.len(), expected.len());
    }
}

/// What holds on every disk that can clone.
fn assert_clones(disk: &Mounted, elsewhere: &Path) {
    let plain = cloneable_tree(&elsewhere.join("plain source"));
    let tree = cloneable_tree(&disk.path("source"));
    let fsck = Tool::find("fsck.fat");
    let image = disk.path("image");
    let plain_image = elsewhere.join("plain image");
    for arguments in [
        &[][..],
        &["--fat-type", "32", "--cluster-size", "4K"],
        &["--sector-size", "4096", "--size", "400M"],
        &["--cluster-size", "8K", "--size", "60000256"],
    ] {
        let report = build(plain.root(), &plain_image, arguments);
        assert_eq!(written(&report, "cloned_bytes"), 0, "{arguments:?}: from a disk that cannot");
        let expected = fs::read(&plain_image).unwrap();
        for how in [
            &["--jobs", "1"][..],
            &["--jobs", "8", "--verify"],
            &["--jobs", "2", "--direct", "always"],
        ] {
            let arguments = [arguments, how].concat();
            let report = build(tree.root(), &image, &arguments);
            assert_eq!(written(&report, "cloned_bytes"), WHOLE_BLOCKS_BYTES, "{arguments:?}");
            let parts = ["bytes", "hole_bytes", "cloned_bytes"].map(|part| written(&report, part));
            assert_eq!(parts.iter().sum::<u64>(), expected.len() as u64, "{arguments:?}");
            assert_same(&image, &expected, &arguments.join(" "));
        }
        let source = Some(tree.root().to_path_buf());
        assert_sound(&image, &Expect { source, ..Expect::default() });
        if let Some(fsck) = &fsck {
            fsck::assert_accepts(fsck, &image);
        }
        // Room of its own was asked for.
        let report = build(tree.root(), &image, &[arguments, &["--preallocate"]].concat());
        assert_eq!(written(&report, "cloned_bytes"), 0, "{arguments:?}: --preallocate");
        assert_same(&image, &expected, "--preallocate");
        // From another file system nothing can be shared.
        let report = build(plain.root(), &image, arguments);
        assert_eq!(written(&report, "cloned_bytes"), 0, "{arguments:?}: from elsewhere");
        assert_same(&image, &expected, "from elsewhere");
        // Nor into a stream.
        let mut command = mkfatimg();
        command.arg("--from").arg(tree.root()).arg("-q").args(FIXED).args(arguments).arg("-");
        assert!(command.output().unwrap().stdout == expected, "{arguments:?}: as a stream");
    }
    assert_unaligned_are_copied(disk, elsewhere);
    assert_shared_names_are_cloned_each(disk, elsewhere);
    assert_image_is_its_own(disk);
}

/// Clusters of 512 bytes: files that do not begin on a block are copied.
fn assert_unaligned_are_copied(disk: &Mounted, elsewhere: &Path) {
    let (image, plain_image) = (disk.path("image"), elsewhere.join("plain image"));
    let arguments = ["--cluster-size", "512", "--fat-type", "32"];
    build(&elsewhere.join("plain source"), &plain_image, &arguments);
    let volume = support::invariants::read(&plain_image, 0).unwrap();
    let mut aligned_bytes = 0;
    let mut unaligned = 0;
    for entry in volume.entries.iter().filter(|entry| u64::from(entry.size) >= MIB) {
        match volume.geometry.cluster_position(entry.first_cluster).is_multiple_of(4096) {
            true => aligned_bytes += u64::from(entry.size) / 4096 * 4096,
            false => unaligned += 1,
        }
    }
    assert!(unaligned > 0, "every file lies on a block by chance");
    let report = build(&disk.path("source"), &image, &arguments);
    assert_eq!(written(&report, "cloned_bytes"), aligned_bytes);
    assert_same(&image, &fs::read(&plain_image).unwrap(), "clusters of 512 bytes");
}

/// A hard link and a symbolic link: the same blocks are in the image once more.
fn assert_shared_names_are_cloned_each(disk: &Mounted, elsewhere: &Path) {
    for root in [elsewhere.join("plain source"), disk.path("source")] {
        fs::hard_link(root.join("exactly"), root.join("hard link")).unwrap();
        symlink("sub/large", root.join("symbolic link")).unwrap();
    }
    let (image, plain_image) = (disk.path("image"), elsewhere.join("plain image"));
    build(&elsewhere.join("plain source"), &plain_image, &[]);
    let report = build(&disk.path("source"), &image, &["--verify"]);
    assert_eq!(written(&report, "cloned_bytes"), WHOLE_BLOCKS_BYTES + MIB + 5 * MIB);
    assert_same(&image, &fs::read(&plain_image).unwrap(), "links");
}

/// What happens to the source later does not happen to the image, and the other way round.
fn assert_image_is_its_own(disk: &Mounted) {
    let (image, file) = (disk.path("image"), disk.path("source/sub/large"));
    let (before, contents) = (fs::read(&image).unwrap(), fs::read(&file).unwrap());
    let changed = File::options().write(true).open(&file).unwrap();
    changed.write_all_at(&[0xFF; 100_000], 4096).unwrap();
    assert_same(&image, &before, "after a change of the source");
    changed.write_all_at(&contents, 0).unwrap();
    let overwritten = File::options().write(true).open(&image).unwrap();
    overwritten.write_all_at(&vec![0xEE; before.len()], 0).unwrap();
    assert!(fs::read(&file).unwrap() == contents, "the source changed with the image");
}

#[test]
fn large_files_are_cloned_on_xfs() {
    let folder = scratch();
    let Some(disk) = Mounted::xfs(folder.path().join("disk")) else { return };
    assert_clones(&disk, folder.path());
}

#[test]
fn large_files_are_cloned_on_btrfs() {
    let folder = scratch();
    let Some(disk) = Mounted::btrfs(folder.path().join("disk")) else { return };
    assert_clones(&disk, folder.path());
}

/// Two sources, one of which lies on the image's disk.
#[test]
fn of_two_sources_that_on_the_same_disk_is_cloned() {
    let folder = scratch();
    let Some(disk) = Mounted::xfs(folder.path().join("disk")) else { return };
    let plain = TreeBuilder::new(folder.path().join("plain"));
    plain.filled("first", 2 * MIB as usize).filled("z last", 2 * MIB as usize).settle();
    let tree = TreeBuilder::new(disk.path("source"));
    tree.filled("middle", 3 * MIB as usize + 1).settle();
    let image = disk.path("image");
    let mut command = mkfatimg();
    command.arg("--from").arg(plain.root()).arg("--from").arg(tree.root());
    let ran: Ran = command.args(["-q", "--json", "--verify"]).arg(&image).output().unwrap().into();
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(written(&report, "cloned_bytes"), 3 * MIB);
    assert_sound(&image, &Expect::default());
}

/// An ext4 of 16 MiB.
fn small_disk(folder: &Path) -> Option<Mounted> {
    Mounted::ext4(folder.join("disk"), 16 * MIB)
}

#[test]
fn an_image_without_room_is_refused_before_any_contents_are_read() {
    let folder = scratch();
    let Some(disk) = small_disk(folder.path()) else { return };
    let tree = TreeBuilder::new(folder.path().join("source"));
    for number in 0..20 {
        tree.filled(&format!("a file {number}"), MIB as usize + number);
    }
    tree.settle();
    for (jobs, old) in [("1", false), ("2", false), ("8", true)] {
        if old {
            fs::write(disk.path("out.img"), "old image").unwrap();
        }
        let command = |mut command: std::process::Command| {
            command.arg("--from").arg(tree.root()).args(["--jobs", jobs, "out.img"]);
            Ran::from(command.current_dir(&disk.at).output().unwrap())
        };
        let both = "; the old one stays until the new one is complete, so both need room";
        let both = if old { both } else { "" };
        let refused = |ran: Ran| {
            assert_eq!(ran.stderr, format!("mkfatimg: out.img: no room left for it{both}\n"));
            assert_eq!((ran.status, ran.stdout.as_str()), (Some(1), ""));
            let names = fs::read_dir(&disk.at).unwrap().count();
            assert_eq!(names, usize::from(old));
        };
        refused(command(mkfatimg()));
        if let Some(strace) = Tool::find("strace") {
            let log = folder.path().join("log");
            let mut traced = strace.command();
            let reads =
                "trace=read,readv,pread64,preadv,preadv2,copy_file_range,sendfile,splice,mmap";
            traced.args(["-f", "-y", "-e", &format!("{reads},pwrite64,fallocate"), "-o"]);
            traced.arg(&log).arg(env!("CARGO_BIN_EXE_mkfatimg"));
            refused(command(traced));
            let log = fs::read_to_string(&log).unwrap();
            assert!(log.contains(" fallocate("), "{log}");
            assert!(!log.contains("/source/a file "), "{log}");
            assert!(!log.contains(" pwrite64("), "{log}");
        }
    }
    assert_eq!(fs::read(disk.path("out.img")).unwrap(), b"old image");
    // The room is there again.
    fs::remove_file(disk.path("out.img")).unwrap();
    let small = TreeBuilder::new(folder.path().join("small source"));
    small.filled("file", 10 * MIB as usize).settle();
    build(small.root(), &disk.path("out.img"), &[]);
    let expect = Expect { source: Some(small.root().to_path_buf()), ..Expect::default() };
    assert_sound(&disk.path("out.img"), &expect);
}

#[test]
fn free_clusters_take_no_room() {
    let folder = scratch();
    let Some(disk) = small_disk(folder.path()) else { return };
    let tree = TreeBuilder::new(folder.path().join("source"));
    tree.filled("file", 2 * MIB as usize).filled("sub/small", 100);
    File::create(tree.root().join("sparse")).unwrap().set_len(4 * MIB).unwrap();
    tree.settle();
    let image = disk.path("out.img");
    // The last is 25 times as large as the disk.
    for arguments in [&[][..], &["--size", "12M"], &["--size", "400M", "--fat-type", "32"]] {
        for direct in ["never", "always"] {
            let report = build(tree.root(), &image, &[arguments, &["--direct", direct]].concat());
            assert_eq!(report["written"]["room"], "written");
            let (bytes, holes) = (written(&report, "bytes"), written(&report, "hole_bytes"));
            let found = fs::metadata(&image).unwrap();
            assert_eq!(bytes + holes, found.len(), "{arguments:?}");
            assert!(bytes < 2 * MIB + 200 * KIB, "{arguments:?}: {bytes} bytes written");
            let taken = found.blocks() * 512;
            // The blocks that were written, and a few in which ext4 notes where they lie.
            assert!((bytes..=bytes + 8 * KIB).contains(&taken), "{taken} taken for {bytes}");
            let source = Some(tree.root().to_path_buf());
            assert_sound(&image, &Expect { source, ..Expect::default() });
            fs::remove_file(&image).unwrap();
        }
    }
}
