//! I23..I27: the allocation table by itself, and the clusters in it that nobody owns.

use std::io;

use super::{Breaches, FatType, Volume, VolumeBytes};

pub fn check(bytes: &VolumeBytes, volume: &Volume, breaches: &mut Breaches) -> io::Result<()> {
    check_copies(bytes, volume, breaches)?;
    check_first_entries(volume, breaches);
    check_values(volume, breaches);
    check_rest(bytes, volume, breaches)?;
    check_owners(volume, breaches);
    Ok(())
}

/// I23.
fn check_copies(bytes: &VolumeBytes, volume: &Volume, breaches: &mut Breaches) -> io::Result<()> {
    let geometry = &volume.geometry;
    for copy in 1..geometry.fats {
        let distance = geometry.fat_position(copy) - geometry.fat_position(0);
        // A file that ends before its table is a breach of I1 already.
        let end = geometry.fat_position(1).min(bytes.length());
        let mut other = Vec::new();
        bytes.pieces(geometry.fat_position(0), end, |position, piece| {
            other.resize(piece.len(), 0);
            bytes.read_at(position + distance, &mut other)?;
            breaches.require(23, piece == other, || {
                format!("copy {copy} of the FAT differs within 1 MiB from byte {position}")
            });
            Ok(piece == other)
        })?;
    }
    Ok(())
}

/// I24, and of I10 what the table shows.
fn check_first_entries(volume: &Volume, breaches: &mut Breaches) {
    let ones = volume.geometry.fat_type.ones();
    let media = u32::from(volume.boot.media);
    let (zeroth, first) = (volume.fat[0], volume.fat[1]);
    breaches.require(10, zeroth & 0xFF == media, || {
        format!("media {media:#x}, but FAT[0] {zeroth:#x}")
    });
    breaches.require(24, zeroth | 0xFF == ones, || format!("FAT[0] is {zeroth:#x}"));
    breaches.require(24, first == ones, || format!("FAT[1] is {first:#x}"));
}

/// I25.
fn check_values(volume: &Volume, breaches: &mut Breaches) {
    let ones = volume.geometry.fat_type.ones();
    for (cluster, &value) in volume.fat.iter().enumerate().skip(2) {
        let legal = value == 0 || value == ones || volume.geometry.is_cluster(value);
        breaches.require(25, legal, || format!("the FAT has {value:#x} for cluster {cluster}"));
    }
}

/// I26.
fn check_rest(bytes: &VolumeBytes, volume: &Volume, breaches: &mut Breaches) -> io::Result<()> {
    let geometry = &volume.geometry;
    let rest = geometry.fat_position(0) + geometry.fat_bytes_needed();
    if let Some(position) = bytes.first_nonzero(rest, geometry.fat_position(1))? {
        breaches
            .add(26, || format!("byte {position}, behind the last entry of the FAT, is not zero"));
    }
    // An odd number of 12-bit entries ends in the middle of a byte.
    if geometry.fat_type == FatType::Fat12 && volume.fat.len() % 2 == 1 {
        let last = bytes.read(rest - 1, 1)?;
        breaches.require(26, last[0] >> 4 == 0, || {
            "half a byte behind the last entry is not zero".to_owned()
        });
    }
    Ok(())
}

/// I27: the chains were followed when the tree was read, here is what they left.
fn check_owners(volume: &Volume, breaches: &mut Breaches) {
    for cluster in 2..=volume.geometry.last_cluster() {
        let is_lost = volume.next(cluster) != 0 && !volume.owned[cluster as usize];
        breaches.require(27, !is_lost, || {
            format!("cluster {cluster} is neither free nor in any chain")
        });
    }
}
