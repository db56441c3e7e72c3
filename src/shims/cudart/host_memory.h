// SPDX-License-Identifier: Apache-2.0
/// \file
/// The process's view of memory: device memory reserved and out of reach, pinned and managed memory
/// mapped where the server has it, registered memory moved under the server's eyes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "shims/wire/frame_socket.h"
#include "shims/wire/messages_host.h"

namespace cuco::cudart {

/// Keeps the process from placing anything of its own where device memory is.
void reserve_memory(const wire::Hello::Reply& identity, wire::Fd host_memory);

/// Makes pinned or managed memory at `address` accessible, or takes it away again.
bool map_host_memory(std::uint64_t address, std::size_t bytes);
void unmap_host_memory(std::uint64_t address, std::size_t bytes);

/// Is this an address of the server's: device, pinned or managed?
[[nodiscard]] bool is_server_address(const void* pointer);
[[nodiscard]] bool is_device_address(const void* pointer);

/// Replaces the pages of ordinary memory by shared ones at `alias`, contents kept.
bool register_memory(void* pointer, std::size_t bytes, std::uint64_t alias, unsigned flags);
/// Gives the pages back; the alias that was used, or nullopt if the pointer was not registered.
std::optional<std::uint64_t> unregister_memory(void* pointer);
/// The server's address of registered memory; nullopt: not registered.
[[nodiscard]] std::optional<std::uint64_t> registered_alias(const void* pointer);
[[nodiscard]] std::optional<unsigned> registered_flags(const void* pointer);
/// Bytes of whole pages around a range, for the alias that is to be made.
[[nodiscard]] std::size_t page_span(const void* pointer, std::size_t bytes);

}  // namespace cuco::cudart
