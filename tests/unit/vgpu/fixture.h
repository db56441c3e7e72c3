// SPDX-License-Identifier: Apache-2.0
/// \file
/// Loads PTX on a virtual H200 and fails the test loudly when something goes wrong.
#pragma once

#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/ptx_harness.h"

namespace cuco::vgpu {

inline const hardware::GpuDescription& h200() {
  static const hardware::GpuDescription gpu =
      *hardware::load_gpu_description("h200", CUCO_SOURCE_DIR);
  return gpu;
}

inline std::string read_text(const std::string& path) {
  std::ifstream in(std::string(CUCO_SOURCE_DIR) + "/" + path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// Loads a module; header lines are added if the text lacks them.
inline std::unique_ptr<Harness> load(std::string_view text, Environment environment = {}) {
  std::string full(text);
  if (full.find(".version") == std::string::npos) {
    full = ".version 8.0\n.target sm_90\n.address_size 64\n" + full;
  }
  auto harness = Harness::load(full, h200(), std::move(environment));
  if (!harness) {
    ADD_FAILURE() << harness.error().message();
    return nullptr;
  }
  return *std::move(harness);
}

template <typename... Args>
HarnessResult run(Harness& harness,
                  std::string_view kernel,
                  const HarnessLaunch& launch,
                  Args... args) {
  auto result = harness.run(kernel, launch, args...);
  if (!result) {
    ADD_FAILURE() << result.error().message();
    return {};
  }
  return *std::move(result);
}

/// Expects a clean run.
template <typename... Args>
HarnessResult run_ok(Harness& harness,
                     std::string_view kernel,
                     const HarnessLaunch& launch,
                     Args... args) {
  HarnessResult result = run(harness, kernel, launch, args...);
  if (result.grid.trap) ADD_FAILURE() << to_string(*result.grid.trap);
  for (const std::string& line : result.deadlock)
    ADD_FAILURE() << line;
  return result;
}

}  // namespace cuco::vgpu
