//! Each invariant bites: for every way to break a sound image the tests' own checker names the
//! broken invariant, and the verification that guards every build finds it too.

mod support;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;

use jiff::Timestamp;
use mkfatimg::fat::kind::FatKind;
use mkfatimg::fat::label::Label;
use mkfatimg::plan::Plan;
use mkfatimg::plan::request::{Format, Free, ImageSize, LabelWish, Names, Request, Times};
use mkfatimg::sink::Output;
use mkfatimg::source::{Place, Sources};
use mkfatimg::verify::{self, Depth, VerifyError};
use support::damage::{self, Damage};
use support::{Expect, TREE_SECONDS, TempDir, TreeBuilder, invariants, scratch};

/// Damages that only a reader of the request could tell from what was wished for: the structure and
/// the plan's figures agree with them, and so does the foreign reader.
const UNSEEN_BY_VERIFY: [&str; 0] = [];

/// What every damage needs, see `support::damage`.
fn tree(folder: &Path) -> TreeBuilder {
    let tree = TreeBuilder::new(folder.join("source"));
    tree.file("EMPTY.TXT", "")
        .filled("BIG.BIN", 70_001)
        .filled("OTHER.BIN", 5000)
        .file("a long name that takes three.text", "long")
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

fn sound(kind: FatKind, kib: u64) -> Sound {
    let folder = scratch();
    let tree = tree(folder.path());
    let request = Request {
        sources: Sources {
            places: vec![Place { path: tree.root().to_path_buf(), destination: Vec::new() }],
            ..Sources::default()
        },
        size: ImageSize::Bytes(kib << 10),
        free: Free::default(),
        format: Format {
            kind: Some(kind),
            align_bytes: Some(4096),
            label: Some(LabelWish { label: Label::new("TESTLABEL").unwrap(), made_capital: false }),
            volume_id: Some(0x1234_ABCD),
            ..Format::default()
        },
        names: Names::default(),
        times: Times {
            ceiling: Timestamp::from_second(TREE_SECONDS as i64).ok(),
            ..Times::default()
        },
    };
    let image = folder.path().join("sound");
    let output = Output::at(&image).unwrap();
    mkfatimg::build(&request, &output, Depth::Contents, &()).unwrap();
    let expect = Expect {
        fats: Some(2),
        volume_id: Some(0x1234_ABCD),
        label: Some(Some("TESTLABEL".to_owned())),
        hidden_sectors: Some(0),
        align_bytes: Some(4096),
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

fn bites(kind: FatKind, kib: u64) -> BTreeSet<u8> {
    let sound = sound(kind, kib);
    let original = sound.folder.path().join("sound");
    let damaged = sound.folder.path().join("damaged");
    let volume = invariants::read(&original, 0).unwrap();
    let mut missed = Vec::new();
    let mut bitten = BTreeSet::new();
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
        let file = File::open(&damaged).unwrap();
        let seen = match verify::run(&sound.plan, &file, Depth::Contents, &()) {
            Ok(()) => false,
            Err(VerifyError::Differs(_)) => true,
            Err(other) => panic!("I{} {}: {other}", damage.invariant, damage.name),
        };
        if seen == UNSEEN_BY_VERIFY.contains(&damage.name) {
            missed.push(format!("verify, seen {seen}: I{} {}", damage.invariant, damage.name));
        }
    }
    assert!(missed.is_empty(), "{kind}:\n{}", missed.join("\n"));
    bitten
}

#[test]
fn every_damage_is_seen_on_every_type() {
    let mut bitten = bites(FatKind::Fat12, 2048);
    bitten.extend(bites(FatKind::Fat16, 9 << 10));
    bitten.extend(bites(FatKind::Fat32, 34 << 10));
    assert_eq!(bitten, (1..=40).collect());
}
