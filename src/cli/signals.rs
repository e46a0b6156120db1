//! SIGINT, SIGTERM and SIGHUP as a wish to stop, so that a build can clean up and then end as if
//! by the signal.

use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::{flag, low_level};

/// The signal that came, if any.
#[derive(Debug, Default)]
pub(super) struct Signals {
    received: Arc<AtomicUsize>,
}

impl Signals {
    /// Reacts to nothing: a stream leaves nothing behind, so signals may end the process at once,
    /// even while a write waits for a reader.
    pub(super) fn unhandled() -> io::Result<Self> {
        file_size_limit_is_an_error()?;
        Ok(Self::default())
    }

    /// Notes the first signal; a second one ends the process at once, should the first be stuck
    /// behind a read or write that does not return.
    pub(super) fn noted() -> io::Result<Self> {
        let signals = Self::default();
        let second = Arc::new(AtomicBool::new(false));
        let ignored = ignored_signals();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // Whoever started this process wants it to go on: nohup, a job in the background.
            if ignored >> (signal - 1) & 1 == 1 {
                continue;
            }
            // In this order: the first signal finds `second` unset, and sets it.
            flag::register_conditional_default(signal, Arc::clone(&second))?;
            flag::register(signal, Arc::clone(&second))?;
            // Signal numbers are small and positive.
            let number = usize::try_from(signal).unwrap_or_default();
            flag::register_usize(signal, Arc::clone(&signals.received), number)?;
        }
        file_size_limit_is_an_error()?;
        Ok(signals)
    }

    /// The signal that came.
    pub(super) fn received(&self) -> Option<i32> {
        match self.received.load(Ordering::Relaxed) {
            0 => None,
            signal => i32::try_from(signal).ok(),
        }
    }

    /// Ends the process as `signal` would have, so that the shell sees the truth.
    pub(super) fn end_by(signal: i32) {
        // Fails for signals only that this process does not handle.
        let _ = low_level::emulate_default_handler(signal);
    }
}

/// A file over the process's limit is then an error of the write, with a message.
fn file_size_limit_is_an_error() -> io::Result<()> {
    flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false))).map(|_| ())
}

/// The signals that this process ignores since its start, as bits; none where the system does not
/// tell.
fn ignored_signals() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
