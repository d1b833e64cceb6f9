"""The command line of `tdslc import`."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

from ..toolchain import compiler
from . import examples, survey, verification
from .errors import TranslationError, UsageError
from .options import DESCRIPTION, EPILOG, add_options
from .source import Script
from .translate import Translator


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        raise UsageError(message)


def parsed(arguments):
    parser = _Parser(prog="tdslc import", description=DESCRIPTION, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    return parser.parse_args(arguments)


def example_arguments(script, name, options):
    given = [bool(options.call), bool(options.args), bool(options.shapes)]
    if sum(given) != 1:
        raise UsageError("one of --call, --args and --shapes gives example arguments: " + ("only one may stand" if any(given) else
                         f"--call '{name}(...)'"))
    if options.call:
        return examples.from_calls(script, name, options.call)
    return examples.from_generator(script, name, options.args) if options.args else examples.from_shapes(script, name, options.shapes)


def program_text(script, function, translation, version):
    header = f"// `{function}` of {os.path.basename(script.path)} (sha256 {script.hash}), by tdslc import {version}\n"
    return header + translation.text


def version_of(tdslc):
    try:
        return subprocess.run([tdslc, "--version"], capture_output=True, text=True, timeout=60).stdout.strip().removeprefix("tdslc ")
    except (OSError, subprocess.TimeoutExpired):
        raise UsageError(f"{tdslc} cannot be run: name tdslc in the variable TDSLC") from None


def listed(options):
    script = Script(options.function)
    rated = {name: survey.places(script, function) for name, function in script.functions.items()} | survey.methods(script)
    if options.json:
        print(json.dumps({name: [place.record(script.path) for place in places] for name, places in rated.items()}, indent=2))
        return 0
    for name, places in rated.items():
        print(f"{name}: " + ("yes" if not places else f"{len(places)} place{'s' if len(places) > 1 else ''}"))
        for place in places:
            print(f"  {script.path}:{place.line}:{place.column}: {place.reason} [{place.id}]")
    return 0


class Report:
    """The report of an import, as text or as JSON."""

    def __init__(self, script, function, output):
        self.record = {"file": script.path, "function": function, "output": output, "verified": False, "examples": 0, "errors": [], "notes": [],
                       "assumed": [], "warnings": []}

    def fail(self, message, as_json):
        self.record["errors"].append({"file": self.record["file"], "id": "import-different", "message": message})
        if as_json:
            print(json.dumps(self.record, indent=2))
        else:
            print(f"{self.record['file']}: error: {message} [import-different]", file=sys.stderr)
        return 1

    def done(self, options):
        record = self.record
        if options.json:
            print(json.dumps(record, indent=2))
            return 0
        out = sys.stderr if record["output"] == "-" else sys.stdout
        for note in record["notes"]:
            print(note, file=out)
        for warning in record["warnings"]:
            print(f"{record['file']}:{warning['line']}: warning: {warning['message']} [{warning['id']}]", file=out)
        for line in record["assumed"]:
            print(f"assumed: {line}", file=out)
        text = f"{record['output']}: {record['lines']} lines, all of `{record['function']}`"
        if record["examples"]:
            plural = "s" if record["examples"] > 1 else ""
            text += f"; {record['examples']} example{plural} verified against NumPy: largest difference {record['largest_difference']:.2g}"
        print(text, file=out)
        if options.verify == "run":
            print(f"seconds: NumPy {record['numpy_seconds']:.3f}, TDSL {record['tdsl_seconds']:.3f} (with building)", file=out)
        return 0


def imported(options):
    path, separator, function = options.function.partition("::")
    if not separator or not function:
        raise UsageError(f"{options.function}: FILE.py::FUNCTION is expected")
    script = Script(path)
    script.function(function)
    given = example_arguments(script, function, options)
    output = options.output or function + ".tdsl"
    report = Report(script, function, output)
    tdslc = compiler()
    try:
        literal = Translator(script, function, given).translate()
        plain = options.literal or options.verify == "no"
        shorter = literal if plain else Translator(script, function, given, idioms=True).translate()
    except TranslationError as error:
        report.record["errors"] = [place.record(path) for place in error.places]
        print(json.dumps(report.record, indent=2) if options.json else error.text(), file=sys.stdout if options.json else sys.stderr)
        return 1
    version = version_of(tdslc)
    report.record["assumed"] = literal.assumed if len(given) == 1 else []
    failure = None
    for translation in [shorter, literal] if shorter.text != literal.text else [literal]:
        text = verification.laid_out(tdslc, program_text(script, function, translation, version))
        report.record["notes"] = translation.notes
        report.record["lines"] = sum(bool(line.strip()) and not line.lstrip().startswith("//") for line in text.splitlines())
        try:
            if options.verify != "no":
                verify(report.record, translation, script, function, given, tdslc, text, options)
            failure = None
            break
        except verification.Different as error:
            failure = str(error)
    if options.json and output == "-":
        report.record["text"] = text
    else:
        written(output, text, script)
    return report.done(options) if failure is None else report.fail(failure, options.json)


def verify(record, translation, script, function, given, tdslc, text, options):
    record.update({"examples": 0, "largest_difference": 0.0, "numpy_seconds": 0.0, "tdsl_seconds": 0.0})
    with tempfile.TemporaryDirectory(prefix="tdsl-import-") as folder:
        with open(os.path.join(folder, "program.tdsl"), "w") as file:
            file.write(text)
        record["warnings"] = verification.checked(tdslc, folder, text)
        for arguments in given:
            worst, numpy_seconds, seconds = verification.compare(translation, getattr(script.module, function), arguments, tdslc, folder, options.verify,
                                                                 options.rtol)
            record["largest_difference"] = max(record["largest_difference"], worst)
            record["numpy_seconds"] += numpy_seconds
            record["tdsl_seconds"] += seconds
            record["examples"] += 1
    record["verified"] = True


def written(output, text, script):
    if os.path.exists(output) and os.path.samefile(output, script.path):
        raise UsageError(f"{output} is the script itself")
    if output == "-":
        print(text, end="")
        return
    try:
        with open(output, "w") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f"{output}: {error.strerror}") from None


def main(arguments):
    try:
        options = parsed(arguments)
        return listed(options) if options.list else imported(options)
    except UsageError as error:
        print(f"tdslc import: {error}", file=sys.stderr)
        return 2
    except RecursionError:
        print("tdslc import: expressions are nested too deeply", file=sys.stderr)
        return 1
