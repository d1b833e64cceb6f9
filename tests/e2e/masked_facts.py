"""Facts about reductions under a condition: loops over their elements have no branches, and bins are searched. A part of facts.py."""
import re

import launch
from session import Failed

SUMS = """input x: f64[n];
input d: f64[n];
input lo: f64[m];
input hi: f64[m];
let s[b] = sum[i where lo[b] <= x[i] && x[i] < hi[b]](d[i]);
output s;
"""


def loops_in(code):
    """The innermost loops of disassembled functions, each a list of instructions: from the target of a conditional jump backwards to the jump.
    Code with an unconditional jump in between is the end of one loop and the beginning of another."""
    lines = [(int(m[1], 16), m[2]) for m in re.finditer(r"^\s*([0-9a-f]+):\t(.*)$", code, re.M)]
    place = {address: k for k, (address, _) in enumerate(lines)}
    found = []
    for k, (address, text) in enumerate(lines):
        jump = re.match(r"j(?!mp)\w+\s+([0-9a-f]+)", text)
        target = place.get(int(jump[1], 16)) if jump else None
        if target is not None and target < k:
            body = [t for _, t in lines[target : k + 1]]
            if not any(t.startswith("jmp") for t in body) and not any(
                re.match(r"j\w+\s+([0-9a-f]+)", t) and lines[target][0] <= int(re.match(r"j\w+\s+([0-9a-f]+)", t)[1], 16) < a
                for a, t in lines[target:k]
            ):
                found.append(body)
    return found


class MaskedFacts:
    """A part of Facts in facts.py."""

    # The loop over the elements of a line with a mask has one jump, its own.
    def test_masked_sums_have_no_branches(self):
        path = self.work / "masked.tdsl"
        path.write_text(SUMS)
        built = launch.run([self.tdslc, "build", path, "-o", self.work / "masked", "--disable-pass", "bins"], self.options.limit)
        if built.code != 0:
            raise Failed(f"building: {built}")
        code = launch.run(["objdump", "-d", "--no-show-raw-insn", self.work / "masked"], self.options.limit).out
        kernels = [part for part in code.split("\n\n") if re.match(r"[0-9a-f]+ <[^>]*with_avx(2|512)[^>]*3s_5", part)]
        if "avx" not in code or not kernels:
            return "no kernel in vectors"
        for kernel in kernels:
            sums = [body for body in loops_in(kernel) if any("vcmp" in t for t in body) and any(re.match(r"vaddpd .*[yz]mm", t) for t in body)]
            if not sums:
                raise Failed(f"no loop of vectors that compares and adds in\n{kernel}")
            for body in sums:
                if sum(t.startswith("j") for t in body) != 1:
                    raise Failed("a loop with branches:\n" + "\n".join(body))
        return f"{len(kernels)} kernels"

    # Sum and count of the same bins are one operation, which reads the points once; their bounds are compared by one.
    def test_bins_are_one_scan(self):
        path = self.work / "means.tdsl"
        path.write_text(SUMS.replace("sum[", "mean["))
        code = launch.run([self.tdslc, "emit", path], self.options.limit).out
        counted = len(re.findall(r"rt::count_(?:up_to|below)\(", code)), len(re.findall(r"session\.rows<", code))
        if counted != (1, 1):  # both searches are one function
            raise Failed(f"searches and operations by rows: {counted} in\n{code}")
