# SPDX-License-Identifier: Apache-2.0
# One static library per folder of src/.

# A third of a file's compile time goes into the same few headers. What is built from scratch (the
# sanitizers in CI, a first ./test) precompiles them; a desk does not, so that ccache is shared between
# worktrees and every source is seen to include what it needs. A target with other flags falls back
# without a word.
option(CUCO_PCH "precompile the standard library's and fmt's headers" OFF)
set(CMAKE_PCH_WARN_INVALID OFF)
set(CUCO_PCH_HEADERS <algorithm> <array> <chrono> <cstdint> <deque> <filesystem> <functional> <map> <memory>
  <optional> <span> <string> <string_view> <unordered_map> <utility> <variant> <vector> <fmt/format.h>)

add_library(cuco_options INTERFACE)
target_compile_options(cuco_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
  -Wno-missing-field-initializers  # designated initialisers leave the rest at its default, on purpose
  # g++ 12 is wrong about std::optional and std::variant at -O2; the sanitizers and clang-tidy are not.
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<CONFIG:Release>>:-Wno-maybe-uninitialized>
  -fno-omit-frame-pointer $<$<BOOL:${CUCO_WERROR}>:-Werror>)
if(CUCO_PCH AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # g++ 12 forgets that what comes from a precompiled header is the standard library's, and its
  # optimiser guesses wrongly about that. Its guesses stay warnings; what the language says is an error.
  foreach(guess array-bounds dangling-pointer format-overflow format-truncation free-nonheap-object
          maybe-uninitialized nonnull restrict stringop-overflow stringop-overread stringop-truncation
          uninitialized use-after-free)
    target_compile_options(cuco_options INTERFACE -Wno-error=${guess})
  endforeach()
endif()
if(CUCO_SANITIZE)
  # g++ 12 sees uninitialised reads in the standard library once sanitizers have rewritten it.
  target_compile_options(cuco_options INTERFACE -fsanitize=${CUCO_SANITIZE} -fno-sanitize-recover=all
    -Wno-maybe-uninitialized)
  target_link_options(cuco_options INTERFACE -fsanitize=${CUCO_SANITIZE})
endif()

# cuco_module(NAME DEPENDS a b LIBRARIES fmt::fmt APART c.cc|ALL): every .cc of this folder becomes cuco_NAME,
# and every header is compiled alone by the target check_headers.
function(cuco_module name)
  cmake_parse_arguments(arg "" "" "DEPENDS;LIBRARIES;EXCLUDE;APART" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  foreach(pattern IN LISTS arg_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX ${pattern})
  endforeach()
  list(TRANSFORM arg_DEPENDS PREPEND cuco_)
  add_library(cuco_${name} STATIC ${sources})
  target_include_directories(cuco_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(cuco_${name} PUBLIC ${arg_DEPENDS} ${arg_LIBRARIES} PRIVATE cuco_options)
  if(CUCO_PCH AND name STREQUAL "base")
    target_precompile_headers(cuco_base PRIVATE ${CUCO_PCH_HEADERS})
  elseif(CUCO_PCH)
    target_precompile_headers(cuco_${name} REUSE_FROM cuco_base)
  endif()
  if(CUCO_UNITY AND CUCO_SANITIZE AND NOT arg_APART STREQUAL ALL)
    # The sanitizers' builds compile up to eight sources as one, but for those in APART, whose
    # helpers have the names of others. The release build compiles all sources apart, which shows
    # that each includes what it needs.
    set_target_properties(cuco_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    set_source_files_properties(${arg_APART} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
  cuco_check_headers(${name} ${arg_EXCLUDE})
endfunction()

# Compiles each header of this folder on its own: a header that leans on its includer fails. One
# that has a source of the same name is included first there, which shows the same.
function(cuco_check_headers name)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.h)
  # Read by clang as CUDA, or compiled only where libclang is: their own targets check them.
  list(FILTER headers EXCLUDE REGEX "/analysis/(helper|shim)/")
  foreach(pattern IN LISTS ARGN)
    list(FILTER headers EXCLUDE REGEX ${pattern})
  endforeach()
  set(probes)
  foreach(header IN LISTS headers)
    string(REGEX REPLACE "\\.h$" ".cc" namesake ${header})
    if(EXISTS ${namesake})
      continue()
    endif()
    file(RELATIVE_PATH relative ${CMAKE_SOURCE_DIR}/src ${header})
    string(MAKE_C_IDENTIFIER ${relative} identifier)
    set(probe ${CMAKE_BINARY_DIR}/headers/${identifier}.cc)
    file(CONFIGURE OUTPUT ${probe} CONTENT "#include \"${relative}\"\n#include \"${relative}\"\n")
    list(APPEND probes ${probe})
  endforeach()
  if(NOT TARGET check_headers)
    add_custom_target(check_headers)
  endif()
  if(probes)
    add_library(cuco_headers_${name} OBJECT EXCLUDE_FROM_ALL ${probes})
    target_link_libraries(cuco_headers_${name} PRIVATE cuco_${name} cuco_options)
    target_compile_options(cuco_headers_${name} PRIVATE -fsyntax-only -Wno-unused)
    add_dependencies(check_headers cuco_headers_${name})
  endif()
endfunction()
