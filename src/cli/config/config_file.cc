// SPDX-License-Identifier: Apache-2.0
#include "cli/config/config_file.h"

#include <optional>

#include <fmt/format.h>

#include "base/toml.h"
#include "base/words.h"

namespace cuco::cli {
namespace {

/// The words of a list of texts; nothing if something else is in it.
std::optional<std::vector<std::string>> words_in(const toml::node& node) {
  const toml::array* list = node.as_array();
  if (list == nullptr) return std::nullopt;
  std::vector<std::string> words;
  for (const toml::node& item : *list) {
    const auto text = item.value_exact<std::string>();
    if (!text) return std::nullopt;
    words.push_back(*text);
  }
  return words;
}

FileEntry entry_of(std::string key, const toml::node& node) {
  FileEntry entry{.key = std::move(key), .line = node.source().begin.line};
  if (const auto text = node.value_exact<std::string>()) {
    entry.kind = FileEntry::Kind::Text;
    entry.value = *text;
  } else if (const auto integer = node.value_exact<std::int64_t>()) {
    entry.kind = FileEntry::Kind::Integer;
    entry.value = std::to_string(*integer);
  } else if (const auto number = node.value_exact<double>()) {
    entry.kind = FileEntry::Kind::Number;
    entry.value = fmt::format("{}", *number);
  } else if (const auto flag = node.value_exact<bool>()) {
    entry.kind = FileEntry::Kind::Flag;
    entry.value = *flag ? "true" : "false";
  } else if (const auto words = words_in(node)) {
    entry.kind = FileEntry::Kind::List;
    entry.value = join_words(*words);
  }
  return entry;
}

void flatten(const toml::table& table, const std::string& prefix, std::vector<FileEntry>& entries) {
  for (const auto& [name, node] : table) {
    std::string key = prefix + std::string(name.str());
    if (const toml::table* inner = node.as_table()) {
      flatten(*inner, key + ".", entries);
    } else {
      entries.push_back(entry_of(std::move(key), node));
    }
  }
}

}  // namespace

Result<std::vector<FileEntry>> parse_config_file(std::string_view text, std::string_view name) {
  CUCO_TRY_ASSIGN(const toml::table table, parse_toml(text, name));
  std::vector<FileEntry> entries;
  flatten(table, "", entries);
  return entries;
}

}  // namespace cuco::cli
