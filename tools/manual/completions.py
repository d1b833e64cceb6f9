"""Completions of tdslc for bash, zsh and fish, from the option tree. After `--` they offer the options of all executables, and the params, inputs
and outputs of the program on the command line, found in its text."""
import re

import tree as option_tree

PROGRAM_NAMES = r"sed -n 's/^\(param\|input\|output\)  *\([A-Za-z_][A-Za-z0-9_]*\).*/--\2/p'"


def names_of(options):
    return [name for option in options if not option.get("positional") for name in option["names"]]


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


# --- bash
BASH = r"""# tdslc: completion for bash, made by tools/manual.

_tdslc_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur"); }

# Files, with an extension if one is given, and folders.
_tdslc_files() {
    compopt -o filenames 2>/dev/null
    if [ -n "${1-}" ]; then
        mapfile -t COMPREPLY < <(compgen -f -X "!*.$1" -- "$cur"; compgen -d -- "$cur")
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    fi
}

_tdslc_folders() {
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -d -- "$cur")
}

# What follows --: options of the program.
_tdslc_program() {
    case "$prev" in
@PROGRAM_VALUES@
    esac
    case "$cur" in
        -*) _tdslc_words "@PROGRAM_OPTIONS@ $([ -r "$program" ] && @NAMES@ "$program")" ;;
        *) _tdslc_files ;;
    esac
}

_tdslc() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command="" program="" after="" k word
    COMPREPLY=()
    # `--fusion=all` is three words here.
    if [ "$cur" = "=" ]; then
        cur=""
    elif [ "$prev" = "=" ]; then
        prev=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    for ((k = 1; k < COMP_CWORD; k++)); do
        word=${COMP_WORDS[k]}
        case "$word" in
            --) after=yes ;;
            -*) ;;
            *.tdsl) program=${program:-$word} ;;
            *) command=${command:-$word} ;;
        esac
    done
    if [ -n "$after" ]; then
        _tdslc_program
        return
    fi
    case "$command $prev" in
@VALUES@
    esac
    case "$command" in
@COMMANDS@
        *)
            case "$cur" in
                -*) _tdslc_words "@OPTIONS@" ;;
                *) _tdslc_words "@NAMES_OF_COMMANDS@" ;;
            esac
            ;;
    esac
}

complete -F _tdslc tdslc
"""


def bash_action(kind, passes):
    if isinstance(kind, list):
        return f'_tdslc_words "{" ".join(kind)}"'
    words = kind.split()
    return {"pass": f'_tdslc_words "{" ".join(passes)}"', "dir": "_tdslc_folders", "file": " ".join(["_tdslc_files", *words[1:]]), "none": ":"}[words[0]]


def bash_values(prefix, options, passes, indent):
    lines = []
    for option in options:
        if not option.get("positional") and "value" in option:
            pattern = "|".join(f'"{prefix}{name}"' for name in option["names"])
            lines.append(f"{indent}{pattern}) {bash_action(option_tree.kind_of(option), passes)}; return ;;")
    return "\n".join(lines)


def bash(tree):
    values, commands = [bash_values(" ", tree["options"], tree["passes"], " " * 8)], []
    for command in tree["commands"]:
        values.append(bash_values(command["name"] + " ", command["options"], tree["passes"], " " * 8))
        places = [option_tree.kind_of(option) for option in command["options"] if option.get("positional")]
        action = bash_action(places[0] if places else "none", tree["passes"])
        commands.append(f'        {command["name"]})\n            case "$cur" in\n                -*) _tdslc_words "{" ".join(names_of(command["options"]))}" ;;\n'
                        f"                *) {action} ;;\n            esac\n            ;;")
    fields = {"PROGRAM_VALUES": bash_values("", tree["program"], [], " " * 8), "PROGRAM_OPTIONS": " ".join(names_of(tree["program"])), "NAMES": PROGRAM_NAMES,
              "VALUES": "\n".join(v for v in values if v), "COMMANDS": "\n".join(commands), "OPTIONS": " ".join(names_of(tree["options"])),
              "NAMES_OF_COMMANDS": " ".join(command["name"] for command in tree["commands"])}
    return filled(BASH, fields)


def filled(text, fields):
    return re.sub(r"@([A-Z_]+)@", lambda match: fields[match[1]], text)


# --- zsh
ZSH = r"""#compdef tdslc
# tdslc: completion for zsh, made by tools/manual.

_tdslc_program() {
    local program=${${(M)words:#*.tdsl}[1]}
    local -a names
    [[ -r $program ]] && names=(${(f)"$(@NAMES@ $program)"})
    if [[ $PREFIX == -* ]]; then
        compadd -- @PROGRAM_OPTIONS@ $names
    else
        _files
    fi
}

_tdslc() {
    local curcontext=$curcontext state
    local -a commands
    commands=(
@COMMANDS@
    )
    if (( ${words[(I)--]} && ${words[(I)--]} < CURRENT )); then
        _tdslc_program
        return
    fi
    _arguments -C @OPTIONS@ '1:command:->command' '*::argument:->argument'
    case $state in
        command) _describe command commands ;;
        argument)
            case $words[1] in
@ARGUMENTS@
            esac
            ;;
    esac
}

_tdslc "$@"
"""


def zsh_text(text):
    return text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")


def zsh_action(kind, passes):
    if isinstance(kind, list):
        return "(" + " ".join(kind) + ")"
    words = kind.split()
    files = f'_files -g "*.{words[1]}"' if len(words) > 1 else "_files"
    return {"pass": "(" + " ".join(passes) + ")", "dir": "_files -/", "file": files, "none": " "}[words[0]]


def zsh_options(options, passes):
    specs = []
    for option in options:
        action = zsh_action(option_tree.kind_of(option), passes)
        value = re.sub(r"[^\w.]+", " ", option.get("value", "")).strip() or "value"
        if option.get("positional"):
            specs.append(quoted(f"*:{value}:{action}"))
            continue
        for name in option["names"]:
            others = " ".join(option["names"])
            head = "*" if option.get("repeated") else f"({others})"
            tail = f":{value}:{action}" if "value" in option else ""
            joined = "=" if tail and name.startswith("--") else "+" if tail else ""
            specs.append(quoted(f"{head}{name}{joined}[{zsh_text(option['help'])}]{tail}"))
    return specs


def zsh(tree):
    commands = "\n".join(" " * 8 + quoted(f"{c['name']}:{zsh_text(c['description'])}") for c in tree["commands"])
    arguments = "\n".join(f"                {c['name']})\n                    _arguments -s {' '.join(zsh_options(c['options'], tree['passes']))}\n                    ;;"
                          for c in tree["commands"])
    return filled(ZSH, {"NAMES": PROGRAM_NAMES, "PROGRAM_OPTIONS": " ".join(names_of(tree["program"])), "COMMANDS": commands, "ARGUMENTS": arguments,
                        "OPTIONS": " ".join(zsh_options(tree["options"], []))})


# --- fish
FISH = r"""# tdslc: completion for fish, made by tools/manual.

function __tdslc_after_dashes
    contains -- -- (commandline -opc)
end

function __tdslc_in
    set -l words (commandline -opc)
    test (count $words) -gt 1; and contains -- $words[2] $argv; and not contains -- -- $words
end

function __tdslc_none
    test (count (commandline -opc)) -eq 1
end

function __tdslc_program_names
    for word in (commandline -opc)
        if string match -q '*.tdsl' -- $word; and test -r $word
            @NAMES@ $word
            return
        end
    end
end

complete -c tdslc -f
complete -c tdslc -n __tdslc_after_dashes -F
complete -c tdslc -n __tdslc_after_dashes -a '(__tdslc_program_names)'
"""


def fish_option(condition, option, passes):
    kind = option_tree.kind_of(option)
    words = ["complete", "-c", "tdslc", "-n", quoted(condition)]
    if option.get("positional"):
        if kind == "none":
            return ""
        suffix = kind.split()[1] if " " in kind else ""
        return " ".join([*words, *(["-a", quoted(f"(__fish_complete_suffix .{suffix})")] if suffix else ["-F"])])
    for name in option["names"]:
        words += ["-l", name[2:]] if name.startswith("--") else ["-s", name[1:]]
    if "value" in option:
        if isinstance(kind, list) or kind == "pass":
            words += ["-x", "-a", quoted(" ".join(kind if isinstance(kind, list) else passes))]
        elif kind == "dir":
            words += ["-x", "-a", quoted("(__fish_complete_directories)")]
        else:
            words += ["-x"] if kind == "none" else ["-r", "-F"]
    return " ".join([*words, "-d", quoted(option["help"])])


def fish(tree):
    lines = [FISH.replace("@NAMES@", PROGRAM_NAMES)]
    lines += [f"complete -c tdslc -n __tdslc_none -a {c['name']} -d {quoted(c['description'])}" for c in tree["commands"]]
    lines += [fish_option("__tdslc_none", option, tree["passes"]) for option in tree["options"]]
    for command in tree["commands"]:
        lines += [fish_option(f"__tdslc_in {command['name']}", option, tree["passes"]) for option in command["options"]]
    # Words that follow -- are no options to fish.
    lines += [f"complete -c tdslc -n __tdslc_after_dashes -a {option['names'][-1]} -d {quoted(option['help'])}" for option in tree["program"]]
    return "\n".join(line for line in lines if line) + "\n"
