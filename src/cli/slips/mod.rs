//! Common slips of the command line, and the whole command to type instead. Knows other tools'
//! habits; decides nothing.

mod found;
mod habits;
mod operands;
mod shell;
mod typed;

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::CommandFactory;

use super::args::Args;
pub(super) use found::{Found, on_disk};
use typed::{Part, Typed};

/// Bytes of a sector where no word says otherwise.
const USUAL_SECTOR_BYTES: u32 = 512;

/// What to type instead of words that were refused: lines, the last of which is a command, or says
/// why there is none.
pub(super) fn meant(words: &[OsString], found: impl Fn(&OsStr) -> Found) -> Option<Vec<String>> {
    match mended(words, found)? {
        Mended::Instead(line) => Some(vec![line]),
        Mended::Command { words, report, mut notes } => {
            let mut line = shell::line(words.iter().map(OsString::as_os_str));
            if let Some(report) = report {
                line = format!("{line} >{}", shell::line([report.as_os_str()]));
            }
            notes.push(format!("did you mean: {line}"));
            Some(notes)
        }
    }
}

/// Why words are refused that the parser takes: what they name as the image was hardly meant so, or
/// is a source's place as mcopy writes it.
pub(super) fn refused(
    args: &Args,
    words: &[OsString],
    found: impl Fn(&OsStr) -> Found,
) -> Option<String> {
    let out = args.out.as_deref().map_or(OsStr::new(""), Path::as_os_str);
    let of_json = words.windows(2).any(|pair| pair[0] == "--json" && pair[1] == out);
    if of_json && Path::new(out).extension().is_some_and(|ending| ending == "json") {
        let out = shell::line([out]);
        return Some(format!("{out} would be the image"));
    }
    if typed::is_in_image(out) {
        let out = shell::line([out]);
        return Some(format!(
            "{out} is no file to write, but a place as mcopy has it: --from SRC:/DEST"
        ));
    }
    let mcopys = |source: &&OsString| operands::without_second_colon(source, &found).is_some();
    let source = shell::line([args.from.iter().find(mcopys)?.as_os_str()]);
    Some(format!("--from {source}: a place in the image is behind one colon"))
}

/// What is said to a number behind `-h`, which the parser passes over.
pub(super) fn number_for_help(words: &[OsString]) -> Option<String> {
    let mut words = words.iter().take_while(|word| *word != "--").peekable();
    while let Some(word) = words.next() {
        if let Some(sectors) = typed::sectors_for_help(word, words.peek().copied()) {
            let sectors = sectors.display();
            return Some(format!(
                "-h shows the help and takes no value; sectors before the volume are --hidden-sectors {sectors}"
            ));
        }
    }
    None
}

/// What was most likely meant.
#[derive(Debug)]
enum Mended {
    /// A command that is accepted; what it needs and nobody named stands there as in the usage line,
    /// `DIR` and `OUT`.
    Command {
        words: Vec<OsString>,
        /// Where its standard output goes.
        report: Option<OsString>,
        /// What is to be known before it is typed.
        notes: Vec<String>,
    },
    /// No command, but this.
    Instead(String),
}

fn mended(words: &[OsString], found: impl Fn(&OsStr) -> Found) -> Option<Mended> {
    let mut ours = Args::command();
    ours.build();
    let mut typed = typed::read(&ours, words)?;
    if typed.instead.is_none() {
        operands::place(&mut typed, found)?;
    }
    if let Some(instead) = typed.instead {
        return Some(Mended::Instead(instead));
    }
    if !typed.slipped {
        return None;
    }
    let (report, notes) = (typed.report.take(), std::mem::take(&mut typed.notes));
    let words = command(typed);
    // What is wrong besides the slips stays wrong, and is told by the parser already.
    ours.try_get_matches_from_mut(&words).is_ok().then_some(Mended::Command {
        words,
        report,
        notes,
    })
}

/// The words to type: flags in the order of those that were typed, the image last.
fn command(typed: Typed) -> Vec<OsString> {
    let sector_bytes = sector_bytes(&typed.parts);
    let has = |flag| typed.parts.iter().any(|part| part.name() == Some(flag));
    let (has_source, needs_image) = (has("--from"), !has("--dry-run"));
    let mut words = vec![OsString::from("mkfatimg")];
    if !has_source {
        words.extend(["--from".into(), "DIR".into()]);
    }
    for part in typed.parts {
        match part {
            Part::Flag { name, value: None } => words.push(name.into()),
            // A value like a flag has to touch its own.
            Part::Flag { name, value: Some(value) }
                if value.as_encoded_bytes().starts_with(b"-") =>
            {
                let mut word = OsString::from(name + "=");
                word.push(value);
                words.push(word);
            }
            Part::Flag { name, value: Some(value) } => words.extend([name.into(), value]),
            Part::ClusterSectors(sectors) => {
                let bytes = sectors.saturating_mul(sector_bytes);
                words.extend(["--cluster-size".into(), bytes.to_string().into()]);
            }
            Part::Operand(word) => words.push(word),
        }
    }
    let image = typed.image.or_else(|| needs_image.then(|| "OUT".into()));
    if image.as_ref().is_some_and(|image| typed::is_flag(image)) {
        words.push("--".into());
    }
    words.extend(image);
    words
}

fn sector_bytes(parts: &[Part]) -> u32 {
    let given = parts.iter().find_map(|part| match part {
        Part::Flag { name, value } if name == "--sector-size" => value.as_ref()?.to_str(),
        _ => None,
    });
    given
        .and_then(|text| super::values::sector_size(text).ok())
        .map_or(USUAL_SECTOR_BYTES, u32::from)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    /// Of what is typed, this is there.
    fn found(word: &OsStr) -> Found {
        match word.to_str() {
            Some("d" | "e" | "./rootfs" | "t.mtree") => Found::Source,
            Some("vmlinuz" | "initrd.img") => Found::File,
            Some("old.img") => Found::Image,
            _ => Found::Nothing,
        }
    }

    fn meant_by(words: &[OsString]) -> Option<String> {
        meant(words, found).map(|lines| lines.join("; "))
    }

    #[test]
    fn a_slip_is_answered_with_the_command_to_type() {
        for (typed, command) in [
            // The source without its flag, and in the order of others.
            ("./rootfs out.img", "--from ./rootfs out.img"),
            ("out.img ./rootfs", "--from ./rootfs out.img"),
            ("out.img ./missing", "--from ./missing out.img"),
            ("missing image", "--from missing image"),
            ("d -", "--from d -"),
            ("--from d e out.img", "--from d --from e out.img"),
            ("d vmlinuz:/boot/ out.img", "--from d --from vmlinuz:/boot/ out.img"),
            ("d", "--from d OUT"),
            ("d --dry-run", "--from d --dry-run"),
            ("-q d -- -odd.img", "-q --from d -- -odd.img"),
            // The image with a flag.
            ("--from d -o out.img", "--from d out.img"),
            ("./rootfs -qo=out.img", "--from ./rootfs -q out.img"),
            ("-o out.img d", "--from d out.img"),
            ("-oout.img d", "--from d out.img"),
            ("--from d --output=x.img", "--from d x.img"),
            ("--from d --output= x.img", "--from d x.img"),
            ("-o out.img", "--from DIR out.img"),
            // Number and unit.
            ("--from d --size 5 G out.img", "--from d --size 5G out.img"),
            ("--from d --size=5 G out.img", "--from d --size 5G out.img"),
            ("--from d --size= 5G out.img", "--from d --size 5G out.img"),
            ("--from d --free 10 % out.img", "--from d --free 10% out.img"),
            ("--from d --cluster-size 4 KiB o", "--from d --cluster-size 4KiB o"),
            ("--from d --align 1 m o", "--from d --align 1m o"),
            ("--from d 5G out.img", "--from d --size 5G out.img"),
            ("d out.img 64M", "--from d --size 64M out.img"),
            ("-s 5 g d out.img", "--size 5g --from d out.img"),
            // The type.
            ("--from d --fat 32 out.img", "--from d --fat-type 32 out.img"),
            ("--from d -F 32 out.img", "--from d --fat-type 32 out.img"),
            ("--from d -F32 out.img", "--from d --fat-type 32 out.img"),
            ("--from d --type fat32 out.img", "--from d --fat-type 32 out.img"),
            ("--from d --type=vfat out.img", "--from d out.img"),
            ("--from d --fat-type FAT32 out.img", "--from d --fat-type 32 out.img"),
            ("--from d --fat-type=fat16 out.img", "--from d --fat-type 16 out.img"),
            // Other words for the same.
            ("--rootdir d out.img", "--from d out.img"),
            ("--rootpath d --inputpath e o", "--from d --from e o"),
            ("--from d --volume-label X out.img", "--from d --label X out.img"),
            ("--from d --volume-label=X out.img", "--from d --label X out.img"),
            ("--from d -n LABEL out.img", "--from d --label LABEL out.img"),
            ("--from d -i 1234ABCD out.img", "--from d --volume-id 1234ABCD out.img"),
            ("-size 5G -from d out.img", "--size 5G --from d out.img"),
            ("-f --from d out.img", "--from d out.img"),
            ("--from d -j4 out.img", "--from d --jobs 4 out.img"),
            // mkfs.fat.
            ("-C out.img 65536 --from d", "--size 65536K --from d out.img"),
            (
                "-C -F 16 -S 1024 -s 8 -f 2 -R 4 -r 512 -n X -i DEADBEEF -M 0xF8 out.img 65536",
                "--from DIR --fat-type 16 --sector-size 1024 --cluster-size 8192 --fats 2 \
                 --reserved-sectors 4 --root-entries 512 --label X --volume-id DEADBEEF \
                 --media 0xF8 --size 65536K out.img",
            ),
            ("-s 8 -S 512 d out.img", "--cluster-size 4096 --sector-size 512 --from d out.img"),
            ("-g 255/63 d o", "--heads 255 --sectors-per-track 63 --from d o"),
            // makefs.
            ("-t msdos -o fat_type=32 -s 5g out.img d", "--fat-type 32 --size 5g --from d out.img"),
            (
                "-t msdos -o fat_type=16,volume_label=EFI,sectors_per_cluster=1 -s 64m out.img d",
                "--fat-type 16 --label EFI --cluster-size 512 --size 64m --from d out.img",
            ),
            // Several at once; what is right stays.
            (
                "--rootdir d --size 5 G --fat FAT32 --verbose --timezone -03:00 -o out.img",
                "--from d --size 5G --fat-type 32 --verbose --timezone=-03:00 out.img",
            ),
        ] {
            let answer = format!("did you mean: mkfatimg {command}");
            assert_eq!(meant_by(&words(typed)), Some(answer), "{typed}");
        }
    }

    #[test]
    fn what_mcopy_and_others_do_is_answered() {
        let nothing = |flag: &str, why: &str| format!("{flag}: nothing replaces it; {why}; ");
        let adds = format!("{}; ", habits::ADDS);
        let json = "--json takes no file; it reports on standard output; ".to_owned();
        for (typed, notes, command) in [
            // mcopy. What -i names is not named again if it is there.
            ("-i esp.img -s d ::/", String::new(), "--from d:/d esp.img"),
            ("-i old.img -s d ::/", adds.clone(), "--from d:/d OUT"),
            ("-smi esp.img d ::", String::new(), "--from d:/d esp.img"),
            ("-i y.img vmlinuz ::/boot/", String::new(), "--from vmlinuz:/boot/ y.img"),
            ("-i y.img vmlinuz ::boot", String::new(), "--from vmlinuz:/boot y.img"),
            ("-i y.img -s d ::/boot", String::new(), "--from d:/boot y.img"),
            ("-i y.img -s d/ ::/boot/", String::new(), "--from d/:/boot/ y.img"),
            (
                "-o -p d vmlinuz initrd.img ::/",
                String::new(),
                "--overlay --keep-readonly --from d:/d --from vmlinuz:/ --from initrd.img:/ OUT",
            ),
            ("--from d ::/", String::new(), "--from d OUT"),
            ("--from d -i y.img ::/boot", String::new(), "--from d:/boot y.img"),
            ("--from vmlinuz::/boot/", String::new(), "--from vmlinuz:/boot/ OUT"),
            ("--from d -i y.img", String::new(), "--from d y.img"),
            ("--from d -i old.img", adds.clone(), "--from d OUT"),
            ("--from d -i 1234abcd", String::new(), "--from d --volume-id 1234abcd OUT"),
            ("--from d --volid 1234abcd", String::new(), "--from d --volume-id 1234abcd OUT"),
            // What is there and no image is a source.
            ("d vmlinuz", String::new(), "--from d --from vmlinuz:/ OUT"),
            (
                "d vmlinuz initrd.img",
                String::new(),
                "--from d --from vmlinuz:/ --from initrd.img:/ OUT",
            ),
            ("d initrd.img y.img", String::new(), "--from d --from initrd.img:/ y.img"),
            ("d old.img", String::new(), "--from d old.img"),
            ("t.mtree y.img", String::new(), "--from t.mtree y.img"),
            // mkfs.fat: what nothing replaces.
            (
                "-F 32 -n EFI --codepage 437 -s 8 -C y.img 65536",
                nothing("--codepage", "labels are ASCII"),
                "--from DIR --fat-type 32 --label EFI --cluster-size 4096 --size 65536K y.img",
            ),
            ("-F 32 y.img 65536", String::new(), "--from DIR --fat-type 32 --size 65536K y.img"),
            (
                "-f 1 -r 112 -R 8 -M 0xf8 -a -S 512 -b 6",
                String::new(),
                "--from DIR --fats 1 --root-entries 112 --reserved-sectors 8 --media 0xf8 \
                 --align 512 --sector-size 512 OUT",
            ),
            (
                "-c -A -D 0x80 -v --invariant -I -h 63 -l bad.txt --mbr=y -b 12 d y.img",
                [
                    nothing("-c", "image files have no bad blocks"),
                    nothing("-A", "there is no Atari variant"),
                    nothing("-D", "the drive is 80 with media F8, else 00"),
                    nothing("-l", "image files have no bad blocks"),
                    nothing("--mbr", "no table is faked over the volume"),
                    nothing("-b", "the backup of the boot sector is in sector 6"),
                ]
                .concat(),
                "-v --hidden-sectors 63 --from d y.img",
            ),
            ("-vI -h2048 d y.img", String::new(), "-v --hidden-sectors 2048 --from d y.img"),
            (
                "-D d y.img",
                nothing("-D", "the drive is 80 with media F8, else 00"),
                "--from d y.img",
            ),
            // genimage and makefs.
            (
                "--rootpath d --outputpath .",
                nothing("--outputpath", "OUT is the path of the image"),
                "--from d OUT",
            ),
            ("--from d --size 120% y.img", String::new(), "--from d --free 20% y.img"),
            ("--from d --size 100 % y.img", String::new(), "--from d y.img"),
            ("--from d -b 10m y.img", String::new(), "--from d --free 10m y.img"),
            ("--from d -b 10% -T 5 y.img", String::new(), "--from d --free 10% --mtime @5 y.img"),
            // The report is no image.
            ("--json r.json --from d y.img", json.clone(), "--json --from d y.img >r.json"),
            ("--from d --json=r.txt y.img", json.clone(), "--from d --json y.img >r.txt"),
            ("--from d --json r.json", json.clone(), "--from d --json OUT >r.json"),
        ] {
            let answer = format!("{notes}did you mean: mkfatimg {command}");
            assert_eq!(meant_by(&words(typed)), Some(answer), "{typed}");
        }
    }

    /// Whoever types this spares what is around the volume, or in it.
    #[test]
    fn no_command_is_named_that_writes_over_what_the_flag_spares() {
        for (typed, line) in [
            ("--from d --offset 2048 disk.img", format!("--offset: {}", habits::INTO_A_DISK)),
            ("--offset=2048 -F 32 disk.img", format!("--offset: {}", habits::INTO_A_DISK)),
            ("-t msdos -O 1m old.img d", format!("-O: {}", habits::INTO_A_DISK)),
            ("-t msdos -o offset=1m old.img d", format!("-o offset: {}", habits::INTO_A_DISK)),
            ("-i old.img@@1M vmlinuz ::/", format!("@@: {}", habits::INTO_A_DISK)),
            ("-i old.img ::/boot/vmlinuz out", habits::READS.to_owned()),
            ("-i old.img ::/EFI ::/EFI/BOOT", habits::READS.to_owned()),
        ] {
            assert_eq!(meant_by(&words(typed)), Some(line), "{typed}");
        }
        let genimage = meant_by(&words("--config g.cfg")).unwrap_or_default();
        assert!(genimage.starts_with("--config: ") && !genimage.contains("mean"), "{genimage}");
    }

    #[test]
    fn what_is_no_slip_or_has_no_one_meaning_is_not_answered() {
        for typed in [
            "--from d --size 5G out.img",
            "--from d",
            "out.img",
            "",
            "--help",
            "-V -o out.img",
            // The parser tells of these.
            "--from d --siez 5G out.img",
            "--from d --lable X out.img",
            "--from d --size 5X out.img",
            "--siez 5G -o out.img d",
            "--from d --size 5X -o out.img",
            "--from d --label twelve_chars -o out.img",
            // Two images, two sizes, no image.
            "--from d one.img two.img",
            "--from d -o one.img -o two.img",
            "--from d -o one.img two.img",
            "--size 5G -s 6g d out.img",
            "d e",
            // Flags and words of something else.
            "--from d -x out.img",
            "--from d --compress zstd out.img",
            "-t ext4 d out.img",
            "-F 64 d out.img",
            "-o fat_type=32,unknown=1 d out.img",
            "-i xyz d out.img",
            "--from d -d y.img",
            "--rootdir y.img",
            "y.img 65536",
            "--from d --size 80% y.img",
            "-T 2024-02-29 d y.img",
            "-n",
            "verify out.img",
            "inspect out.img",
            "d verify",
            "verify --image out.img",
            "--dry-run=x d",
        ] {
            assert_eq!(meant_by(&words(typed)), None, "{typed}");
        }
    }

    /// Whatever slips meet, the answer is a command without slip.
    #[test]
    fn every_answer_is_accepted_and_has_no_slip() {
        let slips = [
            "d",
            "e",
            "-o out.img",
            "--output=",
            "out.img",
            "--size 5 G",
            "--size=5",
            "G",
            "-s 8",
            "-s 5g",
            "64M",
            "65536",
            "-C",
            "--fat FAT32",
            "-t msdos",
            "-F32",
            "-o fat_type=16",
            "--rootdir d",
            "--from d",
            "-S 4096",
            "-n LABEL",
            "-i",
            "--",
            "-qv",
            "--dry-run",
            "--timezone -1",
            "-f",
            "2",
            "-g 255/63",
            "-from",
            "\"it's\n\"",
            "verify",
        ];
        let mut answered = 0;
        for one in slips {
            for two in slips {
                for three in ["d", "--from d out.img"] {
                    let typed = words(&format!("{one} {two} {three}"));
                    let Some(Mended::Command { words: answer, .. }) = mended(&typed, found) else {
                        continue;
                    };
                    assert!(Args::try_parse_from(&answer).is_ok(), "{typed:?}: {answer:?}");
                    assert_eq!(meant_by(&answer[1..]), None, "{typed:?}: {answer:?}");
                    answered += 1;
                }
            }
        }
        assert!(answered > 1000, "{answered}");
    }
}
