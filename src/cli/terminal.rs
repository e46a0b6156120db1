//! What standard output and standard error can show, as the terminal and the environment tell it. Draws nothing.

use std::ffi::OsString;
use std::io::{IsTerminal, stdout};

use rustix::termios::tcgetwinsize;

use crate::report::bar::Look;

/// What terminals have that do not tell.
const USUAL_COLUMNS: usize = 80;

/// What pictures on standard output may be made of; `None` if it is no terminal.
pub(super) fn look() -> Option<Look> {
    let stdout = stdout();
    if !stdout.is_terminal() {
        return None;
    }
    // Serial lines say 0.
    let columns = tcgetwinsize(&stdout).map_or(0, |size| usize::from(size.ws_col));
    Some(of_environment(columns, |name| std::env::var_os(name)))
}

/// Whether what is written to `stream` may have colours.
pub(super) fn shows_colour(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && of_environment(0, |name| std::env::var_os(name)).colour
}

/// As the environment wishes, on a terminal of so many columns, or of 0 if it does not say.
fn of_environment(terminal: usize, value: impl Fn(&str) -> Option<OsString>) -> Look {
    // POSIX takes an empty variable for one that is not set, and so does NO_COLOR.
    let text = |name| {
        let value = value(name)?.to_string_lossy().into_owned();
        (!value.is_empty()).then_some(value)
    };
    let wished = text("COLUMNS").and_then(|columns| columns.parse().ok()).unwrap_or(0);
    let colour = text("NO_COLOR").is_none() && text("TERM").is_some_and(|term| term != "dumb");
    // The first that is set names the locale of characters.
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(text).unwrap_or_default();
    let locale = locale.to_ascii_lowercase();
    Look {
        columns: [wished, terminal].into_iter().find(|known| *known > 0).unwrap_or(USUAL_COLUMNS),
        colour,
        blocks: locale.contains(".utf-8") || locale.contains(".utf8"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(terminal: usize, environment: &[(&str, &str)]) -> Look {
        of_environment(terminal, |name| {
            environment.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
        })
    }

    #[test]
    fn columns_are_those_wished_then_those_there_are() {
        let columns = |terminal, wished| look(terminal, &[("COLUMNS", wished)]).columns;
        assert_eq!(columns(120, "40"), 40);
        for none in ["", "0", "-3", "wide"] {
            assert_eq!(columns(120, none), 120, "{none}");
            assert_eq!(columns(0, none), 80, "{none}");
        }
    }

    #[test]
    fn colour_is_for_terminals_that_have_it_and_people_who_want_it() {
        let colour = |environment: &[(&str, &str)]| look(0, environment).colour;
        assert!(colour(&[("TERM", "xterm")]));
        assert!(colour(&[("TERM", "xterm"), ("NO_COLOR", "")]));
        assert!(!colour(&[("TERM", "xterm"), ("NO_COLOR", "1")]));
        assert!(!colour(&[("TERM", "xterm"), ("NO_COLOR", "0")]));
        for term in ["", "dumb"] {
            assert!(!colour(&[("TERM", term)]), "{term:?}");
        }
        assert!(!colour(&[]));
    }

    #[test]
    fn blocks_are_for_locales_in_utf_8() {
        let blocks = |environment: &[(&str, &str)]| look(0, environment).blocks;
        for locale in ["C.UTF-8", "de_DE.utf8", "en_GB.UTF-8", "sr_RS.UTF-8@latin"] {
            assert!(blocks(&[("LANG", locale)]), "{locale}");
        }
        for locale in ["", "C", "POSIX", "de_DE", "de_DE.ISO-8859-15@euro"] {
            assert!(!blocks(&[("LANG", locale)]), "{locale}");
        }
        assert!(!blocks(&[]));
        assert!(!blocks(&[("LC_ALL", "C"), ("LC_CTYPE", "C.UTF-8"), ("LANG", "C.UTF-8")]));
        assert!(blocks(&[("LC_ALL", ""), ("LC_CTYPE", "C.UTF-8"), ("LANG", "C")]));
    }
}
