// SPDX-License-Identifier: Apache-2.0
/// \file
/// Names of nested scopes: an inner declaration hides an outer one until its scope closes.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cuco::ptx {

/// What a name of a function stands for.
struct Binding {
  enum class Kind : std::uint8_t {
    Register,       ///< index
    RegisterRange,  ///< `%r<12>`, bound as "%r": registers index … index + count - 1
    RegisterGroup,  ///< `.reg .v4`: count registers from index on
    Variable,       ///< index into Function::variables
    Symbol,         ///< index into Module::symbols: a .global declared in a function
    Prototype,      ///< index into Function::prototypes
    BranchTargets,  ///< index into Function::branch_targets
  };
  Kind kind = Kind::Register;
  std::uint32_t index = 0;
  std::uint32_t count = 1;
  std::uint32_t depth = 0;  ///< Of the scope; set by bind.
};

/// A map of names with a scope stack. Names are views: the text must outlive it.
class ScopedNames {
 public:
  void open() { marks_.push_back(entries_.size()); }
  void close();
  void clear();
  void bind(std::string_view name, Binding binding);
  /// Returns the innermost binding, or null. Valid until the next bind or close.
  [[nodiscard]] const Binding* find(std::string_view name) const;
  /// The innermost range that has register `number`: a short range hides only a part of a long one.
  [[nodiscard]] const Binding* find_range(std::string_view prefix, std::uint32_t number) const;

 private:
  struct Entry {
    std::string_view name;
    Binding binding;
    std::uint32_t hidden;  ///< 1 + the entry that this one hides; 0: none.
  };
  std::vector<Entry> entries_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::string_view, std::uint32_t> innermost_;  ///< 1 + entry; 0: none.
};

}  // namespace cuco::ptx
