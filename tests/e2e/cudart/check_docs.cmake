# SPDX-License-Identifier: Apache-2.0
# docs/cudart.md must be what the script makes of the table.
execute_process(COMMAND ${PYTHON} ${ROOT}/tools/cudart_exports.py docs ${ROOT}/src/cudart/exports.tsv
  ${WORK}/cudart.md RESULT_VARIABLE failed)
execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${WORK}/cudart.md ${ROOT}/docs/cudart.md
  RESULT_VARIABLE differs)
if(failed OR differs)
  message(FATAL_ERROR "docs/cudart.md is not current: run tools/cudart_exports.py docs src/cudart/exports.tsv docs/cudart.md")
endif()
