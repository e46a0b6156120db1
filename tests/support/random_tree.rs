//! Random trees and random wishes: what property tests are made of. Judges nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use mkfatimg::disk::{Guid, Scheme, mbr};
use mkfatimg::fat::kind::FatKind;
use mkfatimg::fat::label::Label;
use mkfatimg::fat::name;
use mkfatimg::plan::request::{
    DiskIdWish, DiskWish, Format, Free, ImageSize, LabelWish, Names, Request, TableWish, TypeWish,
};
use proptest::prelude::*;

/// What a directory holds, by name.
pub type Entries = BTreeMap<String, Entry>;

/// A file of so many bytes, or a directory.
#[derive(Debug, Clone)]
pub enum Entry {
    File(usize),
    Directory(Entries),
}

/// Characters with which something is wrong, or was once in some reader: ends of names, what short
/// names cannot hold, letters whose case or composition is odd, what does not show, first and last
/// of the ranges of UTF-16.
const NASTY: [char; 60] = [
    ' ',
    '.',
    '~',
    '1',
    '2',
    'a',
    'A',
    'b',
    '_',
    '-',
    '+',
    ',',
    ';',
    '=',
    '[',
    ']',
    '%',
    '\'',
    '&',
    '$',
    '#',
    '`',
    '{',
    '^',
    '!',
    '@',
    '(',
    '\u{7F}',
    '\u{80}',
    '\u{85}',
    '\u{A0}',
    '\u{E5}',
    'ß',
    'ẞ',
    'ı',
    'İ',
    'ſ',
    '\u{212A}',
    'é',
    'e',
    '\u{301}',
    '\u{327}',
    '\u{345}',
    'ς',
    'Σ',
    'ǅ',
    'ﬁ',
    '\u{200B}',
    '\u{202E}',
    '\u{2028}',
    '\u{FEFF}',
    '\u{D7FF}',
    '\u{E000}',
    '\u{FFFD}',
    '\u{FFFE}',
    '\u{10000}',
    '😀',
    '\u{1D15E}',
    '\u{10400}',
    '\u{10FFFF}',
];

/// Characters that FAT forbids and hosts do not.
const FORBIDDEN: [char; 12] =
    ['\u{1}', '\t', '\n', '\u{1F}', '"', '*', ':', '<', '>', '?', '\\', '\u{FFFF}'];

/// Names that clash with each other, need tails, need long names or none, or none that FAT holds.
pub fn name() -> impl Strategy<Value = String> {
    let nasty = || prop::sample::select(NASTY.to_vec());
    let forbidden = prop::sample::select(FORBIDDEN.to_vec());
    let any = prop_oneof![40 => nasty(), 1 => forbidden];
    let text = |letters: Vec<char>| letters.into_iter().collect::<String>();
    prop_oneof![
        "[A-Z]{1,8}(\\.[A-Z]{1,3})?",
        "[a-z]{1,8}(\\.[a-z]{1,3})?",
        "[A-Za-z0-9!#$%&'()@^_`{}~-]{1,9}(\\.[A-Za-z0-9~]{0,4})?",
        "look alike [0-9]{1,4}\\.txt",
        "(LOOKAL|look|LOOKA)~[1-9][0-9]{0,2}(\\.TXT)?",
        "[a-c]{1,2}",
        "\\.[a-z]{1,12}",
        "[a-zA-Z0-9 .+,;=\\[\\]~'-]{1,30}[a-z]",
        "[äöüßéЖж日本😀]{1,20}",
        "[. a]{1,8}",
        "(con|NUL|Aux|prn|com1|LPT9|CLOCK\\$)(\\.[a-z]{1,3})?",
        "[x-z]{200,255}",
        "[y\u{10000}]{50,63}",
        prop::collection::vec(nasty(), 1..4).prop_map(text),
        prop::collection::vec(any, 1..60).prop_map(text),
    ]
    .prop_filter("no name on any host", |name| ![".", ".."].contains(&name.as_str()))
}

/// A tree; some of its names may be none for FAT, or clash.
pub fn entries() -> impl Strategy<Value = Entries> {
    let size =
        prop_oneof![Just(0), Just(1), 1..2000_usize, Just(4096), Just(8192), 1..80_000_usize];
    let file = size.prop_map(Entry::File);
    let leaf = prop::collection::btree_map(name(), file, 0..8);
    leaf.prop_recursive(4, 60, 8, |inner| {
        let directory = inner.prop_map(Entry::Directory);
        let file = (0..5000_usize).prop_map(Entry::File);
        prop::collection::btree_map(name(), prop_oneof![file, directory], 0..8)
    })
}

/// The same tree without what FAT cannot hold or would take for another entry's name.
pub fn without_clashes(entries: Entries) -> Entries {
    let mut keys = BTreeSet::new();
    let kept = entries
        .into_iter()
        .filter(|(name, _)| name::check(name).is_ok() && keys.insert(name::clash_key(name)));
    kept.map(|(name, entry)| match entry {
        Entry::Directory(entries) => (name, Entry::Directory(without_clashes(entries))),
        file => (name, file),
    })
    .collect()
}

/// Makes the tree in `folder`, in the order of the names or backwards.
pub fn make(folder: &Path, entries: &Entries, backwards: bool) {
    fs::create_dir_all(folder).unwrap();
    let mut names: Vec<&String> = entries.keys().collect();
    if backwards {
        names.reverse();
    }
    for name in names {
        let path = folder.join(name);
        match &entries[name] {
            Entry::Directory(entries) => make(&path, entries, backwards),
            Entry::File(len) => {
                let bytes: Vec<u8> = (0..*len).map(|at| (at % 253 + 1) as u8).collect();
                fs::write(path, bytes).unwrap();
            }
        }
    }
}

/// How a tree is to be stored.
#[derive(Debug, Clone)]
pub struct Wish {
    pub size: ImageSize,
    pub free: Free,
    pub format: Format,
    pub disk: DiskWish,
    pub always_long: bool,
}

impl Wish {
    /// With every choice left open.
    pub fn open() -> Self {
        Self {
            size: ImageSize::Auto,
            free: Free::default(),
            format: Format::default(),
            disk: DiskWish::None,
            always_long: false,
        }
    }

    /// The wish for what lies in `source`.
    pub fn request(&self, source: &Path, names: Names) -> Request {
        Request {
            size: self.size,
            free: self.free,
            format: self.format.clone(),
            disk: self.disk.clone(),
            names: Names { always_long: self.always_long, ..names },
            ..super::request(source)
        }
    }
}

/// Wishes that a command line can have; some are for no possible image.
pub fn wishes() -> impl Strategy<Value = Wish> {
    // Large sizes cost nothing: the image is sparse, and the tests read what is there.
    let size = prop_oneof![
        6 => Just(ImageSize::Auto),
        4 => (100..40_000_u64).prop_map(|kib| ImageSize::Bytes(kib * 4096)),
        1 => (100..80_000_u64).prop_map(|sectors| ImageSize::Bytes(sectors * 512)),
        2 => (9..600_u64).prop_map(|mib| ImageSize::Bytes(mib << 20)),
    ];
    let free = prop_oneof![
        Just(Free::Bytes(0)),
        (0..300_000_u64).prop_map(Free::Bytes),
        (0..60_u8).prop_map(Free::Percent)
    ];
    (size, free, format(), disk(), any::<bool>()).prop_map(
        |(size, free, mut format, (start_sectors, mut disk), always_long)| {
            if let DiskWish::Table(table) = &mut disk {
                let sector_bytes = u64::from(format.sector_bytes);
                table.start_bytes = start_sectors.map(|sectors| sectors * sector_bytes);
                // The partition tells.
                format.hidden_sectors = None;
            }
            Wish { size, free, format, disk, always_long }
        },
    )
}

/// Wishes for a volume.
pub fn format() -> impl Strategy<Value = Format> {
    let sector = prop_oneof![4 => Just(512_u16), 1 => Just(1024), 1 => Just(2048), 1 => Just(4096)];
    let kind = prop::option::of(prop::sample::select(FatKind::ALL.to_vec()));
    let cluster = prop::option::of((0..8_u32).prop_map(|shift| 512 << shift));
    let label = prop::option::of(
        "[A-Z][A-Z0-9 ]{0,9}[A-Z]"
            .prop_filter("stands for none", |text| text.as_str() != "NO NAME")
            .prop_map(|text| Label::new(&text).unwrap()),
    );
    let align = prop::option::of(prop::sample::select(vec![4096_u32, 65_536, 1 << 20]));
    let seldom = prop::option::weighted::<BoxedStrategy<u16>>;
    let reserved = seldom(0.2, (1..100_u16).boxed());
    let root_entries = seldom(0.2, (1..20_u16).prop_map(|count| count * 128).boxed());
    let tracks = prop::option::weighted(0.2, (1..=255_u16, 1..=63_u16));
    let media = prop::option::weighted(0.2, prop::sample::select(vec![0xF0_u8, 0xF8, 0xF9]));
    let numbers = prop::option::weighted(0.2, any::<(u32, u32)>());
    let layout = (sector, kind, cluster, align, prop::option::of(1..=2_u8));
    (layout, label, reserved, root_entries, (tracks, media, numbers)).prop_map(
        |(layout, label, reserved_sectors, root_entries, (tracks, media, numbers))| {
            let (sector_bytes, kind, cluster_bytes, align_bytes, fat_count) = layout;
            Format {
                sector_bytes,
                kind,
                cluster_bytes,
                fat_count,
                root_entries: root_entries.filter(|_| kind != Some(FatKind::Fat32)),
                reserved_sectors,
                align_bytes,
                media,
                heads: tracks.map(|(heads, _)| heads),
                sectors_per_track: tracks.map(|(_, sectors)| sectors),
                hidden_sectors: numbers.map(|(sectors, _)| sectors),
                label: label.map(|label| LabelWish { label, made_capital: false }),
                volume_id: numbers.map(|(_, id)| id),
                ..Format::default()
            }
        },
    )
}

/// A partition table now and then, and the sector at which its partition begins.
fn disk() -> impl Strategy<Value = (Option<u64>, DiskWish)> {
    let start = prop::option::of(prop_oneof![30..70_u64, 64..10_000_u64]);
    let mbr = (any::<u8>(), prop::option::of(any::<u32>())).prop_map(|(byte, id)| TableWish {
        partition_type: match byte {
            150..200 => TypeWish::Fat,
            200..=0xED => TypeWish::Esp,
            _ if mbr::may_hold_a_volume(byte) => TypeWish::Byte(byte),
            _ => TypeWish::Fat,
        },
        disk_id: id.map(DiskIdWish::Signature),
        ..TableWish::of(Scheme::Mbr)
    });
    let label = prop::option::of("[a-zA-Z0-9 äß日😀]{0,18}");
    let gpt = (any::<bool>(), label, any::<[u8; 16]>()).prop_map(|(is_esp, label, id)| TableWish {
        partition_type: if is_esp { TypeWish::Esp } else { TypeWish::Fat },
        label,
        disk_id: Some(DiskIdWish::Guid(Guid::from_digest(id))),
        ..TableWish::of(Scheme::Gpt)
    });
    let disk = prop_oneof![
        4 => Just(DiskWish::None),
        1 => mbr.prop_map(DiskWish::Table),
        1 => gpt.prop_map(DiskWish::Table),
    ];
    (start, disk)
}
