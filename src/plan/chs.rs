//! Heads and sectors per track: numbers that only old boot code and old readers look at.

/// Sectors per track: 63, or the largest power of two up to 32, that divides the total. Old
/// versions of mtools refuse a volume that is no whole number of tracks.
pub(super) fn sectors_per_track(total_sectors: u32) -> u16 {
    [63, 32, 16, 8, 4, 2]
        .into_iter()
        .find(|track| total_sectors.is_multiple_of(u32::from(*track)))
        .unwrap_or(1)
}

/// Heads by the volume's size, as other makers choose them (fat-facts 1.4).
pub(super) fn heads(volume_bytes: u64) -> u16 {
    const CYLINDERS: u64 = 1024;
    let sectors = volume_bytes.div_ceil(512);
    let small = [(32_768, 2), (65_536, 4), (262_144, 8), (524_288, 16)];
    let large = [16, 32, 64, 128].map(|heads| (u64::from(heads) * 63 * CYLINDERS, heads));
    let fits = |(most, heads): (u64, u16)| (sectors <= most).then_some(heads);
    small.into_iter().chain(large).find_map(fits).unwrap_or(255)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tracks_divide_the_total() {
        for (total, track) in [(63 * 5, 63), (2880, 32), (65_536, 32), (40_959, 1), (40_958, 2)] {
            assert_eq!(sectors_per_track(total), track);
        }
    }

    #[test]
    fn heads_follow_the_size() {
        for (mib, count) in
            [(2, 2), (16, 2), (17, 4), (128, 8), (256, 16), (504, 16), (505, 32), (5120, 255)]
        {
            assert_eq!(heads(mib << 20), count, "{mib} MiB");
        }
    }
}
