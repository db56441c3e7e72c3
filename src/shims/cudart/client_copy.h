// SPDX-License-Identifier: Apache-2.0
/// \file
/// Copies between all kinds of memory, seen from the process.
#pragma once

#include <cstddef>

#include "shims/cudart/abi.h"
#include "shims/wire/messages_stream.h"

namespace cuco::cudart {

/// A copy of up to three dimensions; rows are `pitch` apart, slices `slice`.
struct CopyRequest {
  void* to = nullptr;
  std::size_t to_pitch = 0;
  std::size_t to_slice = 0;
  const void* from = nullptr;
  std::size_t from_pitch = 0;
  std::size_t from_slice = 0;
  std::size_t width = 0;
  std::size_t height = 1;
  std::size_t depth = 1;
  int kind = kDefaultKind;
};

enum class Waiting { ForTheEnd, No };

[[nodiscard]] Error copy(const CopyRequest& request, StreamHandle stream, Waiting waiting);

/// The message of a copy for a graph node: pageable ends go through the service thread.
[[nodiscard]] Error node_message(const CopyRequest& request, wire::Copy* message);

[[nodiscard]] Error fill(const wire::Fill& request);

/// The address `offset` bytes into a variable on the current device, with room for `bytes`.
[[nodiscard]] Error symbol_address(const void* symbol,
                                   std::size_t offset,
                                   std::size_t bytes,
                                   void** address);

}  // namespace cuco::cudart
