// SPDX-License-Identifier: Apache-2.0
/// \file
/// The conservative corner of the design space, for any program: every collective becomes a kernel
/// of the program's own, where it stands. A header with functions of NCCL's signatures is written
/// for what the program uses, and its calls are given to those: buffers, streams, loops and helper
/// functions stay what they are. Other placements start from here.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "expert/standalone/collectives_header.h"

namespace cuco::expert {

struct Standalone {
  std::string infrastructure;           ///< Communicators are open, and the host still calls NCCL.
  std::string program;                  ///< Every call is given to the program's own function.
  std::string header;                   ///< kCollectivesHeaderName; both texts include it.
  std::map<std::string, int> replaced;  ///< NCCL's functions, and how often they were named.
};

/// One of the texts with the headers in the place of the include, for who compiles one file. What
/// was generated may change: a text without evolve regions gets one around it.
[[nodiscard]] std::string as_one_file(const Standalone& standalone, std::string_view text);

/// `additions` go to the program only. Fails where a program uses what there is no such kernel for,
/// with the reason.
[[nodiscard]] Result<Standalone> with_own_collectives(std::string_view program,
                                                      const OwnDesign& design,
                                                      const Additions* additions = nullptr);

}  // namespace cuco::expert
