// SPDX-License-Identifier: Apache-2.0
#include "shims/hostlib/host_accesses.h"

#include <array>
#include <cstdlib>

#include "shims/hostlib/host_server.h"

namespace cuco::hostlib {

std::atomic<std::uint64_t> watched_base{0};
std::atomic<std::uint64_t> watched_bytes{0};

namespace {

using wire::HostAccess;

constexpr std::size_t kMost = 512;
/// How far back an access looks for one that it continues: more than a loop has of them.
constexpr std::size_t kLookBack = 24;

/// What a thread has not told yet.
struct Pending {
  std::array<HostAccess, kMost> list;
  std::size_t count = 0;
  std::uint64_t last_raised = 0;  ///< Nothing has come after it.
  bool is_busy = false;           ///< Telling, or interrupted by a signal.
};

std::atomic<bool> is_announced{false};  ///< The program has code that calls us…
std::atomic<bool> is_told{false};       ///< …and the server knows.
thread_local Pending* pending = nullptr;

Pending* pending_of_thread() {
  // Never freed: a thread's last accesses come after everything of ours.
  if (pending == nullptr) pending = new Pending;
  return pending;
}

/// Of a thread that the server knows: others would be waited for as soon as they spoke.
const wire::ClientApi* server_of_thread() {
  const wire::ClientApi* api = server();
  return api != nullptr && api->is_known() ? api : nullptr;
}

void send(const wire::ClientApi& api, const HostAccess* list, std::size_t count, bool answered) {
  const wire::HostAccesses head{.is_answered = answered ? 1U : 0U};
  wire::CallRequest request;
  request.type = wire::HostAccesses::kType;
  request.one_way = !answered;
  request.head = &head;
  request.head_bytes = sizeof head;
  request.tail = list;
  request.tail_bytes = count * sizeof(HostAccess);
  wire::CallReply reply;
  (void)api.call(&request, &reply);
}

void tell(const wire::ClientApi& api, Pending& here, bool answered) {
  if (here.is_busy) return;
  here.is_busy = true;
  send(api, here.list.data(), here.count, answered);
  here.count = 0;
  here.is_busy = false;
}

/// True: `one` is part of an access that is on the list, or has become so.
bool continues(Pending& here, const HostAccess& one) {
  const std::size_t last = here.count > kLookBack ? here.count - kLookBack : 0;
  for (std::size_t i = here.count; i-- > last;) {
    HostAccess& old = here.list[i];
    const bool is_look = old.kind == HostAccess::kLook;
    // What comes after a flag was seen is not what came before it.
    if (is_look != (one.kind == HostAccess::kLook) || old.kind == HostAccess::kRaise) return false;
    if (old.kind != one.kind) continue;
    if (one.address >= old.address && one.address + one.bytes <= old.address + old.bytes) {
      return true;
    }
    if (is_look || old.caller != one.caller) continue;
    if (one.address == old.address + old.bytes) {
      old.bytes += one.bytes;
      return true;
    }
    if (one.address + one.bytes == old.address) {
      old.address = one.address;
      old.bytes += one.bytes;
      return true;
    }
  }
  return false;
}

}  // namespace

void announce_watch() {
  is_announced.store(true, std::memory_order_relaxed);
}

__attribute__((noinline, cold)) void record(const volatile void* at,
                                            std::uint64_t bytes,
                                            HostAccess::Kind kind,
                                            const void* caller) {
  const wire::ClientApi* api = server_of_thread();
  if (api == nullptr || bytes == 0) return;
  Pending& here = *pending_of_thread();
  if (here.is_busy) return;
  const HostAccess one{.address = reinterpret_cast<std::uint64_t>(at),
                       .bytes = bytes,
                       .caller = reinterpret_cast<std::uint64_t>(caller),
                       .kind = kind};
  const bool is_flag = kind == HostAccess::kLook || kind == HostAccess::kRaise;
  // Whoever polls by writing says the same again and again: the server must see it wait.
  if (is_flag && here.count == 0 && here.last_raised == one.address) return;
  if (kind != HostAccess::kRaise && continues(here, one)) return;
  here.list[here.count++] = one;
  here.last_raised = kind == HostAccess::kRaise ? one.address : 0;
  if (kind == HostAccess::kRaise || here.count == kMost) {
    tell(*api, here, kind == HostAccess::kRaise);
  }
}

}  // namespace cuco::hostlib

using namespace cuco::hostlib;  // NOLINT(google-build-using-namespace): definitions of C functions

CUCO_HOST_EXPORT void cucoWatchHost(std::uint64_t base, std::uint64_t bytes) {
  watched_base.store(base, std::memory_order_relaxed);
  watched_bytes.store(bytes, std::memory_order_relaxed);
}

CUCO_HOST_EXPORT void cucoTellAccesses() {
  if (!is_announced.load(std::memory_order_relaxed)) return;
  if (pending != nullptr && pending->is_busy) return;
  if (pending != nullptr) pending->last_raised = 0;
  const bool is_first = !is_told.exchange(true);
  if (!is_first && (pending == nullptr || pending->count == 0)) return;
  const auto* api = server_of_thread();
  if (api != nullptr) tell(*api, *pending_of_thread(), false);
}
