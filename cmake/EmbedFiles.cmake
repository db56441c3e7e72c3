# SPDX-License-Identifier: Apache-2.0
# Writes the FILES as byte arrays into OUTPUT. Run by cuco_embed with cmake -P.
set(arrays)
set(rows)
set(index 0)
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME)
  file(READ ${file} bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
  string(APPEND arrays "constexpr char kFile${index}[] = {${bytes}0};\n")
  string(APPEND rows "  if (name == \"${name}\") return std::string_view(kFile${index}, sizeof kFile${index} - 1);\n")
  math(EXPR index "${index} + 1")
endforeach()
file(WRITE ${OUTPUT} "#include <optional>
#include <string_view>
namespace cuco::${NAMESPACE} {
std::optional<std::string_view> resource(std::string_view name);
namespace {
${arrays}}  // namespace
std::optional<std::string_view> resource(std::string_view name) {
${rows}  return std::nullopt;
}
}  // namespace cuco::${NAMESPACE}
")
