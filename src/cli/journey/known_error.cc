// SPDX-License-Identifier: Apache-2.0
#include "cli/journey/known_error.h"

#include <charconv>

#include "hardware/accuracy.h"
#include "hardware/gpu_description.h"
#include "system/os/files.h"
#include "targets/virtual/machine_files.h"

namespace cuco::cli {

std::string known_error(const candidate::Scored& scored, int ranks) {
  if (!scored.predicted) return {};
  const auto file = targets::find_hardware(scored.hardware);
  if (!file) return {};
  const auto text = system::read_file(*file);
  if (!text) return {};
  const auto gpu = hardware::parse_gpu_description(*text, file->string());
  const auto accuracy = hardware::parse_accuracy(*text, file->string());
  if (!gpu || !accuracy) return {};
  return hardware::accuracy_text(*accuracy, gpu->name, ranks > 1);
}

std::string known_error(const candidate::RunState& state) {
  if (!state.started) return {};
  // "4 x NVIDIA H200"
  const std::string& machine = state.started->hardware;
  int ranks = 0;
  std::from_chars(machine.data(), machine.data() + machine.size(), ranks);
  for (const candidate::Entry& entry : state.entries) {
    if (const candidate::Scored* scored = entry.scored()) return known_error(*scored, ranks);
  }
  return {};
}

}  // namespace cuco::cli
