# tdsl_precompile(TARGET [HEADER...]): with TDSL_PRECOMPILE the headers that nearly every file of the target includes are
# compiled once: a quarter of a release build. With a launcher (ccache, faster still where it knows the files, would see
# another header in every build) files are compiled one by one, so that each must include what it uses.
option(TDSL_PRECOMPILE "Precompile the standard headers" OFF)

function(tdsl_precompile target)
  if(NOT TDSL_PRECOMPILE OR CMAKE_CXX_COMPILER_LAUNCHER)
    return()
  endif()
  target_precompile_headers(${target} PRIVATE <algorithm> <array> <cstdint> <functional> <map> <memory> <optional> <set> <span>
                                              <string> <string_view> <unordered_map> <utility> <variant> <vector> ${ARGN})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # g++ 12 forgets that precompiled headers are the system's and warns of its own inlined std::string functions.
    target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
  endif()
endfunction()
