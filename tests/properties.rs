//! What holds for every tree: the order in which it was made does not show, no policy for names loses
//! a file, and every structure is read as it was written. What holds for every tree and every legal
//! wish is in `model.rs`.

mod support;

use std::fs;

use mkfatimg::Delivery;
use mkfatimg::fat::attr::Attributes;
use mkfatimg::fat::kind::FatKind;
use mkfatimg::fat::mount;
use mkfatimg::fat::record::{self, Entry as Entry32, FoundRecord};
use mkfatimg::fat::short::ShortName;
use mkfatimg::fat::table::{self, Chains, Link};
use mkfatimg::fat::time::DosTime;
use mkfatimg::image::Image;
use mkfatimg::plan::request::{Clash, Format, ImageSize, InvalidNames, Names};
use mkfatimg::sink::Output;
use mkfatimg::verify::Depth;
use proptest::prelude::*;
use support::random_tree::{Wish, entries, format, make, without_clashes};
use support::{Expect, TREE_SECONDS, assert_sound, invariants, scratch, set_times};

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn names_of_any_kind_keep_every_file_under_the_policies_that_change_names(entries in entries()) {
        let folder = scratch();
        let source = folder.path().join("source");
        make(&source, &entries, false);
        let names =
            Names { invalid: InvalidNames::Replace, clash: Clash::Rename, ..Names::default() };
        let image = folder.path().join("image");
        let request = Wish::open().request(&source, names);
        let report = mkfatimg::build(&request, &Delivery::of(Output::at(&image).unwrap(), Depth::Contents), &()).unwrap();
        assert_sound(&image, &Expect::default());
        let volume = invariants::read(&image, 0).unwrap();
        prop_assert_eq!(volume.entries.len(), report.plan.tree().len() - 1);
    }

    #[test]
    fn the_order_in_which_a_tree_was_made_does_not_show(entries in entries()) {
        let folder = scratch();
        let images: Vec<Vec<u8>> = [false, true].into_iter().map(|backwards| {
            let source = folder.path().join(format!("source {backwards}"));
            make(&source, &without_clashes(entries.clone()), backwards);
            set_times(&source, TREE_SECONDS);
            let image = folder.path().join(format!("image {backwards}"));
            let request = Wish::open().request(&source, Names::default());
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
        let wish = Wish { size, format, ..Wish::open() };
        let Ok(plan) = mkfatimg::plan(&wish.request(folder.path(), Names::default()), &()) else {
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
