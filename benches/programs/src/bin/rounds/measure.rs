//! One run of one command with a limit on its time. Knows no rounds.
//!
//! `wait4` gives the time and memory of exactly the child that it waits for and of what that one
//! waited for; `getrusage` of all children would give the largest of any round. Memory below about
//! 3 MiB is not told apart: the kernel counts what this program itself held when it started the child.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use mkfatimg_benches::results::Cost;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use signal_hook::consts::{SIGINT, SIGTERM};
use wait4::Wait4;

/// What came of a run.
pub(crate) enum Ended {
    Well(Cost),
    Badly { status: ExitStatus, messages: String },
    TooLate,
    Interrupted,
}

/// Whether somebody asked to stop. The measured command is in a group of its own, so a key that
/// interrupts this program does not reach it.
pub(crate) struct Interrupts(Arc<AtomicBool>);

impl Interrupts {
    pub(crate) fn watch() -> Result<Self> {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&flag))
                .context("signals cannot be watched")?;
        }
        Ok(Self(flag))
    }

    fn came(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Runs `command` by a shell, and kills it with all that it started after `timeout`.
pub(crate) fn run(command: &str, timeout: Duration, interrupts: &Interrupts) -> Result<Ended> {
    // In memory, so that no disk is touched and no full pipe stops the command.
    let memory = memfd_create("messages", MemfdFlags::CLOEXEC).context("no room for messages")?;
    let mut messages = File::from(memory);
    let stderr = messages.try_clone().context("no room for messages")?;
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).process_group(0);
    shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
    let began = Instant::now();
    let mut child = shell.spawn().context("sh: cannot be started")?;
    let is_done = wait_until(&child, began + timeout, interrupts)
        .with_context(|| format!("{command}: cannot be waited for"))?;
    if !is_done && let Some(group) = Pid::from_raw(child.id().cast_signed()) {
        // Not waited for yet, so the number is still its own; it may have ended just now.
        match kill_process_group(group, Signal::KILL) {
            Ok(()) | Err(Errno::SRCH) => {}
            Err(error) => return Err(error).with_context(|| format!("{command}: goes on")),
        }
    }
    let used = child.wait4().with_context(|| format!("{command}: cannot be waited for"))?;
    let wall_seconds = began.elapsed().as_secs_f64();
    if interrupts.came() {
        return Ok(Ended::Interrupted);
    }
    if !is_done {
        return Ok(Ended::TooLate);
    }
    if !used.status.success() {
        return Ok(Ended::Badly { status: used.status, messages: last_lines(&mut messages)? });
    }
    Ok(Ended::Well(Cost {
        wall_seconds,
        cpu_seconds: (used.rusage.utime + used.rusage.stime).as_secs_f64(),
        peak_bytes: used.rusage.maxrss,
    }))
}

/// False when `deadline` or an interrupt came first.
fn wait_until(child: &Child, deadline: Instant, interrupts: &Interrupts) -> io::Result<bool> {
    let pid = Pid::from_raw(child.id().cast_signed()).ok_or(Errno::SRCH)?;
    let handle = pidfd_open(pid, PidfdFlags::empty())?;
    loop {
        let rest = deadline.saturating_duration_since(Instant::now());
        let rest = Timespec {
            tv_sec: i64::try_from(rest.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(rest.subsec_nanos()),
        };
        match poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&rest)) {
            Ok(ready) => return Ok(ready > 0),
            Err(Errno::INTR) if interrupts.came() => return Ok(false),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn last_lines(messages: &mut File) -> Result<String> {
    let mut text = Vec::new();
    messages.rewind()?;
    messages.read_to_end(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    Ok(lines[lines.len().saturating_sub(5)..].join("; "))
}
