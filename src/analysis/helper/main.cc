// SPDX-License-Identifier: Apache-2.0
// cuco-analyse NAME CUDA [INCLUDE|-DNAME…]: reads CUDA source on standard input, writes its syntax
// (JSON, see analysis/syntax.h) to standard output. Touches no file but headers.
#include <cstdio>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <clang-c/Index.h>
#include <nlohmann/json.hpp>

#include "analysis/helper/tree.h"
#include "analysis/helper/tree_writer.h"

namespace cuco::analysis {

std::optional<std::string_view> resource(std::string_view name);

namespace {

std::string read_input() {
  std::string text;
  char buffer[1 << 16];
  for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, stdin)) > 0;) {
    text.append(buffer, n);
  }
  return text;
}

std::vector<std::string> parser_options(const std::string& cuda,
                                        const std::vector<std::string>& includes) {
  std::vector<std::string> options = {"-x",
                                      "cuda",
                                      "--cuda-path=" + cuda,
                                      "--cuda-gpu-arch=sm_90",
                                      "--cuda-host-only",
                                      "-std=gnu++17",
                                      "-Wno-everything",
                                      "-isystem",
                                      kShimFolder,
                                      "-include",
                                      std::string(kShimFolder) + "/cuco_cuda13.h",
                                      "-isystem",
                                      cuda + "/include/cccl",
                                      "-resource-dir",
                                      "/usr/lib/llvm-19/lib/clang/19",
                                      "-ferror-limit=20"};
  for (const auto& include : includes)
    options.push_back(include.starts_with("-") ? include : "-I" + include);
  return options;
}

CXUnsavedFile unsaved(const std::string& path, std::string_view text) {
  return {path.c_str(), text.data(), text.size()};
}

int run(const std::string& name,
        const std::string& cuda,
        const std::vector<std::string>& includes) {
  const auto text = read_input();
  const auto options = parser_options(cuda, includes);
  std::vector<const char*> pointers;
  for (const auto& option : options)
    pointers.push_back(option.c_str());
  const std::string shim = std::string(kShimFolder) + "/cuco_cuda13.h";
  const std::string texture = std::string(kShimFolder) + "/texture_fetch_functions.h";
  CXUnsavedFile files[] = {unsaved(name, text), unsaved(shim, *resource("cuco_cuda13.h")),
                           unsaved(texture, *resource("texture_fetch_functions.h"))};
  const auto index = clang_createIndex(0, 0);
  CXTranslationUnit unit = nullptr;
  const auto status = clang_parseTranslationUnit2(
      index, name.c_str(), pointers.data(), static_cast<int>(pointers.size()), files,
      std::size(files), CXTranslationUnit_KeepGoing, &unit);
  if (status != CXError_Success) {
    std::fprintf(stderr, "libclang failed with code %d\n", static_cast<int>(status));
    return 1;
  }
  const auto json = TreeWriter(unit, text).write();
  const auto out = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::fwrite(out.data(), 1, out.size(), stdout);
  clang_disposeTranslationUnit(unit);
  clang_disposeIndex(index);
  return 0;
}

}  // namespace
}  // namespace cuco::analysis

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: cuco-analyse NAME CUDA [INCLUDE...] < source\n");
    return 2;
  }
  // Behind a dash libclang would look for an option.
  const std::string name = argv[1][0] == '-' ? std::string("./") + argv[1] : argv[1];
  return cuco::analysis::run(name, argv[2], std::vector<std::string>(argv + 3, argv + argc));
}
