//! Classic floppies: sizes that stand for a layout. Decides nothing.

/// The layout of a classic floppy, as all makers agree on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Floppy {
    pub(super) total_sectors: u32,
    pub(super) media: u8,
    pub(super) sectors_per_track: u16,
    pub(super) heads: u16,
    pub(super) sectors_per_cluster: u8,
    pub(super) root_entries: u16,
}

impl Floppy {
    /// The floppy of that size, if there is one.
    pub(super) fn of_size(total_sectors: u32) -> Option<Self> {
        let (media, sectors_per_track, sectors_per_cluster, root_entries) = match total_sectors {
            720 => (0xFD, 9, 2, 112),
            1440 => (0xF9, 9, 2, 112),
            2400 => (0xF9, 15, 1, 224),
            2880 => (0xF0, 18, 1, 224),
            5760 => (0xF0, 36, 2, 240),
            _ => return None,
        };
        let heads = 2;
        Some(Self {
            total_sectors,
            media,
            sectors_per_track,
            heads,
            sectors_per_cluster,
            root_entries,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_sizes_are_floppies() {
        let media = |total| Floppy::of_size(total).map(|floppy| floppy.media);
        assert_eq!(
            [720, 1440, 2400, 2880, 5760, 2881].map(media),
            [Some(0xFD), Some(0xF9), Some(0xF9), Some(0xF0), Some(0xF0), None]
        );
    }
}
