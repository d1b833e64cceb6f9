# tdsl_build_once(TARGET [HEADER...]): for builds from scratch. With TDSL_BUILD_ONCE the headers included by nearly every file
# of the target are precompiled, and files are compiled in batches of eight, which share the parsing of the other headers:
# two fifths less processor time. Unsuitable for development: with a launcher (ccache) files are compiled one by one, a change
# recompiles one file, and each file must include all headers it uses.
option(TDSL_BUILD_ONCE "Precompile the standard headers and compile files in batches" OFF)

function(tdsl_build_once target)
  if(NOT TDSL_BUILD_ONCE OR CMAKE_CXX_COMPILER_LAUNCHER)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  target_precompile_headers(${target} PRIVATE <algorithm> <array> <cstdint> <functional> <map> <memory> <optional> <set> <span>
                                              <string> <string_view> <unordered_map> <utility> <variant> <vector> ${ARGN})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # A batch has no main file, so that unnamed namespaces look as if they were in headers.
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
    if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
      # g++ 12 forgets that precompiled headers are system headers and warns about its own inlined std::string functions.
      target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
    endif()
  endif()
endfunction()
