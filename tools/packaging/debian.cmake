# Run by CPack between staging and packing (CPACK_PRE_BUILD_SCRIPTS): what Debian's policy wants in every package.
set(source ${CPACK_TDSL_SOURCE})
file(STRINGS ${source}/tools/packaging/lintian-overrides overrides REGEX "^[a-z0-9-]+: ")
foreach(package IN LISTS CPACK_COMPONENTS_ALL)
  set(stage ${CPACK_TEMPORARY_DIRECTORY}/${package}/usr)
  if(NOT IS_DIRECTORY ${stage})
    continue()
  endif()
  set(documents ${stage}/share/doc/${package})
  file(MAKE_DIRECTORY ${documents})
  file(COPY_FILE ${source}/tools/packaging/copyright ${documents}/copyright)
  execute_process(COMMAND sh ${source}/tools/packaging/changelog.sh ${CPACK_PACKAGE_VERSION} ${source}/docs/CHANGELOG.md ${documents}/changelog
                  COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND gzip -9n ${documents}/changelog COMMAND_ERROR_IS_FATAL ANY)
  set(own ${overrides})
  list(FILTER own INCLUDE REGEX "^${package}: ")
  if(own)
    list(JOIN own "\n" text)
    file(MAKE_DIRECTORY ${stage}/share/lintian/overrides)
    file(WRITE ${stage}/share/lintian/overrides/${package} "${text}\n")
  endif()
endforeach()

# Manual pages are compressed.
file(GLOB_RECURSE pages ${CPACK_TEMPORARY_DIRECTORY}/*/usr/share/man/*.[1-9])
foreach(page IN LISTS pages)
  execute_process(COMMAND gzip -9nf ${page} COMMAND_ERROR_IS_FATAL ANY)
endforeach()

# `import tdsl` by Debian's Python.
set(modules ${CPACK_TEMPORARY_DIRECTORY}/python3-tdsl/usr)
if(IS_DIRECTORY ${modules})
  file(MAKE_DIRECTORY ${modules}/lib/python3/dist-packages)
  file(CREATE_LINK ../../../share/tdsl/python/tdsl ${modules}/lib/python3/dist-packages/tdsl SYMBOLIC)
endif()
# The licence is that of all Debian systems.
file(REMOVE ${CPACK_TEMPORARY_DIRECTORY}/tdsl/usr/share/tdsl/LICENSE)
file(CREATE_LINK ../common-licenses/Apache-2.0 ${CPACK_TEMPORARY_DIRECTORY}/tdsl/usr/share/tdsl/LICENSE SYMBOLIC)
