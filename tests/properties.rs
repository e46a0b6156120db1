//! What holds for every tree and every legal wish: the four promises of `docs/architecture.md` and
//! the invariants of `docs/format.md`.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use mkfatimg::Delivery;
use mkfatimg::fat::attr::Attributes;
use mkfatimg::fat::kind::FatKind;
use mkfatimg::fat::mount;
use mkfatimg::fat::record::{self, Entry as Entry32, FoundRecord};
use mkfatimg::fat::short::ShortName;
use mkfatimg::fat::table::{self, Chains, Link};
use mkfatimg::fat::time::DosTime;
use mkfatimg::image::{Body, Image};
use mkfatimg::plan::request::{
    Clash, Format, Free, ImageSize, InvalidNames, LabelWish, Names, Request,
};
use mkfatimg::plan::{Blame, Plan};
use mkfatimg::report::Report;
use mkfatimg::sink::Output;
use mkfatimg::source::{Place, Sources};
use mkfatimg::verify::Depth;
use proptest::prelude::*;
use support::{Expect, TREE_SECONDS, assert_sound, invariants, scratch, set_times};

/// A directory: names, and `Some(bytes)` for files.
#[derive(Debug, Clone)]
enum Entry {
    File(usize),
    Directory(BTreeMap<String, Entry>),
}

/// Names that clash with each other, need tails, need long names or none.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[A-Z]{1,8}(\\.[A-Z]{1,3})?",
        "[a-z]{1,8}(\\.[a-z]{1,3})?",
        "look alike [0-9]{1,4}\\.txt",
        "[a-c]{1,2}",
        "\\.[a-z]{1,12}",
        "[a-zA-Z0-9 .+,;=\\[\\]~'-]{1,30}[a-z]",
        "[äöüßéЖж日本😀]{1,20}",
        "[x-z]{200,240}",
    ]
}

fn entries() -> impl Strategy<Value = BTreeMap<String, Entry>> {
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

/// The same tree without what FAT would take for another entry's name.
fn without_clashes(entries: BTreeMap<String, Entry>) -> BTreeMap<String, Entry> {
    let mut keys = std::collections::BTreeSet::new();
    let kept = entries.into_iter().filter(|(name, _)| {
        mkfatimg::fat::name::check(name).is_ok()
            && keys.insert(mkfatimg::fat::name::clash_key(name))
    });
    kept.map(|(name, entry)| match entry {
        Entry::Directory(entries) => (name, Entry::Directory(without_clashes(entries))),
        file => (name, file),
    })
    .collect()
}

fn make(folder: &Path, entries: &BTreeMap<String, Entry>, backwards: bool) {
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

fn format() -> impl Strategy<Value = Format> {
    let sector = prop_oneof![4 => Just(512_u16), 1 => Just(1024), 1 => Just(2048), 1 => Just(4096)];
    let kind = prop::option::of(prop::sample::select(FatKind::ALL.to_vec()));
    let cluster = prop::option::of((0..8_u32).prop_map(|shift| 512 << shift));
    let label = prop::option::of(
        "[A-Z][A-Z0-9 ]{0,9}[A-Z]"
            .prop_filter("stands for none", |text| text.as_str() != "NO NAME")
            .prop_map(|text| mkfatimg::fat::label::Label::new(&text).unwrap()),
    );
    let align = prop::option::of(prop::sample::select(vec![4096_u32, 65_536, 1 << 20]));
    (sector, kind, cluster, label, align, prop::option::of(1..=2_u8)).prop_map(
        |(sector_bytes, kind, cluster_bytes, label, align_bytes, fat_count)| Format {
            sector_bytes,
            kind,
            cluster_bytes,
            label: label.map(|label| LabelWish { label, made_capital: false }),
            align_bytes,
            fat_count,
            ..Format::default()
        },
    )
}

fn wishes() -> impl Strategy<Value = (ImageSize, Free, Format, bool)> {
    // Large sizes cost nothing: the image is sparse, and the tests read what is there.
    let size = prop_oneof![
        3 => Just(ImageSize::Auto),
        2 => (100..40_000_u64).prop_map(|kib| ImageSize::Bytes(kib * 4096)),
        1 => (9..600_u64).prop_map(|mib| ImageSize::Bytes(mib << 20)),
    ];
    let free = prop_oneof![
        Just(Free::Bytes(0)),
        (0..300_000_u64).prop_map(Free::Bytes),
        (0..60_u8).prop_map(Free::Percent)
    ];
    (size, free, format(), any::<bool>())
}

fn request(source: &Path, wish: &(ImageSize, Free, Format, bool), names: Names) -> Request {
    let place = Place { path: source.to_path_buf(), destination: Vec::new() };
    Request {
        sources: Sources { places: vec![place], ..Sources::default() },
        size: wish.0,
        free: wish.1,
        format: wish.2.clone(),
        names: Names { always_long: wish.3, ..names },
        ..Request::default()
    }
}

fn expect(plan: &Plan, wish: &Format) -> Expect {
    Expect {
        fats: Some(wish.fat_count.unwrap_or(2)),
        label: Some(wish.label.map(|wish| wish.label.to_string())),
        volume_id: Some(plan.facts().volume_id),
        align_bytes: wish.align_bytes.map(u64::from),
        hidden_sectors: Some(0),
        cluster_64k: wish.cluster_bytes == Some(65_536),
        // Reserved sectors that make a type possible leave the FAT as long as it was.
        explicit_reserved: wish.kind.is_some() || wish.align_bytes.is_some(),
        ..Expect::default()
    }
}

/// Segments are in order, touch and cover the image; whatever the window, they render the same.
fn assert_segments_cover(plan: &Plan) {
    let image = Image::of(plan);
    let mut at = 0;
    for segment in image.segments() {
        assert_eq!(segment.at, at);
        assert!(segment.len > 0);
        at += segment.len;
        if let Body::Meta(meta) = segment.body {
            let mut whole = vec![0xAA; usize::try_from(segment.len).unwrap()];
            image.render(meta, 0, &mut whole);
            for window in [512, 4096] {
                for from in (0..whole.len()).step_by(window) {
                    let end = whole.len().min(from + window);
                    let mut part = vec![0xAA; end - from];
                    image.render(meta, from as u64, &mut part);
                    assert!(part == whole[from..end], "{meta:?} at {from}");
                }
            }
        }
    }
    assert_eq!(at, plan.image_bytes());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_legal_tree_and_wish_becomes_a_sound_image_or_is_refused(
        entries in entries(), wish in wishes()
    ) {
        let folder = scratch();
        let source = folder.path().join("source");
        make(&source, &without_clashes(entries), false);
        set_times(&source, TREE_SECONDS);
        let plan = match mkfatimg::plan(&request(&source, &wish, Names::default()), &()) {
            Ok(plan) => plan,
            Err(mkfatimg::Error::Refused(problems)) => {
                // The wish can be impossible; the tree cannot.
                prop_assert!(problems.blame() < Blame::Source, "{problems}");
                return Ok(());
            }
            Err(other) => panic!("{other}"),
        };
        assert_segments_cover(&plan);
        let expect = Expect { source: Some(source.clone()), times: true, ..expect(&plan, &wish.2) };
        let planned = Report::planned(plan);
        let (regions, totals) = (planned.regions(), *planned.plan.totals());
        let image = folder.path().join("image");
        let report = Delivery::of(Output::at(&image).unwrap(), Depth::Contents).carry_out(planned.plan, &()).unwrap();
        assert_sound(&image, &expect);
        prop_assert_eq!(report.regions(), regions);
        prop_assert_eq!(report.plan.totals(), &totals);
        let size = fs::metadata(&image).unwrap().len();
        prop_assert_eq!(size, report.plan.image_bytes());
        if let ImageSize::Bytes(asked) = wish.0 {
            prop_assert_eq!(size, asked);
        }
        let free = u64::from(report.plan.free_clusters().count);
        let geometry = report.plan.geometry();
        let kept = match wish.1 {
            Free::Bytes(bytes) => free * u64::from(geometry.cluster_bytes()) >= bytes,
            Free::Percent(percent) => {
                free * 100 >= u64::from(percent) * u64::from(geometry.cluster_count())
            }
        };
        prop_assert!(kept, "{free} clusters free, asked for {:?}", wish.1);
        prop_assert!(wish.0 != ImageSize::Auto || free > 0);
    }

    #[test]
    fn names_of_any_kind_keep_every_file_under_the_policies_that_change_names(entries in entries()) {
        let folder = scratch();
        let source = folder.path().join("source");
        make(&source, &entries, false);
        let names =
            Names { invalid: InvalidNames::Replace, clash: Clash::Rename, ..Names::default() };
        let wish = (ImageSize::Auto, Free::default(), Format::default(), false);
        let image = folder.path().join("image");
        let request = request(&source, &wish, names);
        let report = mkfatimg::build(&request, &Delivery::of(Output::at(&image).unwrap(), Depth::Contents), &()).unwrap();
        assert_sound(&image, &Expect::default());
        let volume = invariants::read(&image, 0).unwrap();
        prop_assert_eq!(volume.entries.len(), report.plan.tree().len() - 1);
    }

    #[test]
    fn the_order_in_which_a_tree_was_made_does_not_show(entries in entries()) {
        let folder = scratch();
        let wish = (ImageSize::Auto, Free::default(), Format::default(), false);
        let images: Vec<Vec<u8>> = [false, true].into_iter().map(|backwards| {
            let source = folder.path().join(format!("source {backwards}"));
            make(&source, &without_clashes(entries.clone()), backwards);
            set_times(&source, TREE_SECONDS);
            let image = folder.path().join(format!("image {backwards}"));
            let request = request(&source, &wish, Names::default());
            mkfatimg::build(&request, &Delivery::of(Output::at(&image).unwrap(), Depth::Contents), &()).unwrap();
            fs::read(&image).unwrap()
        }).collect();
        prop_assert!(images[0] == images[1]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_short_record_is_read_as_it_was_written(
        name in any::<[u8; 11]>(), date in any::<u16>(), time in any::<u16>(),
        first_cluster in any::<u32>(), size_bytes in any::<u32>(), small in 0..4_u8
    ) {
        // What means something else in this place.
        prop_assume!(![0, 0xE5].contains(&name[0]));
        let entry = Entry32 {
            name: ShortName::from_bytes(name),
            attributes: Attributes::ARCHIVE,
            case_bits: small << 3,
            stamp: DosTime { date, time },
            first_cluster,
            size_bytes,
        };
        let FoundRecord::Short(found) = record::decode(&entry.encode()) else {
            return Err(TestCaseError::fail("no short record"));
        };
        prop_assert_eq!((found.name, found.case_bits), (entry.name, entry.case_bits));
        prop_assert_eq!((found.written, found.created), (entry.stamp, entry.stamp));
        prop_assert_eq!(found.accessed_date, date);
        prop_assert_eq!((found.first_cluster, found.size_bytes), (first_cluster, size_bytes));
        prop_assert_eq!(found.attributes, Attributes::ARCHIVE.bits());
    }

    #[test]
    fn a_long_name_is_read_as_it_was_written(
        letters in prop::collection::vec(any::<char>(), 0..120), short in any::<[u8; 11]>()
    ) {
        let legal = |letter: &char| {
            !mkfatimg::fat::name::is_forbidden(*letter) && *letter != '\u{FFFF}'
        };
        let name: String = letters.into_iter().filter(legal).chain(['z']).collect();
        let short = ShortName::from_bytes(short);
        let parts: Vec<_> = record::encode_long(&name, short)
            .iter()
            .filter_map(|bytes| match record::decode(bytes) {
                FoundRecord::Long(part) => Some(part),
                _ => None,
            })
            .collect();
        prop_assert_eq!(record::join_parts(&parts, short), Some(name));
    }

    #[test]
    fn a_fat_is_read_as_it_was_written(
        lengths in prop::collection::vec(1..50_u32, 0..80), kind in prop::sample::select(FatKind::ALL.to_vec())
    ) {
        let mut ends: Vec<u32> = Vec::new();
        for length in &lengths {
            ends.push(ends.last().copied().unwrap_or(1) + length);
        }
        let chains = Chains::new(kind, 0xF8, &ends);
        let mut bytes = vec![0xEE; 12 * 1500];
        chains.fill(0, &mut bytes);
        let last = ends.last().copied().unwrap_or(1);
        for (cluster, entry) in (0_u32..).zip(table::decode(kind, &bytes)).skip(2) {
            let expected = match ends.binary_search(&cluster) {
                Ok(_) => Link::End,
                Err(_) if cluster > last => Link::Free,
                Err(_) => Link::Next(cluster + 1),
            };
            prop_assert_eq!(Link::of(kind, entry), expected, "cluster {}", cluster);
        }
    }

    #[test]
    fn a_boot_sector_is_read_as_it_was_written(
        format in format(), kib in 100..600_000_u64, hidden_sectors in any::<u32>(), volume_id in any::<u32>()
    ) {
        let folder = scratch();
        let size = ImageSize::Bytes(kib * 4096);
        let format =
            Format { hidden_sectors: Some(hidden_sectors), volume_id: Some(volume_id), ..format };
        let wish = (size, Free::default(), format, false);
        let Ok(plan) = mkfatimg::plan(&request(folder.path(), &wish, Names::default()), &()) else {
            return Ok(());
        };
        let mut sector = [0; 512];
        Image::of(&plan).render(mkfatimg::image::Meta::Reserved, 0, &mut sector);
        let found = mount::decode_boot_sector(&sector).unwrap();
        prop_assert_eq!(found.geometry, *plan.geometry());
        prop_assert_eq!((found.volume_id, found.hidden_sectors), (volume_id, hidden_sectors));
        prop_assert_eq!((found.heads, found.media), (plan.facts().heads, plan.facts().media));
        prop_assert_eq!(found.sectors_per_track, plan.facts().sectors_per_track);
        prop_assert_eq!(found.oem_name, plan.facts().oem_name);
        let label = plan.facts().label.map_or(*b"NO NAME    ", |label| label.bytes());
        prop_assert_eq!(found.label, label);
    }
}

/// More with `PROPTEST_CASES`, in release.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(150)
}

/// Memory grows with the number of entries and with nothing else, so this is what decides how many
/// a machine can hold: what the tree and the plan keep of each, beside its name.
#[test]
fn an_entry_takes_150_bytes_of_memory_at_most() {
    let tree = size_of::<mkfatimg::source::Node>();
    let plan = size_of::<mkfatimg::plan::Placed>();
    // Where a chain ends, for the FAT.
    let chain_end = size_of::<u32>();
    assert!(tree + plan + chain_end <= 150, "{tree} + {plan} + {chain_end} bytes");
}
