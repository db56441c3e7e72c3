// SPDX-License-Identifier: Apache-2.0
/// \file
/// The configuration: cuco.toml of the project over the user's over defaults, then CUCO_…
/// variables, then --set. Every value knows where it came from.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cli/config/config_file.h"
#include "system/os/environment.h"
#include "system/os/files.h"

namespace cuco::cli {

enum class ConfigType {
  Text,
  Integer,
  Number,
  Flag,
  Choice,
  Duration,  ///< "90s", "30m", "2h".
  Path,
  Variable,  ///< The name of an environment variable that holds a secret.
  List,      ///< ["a", "b c"] in a file; a 'b c' (quoted as in a shell) elsewhere.
};

/// One key that may be set. The table of them is in config_keys.cc.
struct ConfigKey {
  std::string_view name;
  ConfigType type;
  std::string_view fallback;  ///< The default, as text.
  std::string_view help;
  std::string_view choices;  ///< "a|b|c" for Choice.
};

[[nodiscard]] std::span<const ConfigKey> config_keys();

/// "CUCO_SEARCH_BUDGET" for "search.budget".
[[nodiscard]] std::string variable_of(std::string_view key);

/// Seconds of "90s", "1.5m", "2h", "1d"; nothing if it is not a duration.
[[nodiscard]] std::optional<double> parse_duration(std::string_view text);

/// What is wrong with this value for this key; nothing if it is right. Never repeats a value that
/// may be a secret.
[[nodiscard]] std::optional<std::string> complaint_about(const ConfigKey& key,
                                                         std::string_view value);

/// An effective value.
struct Setting {
  std::string value;
  std::string origin;  ///< "default", "cuco.toml:3", "CUCO_SEARCH_SEED" or "--set".
};

/// Where values may come from, lowest first. Files are given with their text, so that the layering
/// can be tested without a disk.
struct ConfigSources {
  struct File {
    std::string name;
    std::string text;
  };
  std::vector<File> files;
  system::Environment environment;
  std::vector<std::pair<std::string, std::string>> overrides;
};

/// Every key with its effective value.
class Config {
 public:
  /// An error names the place, the key and the nearest right one.
  static Result<Config> from(const ConfigSources& sources);

  /// Asking for a key that is not in the table is a bug.
  [[nodiscard]] const Setting& setting(std::string_view key) const;
  [[nodiscard]] const std::string& text(std::string_view key) const { return setting(key).value; }
  [[nodiscard]] std::int64_t integer(std::string_view key) const;
  [[nodiscard]] double number(std::string_view key) const;
  [[nodiscard]] bool flag(std::string_view key) const { return text(key) == "true"; }
  [[nodiscard]] double seconds(std::string_view key) const;
  [[nodiscard]] std::vector<std::string> words(std::string_view key) const;

 private:
  Result<void> apply(std::string_view key, std::string value, std::string origin);

  std::map<std::string, Setting, std::less<>> settings_;
};

/// The files that count here: the user's, then cuco.toml of `folder` or the nearest folder above.
Result<std::vector<ConfigSources::File>> find_config_files(const system::Path& folder,
                                                           const system::Environment& environment);

}  // namespace cuco::cli
