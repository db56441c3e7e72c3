// SPDX-License-Identifier: Apache-2.0
/// \file
/// The oracle process, from the judge's side.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "evaluation/compare.h"
#include "evaluation/workload.h"
#include "system/process.h"

namespace cuco::evaluation {

class Oracle {
 public:
  [[nodiscard]] static Result<Oracle> start(const system::Path& library);

  /// Makes an input and keeps it for checking the outputs of the same iteration.
  [[nodiscard]] Result<std::string> input(const Workload& workload,
                                          const Shape& shape,
                                          std::uint64_t key,
                                          int rank,
                                          int input,
                                          std::size_t bytes);

  struct Question {
    int rank = 0;
    int output = 0;
    Element type = Element::Fp32;
    std::uint64_t seed = 0;
    std::size_t limit = 0;  ///< See compare().
  };
  [[nodiscard]] Result<Comparison> check(const Workload& workload,
                                         const Shape& shape,
                                         const Question& question,
                                         std::string_view output);
  /// The right answer, rounded once to the buffer's type; `coarse`: what it would be to inputs of
  /// one precision less.
  [[nodiscard]] Result<std::string> answer(const Workload& workload,
                                           const Shape& shape,
                                           int rank,
                                           int output,
                                           const Buffer& buffer,
                                           bool coarse = false);

 private:
  Oracle(system::Process process, system::Fd socket)
      : process_(std::move(process)), socket_(std::move(socket)) {}
  Error lost(Error error);

  system::Process process_;
  system::Fd socket_;
};

}  // namespace cuco::evaluation
