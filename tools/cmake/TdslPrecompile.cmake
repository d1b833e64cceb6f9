# tdsl_precompile(TARGET [HEADER...]): with TDSL_PRECOMPILE the headers that nearly every file of the target includes are
# compiled once. Off by default: every file must compile by itself, g++ 12 gives false warnings about inlined standard
# functions then, and ccache, which is faster still, sees another header in every build.
option(TDSL_PRECOMPILE "Precompile the standard headers" OFF)

function(tdsl_precompile target)
  if(NOT TDSL_PRECOMPILE OR CMAKE_CXX_COMPILER_LAUNCHER)
    return()
  endif()
  target_precompile_headers(${target} PRIVATE <algorithm> <array> <cstdint> <functional> <map> <memory> <optional> <set> <span>
                                              <string> <string_view> <unordered_map> <utility> <variant> <vector> ${ARGN})
endfunction()
