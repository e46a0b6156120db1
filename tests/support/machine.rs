//! A PC in the emulator: it starts from what is attached to it, and its serial line is listened to.

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::spawn;
use std::time::{Duration, Instant};

use super::{Tool, has_file};

/// Firmware of UEFI, and a file for what it remembers.
const UEFI_CODE: &str = "/usr/share/OVMF/OVMF_CODE_4M.fd";
const UEFI_VARIABLES: &str = "/usr/share/OVMF/OVMF_VARS_4M.fd";

/// After that long it says nothing any more. Boots take seconds; the rest is for machines under load.
const LIMIT: Duration = Duration::from_secs(120);

/// A PC that has not been switched on. Nothing that is attached is ever written to.
pub struct Machine {
    qemu: Tool,
    arguments: Vec<OsString>,
}

impl Machine {
    /// One with a BIOS; `None` is a skip that has been told.
    pub fn bios() -> Option<Self> {
        Self::of_kind("pc")
    }

    /// One with UEFI, which writes into `folder` what it remembers; `None` is a skip that has been told.
    pub fn uefi(folder: &Path) -> Option<Self> {
        if !has_file(UEFI_CODE) || !has_file(UEFI_VARIABLES) {
            return None;
        }
        let variables = folder.join("variables of the firmware");
        fs::copy(UEFI_VARIABLES, &variables).unwrap();
        let mut machine = Self::of_kind("q35")?;
        let code = format!("if=pflash,format=raw,unit=0,readonly=on,file={UEFI_CODE}");
        machine.arguments.extend(["-drive".into(), code.into()]);
        machine.drive("if=pflash,format=raw,unit=1", &variables);
        Some(machine)
    }

    fn of_kind(kind: &str) -> Option<Self> {
        let qemu = Tool::find("qemu-system-x86_64")?;
        // A processor that is emulated is the same everywhere.
        let arguments = format!(
            "-M {kind} -accel tcg -cpu max -m 512 -no-user-config -nodefaults \
             -display none -monitor none -net none -no-reboot -serial stdio -device qemu-xhci"
        );
        let arguments = arguments.split(' ').map(OsString::from).collect();
        Some(Self { qemu, arguments })
    }

    /// With a stick in a USB port.
    pub fn stick(self, image: &Path) -> Self {
        self.attach("usb-storage", image, ",bootindex=0")
    }

    /// With a disc in its drive.
    pub fn disc(self, image: &Path) -> Self {
        self.attach("ide-cd", image, ",bootindex=0")
    }

    /// With a floppy in its drive; it starts from that if it does not from what else there is.
    pub fn floppy(self, image: &Path) -> Self {
        self.attach("floppy", image, "")
    }

    fn attach(mut self, device: &str, image: &Path, order: &str) -> Self {
        let id = format!("of-{device}");
        self.drive(&format!("if=none,format=raw,readonly=on,file.locking=off,id={id}"), image);
        let device = format!("{device},drive={id}{order}");
        self.arguments.extend(["-device".into(), device.into()]);
        self
    }

    fn drive(&mut self, options: &str, file: &Path) {
        let mut argument = OsString::from(format!("{options},file="));
        argument.push(file.to_str().unwrap().replace(',', ",,"));
        self.arguments.extend(["-drive".into(), argument]);
    }

    /// Switches it on; it must say `words` on its serial line, and is then switched off.
    pub fn assert_says(self, words: &str) {
        let mut command = self.qemu.command();
        command.args(&self.arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut running = Running(command.spawn().unwrap());
        let line = listen(running.0.stdout.take().unwrap());
        let complaints = listen(running.0.stderr.take().unwrap());
        let until = Instant::now() + LIMIT;
        let mut said = Vec::new();
        let heard = loop {
            let left = until.saturating_duration_since(Instant::now());
            // Nothing more comes after the limit, or from one that has switched itself off.
            let Ok(more) = line.recv_timeout(left) else { break false };
            said.extend(more);
            if String::from_utf8_lossy(&said).contains(words) {
                break true;
            }
        };
        drop(running);
        let complaints: Vec<u8> = complaints.iter().flatten().collect();
        let told = [said, complaints].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        assert!(heard, "no {words:?} from {:?}: {}", self.arguments, told.concat());
    }
}

/// One that is on; switched off with the value.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have done that itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What comes from `source`, as it comes.
fn listen(mut source: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(read @ 1..) = source.read(&mut buffer) {
            if sender.send(buffer[..read].to_vec()).is_err() {
                break;
            }
        }
    });
    receiver
}
