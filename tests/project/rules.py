#!/usr/bin/python3
"""Every rule of the verifiers is violated by a test: some unit test or nest has the rule's sentence, with any words in place of `{}`.
One line: PASS project/rules, or FAIL project/rules: the rules without a test."""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VERIFIERS = ["ir/verify/*.cpp", "codegen/nest/verif*", "codegen/operations/verify.cpp"]
TESTS = ["tests/unit/ir/*.cpp", "tests/unit/codegen/*.cpp", "tests/nests/*.nest"]
TEXT = r'"((?:[^"\\\n]|\\.)*)"'


def files(patterns):
    return [path for pattern in patterns for path in sorted(ROOT.glob(pattern))]


def joined(text):
    """Adjacent string literals as one, without escapes of quotes."""
    return re.sub(r'(?<=[^\\])"\s*\n\s*"', "", text).replace('\\"', '"')


def rules(path):
    """Sentences in the file: its string literals of several words."""
    text = re.sub(r"(?m)^\s*(?:#include|TDSL_CHECK).*|//.*", "", path.read_text())
    for literal in re.finditer(rf"{TEXT}(?:\s*{TEXT})*", text):
        sentence = "".join(re.findall(TEXT, literal[0]))
        if re.search(r"[a-z]", re.sub(r"\{[^}]*\}", "", sentence)) and " " in sentence.strip():
            yield sentence


def is_tested(sentence, tests):
    words = [re.escape(part) for part in re.split(r"\{[^}]*\}", sentence)]
    return re.search(".{0,60}?".join(words), tests) is not None


def main():
    found = [(path.relative_to(ROOT), sentence) for path in files(VERIFIERS) for sentence in rules(path)]
    assert len(found) > 150, "the verifiers' sentences are not found"
    tests = "\n".join(joined(path.read_text()) for path in files(TESTS))
    untested = [f"`{sentence}` of {path}" for path, sentence in found if not is_tested(sentence, tests)]
    print(f"FAIL project/rules: no test violates {'; '.join(untested)}" if untested else "PASS project/rules")
    return 1 if untested else 0


if __name__ == "__main__":
    sys.exit(main())
