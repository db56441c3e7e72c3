// SPDX-License-Identifier: Apache-2.0
#include "workload/table_reader.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"

namespace cuco::workload {

void Faults::add(std::uint32_t line, std::string_view what) {
  lines_.emplace_back(line, fmt::format("{}:{}: {}", file_, line, what));
}

Error Faults::error() {
  std::ranges::stable_sort(lines_, {}, [](const auto& line) { return line.first; });
  std::vector<std::string> texts;
  for (auto& [line, text] : lines_)
    texts.push_back(std::move(text));
  return {ErrorKind::InvalidInput, join(texts, "\n")};
}

void Reader::wrong(const toml::node* node, std::string_view what) const {
  const auto& source = node != nullptr ? node->source() : table_->source();
  faults_->add(source.begin.line, fmt::format("{}{}", where_.empty() ? "" : where_ + ": ", what));
}

void Reader::allow(std::initializer_list<std::string_view> names) {
  const std::vector<std::string> known(names.begin(), names.end());
  for (const auto& [key, node] : *table_) {
    if (std::ranges::find(known, key.str()) != known.end()) continue;
    const auto near = nearest(key.str(), known);
    wrong(&node, fmt::format("unknown key: {}{}", key.str(),
                             near ? fmt::format(" (did you mean {})", *near) : ""));
    if (near) meant_.insert(*near);
  }
}

std::string Reader::text(std::string_view key) const {
  const auto* node = table_->get(key);
  const auto value = node != nullptr ? node->value<std::string>() : std::nullopt;
  if (!value) miss(node, key, "must be a string");
  return value.value_or("");
}

double Reader::number(std::string_view key, double least, double fallback) const {
  const auto* node = table_->get(key);
  if (node == nullptr && !std::isnan(fallback)) return fallback;
  const auto value = node != nullptr ? node->value<double>() : std::nullopt;
  if (value && std::isfinite(*value) && *value >= least) return *value;
  miss(node, key, fmt::format("must be a number, at least {}", least));
  return least;
}

int Reader::count(std::string_view key, int most, int fallback) const {
  const auto* node = table_->get(key);
  if (node == nullptr && fallback > 0) return fallback;
  const auto value = node != nullptr ? node->value<std::int64_t>() : std::nullopt;
  if (value && *value >= 1 && *value <= most) return static_cast<int>(*value);
  miss(node, key, fmt::format("must be an integer from 1 to {}", most));
  return 1;
}

std::vector<std::string> Reader::texts(std::string_view key) const {
  std::vector<std::string> values;
  const auto* node = table_->get(key);
  const auto* list = node != nullptr ? node->as_array() : nullptr;
  if (list == nullptr) {
    miss(node, key, "must be a list of strings");
    return values;
  }
  for (const auto& item : *list) {
    const auto value = item.value<std::string>();
    if (!value) wrong(&item, fmt::format("'{}' must be a list of strings", key));
    values.push_back(value.value_or(""));
  }
  return values;
}

std::vector<Reader> Reader::tables(std::string_view key) const {
  std::vector<Reader> readers;
  const auto* node = table_->get(key);
  if (node == nullptr) return readers;
  if (const auto* table = node->as_table()) {
    readers.emplace_back(*table, *faults_, std::string(key));
  } else if (const auto* list = node->as_array()) {
    for (const auto& item : *list) {
      const auto* entry = item.as_table();
      if (entry == nullptr) wrong(&item, fmt::format("'{}' must be tables", key));
      if (entry == nullptr) continue;
      readers.emplace_back(*entry, *faults_, fmt::format("{} {}", key, readers.size() + 1));
    }
  } else {
    wrong(node, fmt::format("'{}' must be a table", key));
  }
  return readers;
}

void Reader::miss(const toml::node* node, std::string_view key, std::string_view what) const {
  if (node == nullptr && meant_.contains(std::string(key))) return;
  wrong(node, node == nullptr ? fmt::format("'{}' is missing; it {}", key, what)
                              : fmt::format("'{}' {}", key, what));
}

}  // namespace cuco::workload
