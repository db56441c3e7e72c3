// SPDX-License-Identifier: Apache-2.0
/// \file
/// The workload's reference.cu at work: every element's answer in fp32, computed on a GPU of its
/// own that no candidate reaches.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "judge/trial/trial_spec.h"
#include "targets/target.h"
#include "workload/workload.h"

namespace cuco::judge {

/// All elements of one rank's output.
struct Answer {
  std::vector<float> want;
  std::vector<float> scale;
};

class BenchMaker;

class GpuReference {
 public:
  /// Starts it for one shape. `object`: reference.cu, built.
  [[nodiscard]] static Result<std::unique_ptr<GpuReference>> start(const TrialSpec& spec,
                                                                   const system::Path& object,
                                                                   BenchMaker& maker);

  /// By rank and input: what the oracle made.
  using Inputs = std::map<std::pair<int, std::size_t>, std::string>;
  /// The answers for these inputs, [rank * outputs + output].
  [[nodiscard]] Result<std::vector<Answer>> answers(const Inputs& inputs);

 private:
  GpuReference(workload::Workload workload, workload::Shape shape)
      : workload_(std::move(workload)), shape_(std::move(shape)) {}
  Result<std::vector<targets::RankState>> wait(std::string_view stage);
  Result<void> prepare(const TrialSpec& spec, const system::Path& object, BenchMaker& maker);

  workload::Workload workload_;  ///< One rank that has everybody's inputs.
  workload::Shape shape_;
  std::size_t inputs_per_rank_ = 0;
  std::vector<std::size_t> input_bytes_;
  std::vector<std::size_t> output_bytes_;  ///< want and scale of each answer.
  std::vector<std::uint64_t> addresses_;   ///< Inputs, then outputs.
  std::unique_ptr<targets::Target> target_;
  std::unique_ptr<targets::Ranks> process_;
};

}  // namespace cuco::judge
