# SPDX-License-Identifier: Apache-2.0
# The tables in docs/ must be what the script makes of the lists of exports.
foreach(pair cudart:cudart cudriver:cuda-driver)
  string(REPLACE ":" ";" pair ${pair})
  list(GET pair 0 module)
  list(GET pair 1 page)
  set(table src/shims/${module}/exports.tsv)
  execute_process(COMMAND ${PYTHON} ${ROOT}/tools/cudart_exports.py docs ${ROOT}/${table}
    ${WORK}/${page}.md RESULT_VARIABLE failed)
  execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${WORK}/${page}.md ${ROOT}/docs/${page}.md
    RESULT_VARIABLE differs)
  if(failed OR differs)
    message(FATAL_ERROR "docs/${page}.md is not current: run tools/cudart_exports.py docs ${table} docs/${page}.md")
  endif()
endforeach()
