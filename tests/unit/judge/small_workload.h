// SPDX-License-Identifier: Apache-2.0
/// \file
/// A workload small enough to see through: one input, one output, a shape for each use.
#pragma once

#include <string>

#include "workload/workload.h"

namespace cuco::judge {

inline const std::string kSmallSeed =
    "// cuco: evolve begin a\n"
    "int x;\n"
    "// cuco: evolve end\n"
    "extern \"C\" int cuco_run(void* state) { return run(state); }\n";

/// The seed with this in its region.
inline std::string with_region(const std::string& body) {
  return "// cuco: evolve begin a\n" + body + "\n// cuco: evolve end\n" +
         kSmallSeed.substr(kSmallSeed.find("extern"));
}

inline workload::Workload small_workload(int ranks) {
  using workload::Use;
  workload::Workload workload;
  workload.name = "small";
  workload.ranks = ranks;
  workload.topology = ranks == 1 ? "single" : "nvlink4";
  workload.params = {"n"};
  workload.inputs = {{"x", "n", "fp32"}};
  workload.outputs = {{"y", "n", "fp32"}};
  workload.tolerance = {{workload::Element::Fp32, {1e-6, 0}}};
  workload.shapes = {{"check one", {Use::Check}, {16}},
                     {"check two", {Use::Check}, {24}},
                     {"hidden", {Use::Hidden}, {20}},
                     {"timed one", {Use::Time}, {32}},
                     {"timed two", {Use::Time}, {40}}};
  workload.flops = "n";
  workload.flops_type = "fp32";
  workload.hbm_bytes = "8 * n";
  workload.wire_bytes = "0";
  workload.program = kSmallSeed;
  return workload;
}

}  // namespace cuco::judge
