//! Each invariant bites: for every way to break a sound image the tests' own checker names the
//! broken invariant, and the verification that guards every build finds it too, and tells what it is.
//! `UPDATE=1 cargo test --test damage` writes anew what is told.

mod support;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs::{self, File};
use std::path::Path;

use jiff::Timestamp;
use mkfatimg::Delivery;
use mkfatimg::fat::kind::FatKind;
use mkfatimg::fat::label::Label;
use mkfatimg::plan::Plan;
use mkfatimg::plan::request::{Format, ImageSize, LabelWish, Request, Times};
use mkfatimg::sink::Output;
use mkfatimg::source::{Place, Sources};
use mkfatimg::verify::{self, Depth, Findings, FreeSpace, VerifyError};
use support::damage::{self, Damage};
use support::{Expect, TREE_SECONDS, TempDir, TreeBuilder, invariants, scratch};

/// Damages that the check of the structure, which guards every build, does not claim to see: they
/// are in contents and times, or exchange what is equal for the volume as such.
const UNSEEN_BY_STRUCTURE: [&str; 10] = [
    "a file in pieces",
    "a gap before the last file",
    ". with another stamp",
    "no ~ in a generated short name",
    "later than the epoch given",
    "another byte in a file",
    "another name",
    "another size",
    "another time",
    "slack in use",
];

/// Of each damage so many lines are kept in the golden list.
const MOST_TOLD: usize = 4;

/// What every damage needs, see `support::damage`.
fn tree(folder: &Path) -> TreeBuilder {
    let tree = TreeBuilder::new(folder.join("source"));
    tree.file("EMPTY.TXT", "")
        .filled("BIG.BIN", 70_001)
        .filled("OTHER.BIN", 5000)
        .file("a long name that takes three.text", "long")
        .file("a long name that takes these.text", "long too")
        .file("sub/inner/leaf.bin", "leaf")
        .file("sub/FILE", "file")
        .file("zz last file.bin", [1; 9000])
        .settle();
    tree
}

struct Sound {
    folder: TempDir,
    plan: Plan,
    bytes: Vec<u8>,
    expect: Expect,
}

fn sound(kind: FatKind, kib: u64, sector_bytes: u16) -> Sound {
    // Of more than a sector, so that one sector less or more shows.
    let align_bytes = u32::from(sector_bytes).max(2048) * 2;
    let folder = scratch();
    let tree = tree(folder.path());
    let request = Request {
        sources: Sources {
            places: vec![Place { path: tree.root().to_path_buf(), destination: Vec::new() }],
            ..Sources::default()
        },
        size: ImageSize::Bytes(kib << 10),
        format: Format {
            kind: Some(kind),
            sector_bytes,
            align_bytes: Some(align_bytes),
            label: Some(LabelWish { label: Label::new("TESTLABEL").unwrap(), made_capital: false }),
            volume_id: Some(0x1234_ABCD),
            ..Format::default()
        },
        times: Times {
            ceiling: Timestamp::from_second(TREE_SECONDS as i64).ok(),
            ..Times::default()
        },
        ..Request::default()
    };
    let image = folder.path().join("sound");
    let output = Output::at(&image).unwrap();
    mkfatimg::build(&request, &Delivery::of(output.clone(), Depth::Contents), &()).unwrap();
    let expect = Expect {
        fats: Some(2),
        volume_id: Some(0x1234_ABCD),
        label: Some(Some("TESTLABEL".to_owned())),
        hidden_sectors: Some(0),
        align_bytes: Some(align_bytes.into()),
        epoch_ceiling: Some(TREE_SECONDS),
        source: Some(tree.root().to_path_buf()),
        times: true,
        ..Expect::default()
    };
    support::assert_sound(&image, &expect);
    let bytes = fs::read(&image).unwrap();
    let plan = mkfatimg::plan(&request, &()).unwrap();
    Sound { folder, plan, bytes, expect }
}

/// Only what differs from the sound image is written: most of an image is zeros.
fn write_changes(path: &Path, bytes: &[u8], sound: &Path, sound_bytes: &[u8]) {
    use std::os::unix::fs::FileExt;
    fs::copy(sound, path).unwrap();
    let file = File::options().write(true).open(path).unwrap();
    file.set_len(bytes.len() as u64).unwrap();
    for (index, (block, old)) in bytes.chunks(4096).zip(sound_bytes.chunks(4096)).enumerate() {
        if block != old {
            file.write_all_at(block, index as u64 * 4096).unwrap();
        }
    }
}

/// What the verification finds wrong.
fn findings(plan: &Plan, image: &Path, depth: Depth) -> Option<Findings> {
    match verify::run(plan, &File::open(image).unwrap(), depth, FreeSpace::Zero, &()) {
        Ok(()) => None,
        Err(VerifyError::Differs(findings)) => Some(findings),
        Err(other) => panic!("{other}"),
    }
}

/// Whether the verification that guards a build finds anything wrong.
fn sees(plan: &Plan, image: &Path, depth: Depth) -> bool {
    findings(plan, image, depth).is_some()
}

/// What came of all damages to an image.
#[derive(Default)]
struct Bites {
    /// The invariants that were broken.
    bitten: BTreeSet<u8>,
    /// What the structure check did not see.
    unseen: BTreeSet<&'static str>,
    /// What is told of each damage, the first lines of it.
    told: String,
}

fn bites(kind: FatKind, kib: u64, sector_bytes: u16) -> Bites {
    let sound = sound(kind, kib, sector_bytes);
    let original = sound.folder.path().join("sound");
    let damaged = sound.folder.path().join("damaged");
    let volume = invariants::read(&original, 0).unwrap();
    let mut missed = Vec::new();
    let Bites { mut bitten, mut unseen, mut told } = Bites::default();
    let source = format!("{}/", sound.folder.path().display());
    let applies = |damage: &Damage| damage.kinds.contains(&volume.geometry.fat_type.bits());
    for damage in damage::all().into_iter().filter(applies) {
        let mut bytes = sound.bytes.clone();
        (damage.apply)(&mut bytes, &volume);
        write_changes(&damaged, &bytes, &original, &sound.bytes);
        let breaches = invariants::check(&damaged, &sound.expect).unwrap();
        if breaches.iter().any(|breach| breach.invariant == damage.invariant) {
            bitten.insert(damage.invariant);
        } else {
            missed.push(format!("checker: I{} {}: {breaches:?}", damage.invariant, damage.name));
        }
        let mut found = findings(&sound.plan, &damaged, Depth::Structure);
        let mut how = "";
        if found.is_none() {
            unseen.insert(damage.name);
            found = findings(&sound.plan, &damaged, Depth::Contents);
            how = " (--verify)";
        }
        let Some(found) = found else {
            missed.push(format!("verification: I{} {}", damage.invariant, damage.name));
            continue;
        };
        for finding in found.kept().iter().take(MOST_TOLD) {
            let line = finding.to_string().replace(&source, "");
            let _ = writeln!(told, "{kind} {}{how}: {line}", damage.name);
        }
        if let Some(more) = found.count().checked_sub(MOST_TOLD as u64).filter(|more| *more > 0) {
            let _ = writeln!(told, "{kind} {}{how}: and {more} more", damage.name);
        }
    }
    assert!(missed.is_empty(), "{kind}:\n{}", missed.join("\n"));
    Bites { bitten, unseen, told }
}

#[test]
fn every_damage_is_seen_on_every_type() {
    let mut all = Bites::default();
    for (kind, kib) in
        [(FatKind::Fat12, 2048), (FatKind::Fat16, 9 << 10), (FatKind::Fat32, 34 << 10)]
    {
        let more = bites(kind, kib, 512);
        all.bitten.extend(more.bitten);
        all.unseen.extend(more.unseen);
        all.told += &more.told;
    }
    assert_eq!(all.bitten, (1..=40).collect());
    assert_eq!(all.unseen, BTreeSet::from(UNSEEN_BY_STRUCTURE));
    assert_told(&all.told);
}

#[test]
fn every_damage_is_seen_on_large_sectors() {
    let Bites { unseen, .. } = bites(FatKind::Fat16, 20 << 10, 4096);
    assert_eq!(unseen, BTreeSet::from(UNSEEN_BY_STRUCTURE));
}

/// Each damage is told as what it is: the golden list has the lines, for a person to read.
fn assert_told(told: &str) {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/damages.txt");
    if std::env::var_os("UPDATE").is_some_and(|update| update == "1") {
        fs::write(&kept, told).unwrap();
    }
    let golden = fs::read_to_string(&kept).unwrap();
    let pairs = golden.lines().zip(told.lines());
    let differing: Vec<_> = pairs.filter(|(golden, told)| golden != told).take(8).collect();
    assert!(golden == told, "other findings: {differing:#?}");
}

/// What no invariant forbids and no build writes.
#[test]
fn what_only_the_plan_can_tell_is_seen_too() {
    use std::os::unix::fs::FileExt;
    for (kind, kib, sector_bytes) in [
        (FatKind::Fat12, 8 << 10, 4096),
        (FatKind::Fat16, 9 << 10, 512),
        (FatKind::Fat32, 34 << 10, 512),
    ] {
        let sound = sound(kind, kib, sector_bytes);
        let original = sound.folder.path().join("sound");
        let volume = invariants::read(&original, 0).unwrap();
        let root = &volume.directories[0];
        let label_at = volume.slot_position(root, 0).unwrap();
        let record_at = volume.slot_position(root, 1).unwrap();
        let damages: [(&str, u64, &[u8]); 4] = [
            ("bytes behind the volume", sound.bytes.len() as u64, b"x"),
            ("another time of the label", label_at + 22, &[0, 0]),
            ("a fine time of creation", record_at + 13, &[7]),
            ("the end of the first sector", u64::from(sector_bytes) - 3, b"x"),
        ];
        for (name, at, bytes) in damages {
            let damaged = sound.folder.path().join("damaged");
            fs::copy(&original, &damaged).unwrap();
            File::options().write(true).open(&damaged).unwrap().write_all_at(bytes, at).unwrap();
            assert!(sees(&sound.plan, &damaged, Depth::Contents), "{kind}: {name}");
        }
    }
}
