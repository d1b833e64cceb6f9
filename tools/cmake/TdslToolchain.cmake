# lib/tdsl/toolchain.conf: how tdslc compiles and links emitted programs; install rules; the build tree's prefix layout.

function(tdsl_flags_of_includes out)
  set(flags "")
  foreach(directory IN LISTS ARGN)
    if(NOT directory IN_LIST CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES)
      list(APPEND flags -isystem ${directory})
    endif()
  endforeach()
  list(JOIN flags " " flags)
  set(${out} "${flags}" PARENT_SCOPE)
endfunction()

# Makes PREFIX/NAME in the build tree a link to the source folder, so that edits are seen without a copy step.
function(tdsl_link_into_prefix source name)
  get_filename_component(parent ${PROJECT_BINARY_DIR}/${name} DIRECTORY)
  file(MAKE_DIRECTORY ${parent})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${source} ${PROJECT_BINARY_DIR}/${name} SYMBOLIC)
endfunction()

# Compiles the headers of emitted programs with the options that their programs get: parsing them is most of a small
# program's build. g++ only: its files may be moved with the prefix, and are passed over where options differ.
function(tdsl_precompile_emitted compile_flags include_flags)
  set(file ${PROJECT_BINARY_DIR}/lib/tdsl/precompiled/runtime/emitted.h.gch)
  get_filename_component(folder ${file} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  separate_arguments(compile_flags NATIVE_COMMAND "${compile_flags}")
  separate_arguments(include_flags NATIVE_COMMAND "${include_flags}")
  add_custom_command(OUTPUT ${file}
    COMMAND ${CMAKE_CXX_COMPILER} ${compile_flags} -I${PROJECT_BINARY_DIR}/include/tdsl ${include_flags} -MD -MF ${file}.d -MT ${file}
            -x c++-header ${PROJECT_SOURCE_DIR}/runtime/precompiled.h -o ${file}
    DEPFILE ${file}.d COMMENT "Precompiling the headers of emitted programs" VERBATIM)
  add_custom_target(tdsl_precompiled ALL DEPENDS ${file})
  if(TARGET tdslc)
    add_dependencies(tdslc tdsl_precompiled)
  endif()
  install(FILES ${file} DESTINATION lib/tdsl/precompiled/runtime)
endfunction()

function(tdsl_write_toolchain)
  tdsl_flags_of_includes(conf_mpi_includes ${MPI_C_INCLUDE_DIRS})

  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  if(type STREQUAL "DEBUG")
    set(conf_optimize "-O0 -g")
  elseif(TDSL_SANITIZE)
    # Instrumented code takes the optimiser several times as long as it saves in tests.
    set(conf_optimize "-O0")
  else()
    set(conf_optimize "-O3")
  endif()
  set(conf_sanitize ${TDSL_SANITIZE_FLAGS} ${TDSL_SANITIZE_LIGHTER})
  list(JOIN conf_sanitize " " conf_sanitize)
  list(JOIN TDSL_WARNING_FLAGS " " conf_warnings)
  string(STRIP "${OpenMP_CXX_FLAGS}" conf_openmp)
  if(TDSL_NATIVE)
    set(conf_native on)
  else()
    set(conf_native off)
  endif()
  set(libraries ${TDSL_LAPACK_LIBRARIES} ${TDSL_SLEEF_LIBRARIES} ${MPI_C_LIBRARIES} -lpthread -lm)
  list(JOIN libraries " " conf_libraries)

  set(conf_compile "-std=c++20 ${conf_optimize} -ffp-contract=off -fno-math-errno -fno-trapping-math ${conf_openmp} ${conf_sanitize}")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(conf_precompiled "-I\${PREFIX}/lib/tdsl/precompiled")
    tdsl_precompile_emitted("${conf_compile}" "${conf_mpi_includes}")
  endif()

  configure_file(${PROJECT_SOURCE_DIR}/tools/cmake/toolchain.conf.in ${PROJECT_BINARY_DIR}/lib/tdsl/toolchain.conf @ONLY)

  tdsl_link_into_prefix(runtime include/tdsl/runtime)
  tdsl_link_into_prefix(stdlib share/tdsl/stdlib)
  tdsl_link_into_prefix(samples share/tdsl/samples)

  install(FILES ${PROJECT_BINARY_DIR}/lib/tdsl/toolchain.conf DESTINATION lib/tdsl)
  foreach(target tdsl_rt tdsl_plan)
    get_target_property(kind ${target} TYPE)
    if(kind STREQUAL "STATIC_LIBRARY")
      install(TARGETS ${target} ARCHIVE DESTINATION lib/tdsl)
    endif()
  endforeach()
  if(TARGET tdslc)
    install(TARGETS tdslc RUNTIME DESTINATION bin)
  endif()
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/runtime DESTINATION include/tdsl FILES_MATCHING PATTERN "*.h")
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/stdlib ${PROJECT_SOURCE_DIR}/samples DESTINATION share/tdsl)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION share/tdsl)
endfunction()
