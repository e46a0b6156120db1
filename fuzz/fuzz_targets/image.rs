//! The whole check of an image that nobody vouches for. With a first byte of 0 to 2 the rest is changes
//! to a sound image of a type, so that the foreign reader is reached too: whatever is changed is found.
//! With another the rest is the image itself, and zeros behind it.
#![no_main]

use std::fs;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use mkfatimg::fat::kind::FatKind;
use mkfatimg::plan::request::{Format, ImageSize, LabelWish};
use mkfatimg::plan::{Plan, Request};
use mkfatimg::sink::Output;
use mkfatimg::source::{Place, Sources};
use mkfatimg::verify::{self, Depth, Fault, Findings, FreeSpace, VerifyError, structure};
use mkfatimg::{Delivery, fat::label::Label};
use mkfatimg_fuzz::Patched;

struct Sound {
    plan: Plan,
    /// Up to the last byte that is not zero.
    head: Vec<u8>,
}

static SOUND: LazyLock<Vec<Sound>> = LazyLock::new(|| {
    [(FatKind::Fat12, 1), (FatKind::Fat16, 9), (FatKind::Fat32, 34)]
        .into_iter()
        .map(|(kind, mib)| sound(kind, mib << 20))
        .collect()
});

fn sound(kind: FatKind, bytes: u64) -> Sound {
    let folder = tempfile::tempdir().expect("a place for the source").keep();
    let source = folder.join("source");
    fs::create_dir_all(source.join("sub/inner")).expect("directories");
    for (name, len) in [
        ("EMPTY.TXT", 0),
        ("BIG.BIN", 3001),
        ("a long name that takes three.text", 4),
        ("sub/inner/leaf.bin", 600),
        ("sub/FILE", 5),
    ] {
        let bytes: Vec<u8> = (0..len).map(|at| (at % 251 + 1) as u8).collect();
        fs::write(source.join(name), bytes).expect("a file");
    }
    let label = Label::new("FUZZ").expect("legal");
    let request = Request {
        sources: Sources {
            places: vec![Place { path: source, destination: Vec::new() }],
            ..Sources::default()
        },
        size: ImageSize::Bytes(bytes),
        format: Format {
            kind: Some(kind),
            cluster_bytes: Some(512),
            label: Some(LabelWish { label, made_capital: false }),
            volume_id: Some(0x1234_ABCD),
            root_entries: (kind != FatKind::Fat32).then_some(64),
            ..Format::default()
        },
        ..Request::default()
    };
    let path = folder.join("image");
    let output = Output::at(&path).expect("a name");
    let delivery = Delivery::of(output, Depth::Contents);
    mkfatimg::build(&request, &delivery, &()).expect("it fits");
    let mut head = fs::read(path).expect("the image");
    head.truncate(head.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1));
    Sound { plan: mkfatimg::plan(&request, &()).expect("as before"), head }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    match SOUND.get(usize::from(*first)) {
        Some(sound) => changed(sound, rest),
        None => any(rest),
    }
});

/// Changes: three bytes of a place, one of a length, and so many bytes.
fn changed(sound: &Sound, mut rest: &[u8]) {
    let mut patches = Vec::new();
    while let [a, b, c, len, tail @ ..] = rest {
        let at = u64::from(u32::from_le_bytes([*a, *b, *c, 0])) % (sound.head.len() as u64 + 2048);
        let (bytes, left) = tail.split_at((*len as usize).min(tail.len()));
        patches.push((at, bytes));
        rest = left;
    }
    let image = Patched { head: &sound.head, len: sound.plan.image_bytes(), patches };
    let same = image.is(&sound.head);
    match verify::run(&sound.plan, &image, Depth::Contents, FreeSpace::Zero, &()) {
        Ok(()) => assert!(same, "a change that was not found"),
        Err(VerifyError::Differs(findings)) => {
            assert!(!same, "nothing was changed");
            told(&findings);
        }
        Err(other) => panic!("{other}"),
    }
}

fn any(bytes: &[u8]) {
    for len in [bytes.len() as u64, 64 << 20] {
        let image = Patched { head: bytes, len: len.max(bytes.len() as u64), patches: Vec::new() };
        let mut findings = Findings::default();
        let survey = structure::check(&image, &(), &mut findings).expect("it can be read");
        assert!(survey.is_some() || !findings.is_empty());
        told(&findings);
    }
}

/// Each finding is one line, and none is that the foreign reader broke down.
fn told(findings: &Findings) {
    for finding in findings.kept() {
        let line = finding.to_string();
        assert!(!line.contains(char::is_control), "{line:?}");
        assert!(line.len() < 32 << 10, "{} bytes", line.len());
        let panicked = matches!(&finding.fault, Fault::ForeignReader(what) if what == "panicked");
        assert!(!panicked, "the foreign reader panicked");
    }
}
