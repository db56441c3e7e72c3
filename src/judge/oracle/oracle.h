// SPDX-License-Identifier: Apache-2.0
/// \file
/// The oracle process, from the judge's side.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "judge/oracle/compare.h"
#include "system/jobs/process.h"
#include "workload/workload.h"

namespace cuco::judge {

class Oracle {
 public:
  [[nodiscard]] static Result<Oracle> start(const system::Path& library);

  /// Makes an input and keeps it for checking the outputs of the same iteration.
  [[nodiscard]] Result<std::string> input(const workload::Workload& workload,
                                          const workload::Shape& shape,
                                          std::uint64_t key,
                                          int rank,
                                          int input,
                                          std::size_t bytes);

  struct Question {
    int rank = 0;
    int output = 0;
    workload::Element type = workload::Element::Fp32;
    std::uint64_t seed = 0;
    std::size_t limit = 0;  ///< See compare().
  };
  [[nodiscard]] Result<Comparison> check(const workload::Workload& workload,
                                         const workload::Shape& shape,
                                         const Question& question,
                                         std::string_view output);
  /// The right answer, rounded once to the buffer's type; `coarse`: what it would be to inputs of
  /// one precision less.
  [[nodiscard]] Result<std::string> answer(const workload::Workload& workload,
                                           const workload::Shape& shape,
                                           int rank,
                                           int output,
                                           const workload::Buffer& buffer,
                                           bool coarse = false);

 private:
  Oracle(system::Process process, system::Fd socket)
      : process_(std::move(process)), socket_(std::move(socket)) {}
  Error lost(Error error);

  system::Process process_;
  system::Fd socket_;
};

}  // namespace cuco::judge
