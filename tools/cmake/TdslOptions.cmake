# tdsl_options: compile options of all targets of this project (warnings, sanitizers, include root).

set(TDSL_WARNING_FLAGS -Wall -Wextra -Wconversion)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # Clang's -Wconversion includes sign conversions, g++'s does not.
  list(APPEND TDSL_WARNING_FLAGS -Wno-sign-conversion)
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # g++ 12 gives false positives on std::string's operator+ (GCC bug 105651).
  list(APPEND TDSL_WARNING_FLAGS -Wno-restrict)
endif()

set(TDSL_SANITIZE_FLAGS "")
if(TDSL_SANITIZE)
  set(TDSL_SANITIZE_FLAGS -fsanitize=${TDSL_SANITIZE} -fno-omit-frame-pointer -g1)
  if(TDSL_SANITIZE MATCHES "undefined")
    list(APPEND TDSL_SANITIZE_FLAGS -fno-sanitize-recover=all)
  endif()
endif()

add_library(tdsl_options INTERFACE)
target_include_directories(tdsl_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(tdsl_options INTERFACE ${TDSL_WARNING_FLAGS} ${TDSL_SANITIZE_FLAGS})
# Half of the instrumentation checks at every access that a pointer is not null, is aligned, and stays within its object.
# Targets whose property TDSL_SANITIZE_LEVEL is `full` (the runtime, which handles raw memory) keep it; elsewhere AddressSanitizer
# reports such a pointer when it is used. `tests`: the tests' own code, checked for memory errors only.
set(TDSL_SANITIZE_LIGHTER "")
if(TDSL_SANITIZE MATCHES "undefined")
  set(TDSL_SANITIZE_LIGHTER -fno-sanitize=null,alignment,vptr,object-size,pointer-overflow)
  set(level "$<TARGET_PROPERTY:TDSL_SANITIZE_LEVEL>")
  target_compile_options(tdsl_options INTERFACE
    "$<$<STREQUAL:${level},tests>:-O0;-fno-sanitize=undefined>"
    "$<$<STREQUAL:${level},>:${TDSL_SANITIZE_LIGHTER}>")
endif()
# Both link an emitted program in a third of the time of the default linker. Debian's binutils includes gold.
set(TDSL_LINKER_FLAG "")
find_program(TDSL_LLD ld.lld)
find_program(TDSL_GOLD ld.gold)
mark_as_advanced(TDSL_LLD TDSL_GOLD)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND TDSL_LLD)
  set(TDSL_LINKER_FLAG -fuse-ld=lld)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND TDSL_GOLD)
  set(TDSL_LINKER_FLAG -fuse-ld=gold)
endif()
target_link_options(tdsl_options INTERFACE ${TDSL_SANITIZE_FLAGS} ${TDSL_LINKER_FLAG})
# Builds of one commit in two folders have the same bytes. Debuggers keep the paths of other builds.
foreach(folder ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  target_compile_options(tdsl_options INTERFACE $<$<CONFIG:Release>:-ffile-prefix-map=${folder}/=>)
endforeach()
if(TDSL_WERROR)
  target_compile_options(tdsl_options INTERFACE -Werror)
endif()

# tdsl_release_level(TARGET LEVEL): optimisation level of a target in release builds, where -O3 is not worth a third of the build
# time. The runtime, the planner and the evaluator keep -O3.
function(tdsl_release_level target level)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O${level}>)
endfunction()
