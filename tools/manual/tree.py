"""The option tree: what `tdslc --options-json` prints, with the options of the importer, which is a Python program."""
import argparse
import importlib.util
import json
import re
import subprocess
from pathlib import Path

IMPORTER = Path(__file__).resolve().parent.parent / "python/tdsl/importer/options.py"


def option_of(action):
    """An option of argparse as the tree has it."""
    option = {"names": list(action.option_strings), "positional": not action.option_strings, "required": not action.option_strings,
              "repeated": isinstance(action.default, list), "help": action.help}
    if action.nargs != 0:
        option["value"] = action.metavar or "|".join(action.choices)
        if action.choices:
            option["choices"] = list(action.choices)
    return option


def importer_options():
    spec = importlib.util.spec_from_file_location("importer_options", IMPORTER)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    parser = argparse.ArgumentParser(add_help=True)
    module.add_options(parser)
    return [option_of(action) for action in parser._actions], module.EPILOG


def capital(text):
    return text[:1].upper() + text[1:]


def read(tdslc):
    """The tree; every command has `prose` and `examples`, the parts of its footer."""
    shown = subprocess.run([tdslc, "--options-json"], capture_output=True, text=True, check=True, timeout=60).stdout
    tree = json.loads(shown)
    for command in tree["commands"]:
        if command["name"] == "import":
            command["options"], command["footer"] = importer_options()
    for part in [tree, *tree["commands"]]:
        part["prose"], part["examples"], part["end"] = parts_of(part["footer"])
    for option in [o for part in [tree, *tree["commands"], {"options": tree["program"]}] for o in part["options"]]:
        option["help"] = capital(option["help"])
    return tree


def parts_of(footer):
    """(paragraphs before the examples, lines of examples, paragraphs after them)"""
    before, _, after = footer.strip("\n").partition("Examples:\n")
    lines = after.split("\n")
    count = next((k for k, line in enumerate(lines) if not line.startswith("  ")), len(lines))
    return paragraphs(before), [line[2:] for line in lines[:count]], paragraphs("\n".join(lines[count:]))


def paragraphs(text):
    return [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]


def kind_of(option):
    """How completions find values: a list of words, or `dir`, `pass`, `file`, `file EXT`, `none`."""
    if option.get("choices"):
        return option["choices"]
    value = option.get("value", "")
    if value == "PASS":
        return "pass"
    if value == "DIR":
        return "dir"
    if extension := re.search(r"\.(tdsl|html|py)\b", value):
        return f"file {extension[1]}"
    return "file" if re.search(r"FILE|PLAN|STATISTICS", value) else "none"
