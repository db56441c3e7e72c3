// SPDX-License-Identifier: Apache-2.0
/// \file
/// Between the judge and the oracle process: requests as JSON, bulk data as raw messages, framed
/// like the keeper's (system/job_codec.h). Both ends are trusted and from one build.
///
///   {"op":"input", "key":"..", "ranks":4, "params":[..], "rank":0, "input":0, "bytes":N}
///       -> the bytes; they are kept until the next input of the same place
///   {"op":"check", "ranks", "params", "rank", "output", "inputs":n, "type":"fp32", "relative",
///   "scaled",
///    "seed":"..", "limit":N}  then the output's bytes
///       -> {"checked", "wrong", "index", "got", "want"}
///   {"op":"answer", "ranks", "params", "rank", "output", "inputs":n, "type", "elements":N}
///       -> the right answer's bytes, rounded once; for tests of the oracle itself
#pragma once

#include <cstddef>
#include <cstdint>

namespace cuco::judge {

/// The descriptor on which cuco-oracle finds its socket.
inline constexpr int kOracleFd = 3;

}  // namespace cuco::judge
