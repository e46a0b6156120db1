//! Images that nobody vouches for: whatever bytes they hold, the check ends, reads each of them a few
//! times at most, and tells what is wrong; and whatever is changed in a sound one is found.
//!
//! CI takes a sample. `MKFATIMG_BIT_FLIPS=1` turns every bit round, `MKFATIMG_MUTATIONS` says how many
//! images of each type are changed at random; both are for release, with `--nocapture` for the figures.

mod support;

use std::cell::Cell;
use std::fs;
use std::io;

use mkfatimg::Delivery;
use mkfatimg::fat::kind::FatKind;
use mkfatimg::fat::label::Label;
use mkfatimg::fat::record::RECORD_BYTES;
use mkfatimg::plan::Plan;
use mkfatimg::plan::request::{Format, ImageSize, LabelWish, Request};
use mkfatimg::sink::Output;
use mkfatimg::verify::bytes::ImageBytes;
use mkfatimg::verify::{self, Depth, Fault, Findings, FreeSpace, VerifyError, structure};
use support::{TempDir, TreeBuilder, request, scratch};

/// Of every image so many bytes from the beginning are turned round bit by bit, and all clusters in use.
const FLIPPED_BYTES: usize = 64 << 10;

/// The types, each in a size that is small for it.
const KINDS: [(FatKind, u64); 3] =
    [(FatKind::Fat12, 256), (FatKind::Fat16, 2200), (FatKind::Fat32, 34 << 10)];

/// A sound image, its plan, and its source as long as this is there.
struct Sound {
    _folder: TempDir,
    plan: Plan,
    /// The image up to a sector behind the last byte that is not zero.
    head: Vec<u8>,
}

fn sound(kind: FatKind, kib: u64) -> Sound {
    let folder = scratch();
    let tree = TreeBuilder::new(folder.path().join("source"));
    tree.file("EMPTY.TXT", "")
        .filled("BIG.BIN", 3001)
        .filled("OTHER.BIN", 1000)
        .file("a long name that takes three.text", "long")
        .file("sub/inner/leaf.bin", "leaf")
        .file("sub/FILE", "file")
        .filled("zz last file.bin", 700)
        .settle();
    let label = Label::new("TESTLABEL").unwrap();
    let request = Request {
        size: ImageSize::Bytes(kib << 10),
        format: Format {
            kind: Some(kind),
            cluster_bytes: Some(512),
            root_entries: (kind != FatKind::Fat32).then_some(64),
            label: Some(LabelWish { label, made_capital: false }),
            ..Format::default()
        },
        ..request(tree.root())
    };
    let image = folder.path().join("image");
    let delivery = Delivery::of(Output::at(&image).unwrap(), Depth::Contents);
    mkfatimg::build(&request, &delivery, &()).unwrap();
    let mut head = fs::read(image).unwrap();
    head.truncate(head.iter().rposition(|byte| *byte != 0).unwrap() + 513);
    Sound { _folder: folder, plan: mkfatimg::plan(&request, &()).unwrap(), head }
}

impl Sound {
    fn data_at_byte(&self) -> usize {
        self.plan.geometry().cluster_at_byte(2) as usize
    }

    fn judge(&self, head: &[u8], len: u64) -> Verdict {
        judge(&self.plan, head, len)
    }
}

/// Bytes with zeros behind them, and how many were read.
struct Image<'a> {
    head: &'a [u8],
    len: u64,
    read_bytes: Cell<u64>,
}

impl ImageBytes for Image<'_> {
    fn length(&self) -> io::Result<u64> {
        Ok(self.len)
    }

    fn read_at(&self, at: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.read_bytes.set(self.read_bytes.get() + buffer.len() as u64);
        if at.checked_add(buffer.len() as u64).is_none_or(|end| end > self.len) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let there = &self.head[self.head.len().min(at as usize)..];
        let count = there.len().min(buffer.len());
        buffer[..count].copy_from_slice(&there[..count]);
        buffer[count..].fill(0);
        Ok(())
    }

    fn next_data(&self, at: u64) -> io::Result<Option<u64>> {
        Ok((at < self.len.min(self.head.len() as u64)).then_some(at))
    }
}

/// Who found something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// The check that guards every build.
    Structure,
    /// Only the comparison through the foreign reader.
    ForeignReader,
    /// Nobody.
    Nobody,
}

fn judge(plan: &Plan, head: &[u8], len: u64) -> Verdict {
    let run = |depth| {
        let image = Image { head, len, read_bytes: Cell::new(0) };
        let outcome = verify::run(plan, &image, depth, FreeSpace::Zero, &());
        // The foreign reader goes to and fro between FAT and contents, in pages of 256 KiB.
        let most = if depth == Depth::Structure { 3 * len } else { 3 * len + (64 << 20) };
        assert!(image.read_bytes.get() <= most, "{} bytes of {len}", image.read_bytes.get());
        match outcome {
            Ok(()) => false,
            Err(VerifyError::Differs(findings)) => {
                told(&findings);
                true
            }
            Err(other) => panic!("{other}"),
        }
    };
    if run(Depth::Structure) {
        Verdict::Structure
    } else if run(Depth::Contents) {
        Verdict::ForeignReader
    } else {
        Verdict::Nobody
    }
}

/// Each finding is one line of bounded length, and none is that the foreign reader broke down.
fn told(findings: &Findings) {
    assert!(!findings.is_empty());
    for finding in findings.kept() {
        let line = finding.to_string();
        assert!(line.len() < 16 << 10 && !line.contains(char::is_control), "{line:?}");
        let panicked = matches!(&finding.fault, Fault::ForeignReader(what) if what == "panicked");
        assert!(!panicked, "the foreign reader panicked");
    }
}

fn number_in(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().and_then(|text| text.parse().ok())
}

/// Numbers by chance, the same in each run (SplitMix64).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    /// A number below `end`, which is not 0.
    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn byte(&mut self) -> u8 {
        self.next() as u8
    }
}

#[test]
fn every_bit_turned_round_is_found() {
    // A prime, so that a sample meets every bit of a byte and every byte of a record.
    let step = if number_in("MKFATIMG_BIT_FLIPS").is_some() { 1 } else { 1499 };
    for (kind, kib) in KINDS {
        let sound = sound(kind, kib);
        let len = sound.plan.image_bytes();
        let mut head = sound.head.clone();
        head.resize(head.len().max(FLIPPED_BYTES), 0);
        assert_eq!(sound.judge(&head, len), Verdict::Nobody);
        let (mut by_structure, mut by_reader) = (0, 0);
        let mut missed = Vec::new();
        let first = 0..FLIPPED_BYTES;
        let in_use = sound.data_at_byte().max(FLIPPED_BYTES)..head.len();
        let bits = first.chain(in_use).flat_map(|byte| (0..8).map(move |bit| (byte, bit)));
        for (byte, bit) in bits.step_by(step) {
            head[byte] ^= 1 << bit;
            match sound.judge(&head, len) {
                Verdict::Structure => by_structure += 1,
                Verdict::ForeignReader => by_reader += 1,
                Verdict::Nobody => missed.push((byte, bit)),
            }
            head[byte] ^= 1 << bit;
        }
        println!("{kind}: {by_structure} bits by the structure, {by_reader} by the foreign reader");
        assert!(missed.is_empty(), "{kind}: byte and bit {missed:?}");
        assert!(by_structure > by_reader && by_reader > 0);
    }
}

/// One change at random; most are near what is in use.
fn change(chance: &mut Chance, sound: &Sound, head: &mut [u8], len: &mut u64) {
    let geometry = sound.plan.geometry();
    let fat_at = geometry.fat_at_byte(0) as usize;
    let data_at = sound.data_at_byte();
    let end = head.len();
    // The boot sector and its neighbours, the FAT where it is in use, directories and files.
    let place = |chance: &mut Chance| match chance.below(8) {
        0 => chance.below(512),
        1 => chance.below(fat_at),
        2 | 3 => fat_at + chance.below(64),
        4 => geometry.root_at_byte() as usize + chance.below(1024),
        5 | 6 => data_at + chance.below(end - data_at),
        _ => chance.below(end),
    };
    let at = place(chance).min(end - 1);
    match chance.below(10) {
        0 => head[at] ^= 1 << chance.below(8),
        1 => head[at] = chance.byte(),
        2 => head[at] = [0, 1, 0x7F, 0x80, 0xFE, 0xFF, 0xE5, 0x2E][chance.below(8)],
        3 => {
            let to = (at + 1 + chance.below(64)).min(end);
            head[at..to].fill_with(|| chance.byte());
        }
        4 => {
            let to = (at + 1 + chance.below(64)).min(end);
            head[at..to].fill([0, 0xFF][chance.below(2)]);
        }
        // Figures that are almost right.
        5 => {
            let to = (at + 4).min(end);
            let field = &mut head[at..to];
            let mut figure = [0; 4];
            figure[..field.len()].copy_from_slice(field);
            let near = chance.below(7) as u32;
            let figure = u32::from_le_bytes(figure).wrapping_add(near).wrapping_sub(3);
            field.copy_from_slice(&figure.to_le_bytes()[..field.len()]);
        }
        // Records and sectors in each other's place.
        6 | 7 => {
            let unit = [RECORD_BYTES, 512][chance.below(2)];
            let other = place(chance).min(end - 1);
            let (from, to) = (at / unit * unit, other / unit * unit);
            if from.max(to) + unit <= end {
                head.copy_within(from..from + unit, to);
            }
        }
        8 => same_in_both_fats(chance, sound, head),
        _ => {
            if chance.below(4) == 0 {
                *len = (*len + chance.below(4096) as u64).saturating_sub(chance.below(4096) as u64);
            } else {
                innocent(chance, sound, head);
            }
        }
    }
}

/// An entry of both FATs: another link, or any bits.
fn same_in_both_fats(chance: &mut Chance, sound: &Sound, head: &mut [u8]) {
    let geometry = sound.plan.geometry();
    let used = sound.plan.totals().used_clusters as usize + 4;
    let byte = chance.below(used) * geometry.kind().entry_bits() as usize / 8;
    let value = if chance.below(3) == 0 { chance.byte() } else { chance.below(used + 2) as u8 };
    for index in 0..geometry.shape().fat_count {
        head[geometry.fat_at_byte(index) as usize + byte] = value;
    }
}

/// What leaves the volume a sound one, so that only the foreign reader can see it.
fn innocent(chance: &mut Chance, sound: &Sound, head: &mut [u8]) {
    let plan = &sound.plan;
    let files: Vec<_> = plan.stored().filter(|id| plan.tree().node(*id).size_bytes() > 0).collect();
    let file = files[chance.below(files.len())];
    let cluster = plan.geometry().cluster_at_byte(plan.first_cluster(file)) as usize;
    let cluster_bytes = plan.geometry().cluster_bytes() as usize;
    // Records of the root, some of which are parts of names.
    let record = plan.geometry().root_at_byte() as usize + (1 + chance.below(12)) * RECORD_BYTES;
    match chance.below(5) {
        // Contents, and what lies behind them.
        0 | 1 => head[cluster + chance.below(cluster_bytes)] ^= 1 << chance.below(8),
        // Name, attributes, times.
        2 => head[record + chance.below(11)] = b'A' + chance.below(26) as u8,
        3 => head[record + 11] ^= [0x01, 0x02, 0x04, 0x20][chance.below(4)],
        _ => head[record + [14, 16, 18, 22, 24][chance.below(5)]] ^= 1 << chance.below(5),
    }
}

#[test]
fn every_mutation_is_found() {
    let count = number_in("MKFATIMG_MUTATIONS").unwrap_or(400);
    for (kind, kib) in KINDS {
        let sound = sound(kind, kib);
        let mut chance = Chance(kib);
        let (mut by_structure, mut by_reader, mut unchanged) = (0, 0, 0);
        let mut missed = Vec::new();
        for round in 0..count {
            let mut head = sound.head.clone();
            let mut len = sound.plan.image_bytes();
            for _ in 0..[1, 1, 1, 2, 4, 16][chance.below(6)] {
                change(&mut chance, &sound, &mut head, &mut len);
            }
            let same = head == sound.head && len == sound.plan.image_bytes();
            match sound.judge(&head, len) {
                Verdict::Structure => by_structure += 1,
                Verdict::ForeignReader => by_reader += 1,
                Verdict::Nobody if same => unchanged += 1,
                Verdict::Nobody => missed.push(round),
            }
            // Without a plan, as a program would that has only the image.
            let image = Image { head: &head, len, read_bytes: Cell::new(0) };
            let mut findings = Findings::default();
            let survey = structure::check(&image, &(), &mut findings).unwrap();
            assert!(survey.is_some() || !findings.is_empty(), "{kind}: round {round}");
        }
        println!(
            "{kind}: {by_structure} by the structure, {by_reader} by the foreign reader, {unchanged} without a change"
        );
        assert!(missed.is_empty(), "{kind}: rounds {missed:?}");
        assert!(by_reader > count / 50, "the foreign reader was asked {by_reader} times only");
    }
}

/// An image that ends early, anywhere.
#[test]
fn every_length_is_found() {
    for (kind, kib) in KINDS {
        let sound = sound(kind, kib);
        let len = sound.plan.image_bytes();
        let short = [0, 1, 511, 512, 513, 4096, len / 2, len - 512, len - 1];
        for other in short.into_iter().chain([len + 1, len + 512, len * 2]) {
            let head = &sound.head[..sound.head.len().min(other as usize)];
            assert_eq!(sound.judge(head, other), Verdict::Structure, "{kind}: {other} bytes");
            let image = Image { head, len: other, read_bytes: Cell::new(0) };
            let mut findings = Findings::default();
            structure::check(&image, &(), &mut findings).unwrap();
            // More bytes than the volume has are no matter of its own.
            assert_eq!(findings.is_empty(), other > len, "{kind}: {other} bytes");
        }
    }
}
