// SPDX-License-Identifier: Apache-2.0
#include "judge/whole/whole_program.h"

#include <fmt/format.h>

#include "base/toml.h"
#include "vcluster/record/element_type.h"

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

Result<std::vector<std::string>> read_words(const toml::node& node, const system::Path& file) {
  std::vector<std::string> words;
  if (!node.is_array()) return wrong(file, node, "args and flags must be lists of strings");
  for (const auto& item : *node.as_array()) {
    const auto word = item.value<std::string>();
    if (!word) return wrong(file, item, "args and flags must be strings");
    words.push_back(*word);
  }
  return words;
}

/// type, reduction and, for copies of one size, bytes.
Result<void> read_declared(std::string_view key,
                           const toml::node& node,
                           const system::Path& file,
                           DeclaredCopies& declared) {
  if (key == "type") {
    declared.type = vcluster::find_element_type(node.value_or(std::string()));
    if (!declared.type) {
      return wrong(file, node, "type must be \"fp64\", \"fp32\", \"fp16\", \"bf16\" or \"exact\"");
    }
    return {};
  }
  const auto number = node.value<std::int64_t>();
  if (!number || *number < 1) {
    return wrong(file, node, fmt::format("{} must be a whole number from 1 on", key));
  }
  if (key == "bytes") {
    declared.bytes = static_cast<std::uint64_t>(*number);
  } else {
    declared.reduction = static_cast<double>(*number);
  }
  return {};
}

Result<void> read_copies(const toml::node& node, const system::Path& file, WholeProgram& program) {
  const auto* list = node.as_array();
  if (list == nullptr) return wrong(file, node, "copies are tables: [[whole.copies]]");
  for (const auto& item : *list) {
    const auto* table = item.as_table();
    if (table == nullptr) return wrong(file, item, "copies are tables: [[whole.copies]]");
    DeclaredCopies declared;
    for (const auto& [key, value] : *table) {
      if (key.str() != "bytes" && key.str() != "type" && key.str() != "reduction") {
        return wrong(file, value, "[[whole.copies]] has three keys: bytes, type and reduction");
      }
      CUCO_TRY(read_declared(key.str(), value, file, declared));
    }
    if (!declared.bytes) return wrong(file, item, "which copies? bytes is missing");
    program.rules.declared.push_back(declared);
  }
  return {};
}

Result<void> read_keys(const toml::table& whole, const system::Path& file, WholeProgram& program) {
  DeclaredCopies all;
  for (const auto& [key, node] : whole) {
    if (key.str() == "args") {
      CUCO_TRY_ASSIGN(program.args, read_words(node, file));
    } else if (key.str() == "flags") {
      CUCO_TRY_ASSIGN(const auto words, read_words(node, file));
      for (const std::string& word : words)
        program.flags.push_back(resolved(word, file));
    } else if (key.str() == "exact") {
      if (!node.is_boolean()) return wrong(file, node, "exact must be true or false");
      program.rules.exact = node.value_or(false);
    } else if (key.str() == "copies") {
      CUCO_TRY(read_copies(node, file, program));
    } else if (key.str() == "type" || key.str() == "reduction") {
      CUCO_TRY(read_declared(key.str(), node, file, all));
    } else {
      return wrong(file, node,
                   "[whole] has the keys args, flags, exact, type, reduction and copies");
    }
  }
  if (all.type || all.reduction) program.rules.declared.push_back(all);
  return {};
}

}  // namespace

std::string_view usual_topology(int ranks) {
  return ranks == 1 ? "single" : ranks <= 4 ? "nvlink4" : ranks <= 8 ? "nvlink8" : "ib2x8";
}

std::vector<std::string> compiler_flags(const std::string& source,
                                        const system::Path& file,
                                        const std::vector<std::string>& includes,
                                        const std::vector<std::string>& flags) {
  std::vector<std::string> all;
  std::error_code code;
  for (const auto& folder : includes)
    all.push_back("-I" + std::filesystem::absolute(folder).lexically_normal().string());
  const auto beside = std::filesystem::absolute(file).parent_path();
  bool has_headers_beside = false;
  for (std::size_t at = source.find("#include \""); at != std::string::npos;
       at = source.find("#include \"", at + 1)) {
    const std::size_t begin = at + 10;
    const std::string header = source.substr(begin, source.find('"', begin) - begin);
    has_headers_beside = has_headers_beside || std::filesystem::exists(beside / header, code);
  }
  if (has_headers_beside) all.push_back("-I" + beside.string());
  all.insert(all.end(), flags.begin(), flags.end());
  return all;
}

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
  program.rules.ranks = program.ranks;
  CUCO_TRY(read_keys(*whole, file, program));
  return std::optional(std::move(program));
}

}  // namespace cuco::judge
