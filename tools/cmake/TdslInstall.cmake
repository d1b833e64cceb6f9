# tdsl_prefix: everything that an installation consists of. tdsl_programs: the part that emitted programs need.
add_custom_target(tdsl_prefix)
add_custom_target(tdsl_programs)

# `cmake --install` works after any build: it first builds missing targets. Packages are made of a complete build (tools/packaging/make).
install(CODE "execute_process(COMMAND \"${CMAKE_COMMAND}\" --build \"${PROJECT_BINARY_DIR}\" --target tdsl_prefix COMMAND_ERROR_IS_FATAL ANY)")

# tdsl_install(TARGET... [DESTINATION FOLDER] [COMPONENT PACKAGE])
#
# Installs programs and libraries to FOLDER (default: lib/tdsl) as part of PACKAGE (default: tdsl) and adds them to tdsl_prefix, and to
# tdsl_programs if programs need the package.
function(tdsl_install)
  cmake_parse_arguments(ARG "" "DESTINATION;COMPONENT" "" ${ARGN})
  if(NOT ARG_DESTINATION)
    set(ARG_DESTINATION lib/tdsl)
  endif()
  if(NOT ARG_COMPONENT)
    set(ARG_COMPONENT tdsl)
  endif()
  foreach(target IN LISTS ARG_UNPARSED_ARGUMENTS)
    install(TARGETS ${target} COMPONENT ${ARG_COMPONENT} RUNTIME DESTINATION ${ARG_DESTINATION}
            LIBRARY DESTINATION ${ARG_DESTINATION} ARCHIVE DESTINATION ${ARG_DESTINATION})
    add_dependencies(tdsl_prefix ${target})
    if(NOT target STREQUAL tdslc AND NOT ARG_COMPONENT STREQUAL tdsl-extern)
      add_dependencies(tdsl_programs ${target})
    endif()
  endforeach()
endfunction()

# tdsl_install_output(TARGET FILE [DESTINATION FOLDER] [COMPONENT PACKAGE]): the same for a file made by the custom target.
function(tdsl_install_output target file)
  cmake_parse_arguments(ARG "" "DESTINATION;COMPONENT" "" ${ARGN})
  if(NOT ARG_DESTINATION)
    set(ARG_DESTINATION lib/tdsl)
  endif()
  if(NOT ARG_COMPONENT)
    set(ARG_COMPONENT tdsl)
  endif()
  install(FILES ${file} DESTINATION ${ARG_DESTINATION} COMPONENT ${ARG_COMPONENT})
  add_dependencies(tdsl_prefix ${target})
  add_dependencies(tdsl_programs ${target})
endfunction()

# Names of a shared library for the linker's command line in another place: -l:SONAME if the linker searches its folder, else its path.
# Development packages own the links without a version, run-time packages the SONAME. Other arguments are returned unchanged.
function(tdsl_by_soname out)
  set(result "")
  foreach(library IN LISTS ARGN)
    get_filename_component(folder "${library}" DIRECTORY)
    set(soname "")
    if(library MATCHES "\\.so(\\.[0-9]+)*$" AND EXISTS "${library}")
      execute_process(COMMAND ${CMAKE_OBJDUMP} -p ${library} OUTPUT_VARIABLE header ERROR_QUIET)
      if(header MATCHES "SONAME +([^ \n]+)")
        set(soname ${CMAKE_MATCH_1})
      endif()
    endif()
    if(soname AND EXISTS "${folder}/${soname}" AND folder IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
      list(APPEND result -l:${soname})
    elseif(soname AND EXISTS "${folder}/${soname}")
      list(APPEND result ${folder}/${soname})
    else()
      list(APPEND result ${library})
    endif()
  endforeach()
  set(${out} "${result}" PARENT_SCOPE)
endfunction()
