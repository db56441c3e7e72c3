// SPDX-License-Identifier: Apache-2.0
// Memory pools: the handles and attributes of cudaMallocAsync's pools. Memory itself comes straight
// from the device; a pool only counts.
#include <algorithm>

#include "shims/wire/messages_memory.h"
#include "shims/wire/status.h"
#include "vcluster/calls/calls.h"
#include "vcluster/core/ids.h"
#include "vcluster/device/allocations.h"

namespace cuco::vcluster {
namespace {

// cudaMemPoolAttr
constexpr std::uint32_t kReserved = 5;
constexpr std::uint32_t kReservedHigh = 6;
constexpr std::uint32_t kUsed = 7;
constexpr std::uint32_t kUsedHigh = 8;

std::uint64_t bytes_in(const Allocations& allocations,
                       const Process& process,
                       std::uint64_t pool,
                       std::int32_t device,
                       bool is_default) {
  std::uint64_t total = 0;
  for (const auto& [base, allocation] : allocations.all()) {
    const bool mine = allocation.process == process.index && allocation.device == device;
    if (mine && (allocation.pool == pool || (is_default && allocation.pool == kDefaultPool))) {
      total += allocation.bytes;
    }
  }
  return total;
}

void call(const Allocations& allocations,
          Ids& ids,
          Session& session,
          const wire::PoolCall& request) {
  Process& process = *session.process;
  wire::PoolCall::Reply reply;
  if (request.action == wire::PoolCall::kDefault) {
    if (!process.sees(request.device)) return session.reply(wire::kInvalidDevice);
    std::uint64_t& pool = process.default_pools[request.device];
    if (pool == 0) {
      pool = ids.next();
      process.pools[pool].device = request.device;
    }
    reply.value = pool;
    return session.reply_with(wire::kSuccess, reply);
  }
  if (request.action == wire::PoolCall::kCreate) {
    if (!process.sees(request.device)) return session.reply(wire::kInvalidDevice);
    reply.value = ids.next();
    process.pools[reply.value].device = request.device;
    return session.reply_with(wire::kSuccess, reply);
  }
  const auto found = process.pools.find(request.pool);
  if (found == process.pools.end()) return session.reply(wire::kInvalidValue);
  MemoryPool& pool = found->second;
  const bool is_default = process.default_pools[pool.device] == request.pool;
  const std::uint64_t used = bytes_in(allocations, process, request.pool, pool.device, is_default);
  pool.high = std::max(pool.high, used);
  switch (request.action) {
    case wire::PoolCall::kDestroy:
      process.pools.erase(found);
      break;
    case wire::PoolCall::kGetAttribute:
      if (request.attribute == kUsed || request.attribute == kReserved) {
        reply.value = used;
      } else if (request.attribute == kUsedHigh || request.attribute == kReservedHigh) {
        reply.value = pool.high;
      } else {
        reply.value = pool.attributes[request.attribute];
      }
      break;
    case wire::PoolCall::kSetAttribute:
      if (request.attribute == kUsedHigh || request.attribute == kReservedHigh) pool.high = used;
      pool.attributes[request.attribute] = request.value;
      break;
    case wire::PoolCall::kTrim:
      break;
    default:
      return session.refuse("an unknown pool call");
  }
  session.reply_with(wire::kSuccess, reply);
}

}  // namespace

void register_pool_calls(Dispatcher& dispatcher, const Allocations& allocations, Ids& ids) {
  dispatcher.on<wire::PoolCall>(
      [&allocations, &ids](Session& session, const wire::PoolCall& request, wire::Bytes) {
        call(allocations, ids, session, request);
      });
}

}  // namespace cuco::vcluster
