//! The image cut into runs, for workers that write them independently of each other. Knows neither
//! files nor threads.

use crate::image::{Body, Meta, Segment};
use crate::source::NodeId;

/// A part of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    /// Bytes.
    pub(super) len: u64,
    /// Byte of what fills it at which the piece begins.
    pub(super) from: u64,
    pub(super) filling: Filling,
}

/// What fills a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filling {
    Meta(Meta),
    Content(NodeId),
    Zero,
    /// Bytes that are in the image already.
    Cloned,
}

/// A stretch of the image, in pieces that touch and cover it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// Byte of the image at which it begins: a multiple of the length of runs.
    pub(super) at: u64,
    pub(super) pieces: Vec<Piece>,
}

/// The runs of an image from its first byte to its last. All are `run_bytes` long but the last, so
/// that two workers share a large file and none shares a block of the output with another.
#[derive(Debug)]
pub(super) struct Runs<I> {
    pieces: I,
    /// What the run before left of a piece.
    left: Option<Piece>,
    at: u64,
    run_bytes: u64,
}

/// `segments` of an image as runs. `cloned` tells how many bytes of a file, from its first on, are
/// in the image already.
pub(super) fn runs<S: Iterator<Item = Segment>>(
    segments: S,
    run_bytes: u64,
    cloned: impl Fn(NodeId) -> u64,
) -> Runs<impl Iterator<Item = Piece>> {
    let pieces = segments.flat_map(move |segment| {
        let Segment { len, body, .. } = segment;
        let (done, filling) = match body {
            Body::Meta(meta) => (0, Filling::Meta(meta)),
            Body::Zero => (0, Filling::Zero),
            Body::Content(id) => (cloned(id).min(len), Filling::Content(id)),
        };
        [
            Piece { len: done, from: 0, filling: Filling::Cloned },
            Piece { len: len - done, from: done, filling },
        ]
    });
    let pieces = pieces.filter(|piece| piece.len > 0);
    Runs { pieces, left: None, at: 0, run_bytes }
}

impl<I: Iterator<Item = Piece>> Iterator for Runs<I> {
    type Item = Run;

    fn next(&mut self) -> Option<Run> {
        let at = self.at;
        let end = at + self.run_bytes;
        let mut pieces = Vec::new();
        while self.at < end {
            let Some(piece) = self.left.take().or_else(|| self.pieces.next()) else { break };
            let len = piece.len.min(end - self.at);
            pieces.push(Piece { len, ..piece });
            self.at += len;
            if len < piece.len {
                let from = piece.from + len;
                self.left = Some(Piece { len: piece.len - len, from, ..piece });
            }
        }
        (!pieces.is_empty()).then_some(Run { at, pieces })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::Region;

    #[test]
    fn runs_cut_pieces_at_their_ends_and_skip_what_was_cloned() {
        let file = NodeId::ROOT;
        let segment = |at, len, body| Segment { at, len, body, region: Region::Files };
        let segments = [
            segment(0, 3, Body::Meta(Meta::Reserved)),
            segment(3, 10, Body::Content(file)),
            segment(13, 1, Body::Zero),
        ];
        let piece = |len, from, filling| Piece { len, from, filling };
        let (meta, content) = (Filling::Meta(Meta::Reserved), Filling::Content(file));
        let made: Vec<Run> = runs(segments.into_iter(), 8, |_| 0).collect();
        assert_eq!(
            made,
            [
                Run { at: 0, pieces: vec![piece(3, 0, meta), piece(5, 0, content)] },
                Run { at: 8, pieces: vec![piece(5, 5, content), piece(1, 0, Filling::Zero)] },
            ]
        );
        let made: Vec<Run> = runs(segments.into_iter(), 8, |_| 7).collect();
        assert_eq!(
            made,
            [
                Run { at: 0, pieces: vec![piece(3, 0, meta), piece(5, 0, Filling::Cloned)] },
                Run {
                    at: 8,
                    pieces: vec![
                        piece(2, 5, Filling::Cloned),
                        piece(3, 7, content),
                        piece(1, 0, Filling::Zero)
                    ]
                },
            ]
        );
    }
}
