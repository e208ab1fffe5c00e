# cmake --install: programs, man pages, example configuration, completions; and for those who build on the library,
# headers, archives and find_package(tarn) with the target tarn::tarn.
#
# Components: `programs` is what a machine that only runs Tarn needs, `development` the rest.
include(CMakePackageConfigHelpers)

foreach(program tarn tarn-index tarn-mount tarn-bench)
  if(TARGET ${program}_program)
    install(TARGETS ${program}_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
  endif()
endforeach()
file(GLOB tarn_pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/man/*.[158])
foreach(page ${tarn_pages})
  string(REGEX REPLACE ".*\\." "" section ${page})
  install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section} COMPONENT programs)
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/deploy/tarn.conf DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples COMPONENT programs)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT programs)
# bash-completion loads a file by the name of the command that is completed.
foreach(program tarn tarn-index tarn-mount tarn-bench)
  install(
    FILES ${PROJECT_SOURCE_DIR}/deploy/completions/tarn.bash
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
    RENAME ${program}
    COMPONENT programs)
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/deploy/completions/_tarn DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions
        COMPONENT programs)

set(tarn_package ${CMAKE_INSTALL_LIBDIR}/cmake/tarn)
get_property(tarn_layers GLOBAL PROPERTY TARN_LAYERS)
install(TARGETS tarn ${tarn_layers} EXPORT tarnTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
                                                              COMPONENT development)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tarn DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(EXPORT tarnTargets NAMESPACE tarn:: DESTINATION ${tarn_package} COMPONENT development)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/tarnConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/tarnConfig.cmake
                              INSTALL_DESTINATION ${tarn_package})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/tarnConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(
  FILES ${CMAKE_CURRENT_BINARY_DIR}/tarnConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/tarnConfigVersion.cmake
        ${CMAKE_CURRENT_LIST_DIR}/FindRocksDBLibrary.cmake
  DESTINATION ${tarn_package}
  COMPONENT development)
