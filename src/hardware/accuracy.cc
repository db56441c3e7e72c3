// SPDX-License-Identifier: Apache-2.0
#include "hardware/accuracy.h"

#include <fmt/format.h>

namespace cuco::hardware {

std::string accuracy_text(const Accuracy& accuracy, const std::string& gpu, bool communicates) {
  std::string text = accuracy.kernels == 0
                         ? fmt::format("unknown: no kernel was timed on an {}", gpu)
                         : fmt::format("± {:.0f} %, calibrated on an {} (9 in 10 of {} kernels)",
                                       100 * accuracy.kernels_within, gpu, accuracy.kernels);
  if (!communicates || accuracy.collectives == 0) return text;
  return text + fmt::format("; collectives ± {:.0f} % ({} published times)",
                            100 * accuracy.collectives_within, accuracy.collectives);
}

}  // namespace cuco::hardware
