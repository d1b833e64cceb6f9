# CPack: Debian packages, one per component; tools/packaging/make runs it. What differs from an installed prefix (copyright, changelog,
# overrides) is added by tools/packaging/debian.cmake.
set(CPACK_PACKAGE_NAME tdsl)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "TDSL developers <tdsl@example.org>")
# CPack's default text: any other would be the summary of every package.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${CMAKE_PROJECT_NAME} built using CMake")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_GENERATOR DEB)
# Without rules that name no component: the precompiled header is valid for one build of g++.
set(CPACK_COMPONENTS_ALL tdsl tdsl-runtime tdsl-extern python3-tdsl tdsl-doc)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/tools/packaging/debian.cmake)
set(CPACK_TDSL_SOURCE ${PROJECT_SOURCE_DIR})

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

function(tdsl_package component architecture summary text)
  string(TOUPPER ${component} name)
  set(CPACK_COMPONENT_${name}_DESCRIPTION "${summary}\n${text}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${name}_PACKAGE_NAME ${component} PARENT_SCOPE)
  set(CPACK_DEBIAN_${name}_DESCRIPTION "${summary}\n${text}" PARENT_SCOPE)
  if(architecture STREQUAL all)
    set(CPACK_DEBIAN_${name}_PACKAGE_ARCHITECTURE all PARENT_SCOPE)
    set(CPACK_DEBIAN_${name}_PACKAGE_SHLIBDEPS OFF PARENT_SCOPE)
  endif()
endfunction()

tdsl_package(tdsl any "compiler from tensor programs to MPI/OpenMP executables"
  "TDSL compiles tensor programs to C++ executables that run as one process or\non many MPI ranks. This package has the compiler, its runtime and its library.")
tdsl_package(tdsl-runtime any "plug-ins of TDSL executables"
  "For compute nodes, which run executables of TDSL built elsewhere: the\nconnection to the MPI of the machine, and HDF5 files.")
tdsl_package(tdsl-extern any "C++ headers in TDSL programs"
  "Plug-in of the TDSL compiler for programs that call C++ functions (`extern`),\nand for the layout of emitted C++. It contains no code of Clang, but needs its\nlibraries.")
tdsl_package(python3-tdsl all "translation of NumPy functions to TDSL"
  "Python modules of TDSL: the importer behind `tdslc import`.")
tdsl_package(tdsl-doc all "documentation of TDSL"
  "The site of TDSL, which works without a network: tutorial, manuals, language\npage and design decisions; the same pages as text.")

set(CPACK_DEBIAN_TDSL-DOC_PACKAGE_SECTION doc)
set(CPACK_DEBIAN_PYTHON3-TDSL_PACKAGE_SECTION python)
# Emitted programs are compiled by the g++ that built the runtime, and linked by soname.
string(REGEX MATCH "^[0-9]+" gcc_major "${CMAKE_CXX_COMPILER_VERSION}")
set(gcc_folder /usr/lib/gcc/${CMAKE_LIBRARY_ARCHITECTURE}/${gcc_major})
set(CPACK_DEBIAN_TDSL_PACKAGE_DEPENDS "tdsl-runtime (= ${PROJECT_VERSION}), g++-${gcc_major}, binutils, libsleef3")
set(CPACK_DEBIAN_TDSL_PACKAGE_RECOMMENDS "openmpi-bin | mpich, lld, tdsl-extern, python3-tdsl")
set(CPACK_DEBIAN_TDSL_PACKAGE_SUGGESTS "tdsl-doc")
# The precompiled header is made where it is used, and again when g++ changes.
configure_file(${PROJECT_SOURCE_DIR}/tools/packaging/triggers.in ${PROJECT_BINARY_DIR}/packaging/triggers @ONLY)
set(CPACK_DEBIAN_TDSL_PACKAGE_CONTROL_EXTRA "${PROJECT_BINARY_DIR}/packaging/triggers;${PROJECT_SOURCE_DIR}/tools/packaging/postinst;${PROJECT_SOURCE_DIR}/tools/packaging/postrm")
set(CPACK_DEBIAN_TDSL-RUNTIME_PACKAGE_DEPENDS "libgomp1, libgfortran5, libsleef3")
set(CPACK_DEBIAN_TDSL-EXTERN_PACKAGE_DEPENDS "tdsl (= ${PROJECT_VERSION}), libclang-common-14-dev")
set(CPACK_DEBIAN_PYTHON3-TDSL_PACKAGE_DEPENDS "python3 (>= 3.9), python3-numpy")
set(CPACK_DEBIAN_PYTHON3-TDSL_PACKAGE_RECOMMENDS "tdsl, python3-scipy, python3-mpi4py, ipython3")

# Of libtdsl_math.a and of readers of compressed files: the static libraries that packages contain parts of.
if(NOT TDSL_CBLAS)
  find_program(TDSL_DPKG_QUERY dpkg-query)
  mark_as_advanced(TDSL_DPKG_QUERY)
  if(TDSL_DPKG_QUERY)
    execute_process(COMMAND ${TDSL_DPKG_QUERY} -W -f "\${source:Package} (= \${source:Version}), " libblis-serial-dev liblapack-dev zlib1g-dev
                    OUTPUT_VARIABLE built_using ERROR_QUIET)
    string(REGEX REPLACE ", $" "" built_using "${built_using}")
    if(built_using)  # CPack knows no such field; a value may have further lines
      string(APPEND CPACK_DEBIAN_TDSL_PACKAGE_SUGGESTS "\nBuilt-Using: ${built_using}")
    endif()
  endif()
endif()
include(CPack)
