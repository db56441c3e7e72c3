// SPDX-License-Identifier: Apache-2.0
#include "system/os/environment.h"

#include <unistd.h>

namespace cuco::system {

Environment Environment::current() {
  Environment environment;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    environment.set(std::string(text.substr(0, equals)), std::string(text.substr(equals + 1)));
  }
  return environment;
}

std::optional<std::string> Environment::get(std::string_view name) const {
  const auto found = variables_.find(name);
  if (found == variables_.end()) return std::nullopt;
  return found->second;
}

Environment& Environment::set(std::string name, std::string value) {
  variables_.insert_or_assign(std::move(name), std::move(value));
  return *this;
}

Environment Environment::only(std::span<const std::string_view> names) const {
  Environment kept;
  for (const std::string_view name : names) {
    if (auto value = get(name)) kept.set(std::string(name), *std::move(value));
  }
  return kept;
}

Environment Environment::bare() {
  Environment environment;
  environment.set("PATH", "/usr/local/cuda/bin:/usr/local/bin:/usr/bin:/bin")
      .set("HOME", "/tmp")
      .set("TMPDIR", "/tmp")
      .set("LANG", "C.UTF-8");
  return environment;
}

std::vector<std::string> Environment::entries() const {
  std::vector<std::string> entries;
  entries.reserve(variables_.size());
  for (const auto& [name, value] : variables_)
    entries.push_back(name + "=" + value);
  return entries;
}

std::filesystem::path cache_folder(const Environment& environment) {
  if (const auto cache = environment.get("XDG_CACHE_HOME"); cache && !cache->empty()) {
    return std::filesystem::path(*cache) / "cuco";
  }
  return std::filesystem::path(environment.get("HOME").value_or("/tmp")) / ".cache/cuco";
}

}  // namespace cuco::system
