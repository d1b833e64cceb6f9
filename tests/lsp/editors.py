#!/usr/bin/env python3
"""The server with the editors themselves: Neovim without a screen, and, with `--mode long`, the extension for VS Code in Node with a module
that stands in for the editor. One PASS, FAIL or SKIP line each."""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def neovim(tdslc, folder):
    shutil.copytree(HERE / "programs", folder / "programs")
    environment = {**os.environ, "TDSLC": tdslc, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "config"), "RECIPE": str(ROOT / "tools/editors/neovim/tdsl.lua")}
    done = subprocess.run(["nvim", "--headless", "-u", "NONE", "-n", "-l", str(HERE / "neovim.lua")] if new_enough() else
                          ["nvim", "--headless", "-u", "NONE", "-n", "-S", str(HERE / "neovim.lua")],
                          cwd=folder / "programs", env=environment, capture_output=True, text=True, timeout=120)
    return None if done.returncode == 0 else f"exit code {done.returncode}: {done.stdout[-500:]}{done.stderr[-500:]}"


def new_enough():
    """Neovim 0.9 runs a script with -l; older ones source it."""
    version = subprocess.run(["nvim", "--version"], capture_output=True, text=True, timeout=60).stdout.split()[1]
    return tuple(int(n) for n in version[1:].split("-")[0].split(".")[:2]) >= (0, 9)


def extension(tdslc, folder):
    """The extension is bundled by npm, and activated with a document that has an error."""
    shutil.copytree(ROOT / "tools/editors/vscode", folder / "vscode", ignore=shutil.ignore_patterns("node_modules", "dist"))
    shutil.copytree(HERE / "programs", folder / "programs")
    built = subprocess.run("npm install --no-audit --no-fund --no-package-lock && npm run check && npm run build", shell=True, cwd=folder / "vscode",
                           capture_output=True, text=True, timeout=600)
    if built.returncode != 0:
        return f"npm: {(built.stdout + built.stderr)[-500:]}"
    done = subprocess.run(["node", str(HERE / "vscode.js"), str(folder / "vscode/dist/extension.js"), tdslc, str(folder / "programs/broken.tdsl")],
                          capture_output=True, text=True, timeout=120)
    return None if done.returncode == 0 else f"exit code {done.returncode}: {(done.stdout + done.stderr)[-500:]}"


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--tdslc", required=True)
    options.add_argument("--filter", default="")
    options.add_argument("--mode", default="ci")
    given = options.parse_args()
    failed = False
    tests = {"neovim": (neovim, "nvim")}
    if given.mode == "long":
        tests["vscode"] = (extension, "npm")
    for name, (test, program) in tests.items():
        if given.filter not in f"lsp/{name}":
            continue
        if shutil.which(program) is None:
            print(f"SKIP lsp/{name} {program} is not installed")
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                difference = test(given.tdslc, Path(folder).resolve())
            except (OSError, subprocess.TimeoutExpired) as error:
                difference = f"{type(error).__name__}: {error}"
        failed = failed or difference is not None
        print(f"PASS lsp/{name}" if difference is None else f"FAIL lsp/{name}: {difference}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
