//! How long the parts take that run once for each cluster, name or record, through the public
//! interface: the bytes of a FAT, short names, directory records.

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use mkfatimg::fat::attr::Attributes;
use mkfatimg::fat::kind::FatKind;
use mkfatimg::fat::record::{Entry, encode_long};
use mkfatimg::fat::short::{ShortName, ShortNamer};
use mkfatimg::fat::table::Chains;
use mkfatimg::fat::time::DosTime;

/// With three records each, nearly all that a directory can hold.
const NAMES: usize = 20_000;
/// The image writer fills its buffer with as much at a time.
const WINDOW_BYTES: usize = 1 << 20;
const FIRST_CLUSTER: u32 = 2;

fn main() {
    divan::main();
}

/// The last cluster of each of equal chains that fill a volume of the type.
fn last_clusters(kind: FatKind, chains: Chain) -> Vec<u32> {
    let clusters: u32 = match kind {
        FatKind::Fat12 => 4_000,
        FatKind::Fat16 => 65_000,
        FatKind::Fat32 => 1_300_000,
    };
    let chain_clusters = match chains {
        Chain::Long => clusters / 4,
        Chain::Short => 2,
    };
    (1..=clusters / chain_clusters)
        .map(|chain| FIRST_CLUSTER - 1 + chain * chain_clusters)
        .collect()
}

/// How the clusters are shared out.
#[derive(Debug, Clone, Copy)]
enum Chain {
    /// Four large files.
    Long,
    /// As in a tree of small files.
    Short,
}

#[divan::bench(args = [
    (FatKind::Fat12, Chain::Long),
    (FatKind::Fat12, Chain::Short),
    (FatKind::Fat16, Chain::Long),
    (FatKind::Fat16, Chain::Short),
    (FatKind::Fat32, Chain::Long),
    (FatKind::Fat32, Chain::Short),
])]
fn fat(bencher: Bencher<'_, '_>, (kind, chains): (FatKind, Chain)) {
    let ends = last_clusters(kind, chains);
    let chains = Chains::new(kind, 0xF8, &ends);
    let used_bytes = usize::try_from(chains.used_bytes()).expect("a FAT of a few MB");
    let mut window = vec![0; WINDOW_BYTES.min(used_bytes.next_multiple_of(512))];
    bencher.counter(BytesCount::new(used_bytes)).bench_local(|| {
        for at in (0..used_bytes).step_by(window.len()) {
            black_box(&chains).fill(at as u64, &mut window);
            black_box(&window);
        }
    });
}

fn alike() -> Vec<String> {
    (0..NAMES).map(|number| format!("firmware-object-{number:06}.fw")).collect()
}

fn differing() -> Vec<String> {
    (0..NAMES).map(|number| format!("{number:06}-firmware-object.fw")).collect()
}

/// All short names of one directory, whose names share their first letters or do not.
#[divan::bench(args = ["alike", "differing"], sample_size = 1)]
fn short_names(bencher: Bencher<'_, '_>, which: &str) {
    let names = if which == "alike" { alike() } else { differing() };
    bencher.counter(ItemsCount::new(NAMES)).bench_local(|| {
        let mut namer = ShortNamer::default();
        for name in black_box(&names) {
            black_box(namer.make(name));
        }
    });
}

#[divan::bench]
fn short_records(bencher: Bencher<'_, '_>) {
    let entry = Entry {
        name: ShortName::from_parts("FIRMWA~1", "FW"),
        attributes: Attributes::ARCHIVE,
        case_bits: 0,
        stamp: DosTime::EARLIEST,
        first_cluster: 70_000,
        size_bytes: 1024,
    };
    bencher.counter(ItemsCount::new(1_usize)).bench(|| black_box(&entry).encode());
}

/// Names of one, two and the most parts.
#[divan::bench(args = [13, 25, 255])]
fn long_records(bencher: Bencher<'_, '_>, units: usize) {
    let name = "n".repeat(units);
    let short = ShortName::from_parts("N~1", "");
    bencher
        .counter(ItemsCount::new(units.div_ceil(13)))
        .bench(|| encode_long(black_box(&name), short));
}
