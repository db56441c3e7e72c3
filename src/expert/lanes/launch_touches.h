// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a launch does to memory, as its kernel's parameters promise it: pointers to const are read,
/// others are written, what holds pointers is looked through when the program runs. Where neither
/// tells (pointers in device memory, __device__ variables, handles of communication), the launch
/// touches everything.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/communication_graph.h"
#include "base/result.h"

namespace cuco::expert::lanes {

/// A replacement of bytes [begin, end) of the text.
struct StreamEdit {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string text;
};

/// Further touches of a launch, by where it begins in the text.
using MoreTouches = std::map<std::size_t, std::string>;

/// Whether who knows the pointers among a kernel's arguments knows all that it touches: it reaches
/// no variables of the device, and nothing through pointers in memory or in structs.
[[nodiscard]] bool is_seen_by_arguments(const analysis::CommunicationGraph& graph,
                                        const analysis::Kernel& kernel);

/// For each launch of host code in the file, in the order of the text, the edit that puts
/// `cuco::lane(stream, …)` in the place of its stream. Fails where a launch cannot be edited, with
/// the reason.
[[nodiscard]] Result<std::vector<StreamEdit>> lanes_of_launches(
    const analysis::CommunicationGraph& graph, const MoreTouches& more = {});

}  // namespace cuco::expert::lanes
