# cmake --install: headers, libraries, programs, and find_package(tarn) with the target tarn::tarn.
include(CMakePackageConfigHelpers)

get_property(tarn_layers GLOBAL PROPERTY TARN_LAYERS)
install(TARGETS tarn ${tarn_layers} EXPORT tarnTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tarn DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT tarnTargets NAMESPACE tarn:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tarn)
configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/tarnConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/tarnConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tarn)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/tarnConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tarnConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/tarnConfigVersion.cmake
              ${CMAKE_CURRENT_LIST_DIR}/FindRocksDBLibrary.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tarn)
foreach(program tarn tarn-index tarn-mount tarn-bench)
  if(TARGET ${program}_program)
    install(TARGETS ${program}_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()
