#!/usr/bin/python3
"""Cost of a checkpoint relative to `dd conv=fsync` of as many bytes, in alternating pairs, and the processor time of the thread that watches a run."""
import argparse
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

STEPS = 6
STATE = f"""param n: i64 = 1000;
param steps: i64 = {STEPS};
var M = zeros(n, 1000);
for step in 0..steps {{ M = M * 0.5 + 1.0; }}
output s = sum(M);
"""
ENDLESS = """var x = zeros(200, 200);
let A = eye(200);
for step in 0..100000000 { x = A @ x + 1.0; }
output x;
"""


def timed(command, **others):
    begin = time.monotonic()
    subprocess.run([str(c) for c in command], check=True, capture_output=True, **others)
    return time.monotonic() - begin


def built(tdslc, folder, name, text):
    (folder / f"{name}.tdsl").write_text(text)
    subprocess.run([tdslc, "build", folder / f"{name}.tdsl", "-o", folder / name, "--disable-pass", "serial_loops"], check=True)
    return folder / name


def checkpoints(options, folder):
    program, launcher = built(options.tdslc, folder, "state", STATE), ["mpiexec", "-q", "--bind-to", "none", "-n", options.ranks]
    bytes = options.megabytes * 10**6
    run = [*launcher, program, "--set", f"n={bytes // 8000}", "--s", folder / "s.npy", "--quiet"]
    ratios, rates = [], []
    for pair in range(options.pairs):
        dd = timed(["dd", "if=/dev/zero", f"of={folder}/dd", "bs=1M", f"count={bytes >> 20}", "conv=fsync"])
        without, with_all = timed(run), timed([*run, "--checkpoint", folder / f"ck{pair}", "--checkpoint-every", "0"])
        saved = sum(p.stat().st_size for p in max((folder / f"ck{pair}").glob("ck-*")).iterdir())
        one = (with_all - without) / STEPS
        ratios.append(one / dd)
        rates.append(saved / one / 1e6)
        print(f"{saved / 1e6:.0f} MB: a checkpoint {one:.3f} s, dd {dd:.3f} s, ratio {ratios[-1]:.2f}", flush=True)
        subprocess.run(["rm", "-rf", folder / f"ck{pair}", folder / "dd"], check=True)
    print(f"median ratio {statistics.median(ratios):.2f}, {statistics.median(rates):.0f} MB/s")


def watch(options, folder):
    """The thread that wakes once a second."""
    program, ticks = built(options.tdslc, folder, "endless", ENDLESS), os.sysconf("SC_CLK_TCK")
    child = subprocess.Popen(["mpiexec", "-q", "--bind-to", "none", "-n", "2", program, "--x", folder / "x.npy", "--threads", "1"], stderr=subprocess.DEVNULL)
    time.sleep(5)
    pids = [p for p in os.listdir("/proc") if p.isdigit() and os.path.exists(f"/proc/{p}/exe") and os.path.realpath(f"/proc/{p}/exe") == str(program)]

    def threads():
        found = {}
        for pid in pids:
            for task in Path(f"/proc/{pid}/task").iterdir():
                wakes = int((task / "status").read_text().split("voluntary_ctxt_switches:")[1].split()[0])
                # CPU time in nanoseconds.
                found[task] = wakes, int((task / "schedstat").read_text().split()[0])
        return found

    before = threads()
    time.sleep(options.seconds)
    after = threads()
    child.terminate()
    child.wait()
    for task, (wakes, spent) in after.items():
        woken = wakes - before[task][0]
        if 0.8 * options.seconds <= woken <= 1.5 * options.seconds:
            print(f"a thread woken {woken} times in {options.seconds} s: {(spent - before[task][1]) / 1e7 / options.seconds:.4f} % of a processor")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tdslc", default=os.environ.get("TDSLC", "tdslc"))
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--ranks", default="2")
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--seconds", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tdsl-bench-") as folder:
        checkpoints(options, Path(folder))
        watch(options, Path(folder))


if __name__ == "__main__":
    main()
