# All dependencies on system packages. Each message names the Debian package to install.

function(tdsl_require found what package)
  if(NOT ${found})
    message(FATAL_ERROR "${what} was not found. On Debian: apt-get install ${package}\n"
                        "(or run tools/install_packages.sh, which installs everything that is missing)")
  endif()
endfunction()

find_package(Threads REQUIRED)

set(TDSL_MPI_COMPILERS "" CACHE STRING "C compilers of MPI libraries (such as mpicc) whose families get a shim; empty: those of Debian's packages, and mpicc")

find_package(OpenMP QUIET COMPONENTS CXX)
tdsl_require(OpenMP_CXX_FOUND "OpenMP for ${CMAKE_CXX_COMPILER}" "g++ (or libomp-14-dev with clang++-14)")

# All variants of BLIS share one SONAME, so -lblis may load a threaded one at run time: link the serial archive directly.
set(TDSL_CBLAS "" CACHE STRING "Libraries (paths; -l for their dependencies) of a CBLAS to use instead of BLIS, with its Fortran interface")
add_library(tdsl_blas INTERFACE)
if(TDSL_CBLAS)
  set(TDSL_BLAS_LIBRARIES ${TDSL_CBLAS})
  target_compile_definitions(tdsl_blas INTERFACE TDSL_CBLAS)
else()
  find_library(TDSL_BLIS_LIBRARY NAMES libblis.a PATH_SUFFIXES blis-serial)
  find_path(TDSL_BLIS_INCLUDE_DIR NAMES blis.h PATH_SUFFIXES blis-serial blis x86_64-linux-gnu/blis-serial
            ${CMAKE_LIBRARY_ARCHITECTURE}/blis-serial)
  set(TDSL_BLIS_FOUND FALSE)
  if(TDSL_BLIS_LIBRARY AND TDSL_BLIS_INCLUDE_DIR)
    set(TDSL_BLIS_FOUND TRUE)
  endif()
  tdsl_require(TDSL_BLIS_FOUND "The serial static BLIS library" "libblis-serial-dev")
  set(TDSL_BLAS_LIBRARIES ${TDSL_BLIS_LIBRARY})
  target_include_directories(tdsl_blas SYSTEM INTERFACE ${TDSL_BLIS_INCLUDE_DIR})
endif()
target_link_libraries(tdsl_blas INTERFACE ${TDSL_BLAS_LIBRARIES} Threads::Threads m)

# LAPACK, static, the reference implementation, on top of the same BLAS: only its Fortran run-time library is shared.
# Programs without factorisations link none of it.
find_library(TDSL_LAPACK_LIBRARY NAMES liblapack.a PATH_SUFFIXES lapack)
find_library(TDSL_GFORTRAN_LIBRARY NAMES libgfortran.so.5 gfortran)
set(TDSL_LAPACK_FOUND FALSE)
if(TDSL_LAPACK_LIBRARY AND TDSL_GFORTRAN_LIBRARY)
  set(TDSL_LAPACK_FOUND TRUE)
endif()
tdsl_require(TDSL_LAPACK_FOUND "Static LAPACK" "liblapack-dev")
set(TDSL_LAPACK_LIBRARIES ${TDSL_LAPACK_LIBRARY} ${TDSL_BLAS_LIBRARIES} ${TDSL_GFORTRAN_LIBRARY})
add_library(tdsl_lapack INTERFACE)
target_link_libraries(tdsl_lapack INTERFACE ${TDSL_LAPACK_LIBRARIES} Threads::Threads m)

# zlib, static: for compressed members of SciPy's files.
find_library(TDSL_ZLIB_LIBRARY NAMES libz.a)
find_path(TDSL_ZLIB_INCLUDE_DIR NAMES zlib.h)
set(TDSL_ZLIB_FOUND FALSE)
if(TDSL_ZLIB_LIBRARY AND TDSL_ZLIB_INCLUDE_DIR)
  set(TDSL_ZLIB_FOUND TRUE)
endif()
tdsl_require(TDSL_ZLIB_FOUND "The static zlib" "zlib1g-dev")
add_library(tdsl_zlib INTERFACE)
target_include_directories(tdsl_zlib SYSTEM INTERFACE ${TDSL_ZLIB_INCLUDE_DIR})
target_link_libraries(tdsl_zlib INTERFACE ${TDSL_ZLIB_LIBRARY})

# The serial HDF5 library, for a plug-in that programs load for file names of HDF5 datasets. A parallel one would bring the MPI
# library that it was built with into every such program.
find_package(HDF5 QUIET COMPONENTS C)
set(TDSL_HDF5_USABLE OFF)
if(HDF5_C_FOUND AND NOT HDF5_IS_PARALLEL)
  set(TDSL_HDF5_USABLE ON)
endif()
option(TDSL_HDF5 "Build the plug-in that reads and writes HDF5 files" ${TDSL_HDF5_USABLE})
if(TDSL_HDF5)
  tdsl_require(TDSL_HDF5_USABLE "The serial HDF5 (-DTDSL_HDF5=OFF does without)" "libhdf5-dev")
else()
  message(STATUS "No HDF5 files: libhdf5 was not found. On Debian: apt-get install libhdf5-dev")
endif()

# Vector versions of exp and similar functions, for g++ on x86-64. Debian has only the shared library.
find_library(TDSL_SLEEF_LIBRARY NAMES sleef)
set(TDSL_SLEEF_USABLE OFF)
if(TDSL_SLEEF_LIBRARY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set(TDSL_SLEEF_USABLE ON)
endif()
option(TDSL_SLEEF "Compute exp, log, tanh and so on through SLEEF; without it through libm, one element after the other" ${TDSL_SLEEF_USABLE})
add_library(tdsl_sleef INTERFACE)
if(TDSL_SLEEF)
  tdsl_require(TDSL_SLEEF_USABLE "SLEEF (for g++ on x86-64; -DTDSL_SLEEF=OFF does without)" "libsleef-dev")
  target_compile_definitions(tdsl_sleef INTERFACE TDSL_SLEEF)
  target_link_libraries(tdsl_sleef INTERFACE ${TDSL_SLEEF_LIBRARY})
  set(TDSL_SLEEF_LIBRARIES ${TDSL_SLEEF_LIBRARY})
endif()

find_package(fmt QUIET)
tdsl_require(fmt_FOUND "fmt" "libfmt-dev")
find_package(CLI11 QUIET)
tdsl_require(CLI11_FOUND "CLI11" "libcli11-dev")
find_package(nlohmann_json QUIET)
tdsl_require(nlohmann_json_FOUND "nlohmann-json" "nlohmann-json3-dev")

find_package(LLVM 14 QUIET CONFIG)
tdsl_require(LLVM_FOUND "LLVM 14" "llvm-14-dev")
# Clang's own CMake files require programs of other packages; only its library and headers are used.
find_library(TDSL_CLANG_LIBRARY NAMES libclang-cpp.so.14 clang-cpp HINTS ${LLVM_LIBRARY_DIRS} ${LLVM_INSTALL_PREFIX}/lib NO_DEFAULT_PATH)
find_path(TDSL_CLANG_INCLUDE_DIR NAMES clang/Format/Format.h HINTS ${LLVM_INCLUDE_DIRS} NO_DEFAULT_PATH)
set(TDSL_CLANG_FOUND FALSE)
if(TDSL_CLANG_LIBRARY AND TDSL_CLANG_INCLUDE_DIR)
  set(TDSL_CLANG_FOUND TRUE)
endif()
tdsl_require(TDSL_CLANG_FOUND "Clang 14" "libclang-14-dev")

if(TDSL_TESTS)
  find_package(doctest QUIET)
  tdsl_require(doctest_FOUND "doctest" "doctest-dev")
endif()
