# lib/tdsl/toolchain.conf: how tdslc compiles and links emitted programs; install rules; the build tree's prefix layout.

# The compiler's own name instead of a link that may change: /usr/bin/x86_64-linux-gnu-g++-12 for /usr/bin/c++.
function(tdsl_versioned_compiler out)
  file(REAL_PATH ${CMAKE_CXX_COMPILER} path)
  if(NOT path MATCHES "/(.*-)?(g\\+\\+|clang\\+\\+)-[0-9]+$")
    set(path ${CMAKE_CXX_COMPILER})
  endif()
  set(${out} ${path} PARENT_SCOPE)
endfunction()

# Links PREFIX/NAME in the build tree to the source folder, so that edits take effect without a copy step.
function(tdsl_link_into_prefix source name)
  get_filename_component(parent ${PROJECT_BINARY_DIR}/${name} DIRECTORY)
  file(MAKE_DIRECTORY ${parent})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${source} ${PROJECT_BINARY_DIR}/${name} SYMBOLIC)
endfunction()

# Precompiles the headers of emitted programs, if they or the compiler have changed: `tdslc --configure` knows.
function(tdsl_precompile_emitted)
  if(TARGET tdslc)
    add_custom_target(tdsl_precompiled ALL
      COMMAND ${CMAKE_COMMAND} -E env ASAN_OPTIONS=detect_leaks=0 TDSL_HOME=${PROJECT_BINARY_DIR} $<TARGET_FILE:tdslc> --configure
              -o ${PROJECT_BINARY_DIR}/lib/tdsl/precompiled
      DEPENDS tdslc COMMENT "Precompiling the headers of emitted programs" VERBATIM)
  endif()
endfunction()

function(tdsl_write_toolchain)
  tdsl_versioned_compiler(conf_compiler)

  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  if(type STREQUAL "DEBUG")
    set(conf_optimize "-O0 -g")
  elseif(TDSL_SANITIZE)
    # Optimising instrumented code takes several times as long as it saves in tests.
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
  if(TDSL_SANITIZE)
    set(conf_runtime "\${PREFIX}/lib/tdsl/libtdsl_rt.so")
  else()
    set(conf_runtime "\${PREFIX}/lib/tdsl/libtdsl_rt.a \${PREFIX}/lib/tdsl/libtdsl_plan.a \${PREFIX}/lib/tdsl/libtdsl_math.a")
    if(NOT TDSL_PREBUILT)
      tdsl_link_set()
    endif()
  endif()
  tdsl_by_soname(libraries ${TDSL_SHARED_MATH} ${TDSL_GFORTRAN_LIBRARY} ${TDSL_SLEEF_LIBRARIES})
  list(APPEND libraries -ldl -lpthread -lm)
  list(JOIN libraries " " conf_libraries)

  set(conf_compile "-std=c++20 ${conf_optimize} -ffp-contract=off -fno-math-errno -fno-trapping-math ${conf_openmp} ${conf_sanitize}")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(conf_linkers "lld gold")
    set(conf_precompiled "\${PREFIX}/lib/tdsl/precompiled /var/lib/tdsl/precompiled")
    tdsl_precompile_emitted()
  endif()

  configure_file(${PROJECT_SOURCE_DIR}/tools/cmake/toolchain.conf.in ${PROJECT_BINARY_DIR}/lib/tdsl/toolchain.conf @ONLY)

  tdsl_link_into_prefix(runtime include/tdsl/runtime)
  tdsl_link_into_prefix(runtime/own include/tdsl/tdsl)
  tdsl_link_into_prefix(runtime share/tdsl/runtime)
  tdsl_link_into_prefix(tools/tdslc/project share/tdsl/project)
  tdsl_link_into_prefix(LICENSE share/tdsl/LICENSE)
  tdsl_link_into_prefix(stdlib share/tdsl/stdlib)
  tdsl_link_into_prefix(samples share/tdsl/samples)
  tdsl_link_into_prefix(runtime/library share/tdsl/library)
  tdsl_link_into_prefix(tools/python share/tdsl/python)
  tdsl_link_into_prefix(tools/templates share/tdsl/templates)
  tdsl_link_into_prefix(tools/editors share/tdsl/editors)

  tdsl_install_prefix()
endfunction()

# The files of an installation that are not built, by the package that they belong to.
function(tdsl_install_prefix)
  foreach(target tdsl_rt tdsl_plan)
    get_target_property(kind ${target} TYPE)
    if(kind STREQUAL "STATIC_LIBRARY")
      tdsl_install(${target})
    endif()
  endforeach()
  tdsl_install(tdslc DESTINATION bin)

  set(runtime ${PROJECT_SOURCE_DIR}/runtime)
  set(packaging ${PROJECT_SOURCE_DIR}/tools/packaging)
  include(CMakePackageConfigHelpers)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/tdslConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  configure_file(${packaging}/tdsl.pc.in ${PROJECT_BINARY_DIR}/tdsl.pc @ONLY)

  set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME tdsl)
  install(FILES ${PROJECT_BINARY_DIR}/lib/tdsl/toolchain.conf DESTINATION lib/tdsl)
  install(DIRECTORY ${runtime} DESTINATION include/tdsl FILES_MATCHING PATTERN "*.h")
  install(FILES ${runtime}/own/tile.h DESTINATION include/tdsl/tdsl)
  install(DIRECTORY ${runtime} DESTINATION share/tdsl FILES_MATCHING PATTERN "*.h" PATTERN "*.cpp" PATTERN "*.c")
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/tools/tdslc/project DESTINATION share/tdsl)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/stdlib ${PROJECT_SOURCE_DIR}/samples DESTINATION share/tdsl PATTERN __pycache__ EXCLUDE)
  install(FILES ${runtime}/library/abi.h ${runtime}/library/bridge.py ${runtime}/library/bridge.f90 DESTINATION share/tdsl/library)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/tools/templates ${PROJECT_SOURCE_DIR}/tools/editors DESTINATION share/tdsl
          PATTERN "README.md" EXCLUDE)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION share/tdsl)
  install(FILES ${packaging}/tdslConfig.cmake ${PROJECT_BINARY_DIR}/tdslConfigVersion.cmake DESTINATION lib/cmake/tdsl)
  install(FILES ${PROJECT_BINARY_DIR}/tdsl.pc DESTINATION share/pkgconfig)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/tools/python DESTINATION share/tdsl COMPONENT python3-tdsl FILES_MATCHING PATTERN "*.py" PATTERN "py.typed")
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/ DESTINATION share/doc/tdsl COMPONENT tdsl-doc FILES_MATCHING PATTERN "*.md")
  install(DIRECTORY ${PROJECT_BINARY_DIR}/site/ DESTINATION share/doc/tdsl/html COMPONENT tdsl-doc OPTIONAL)  # made by tools/packaging/make
endfunction()
