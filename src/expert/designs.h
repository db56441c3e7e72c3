// SPDX-License-Identifier: Apache-2.0
/// \file
/// The designs the expert knows for an all-gather. Each rewrites the seed's text at a GatherSite;
/// the code that is added comes from templates/.
#pragma once

#include <string>

#include "base/result.h"
#include "expert/gather_site.h"

namespace cuco::expert {

/// Windows and a device communicator are made and freed; the host still drives the all-gather.
[[nodiscard]] Result<std::string> infrastructure_only(const GatherSite& site);

/// A kernel of its own after the producer copies the slice to every peer, with `blocks` blocks.
[[nodiscard]] Result<std::string> gather_after_producer(const GatherSite& site, int blocks);

/// The producer's grid is cut into chunks of block rows; each is sent on a second stream while the
/// next one is computed.
[[nodiscard]] Result<std::string> gather_beside_producer(const GatherSite& site,
                                                         int chunk_kib,
                                                         int blocks);

/// The producer's blocks send finished chunks of block rows and raise a flag for each.
[[nodiscard]] Result<std::string> gather_chunks_in_producer(const GatherSite& site, int chunk_kib);

/// The producer stores every tile into all copies at once; one signal per peer ends it.
[[nodiscard]] Result<std::string> gather_tiles_in_producer(const GatherSite& site);

}  // namespace cuco::expert
