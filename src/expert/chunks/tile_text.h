// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a kernel's blocks write, as observed, said in the kernel's own terms.
#pragma once

#include <string>

#include "analysis/trace/observed_map.h"
#include "base/result.h"

namespace cuco::expert::chunks {

/// An initialiser of cuco::Tiles: "{n, 128, 128, blockIdx.y, blockIdx.x, gridDim.y, gridDim.x}".
/// The error says why the map is no rule that a kernel can say.
[[nodiscard]] Result<std::string> tile_text(const analysis::ObservedMap& map);

}  // namespace cuco::expert::chunks
