# SPDX-License-Identifier: Apache-2.0
# Text files that travel inside a binary: templates, prompts, shim headers.

# cuco_embed(TARGET NAMESPACE FILES…): adds to TARGET a function
#   std::optional<std::string_view> cuco::NAMESPACE::resource(std::string_view name);
# that gives each file's text by its name without folders. Declare it by hand where it is used.
function(cuco_embed target namespace)
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/${target}_resources.cc)
  set(files)
  foreach(file IN LISTS ARGN)
    file(REAL_PATH ${file} absolute BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    list(APPEND files ${absolute})
  endforeach()
  add_custom_command(OUTPUT ${generated}
    COMMAND ${CMAKE_COMMAND} -D OUTPUT=${generated} -D NAMESPACE=${namespace} -D "FILES=${files}"
      -P ${CMAKE_SOURCE_DIR}/cmake/EmbedFiles.cmake
    DEPENDS ${files} ${CMAKE_SOURCE_DIR}/cmake/EmbedFiles.cmake
    COMMENT "Embedding the texts of ${target}" VERBATIM)
  target_sources(${target} PRIVATE ${generated})
endfunction()
