//! Digests of the image, or of stretches of it, made while it is written: every byte passes here in
//! order. Knows neither what the bytes are nor where they go.

use std::ops::Range;

use sha2::{Digest, Sha256};

use super::turnstile::Turnstile;
use super::{Destination, Outcome, WriteError, zeros};

/// A SHA-256.
pub type Sum = [u8; 32];

/// What is to be digested.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The whole image.
    pub image: bool,
    /// Each stretch of blocks that a block map tells of.
    pub mapped_blocks: bool,
}

impl Wanted {
    /// Whether every byte has to be seen.
    pub(super) fn is_any(self) -> bool {
        self.image || self.mapped_blocks
    }
}

/// What was digested.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Digests {
    /// Of the whole image, if it was wanted.
    pub image: Option<Sum>,
    /// Of each stretch that was wanted, as bytes of the image.
    pub stretches: Vec<(Range<u64>, Sum)>,
}

/// A destination whose bytes are digested on the way.
pub(super) struct Digesting<'a> {
    inner: &'a dyn Destination,
    hashers: Turnstile<Hashers>,
}

#[derive(Debug)]
struct Hashers {
    image: Option<Sha256>,
    /// Those that are not complete, the next one the last.
    stretches: Vec<Range<u64>>,
    stretch: Sha256,
    done: Vec<(Range<u64>, Sum)>,
}

impl<'a> Digesting<'a> {
    /// Digests what goes to `inner`: all of it if `image` is set, and each of `stretches`, which are
    /// in order and do not overlap.
    pub(super) fn new(
        inner: &'a dyn Destination,
        image: bool,
        mut stretches: Vec<Range<u64>>,
    ) -> Self {
        stretches.reverse();
        let hashers = Hashers {
            image: image.then(Sha256::new),
            stretches,
            stretch: Sha256::new(),
            done: Vec::new(),
        };
        Self { inner, hashers: Turnstile::before(hashers) }
    }

    /// The digests, when all bytes have passed.
    pub(super) fn finish(self) -> Digests {
        let Hashers { image, done, .. } = self.hashers.into_behind();
        Digests { image: image.map(|image| image.finalize().into()), stretches: done }
    }
}

impl Destination for Digesting<'_> {
    fn write(&self, at: u64, bytes: &[u8]) -> Result<(), WriteError> {
        self.inner.write(at, bytes)?;
        self.hashers.pass(at, bytes.len() as u64, |hashers| {
            hashers.take(at, bytes);
            Ok(())
        })
    }

    fn zeros(&self, at: u64, len: u64) -> Result<Outcome, WriteError> {
        let outcome = self.inner.zeros(at, len)?;
        self.hashers.pass(at, len, |hashers| {
            let mut at = at;
            for piece in zeros::pieces(len) {
                hashers.take(at, piece);
                at += piece.len() as u64;
            }
            Ok(())
        })?;
        Ok(outcome)
    }

    fn break_off(&self, at: u64) {
        self.inner.break_off(at);
        self.hashers.break_off(at);
    }
}

impl Hashers {
    /// The next bytes of the image, at byte `at` of it.
    fn take(&mut self, at: u64, bytes: &[u8]) {
        if let Some(image) = &mut self.image {
            image.update(bytes);
        }
        let end = at + bytes.len() as u64;
        while let Some(stretch) = self.stretches.last().cloned() {
            // Both lie within the bytes, whose length fits.
            let from = (stretch.start.clamp(at, end) - at) as usize;
            let to = (stretch.end.clamp(at, end) - at) as usize;
            self.stretch.update(&bytes[from..to]);
            if stretch.end > end {
                break;
            }
            self.stretches.pop();
            self.done.push((stretch, self.stretch.finalize_reset().into()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nowhere;

    impl Destination for Nowhere {
        fn write(&self, _: u64, _: &[u8]) -> Result<(), WriteError> {
            Ok(())
        }

        fn zeros(&self, _: u64, len: u64) -> Result<Outcome, WriteError> {
            Ok(Outcome::hole(len))
        }
    }

    fn sum(bytes: &[u8]) -> Sum {
        Sha256::digest(bytes).into()
    }

    #[test]
    fn stretches_begin_and_end_within_writes_or_span_several() {
        let image: Vec<u8> = (0..300_000_u32).map(|at| (at % 251) as u8).collect();
        let stretches = vec![0..10, 20..20_000, 20_000..20_001, 150_000..300_000];
        let digesting = Digesting::new(&Nowhere, true, stretches.clone());
        for (at, bytes) in (0..).step_by(7000).zip(image.chunks(7000)) {
            digesting.write(at, bytes).unwrap();
        }
        let digests = digesting.finish();
        assert_eq!(digests.image, Some(sum(&image)));
        let of = |stretch: &Range<u64>| sum(&image[stretch.start as usize..stretch.end as usize]);
        let expected: Vec<_> = stretches.iter().map(|range| (range.clone(), of(range))).collect();
        assert_eq!(digests.stretches, expected);
    }

    #[test]
    fn zeros_that_nobody_writes_are_digested() {
        let stretch = 1..200_000;
        let digesting = Digesting::new(&Nowhere, true, vec![stretch.clone()]);
        digesting.write(0, b"ab").unwrap();
        assert_eq!(digesting.zeros(2, 199_998).unwrap(), Outcome::hole(199_998));
        let digests = digesting.finish();
        let mut image = vec![0; 200_000];
        image[..2].copy_from_slice(b"ab");
        assert_eq!(digests.image, Some(sum(&image)));
        assert_eq!(digests.stretches, [(stretch, sum(&image[1..]))]);
    }

    #[test]
    fn workers_that_come_early_wait_for_their_turn() {
        let digesting = Digesting::new(&Nowhere, true, Vec::new());
        std::thread::scope(|scope| {
            scope.spawn(|| digesting.write(2, b"cd").unwrap());
            scope.spawn(|| digesting.write(4, b"ef").unwrap());
            std::thread::yield_now();
            digesting.write(0, b"ab").unwrap();
        });
        assert_eq!(digesting.finish().image, Some(sum(b"abcdef")));
    }
}
