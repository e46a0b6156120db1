//! Progress on standard error: a bar on a terminal, plain lines elsewhere if asked for.

use std::io::{IsTerminal, stderr};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::args::When;
use super::signals::Signals;
use crate::event::{Observer, Stage};

/// Work that is done by then shows no progress at all.
const PATIENCE: Duration = Duration::from_millis(500);
/// How often a line is printed where no bar can be drawn.
const LINE_EVERY: Duration = Duration::from_secs(2);

/// Draws what the build tells, and passes on the wish to stop.
pub(super) struct Progress<'a> {
    show: Show,
    signals: &'a Signals,
    state: Mutex<State>,
    done: AtomicU64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Show {
    Nothing,
    Bar,
    Lines,
}

struct State {
    stage: Option<Stage>,
    began: Instant,
    last_line: Instant,
    bar: Option<ProgressBar>,
}

impl<'a> Progress<'a> {
    pub(super) fn new(when: When, quiet: bool, signals: &'a Signals) -> Self {
        let terminal = stderr().is_terminal();
        let show = match when {
            When::Never => Show::Nothing,
            When::Auto if quiet || !terminal => Show::Nothing,
            _ if terminal => Show::Bar,
            _ => Show::Lines,
        };
        let now = Instant::now();
        Self {
            show,
            signals,
            state: Mutex::new(State { stage: None, began: now, last_line: now, bar: None }),
            done: AtomicU64::new(0),
        }
    }

    /// Takes the bar away, so that other text can be printed.
    pub(super) fn clear(&self) {
        if let Ok(mut state) = self.state.lock()
            && let Some(bar) = state.bar.take()
        {
            bar.finish_and_clear();
        }
    }
}

impl Observer for Progress<'_> {
    fn stage(&self, stage: Stage) {
        self.clear();
        self.done.store(0, Ordering::Relaxed);
        if let Ok(mut state) = self.state.lock() {
            let now = Instant::now();
            *state = State { stage: Some(stage), began: now, last_line: now, bar: None };
        }
    }

    fn advance(&self, amount: u64) {
        let done = self.done.fetch_add(amount, Ordering::Relaxed) + amount;
        if self.show == Show::Nothing {
            return;
        }
        let Ok(mut state) = self.state.lock() else { return };
        let Some(stage) = state.stage else { return };
        if let Some(bar) = &state.bar {
            bar.set_position(done);
        } else if state.began.elapsed() >= PATIENCE {
            match self.show {
                Show::Bar => state.bar = Some(bar(stage, done)),
                _ if state.last_line.elapsed() >= LINE_EVERY => {
                    state.last_line = Instant::now();
                    eprintln!("mkfatimg: {}", line(stage, done));
                }
                _ => {}
            }
        }
    }

    fn must_stop(&self) -> bool {
        self.signals.received().is_some()
    }
}

fn bar(stage: Stage, done: u64) -> ProgressBar {
    let (bar, template) = match stage {
        Stage::Scan => (ProgressBar::no_length(), "{spinner} scanning: {pos} entries"),
        Stage::Compare { total_bytes } => (
            ProgressBar::new(total_bytes),
            "looking for changes [{bar:30}] {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
        ),
        Stage::Write { total_bytes } => (
            ProgressBar::new(total_bytes),
            "writing [{bar:30}] {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
        ),
        Stage::Verify { total_bytes } => (
            ProgressBar::new(total_bytes),
            "comparing [{bar:30}] {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
        ),
    };
    bar.set_draw_target(ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.set_position(done);
    bar
}

fn line(stage: Stage, done: u64) -> String {
    match stage {
        Stage::Scan => format!("scanning: {done} entries"),
        Stage::Compare { total_bytes } => {
            format!("looking for changes: {} %", percent(done, total_bytes))
        }
        Stage::Write { total_bytes } => format!("writing: {} %", percent(done, total_bytes)),
        Stage::Verify { total_bytes } => format!("comparing: {} %", percent(done, total_bytes)),
    }
}

fn percent(done: u64, total: u64) -> u128 {
    u128::from(done) * 100 / u128::from(total.max(1))
}
