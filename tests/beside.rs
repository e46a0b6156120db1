//! What is told beside the image: where files lie, which blocks count, what the image's digest is.

mod support;

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};

use mkfatimg::Delivery;
use mkfatimg::report::depfile::Depfile;
use mkfatimg::sink::Output;
use mkfatimg::verify::Depth;
use serde_json::{Value, json};
use support::invariants;
use support::{Expect, Ran, Tool, TreeBuilder, Workplace, fsck, hexadecimal, make_fifo, sha256};

const MIB: u64 = 1 << 20;
const BLOCK_BYTES: usize = 4096;

/// A folder with a source `src` of small, large, empty and sparse files.
struct Scene {
    place: Workplace,
}

impl Scene {
    fn new() -> Self {
        let place = Workplace::new();
        let source = TreeBuilder::new(place.path("src"));
        source.filled("large", 3 * MIB as usize + 5).filled("sub/small", 700).file("empty", "");
        source.filled("sub/deep/two blocks", 2 * BLOCK_BYTES).directory("nothing");
        let sparse = File::create(source.root().join("sparse")).unwrap();
        sparse.set_len(8 * MIB).unwrap();
        sparse.write_all_at(b"in the middle", 3 * MIB).unwrap();
        source.settle();
        Self { place }
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        let ran = self.place.run(&[&["--from", "src"], arguments].concat());
        assert_eq!(ran.status, Some(0), "{arguments:?}: {}", ran.stderr);
        ran
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.place.path(name)).unwrap()
    }

    /// What most runs make.
    fn image(&self) -> PathBuf {
        self.place.path("out.img")
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&self.read(name)).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.place.folder.path()).unwrap();
        let name = |entry: fs::DirEntry| entry.file_name().into_string().unwrap();
        let mut names: Vec<String> = entries.map(|entry| name(entry.unwrap())).collect();
        names.sort();
        names
    }
}

#[test]
fn the_digest_is_that_of_the_bytes_that_are_written() {
    let scene = Scene::new();
    for arguments in [
        &["--jobs", "1"][..],
        &["--jobs", "7"],
        &["--jobs", "3", "--direct", "always"],
        &["--size", "80000000", "--preallocate"],
    ] {
        let ran = scene.run(&[arguments, &["--digest", "sha256", "--json", "out.img"]].concat());
        let digest = sha256(&scene.read("out.img"));
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(report["written"]["sha256"], json!(digest), "{arguments:?}");
        assert!(ran.stderr.ends_with(&format!("\n  sha256 {digest}\n")), "{}", ran.stderr);
        let bytes = ["bytes", "hole_bytes"].map(|part| report["written"][part].as_u64().unwrap());
        assert_eq!(bytes.iter().sum::<u64>(), report["volume"]["bytes"].as_u64().unwrap());
    }
}

#[test]
fn a_stream_has_the_same_digest_as_a_file() {
    let scene = Scene::new();
    scene.run(&["out.img"]);
    let digest = sha256(&scene.read("out.img"));
    let mut command = scene.place.command(&["--from", "src", "--digest", "sha256", "-"]);
    let output = command.output().unwrap();
    assert_eq!(sha256(&output.stdout), digest);
    assert!(String::from_utf8_lossy(&output.stderr).ends_with(&format!("\n  sha256 {digest}\n")));
    // Nobody else would tell it.
    let mut command = scene.place.command(&["--from", "src", "--digest", "sha256", "-q", "-"]);
    let output = command.output().unwrap();
    assert_eq!(sha256(&output.stdout), digest);
    assert_eq!(String::from_utf8_lossy(&output.stderr), format!("{digest}  -\n"));
    let told_there = ["--digest", "sha256", "--map", "/dev/stdout", "-q", "out.img"];
    let mut command = scene.place.command(&[&["--from", "src"], &told_there[..]].concat());
    let output = command.output().unwrap();
    assert!(serde_json::from_slice::<Value>(&output.stdout).unwrap().is_object());
    assert_eq!(String::from_utf8_lossy(&output.stderr), format!("{digest}  out.img\n"));
}

#[test]
fn a_digest_is_printed_for_sha256sum_to_check() {
    let scene = Scene::new();
    let checker = Tool::find("sha256sum");
    for name in ["out.img", "my image", "back\\slash", "two\nlines", "two\rlines"] {
        for more in [&[][..], &["-q"], &["-q", "--if-changed"]] {
            let ran = scene.run(&[more, &["--digest", "sha256", name]].concat());
            assert_eq!(ran.status, Some(0), "{}", ran.stderr);
            assert_eq!(ran.stderr.contains("\n  sha256 "), more.is_empty(), "{}", ran.stderr);
            assert!(ran.stdout.contains(&sha256(&scene.read(name))), "{}", ran.stdout);
            let Some(checker) = &checker else { continue };
            let mut command = checker.command();
            command.current_dir(scene.place.folder.path()).args(["--check", "--strict"]);
            fs::write(scene.place.path("sums"), &ran.stdout).unwrap();
            let checked: Ran = command.arg("sums").output().unwrap().into();
            assert_eq!(checked.status, Some(0), "{name:?}: {}{}", ran.stdout, checked.stderr);
        }
    }
    let ran = scene.run(&["--digest", "sha256", "-q", "--json", "out.img"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["written"]["sha256"], json!(sha256(&scene.read("out.img"))));
    assert_eq!(ran.stderr, "");
}

#[test]
fn nothing_is_cloned_when_every_byte_is_wanted_and_v_says_so() {
    let scene = Scene::new();
    for flags in [&["--digest", "sha256"][..], &["--bmap", "out.bmap"]] {
        let ran = scene.run(&[flags, &["-v", "out.img"]].concat());
        let line =
            "nothing cloned: every byte is read for the digest or the block map (--digest, --bmap)";
        assert!(ran.stderr.lines().any(|told| told == line), "{}", ran.stderr);
    }
}

/// Each file is where the map says, in the image and on the disk.
#[test]
fn the_map_leads_to_every_file() {
    let scene = Scene::new();
    for arguments in [
        &["--fat-type", "12", "--cluster-size", "8K"][..],
        &["--fat-type", "32", "--size", "80M", "--hidden-sectors", "2048"],
        &["--sector-size", "4096", "--hidden-sectors", "256"],
    ] {
        scene.run(&[arguments, &["--map", "out.json", "out.img"]].concat());
        let (image, map) = (scene.read("out.img"), scene.json("out.json"));
        let volume = invariants::read(&scene.place.path("out.img"), 0).unwrap();
        let before = map["volume_at_disk_byte"].as_u64().unwrap();
        let hidden = arguments.windows(2).find(|pair| pair[0] == "--hidden-sectors");
        let hidden: u64 = hidden.map_or(0, |pair| pair[1].parse().unwrap());
        let sector_bytes = if arguments.contains(&"4096") { 4096 } else { 512 };
        assert_eq!(before, hidden * sector_bytes);
        assert_eq!(map["image_bytes"], json!(image.len()));
        let paths = |kind: &str| -> Vec<&str> {
            map[kind].as_array().unwrap().iter().map(|e| e["path"].as_str().unwrap()).collect()
        };
        assert_eq!(
            paths("files"),
            ["/empty", "/large", "/sparse", "/sub/small", "/sub/deep/two blocks"]
        );
        assert_eq!(paths("directories"), ["/nothing", "/sub", "/sub/deep"]);
        for entry in map["files"].as_array().unwrap() {
            let path = entry["path"].as_str().unwrap();
            let contents = scene.read(&format!("src{path}"));
            let found = volume.find(path).unwrap();
            assert_eq!(entry["bytes"], json!(contents.len()), "{path}");
            assert_eq!(entry["first_cluster"], json!(found.first_cluster), "{path}");
            if contents.is_empty() {
                assert_eq!((&entry["at_byte"], &entry["clusters"]), (&Value::Null, &json!(0)));
                continue;
            }
            let at = entry["at_byte"].as_u64().unwrap();
            assert_eq!(entry["at_disk_byte"], json!(at + before), "{path}");
            assert!(image[at as usize..][..contents.len()] == contents, "{path} is elsewhere");
            let cluster_bytes = map["cluster_bytes"].as_u64().unwrap();
            let clusters = (contents.len() as u64).div_ceil(cluster_bytes);
            assert_eq!(entry["clusters"], json!(clusters), "{path}");
        }
        for entry in map["directories"].as_array().unwrap() {
            let at = entry["at_byte"].as_u64().unwrap() as usize;
            assert_eq!(&image[at..at + 11], b".          ", "{}", entry["path"]);
        }
    }
}

/// The map is described to the last field, and nothing passes that is not.
#[test]
fn maps_are_as_their_schema_says() {
    let scene = Scene::new();
    let schema = support::schema::of("docs/map.schema.json");
    let mut maps = Vec::new();
    for arguments in [&[][..], &["--fat-type", "32", "--size", "80M", "--hidden-sectors", "63"]] {
        scene.run(&[arguments, &["--map", "out.json", "out.img"]].concat());
        maps.push(scene.json("out.json"));
    }
    let Some(verdicts) = support::schema::judged(&schema, &maps) else { return };
    assert_eq!(verdicts, [[""; 0], [""; 0]]);
    let mut wrong = Vec::new();
    for (field, value) in [("unknown", json!(1)), ("image_bytes", json!("1")), ("schema", json!(2))]
    {
        let mut map = maps[0].clone();
        map[field] = value;
        wrong.push(map);
    }
    for field in ["path", "bytes", "at_byte", "at_disk_byte", "first_cluster", "clusters"] {
        let mut map = maps[0].clone();
        map["files"][1].as_object_mut().unwrap().remove(field);
        wrong.push(map);
    }
    let verdicts = support::schema::judged(&schema, &wrong).unwrap();
    assert!(verdicts.iter().all(|faults| faults.len() == 1), "{verdicts:#?}");
}

/// A block map as bmaptool wants it: figures, ranges and their digests, and its own.
fn assert_block_map(bmap: &str, image: &[u8], free_from: usize) {
    let field = |name: &str| {
        let (_, rest) = bmap.split_once(&format!("<{name}>")).unwrap();
        rest.split_once("</").unwrap().0.trim().to_owned()
    };
    assert!(bmap.starts_with("<?xml version=\"1.0\" ?>\n<bmap version=\"2.0\">\n"));
    assert_eq!(field("ImageSize"), image.len().to_string());
    assert_eq!(field("BlockSize"), "4096");
    assert_eq!(field("BlocksCount"), image.len().div_ceil(BLOCK_BYTES).to_string());
    let mapped = free_from.div_ceil(BLOCK_BYTES);
    assert_eq!(field("MappedBlocksCount"), mapped.to_string());
    let checksum = field("BmapFileChecksum");
    assert_eq!(sha256(bmap.replace(&checksum, &"0".repeat(64)).as_bytes()), checksum);
    let bytes = &image[..(mapped * BLOCK_BYTES).min(image.len())];
    let blocks = if mapped == 1 { "0".to_owned() } else { format!("0-{}", mapped - 1) };
    let range = format!("<Range chksum=\"{}\"> {blocks} </Range>", sha256(bytes));
    assert_eq!(bmap.matches("<Range").count(), 1);
    assert!(bmap.contains(&range), "{bmap}");
}

#[test]
fn the_block_map_holds_all_but_free_clusters() {
    let scene = Scene::new();
    for arguments in [
        &["--size", "80M"][..],
        &["--size", "80M", "--jobs", "5"],
        // The last block is not whole.
        &["--size", "12M", "--fat-type", "12", "--cluster-size", "8K", "--reserved-sectors", "1"],
        &["--fat-type", "32", "--cluster-size", "512", "--size", "40000512"],
        &[],
    ] {
        let ran = scene.run(&[arguments, &["--bmap", "out.bmap", "--json", "out.img"]].concat());
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        let regions = report["regions"].as_array().unwrap();
        let free = regions.iter().find(|region| region["name"] == "free").unwrap();
        let bmap = String::from_utf8(scene.read("out.bmap")).unwrap();
        assert_block_map(&bmap, &scene.read("out.img"), free["at_byte"].as_u64().unwrap() as usize);
    }
}

/// A loop device over a file; detached with the value.
struct Loop {
    losetup: Tool,
    device: String,
}

impl Loop {
    /// `None` where loop devices are not to be had.
    fn over(file: &Path) -> Option<Self> {
        let losetup = Tool::find("losetup")?;
        let ran = losetup.run([Path::new("--find"), Path::new("--show"), file]);
        if ran.status != Some(0) {
            support::skip(&format!("no loop device is to be had: {}", ran.stderr.trim_end()));
            return None;
        }
        Some(Self { losetup, device: ran.stdout.trim_end().to_owned() })
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        self.losetup.run(["--detach", &self.device]);
    }
}

/// What was on a device before does not show through, though most of the image is not copied.
#[test]
fn bmaptool_copies_onto_a_device_full_of_garbage() {
    let Some(bmaptool) = Tool::find("bmaptool") else { return };
    let scene = Scene::new();
    // Large FATs that are zero for the most part, and a directory with room.
    scene.run(&["--size", "300M", "--bmap", "out.bmap", "--map", "map.json", "out.img"]);
    let garbage: Vec<u8> = (0..MIB).map(|at| (at % 253) as u8 | 1).collect();
    let target = scene.place.path("target");
    fs::write(&target, garbage.repeat(300)).unwrap();
    let Some(device) = Loop::over(&target) else { return };
    let place = |name: &str| scene.place.path(name).into_os_string();
    let words = ["copy".into(), "--bmap".into(), place("out.bmap"), place("out.img")];
    let ran = bmaptool.run(words.into_iter().chain([device.device.clone().into()]));
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    drop(device);
    let (image, copy) = (scene.read("out.img"), fs::read(&target).unwrap());
    assert!(copy != image, "everything was copied");
    let source = Some(scene.place.path("src"));
    let breaches = invariants::check(&target, &Expect { source, ..Expect::default() }).unwrap();
    let told: Vec<String> = breaches.iter().map(ToString::to_string).collect();
    // The free clusters hold what was there; nothing else is amiss.
    assert!(
        !told.is_empty() && told.iter().all(|line| line.ends_with("in no chain, but not zero"))
    );
    if let Some(fsck) = Tool::find("fsck.fat") {
        fsck::assert_accepts(&fsck, &target);
    }
    // A range that is not what its digest says is refused.
    let mut changed = image;
    changed[5000] ^= 1;
    fs::write(scene.place.path("out.img"), changed).unwrap();
    let words = ["copy".into(), "--bmap".into(), place("out.bmap"), place("out.img")];
    let ran = bmaptool.run(words.into_iter().chain([target.into_os_string()]));
    assert_ne!(ran.status, Some(0));
}

#[test]
fn companions_of_a_stream_are_written_when_it_ends() {
    let scene = Scene::new();
    scene.run(&["out.img"]);
    let image = scene.read("out.img");
    let arguments = ["--from", "src", "--map", "m", "--bmap", "b", "-"];
    let output = scene.place.command(&arguments).output().unwrap();
    assert!(output.status.success() && output.stdout == image);
    let ran = scene.run(&["--map", "m2", "--bmap", "b2", "--json", "out.img"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["status"], "written");
    assert_eq!(scene.read("b"), scene.read("b2"));
    let mut map = scene.json("m");
    assert_eq!(map["image"], "standard output");
    map["image"] = json!("out.img");
    assert_eq!(map, scene.json("m2"));
}

#[test]
fn companions_can_be_streams() {
    let scene = Scene::new();
    scene.run(&["--map", "expected", "out.img"]);
    let ran = scene.run(&["-q", "--map", "/dev/stdout", "out.img"]);
    assert_eq!(ran.stdout.as_bytes(), scene.read("expected"));
    make_fifo(&scene.place.path("fifo"));
    let fifo = scene.place.path("fifo");
    let reader = std::thread::spawn(move || fs::read(fifo).unwrap());
    scene.run(&["--map", "fifo", "out.img"]);
    assert_eq!(reader.join().unwrap(), scene.read("expected"));
}

/// An older companion keeps its permissions, and stays as it was when there is no new image.
#[test]
fn companions_come_and_stay_with_the_image() {
    let scene = Scene::new();
    scene.run(&["--map", "m", "--bmap", "b", "--depfile", "d", "out.img"]);
    assert_eq!(scene.names(), ["b", "d", "m", "out.img", "src"]);
    let mode = |name: &str| fs::metadata(scene.place.path(name)).unwrap().permissions().mode();
    fs::set_permissions(scene.place.path("m"), Permissions::from_mode(0o640)).unwrap();
    scene.run(&["--map", "m", "out.img"]);
    assert_eq!(mode("m") & 0o777, 0o640);
    let before = ["b", "d", "m", "out.img"].map(|name| scene.read(name));
    TreeBuilder::new(scene.place.path("src")).file("a:b", "");
    for arguments in [
        // Refused by the source.
        &["--map", "m", "--bmap", "b", "--depfile", "d", "out.img"][..],
        // No room for a companion, when the image is complete.
        &["--invalid-names", "skip", "--map", "m", "--bmap", "/dev/full", "out.img"],
        &["--invalid-names", "skip", "--map", "/dev/full", "--depfile", "d", "out.img"],
    ] {
        let ran = scene.place.run(&[&["--from", "src"], arguments].concat());
        assert_ne!(ran.status, Some(0));
        assert_eq!(["b", "d", "m", "out.img"].map(|name| scene.read(name)), before);
        assert_eq!(scene.names(), ["b", "d", "m", "out.img", "src"], "something is left");
    }
}

/// A companion that cannot be is told before the first byte of the image is written.
#[test]
fn companions_are_opened_before_the_image_is_written() {
    let scene = Scene::new();
    let arguments = ["--from", "src", "--map", "/proc/none of ours", "-"];
    let ran: Ran = scene.place.command(&arguments).output().unwrap().into();
    let line = "/proc/none of ours: cannot be written: no such file or directory";
    assert_eq!((ran.status, ran.stdout.len()), (Some(1), 0));
    assert_eq!(ran.stderr, format!("mkfatimg: {line}\n"));
}

/// The library's own: what is wanted is enough to have it done, and what cannot be right is refused.
#[test]
fn a_delivery_needs_no_other_switch() {
    let scene = Scene::new();
    let at = |name: &str| Output::at(&scene.place.path(name)).unwrap();
    let request = support::request(&scene.place.path("src"));
    let delivery = Delivery {
        digest: true,
        block_map: Some(at("b")),
        ..Delivery::of(at("out.img"), Depth::Structure)
    };
    let report = mkfatimg::build(&request, &delivery, &()).unwrap();
    let digests = report.written.unwrap().writing.digests;
    assert_eq!(
        digests.image.map(|digest| hexadecimal(&digest)),
        Some(sha256(&scene.read("out.img")))
    );
    assert!(String::from_utf8(scene.read("b")).unwrap().contains("<Range chksum="));
    let rule = Depfile { target: "out.img".into(), inputs: Vec::new() };
    let delivery = Delivery {
        depfile: Some((rule, at("d"))),
        ..Delivery::of(at("other.img"), Depth::Structure)
    };
    // Of these sources nobody noted what was walked.
    assert!(mkfatimg::build(&request, &delivery, &()).is_err());
    assert_eq!(scene.names(), ["b", "out.img", "src"]);
    let mut request = request;
    request.sources.note_walked = true;
    mkfatimg::build(&request, &delivery, &()).unwrap();
    assert_eq!(scene.names(), ["b", "d", "other.img", "out.img", "src"]);
}

#[test]
fn a_companion_inside_the_source_is_left_out() {
    let scene = Scene::new();
    let arguments = ["--map", "src/map.json", "--depfile", "src/d", "src/out.img"];
    scene.run(&arguments);
    let first = scene.read("src/out.img");
    let ran = scene.run(&[&arguments[..], &["-v"]].concat());
    for name in ["map.json", "d", "out.img"] {
        let line = format!("note: src/{name}: output of this build left out");
        assert!(ran.stderr.contains(&line), "{}", ran.stderr);
    }
    assert_eq!(scene.read("src/out.img"), first);
}

#[test]
fn companions_that_meet_are_refused_before_anything_is_written() {
    let scene = Scene::new();
    fs::write(scene.place.path("list"), "").unwrap();
    fs::write(scene.place.path("code"), "").unwrap();
    fs::hard_link(scene.place.path("list"), scene.place.path("same list")).unwrap();
    let names = scene.names();
    for (arguments, line) in [
        (&["--map", "x", "--bmap", "x"][..], "--bmap x: is --map as well; name another file"),
        (&["--map", "x", "--bmap", "./x"], "--bmap ./x: is --map as well; name another file"),
        (&["--map", "out.img"], "--map out.img: is the image as well; name another file"),
        (
            &["--exclude-from", "list", "--map", "same list"],
            "--map same list: is --exclude-from as well; name another file",
        ),
        (
            &["--boot-code", "code", "--bmap", "code"],
            "--bmap code: is --boot-code as well; name another file",
        ),
        (&["--map", "src"], "src: is a directory; name a file in it"),
        (&["--map", "none/x"], "none/x: there is no directory none; make it first"),
        (
            &["--json", "--map", "/dev/stdout"],
            "--map and --json cannot both go to standard output; name a file",
        ),
        (&["--bmap", "-"], "--bmap -: name a file; ./- is one of that name"),
        (
            &["--dry-run", "--bmap", "b"],
            "--bmap goes with an image that is written; leave out --dry-run",
        ),
        (
            &["--dry-run", "--digest", "sha256"],
            "--digest goes with an image that is written; leave out --dry-run",
        ),
    ] {
        let ran = scene.place.run(&[&["--from", "src", "out.img"], arguments].concat());
        assert_eq!(ran.stderr, format!("mkfatimg: {line}\n"));
        assert_ne!(ran.status, Some(0));
        assert_eq!(scene.names(), names);
    }
    let ran = scene.place.run(&["--from", "src", "--map", "/dev/stdout", "-"]);
    assert_eq!(
        ran.stderr,
        "mkfatimg: --map and the image cannot both go to standard output; name a file\n"
    );
}

#[test]
fn an_image_that_would_come_out_the_same_stays() {
    let scene = Scene::new();
    let arguments = ["--size", "80M", "--if-changed", "--digest", "sha256", "--bmap", "b"];
    let keep = |more: &[&str]| {
        let ran = scene.run(&[&arguments[..], more, &["--json", "out.img"]].concat());
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        (report, ran.stderr)
    };
    let (report, _) = keep(&[]);
    assert_eq!(report["written"]["unchanged"], json!(false));
    support::set_time(&scene.image(), 1_000_000_000);
    let inode = |path: &Path| std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).unwrap());
    let (bytes, number) = (scene.read("out.img"), inode(&scene.image()));
    let bmap = scene.read("b");
    for more in [&["--jobs", "1"][..], &["--jobs", "6", "--verify"], &["--sync"]] {
        let (report, stderr) = keep(more);
        assert_eq!(report["written"]["unchanged"], json!(true), "{more:?}");
        assert_eq!(report["written"]["bytes"], json!(0));
        assert_eq!(report["written"]["sha256"], json!(sha256(&bytes)));
        assert!(stderr.contains("\n  unchanged, as "), "{stderr}");
        assert_eq!(report["written"]["page_cache"], "unused");
        let time = fs::metadata(scene.image()).unwrap().modified().unwrap();
        let seconds = time.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        assert_eq!((seconds, inode(&scene.image())), (1_000_000_000, number), "{more:?}");
        assert_eq!(scene.read("b"), bmap);
    }
}

/// Whatever differs, wherever it is, is written anew.
#[test]
fn an_image_that_differs_anywhere_is_replaced() {
    let scene = Scene::new();
    let arguments = ["--size", "80M", "--jobs", "3", "--if-changed", "-q", "out.img"];
    scene.run(&arguments);
    let bytes = scene.read("out.img");
    // Boot sector, FAT, contents, a hole of a sparse file, free clusters, the last byte.
    let last = bytes.len() as u64 - 1;
    for at in [3, 40_000, 400_000, 2 * MIB, 8 * MIB, 60 * MIB, last] {
        let file = File::options().write(true).open(scene.image()).unwrap();
        file.write_all_at(&[bytes[at as usize] ^ 0x55], at).unwrap();
        scene.run(&arguments);
        assert!(scene.read("out.img") == bytes, "byte {at} was not mended");
    }
    for len in [0, last, last + 2] {
        File::options().write(true).open(scene.image()).unwrap().set_len(len).unwrap();
        scene.run(&arguments);
        assert!(scene.read("out.img") == bytes, "{len} bytes were not mended");
    }
    // And what is not a hole any more, but zero all the same, is the same.
    fs::write(scene.image(), &bytes).unwrap();
    support::set_time(&scene.image(), 1_000_000_000);
    scene.run(&arguments);
    let time = fs::metadata(scene.image()).unwrap().modified().unwrap();
    assert_eq!(time.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs(), 1_000_000_000);
}

#[test]
fn only_files_can_stay_as_they_are() {
    let scene = Scene::new();
    let ran = scene.place.run(&["--from", "src", "--if-changed", "-"]);
    assert_eq!(
        ran.stderr,
        "mkfatimg: --if-changed is for image files; standard output is a stream\n"
    );
    // Without the flag an equal image is replaced.
    scene.run(&["out.img"]);
    support::set_time(&scene.image(), 1_000_000_000);
    scene.run(&["out.img"]);
    let time = fs::metadata(scene.image()).unwrap().modified().unwrap();
    assert_ne!(time.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs(), 1_000_000_000);
}
