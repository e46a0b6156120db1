//! The completion for bash. That of clap_complete loses names with blanks behind most flags, offers
//! flags where a file is due and nothing behind `--flag=`: here readline completes files itself.

use std::fmt::Write;

use clap::{Arg, Command, ValueHint};

/// The script for `command`, built.
pub(crate) fn script(command: &Command) -> String {
    let mut cases = String::new();
    let (mut files, mut texts, mut flags) = (Vec::new(), Vec::new(), Vec::new());
    for arg in command.get_arguments().filter(|arg| !arg.is_positional()) {
        let names = names(arg);
        flags.extend(names.clone());
        if !arg.get_action().takes_values() {
            continue;
        }
        let values = arg.get_possible_values();
        if values.is_empty() {
            match arg.get_value_hint() {
                ValueHint::AnyPath | ValueHint::FilePath => files.extend(names),
                _ => texts.extend(names),
            }
            continue;
        }
        let values: Vec<&str> = values.iter().map(|value| value.get_name()).collect();
        let reply = format!("COMPREPLY=($(compgen -W '{}' -- \"$cur\"))", values.join(" "));
        case(&mut cases, &names, &reply);
    }
    case(&mut cases, &files, "compopt -o bashdefault -o default");
    // Free text: nothing is offered.
    case(&mut cases, &texts, "");
    format!(
        "# Completion of {name} for bash 4 and newer.
_{name}() {{
    local cur=$2 flag=$3
    # --flag=value comes as three words.
    [[ $flag == = ]] && flag=${{COMP_WORDS[COMP_CWORD - 2]}}
    COMPREPLY=()
    case $flag in
{cases}    esac
    if [[ $cur == -* ]]; then
        COMPREPLY=($(compgen -W '{flags}' -- \"$cur\"))
    else
        compopt -o bashdefault -o default
    fi
}}
complete -F _{name} {name}
",
        name = command.get_name(),
        flags = flags.join(" "),
    )
}

/// What may be typed for `arg`.
fn names(arg: &Arg) -> Vec<String> {
    let short = arg.get_short().map(|letter| format!("-{letter}"));
    short.into_iter().chain(arg.get_long().map(|long| format!("--{long}"))).collect()
}

fn case(cases: &mut String, flags: &[String], reply: &str) {
    if flags.is_empty() {
        return;
    }
    let reply = if reply.is_empty() { String::new() } else { format!("            {reply}\n") };
    let flags = flags.join(" | ");
    // Writing to a string cannot fail.
    let _ = write!(cases, "        {flags})\n{reply}            return\n            ;;\n");
}
