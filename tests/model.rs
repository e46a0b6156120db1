//! The model check: random trees with random wishes become images on which every invariant holds and
//! in which three readers find the tree, or are refused for what was wished.

mod support;

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::{Range, RangeInclusive};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use gpt::disk::LogicalBlockSize;
use mkfatimg::disk::Scheme;
use mkfatimg::image::blocks::MAP_BLOCK_BYTES;
use mkfatimg::image::{Body, Image};
use mkfatimg::plan::request::{DiskWish, Free, ImageSize, Names};
use mkfatimg::plan::{Blame, Plan};
use mkfatimg::report::Report;
use mkfatimg::sink::Output;
use mkfatimg::verify::Depth;
use mkfatimg::{Delivery, Error, Request};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use support::contents::{self, Contents};
use support::random_tree::{Entries, Wish, entries, make, wishes, without_clashes};
use support::{Expect, TREE_SECONDS, Tool, assert_sound, fatfs_reader, fsck, scratch, set_times};

/// Bytes that are copied in one piece.
const PIECE_BYTES: usize = 1 << 20;

/// More with `PROPTEST_CASES`, in release; the same again with `PROPTEST_RNG_SEED`.
#[test]
fn every_legal_tree_and_wish_becomes_a_sound_image_or_is_refused() {
    let told = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    let cases = told.unwrap_or(300);
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let judges = Judges { fsck: Tool::find("fsck.fat"), seven_zip: Tool::find("7z") };
    let (images, disks) = (AtomicU32::new(0), AtomicU32::new(0));
    let judged = TestRunner::new(config).run(&(entries(), wishes()), |(entries, wish)| {
        let is_disk = wish.disk != DiskWish::None;
        if judges.judge(without_clashes(entries), &wish)? {
            images.fetch_add(1, Relaxed);
            disks.fetch_add(is_disk.into(), Relaxed);
        }
        Ok(())
    });
    if let Err(error) = judged {
        panic!("{error}");
    }
    let (images, disks) = (images.into_inner(), disks.into_inner());
    eprintln!("{cases} cases: {images} images, {disks} of them with a partition table");
    // A check of refusals alone would be none.
    assert!(images > cases / 3 && disks > cases / 20, "{images} images, {disks} disks of {cases}");
}

/// Programs of others that are asked about each image.
struct Judges {
    fsck: Option<Tool>,
    seven_zip: Option<Tool>,
}

impl Judges {
    /// Whether the wish became an image; a sound one then.
    fn judge(&self, entries: Entries, wish: &Wish) -> Result<bool, TestCaseError> {
        let folder = scratch();
        let source = folder.path().join("source");
        make(&source, &entries, false);
        set_times(&source, TREE_SECONDS);
        let plan = match mkfatimg::plan(&wish.request(&source, Names::default()), &()) {
            Ok(plan) => plan,
            Err(Error::Refused(problems)) => {
                // The wish can be impossible; the tree cannot.
                prop_assert!(problems.blame() < Blame::Source, "{}", problems);
                return Ok(false);
            }
            Err(other) => panic!("{other}"),
        };
        assert_segments_cover(&plan);
        assert_keeps_wish(&plan, wish)?;
        let volume_at = plan.volume_at_byte();
        let volume = volume_at..volume_at + plan.geometry().volume_bytes();
        let expect = expect(&plan, wish, &source);
        let planned = Report::planned(plan);
        let (regions, totals) = (planned.regions(), *planned.plan.totals());
        let image = folder.path().join("image");
        let delivery = Delivery::of(Output::at(&image).unwrap(), Depth::Contents);
        let report = delivery.carry_out(planned.plan, &()).unwrap();
        prop_assert_eq!(report.regions(), regions);
        prop_assert_eq!(report.plan.totals(), &totals);
        prop_assert_eq!(fs::metadata(&image).unwrap().len(), report.plan.image_bytes());

        assert_sound(&image, &expect);
        assert_partition(&image, wish, &volume)?;
        assert_built_again(&image, folder.path(), &wish.request(&source, Names::default()));
        let wanted = contents::below(&source);
        let found = fatfs_reader::contents(&fatfs_reader::open(&image, volume.clone()));
        contents::assert_same(&found, &wanted, "fatfs");
        self.assert_others_agree(&image, &volume, folder.path(), &wanted);
        Ok(true)
    }

    fn assert_others_agree(
        &self,
        image: &Path,
        volume: &Range<u64>,
        folder: &Path,
        wanted: &Contents,
    ) {
        let alone = folder.join("volume");
        let image = if volume.start == 0 {
            image
        } else {
            copy_sparsely(image, volume, &alone);
            &alone
        };
        if let Some(fsck) = &self.fsck {
            fsck::assert_accepts(fsck, image);
        }
        if let Some(seven_zip) = &self.seven_zip {
            let out = folder.join("out");
            fs::create_dir(&out).unwrap();
            let mut command = seven_zip.command();
            let ran = command.current_dir(&out).args(["x", "-y", "-tFAT"]).arg(image).output();
            let ran = ran.unwrap();
            let told = String::from_utf8_lossy(&ran.stdout);
            assert!(ran.status.success(), "7z: {told}{}", String::from_utf8_lossy(&ran.stderr));
            contents::assert_same(&contents::below(&out), wanted, "7z");
        }
    }
}

/// The size that was asked for, to the byte, and the room.
fn assert_keeps_wish(plan: &Plan, wish: &Wish) -> Result<(), TestCaseError> {
    if let ImageSize::Bytes(asked) = wish.size {
        prop_assert_eq!(plan.image_bytes(), asked);
    }
    let free = u64::from(plan.free_clusters().count);
    let geometry = plan.geometry();
    let kept = match wish.free {
        Free::Bytes(bytes) => free * u64::from(geometry.cluster_bytes()) >= bytes,
        Free::Percent(percent) => {
            free * 100 >= u64::from(percent) * u64::from(geometry.cluster_count())
        }
    };
    prop_assert!(kept, "{} clusters free, asked for {:?}", free, wish.free);
    prop_assert!(wish.size != ImageSize::Auto || free > 0);
    Ok(())
}

fn expect(plan: &Plan, wish: &Wish, source: &Path) -> Expect {
    let format = &wish.format;
    let start_sectors = plan.volume_at_byte() / u64::from(format.sector_bytes);
    let hidden_sectors = match wish.disk {
        DiskWish::None => format.hidden_sectors.unwrap_or(0),
        _ => u32::try_from(start_sectors).unwrap(),
    };
    Expect {
        offset: plan.volume_at_byte(),
        fats: Some(format.fat_count.unwrap_or(2)),
        label: Some(format.label.map(|wish| wish.label.to_string())),
        volume_id: Some(format.volume_id.unwrap_or(plan.facts().volume_id)),
        align_bytes: format.align_bytes.map(u64::from),
        hidden_sectors: Some(hidden_sectors),
        cluster_64k: format.cluster_bytes == Some(65_536),
        // Reserved sectors that make a type possible leave the FAT as long as it was.
        explicit_reserved: format.kind.is_some()
            || format.align_bytes.is_some()
            || format.reserved_sectors.is_some(),
        source: Some(source.to_path_buf()),
        times: true,
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

/// The table has one partition, and the volume fills it.
fn assert_partition(image: &Path, wish: &Wish, volume: &Range<u64>) -> Result<(), TestCaseError> {
    let DiskWish::Table(table) = &wish.disk else {
        prop_assert_eq!(volume.start, 0);
        return Ok(());
    };
    if let Some(start_bytes) = table.start_bytes {
        prop_assert_eq!(volume.start, start_bytes);
    }
    let sector_bytes = u64::from(wish.format.sector_bytes);
    let sectors = volume.start / sector_bytes..volume.end / sector_bytes;
    match table.scheme {
        Scheme::Mbr => {
            let mut sector = [0; 512];
            File::open(image).unwrap().read_exact_at(&mut sector, 0).unwrap();
            let number =
                |at: usize| u64::from(u32::from_le_bytes(sector[at..at + 4].try_into().unwrap()));
            prop_assert_eq!(number(454)..number(454) + number(458), sectors);
            prop_assert!(sector[462..510].iter().all(|byte| *byte == 0));
            prop_assert_eq!(&sector[510..], [0x55, 0xAA]);
        }
        // The crate knows no sectors between these.
        Scheme::Gpt => {
            let block = match sector_bytes {
                512 => LogicalBlockSize::Lb512,
                4096 => LogicalBlockSize::Lb4096,
                _ => return Ok(()),
            };
            let disk = gpt::GptConfig::new()
                .writable(false)
                .logical_block_size(block)
                .open(image)
                .unwrap();
            let partitions: Vec<_> = disk.partitions().values().collect();
            prop_assert_eq!(partitions.len(), 1);
            let found = partitions[0];
            prop_assert_eq!(found.first_lba..found.last_lba + 1, sectors);
            // Both headers, their digests with them.
            let backup_lba = disk.primary_header().unwrap().backup_lba;
            prop_assert_eq!(backup_lba, disk.backup_header().unwrap().current_lba);
            if let Some(label) = &table.label {
                prop_assert_eq!(&found.name, label);
            }
        }
    }
    Ok(())
}

/// A second image of the same is the same, and the blocks that its map leaves out are zero.
fn assert_built_again(image: &Path, folder: &Path, request: &Request) {
    let (again, map) = (folder.join("again"), folder.join("map"));
    let delivery = Delivery {
        block_map: Some(Output::at(&map).unwrap()),
        ..Delivery::of(Output::at(&again).unwrap(), Depth::Structure)
    };
    mkfatimg::build(request, &delivery, &()).unwrap_or_else(|error| panic!("{error}"));
    let map = fs::read_to_string(map).unwrap();
    let ranges = map.lines().filter_map(|line| line.strip_suffix(" </Range>")?.rsplit_once("> "));
    let mapped: Vec<RangeInclusive<u64>> = ranges
        .map(|(_, blocks)| {
            let (first, last) = blocks.split_once('-').unwrap_or((blocks, blocks));
            first.parse().unwrap()..=last.parse().unwrap()
        })
        .collect();

    let (image, again) = (File::open(image).unwrap(), File::open(again).unwrap());
    let image_bytes = image.metadata().unwrap().len();
    assert_eq!(again.metadata().unwrap().len(), image_bytes);
    let [mut piece, mut other, zeros] = [(); 3].map(|()| vec![0; PIECE_BYTES]);
    for at in (0..image_bytes).step_by(PIECE_BYTES) {
        let len = PIECE_BYTES.min((image_bytes - at) as usize);
        image.read_exact_at(&mut piece[..len], at).unwrap();
        again.read_exact_at(&mut other[..len], at).unwrap();
        assert!(piece[..len] == other[..len], "two builds differ in the MiB from byte {at}");
        if piece[..len] == zeros[..len] {
            continue;
        }
        for (block, bytes) in
            (at / MAP_BLOCK_BYTES..).zip(piece[..len].chunks(MAP_BLOCK_BYTES as usize))
        {
            let is_mapped = mapped.iter().any(|range| range.contains(&block));
            assert!(is_mapped || bytes == &zeros[..bytes.len()], "block {block} is not in the map");
        }
    }
}

/// The bytes as a file of their own; pieces of zeros become holes.
fn copy_sparsely(image: &Path, bytes: &Range<u64>, copy: &Path) {
    let mut from = File::open(image).unwrap();
    let mut to = File::create(copy).unwrap();
    to.set_len(bytes.end - bytes.start).unwrap();
    from.seek(SeekFrom::Start(bytes.start)).unwrap();
    let mut from = from.take(bytes.end - bytes.start);
    let (mut piece, zeros) = (vec![0; PIECE_BYTES], vec![0; PIECE_BYTES]);
    loop {
        let len = from.read(&mut piece).unwrap();
        if len == 0 {
            return;
        }
        if piece[..len] == zeros[..len] {
            to.seek(SeekFrom::Current(len as i64)).unwrap();
        } else {
            to.write_all(&piece[..len]).unwrap();
        }
    }
}
