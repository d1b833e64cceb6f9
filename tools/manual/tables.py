"""docs/commands.md: the commands and their options as tables."""


def cell(text):
    return text.replace("|", "\\|")


def option_cell(option):
    value = cell(option.get("value", ""))
    if option.get("positional"):
        return f"`{value}`"
    return ", ".join(f"`{name}`" for name in option["names"]) + (f" `{value}`" if value else "")


def rows(options):
    return [f"| {option_cell(o)} | {cell(o['help'])} |" for o in options if o["names"] != ["-h", "--help"] or "value" in o]


def page(tree):
    lines = ["# Commands", "", "The commands of `tdslc` and their options. This page is made by `tools/manual/manual --tables`, like the manual pages and completions, from",
             "the tables that the command line is parsed with. `tdslc COMMAND --help` has examples, [running.md](running.md) the options of executables.", "",
             "    tdslc COMMAND PROG.tdsl [-n RANKS] [-o FILE] [OPTIONS] [-- PROGRAM-OPTIONS]", "", "| option | meaning |", "|---|---|", *rows(tree["options"])]
    for command in tree["commands"]:
        lines += ["", f"## `tdslc {command['name']}`", "", command["description"] + "."]
        for text in command["prose"]:
            lines += ["", text]
        shown = rows(command["options"])
        if shown:
            lines += ["", "| option | meaning |", "|---|---|", *shown]
    return "\n".join(lines) + "\n"
