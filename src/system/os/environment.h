// SPDX-License-Identifier: Apache-2.0
/// \file
/// The environment as a value: read once at the edge, passed on in full view.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cuco::system {

/// Variables by name, sorted, so that two equal environments are equal in every listing.
class Environment {
 public:
  Environment() = default;
  /// That of this process, as it is now.
  [[nodiscard]] static Environment current();

  [[nodiscard]] std::optional<std::string> get(std::string_view name) const;
  Environment& set(std::string name, std::string value);

  /// The named variables, as far as they are set; everything else (keys above all) is left behind.
  [[nodiscard]] Environment only(std::span<const std::string_view> names) const;

  /// For code that a model wrote: nothing of the caller's; a fixed PATH, HOME=/tmp, LANG=C.UTF-8.
  [[nodiscard]] static Environment bare();

  /// "NAME=value", as exec wants them.
  [[nodiscard]] std::vector<std::string> entries() const;
  [[nodiscard]] bool operator==(const Environment&) const = default;

 private:
  std::map<std::string, std::string, std::less<>> variables_;
};

/// Where everything that can be made again is kept: $XDG_CACHE_HOME/cuco or ~/.cache/cuco.
[[nodiscard]] std::filesystem::path cache_folder(const Environment& environment);

}  // namespace cuco::system
