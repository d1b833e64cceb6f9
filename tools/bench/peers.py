"""The peers: locates their libraries in Debian packages, compiles peer programs, and defines how to run them."""
import ctypes.util
import os
import pathlib
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent / "peers"
LIBRARIES = "usr/lib/x86_64-linux-gnu"


class Missing(Exception):
    """A peer missing on this machine, with the Debian package that provides it."""


def usual_rate(name, case):
    """Usual rate of a peer relative to BLIS on the same cores, for a two-core virtual machine with AVX-512; None: unknown. A rate far below it means
    that the peer was disturbed or lacks its libraries, so its row is meaningless."""
    if name == "OpenBLAS":
        return 1.2
    if name.startswith("ScaLAPACK"):
        return 0.67 if case.n == case.k == case.m else 0.86 if case.k > max(case.n, case.m) else 0.59
    return None


def has_avx512():
    return " avx512f " in pathlib.Path("/proc/cpuinfo").read_text()


class Peers:
    """`root`: where Debian packages are unpacked: / or a directory filled with `dpkg -x`."""

    def __init__(self, root, scratch, mpiexec):
        self.libraries = pathlib.Path(root) / LIBRARIES
        self.scratch = pathlib.Path(scratch)
        self.mpiexec = mpiexec

    def library(self, name, package):
        path = self.libraries / name
        if not path.exists():
            raise Missing(f"no {path} (package {package})")
        return str(path)

    def compile(self, name, source, flags):
        target = self.scratch / name
        if not target.exists():
            subprocess.run(["g++", "-std=c++20", "-O3", "-march=native", str(HERE / source), *flags, "-o", str(target)], check=True)
        return str(target)

    def environment(self, threads, **more):
        result = dict(os.environ, OMP_NUM_THREADS=str(threads), OPENBLAS_NUM_THREADS=str(threads), BLIS_NUM_THREADS=str(threads))
        # Debian's BLIS and OpenBLAS misdetect virtual and recent processors with AVX-512 (OpenBLAS falls back to a
        # kernel of 2004): select their best kernels explicitly.
        if has_avx512():
            result.setdefault("BLIS_ARCH_TYPE", "0")
            result.setdefault("OPENBLAS_CORETYPE", "SkylakeX")
        result.update(more)
        return result

    def blis(self, threads, *options):
        library = self.library("blis-openmp/libblis.a", "libblis-openmp-dev")
        program = self.compile("gemm_blis", "gemm.cpp", [library, "-fopenmp", "-lm"])
        return lambda case: ([program, case.type, *case.sizes(), *case.files(), *options], self.environment(threads))

    def openblas(self, threads):
        library = self.library("openblas-pthread/libopenblas.a", "libopenblas-pthread-dev")
        fortran = "gfortran" if ctypes.util.find_library("gfortran") else None
        flags = [library, "-lpthread", "-lm"] + (["-l:libgfortran.so.5"] if fortran else [])
        program = self.compile("gemm_openblas", "gemm.cpp", flags)
        return lambda case: ([program, case.type, *case.sizes(), *case.files()], self.environment(threads))

    def numpy(self, script, threads, library_path=""):
        return lambda case: (["/usr/bin/python3", str(HERE / script), *case.files()],
                             self.environment(threads, **({"LD_LIBRARY_PATH": library_path} if library_path else {})))

    def python(self, script, module, threads, library_path, *arguments, **more):
        """A script that needs a Python module from Debian; `arguments` precede the files."""
        packages = self.libraries.parent / "python3" / "dist-packages"
        if not (packages / module).exists():
            raise Missing(f"no {packages / module} (package python3-{module})")
        more = dict(more, PYTHONPATH=str(packages), LD_LIBRARY_PATH=f"{library_path}:{self.libraries}:{self.libraries.parent}")
        return lambda case: (["/usr/bin/python3", str(HERE / script), *arguments, *case.files()], self.environment(threads, **more))

    def min_plus(self, threads):
        program = self.compile("min_plus_by_hand", "min_plus.cpp", ["-fopenmp", "-mprefer-vector-width=512"])
        return lambda case: ([program, *case.sizes(), *case.files()], self.environment(threads))

    def scalapack_program(self, name, source):
        """A program linked with ScaLAPACK, and its environment."""
        self.library("libscalapack-openmpi.so.2.2", "libscalapack-openmpi-dev")
        blas = self.library("openblas-pthread/libblas.so.3", "libopenblas0-pthread")
        if shutil.which("mpicxx") is None:
            raise Missing("no mpicxx (package libopenmpi-dev)")
        flags = ["-L" + str(self.libraries), "-l:libscalapack-openmpi.so.2.2", "-Wl,--allow-shlib-undefined"]
        flags += subprocess.run(["mpicxx", "--showme:compile"], capture_output=True, text=True, check=True).stdout.split()
        flags += subprocess.run(["mpicxx", "--showme:link"], capture_output=True, text=True, check=True).stdout.split()
        path = os.path.dirname(blas) + ":" + str(self.libraries)
        return self.compile(name, source, flags), self.environment(1, LD_LIBRARY_PATH=path)

    def scalapack(self, ranks, rows, columns, block):
        program, environment = self.scalapack_program("gemm_scalapack", "scalapack.cpp")
        return lambda case: ([self.mpiexec, "-n", str(ranks), program, str(rows), str(columns), str(block), *case.sizes(), *case.files()],
                             environment)

    def python_environment(self, threads, **more):
        """For scripts that import Debian modules: the directory they are unpacked in."""
        openblas = str(self.libraries / "openblas-pthread")
        return self.environment(threads, PYTHONPATH=str(self.libraries.parent / "python3" / "dist-packages"),
                                LD_LIBRARY_PATH=f"{openblas}:{self.libraries}:{self.libraries.parent}", **more)

    def module(self, name):
        """Checks that a Python module is available."""
        if not (self.libraries.parent / "python3" / "dist-packages" / name).exists():
            raise Missing(f"no Python module {name} (package python3-{name})")
