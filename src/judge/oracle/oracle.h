// SPDX-License-Identifier: Apache-2.0
/// \file
/// The workload's oracle, from the judge's side: makes inputs, checks outputs. Abstract, so that
/// trials are tested without its process.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "judge/oracle/compare.h"
#include "system/os/files.h"
#include "workload/workload.h"

namespace cuco::judge {

class Oracle {
 public:
  virtual ~Oracle() = default;

  /// Makes an input and keeps it for checking the outputs of the same iteration.
  [[nodiscard]] virtual Result<std::string> input(const workload::Workload& workload,
                                                  const workload::Shape& shape,
                                                  std::uint64_t key,
                                                  int rank,
                                                  int input,
                                                  std::size_t bytes) = 0;

  struct Question {
    int rank = 0;
    int output = 0;
    workload::Element type = workload::Element::Fp32;
    std::uint64_t seed = 0;
    std::size_t limit = 0;  ///< See compare().
  };
  [[nodiscard]] virtual Result<Comparison> check(const workload::Workload& workload,
                                                 const workload::Shape& shape,
                                                 const Question& question,
                                                 std::string_view output) = 0;
  /// The right answer, rounded once to the buffer's type; `coarse`: what it would be to inputs of
  /// one precision less.
  [[nodiscard]] virtual Result<std::string> answer(const workload::Workload& workload,
                                                   const workload::Shape& shape,
                                                   int rank,
                                                   int output,
                                                   const workload::Buffer& buffer,
                                                   bool coarse) = 0;
};

/// In a process of its own, that of cuco-oracle. `library`: oracle.cpp, built.
[[nodiscard]] Result<std::unique_ptr<Oracle>> start_oracle(const system::Path& library);

}  // namespace cuco::judge
