# What all targets share: language, warnings, sanitizers, where things go; and the four kinds of target.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()

find_program(TARN_CCACHE ccache)
if(TARN_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${TARN_CCACHE}")
endif()

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(tl-expected REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(RocksDBLibrary REQUIRED)
pkg_check_modules(LIBARCHIVE REQUIRED IMPORTED_TARGET libarchive)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)

add_library(tarn_options INTERFACE)
target_compile_features(tarn_options INTERFACE cxx_std_20)
target_compile_options(tarn_options INTERFACE -Wall -Wextra -Werror -Wshadow -Wnon-virtual-dtor -Wold-style-cast
                                              -Wcast-qual -Wunused -Woverloaded-virtual -Wimplicit-fallthrough)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # With optimisation GCC 12 sees overlaps in "literal" + std::string that are not there (GCC bug 105651).
  target_compile_options(tarn_options INTERFACE -Wno-restrict)
endif()
# Exceptions end the process outside the FUSE guard; frames must be there for profiles and sanitizers.
target_compile_options(tarn_options INTERFACE -fno-omit-frame-pointer)
target_compile_definitions(tarn_options INTERFACE _FILE_OFFSET_BITS=64)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(tarn_options INTERFACE -Wthread-safety)
endif()
if(TARN_SANITIZE)
  target_compile_options(tarn_options INTERFACE -fsanitize=${TARN_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(tarn_options INTERFACE -fsanitize=${TARN_SANITIZE})
endif()
if(TARN_BUILD_FUZZ)
  target_compile_options(tarn_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

# tarn_layer(NAME SOURCES ... [LAYERS layers before it] [LIBRARIES third-party])
# One layer of the library: target tarn_NAME, exported as tarn::NAME. Its third-party libraries are private to it.
function(tarn_layer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LAYERS;LIBRARIES" ${ARGN})
  add_library(tarn_${name} STATIC ${ARG_SOURCES})
  add_library(tarn::${name} ALIAS tarn_${name})
  set_target_properties(tarn_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(
    tarn_${name}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    PRIVATE ${PROJECT_SOURCE_DIR}/src)
  # The contracts are C++20: whoever links the layer compiles so.
  target_compile_features(tarn_${name} PUBLIC cxx_std_20)
  list(TRANSFORM ARG_LAYERS PREPEND tarn_)
  target_link_libraries(tarn_${name} PUBLIC ${ARG_LAYERS} PRIVATE $<BUILD_INTERFACE:tarn_options> ${ARG_LIBRARIES})
  set_property(GLOBAL APPEND PROPERTY TARN_LAYERS tarn_${name})
endfunction()

# tarn_program(NAME SOURCES ... LIBRARIES ...)
function(tarn_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE tarn_options ${ARG_LIBRARIES})
endfunction()

# tarn_test(NAME SOURCES ... LIBRARIES ... [LABELS ...] [TIMEOUT seconds])
# A GoogleTest binary; each of its cases is a ctest case. A skipped case is shown as skipped.
function(tarn_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LIBRARIES;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE tarn_options ${ARG_LIBRARIES} GTest::gmock GTest::gtest_main)
  gtest_discover_tests(
    ${name}
    DISCOVERY_MODE PRE_TEST
    NO_PRETTY_VALUES # names of cases are numbered: a printed value may hold an address
    DISCOVERY_TIMEOUT 60
    TEST_PREFIX "${name}."
    PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
endfunction()
