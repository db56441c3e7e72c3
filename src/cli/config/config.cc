// SPDX-License-Identifier: Apache-2.0
#include "cli/config/config.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "base/assert.h"
#include "base/text.h"
#include "base/words.h"

namespace cuco::cli {
namespace {

template <typename T>
std::optional<T> number_in(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, value);
  if (text.empty() || failure != std::errc() || rest != end) return std::nullopt;
  return value;
}

const ConfigKey* find_key(std::string_view name) {
  const auto found = std::ranges::find(config_keys(), name, &ConfigKey::name);
  return found == config_keys().end() ? nullptr : &*found;
}

/// Whether a key accepts this kind of TOML value. complaint_about() checks a text further.
bool takes(ConfigType type, FileEntry::Kind kind) {
  switch (type) {
    case ConfigType::Integer:
      return kind == FileEntry::Kind::Integer;
    case ConfigType::Number:
      return kind == FileEntry::Kind::Number || kind == FileEntry::Kind::Integer;
    case ConfigType::Flag:
      return kind == FileEntry::Kind::Flag;
    case ConfigType::List:
      return kind == FileEntry::Kind::List || kind == FileEntry::Kind::Text;
    default:
      return kind == FileEntry::Kind::Text;
  }
}

std::string_view expected_by(const ConfigKey& key) {
  switch (key.type) {
    case ConfigType::Integer:
      return "an integer";
    case ConfigType::Number:
      return "a number";
    case ConfigType::Flag:
      return "true or false";
    case ConfigType::Duration:
      return "a duration like \"90s\", \"30m\" or \"2h\"";
    case ConfigType::Variable:
      return "the name of an environment variable, like \"MY_KEY\" (never the key itself)";
    case ConfigType::List:
      return "a list like [\"a\", \"b c\"], or a text with quotes as in a shell: a 'b c'";
    default:
      return "a string";
  }
}

/// Upper case only: a key pasted in place of its variable's name must not pass.
bool is_variable_name(std::string_view text) {
  return !text.empty() && text.size() <= 64 &&
         (std::isdigit(static_cast<unsigned char>(text[0])) == 0) &&
         std::ranges::all_of(text, [](unsigned char c) {
           return std::isupper(c) != 0 || std::isdigit(c) != 0 || c == '_';
         });
}

/// Somebody who invents a key for a secret is about to commit it to a file.
std::string unknown_key(std::string_view name) {
  std::string message = fmt::format("unknown key '{}'", name);
  if (name.find("key") != std::string_view::npos || name.find("token") != std::string_view::npos ||
      name.find("secret") != std::string_view::npos) {
    return message + "; never write secrets here: name their variable with llm.key_variable";
  }
  std::vector<std::string> names;
  for (const ConfigKey& key : config_keys())
    names.emplace_back(key.name);
  if (const auto near = nearest(name, names)) {
    return message + fmt::format(" (did you mean '{}'?)", *near);
  }
  return message + " (list all with: cuco config)";
}

Error at(std::string_view origin, std::string_view what) {
  return {ErrorKind::InvalidInput, fmt::format("{}: {}", origin, what)};
}

}  // namespace

std::string variable_of(std::string_view key) {
  std::string name = "CUCO_";
  for (const char c : key) {
    name += c == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return name;
}

std::optional<double> parse_duration(std::string_view text) {
  if (text.empty()) return std::nullopt;
  double unit = 0;
  switch (text.back()) {
    case 's':
      unit = 1;
      break;
    case 'm':
      unit = 60;
      break;
    case 'h':
      unit = 3600;
      break;
    case 'd':
      unit = 86400;
      break;
    default:
      return std::nullopt;
  }
  const auto count = number_in<double>(trim(text.substr(0, text.size() - 1)));
  // Beyond ten years nobody means it, and clocks that count nanoseconds end.
  constexpr double kLongest = 3650.0 * 86400;
  if (!count || !(*count >= 0 && *count * unit <= kLongest)) return std::nullopt;
  return *count * unit;
}

std::optional<std::string> complaint_about(const ConfigKey& key, std::string_view value) {
  bool right = true;
  switch (key.type) {
    case ConfigType::Text:
    case ConfigType::Path:
      return std::nullopt;
    case ConfigType::Integer:
      right = number_in<std::int64_t>(value).has_value();
      break;
    case ConfigType::Number:
      right = number_in<double>(value).has_value();
      break;
    case ConfigType::Flag:
      right = value == "true" || value == "false";
      break;
    case ConfigType::Duration:
      right = parse_duration(value).has_value();
      break;
    case ConfigType::List:
      right = split_words(value).has_value();
      break;
    case ConfigType::Variable:
      // The value is not repeated: somebody may have put the secret itself here.
      if (is_variable_name(value)) return std::nullopt;
      return fmt::format("{} must be {}", key.name, expected_by(key));
    case ConfigType::Choice: {
      std::vector<std::string> choices;
      for (const std::string_view choice : split(key.choices, '|'))
        choices.emplace_back(choice);
      if (std::ranges::find(choices, value) != choices.end()) return std::nullopt;
      std::string message =
          fmt::format("{} must be one of {}, not '{}'", key.name, join(choices, ", "), value);
      if (const auto near = nearest(value, choices)) {
        message += fmt::format(" (did you mean '{}'?)", *near);
      }
      return message;
    }
  }
  if (right) return std::nullopt;
  return fmt::format("{} must be {}, not '{}'", key.name, expected_by(key), value);
}

Result<void> Config::apply(std::string_view key, std::string value, std::string origin) {
  const ConfigKey* known = find_key(key);
  if (known == nullptr) return at(origin, unknown_key(key));
  if (const auto complaint = complaint_about(*known, value)) return at(origin, *complaint);
  settings_.find(key)->second = {std::move(value), std::move(origin)};
  return {};
}

Result<Config> Config::from(const ConfigSources& sources) {
  Config config;
  for (const ConfigKey& key : config_keys()) {
    config.settings_.emplace(key.name, Setting{std::string(key.fallback), "default"});
  }
  // Later layers win: defaults, files, environment, --set.
  for (const auto& [name, text] : sources.files) {
    CUCO_TRY_ASSIGN(const auto entries, parse_config_file(text, name));
    for (const FileEntry& entry : entries) {
      std::string origin = fmt::format("{}:{}", name, entry.line);
      const ConfigKey* key = find_key(entry.key);
      if (key != nullptr && !takes(key->type, entry.kind)) {
        return at(origin, fmt::format("{} must be {}", key->name, expected_by(*key)));
      }
      CUCO_TRY(config.apply(entry.key, entry.value, std::move(origin)));
    }
  }
  for (const ConfigKey& key : config_keys()) {
    const std::string variable = variable_of(key.name);
    if (const auto value = sources.environment.get(variable)) {
      CUCO_TRY(config.apply(key.name, *value, variable));
    }
  }
  for (const auto& [key, value] : sources.overrides) {
    CUCO_TRY(config.apply(key, value, "--set"));
  }
  return config;
}

const Setting& Config::setting(std::string_view key) const {
  const auto found = settings_.find(key);
  CUCO_ASSERT(found != settings_.end());
  return found->second;
}

std::int64_t Config::integer(std::string_view key) const {
  return number_in<std::int64_t>(text(key)).value_or(0);
}

double Config::number(std::string_view key) const {
  return number_in<double>(text(key)).value_or(0);
}

double Config::seconds(std::string_view key) const {
  return parse_duration(text(key)).value_or(0);
}

std::vector<std::string> Config::words(std::string_view key) const {
  // Checked when it was set.
  auto words = split_words(text(key));
  return words ? *std::move(words) : std::vector<std::string>();
}

Result<std::vector<ConfigSources::File>> find_config_files(const system::Path& folder,
                                                           const system::Environment& environment) {
  std::vector<ConfigSources::File> files;
  const auto add = [&files](const system::Path& path, std::string name) -> Result<bool> {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path, ignored)) return false;
    CUCO_TRY_ASSIGN(std::string text, system::read_file(path, std::size_t{1} << 20U));
    files.push_back({std::move(name), std::move(text)});
    return true;
  };
  const auto home = environment.get("HOME");
  const auto base = environment.get("XDG_CONFIG_HOME");
  if (base || home) {
    const system::Path user =
        (base ? system::Path(*base) : system::Path(*home) / ".config") / "cuco/config.toml";
    CUCO_TRY(add(user, user.string()));
  }
  // The nearest cuco.toml upwards; the walk ends at the first one, as with a project's root.
  for (system::Path place = folder;; place = place.parent_path()) {
    const system::Path path = place / "cuco.toml";
    CUCO_TRY_ASSIGN(const bool found, add(path, place == folder ? "cuco.toml" : path.string()));
    if (found || place == place.root_path()) break;
  }
  return files;
}

}  // namespace cuco::cli
