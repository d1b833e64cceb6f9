# tdsl_version_source(TARGET): adds a generated version.cpp for tools/tdslc/version.h. The commit is looked up in every build; only a
# change compiles the file again.
#
# As a script, cmake -D SOURCE=FOLDER -D VERSION=X.Y.Z -D OUTPUT=FILE.cpp -P TdslVersion.cmake: writes the file if its text has changed.
if(NOT CMAKE_SCRIPT_MODE_FILE)
  function(tdsl_version_source target)
    set(output ${CMAKE_CURRENT_BINARY_DIR}/version.cpp)
    add_custom_target(tdsl_version
      COMMAND ${CMAKE_COMMAND} -D SOURCE=${PROJECT_SOURCE_DIR} -D VERSION=${PROJECT_VERSION} -D OUTPUT=${output}
              -P ${PROJECT_SOURCE_DIR}/tools/cmake/TdslVersion.cmake
      BYPRODUCTS ${output} VERBATIM)
    target_sources(${target} PRIVATE ${output})
    set_source_files_properties(${output} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    add_dependencies(${target} tdsl_version)
  endfunction()
  return()
endif()

# Of the repository itself, not of one around an unpacked archive, which names its commit in commit.txt. The length of abbreviations is fixed:
# git's own depends on the number of objects in a clone.
set(commit "")
if(EXISTS ${SOURCE}/.git)
  execute_process(COMMAND git -C ${SOURCE} describe --tags --always --abbrev=12 --match v* OUTPUT_VARIABLE commit ERROR_QUIET
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
else()
  file(STRINGS ${SOURCE}/tools/packaging/commit.txt names REGEX "^[^$]")
  if(names)
    list(GET names 0 commit)
  endif()
  if(commit MATCHES "^[0-9a-f]+$")
    string(SUBSTRING "${commit}" 0 12 commit)
  endif()
endif()
set(text "tdslc ${VERSION}")
if(commit)
  string(APPEND text " (${commit})")
endif()
set(text "#include \"tools/tdslc/version.h\"\n\nnamespace tdsl::tools {\n\nconst char* const kVersionText = \"${text}\";\n\n}  // namespace tdsl::tools\n")
set(old "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} old)
endif()
if(NOT text STREQUAL old)
  file(WRITE ${OUTPUT} "${text}")
endif()
