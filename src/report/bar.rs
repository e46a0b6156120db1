//! The image drawn as a bar of its regions, with a table that says which is which. Pure: what the
//! terminal can show is told, not asked.

use std::fmt::Write;

use super::human::size_text;
use super::{RegionExtent, region_name};
use crate::image::Region;

/// What a picture may be made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Columns of a line; less than 20 counts as 20, and no line is longer than 100.
    pub columns: usize,
    /// Whether regions have colours too, by escape sequences.
    pub colour: bool,
    /// Whether regions are drawn with block characters instead of ASCII.
    pub blocks: bool,
}

/// Enough for the longest name of a region, or a size and a share, and a bar that shows something.
const LEAST_COLUMNS: usize = 20;
/// A longer bar is harder to take in at a glance, not easier.
const MOST_COLUMNS: usize = 100;
/// What a line of the table takes with bytes, and without them.
const COLUMNS_WITH_BYTES: usize = 69;
const COLUMNS_WITHOUT_BYTES: usize = 36;

/// The bar and the table of `regions`, which touch; each line with its end.
///
/// Every region has a column of the bar at least. The shares are rounded so that they sum to 100 %
/// and equal regions have equal shares.
pub fn picture(regions: &[RegionExtent], look: &Look) -> String {
    let columns = look.columns.clamp(LEAST_COLUMNS, MOST_COLUMNS);
    let lens: Vec<u64> = regions.iter().map(|extent| extent.len).collect();
    let mut text = String::new();
    for (extent, count) in regions.iter().zip(bar_columns(&lens, columns)) {
        text.push_str(&drawn(extent.region, count, look));
    }
    text.push_str("\n\n");
    if columns >= COLUMNS_WITH_BYTES {
        let _ = writeln!(
            text,
            "  {:<14}{:>15}{:>15}{:>14}{:>9}",
            "region", "from byte", "bytes", "size", "share"
        );
    }
    for (extent, share) in regions.iter().zip(apportioned(&lens, 1000)) {
        let sample = drawn(extent.region, 1, look);
        let name = region_name(extent.region);
        let RegionExtent { at, len, .. } = extent;
        let size = size_text(*len);
        let share = format!("{}.{} %", share / 10, share % 10);
        let _ = if columns >= COLUMNS_WITH_BYTES {
            writeln!(text, "{sample} {name:<14}{at:>15}{len:>15}{size:>14}{share:>9}")
        } else if columns >= COLUMNS_WITHOUT_BYTES {
            writeln!(text, "{sample} {name:<14}{size:>12}{share:>8}")
        } else {
            writeln!(text, "{sample} {name}\n{:>LEAST_COLUMNS$}", format!("{size} {share}"))
        };
    }
    text
}

/// How many of `columns` each region takes: one to be seen, and its share of the others.
fn bar_columns(lens: &[u64], columns: usize) -> Vec<usize> {
    let shares = apportioned(lens, columns.saturating_sub(lens.len()));
    shares.into_iter().map(|share| 1 + share).collect()
}

/// `whole` in parts as `weights`, each rounded to the nearest, so that equal weights have equal parts.
/// What is then missing or too much is the largest one's, where it is told least; of those that have
/// no equal if there are such.
fn apportioned(weights: &[u64], whole: usize) -> Vec<usize> {
    let total = weights.iter().map(|weight| u128::from(*weight)).sum::<u128>().max(1);
    let nearest = |weight: &u64| {
        let exact = u128::from(*weight) * whole as u128;
        // No part is larger than `whole`.
        ((2 * exact + total) / (2 * total)) as usize
    };
    let mut parts: Vec<usize> = weights.iter().map(nearest).collect();
    let sum: usize = parts.iter().sum();
    let is_alone =
        |index: usize| weights.iter().filter(|weight| **weight == weights[index]).count() == 1;
    let can_give = |index: usize| parts[index] + whole >= sum;
    let taker = (0..weights.len())
        .filter(|index| can_give(*index))
        .max_by_key(|index| (is_alone(*index), weights[*index]));
    if let Some(taker) = taker {
        parts[taker] = parts[taker] + whole - sum;
    }
    parts
}

/// `count` columns of a region. What is free has the terminal's own colour, the one that is sure to
/// be seen on its ground.
fn drawn(region: Region, count: usize, look: &Look) -> String {
    // Each is among the characters that the console of a PC has too. A colour alone is not enough:
    // not everybody tells them apart.
    let (block, ascii, colour) = match region {
        Region::Table => ("≡", "=", "31"),
        Region::BackupTable => ("≡", "=", "31"),
        Region::Reserved => ("▐", "|", "35"),
        Region::Fat(0) => ("▓", "1", "33"),
        Region::Fat(_) => ("▒", "2", "33"),
        Region::Root => ("▀", "/", "36"),
        Region::Directories => ("▄", "+", "34"),
        Region::Files => ("█", "#", "32"),
        Region::Free => ("░", ".", ""),
    };
    let columns = if look.blocks { block } else { ascii }.repeat(count);
    if look.colour && !colour.is_empty() {
        format!("\x1b[{colour}m{columns}\x1b[0m")
    } else {
        columns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASCII: Look = Look { columns: 80, colour: false, blocks: false };

    /// Regions that touch, from byte 0 on.
    fn regions(parts: &[(Region, u64)]) -> Vec<RegionExtent> {
        let mut at = 0;
        let extent = |&(region, len): &(Region, u64)| {
            at += len;
            RegionExtent { region, at: at - len, len }
        };
        parts.iter().map(extent).collect()
    }

    fn floppy() -> Vec<RegionExtent> {
        regions(&[
            (Region::Reserved, 512),
            (Region::Fat(0), 4608),
            (Region::Fat(1), 4608),
            (Region::Root, 7168),
            (Region::Directories, 4096),
            (Region::Files, 900_096),
            (Region::Free, 553_472),
        ])
    }

    #[test]
    fn a_line_of_80_columns_shows_everything() {
        assert_eq!(
            picture(&floppy(), &ASCII),
            "\
|12/+###############################################............................

  region              from byte          bytes          size    share
| reserved area               0            512         512 B    0.0 %
1 FAT 1                     512           4608      4.50 KiB    0.3 %
2 FAT 2                    5120           4608      4.50 KiB    0.3 %
/ root directory           9728           7168         7 KiB    0.5 %
+ directories             16896           4096         4 KiB    0.3 %
# files                   20992         900096       879 KiB   61.1 %
. free                   921088         553472    540.50 KiB   37.5 %
"
        );
    }

    #[test]
    fn a_narrow_line_leaves_out_bytes_and_a_very_narrow_one_is_two() {
        let picture = |columns| picture(&floppy(), &Look { columns, ..ASCII });
        assert_eq!(
            picture(36),
            "\
|12/+###################............

| reserved area        512 B   0.0 %
1 FAT 1             4.50 KiB   0.3 %
2 FAT 2             4.50 KiB   0.3 %
/ root directory       7 KiB   0.5 %
+ directories          4 KiB   0.3 %
# files              879 KiB  61.1 %
. free            540.50 KiB  37.5 %
"
        );
        assert_eq!(
            picture(20),
            "\
|12/+#########......

| reserved area
         512 B 0.0 %
1 FAT 1
      4.50 KiB 0.3 %
2 FAT 2
      4.50 KiB 0.3 %
/ root directory
         7 KiB 0.5 %
+ directories
         4 KiB 0.3 %
# files
      879 KiB 61.1 %
. free
   540.50 KiB 37.5 %
"
        );
        assert_eq!(picture(0), picture(20));
        assert_eq!(picture(usize::MAX), picture(100));
    }

    #[test]
    fn no_line_is_longer_than_what_there_is() {
        let large = regions(&[
            (Region::Reserved, 1 << 14),
            (Region::Fat(0), 1 << 28),
            (Region::Root, 1 << 12),
            // The longest size and the largest share that there can be.
            (Region::Files, (1 << 40) - (1 << 25)),
        ]);
        for columns in 20..=120 {
            let drawn = picture(&large, &Look { columns, ..ASCII });
            let widest = drawn.lines().map(str::len).max();
            assert!(widest <= Some(columns), "{columns}: {drawn}");
            assert_eq!(drawn.lines().next().map(str::len), Some(columns.min(100)));
        }
        assert!(picture(&large, &Look { columns: 20, ..ASCII }).contains("1023.97 GiB 100.0 %"));
    }

    #[test]
    fn blocks_and_colours_draw_the_same() {
        let small = regions(&[
            (Region::Reserved, 512),
            (Region::Fat(0), 512),
            (Region::Fat(1), 512),
            (Region::Root, 512),
            (Region::Directories, 512),
            (Region::Files, 1024),
            (Region::Free, 2048),
        ]);
        let look = Look { columns: 29, colour: false, blocks: true };
        let bar = |look: &Look| picture(&small, look).lines().next().map(str::to_owned);
        assert_eq!(bar(&look).as_deref(), Some("▐▐▐▓▓▓▒▒▒▀▀▀▄▄▄█████░░░░░░░░░"));
        assert_eq!(
            bar(&Look { colour: true, ..look }).as_deref(),
            Some(
                "\x1b[35m▐▐▐\x1b[0m\x1b[33m▓▓▓\x1b[0m\x1b[33m▒▒▒\x1b[0m\x1b[36m▀▀▀\x1b[0m\
                 \x1b[34m▄▄▄\x1b[0m\x1b[32m█████\x1b[0m░░░░░░░░░"
            )
        );
        let coloured = picture(&small, &Look { colour: true, ..look });
        assert!(coloured.contains("\x1b[32m█\x1b[0m files\n"), "{coloured}");
        assert!(coloured.contains("\n░ free\n"), "{coloured}");
        let mut plain = coloured;
        for code in ["35", "33", "36", "34", "32", "0"] {
            plain = plain.replace(&format!("\x1b[{code}m"), "");
        }
        assert_eq!(plain, picture(&small, &look));
    }

    #[test]
    fn a_region_too_small_for_a_column_has_one() {
        // 5 GiB with FATs of 5 MiB.
        let lens = [16 << 10, 5 << 20, 5 << 20, 4096, 5 << 30];
        assert_eq!(apportioned(&lens, 40), [0, 0, 0, 0, 40]);
        assert_eq!(bar_columns(&lens, 40), [1, 1, 1, 1, 36]);
    }

    #[test]
    fn equal_regions_have_equal_shares() {
        // 3.5 of 1000 each, and once more with FATs that round down.
        assert_eq!(apportioned(&[8, 35, 35, 9922], 1000), [1, 4, 4, 991]);
        assert_eq!(apportioned(&[4, 4, 4, 9988], 1000), [0, 0, 0, 1000]);
        assert_eq!(apportioned(&[3, 3, 4], 100), [30, 30, 40]);
        assert_eq!(apportioned(&[1, 3, 3], 100), [14, 43, 43]);
        assert_eq!(apportioned(&[2, 7, 7], 100), [12, 44, 44]);
        // A volume of 16 MiB with two FATs of 8.5 KiB.
        let volume = [2048, 8704, 8704, 16384, 2048, 16_739_328];
        assert_eq!(apportioned(&volume, 1000), [0, 1, 1, 1, 0, 997]);
    }

    #[test]
    fn parts_sum_to_the_whole() {
        // All alike can not be told alike.
        assert_eq!(apportioned(&[1, 1, 1], 1000), [333, 333, 334]);
        assert_eq!(apportioned(&[u64::MAX, u64::MAX], 1000), [500, 500]);
        assert_eq!(apportioned(&[7], 1000), [1000]);
        for weights in [&[3, 5, 11, 13][..], &[1, 999_999], &[1, 1, 1_000_000_000_000, 77]] {
            for whole in [20, 79, 100, 1000] {
                assert_eq!(apportioned(weights, whole).iter().sum::<usize>(), whole);
                assert_eq!(bar_columns(weights, whole).iter().sum::<usize>(), whole);
                assert!(bar_columns(weights, whole).iter().all(|count| *count > 0));
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn parts_of_any_regions_sum_to_the_whole(
            weights in proptest::collection::vec(1..40_u64, 1..=7),
            whole in 13..=1000_usize,
        ) {
            let parts = apportioned(&weights, whole);
            proptest::prop_assert_eq!(parts.iter().sum::<usize>(), whole);
        }
    }
}
