// SPDX-License-Identifier: Apache-2.0
/// \file
/// Is a workload's oracle worth its name? It must accept the right answer and reject the classic
/// wrong ones.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "judge/oracle/oracle.h"
#include "workload/secret.h"

namespace cuco::judge {

struct OracleTest {
  std::string what;  ///< "accepts the right answer", "rejects zeros"
  std::string shape;
  bool passed = false;
};

/// Tries every output of every rank-0 buffer of the shape.
[[nodiscard]] Result<std::vector<OracleTest>> test_oracle(const workload::Workload& workload,
                                                          const workload::Shape& shape,
                                                          const workload::Secret& secret,
                                                          Oracle& oracle);

}  // namespace cuco::judge
