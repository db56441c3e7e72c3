// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "cli/config/config.h"

/// Any text is either a configuration or an error that names the file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto config = cuco::cli::Config::from({.files = {{"cuco.toml", text}}});
  if (!config) {
    CUCO_ASSERT(config.error().message().starts_with("cuco.toml:"));
    return 0;
  }
  for (const cuco::cli::ConfigKey& key : cuco::cli::config_keys()) {
    const auto& setting = config->setting(key.name);
    CUCO_ASSERT(setting.origin == "default" || !cuco::cli::complaint_about(key, setting.value));
  }
  return 0;
}
