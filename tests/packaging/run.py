#!/usr/bin/python3
"""Installations and packages. In every mode but --quick: an installed prefix works after it is moved, without development packages of numerical
libraries and without Clang; CMake and pkg-config find it; `build --depfile`. With --long: Debian packages (lintian, the same bytes twice,
installed and purged in an empty Debian) and the tarball. One line per check: PASS packaging/NAME, FAIL packaging/NAME: why, SKIP packaging/NAME reason."""
import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))

import prefix

# BLAS, LAPACK and zlib: a product, a factorization, and a reader of compressed files, which every program has.
PROGRAM = """param n: i64 = 200;
let A[i, j] = 1.0 / f64(i + j + 1) for i in 0..n, j in 0..n;
let M = A @ A + 4.0 * eye(n);
print(max(abs(solve(M, M @ ones(n)) - 1.0)) < 1e-9);
"""
OWN_HEADER = "inline double twice(double x) { return 2 * x; }\n"
OWN_PROGRAM = 'extern "own.hpp" { fn twice(x: f64) -> f64; }\nimport "part.tdsl";\nprint(once(twice(1.5)));\n'
PART = "fn once(x: f64) -> f64 = x;\n"
CMAKE = """cmake_minimum_required(VERSION 3.25)
project(client LANGUAGES C CXX)
find_package(tdsl REQUIRED)
tdsl_add_executable(alone own.tdsl)
tdsl_add_library(scaled scaled.tdsl)
add_executable(client client.c)
target_link_libraries(client PRIVATE scaled)
add_executable(tile tile.cpp)
target_link_libraries(tile PRIVATE tdsl::tile)
"""
SCALED = "input x: f64[n];\nlet y = 2.0 * x;\noutput y;\n"
CLIENT = """#include <stdio.h>
#include "scaled.h"
int main(void) {
  scaled_handle *handle;
  const int code = scaled_open(0, 0, 0, &handle);
  printf("%d %d\\n", code, scaled_close(handle));
  return code;
}
"""
TILE = """#include <cstdint>
#include <tdsl/tile.h>
int main() {
  double data[4] = {};
  tdsl::Tile<double, 1> tile(data, {4});
  return tile.extent(0) == 4 ? 0 : 1;
}
"""
MAKEFILE = """tile: tile.cpp
\tc++ -std=c++20 $$(pkg-config --cflags tdsl) $< -o $@
own: own.tdsl
\t$$(pkg-config --variable=tdslc tdsl) build $< -o $@ --depfile own.d
-include own.d
"""


class Failed(Exception):
    pass


class Checks:
    def __init__(self, options, work):
        self.options, self.work = options, work
        self.build = Path(options.build).resolve()
        self.installed = work / "Q"
        self.environment = {**os.environ, "XDG_CACHE_HOME": str(work / "cache"), "TDSL_HOME": ""}
        del self.environment["TDSL_HOME"]

    def command(self, *words, code=0, folder=None, limit=600, **environment):
        done = subprocess.run([str(w) for w in words], cwd=folder or self.work, env={**self.environment, **environment}, text=True, capture_output=True, timeout=limit)
        if done.returncode != code:
            raise Failed(f"{' '.join(map(str, words))}: exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done

    def own_files(self, name):
        folder = self.work / name
        folder.mkdir()
        for file, text in {"own.hpp": OWN_HEADER, "own.tdsl": OWN_PROGRAM, "part.tdsl": PART, "scaled.tdsl": SCALED, "client.c": CLIENT, "tile.cpp": TILE,
                           "CMakeLists.txt": CMAKE, "Makefile": MAKEFILE, "product.tdsl": PROGRAM}.items():
            (folder / file).write_text(text)
        return folder

    # --- in every mode but --quick
    def test_moved(self):
        """Installed, moved, and no file of the old place or of the build tree is used: both are named nowhere."""
        self.command("cmake", "--install", self.build, "--prefix", self.work / "P")
        (self.work / "P").rename(self.installed)
        folder = self.own_files("moved")
        if (out := self.command(self.installed / "bin/tdslc", "run", folder / "product.tdsl", "-n", 2).stdout) != "true\n":
            raise Failed(f"the moved compiler's program printed {out!r}")
        for path in sorted(self.installed.rglob("*")):
            if path.is_file() and path.suffix in (".conf", ".cmake", ".pc", ".py", ".so", ".a", "") and path.name != "emitted.h.gch":
                data = path.read_bytes()
                for place in (self.work / "P", self.build):
                    if os.fsencode(f"{place}/") in data:
                        raise Failed(f"{path.relative_to(self.installed)} names {place}")

    def test_libraries(self):
        """Programs link archives of the prefix, and shared libraries by their sonames: no file of a development package."""
        conf = (self.installed / "lib/tdsl/toolchain.conf").read_text()
        words = re.search(r"(?m)^libraries = (.*)$", conf)[1].split()
        foreign = [w for w in words if not re.fullmatch(r"\$\{PREFIX\}/lib/tdsl/lib\w+\.a|-l:lib[\w.+-]+\.so\.[\d.]+|-ldl|-lpthread|-lm", w)]
        if foreign:
            raise Failed(f"toolchain.conf links {foreign}")
        math = self.installed / "lib/tdsl/libtdsl_math.a"
        symbols = lambda *options: {line.split()[0] for line in self.command("nm", "-g", "--format=posix", *options, math).stdout.splitlines() if len(line.split()) > 1}
        visible, missing = symbols("--defined-only"), symbols("-u")
        runtime = self.command("nm", "-gu", "--format=posix", self.installed / "lib/tdsl/libtdsl_rt.a").stdout
        wanted = {line.split()[0] for line in runtime.splitlines() if len(line.split()) > 1} | missing
        if not visible or not visible <= wanted:
            raise Failed(f"libtdsl_math.a defines {len(visible)} names, without need {sorted(visible - wanted)[:5]}")
        unresolved = sorted(name for name in missing - visible if re.match(r"bli_|[sdcz]\w+_$", name))
        if unresolved:
            raise Failed(f"libtdsl_math.a lacks {unresolved[:5]}")

    def test_without_clang(self):
        """The same code without layout; a header is an error that names the package."""
        folder = self.own_files("plain")
        plain = prefix.linked_prefix(self.installed / "bin/tdslc", self.work / "plain", lambda text: text, without=("libtdsl_clang.so",))
        tdslc = self.installed / "bin/tdslc"
        squeezed = lambda **environment: re.sub(r"\s|//.*", "", self.command(tdslc, "emit", folder / "product.tdsl", **environment).stdout)
        if squeezed() != squeezed(TDSL_HOME=str(plain)):
            raise Failed("emitted code differs in more than its layout")
        said = self.command(tdslc, "check", folder / "own.tdsl", code=1, TDSL_HOME=str(plain)).stderr
        if not re.search(r"own\.tdsl:1:.*error: .*libtdsl_clang\.so.*apt install tdsl-extern.*\[header-unreadable\]", said):
            raise Failed(f"without the plug-in: {said!r}")

    def test_cmake_project(self):
        folder = self.own_files("client project")
        self.command("cmake", "-S", folder, "-B", folder / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={self.installed}")
        ninja = lambda: self.command("ninja", "-C", folder / "build").stdout
        ninja()
        for command, out in (["bin/alone"], "3.0\n"), (["client"], "0 0\n"), (["tile"], ""):
            if (said := self.command(folder / "build" / command[0]).stdout) != out:
                raise Failed(f"{command[0]} printed {said!r}")
        if "no work to do" not in ninja():
            raise Failed("a second build has work to do")
        (folder / "own.hpp").write_text(OWN_HEADER.replace("2 *", "4 *"))
        ninja()
        if self.command(folder / "build/bin/alone").stdout != "6.0\n":
            raise Failed("a change of the header does not build the program again")

    def test_pkg_config(self):
        folder = self.own_files("pkg")
        path = {"PKG_CONFIG_PATH": str(self.installed / "share/pkgconfig")}
        make = lambda: self.command("make", "tile", "own", folder=folder, **path).stdout
        make()
        self.command("./tile", folder=folder)
        if "own.tdsl" in make():
            raise Failed("a second make builds again")
        (folder / "part.tdsl").write_text(PART.replace("= x", "= x + 1.0"))
        make()
        if self.command("./own", folder=folder).stdout != "4.0\n":
            raise Failed("a change of an imported file does not build the program again")
        if self.command("pkg-config", "--modversion", "tdsl", **path).stdout.strip() not in self.command(self.installed / "bin/tdslc", "--version").stdout:
            raise Failed("pkg-config names another version than tdslc")

    # --- with --long
    @staticmethod
    def digests(build):
        """Of the packages of a build; CPack's own folder is between them."""
        return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted((build / "packages").iterdir()) if p.suffix in (".deb", ".xz")}

    def test_packages(self):
        """The same bytes from the same build, whatever the time and the umask."""
        make = [ROOT / "tools/packaging/make", "--build", self.build]
        self.command(*make, limit=1800)
        first = self.digests(self.build)
        if len(first) != 7:
            raise Failed(f"packages: {sorted(first)}")
        self.command("sh", "-c", 'sleep 2; umask 077; exec "$@"', "sh", *make, limit=1800)
        if differing := [name for name, digest in self.digests(self.build).items() if first.get(name) != digest]:
            raise Failed(f"other bytes the second time: {differing}")
        pages = self.command("dpkg-deb", "-c", next((self.build / "packages").glob("tdsl-doc_*.deb"))).stdout
        for page in ("index.html", "docs/language.html", "search/offline.js"):
            if not re.search(rf" \./usr/share/doc/tdsl/html/{page}$", pages, re.M):
                raise Failed(f"tdsl-doc has no {page}")

    def test_builds(self):
        """Two builds of one commit in two folders, a clone and the source archive, give the same packages; `--version` names the commit in both."""
        self.command("git", "clone", "-q", "--no-hardlinks", ROOT, self.work / "one")
        self.command(self.work / "one/tools/packaging/make", limit=7200, CCACHE_DISABLE="1")
        self.command("tar", "-C", self.work, "-xf", self.source_archive(self.work / "one/build/release/packages"))
        two = next(path for path in self.work.glob("tdsl-*") if path.is_dir())
        self.command(two / "tools/packaging/make", limit=7200, CCACHE_DISABLE="1")
        made, again = (self.digests(folder / "build/release") for folder in (self.work / "one", two))
        if differing := [name for name in again if made.get(name) != again[name]]:
            raise Failed(f"differ: {differing}")
        if len(again) != 6:
            raise Failed(f"packages of the source archive: {sorted(again)}")

    @staticmethod
    def source_archive(folder):
        return next(path for path in folder.glob("tdsl-*.tar.xz") if "linux" not in path.name)

    def test_source(self):
        """The archive holds the files of the commit, and names it."""
        archive = self.source_archive(self.build / "packages")
        listed = {line.split("/", 1)[1] for line in self.command("tar", "-tf", archive).stdout.splitlines() if not line.endswith("/")}
        tracked = set(self.command("git", "-C", ROOT, "ls-tree", "-r", "--name-only", "HEAD").stdout.splitlines())
        if listed != tracked:
            raise Failed(f"files: {sorted(listed ^ tracked)[:5]}")
        commit = self.command("git", "-C", ROOT, "rev-parse", "HEAD").stdout.strip()
        if commit not in self.command("tar", "-xOf", archive, "--wildcards", "*/tools/packaging/commit.txt").stdout:
            raise Failed("commit.txt does not name the commit")

    def test_lintian(self):
        packages = sorted((self.build / "packages").glob("*.deb"))
        self.command("lintian", "--allow-root", "--fail-on", "error,warning", *packages, limit=1800)

    def test_tarball(self):
        """Unpacked anywhere; the precompiled header is not in it, and made by the first build."""
        archive = next((self.build / "packages").glob("*linux*.tar.xz"))
        folder = self.work / "unpacked"
        folder.mkdir()
        self.command("tar", "-C", folder, "-xf", archive)
        top = next(folder.iterdir())
        if list(top.rglob("*.gch")):
            raise Failed("the precompiled header of one build of g++ is in the tarball")
        product = self.own_files("tarball") / "product.tdsl"
        if self.command(top / "bin/tdslc", "run", product).stdout != "true\n":
            raise Failed("the unpacked compiler fails")
        if not list(top.rglob("*.gch")):
            raise Failed("the first build precompiles no header")

    def test_recipes(self):
        """Spack and Apptainer are in no registry of the tests: their files are parsed."""
        self.command(sys.executable, "-c", "import ast, sys; ast.parse(open(sys.argv[1]).read())", ROOT / "tools/packaging/spack/package.py")
        sections = re.findall(r"(?m)^%(\w+)", (ROOT / "tools/packaging/tdsl.def").read_text())
        if sections != ["files", "post", "environment", "runscript", "test"]:
            raise Failed(f"tdsl.def has the sections {sections}")

    def debian(self):
        """Checks in an empty Debian print their own lines."""
        if os.geteuid() != 0 or shutil.which("debootstrap") is None:
            return ["SKIP packaging/debian needs root and debootstrap"]
        done = subprocess.run([Path(__file__).with_name("chroot.sh"), self.build / "packages", self.work / "debian"], env=self.environment, text=True, capture_output=True, timeout=3600)
        lines = [line for line in done.stdout.splitlines() if line.startswith(("PASS ", "FAIL "))]
        return lines if lines and done.returncode == 0 else [*lines, f"FAIL packaging/debian: {done.stdout[-2000:]}{done.stderr[-2000:]}"]


USUAL = ["moved", "libraries", "without_clang", "cmake_project", "pkg_config", "recipes"]
LONG = ["packages", "source", "lintian", "tarball", "builds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True, help="a release build tree")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--filter", default="")
    options = parser.parse_args()
    names = USUAL + (LONG if options.long else [])
    # Others use what `moved` has installed.
    chosen = [n for n in names if options.filter in f"packaging/{n}" or n == "moved"]
    failed = False
    with tempfile.TemporaryDirectory(prefix="tdsl-packaging-") as folder:
        checks = Checks(options, Path(folder).resolve())
        for name in chosen:
            try:
                getattr(checks, f"test_{name}")()
                print(f"PASS packaging/{name}", flush=True)
            except (Failed, OSError, subprocess.TimeoutExpired) as reason:
                print(f"    {reason}\nFAIL packaging/{name}", flush=True)
                failed = True
        if options.long and options.filter in "packaging/debian":
            for line in checks.debian():
                print(line, flush=True)
                failed = failed or line.startswith("FAIL")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
