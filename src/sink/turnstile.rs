//! Workers that pass one by one, in the order of the image, whoever comes first. Knows nothing of
//! what they do there.

use std::sync::{Condvar, Mutex, PoisonError};

use super::WriteError;
use crate::jobs::lock;

/// Lets through whoever has the image's next bytes, to what only one at a time may use.
#[derive(Debug)]
pub(super) struct Turnstile<Behind> {
    turn: Mutex<Turn<Behind>>,
    moved: Condvar,
}

/// Whose bytes come next.
#[derive(Debug)]
struct Turn<Behind> {
    /// Byte of the image up to which all have passed.
    at: u64,
    /// From this byte on nothing will come any more.
    end: u64,
    behind: Behind,
}

impl<Behind> Turnstile<Behind> {
    pub(super) fn before(behind: Behind) -> Self {
        let turn = Turn { at: 0, end: u64::MAX, behind };
        Self { turn: Mutex::new(turn), moved: Condvar::new() }
    }

    /// Waits until everything before byte `at` has passed, then acts for the `len` bytes from there.
    pub(super) fn pass(
        &self,
        at: u64,
        len: u64,
        act: impl FnOnce(&mut Behind) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        let mut turn = lock(&self.turn);
        while turn.at < at && at < turn.end {
            turn = self.moved.wait(turn).unwrap_or_else(PoisonError::into_inner);
        }
        if at >= turn.end {
            // Whoever broke off knows why.
            return Err(WriteError::Stopped);
        }
        act(&mut turn.behind)?;
        turn.at += len;
        self.moved.notify_all();
        Ok(())
    }

    /// What comes from byte `at` on will not come.
    pub(super) fn break_off(&self, at: u64) {
        let mut turn = lock(&self.turn);
        turn.end = turn.end.min(at);
        self.moved.notify_all();
    }

    /// What was behind, when nobody comes any more.
    pub(super) fn into_behind(self) -> Behind {
        self.turn.into_inner().unwrap_or_else(PoisonError::into_inner).behind
    }
}
