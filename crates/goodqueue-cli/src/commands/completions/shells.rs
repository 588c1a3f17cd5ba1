//! What the generated scripts lack: files beside names, values with `=`, and arguments of fish
//! without an option.

use clap::Command;
use clap_complete::Shell;

use super::values::FILES;

/// Returns the script with what the generator of its shell lacks.
pub(super) fn completed(shell: Shell, name: &str, command: &Command, script: &str) -> String {
    match shell {
        Shell::Bash => bash(name, script),
        Shell::Zsh => zsh(script),
        Shell::Fish => fish(name, command, script),
        _ => script.replace(FILES, ""),
    }
}

/// Bash completes files where no name matches. It splits words at `=`, so the script gets the whole
/// word from a function in front.
fn bash(name: &str, script: &str) -> String {
    // clap_complete names the function of a program in this way, because POSIX allows no hyphen
    // there.
    let function = format!("_{}", name.replace('-', "__"));
    let script = script.replace(&format!("{FILES} "), "");
    script.replace(&format!("complete -F {function} "), &format!("complete -F {function}_joined "))
        + &JOINED.replace("FUNCTION", &function)
}

/// Zsh completes files only where it is told to.
fn zsh(script: &str) -> String {
    let begin = format!(":({FILES} ");
    let mut parts = script.split(&begin);
    let mut all = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        // No name has a bracket.
        let (names, rest) = part.split_once(')').unwrap_or((part, ""));
        all += &format!(r#":{{_alternative "names\:name\:({names})" "files\:file\:_files"}}{rest}"#);
    }
    all
}

/// The generator of fish knows values of options only.
fn fish(name: &str, command: &Command, script: &str) -> String {
    let mut script = script
        .replace(&format!(" -f -a \"{FILES}\\t''\n"), " -F -a \"")
        .replace(&format!(" -f -a \"{FILES}\\t''"), " -F -a \"");
    // clap_complete defines this function at the top of its script for fish.
    let using = format!("__fish_{}_using_subcommand", name.replace('-', "_"));
    for subcommand in command.get_subcommands() {
        for argument in subcommand.get_positionals() {
            let values = argument.get_possible_values();
            let names: Vec<&str> =
                values.iter().map(|value| value.get_name()).filter(|name| *name != FILES).collect();
            if names.is_empty() {
                continue;
            }
            let files = if names.len() < values.len() { "" } else { " -f" };
            script += &format!(
                "complete -c {name} -n \"{using} {}\"{files} -a \"{}\"\n",
                subcommand.get_name(),
                names.join(" ")
            );
        }
    }
    script
}

/// Joins a word that Bash has split at `=`, and takes its first part from the answers.
const JOINED: &str = r#"
FUNCTION_joined() {
    local cur="$2" prev="$3" begin="" equals=-1
    [[ $prev == "=" ]] && equals=$((COMP_CWORD - 1))
    [[ ${COMP_WORDS[COMP_CWORD]} == "=" ]] && equals=$COMP_CWORD
    if [[ $equals -ge 2 ]]; then
        begin="${COMP_WORDS[equals - 1]}"
        prev="${COMP_WORDS[equals - 2]}"
        if [[ $begin == -* ]]; then
            prev="$begin"
            begin=""
        else
            [[ $prev == "=" ]] && prev="${COMP_WORDS[equals - 3]}"
            begin+="="
            cur="$begin$cur"
        fi
    fi
    FUNCTION "$1" "$cur" "$prev"
    [[ -n $begin ]] && COMPREPLY=("${COMPREPLY[@]#"$begin"}")
    return 0
}
"#;
