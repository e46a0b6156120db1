//! Every size gives a legal volume or a reason why not, and an image sized by us is the smallest
//! that holds its tree.

mod support;

use std::fs::{self, File};
use std::path::Path;

use mkfatimg::fat::geometry::Geometry;
use mkfatimg::fat::kind::FatKind::{self, Fat12, Fat16, Fat32};
use mkfatimg::fat::label::Label;
use mkfatimg::plan::misfit::Misfit;
use mkfatimg::plan::request::{Format, Free, ImageSize, LabelWish};
use mkfatimg::plan::{Plan, Problem, Problems};
use mkfatimg::source::{Place, Sources};
use mkfatimg::{Error, Request};
use support::fsck;
use support::{Tool, TreeBuilder, build, run, scratch};

const SECTOR_BYTES: u64 = 512;
const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
const GIB: u64 = 1024 * MIB;
/// Images that are sized by us are a multiple of so many sectors.
const AUTO_SECTORS: u64 = 32;
/// Of fewer sectors they are never: one of the drivers mounts no such volume.
const WIDELY_READ_SECTORS: u64 = 128;

fn request(source: &Path, size: ImageSize) -> Request {
    let place = Place { path: source.to_path_buf(), destination: Vec::new() };
    Request {
        sources: Sources { places: vec![place], ..Sources::default() },
        size,
        ..Request::default()
    }
}

fn plan(request: &Request) -> Result<Plan, Problems> {
    mkfatimg::plan(request, &()).map_err(|error| match error {
        Error::Refused(problems) => problems,
        other => panic!("{other}"),
    })
}

fn of_sectors(source: &Path, sectors: u64) -> Result<Plan, Problems> {
    plan(&request(source, ImageSize::Bytes(sectors * SECTOR_BYTES)))
}

/// Sectors that a FAT for so many clusters fills, the two reserved entries among them.
fn fat_sectors_needed(geometry: &Geometry, clusters: u64) -> u64 {
    let bits = match geometry.kind() {
        Fat12 => 12,
        Fat16 => 16,
        Fat32 => 32,
    };
    ((clusters + 2) * bits).div_ceil(8).div_ceil(u64::from(geometry.sector_bytes()))
}

/// Counts again what the plan states, by the definitions of the format.
fn assert_legal(geometry: &Geometry, total_sectors: u64) {
    let shape = geometry.shape();
    assert_eq!(u64::from(shape.total_sectors), total_sectors);
    let fats = u64::from(shape.fat_count);
    let fat_sectors = u64::from(geometry.sectors_per_fat());
    let sector_bytes = u64::from(shape.bytes_per_sector);
    let root_sectors = (u64::from(shape.root_entries) * 32).div_ceil(sector_bytes);
    let clusters_with = |reserved_sectors: u64, fat_sectors: u64| {
        (total_sectors - reserved_sectors - fats * fat_sectors - root_sectors)
            / u64::from(shape.sectors_per_cluster)
    };

    let clusters = clusters_with(u64::from(shape.reserved_sectors), fat_sectors);
    assert_eq!(u64::from(geometry.cluster_count()), clusters, "{geometry:?}");
    assert!(shape.kind.safe_cluster_counts().contains(&geometry.cluster_count()), "{geometry:?}");
    assert_eq!(FatKind::of_cluster_count(geometry.cluster_count()), shape.kind);
    assert_eq!(shape.root_entries == 0, shape.kind == Fat32);

    assert!(fat_sectors_needed(geometry, clusters) <= fat_sectors, "FAT too short: {geometry:?}");
    // The FAT is measured before reserved sectors are added for alignment.
    let unpadded = if shape.kind == Fat32 { 32 } else { 1 };
    let shorter = fat_sectors - 1;
    assert!(
        shorter == 0 || fat_sectors_needed(geometry, clusters_with(unpadded, shorter)) > shorter,
        "FAT too long: {geometry:?}"
    );
}

/// The five sizes that stand for floppies.
fn is_floppy(sectors: u64) -> bool {
    [720, 1440, 2400, 2880, 5760].contains(&sectors)
}

/// What a volume of so many sectors is without other wishes, as far as clusters of 4 KiB fit.
fn assert_default_choice(geometry: &Geometry, sectors: u64) {
    let chosen = (geometry.kind(), u64::from(geometry.cluster_bytes()) / KIB);
    let usual = match sectors {
        ..48 => return,
        _ if is_floppy(sectors) => return,
        // The last size whose clusters of 4 KiB are 4068, and the first whose are 4101.
        48..=32_615 => (Fat12, 4),
        32_616..=32_879 => (Fat12, 8),
        32_880..=524_623 => (Fat16, 4),
        524_624..=525_391 => (Fat16, 8),
        _ => (Fat32, 4),
    };
    assert_eq!(chosen, usual, "{sectors} sectors");
    let data_at = geometry.first_data_sector() * SECTOR_BYTES;
    assert!(data_at.is_multiple_of(4096), "{sectors} sectors: clusters from byte {data_at}");
}

/// Plans each size for an empty tree and for one with a file of one byte.
fn assert_all_legal(sizes: impl IntoIterator<Item = u64>) {
    let scratch = scratch();
    let empty = TreeBuilder::new(scratch.path().join("empty"));
    let one = TreeBuilder::new(scratch.path().join("one"));
    one.file("one", "1");
    for sectors in sizes {
        for source in [empty.root(), one.root()] {
            let plan = of_sectors(source, sectors)
                .unwrap_or_else(|problems| panic!("{sectors} sectors: {problems}"));
            assert_eq!(plan.image_bytes(), sectors * SECTOR_BYTES);
            assert_legal(plan.geometry(), sectors);
            assert_default_choice(plan.geometry(), sectors);
        }
    }
}

#[test]
fn every_size_from_36_to_200_sectors_is_legal() {
    assert_all_legal(36..=200);
}

#[test]
fn every_size_around_16_mib_is_legal() {
    assert_all_legal(159 * MIB / 10 / SECTOR_BYTES..=161 * MIB / 10 / SECTOR_BYTES);
}

#[test]
fn every_size_around_256_mib_is_legal() {
    assert_all_legal(2559 * MIB / 10 / SECTOR_BYTES..=2566 * MIB / 10 / SECTOR_BYTES);
}

#[test]
fn every_size_where_some_cluster_size_changes_the_type_is_legal() {
    let borders = TYPE_BORDERS_512.iter().flat_map(|row| row.1);
    let small = borders.filter(|sectors| *sectors < GIB / SECTOR_BYTES);
    assert_all_legal(small.flat_map(|sectors| sectors - 20..=sectors + 20));
}

#[test]
fn sizes_up_to_1_gib_are_legal() {
    // A prime number of KiB meets every alignment.
    assert_all_legal((18 * KIB..=GIB).step_by(389 * 1024).map(|bytes| bytes / SECTOR_BYTES));
    assert_all_legal((200..8192).step_by(7));
    assert_all_legal([GIB / SECTOR_BYTES]);
}

#[test]
fn floppy_sizes_get_their_classic_layout() {
    let scratch = scratch();
    let empty = TreeBuilder::new(scratch.path().join("empty"));
    // Sectors, then sectors per cluster, root entries, media, sectors per FAT, per track, clusters.
    for (sectors, layout) in [
        (720, (2, 112, 0xFD, 2, 9, 354)),
        (1440, (2, 112, 0xF9, 3, 9, 713)),
        (2400, (1, 224, 0xF9, 7, 15, 2371)),
        (2880, (1, 224, 0xF0, 9, 18, 2847)),
        (5760, (2, 240, 0xF0, 9, 36, 2863)),
    ] {
        let plan = of_sectors(empty.root(), sectors).unwrap();
        let (geometry, facts) = (plan.geometry(), plan.facts());
        let shape = geometry.shape();
        assert_eq!(
            (
                shape.sectors_per_cluster,
                shape.root_entries,
                facts.media,
                geometry.sectors_per_fat(),
                facts.sectors_per_track,
                geometry.cluster_count()
            ),
            layout,
            "{sectors} sectors"
        );
        assert_eq!((shape.reserved_sectors, shape.fat_count, facts.heads), (1, 2, 2));
    }
}

#[test]
fn a_size_under_the_smallest_is_refused_with_the_smallest() {
    let scratch = scratch();
    let empty = TreeBuilder::new(scratch.path().join("empty"));
    let one = TreeBuilder::new(scratch.path().join("one"));
    one.file("one", "1");
    for sectors in 0..36 {
        for source in [empty.root(), one.root()] {
            let problems = of_sectors(source, sectors).unwrap_err().0;
            let [Problem::Misfit(Misfit::NoVolumeSoSmall { bytes, least, .. })] = &problems[..]
            else {
                panic!("{sectors} sectors: {problems:?}");
            };
            assert_eq!((*bytes, *least), (sectors * SECTOR_BYTES, 18_432));
        }
    }
    let image = scratch.path().join("image");
    let source = empty.root().to_str().unwrap();
    let ran = run(["--from", source, "--size", "17K", image.to_str().unwrap()]);
    assert_eq!(ran.status, Some(3));
    let told = "mkfatimg: --size 17K is too small for a FAT volume; the smallest is --size 18K\n";
    assert_eq!(ran.stderr, told);
    assert!(!image.exists());
}

/// Sectors per cluster, then the most for FAT12, the least and the most for FAT16, and the least
/// for FAT32, all sixteen clusters inside the type. FAT12 and FAT16 with one reserved sector and
/// 512 root entries, FAT32 with 32 reserved sectors; two FATs.
type BorderRow = (u32, [u64; 4]);

const TYPE_BORDERS_512: [BorderRow; 8] = [
    (1, [4125, 4168, 66_053, 66_599]),
    (2, [8194, 8269, 131_562, 132_140]),
    (4, [16_332, 16_471, 262_580, 263_222]),
    (8, [32_608, 32_875, 524_616, 525_386]),
    (16, [65_160, 65_683, 1_048_688, 1_049_714]),
    (32, [130_264, 131_299, 2_096_832, 2_098_370]),
    (64, [260_472, 262_531, 4_193_120, 4_195_682]),
    (128, [520_888, 524_995, 8_385_696, 8_390_306]),
];

const TYPE_BORDERS_4096: [BorderRow; 5] = [
    (1, [4077, 4112, 65_577, 65_703]),
    (2, [8146, 8213, 131_086, 131_244]),
    (4, [16_284, 16_415, 262_104, 262_326]),
    (8, [32_560, 32_819, 524_140, 524_490]),
    (16, [65_112, 65_627, 1_048_212, 1_048_818]),
];

#[test]
fn the_borders_between_the_types_are_where_other_makers_have_them() {
    let scratch = scratch();
    let empty = TreeBuilder::new(scratch.path().join("empty"));
    let rows = TYPE_BORDERS_512.iter().map(|row| (512, row));
    for (sector_bytes, (sectors_per_cluster, borders)) in
        rows.chain(TYPE_BORDERS_4096.iter().map(|row| (4096, row)))
    {
        let clusters = |kind: FatKind, reserved_sectors: u16, sectors: u64| {
            let bytes = sectors * u64::from(sector_bytes);
            let mut request = request(empty.root(), ImageSize::Bytes(bytes));
            request.format.kind = Some(kind);
            request.format.sector_bytes = sector_bytes;
            request.format.cluster_bytes = Some(sectors_per_cluster * u32::from(sector_bytes));
            request.format.reserved_sectors = Some(reserved_sectors);
            plan(&request).ok().map(|plan| {
                assert_legal(plan.geometry(), sectors);
                plan.geometry().cluster_count()
            })
        };
        let [fat12_most, fat16_least, fat16_most, fat32_least] = *borders;
        let row = format!("{sector_bytes} bytes a sector, {sectors_per_cluster} a cluster");
        assert_eq!(clusters(Fat12, 1, fat12_most), Some(4068), "{row}");
        assert_eq!(clusters(Fat12, 1, fat12_most + 1), None, "{row}");
        assert_eq!(clusters(Fat16, 1, fat16_least), Some(4101), "{row}");
        assert_eq!(clusters(Fat16, 1, fat16_least - 1), None, "{row}");
        assert_eq!(clusters(Fat16, 1, fat16_most), Some(65_508), "{row}");
        assert_eq!(clusters(Fat16, 1, fat16_most + 1), None, "{row}");
        assert_eq!(clusters(Fat32, 32, fat32_least), Some(65_541), "{row}");
        assert_eq!(clusters(Fat32, 32, fat32_least - 1), None, "{row}");
    }
}

#[test]
fn fat32_is_made_on_request_from_33_mib_on() {
    let scratch = scratch();
    let empty = TreeBuilder::new(scratch.path().join("empty"));
    let of_mib = |mib: u64| {
        let mut request = request(empty.root(), ImageSize::Bytes(mib * MIB));
        request.format.kind = Some(Fat32);
        plan(&request).map(|plan| *plan.geometry())
    };
    assert!(of_mib(32).is_err());
    for mib in (33..300).chain((300..8192).step_by(97)) {
        let geometry = of_mib(mib).unwrap_or_else(|problems| panic!("{mib} MiB: {problems}"));
        assert_legal(&geometry, mib * MIB / SECTOR_BYTES);
        // As large as FAT32 of that size allows, but 4 KiB at most.
        let cluster_bytes = match mib {
            ..65 => 512,
            65..129 => 1024,
            129..257 => 2048,
            _ => 4096,
        };
        assert_eq!(
            (geometry.kind(), geometry.cluster_bytes()),
            (Fat32, cluster_bytes),
            "{mib} MiB"
        );
    }
}

#[test]
fn fat16_of_2_gib_gives_up_the_clusters_that_it_may_not_have() {
    let scratch = scratch();
    let empty = TreeBuilder::new(scratch.path().join("empty"));
    let image = scratch.path().join("image");
    build(empty.root(), &image, &["--fat-type", "16", "--size", "2G"]);
    assert_eq!(fs::metadata(&image).unwrap().len(), 2 * GIB);
    let volume = support::invariants::read(&image, 0).unwrap();
    let geometry = &volume.geometry;
    assert_eq!((geometry.cluster_count, geometry.cluster_bytes), (65_508, 32_768));
    assert_eq!(geometry.cluster_position(2) % 4096, 0);
    if let Some(fsck) = Tool::find("fsck.fat") {
        fsck::assert_accepts(&fsck, &image);
    }
}

#[test]
fn a_cluster_size_is_kept_and_the_type_follows() {
    let scratch = scratch();
    let empty = TreeBuilder::new(scratch.path().join("empty"));
    let mut request = request(empty.root(), ImageSize::Bytes(60 * MIB));
    for (cluster_bytes, kind) in [
        (512, Fat32),
        (1024, Fat16),
        (2048, Fat16),
        (4096, Fat16),
        (8192, Fat16),
        (16_384, Fat12),
        (32_768, Fat12),
        (65_536, Fat12),
    ] {
        request.format.cluster_bytes = Some(cluster_bytes);
        let geometry = *plan(&request).unwrap().geometry();
        assert_eq!((geometry.cluster_bytes(), geometry.kind()), (cluster_bytes, kind));
        assert_legal(&geometry, 60 * MIB / SECTOR_BYTES);
    }
}

#[test]
fn a_cluster_size_that_falls_between_two_types_is_refused_with_what_would_do() {
    let scratch = scratch();
    let empty = TreeBuilder::new(scratch.path().join("empty"));
    let ran = run([
        "--from",
        empty.root().to_str().unwrap(),
        "--size",
        "64M",
        "--cluster-size",
        "16K",
        "--dry-run",
    ]);
    assert_eq!(ran.status, Some(3));
    // 130271 sectors are 4068 clusters, 131304 are 4101.
    assert_eq!(
        ran.stderr,
        "mkfatimg: FAT with clusters of 16384 bytes is not possible in 64M; in this size use \
         --cluster-size 512 or 1024 or 2048 or 4096 or 8192 or 32768 or 65536, or use --size \
         65135K or less, or use --size 65652K or more\n"
    );
}

#[test]
fn images_of_many_sizes_are_sound_and_fsck_accepts_them() {
    let scratch = scratch();
    let tree = TreeBuilder::new(scratch.path().join("tree"));
    tree.file("one", "1").settle();
    let image = scratch.path().join("image");
    let fsck = Tool::find("fsck.fat");
    let small = [36, 37, 39, 40, 41, 47, 48, 49, 55, 56, 57, 63, 64, 65, 100, 127, 128, 199];
    let floppies = [719, 720, 721, 1440, 2400, 2879, 2880, 2881, 5760, 5761];
    let borders = [
        32_608, 32_615, 32_616, 32_617, 32_768, 32_874, 32_879, 32_880, 32_881, 65_535, 65_536,
        524_616, 524_623, 524_624, 524_625, 525_386, 525_391, 525_392, 525_393,
    ];
    let coarse = (1..14).map(|index| (index * 77_777 + 1) * KIB / SECTOR_BYTES);
    let sizes = small.into_iter().chain(floppies).chain(borders).chain(coarse);
    for sectors in sizes.chain([GIB / SECTOR_BYTES]) {
        let bytes = sectors * SECTOR_BYTES;
        build(tree.root(), &image, &["--size", &bytes.to_string()]);
        assert_eq!(fs::metadata(&image).unwrap().len(), bytes);
        if let Some(fsck) = &fsck {
            fsck::assert_accepts(fsck, &image);
        }
    }
}

/// Numbers without a pattern, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Files that take no room on the host.
fn add_file(root: &Path, path: &str, bytes: u64) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    File::create(path).unwrap().set_len(bytes).unwrap();
}

/// Some files of all sizes up to two thousand sectors in some directories.
fn grow_tree(root: &Path, numbers: &mut Numbers) {
    fs::create_dir(root).unwrap();
    for file in 0..numbers.below(12) {
        let directory =
            ["", "d/", "d/e/", "a directory with a long name/"][numbers.below(4) as usize];
        let name = ["f", "file with a long name ", "F.TXT."][numbers.below(3) as usize];
        let bytes = match numbers.below(6) {
            0 => 0,
            1 => numbers.below(3) + 511,
            2 => numbers.below(3) + 4095,
            3 => numbers.below(100_000),
            _ => numbers.below(20_000),
        };
        add_file(root, &format!("{directory}{name}{file}"), bytes);
    }
}

/// Clusters that a plan leaves free, less those that it was asked to leave free.
fn spare_clusters(plan: &Plan, free: Free) -> i64 {
    let count = u64::from(plan.geometry().cluster_count());
    let asked = match free {
        Free::Bytes(bytes) => bytes.div_ceil(u64::from(plan.geometry().cluster_bytes())),
        Free::Percent(percent) => (count * u64::from(percent)).div_ceil(100),
    };
    i64::from(plan.free_clusters().count) - asked as i64
}

/// Whether a volume of exactly so many sectors holds the tree with a cluster to spare.
fn holds(request: &Request, sectors: u64) -> bool {
    let sector_bytes = u64::from(request.format.sector_bytes);
    let mut request = request.clone();
    request.size = ImageSize::Bytes(sectors * sector_bytes);
    // Otherwise it could become a floppy, which an image that is sized by us never is.
    request.format.fat_count = request.format.fat_count.or(Some(2));
    plan(&request).is_ok_and(|plan| spare_clusters(&plan, request.free) >= 1)
}

/// Plans a size of our choice and returns its sectors; of the smaller ones the last `tried` are
/// asked for, and some of the others, and none may do.
fn assert_smallest(request: &Request, tried: u64) -> u64 {
    let chosen = plan(request).unwrap_or_else(|problems| panic!("{problems}"));
    let sectors = u64::from(chosen.geometry().shape().total_sectors);
    assert!(sectors.is_multiple_of(AUTO_SECTORS), "{sectors} sectors");
    assert!(spare_clusters(&chosen, request.free) >= 1, "{sectors} sectors, {request:?}");
    assert_legal(chosen.geometry(), sectors);
    assert!(holds(request, sectors), "{sectors} sectors, {request:?}");
    let first = sectors.saturating_sub(tried * AUTO_SECTORS);
    let nearest = (first..sectors).step_by(AUTO_SECTORS as usize);
    let scattered = (1..12).map(|part| (first * part / 12).next_multiple_of(AUTO_SECTORS));
    let wanted = |smaller: &u64| (WIDELY_READ_SECTORS..sectors).contains(smaller);
    let smaller = nearest.chain(scattered).filter(wanted);
    let holding: Vec<u64> = smaller.filter(|smaller| holds(request, *smaller)).collect();
    assert_eq!(holding, [0; 0], "chosen: {sectors} sectors, {request:?}");
    sectors
}

/// Wishes that move regions and clusters.
fn wishes() -> Vec<(Format, Free)> {
    let format = Format::default;
    let label = LabelWish { label: Label::new("LABEL").unwrap(), made_capital: false };
    let layouts = vec![
        format(),
        Format { kind: Some(Fat12), fat_count: Some(1), ..format() },
        Format { cluster_bytes: Some(512), label: Some(label), ..format() },
        Format { cluster_bytes: Some(1024), align_bytes: Some(8192), ..format() },
        Format { cluster_bytes: Some(32_768), ..format() },
        Format { sector_bytes: 4096, ..format() },
        Format { sector_bytes: 2048, root_entries: Some(64), ..format() },
        Format { reserved_sectors: Some(3), ..format() },
        Format { align_bytes: Some(65_536), ..format() },
    ];
    let frees = [
        Free::Bytes(0),
        Free::Bytes(1),
        Free::Bytes(100_000),
        Free::Percent(1),
        Free::Percent(10),
        Free::Percent(50),
        Free::Percent(90),
    ];
    let mut wishes = Vec::new();
    for index in 0..layouts.len() * frees.len() {
        wishes.push((layouts[index % layouts.len()].clone(), frees[index % frees.len()]));
    }
    wishes
}

#[test]
fn an_image_sized_by_us_is_the_smallest_for_hundreds_of_trees() {
    let scratch = scratch();
    let mut numbers = Numbers(1);
    let wishes = wishes();
    for index in 0..300 {
        let root = scratch.path().join(format!("tree{index}"));
        grow_tree(&root, &mut numbers);
        let (format, free) = &wishes[index % wishes.len()];
        let request =
            Request { format: format.clone(), free: *free, ..request(&root, ImageSize::Auto) };
        assert_smallest(&request, 24);
    }
}

#[test]
fn an_image_sized_by_us_is_the_smallest_of_all_for_small_trees() {
    let scratch = scratch();
    let mut numbers = Numbers(2);
    for index in 0..60 {
        let root = scratch.path().join(format!("tree{index}"));
        grow_tree(&root, &mut numbers);
        assert_smallest(&request(&root, ImageSize::Auto), u64::MAX / AUTO_SECTORS);
    }
}

#[test]
fn an_image_sized_by_us_is_the_smallest_where_type_or_cluster_changes() {
    let scratch = scratch();
    let mut numbers = Numbers(3);
    for (index, (least, most)) in [
        (15 * MIB + 800 * KIB, 16 * MIB + 200 * KIB),
        (255 * MIB + 700 * KIB, 257 * MIB),
        (2 * GIB - 20 * MIB, 2 * GIB + 20 * MIB),
    ]
    .into_iter()
    .enumerate()
    {
        for round in 0..14 {
            let root = scratch.path().join(format!("tree{index}-{round}"));
            add_file(&root, "large", least + numbers.below(most - least));
            assert_smallest(&request(&root, ImageSize::Auto), 160);
        }
    }
    for (files, name) in [(4, "8"), (8, "16"), (16, "32")] {
        for less in [1, 20, 400] {
            let root = scratch.path().join(format!("gib{name}-{less}"));
            for file in 0..files {
                add_file(&root, &format!("{file}"), 2 * GIB - less * MIB);
            }
            assert_smallest(&request(&root, ImageSize::Auto), 160);
        }
    }
}

#[test]
fn an_image_sized_by_us_is_the_smallest_where_only_the_fat_can_reach_the_boundary() {
    let scratch = scratch();
    let empty = TreeBuilder::new(scratch.path().join("empty"));
    for (kind, reserved_sectors, align_bytes) in
        [(Fat32, 38, 1 << 20), (Fat32, 32, 65_536), (Fat12, 2, 4096), (Fat16, 4, 65_536)]
    {
        let mut request = request(empty.root(), ImageSize::Auto);
        request.format.kind = Some(kind);
        request.format.reserved_sectors = Some(reserved_sectors);
        request.format.align_bytes = Some(align_bytes);
        let plan = plan(&request).unwrap_or_else(|problems| panic!("{problems}"));
        let sectors = u64::from(plan.geometry().shape().total_sectors);
        assert!(plan.image_bytes() < 128 * MIB, "{kind}, {reserved_sectors}: {sectors} sectors");
        let smaller = (WIDELY_READ_SECTORS..sectors).step_by(AUTO_SECTORS as usize);
        let holding: Vec<u64> = smaller.filter(|smaller| holds(&request, *smaller)).collect();
        assert_eq!(holding, [0; 0], "{kind}, {reserved_sectors}, chosen: {sectors} sectors");
    }
}

#[test]
fn a_percentage_of_any_height_stays_free_and_no_more() {
    let scratch = scratch();
    let mut numbers = Numbers(5);
    for percent in 0..100 {
        let root = scratch.path().join(format!("tree{percent}"));
        add_file(&root, "file", numbers.below(30 * MIB));
        let mut request = request(&root, ImageSize::Auto);
        request.free = Free::Percent(percent);
        assert_smallest(&request, 64);
    }
}

#[test]
fn a_percentage_of_the_largest_clusters_stays_free_and_no_more() {
    let scratch = scratch();
    let root = scratch.path().join("tree");
    add_file(&root, "file", MIB);
    let mut request = request(&root, ImageSize::Auto);
    request.format.cluster_bytes = Some(65_536);
    // 17 clusters are 76 percent of no whole number of clusters.
    for percent in [24, 25, 72, 90] {
        request.free = Free::Percent(percent);
        assert_smallest(&request, 500);
    }
    request.free = Free::Percent(24);
    assert_eq!(plan(&request).unwrap().geometry().cluster_count(), 23);
}

#[test]
fn a_type_that_no_size_makes_large_enough_is_refused() {
    let scratch = scratch();
    let root = scratch.path().join("tree");
    add_file(&root, "large", 200 * MIB);
    let mut request = request(&root, ImageSize::Auto);
    request.format.kind = Some(Fat12);
    let problems = plan(&request).unwrap_err().0;
    assert!(matches!(problems[..], [Problem::Misfit(Misfit::NoSize { .. })]), "{problems:?}");
    // The most that it holds: 4067 clusters of 32 KiB, and one to spare.
    fs::remove_file(root.join("large")).unwrap();
    add_file(&root, "large", 4067 * 32 * KIB);
    assert_smallest(&request, 100);
    fs::remove_file(root.join("large")).unwrap();
    add_file(&root, "large", 4067 * 32 * KIB + 1);
    assert!(plan(&request).is_err());
}

#[test]
fn an_image_of_a_given_type_sized_by_us_is_the_smallest_of_it() {
    let scratch = scratch();
    let mut numbers = Numbers(4);
    for index in 0..6 {
        let root = scratch.path().join(format!("tree{index}"));
        grow_tree(&root, &mut numbers);
        for kind in [Fat16, Fat32] {
            let mut request = request(&root, ImageSize::Auto);
            request.format.kind = Some(kind);
            assert_smallest(&request, 20);
        }
    }
    let empty = scratch.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let mut request = request(&empty, ImageSize::Auto);
    assert_eq!(assert_smallest(&request, 100), 128);
    request.format.kind = Some(Fat16);
    assert_eq!(assert_smallest(&request, 131), 4192);
    request.format.kind = Some(Fat32);
    assert_eq!(assert_smallest(&request, 100), 66_624);
}
