# tdsl_library(NAME FOLDERS dir... [LINK target...] [PRIVATE_LINK target...])
#
# A static library of every *.cpp in the folders (relative to the current one). A folder without sources gives an INTERFACE
# library of the same name, so that headers can come before bodies. The archive goes to lib/tdsl.
function(tdsl_library name)
  cmake_parse_arguments(ARG "" "" "FOLDERS;LINK;PRIVATE_LINK" ${ARGN})
  set(sources "")
  foreach(folder IN LISTS ARG_FOLDERS)
    file(GLOB found CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp)
    list(APPEND sources ${found})
  endforeach()
  if(sources)
    add_library(${name} STATIC ${sources})
    set_target_properties(${name} PROPERTIES ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/tdsl
                                             POSITION_INDEPENDENT_CODE ON)
    target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
    target_link_libraries(${name} PUBLIC ${ARG_LINK} PRIVATE ${ARG_PRIVATE_LINK} tdsl_options)
  else()
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE ${PROJECT_SOURCE_DIR})
    target_link_libraries(${name} INTERFACE ${ARG_LINK} ${ARG_PRIVATE_LINK})
  endif()
endfunction()

# tdsl_subdirectory(FOLDER TARGET): add_subdirectory, or an empty TARGET while the folder has no CMakeLists.txt.
function(tdsl_subdirectory folder target)
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/CMakeLists.txt)
    add_subdirectory(${folder})
  else()
    add_library(${target} INTERFACE)
  endif()
endfunction()
