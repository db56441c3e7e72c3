# SPDX-License-Identifier: Apache-2.0
# Writes what `cuco --version --verbose` says of the build into OUTPUT, as a header, if it has changed.
# Run with cmake -P at every build: the commit is not known before.
find_program(GIT git)
set(commit "unknown")
set(date "unknown")
if(GIT AND EXISTS ${SOURCE}/.git)
  execute_process(COMMAND ${GIT} -C ${SOURCE} log -1 "--format=%h %cs" HEAD OUTPUT_VARIABLE last
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  execute_process(COMMAND ${GIT} -C ${SOURCE} diff --quiet HEAD RESULT_VARIABLE changed ERROR_QUIET)
  if(NOT failed)
    string(REPLACE " " ";" last "${last}")
    list(GET last 0 commit)
    list(GET last 1 date)
    if(changed)
      string(APPEND commit ", changed")
    endif()
  endif()
endif()

set(cuda "none")
if(NVCC)
  execute_process(COMMAND ${NVCC} --version OUTPUT_VARIABLE text ERROR_QUIET)
  if(text MATCHES "V([0-9.]+)")
    set(cuda "${CMAKE_MATCH_1}")
  endif()
endif()
set(nccl "none")
if(EXISTS "${NCCL_HEADER}")
  file(STRINGS ${NCCL_HEADER} lines REGEX "^#define NCCL_(MAJOR|MINOR|PATCH) ")
  string(REGEX REPLACE "[^;]*NCCL_[A-Z]+ +([0-9]+)[^;]*" "\\1" lines "${lines}")
  string(REPLACE ";" "." nccl "${lines}")
endif()

set(text "// Written by cmake/BuildInformation.cmake.
#define CUCO_BUILD_COMMIT \"${commit}\"
#define CUCO_BUILD_DATE \"${date}\"
#define CUCO_BUILD_COMPILER \"${COMPILER}\"
#define CUCO_BUILD_TYPE \"${TYPE}\"
#define CUCO_BUILD_CUDA \"${cuda}\"
#define CUCO_BUILD_NCCL \"${nccl}\"
")
set(before "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} before)
endif()
if(NOT text STREQUAL before)
  file(WRITE ${OUTPUT} "${text}")
endif()
