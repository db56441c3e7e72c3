// SPDX-License-Identifier: Apache-2.0
/// \file
/// Numbers for streams, events, modules, graphs and their nodes: none is given twice.
#pragma once

#include <cstdint>

namespace cuco::vcluster {

class Ids {
 public:
  [[nodiscard]] std::uint64_t next() { return next_++; }

 private:
  std::uint64_t next_ = 16;  ///< Low numbers are CUDA's special streams.
};

}  // namespace cuco::vcluster
