// SPDX-License-Identifier: Apache-2.0
#include "ptx/parse/scoped_names.h"

#include "base/assert.h"

namespace cuco::ptx {

void ScopedNames::close() {
  CUCO_ASSERT(!marks_.empty());
  while (entries_.size() > marks_.back()) {
    const Entry& entry = entries_.back();
    innermost_.find(entry.name)->second = entry.hidden;
    entries_.pop_back();
  }
  marks_.pop_back();
}

void ScopedNames::clear() {
  entries_.clear();
  marks_.clear();
  innermost_.clear();
}

void ScopedNames::bind(std::string_view name, Binding binding) {
  binding.depth = static_cast<std::uint32_t>(marks_.size());
  std::uint32_t& innermost = innermost_[name];
  entries_.push_back({name, binding, innermost});
  innermost = static_cast<std::uint32_t>(entries_.size());
}

const Binding* ScopedNames::find(std::string_view name) const {
  const auto found = innermost_.find(name);
  if (found == innermost_.end() || found->second == 0) return nullptr;
  return &entries_[found->second - 1].binding;
}

const Binding* ScopedNames::find_range(std::string_view prefix, std::uint32_t number) const {
  constexpr int kMaxHidden = 64;  // As deep as scopes go; keeps hostile text linear.
  const auto found = innermost_.find(prefix);
  std::uint32_t at = found == innermost_.end() ? 0 : found->second;
  for (int i = 0; i < kMaxHidden && at != 0; ++i) {
    const Entry& entry = entries_[at - 1];
    if (number < entry.binding.count) return &entry.binding;
    at = entry.hidden;
  }
  return nullptr;
}

}  // namespace cuco::ptx
