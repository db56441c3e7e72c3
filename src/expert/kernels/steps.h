// SPDX-License-Identifier: Apache-2.0
/// \file
/// The designs one step away from a kernel design, in the order in which a profile asks for them.
#pragma once

#include <string>
#include <vector>

#include "candidate/outcome.h"
#include "design/kernel_design.h"
#include "expert/kernels/writing/rewrite.h"

namespace cuco::expert::kernels {

/// What a verdict says about where the time goes.
enum class Limit {
  Unknown,
  Memory,      ///< Warps wait for loads.
  Barriers,    ///< Warps wait for each other.
  FewBlocks,   ///< Most of the GPU has nothing to do.
  ManyBlocks,  ///< Starting blocks costs more than what they do.
};

[[nodiscard]] Limit limit_of(const candidate::Outcome& outcome);

struct Step {
  design::KernelDesign design;
  std::string because;
  bool asked = false;  ///< The profile asks for it, or the kernels allow it for certain.
};

/// The most promising first. Geometry comes alone and together with vectors: fewer accesses want
/// another number of threads.
[[nodiscard]] std::vector<Step> steps_from(const design::KernelDesign& design,
                                           Limit limit,
                                           const LaunchFacts& facts);

}  // namespace cuco::expert::kernels
