// SPDX-License-Identifier: Apache-2.0
/// \file
/// Accesses of the program's host code to memory that the server has: pinned and managed.
///
/// A checked run compiles host code so that it calls us before every access (host_watch.cc). Almost
/// all of them are to memory of its own and cost one comparison; the others are gathered per thread
/// and told to the server before the thread's next request.
#pragma once

#include <atomic>
#include <cstdint>

#include "shims/wire/messages_accesses.h"

namespace cuco::hostlib {

/// Empty until the process has a server, and for good if the run is not checked.
extern std::atomic<std::uint64_t> watched_base;
extern std::atomic<std::uint64_t> watched_bytes;

[[nodiscard]] inline bool is_watched(const volatile void* at) {
  return reinterpret_cast<std::uint64_t>(at) - watched_base.load(std::memory_order_relaxed) <
         watched_bytes.load(std::memory_order_relaxed);
}

/// The code that calls us is there: what it does not touch was not touched.
void announce_watch();

/// A flag that is raised is told at once, before whoever waits for it can see it.
void record(const volatile void* at,
            std::uint64_t bytes,
            wire::HostAccess::Kind kind,
            const void* caller);

}  // namespace cuco::hostlib
