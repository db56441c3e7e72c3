// SPDX-License-Identifier: Apache-2.0
// Real modules, as nvcc wrote them; see the .cu beside each .ptx of tests/data/ptx.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ptx/parse/parse.h"

namespace cuco::ptx {
namespace {

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::filesystem::path> files_of(const std::string& folder) {
  std::vector<std::filesystem::path> result;
  const auto root = std::filesystem::path(CUCO_SOURCE_DIR) / folder;
  if (!std::filesystem::exists(root)) return result;
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    result.push_back(entry.path());
  }
  return result;
}

TEST(Corpus, RealModulesParseAndEveryWordIsKnown) {
  std::size_t modules = 0;
  for (const auto& path : files_of("tests/data/ptx")) {
    if (path.extension() != ".ptx") continue;
    ++modules;
    Result<Module> module = parse(read(path));
    ASSERT_TRUE(module) << path << ": " << module.error().message();
    for (const Function& function : module->functions) {
      for (const Instruction& instruction : function.instructions) {
        EXPECT_NE(instruction.opcode, Opcode::Unknown) << path << ": " << instruction.text;
        EXPECT_FALSE(instruction.has(Modifier::Unknown)) << path << ": " << instruction.text;
      }
    }
    std::vector<Module> alone;
    alone.push_back(*std::move(module));
    EXPECT_TRUE(link(std::move(alone))) << path;
  }
  EXPECT_GE(modules, 3U);
}

TEST(Corpus, EveryPrefixOfAModuleIsRefusedOrParsed) {
  const std::string text =
      read(std::filesystem::path(CUCO_SOURCE_DIR) / "tests/data/ptx/language.ptx");
  for (std::size_t size = 0; size < text.size(); size += 97) {
    const auto module = parse(std::string_view(text).substr(0, size));
    EXPECT_TRUE(module || module.error().message().starts_with("line "));
  }
}

TEST(Corpus, FuzzedTextsAreHandled) {
  for (const auto& path : files_of("tests/fuzz/corpus/ptx_parser")) {
    const auto module = parse(read(path));
    EXPECT_TRUE(module || module.error().message().starts_with("line ")) << path;
  }
}

}  // namespace
}  // namespace cuco::ptx
