"""Manual pages: from the option tree, and from pages of docs/."""
import os
import re
import time


def escaped(text):
    """Text of a line: `-` is the character that users type, and no line begins with a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("“", '"').replace("”", '"')
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


def inline(text):
    """Markdown within a paragraph: code and strong text in bold, emphasis in italics, links as their text."""
    text = re.sub(r"(?<![`\w])\[((?:[^\[\]`]|`[^`]*`)+)\]\([^)]*\)", r"\1", text)
    result = ""
    for part in re.split(r"(``.+?``|`[^`]+`|\*\*[^*`]+\*\*|(?<![\w*])\*[^*`\s][^*`]*\*(?!\w))", text):
        if part.startswith("`"):
            result += f"\\fB{escaped(part.strip('`').strip())}\\fR"
        elif part.startswith("**"):
            result += f"\\fB{escaped(part.strip('*'))}\\fR"
        elif part.startswith("*") and part.endswith("*") and len(part) > 2:
            result += f"\\fI{escaped(part.strip('*'))}\\fR"
        else:
            result += escaped(part)
    return re.sub(r"^([.'])", r"\\&\1", result)


class Page:
    def __init__(self, name, section, version, what):
        date = time.strftime("%Y-%m-%d", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))))
        self.name = name
        self.lines = [f'.TH {name.upper()} {section} "{date}" "TDSL {version}" "TDSL"', ".SH NAME", f"{escaped(name)} \\- {escaped(what)}"]
        self.fresh = False  # a heading was written last: the next paragraph needs no macro

    def heading(self, text, macro="SH"):
        self.lines.append(f'.{macro} "{escaped(text)}"' if " " in text else f".{macro} {escaped(text)}")
        self.fresh = True

    def paragraph(self, text):
        if not self.fresh:
            self.lines.append(".PP")
        self.lines.append(inline(text))
        self.fresh = False

    def term(self, head, text):
        """`head` is roff already."""
        self.lines += [".TP", head, inline(text) or "\\&"]
        self.fresh = False

    def example(self, lines):
        self.lines += [*([] if self.fresh else [".PP"]), ".nf", *(escaped(line) if line else "" for line in lines), ".fi"]
        self.fresh = False

    def see_also(self, pages):
        self.heading("SEE ALSO")
        *others, last = [page.rsplit(".", 1) for page in pages if page.rsplit(".", 1)[0] != self.name]
        self.lines += [f".BR {escaped(name)} ({section})," for name, section in others] + [f".BR {escaped(last[0])} ({last[1]})"]

    def text(self):
        return "\n".join(self.lines) + "\n"


def option_head(option):
    value = option.get("value", "")
    shown = f"\\fI{escaped(value)}\\fR" if value else ""
    if option.get("positional"):
        return shown
    names = ", ".join(f"\\fB{escaped(name)}\\fR" for name in option["names"])
    return f"{names} {shown}".rstrip()


def options_part(page, options):
    for positional, title in ((True, "ARGUMENTS"), (False, "OPTIONS")):
        chosen = [o for o in options if o.get("positional", False) == positional]
        if chosen:
            page.heading(title)
        for option in chosen:
            choices = option.get("choices")
            listed = choices and "|".join(choices) != option.get("value") and not all(c in option["help"] for c in choices)
            page.term(option_head(option), option["help"] + (" (" + ", ".join(choices) + ")" if listed else ""))


def synopsis(page, words, options, program):
    page.heading("SYNOPSIS")
    places = " ".join(f"\\fI{escaped(o['value'])}\\fR" for o in options if o.get("positional"))
    page.lines.append(f".B {escaped(words)}")
    page.lines.append(" ".join(part for part in (places, "[\\fIOPTIONS\\fR]", "[\\fB\\-\\-\\fR \\fIPROGRAM\\-OPTIONS\\fR]" if program else "") if part))
    page.fresh = False


# Commands whose words after -- go to the program.
WITH_PROGRAM = ("run", "submit", "eval", "explain", "verify")


def command_page(tree, command, pages):
    page = Page(f"tdslc-{command['name']}", 1, tree["version"], command["description"][:1].lower() + command["description"][1:])
    synopsis(page, f"tdslc {command['name']}", command["options"], command["name"] in WITH_PROGRAM)
    page.heading("DESCRIPTION")
    for text in command["prose"] or [command["description"] + "."]:
        page.paragraph(text)
    options_part(page, command["options"])
    if command["examples"]:
        page.heading("EXAMPLES")
        page.example(command["examples"])
    for text in command["end"]:
        page.paragraph(text)
    page.see_also(pages)
    return page.text()


def main_page(tree, pages):
    page = Page("tdslc", 1, tree["version"], "compiler from tensor programs to MPI/OpenMP executables")
    page.heading("SYNOPSIS")
    page.lines += [".B tdslc", "\\fICOMMAND\\fR [\\fIARGUMENTS\\fR] [\\fIOPTIONS\\fR] [\\fB\\-\\-\\fR \\fIPROGRAM\\-OPTIONS\\fR]"]
    page.heading("DESCRIPTION")
    page.paragraph("A program in a file `.tdsl` describes a computation with whole tensors, index notation or plain loops; the compiler cuts tensors "
                   "into tiles, places them and derives all messages. The same program gives the same answer on every number of ranks and threads.")
    options_part(page, tree["options"])
    page.heading("COMMANDS")
    for command in tree["commands"]:
        page.term(f"\\fB{escaped(command['name'])}\\fR", command["description"] + ".")
    page.heading("EXAMPLES")
    page.example(tree["examples"])
    page.heading("EXIT STATUS")
    for text in tree["end"]:
        page.paragraph(text)
    page.see_also(pages)
    return page.text()


def program_page(tree, pages):
    page = Page("tdsl-program", 1, tree["version"], "options of executables that tdslc builds")
    page.heading("SYNOPSIS")
    page.lines += [".B ./PROGRAM", "[\\fIOPTIONS\\fR]", ".br", ".B mpirun \\-n", "\\fIRANKS\\fR \\fB./PROGRAM\\fR [\\fIOPTIONS\\fR]"]
    page.heading("DESCRIPTION")
    page.paragraph("Every param, input and output of the program is an option of its name: `--alpha 0.1`, `--A a.npy`, `--C c.npy`. An output without a "
                   "file is summarized on the screen. All programs have the options below; `--help` lists both. `tdslc run` takes them after `--`.")
    page.paragraph("A SIZE is a number of bytes, or has a unit: K, M, G, T and KiB, MiB, GiB, TiB are powers of 1024; kB, MB, GB, TB powers of 1000. "
                   "A TIME is `600`, `600s`, `10m` or `2h`.")
    options_part(page, tree["program"])
    page.heading("EXIT STATUS")
    page.paragraph("0 success, 1 a run-time error, 2 an invalid option or a program that does not fit in memory, 69 a rank is lost, 75 a checkpoint was "
                   "written on a signal, 128 + N ended by signal N.")
    page.see_also(pages)
    return page.text()


def table_part(page, rows):
    for cells in rows:
        page.term(inline(cells[0]) or "\\&", "; ".join(cell for cell in cells[1:] if cell))


def cells_of(row):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", row.strip().strip("|"))]


def markdown_page(name, section, version, what, text, pages):
    """A page of docs/ as a manual page: headings, paragraphs, lists, tables and code."""
    page = Page(name, section, version, what)
    page.heading("DESCRIPTION")
    lines = text.split("\n")
    k = 1 if lines[0].startswith("# ") else 0
    while k < len(lines):
        line = lines[k]
        end = k + 1
        if line.startswith("```"):
            while not lines[end].startswith("```"):
                end += 1
            page.example(lines[k + 1:end])
            end += 1
        elif line.startswith("#"):
            title = re.sub(r"[`*]", "", line.lstrip("# "))
            page.heading(title.upper() if line.startswith("## ") else title, "SH" if line.startswith("## ") else "SS")
        elif line.startswith("|"):
            while end < len(lines) and lines[end].startswith("|"):
                end += 1
            table_part(page, [cells_of(row) for row in lines[k + 2:end]])
        elif line.startswith("    "):
            while end < len(lines) and lines[end].startswith("    "):
                end += 1
            page.example([one[4:] for one in lines[k:end]])
        elif line.strip():
            while end < len(lines) and lines[end].strip() and not re.match(r"```|#|\||- |\d+\. ", lines[end]):
                end += 1
            whole = " ".join(part.strip() for part in lines[k:end])
            if item := re.match(r"(-|\d+\.) (.*)", whole, re.S):
                mark = "\\(bu" if item[1] == "-" else item[1]
                page.lines += [f".IP {mark} 3", inline(item[2])]
                page.fresh = False
            else:
                page.paragraph(whole)
        k = end
    page.see_also(pages)
    return page.text()
