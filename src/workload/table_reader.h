// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tables of workload.toml, key by key. Nothing stops at the first mistake: what cannot be read is
/// noted with its line, and read as something harmless.
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/toml.h"

namespace cuco::workload {

/// What is wrong with a file, by line.
class Faults {
 public:
  explicit Faults(std::string file) : file_(std::move(file)) {}

  void add(std::uint32_t line, std::string_view what);
  /// A line that names its own file.
  void add_other(std::string line) { lines_.emplace_back(~0U, std::move(line)); }
  [[nodiscard]] bool empty() const { return lines_.empty(); }
  /// All of it, in the order of the lines.
  [[nodiscard]] Error error();

 private:
  std::string file_;
  std::vector<std::pair<std::uint32_t, std::string>> lines_;
};

class Reader {
 public:
  Reader(const toml::table& table, Faults& faults, std::string where)
      : table_(&table), faults_(&faults), where_(std::move(where)) {}

  void wrong(const toml::node* node, std::string_view what) const;
  /// Other keys are mistakes; a known one that was probably meant is not missed as well.
  void allow(std::initializer_list<std::string_view> names);

  [[nodiscard]] std::string text(std::string_view key) const;
  /// Without a fallback the key must be there.
  [[nodiscard]] double number(std::string_view key, double least, double fallback = NAN) const;
  [[nodiscard]] int count(std::string_view key, int most, int fallback = 0) const;
  [[nodiscard]] std::vector<std::string> texts(std::string_view key) const;
  /// The tables of [[key]], or of [key]; an absent one gives none.
  [[nodiscard]] std::vector<Reader> tables(std::string_view key) const;

  [[nodiscard]] const toml::table& table() const { return *table_; }
  [[nodiscard]] const toml::node* node(std::string_view key) const { return table_->get(key); }
  [[nodiscard]] bool was_meant(const std::string& key) const { return meant_.contains(key); }

 private:
  void miss(const toml::node* node, std::string_view key, std::string_view what) const;

  const toml::table* table_;
  Faults* faults_;
  std::string where_;
  std::set<std::string> meant_;
};

}  // namespace cuco::workload
