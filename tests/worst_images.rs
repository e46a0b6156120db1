//! What the worst images cost: the check of an image needs memory for its clusters at most, however
//! they are chained and whatever they hold, and for one full directory. Measured as the peak of a process of its own.

mod support;

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use mkfatimg::fat::kind::FatKind;
use mkfatimg::image::{Body, Image};
use mkfatimg::plan::Plan;
use mkfatimg::plan::request::{Format, ImageSize, Request};
use mkfatimg::source::made::{self, Made};
use mkfatimg::verify::{Findings, structure};
use support::scratch;

/// Names the image for the process that is measured.
const VARIABLE: &str = "MKFATIMG_WORST_IMAGE";

/// Images of so many MiB are made.
const SIZES_MIB: [u64; 3] = [34, 68, 136];

/// What the program itself takes, and the records of one directory.
const BASE_KIB: u64 = 24 << 10;

fn directory(directory: usize, name: String) -> Made {
    let name = name.into_bytes();
    Made { directory, name, size_bytes: None, read_only: false, modified_seconds: 1_700_000_000 }
}

/// A volume full of directories, all of them deep below names of the greatest length.
fn deep_directories(clusters: usize) -> Vec<Made> {
    let longest = "\u{65E5}".repeat(250);
    let mut entries: Vec<Made> = (0..6).map(|depth| directory(depth, longest.clone())).collect();
    // Directories of 10,000: less than a directory may hold, and far from few.
    let mut left = clusters;
    let mut made = 6;
    while left > 12_000 {
        entries.push(directory(6, format!("PARENT{left}")));
        made += 1;
        let parent = made;
        entries.extend((0..10_000).map(|number| directory(parent, format!("D{number}"))));
        made += 10_000;
        left -= 12_000;
    }
    entries
}

/// A directory with as many files as there may be.
fn full_directory() -> Vec<Made> {
    let file = |number| Made { size_bytes: Some(0), ..directory(1, format!("F{number}")) };
    let full = directory(0, "FULL".to_owned());
    [full].into_iter().chain((0..65_534).map(file)).collect()
}

/// An image of `mib` MiB on `path`, without contents, and its plan.
fn build(entries: Vec<Made>, mib: u64, path: &Path) -> Plan {
    let request = Request {
        size: ImageSize::Bytes(mib << 20),
        format: Format {
            kind: Some(FatKind::Fat32),
            cluster_bytes: Some(512),
            ..Format::default()
        },
        ..Request::default()
    };
    let plan = Plan::new(made::tree(entries), &request).unwrap();
    let file = File::create(path).unwrap();
    file.set_len(plan.image_bytes()).unwrap();
    let image = Image::of(&plan);
    for segment in image.segments() {
        if let Body::Meta(meta) = segment.body {
            let mut bytes = vec![0; segment.len as usize];
            image.render(meta, 0, &mut bytes);
            file.write_all_at(&bytes, segment.at).unwrap();
        }
    }
    plan
}

/// Both FATs so that no cluster goes on to its neighbour: with `one`, all free clusters are one chain
/// to and fro; without, each is lost by itself.
fn fragment(plan: &Plan, path: &Path, one: bool) {
    let geometry = plan.geometry();
    let end = geometry.cluster_count() + 2;
    let first = 2 + plan.totals().used_clusters;
    // First the even numbers upwards, then the odd ones.
    let next = |cluster: u32| match cluster + 2 {
        next if !one => 0x0FFF_FFFF | next & 0x8000_0000,
        next if next < end => next,
        _ if cluster % 2 == first % 2 => first + 1,
        _ => 0x0FFF_FFFF,
    };
    let bytes: Vec<u8> = (first..end).flat_map(|cluster| next(cluster).to_le_bytes()).collect();
    let file = File::options().write(true).open(path).unwrap();
    for index in 0..geometry.shape().fat_count {
        file.write_all_at(&bytes, geometry.fat_at_byte(index) + u64::from(first) * 4).unwrap();
    }
    if one {
        // The root's own chain leads on into it.
        for index in 0..geometry.shape().fat_count {
            let at = geometry.fat_at_byte(index) + u64::from(first - 1) * 4;
            file.write_all_at(&first.to_le_bytes(), at).unwrap();
        }
    }
}

/// KiB that a process needed at most to check the image, and how many findings it had.
fn peak_kib(image: &Path) -> (u64, u64) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "the_check_that_is_measured", "--nocapture"]).env(VARIABLE, image);
    let told = String::from_utf8(command.output().unwrap().stdout).unwrap();
    let line = told.lines().find_map(|line| line.split_once("peak: ")).expect(&told).1;
    let (peak, findings) = line.split_once(' ').unwrap();
    (peak.parse().unwrap(), findings.parse().unwrap())
}

#[test]
fn the_check_that_is_measured() {
    let Some(path) = std::env::var_os(VARIABLE) else { return };
    let mut findings = Findings::default();
    structure::check(&File::open(path).unwrap(), &(), &mut findings).unwrap();
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak = peak.trim().trim_end_matches(" kB");
    println!("\npeak: {peak} {}", findings.count());
}

#[test]
fn memory_follows_the_image_and_not_what_it_says() {
    let folder = scratch();
    let image = folder.path().join("image");
    for mib in SIZES_MIB {
        let most = BASE_KIB + (mib << 10) / 8;
        let clusters = (mib << 11) as usize - 4000;
        build(deep_directories(clusters * 9 / 10), mib, &image);
        let (deep, findings) = peak_kib(&image);
        assert_eq!(findings, 0);
        build(full_directory(), mib, &image);
        let (full, findings) = peak_kib(&image);
        assert_eq!(findings, 0);
        let plan = build(Vec::new(), mib, &image);
        let (empty, findings) = peak_kib(&image);
        assert_eq!(findings, 0);
        fragment(&plan, &image, false);
        let (lost, findings) = peak_kib(&image);
        assert!(findings > 0);
        fragment(&plan, &image, true);
        let (to_and_fro, findings) = peak_kib(&image);
        assert!(findings > 0);
        println!(
            "{mib} MiB: empty {empty} KiB, full directory {full}, directories {deep}, lost clusters {lost}, one chain {to_and_fro}"
        );
        for peak in [empty, full, deep, lost, to_and_fro] {
            assert!(peak <= most, "{peak} KiB for an image of {mib} MiB, at most {most}");
        }
    }
}
