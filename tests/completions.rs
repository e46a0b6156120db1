//! The completions, asked in the shells themselves: every flag, the values of those that have a list,
//! and files where files are due.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use clap::{Arg, ValueHint};

mod support;

use support::{TempDir, Tool, TreeBuilder, scratch, search_path};

/// Inserts all candidates, or the one that there is as a tab does; then notes the line, and empties it.
const ALL: &str = "\x18a\x18n";
const TAB: &str = "\x18t\x18n";
/// What interactive shells are told to say when they listen.
const PROMPT: &str = "ready> ";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shell {
    Bash,
    /// With the package bash-completion, which loads the script when it is needed.
    BashCompletion,
    Zsh,
    Fish,
}

const SHELLS: [Shell; 4] = [Shell::Bash, Shell::BashCompletion, Shell::Zsh, Shell::Fish];

/// A home with the completions where the README has them, and a folder with files to complete.
struct Place {
    home: TempDir,
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        let (home, folder) = (scratch(), scratch());
        TreeBuilder::new(folder.path())
            .directory("rootfs")
            .directory("my tree")
            .file("my boot code", "")
            .file("out.img", "");
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("completions");
        let files = TreeBuilder::new(home.path());
        files.file(".zfunc/_mkfatimg", fs::read(scripts.join("_mkfatimg")).unwrap());
        let readme = fs::read_to_string(scripts.join("../README.md")).unwrap();
        let lines: Vec<&str> = readme.lines().filter(|line| line.starts_with("install ")).collect();
        assert_eq!(lines.len(), 2);
        let mut shell = Command::new("sh");
        shell.current_dir(scripts.join("..")).env("HOME", home.path());
        assert!(shell.args(["-e", "-c", &lines.join("\n")]).status().unwrap().success());
        Self { home, folder }
    }

    /// The lines that `shell` makes of `typed` when `key` is pressed behind each, or `None` without
    /// the programs.
    fn lines(&self, shell: Shell, typed: &[String], key: &str) -> Option<Vec<String>> {
        let terminal = Tool::find("script")?;
        let start = self.start(shell)?;
        let noted = self.home.path().join("noted");
        let _ = fs::remove_file(&noted);
        let mut command = terminal.command();
        command.args(["-q", "-e", "-c", &start, "/dev/null"]);
        let mut child =
            self.settle(&mut command).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut keys = child.stdin.take().unwrap();
        let screen = wait_for_prompt(&mut child);
        for line in typed {
            keys.write_all(format!("{line}{key}").as_bytes()).unwrap();
        }
        keys.write_all(b"exit\n").unwrap();
        drop(keys);
        child.wait().unwrap();
        let screen = screen.join().unwrap();
        let noted = fs::read_to_string(&noted).unwrap_or_default();
        let lines: Vec<String> = noted.lines().map(str::to_owned).collect();
        assert_eq!(lines.len(), typed.len(), "{shell:?}: {screen}");
        Some(lines)
    }

    /// What `shell` offers at the end of each line.
    fn offers(&self, shell: Shell, typed: &[String]) -> Option<Vec<Vec<String>>> {
        if shell != Shell::Fish {
            let lines = self.lines(shell, typed, ALL)?;
            let offers = lines.iter().zip(typed).map(|(line, typed)| {
                let start = typed.rfind(' ').map_or(0, |at| at + 1);
                assert!(line.starts_with(&typed[..start]), "{shell:?}: {typed}: {line}");
                let words = words(&line[start..]);
                // A line that stays as it is offers nothing.
                let none = line.trim_end() == typed.trim_end() && !typed.ends_with(' ');
                if none { Vec::new() } else { bare(typed, words) }
            });
            return Some(offers.collect());
        }
        let fish = Tool::find("fish")?;
        let ask = "for line in $argv; complete -C $line; echo; end";
        let mut command = fish.command();
        let found = self.settle(&mut command).args(["--private", "-c", ask]).args(typed).output();
        let found = String::from_utf8(found.unwrap().stdout).unwrap();
        let mut lines = found.lines();
        let offers = typed.iter().map(|typed| {
            let offered = lines.by_ref().take_while(|line| !line.is_empty());
            let words = offered.map(|line| line.split('\t').next().unwrap().to_owned());
            bare(typed, words.collect())
        });
        Some(offers.collect())
    }

    fn settle<'a>(&self, command: &'a mut std::process::Command) -> &'a mut std::process::Command {
        command
            .current_dir(self.folder.path())
            .env("PATH", search_path::beginning_with(&[search_path::of_program()]))
            .env("HOME", self.home.path())
            .env("ZDOTDIR", self.home.path())
            .env("TERM", "xterm")
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("XDG_DATA_HOME")
            .stderr(Stdio::null())
    }

    /// Writes what an interactive `shell` reads first; the command that starts it.
    fn start(&self, shell: Shell) -> Option<String> {
        let noted = self.home.path().join("noted");
        let noted = noted.display();
        let path = |name: &str| -> PathBuf { self.home.path().join(name) };
        let bash = format!(
            r#"PS1='{PROMPT}'
bind 'set completion-query-items 0'
note() {{ printf '%s\n' "$READLINE_LINE" >>{noted}; READLINE_LINE= READLINE_POINT=0; }}
bind '"\C-xa": insert-completions'
bind '"\C-xt": complete'
bind -x '"\C-xn": note'
"#
        );
        let loader = "../share/bash-completion/bash_completion";
        let (program, name, text) = match shell {
            Shell::Bash => {
                let script = path(".local/share/bash-completion/completions/mkfatimg");
                ("bash", ".bashrc", format!("{bash}source {}\n", script.display()))
            }
            Shell::BashCompletion => {
                Tool::find(loader)?;
                ("bash", ".bashrc", format!("{bash}source /usr/bin/{loader}\n"))
            }
            Shell::Zsh => {
                let text = format!(
                    "PS1='{PROMPT}'
fpath=(~/.zfunc $fpath)
autoload -Uz compinit && compinit -u
zstyle ':completion:all:*' completer _all_matches _complete
zstyle ':completion:all:*' insert yes
zle -C all complete-word _generic
note() {{ print -r -- \"$BUFFER\" >>{noted}; BUFFER=; }}
zle -N note
bindkey -e
bindkey '^Xa' all
bindkey '^Xt' complete-word
bindkey '^Xn' note
"
                );
                ("zsh", ".zshrc", text)
            }
            Shell::Fish => unreachable!("fish answers without a terminal"),
        };
        Tool::find(program)?;
        fs::write(path(name), text).unwrap();
        Some(match program {
            "bash" => format!("bash --noprofile --rcfile {} -i", path(name).display()),
            _ => "zsh -i".to_owned(),
        })
    }
}

/// Reads the screen until the shell listens, and goes on reading it in a thread.
fn wait_for_prompt(child: &mut Child) -> thread::JoinHandle<String> {
    let mut output = child.stdout.take().unwrap();
    let mut screen = Vec::new();
    let mut byte = [0];
    while !screen.ends_with(PROMPT.as_bytes()) {
        let read = output.read(&mut byte).unwrap();
        assert!(read > 0, "no prompt: {}", String::from_utf8_lossy(&screen));
        screen.extend(byte);
    }
    thread::spawn(move || {
        // The terminal is gone with the shell.
        let _ = output.read_to_end(&mut screen);
        String::from_utf8_lossy(&screen).into_owned()
    })
}

/// Words as a shell splits them; blanks in names have a backslash.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        let word = words.last_mut().unwrap();
        match character {
            ' ' => words.push(String::new()),
            '\\' => word.extend(characters.next()),
            _ => word.push(character),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Candidates sorted, without the `--flag=` before them, and without what ends a directory or a flag.
fn bare(typed: &str, words: Vec<String>) -> Vec<String> {
    let word = typed.rsplit(' ').next().unwrap();
    let flag = word.split_inclusive('=').next().filter(|flag| flag.ends_with('='));
    let bare = |word: &String| {
        let word = flag.and_then(|flag| word.strip_prefix(flag)).unwrap_or(word);
        word.trim_end_matches(['/', '=']).to_owned()
    };
    let mut bare: Vec<String> = words.iter().map(bare).filter(|word| !word.is_empty()).collect();
    bare.sort();
    bare
}

/// The flags of the command line that take a value, by `wanted`.
fn flags_with_value(wanted: impl Fn(&Arg) -> bool) -> Vec<String> {
    let mut command = mkfatimg::cli::command();
    command.build();
    let flags = command.get_arguments().filter(|arg| arg.get_action().takes_values());
    let flags = flags.filter(|arg| !arg.is_positional() && wanted(arg));
    flags.filter_map(|arg| Some(format!("--{}", arg.get_long()?))).collect()
}

fn takes_file(arg: &Arg) -> bool {
    matches!(arg.get_value_hint(), ValueHint::AnyPath | ValueHint::FilePath)
}

/// In every shell, `expected` is what is offered at the end of the line before it.
fn assert_offers(expected: &BTreeMap<String, Vec<String>>) {
    let place = Place::new();
    let typed: Vec<String> = expected.keys().cloned().collect();
    for shell in SHELLS {
        let Some(offers) = place.offers(shell, &typed) else { continue };
        for ((typed, expected), offers) in expected.iter().zip(offers) {
            assert_eq!(&offers, expected, "{shell:?}: {typed}");
        }
    }
}

#[test]
fn every_flag_is_offered_in_every_shell() {
    let mut command = mkfatimg::cli::command();
    command.build();
    let long = command.get_arguments().filter_map(|arg| Some(format!("--{}", arg.get_long()?)));
    let short = command.get_arguments().filter_map(|arg| Some(format!("-{}", arg.get_short()?)));
    let mut flags: Vec<String> = long.chain(short).collect();
    flags.sort();
    assert!(flags.len() > 40);
    let size = vec!["--size".to_owned()];
    assert_offers(&BTreeMap::from([
        ("mkfatimg -".to_owned(), flags),
        ("mkfatimg --si".to_owned(), size.clone()),
        ("mkfatimg --from rootfs out.img --si".to_owned(), size),
    ]));
}

#[test]
fn values_that_can_be_listed_are_offered_once_each() {
    let mut command = mkfatimg::cli::command();
    command.build();
    let mut expected = BTreeMap::new();
    for arg in command.get_arguments() {
        let (Some(long), true) = (arg.get_long(), arg.get_action().takes_values()) else {
            continue;
        };
        let mut values: Vec<String> =
            arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
        values.sort();
        if values.is_empty() {
            continue;
        }
        let first = values[0].clone();
        let mut begun = values.clone();
        begun.retain(|value| value.starts_with(&first[..1]));
        expected.insert(format!("mkfatimg --{long}={}", &first[..1]), begun);
        expected.insert(format!("mkfatimg --{long}="), values.clone());
        expected.insert(format!("mkfatimg --{long} "), values);
    }
    assert_eq!(expected["mkfatimg --fat-type "], ["12", "16", "32"]);
    assert_offers(&expected);
}

#[test]
fn files_and_directories_are_offered_where_one_is_due() {
    let mut expected = BTreeMap::new();
    let mut flags = flags_with_value(takes_file);
    assert!(flags.contains(&"--from".to_owned()) && flags.contains(&"--boot-code".to_owned()));
    flags.push("-q".to_owned());
    for flag in flags {
        let line = |begun: &str| format!("mkfatimg {flag} {begun}");
        let all = ["my boot code", "my tree", "out.img", "rootfs"].map(str::to_owned);
        expected.insert(line(""), all.to_vec());
        expected.insert(line("ro"), vec!["rootfs".to_owned()]);
        expected.insert(line("my"), all[..2].to_vec());
        if flag != "-q" {
            expected.insert(format!("mkfatimg {flag}=my"), all[..2].to_vec());
            expected.insert(format!("mkfatimg {flag}="), all.to_vec());
        }
    }
    expected.insert("mkfatimg o".to_owned(), vec!["out.img".to_owned()]);
    assert_offers(&expected);
}

#[test]
fn nothing_is_offered_for_numbers_and_texts() {
    let flags = flags_with_value(|arg| !takes_file(arg) && arg.get_possible_values().is_empty());
    assert!(flags.contains(&"--size".to_owned()));
    let lines = flags.iter().flat_map(|flag| [format!("{flag} "), format!("{flag}=")]);
    assert_offers(&lines.map(|line| (format!("mkfatimg {line}"), Vec::new())).collect());
}

/// What a tab makes of a line is what can be run.
#[test]
fn a_tab_completes_and_quotes() {
    let place = Place::new();
    let lines = [
        ("mkfatimg --siz", "mkfatimg --size"),
        ("mkfatimg --from ro", "mkfatimg --from rootfs/"),
        ("mkfatimg --from=ro", "mkfatimg --from=rootfs/"),
        (r"mkfatimg --from my\ t", r"mkfatimg --from my\ tree/"),
        (r"mkfatimg --boot-code my\ b", r"mkfatimg --boot-code my\ boot\ code"),
        (r"mkfatimg --boot-code=my\ b", r"mkfatimg --boot-code=my\ boot\ code"),
        (r#"mkfatimg --boot-code "my b"#, r#"mkfatimg --boot-code "my boot code""#),
        ("mkfatimg --fat-type 3", "mkfatimg --fat-type 32"),
        ("mkfatimg --symlinks=h", "mkfatimg --symlinks=host"),
        ("mkfatimg --from rootfs ou", "mkfatimg --from rootfs out.img"),
        (r"mkfatimg my\ b", r"mkfatimg my\ boot\ code"),
    ];
    let typed = lines.map(|(typed, _)| typed.to_owned());
    for shell in [Shell::Bash, Shell::BashCompletion, Shell::Zsh] {
        let Some(made) = place.lines(shell, &typed, TAB) else { continue };
        for ((typed, completed), made) in lines.iter().zip(made) {
            // Some put a blank, or the sign that may follow, behind it.
            assert_eq!(made.trim_end_matches([' ', '=']), *completed, "{shell:?}: {typed}");
        }
    }
}
