// SPDX-License-Identifier: Apache-2.0
#include "judge/whole/whole_program.h"

#include <fmt/format.h>

#include "base/toml.h"

namespace cuco::judge {
namespace {

Error wrong(const system::Path& file, const toml::node& node, std::string_view what) {
  return {ErrorKind::InvalidInput,
          fmt::format("{}:{}: {}", file.string(), node.source().begin.line, what)};
}

/// A folder that a flag names is meant from where workload.toml lies.
std::string resolved(const std::string& flag, const system::Path& file) {
  if (!flag.starts_with("-I") && !flag.starts_with("-L")) return flag;
  const system::Path folder = flag.substr(2);
  if (folder.empty() || folder.is_absolute()) return flag;
  return flag.substr(0, 2) +
         std::filesystem::absolute(file.parent_path() / folder).lexically_normal().string();
}

Result<void> read_lists(const toml::table& whole, const system::Path& file, WholeProgram& program) {
  for (const auto& [key, node] : whole) {
    const auto* list = node.as_array();
    const bool flags = key.str() == "flags";
    if ((key.str() != "args" && !flags) || list == nullptr) {
      return wrong(file, node, "[whole] has two keys: args and flags, lists of strings");
    }
    for (const auto& item : *list) {
      const auto word = item.value<std::string>();
      if (!word) return wrong(file, item, "args and flags must be strings");
      (flags ? program.flags : program.args).push_back(flags ? resolved(*word, file) : *word);
    }
  }
  return {};
}

}  // namespace

Result<std::optional<WholeProgram>> load_whole_program(const system::Path& folder) {
  const system::Path file = folder / "workload.toml";
  CUCO_TRY_ASSIGN(const std::string text, system::read_file(file, 1U << 20U));
  CUCO_TRY_ASSIGN(const toml::table table, parse_toml(text, file.string()));
  const auto* whole = table["whole"].as_table();
  if (whole == nullptr) return std::optional<WholeProgram>();
  WholeProgram program;
  program.name = table["name"].value_or(std::string());
  program.summary = table["summary"].value_or(std::string());
  program.ranks = static_cast<int>(table["ranks"].value_or(std::int64_t{0}));
  program.topology = table["topology"].value_or(std::string());
  program.seed = folder / "program.cu";
  if (program.name.empty() || program.topology.empty() || program.ranks < 1 || program.ranks > 64) {
    return wrong(file, table, "needs name, topology and ranks from 1 to 64");
  }
  CUCO_TRY(read_lists(*whole, file, program));
  return std::optional(std::move(program));
}

}  // namespace cuco::judge
