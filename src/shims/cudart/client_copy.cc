// SPDX-License-Identifier: Apache-2.0
// The server sees device, pinned and managed memory; pageable memory travels through the thread's
// bounce buffer, packed, in pieces. What CUDA promises is kept: a copy from pageable memory has
// read its source when the call returns, a copy to pageable memory is finished when the call
// returns.
#include "shims/cudart/client_copy.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "shims/cudart/host_memory.h"
#include "shims/cudart/registry.h"
#include "shims/cudart/runtime.h"
#include "shims/wire/messages_memory.h"

namespace cuco::cudart {
namespace {

struct End {
  bool pageable = false;
  wire::CopyEnd wire;
};

End classify(const void* pointer, std::size_t pitch, std::size_t slice) {
  End end;
  end.wire.address = reinterpret_cast<std::uint64_t>(pointer);
  end.wire.pitch = pitch;
  end.wire.slice = slice;
  if (is_server_address(pointer)) return end;
  if (const auto alias = registered_alias(pointer)) {
    end.wire.address = *alias;
    return end;
  }
  end.pageable = true;
  return end;
}

/// What the kind claims must not contradict where the pointers are.
bool kind_fits(const CopyRequest& request, const End& to, const End& from) {
  const bool from_device = request.kind == kDeviceToHost || request.kind == kDeviceToDevice;
  const bool to_device = request.kind == kHostToDevice || request.kind == kDeviceToDevice;
  return !(from_device && from.pageable) && !(to_device && to.pageable);
}

/// A run of rows that fits the bounce buffer.
struct Piece {
  std::size_t z = 0;
  std::size_t y = 0;
  std::size_t x = 0;
  std::size_t width = 0;
  std::size_t rows = 0;
};

template <typename Visit>
Error for_each_piece(const CopyRequest& request, Visit visit) {
  const std::size_t rows_at_once = std::max<std::size_t>(kBounceChunk / request.width, 1);
  for (std::size_t z = 0; z < request.depth; ++z) {
    for (std::size_t y = 0; y < request.height; y += rows_at_once) {
      const std::size_t rows = std::min(rows_at_once, request.height - y);
      for (std::size_t x = 0; x < request.width; x += kBounceChunk) {
        const std::size_t width = std::min(kBounceChunk, request.width - x);
        const Error status = visit(Piece{z, y, x, width, rows});
        if (status != 0) return status;
      }
    }
  }
  return 0;
}

void pack(std::byte* to, const CopyRequest& request, const Piece& piece) {
  const auto* from = static_cast<const std::byte*>(request.from) + piece.z * request.from_slice +
                     piece.y * request.from_pitch + piece.x;
  for (std::size_t row = 0; row < piece.rows; ++row) {
    std::memcpy(to + row * piece.width, from + row * request.from_pitch, piece.width);
  }
}

void unpack(const std::byte* from, const CopyRequest& request, const Piece& piece) {
  auto* to = static_cast<std::byte*>(request.to) + piece.z * request.to_slice +
             piece.y * request.to_pitch + piece.x;
  for (std::size_t row = 0; row < piece.rows; ++row) {
    std::memcpy(to + row * request.to_pitch, from + row * piece.width, piece.width);
  }
}

bool changes_inputs() {
  const wire::Hello::Reply* here = identity();
  return here != nullptr && here->changes_inputs != 0;
}

/// What the device got, back to where it came from: a program that checks its results by its inputs
/// has those of the device then. A constant stays what it is: the kernel writes, and says if it
/// cannot, where we would fault.
void take_back(const std::byte* from, const CopyRequest& request, const Piece& piece) {
  int ends[2];
  if (pipe(ends) != 0) return;
  constexpr std::size_t kAtOnce = 4096;  // Fits any pipe.
  auto* to = const_cast<std::byte*>(static_cast<const std::byte*>(request.from)) +
             piece.z * request.from_slice + piece.y * request.from_pitch + piece.x;
  bool writable = true;
  for (std::size_t row = 0; row < piece.rows && writable; ++row) {
    for (std::size_t x = 0; x < piece.width && writable; x += kAtOnce) {
      const std::size_t size = std::min(kAtOnce, piece.width - x);
      const auto wanted = static_cast<ssize_t>(size);
      writable = write(ends[1], from + row * piece.width + x, size) == wanted &&
                 read(ends[0], to + row * request.from_pitch + x, size) == wanted;
    }
  }
  close(ends[0]);
  close(ends[1]);
}

wire::Copy piece_message(const Piece& piece, StreamHandle stream) {
  wire::Copy message;
  message.stream = stream_ref(stream);
  message.width = piece.width;
  message.height = piece.rows;
  return message;
}

wire::CopyEnd at_piece(wire::CopyEnd end, const Piece& piece) {
  end.address += piece.z * end.slice + piece.y * end.pitch + piece.x;
  return end;
}

constexpr wire::CopyEnd kAtBounce{.where = wire::CopyEnd::kBounce};

/// Does the server's side have room? Asked before pageable memory is touched: a size that is wrong
/// must be an error of the call, not a fault in our packing.
Error check_room(const CopyRequest& request, const End& end) {
  constexpr std::size_t kSmall = 65536;
  const std::size_t extent =
      (request.depth - 1) * end.wire.slice + (request.height - 1) * end.wire.pitch + request.width;
  if (extent <= kSmall) return 0;
  wire::FindAllocation::Reply found;
  const Error status = call(wire::FindAllocation{.address = end.wire.address}, &found);
  if (status != 0) return status;
  if (found.kind == wire::MemoryKind::Unknown) return 0;
  return extent <= found.bytes - (end.wire.address - found.base) ? 0 : Error{wire::kInvalidValue};
}

Error copy_from_pageable(const CopyRequest& request,
                         const End& to,
                         StreamHandle stream,
                         Waiting waiting) {
  return for_each_piece(request, [&](const Piece& piece) -> Error {
    const auto buffer = bounce(piece.width * piece.rows);
    if (buffer.empty()) return wire::kMemoryAllocation;
    pack(buffer.data(), request, piece);
    wire::Copy message = piece_message(piece, stream);
    message.from = kAtBounce;
    message.to = at_piece(to.wire, piece);
    message.wait = waiting == Waiting::ForTheEnd ? 1 : 0;
    if (const Error status = call(message); status != 0) return status;
    if (changes_inputs()) take_back(buffer.data(), request, piece);
    return 0;
  });
}

Error copy_to_pageable(const CopyRequest& request, const End& from, StreamHandle stream) {
  return for_each_piece(request, [&](const Piece& piece) -> Error {
    const auto buffer = bounce(piece.width * piece.rows);
    if (buffer.empty()) return wire::kMemoryAllocation;
    wire::Copy message = piece_message(piece, stream);
    message.to = kAtBounce;
    message.from = at_piece(from.wire, piece);
    message.wait = 1;
    if (const Error status = call(message); status != 0) return status;
    unpack(buffer.data(), request, piece);
    return 0;
  });
}

Error copy_between_pageable(const CopyRequest& request, StreamHandle stream) {
  const Error status = call(wire::StreamSynchronize{.stream = stream_ref(stream)});
  if (status != 0) return status;
  for (std::size_t z = 0; z < request.depth; ++z) {
    for (std::size_t y = 0; y < request.height; ++y) {
      std::memmove(
          static_cast<std::byte*>(request.to) + z * request.to_slice + y * request.to_pitch,
          static_cast<const std::byte*>(request.from) + z * request.from_slice +
              y * request.from_pitch,
          request.width);
    }
  }
  return 0;
}

wire::Copy whole_message(const CopyRequest& request, const End& to, const End& from) {
  wire::Copy message;
  message.to = to.wire;
  message.from = from.wire;
  if (to.pageable) message.to.where = wire::CopyEnd::kHost;
  if (from.pageable) message.from.where = wire::CopyEnd::kHost;
  message.width = request.width;
  message.height = request.height;
  message.depth = request.depth;
  return message;
}

}  // namespace

Error copy(const CopyRequest& request, StreamHandle stream, Waiting waiting) {
  if (request.kind < kHostToHost || request.kind > kDefaultKind) {
    return wire::kInvalidMemcpyDirection;
  }
  if (const Error status = refused(); status != 0) return status;
  if (request.width == 0 || request.height == 0 || request.depth == 0) return 0;
  if (request.to == nullptr || request.from == nullptr) return wire::kInvalidValue;
  if (request.height > 1 &&
      (request.to_pitch < request.width || request.from_pitch < request.width)) {
    return wire::kInvalidPitchValue;
  }
  place_all_managed();
  const End to = classify(request.to, request.to_pitch, request.to_slice);
  const End from = classify(request.from, request.from_pitch, request.from_slice);
  if (!kind_fits(request, to, from)) return wire::kInvalidValue;
  Error status = 0;
  if (to.pageable && from.pageable) {
    return copy_between_pageable(request, stream);
  }
  if (from.pageable) {
    if (const Error failed = check_room(request, to); failed != 0) return failed;
    status = copy_from_pageable(request, to, stream, waiting);
  } else if (to.pageable) {
    status = copy_to_pageable(request, from, stream);
  } else {
    wire::Copy message = whole_message(request, to, from);
    message.stream = stream_ref(stream);
    // Between devices the host does not wait, even for the synchronous form.
    const bool devices = is_device_address(request.to) && is_device_address(request.from);
    message.wait = waiting == Waiting::ForTheEnd && !devices ? 1 : 0;
    return call(message);
  }
  if (status != wire::kUseHostEnd) return status;
  wire::Copy message;
  if (const Error failed = node_message(request, &message); failed != 0) return failed;
  message.stream = stream_ref(stream);
  return call(message);
}

Error node_message(const CopyRequest& request, wire::Copy* message) {
  const End to = classify(request.to, request.to_pitch, request.to_slice);
  const End from = classify(request.from, request.from_pitch, request.from_slice);
  if (!kind_fits(request, to, from)) return wire::kInvalidValue;
  if (to.pageable && from.pageable) return wire::kNotSupported;
  if ((to.pageable || from.pageable) && !ensure_service()) return wire::kMemoryAllocation;
  *message = whole_message(request, to, from);
  message->stream = stream_ref(nullptr);
  return 0;
}

Error fill(const wire::Fill& request) {
  if (const Error status = refused(); status != 0) return status;
  if (request.width == 0 || request.height == 0 || request.depth == 0) return 0;
  const void* pointer = reinterpret_cast<const void*>(request.address);
  wire::Fill message = request;
  if (!is_server_address(pointer)) {
    const auto alias = registered_alias(pointer);
    if (!alias) return wire::kInvalidValue;
    message.address = *alias;
  }
  place_all_managed();
  // Only memory that the host can see at once has to be finished when the call returns.
  if (is_device_address(pointer)) message.wait = 0;
  return call(message);
}

}  // namespace cuco::cudart
