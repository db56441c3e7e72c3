// SPDX-License-Identifier: Apache-2.0
#include "report/known_error.h"

#include <charconv>
#include <filesystem>

#include "hardware/accuracy.h"
#include "hardware/gpu_description.h"
#include "system/os/files.h"

namespace cuco::report {
namespace {

std::string error_of(const std::string& name, bool communicates) {
  std::error_code code;
  const auto file = std::filesystem::is_regular_file(name, code)
                        ? Result<system::Path>(name)
                        : system::find_data("hardware/" + name + ".toml");
  if (!file) return {};
  const auto text = system::read_file(*file);
  if (!text) return {};
  const auto gpu = hardware::parse_gpu_description(*text, file->string());
  const auto accuracy = hardware::parse_accuracy(*text, file->string());
  if (!gpu || !accuracy) return {};
  return hardware::accuracy_text(*accuracy, gpu->name, communicates);
}

}  // namespace

std::string known_error(const std::string& gpu, const std::string& machine) {
  int ranks = 0;
  std::from_chars(machine.data(), machine.data() + machine.size(), ranks);
  return error_of(gpu, ranks > 1);
}

std::string known_error(const candidate::Scored& scored, int ranks) {
  return scored.predicted ? error_of(scored.hardware, ranks > 1) : std::string();
}

std::string known_error(const candidate::RunState& state) {
  if (!state.started) return {};
  for (const candidate::Entry& entry : state.entries) {
    if (const candidate::Scored* scored = entry.scored())
      return scored->predicted ? known_error(scored->hardware, state.started->hardware)
                               : std::string();
  }
  return {};
}

}  // namespace cuco::report
