# SPDX-License-Identifier: Apache-2.0
# Tests: programs of GoogleTest cases, and commands. Each is one ctest entry; what a machine lacks is
# reported as skipped (status 77), or as failed where CUCO_REQUIRE names it: tests/support/require.h.

# Most of a test file's compile time goes into the same headers and templates. What is built from
# scratch compiles up to eight files of a test program as one (not with APART: their helpers have
# the same names).
option(CUCO_UNITY "compile the sources of a test program together" OFF)

add_custom_target(unit_tests)  # the unit ring alone, for the sanitizer builds

# cuco_test_program(NAME SOURCES a.cc LIBRARIES cuco_base): test_NAME, no ctest entry yet.
function(cuco_test_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES;DEFINITIONS" ${ARGN})
  add_executable(test_${name} ${arg_SOURCES})
  target_include_directories(test_${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_link_libraries(test_${name} PRIVATE ${arg_LIBRARIES} cuco_test_main GTest::gmock cuco_options)
  target_compile_definitions(test_${name} PRIVATE CUCO_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
    CUCO_BINARY_DIR="${CMAKE_BINARY_DIR}" ${arg_DEFINITIONS})
  target_compile_options(test_${name} PRIVATE $<$<CONFIG:Release>:-O1>)  # quick to build, run once
  if(CUCO_PCH)
    if(NOT TARGET cuco_test_pch)  # executables are compiled with -fPIE: libraries' headers do not fit
      file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/test_pch.cc CONTENT "int main() { return 0; }\n")
      add_executable(cuco_test_pch ${CMAKE_BINARY_DIR}/test_pch.cc)
      target_link_libraries(cuco_test_pch PRIVATE fmt::fmt GTest::gmock cuco_options)
      target_compile_options(cuco_test_pch PRIVATE $<$<CONFIG:Release>:-O1>)
      target_precompile_headers(cuco_test_pch PRIVATE ${CUCO_PCH_HEADERS} <gmock/gmock.h> <gtest/gtest.h>)
    endif()
    target_precompile_headers(test_${name} REUSE_FROM cuco_test_pch)
  endif()
endfunction()

# cuco_test(NAME LABELS unit LIBRARIES cuco_base): every .cc of this folder becomes test_NAME, and it
# is one ctest entry: starting a process per case costs more than most cases.
function(cuco_test name)
  cmake_parse_arguments(arg "APART" "" "LIBRARIES;LABELS;DEFINITIONS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  cuco_test_program(${name} SOURCES ${sources} LIBRARIES ${arg_LIBRARIES} DEFINITIONS ${arg_DEFINITIONS})
  if(CUCO_UNITY AND NOT arg_APART)
    set_target_properties(test_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
  add_test(NAME ${name} COMMAND test_${name} --gtest_brief=1)
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" SKIP_RETURN_CODE 77)
  if("unit" IN_LIST arg_LABELS)
    add_dependencies(unit_tests test_${name})
  endif()
endfunction()

# cuco_command_test(NAME LABELS e2e NEEDS nvcc TIMEOUT 240 COMMAND python3 run.py …): a command that
# passes with status 0. With TENTH it runs a tenth of its cases, another one for each commit.
function(cuco_command_test name)
  cmake_parse_arguments(arg "TENTH" "TIMEOUT" "LABELS;NEEDS;COMMAND" ${ARGN})
  set(start ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/support/start.py)
  if(arg_NEEDS)
    list(APPEND start --needs ${arg_NEEDS})
  endif()
  if(arg_TENTH)
    list(APPEND start --tenth)
  endif()
  list(POP_FRONT arg_COMMAND program)
  if(TARGET ${program})
    set(program $<TARGET_FILE:${program}>)
  endif()
  add_test(NAME ${name} COMMAND ${start} -- ${program} ${arg_COMMAND})
  # Those that may take long start first: where nothing has run yet, ctest knows no other times.
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT} COST ${arg_TIMEOUT}
    SKIP_RETURN_CODE 77)
endfunction()
