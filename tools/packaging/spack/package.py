# Spack's recipe of TDSL: copy this folder to REPOSITORY/packages/tdsl/, then `spack install tdsl`.
from spack.package import *


class Tdsl(CMakePackage):
    """Compiler from tensor programs to MPI/OpenMP executables."""

    homepage = "https://tdsl.example.org"
    git = "https://git.example.org/tdsl.git"

    license("Apache-2.0")

    version("main", branch="main")

    variant("hdf5", default=True, description="Read and write HDF5 files")
    variant("isl", default=True, description="Distribute sequential loop nests")

    depends_on("c", type="build")
    depends_on("cxx", type=("build", "run"))
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("flex@2.6:", type="build")
    depends_on("bison@3.8:", type="build")
    depends_on("fmt@9:", type="build")
    depends_on("cli11", type="build")
    depends_on("nlohmann-json", type="build")
    depends_on("llvm@14 +clang", type=("build", "link", "run"))
    depends_on("mpi", type=("build", "link", "run"))
    depends_on("blis threads=none libs=static")
    depends_on("netlib-lapack ~shared")
    depends_on("sleef")
    depends_on("isl", when="+isl")
    depends_on("zlib libs=static")
    depends_on("hdf5 ~mpi", when="+hdf5")
    depends_on("python@3.9:", type="run")
    depends_on("py-numpy", type="run")

    # Objects of g++ and clang++ load two OpenMP runtimes; the compiler of this package compiles programs, too.
    requires("%gcc@12:", msg="TDSL is built by g++ 12 or newer")

    generator("ninja")

    def cmake_args(self):
        return [
            self.define("TDSL_TESTS", False),
            self.define("TDSL_BUILD_ONCE", True),
            self.define_from_variant("TDSL_HDF5", "hdf5"),
            self.define_from_variant("TDSL_ISL", "isl"),
            self.define("CMAKE_INSTALL_RPATH_USE_LINK_PATH", True),
        ]

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_installation(self):
        Executable(self.prefix.bin.tdslc)("--version")
