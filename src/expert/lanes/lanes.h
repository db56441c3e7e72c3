// SPDX-License-Identifier: Apache-2.0
/// \file
/// Overlap by hazards, for split workloads and programs with main(): what is given to one stream is
/// spread over several, and each operation waits only for those that it has a hazard with. Which
/// those are is found out as the program runs, so it needs no names and no patterns: double
/// buffers, loops and helper functions are followed by what their pointers are. The text says what
/// each operation touches; who wrote it does not matter, so the move follows others and is followed
/// by others.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "analysis/communication_graph.h"
#include "base/result.h"
#include "expert/edit.h"
#include "expert/lanes/lanes_header.h"
#include "expert/lanes/launch_touches.h"

namespace cuco::expert::lanes {

/// What another move makes of the same text.
struct Beside {
  MoreTouches touches;
  std::map<std::size_t, std::string> names;  ///< Drop-ins for names at these places.
};

/// Adds the edits, and returns the header that they need.
[[nodiscard]] Result<std::string> add_lanes(const analysis::CommunicationGraph& graph,
                                            std::string_view text,
                                            const Design& design,
                                            const Beside& beside,
                                            Edits& edits);

/// A text without evolve regions gets none, so that all of it may go on changing. Fails where a
/// program orders its work itself or where it is not known what it touches, with the reason.
[[nodiscard]] Result<std::string> with_lanes(const analysis::CommunicationGraph& graph,
                                             std::string_view text,
                                             const Design& design);

}  // namespace cuco::expert::lanes
