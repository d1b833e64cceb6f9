# find_package(tdsl): programs and libraries from .tdsl files, in a CMake project.
#
#   tdsl_add_executable(NAME PROGRAM.tdsl [OUTPUT FILE] [OPTIONS OPTION...])
#       Builds FILE (default: NAME in the build folder's bin/) with `tdslc build OPTION...`. The target NAME is part of `all`;
#       the imported executable tdsl::NAME is for add_test, custom commands and $<TARGET_FILE:tdsl::NAME>.
#   tdsl_add_library(NAME PROGRAM.tdsl [OPTIONS OPTION...])
#       Builds libNAME.so, NAME.h and NAME.py in NAME.tdsl/ of the build folder; targets that link NAME find the header and library.
#   tdsl::tile
#       The header tdsl/tile.h, for C++ functions that programs declare with `extern`.
#   tdsl::tdslc, TDSL_COMPILER
#       The compiler: as a target, and its path.
#
# The program is built again if it, a file that it imports, a header of `extern`, or the installation changes. The prefix may be moved.

get_filename_component(TDSL_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." REALPATH)
set(TDSL_COMPILER "${TDSL_PREFIX}/bin/tdslc")
if(NOT EXISTS "${TDSL_COMPILER}")
  set(tdsl_FOUND FALSE)
  set(tdsl_NOT_FOUND_MESSAGE "${TDSL_COMPILER} is missing")
  return()
endif()

if(NOT TARGET tdsl::tdslc)
  add_executable(tdsl::tdslc IMPORTED)
  set_target_properties(tdsl::tdslc PROPERTIES IMPORTED_LOCATION "${TDSL_COMPILER}")
  add_library(tdsl::tile INTERFACE IMPORTED)
  set_target_properties(tdsl::tile PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${TDSL_PREFIX}/include/tdsl")
  set_property(TARGET tdsl::tile PROPERTY INTERFACE_COMPILE_FEATURES cxx_std_20)
endif()

# A rule that makes `output`, and further OUTPUTS, of `program` with `tdslc build ARGUMENTS`.
function(_tdsl_rule program output)
  cmake_parse_arguments(PARSE_ARGV 2 ARG "" "" "OUTPUTS;ARGUMENTS")
  get_filename_component(source "${program}" ABSOLUTE)
  if(NOT EXISTS "${source}")
    message(FATAL_ERROR "tdsl: there is no program ${source}")
  endif()
  get_filename_component(folder "${output}" DIRECTORY)
  file(MAKE_DIRECTORY "${folder}")
  get_filename_component(shown "${program}" NAME)
  add_custom_command(OUTPUT "${output}" ${ARG_OUTPUTS}
    COMMAND tdsl::tdslc build "${source}" --depfile "${output}.d" ${ARG_ARGUMENTS}
    DEPENDS "${source}" "${TDSL_COMPILER}" DEPFILE "${output}.d"
    COMMENT "Building TDSL program ${shown}" VERBATIM)
endfunction()

function(tdsl_add_executable name program)
  cmake_parse_arguments(PARSE_ARGV 2 ARG "" "OUTPUT" "OPTIONS")
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tdsl_add_executable: unknown arguments ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT ARG_OUTPUT)
    set(ARG_OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/bin/${name}")
  endif()
  get_filename_component(output "${ARG_OUTPUT}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_BINARY_DIR}")
  _tdsl_rule("${program}" "${output}" ARGUMENTS -o "${output}" ${ARG_OPTIONS})
  add_custom_target(${name} ALL DEPENDS "${output}")
  add_executable(tdsl::${name} IMPORTED GLOBAL)
  set_target_properties(tdsl::${name} PROPERTIES IMPORTED_LOCATION "${output}")
  add_dependencies(tdsl::${name} ${name})
endfunction()

function(tdsl_add_library name program)
  cmake_parse_arguments(PARSE_ARGV 2 ARG "" "" "OPTIONS")
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tdsl_add_library: unknown arguments ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${name}.tdsl")
  _tdsl_rule("${program}" "${folder}/lib${name}.so" OUTPUTS "${folder}/${name}.h" "${folder}/${name}.py"
             ARGUMENTS --library -o "${folder}/${name}" ${ARG_OPTIONS})
  add_custom_target(${name}_build ALL DEPENDS "${folder}/lib${name}.so")
  add_library(${name} SHARED IMPORTED GLOBAL)
  set_target_properties(${name} PROPERTIES IMPORTED_LOCATION "${folder}/lib${name}.so" IMPORTED_SONAME lib${name}.so
                                           INTERFACE_INCLUDE_DIRECTORIES "${folder}")
  add_dependencies(${name} ${name}_build)
endfunction()
