//! The manual page: the flags as clap_mangen has them, then what the help says behind them, section by
//! section.

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, bold, italic, roman};

/// The page for `command`.
pub(crate) fn page(command: &Command) -> String {
    // Without a date the page is the same whenever it is made.
    let man = Man::new(command.clone()).title("MKFATIMG").date("").manual("User Commands");
    let mut page = Vec::new();
    man.render_title(&mut page).unwrap();
    man.render_name_section(&mut page).unwrap();
    page.extend(synopsis().bytes());
    man.render_description_section(&mut page).unwrap();
    let mut flags = Vec::new();
    man.render_options_section(&mut flags).unwrap();
    page.extend(options(command, &String::from_utf8(flags).unwrap()).bytes());
    let help = command.get_after_long_help().unwrap().to_string();
    page.extend(sections(&help).bytes());
    page.extend(see_also().bytes());
    // An empty word has to be written, or the next takes its place.
    let page = String::from_utf8(page).unwrap().replace(".TH MKFATIMG 1  ", ".TH MKFATIMG 1 \"\" ");
    // What each part says of apostrophes is said once.
    let preamble = page.lines().take_while(|line| !line.starts_with(".TH")).collect::<Vec<_>>();
    let body = page.lines().filter(|line| !preamble.contains(line));
    preamble.iter().copied().chain(body).map(|line| line.trim_end().to_owned() + "\n").collect()
}

fn synopsis() -> String {
    let from = [bold("mkfatimg"), roman(" "), bold("--from"), roman(" "), italic("SRC")];
    let line = |end: Inline| {
        let rest =
            [roman("[:/"), italic("DEST"), roman("] ["), italic("options"), roman("] "), end];
        from.iter().cloned().chain(rest).collect::<Vec<_>>()
    };
    let mut roff = Roff::default();
    roff.control("SH", ["SYNOPSIS"]).text(line(italic("OUT"))).control("br", []);
    roff.text(line(bold("--dry-run")));
    roff.to_roff()
}

/// The flags under one heading; values and further paragraphs indented as their flag's text is.
fn options(command: &Command, flags: &str) -> String {
    let headings: Vec<&str> =
        command.get_arguments().filter_map(|arg| arg.get_help_heading()).collect();
    let flags = flags.replace(".br\n\n.br\n\\fIPossible values:\\fR\n.RS 14\n", ".RS\n");
    let mut lines = Vec::new();
    for line in flags.lines() {
        let heading = line.strip_prefix(".SH ").unwrap_or_default();
        match headings.iter().find(|known| known.to_uppercase() == heading) {
            Some(heading) => lines.push(format!(".SS {heading}")),
            None if line.is_empty() => lines.push(".IP".to_owned()),
            None => lines.push(line.to_owned()),
        }
    }
    lines.join("\n") + "\n"
}

/// `Title: text`, then lines of a list or of examples.
fn sections(help: &str) -> String {
    let mut roff = Roff::default();
    for paragraph in help.split("\n\n") {
        let mut lines = paragraph.lines();
        let first = lines.next().unwrap_or_default();
        let text = match first.split_once(':') {
            Some((title, text)) if is_title(title) => {
                roff.control("SH", [title.to_uppercase().as_str()]);
                text.trim()
            }
            _ => {
                roff.control("PP", []);
                first
            }
        };
        if !text.is_empty() {
            roff.text([roman(capital(text))]);
        }
        let lines: Vec<&str> = lines.collect();
        let is_list = lines.iter().all(|line| line.trim().contains("  "));
        if !is_list {
            roff.control("nf", []);
        }
        for line in &lines {
            match line.trim().split_once("  ") {
                Some((term, meaning)) if is_list => {
                    roff.control("TP", []).text([bold(term)]).text([roman(meaning.trim())]);
                }
                _ => {
                    roff.text([roman(line.trim())]);
                }
            }
        }
        if !is_list {
            roff.control("fi", []);
        }
    }
    roff.to_roff()
}

fn is_title(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_uppercase())
        && text.chars().all(|c| c.is_ascii_alphabetic() || c == ' ')
        && text.len() < 24
}

fn capital(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(characters).collect()
}

fn see_also() -> String {
    let pages = ["fsck.fat(8)", "mkfs.fat(8)", "mcopy(1)", "mtools(1)"].map(|page| {
        let (name, section) = page.split_once('(').unwrap();
        [bold(name), roman(format!("({section}"))]
    });
    let text = pages.into_iter().enumerate().flat_map(|(at, page)| {
        let comma = (at > 0).then(|| roman(", "));
        comma.into_iter().chain(page)
    });
    let mut roff = Roff::default();
    roff.control("SH", ["SEE ALSO"]).text(text.collect::<Vec<_>>());
    roff.to_roff()
}
