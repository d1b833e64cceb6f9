# libtdsl_math.a: the objects of LAPACK, BLAS and zlib that the runtime needs, so that emitted programs link no development package.
# Libraries that are no archives (an own TDSL_CBLAS) stay on the command line of emitted programs: TDSL_SHARED_MATH.
set(TDSL_STATIC_MATH ${TDSL_LAPACK_LIBRARY} ${TDSL_BLAS_LIBRARIES} ${TDSL_ZLIB_LIBRARY})
set(TDSL_SHARED_MATH ${TDSL_STATIC_MATH})
list(FILTER TDSL_STATIC_MATH INCLUDE REGEX "\\.a$")
list(FILTER TDSL_SHARED_MATH EXCLUDE REGEX "\\.a$")

function(tdsl_link_set)
  set(archive ${PROJECT_BINARY_DIR}/lib/tdsl/libtdsl_math.a)
  set(script ${PROJECT_SOURCE_DIR}/tools/cmake/link_set.sh)
  add_custom_command(OUTPUT ${archive}
    COMMAND ${CMAKE_COMMAND} -E env NM=${CMAKE_NM} LD=${CMAKE_LINKER} OBJCOPY=${CMAKE_OBJCOPY} AR=${CMAKE_AR}
            sh ${script} ${archive} $<TARGET_FILE:tdsl_rt> ${TDSL_STATIC_MATH}
    DEPENDS tdsl_rt ${script} ${TDSL_STATIC_MATH} COMMENT "Linking the parts of BLAS, LAPACK and zlib that programs need" VERBATIM)
  add_custom_target(tdsl_math DEPENDS ${archive})
  tdsl_install_output(tdsl_math ${archive})
endfunction()
