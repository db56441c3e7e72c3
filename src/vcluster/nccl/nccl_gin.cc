// SPDX-License-Identifier: Apache-2.0
#include "vcluster/nccl/nccl_gin.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/assert.h"
#include "vcluster/watch/run_check.h"
#include "vcluster/watch/written_types.h"

namespace cuco::vcluster {

namespace abi = nccl_core::abi_2_28;
using nccl_core::GinDescriptor;
using nccl_core::GinWords;
using vgpu::Address;

namespace {

constexpr std::uint32_t kQueueSize = 128;
// NCCL's proxy thread polls host memory that the GPU writes over PCIe...
constexpr VTime kPoll = 1 * vgpu::kMicrosecond;
// ...and needs this long to turn one descriptor into a work request.
constexpr VTime kPerDescriptor = 200 * vgpu::kNanosecond;

template <typename T>
T load(Address address) {
  T value;
  std::memcpy(&value, vgpu::Memory::at(address), sizeof value);
  return value;
}

template <typename T>
void store(Address address, const T& value) {
  std::memcpy(vgpu::Memory::at(address), &value, sizeof value);
}

std::uint64_t ring_bytes() {
  return std::uint64_t{kQueueSize} * nccl_core::kGinDescriptorBytes;
}

}  // namespace

// The server plays NCCL's proxy thread: kernels write descriptors into rings in device memory with
// the code of the real headers; writes to a ring wake the NIC, which polls, decodes, carries out
// and returns a credit.
Result<GinLayout> lay_out_gin(vgpu::Memory& memory,
                              unsigned device,
                              int ranks,
                              int contexts,
                              std::uint32_t signals,
                              std::uint32_t counters) {
  const auto n = static_cast<std::uint64_t>(ranks);
  // Never empty: the headers' code computes addresses of signal 0 even where nobody uses it.
  const std::uint64_t signal_bytes = std::max<std::uint64_t>(signals, 1) * 8;
  const std::uint64_t counter_bytes = std::max<std::uint64_t>(counters, 1) * 8;
  const auto aligned = [](std::uint64_t bytes) { return (bytes + 127) / 128 * 128; };
  const std::uint64_t per_context = aligned(sizeof(abi::GinProxyContext)) + n * ring_bytes() +
                                    2 * aligned(n * 4) + aligned(signal_bytes) +
                                    aligned(counter_bytes);
  const std::uint64_t total = per_context * static_cast<std::uint64_t>(contexts);
  GinLayout layout;
  CUCO_TRY_ASSIGN(layout.base, memory.allocate(device, total, 128));
  std::memset(vgpu::Memory::at(layout.base), 0, total);
  layout.bytes = total;
  layout.signals = signals;
  layout.counters = counters;
  for (int context = 0; context < contexts; ++context) {
    Address at = layout.base + per_context * static_cast<std::uint64_t>(context);
    const auto take = [&](std::uint64_t bytes) { return std::exchange(at, at + aligned(bytes)); };
    layout.handles.push_back(take(sizeof(abi::GinProxyContext)));
    abi::GinProxyContext& proxy = layout.contexts.emplace_back();
    proxy.n_ranks = ranks;
    proxy.queue_size = kQueueSize;
    proxy.queues = take(n * ring_bytes());
    proxy.producer_indices = take(n * 4);
    proxy.consumer_indices = take(n * 4);
    proxy.counters = take(counter_bytes);
    proxy.signals = take(signal_bytes);
    store(layout.handles.back(), proxy);
  }
  return layout;
}

/// One descriptor on its way, with addresses instead of windows.
struct GinNic::Job {
  GinDescriptor descriptor;
  std::uint32_t context = 0;
  int peer = 0;
  Address source = 0;
  Address destination = 0;
  std::shared_ptr<const std::vector<std::byte>> staged;  ///< The source, if it was read early.
  check::ChainId chain = 0;                              ///< Checked runs.
  Ring::Posted posted;
};

GinNic::GinNic(int rank, std::shared_ptr<const GinTeam> team, GinServices services)
    : rank_(rank),
      team_(std::move(team)),
      services_(std::move(services)),
      rng_(services_.sources.seed ^ (0x9E37U + static_cast<std::uint64_t>(rank) * 0x1000193U)) {
  const GinLayout& mine = team_->layouts[static_cast<std::size_t>(rank)];
  for (std::uint32_t context = 0; context < mine.contexts.size(); ++context) {
    for (int peer = 0; peer < team_->clique->ranks(); ++peer) {
      Ring ring;
      ring.context = context;
      ring.peer = peer;
      ring.queue = mine.contexts[context].queues + static_cast<std::uint64_t>(peer) * ring_bytes();
      const std::size_t index = rings_.size();
      ring.watch = services_.memory.watch(ring.queue, ring_bytes(),
                                          [this, index](VTime when) { on_write(index, when); });
      rings_.push_back(ring);
    }
  }
}

GinNic::~GinNic() {
  *alive_ = false;
  for (const Ring& ring : rings_)
    services_.memory.unwatch(ring.watch);
}

void GinNic::look_at_posters(Ring& ring) {
  if (ring.chain == 0) ring.chain = services_.check->new_chain();
  for (; ring.seen - ring.consumed < kQueueSize; ++ring.seen) {
    const Address slot =
        ring.queue + (ring.seen % kQueueSize) * std::uint64_t{nccl_core::kGinDescriptorBytes};
    const auto words = load<GinWords>(slot);
    if (!nccl_core::is_complete(words)) return;
    ring.posted.push_back(begin_check(ring, nccl_core::decode(words), slot));
  }
}

GinNic::Ring::Posted GinNic::begin_check(const Ring& ring,
                                         const GinDescriptor& descriptor,
                                         Address slot) {
  Ring::Posted posted;
  posted.site = services_.check->checker.writer_site(slot);
  Job job;
  if (locate(descriptor, ring.peer, &job)) return posted;  // Refused when its turn comes.
  check::WorkInfo info;
  info.what = descriptor.bytes == 0
                  ? fmt::format("signal to rank {}", ring.peer)
                  : fmt::format("put of {} bytes to rank {}", descriptor.bytes, ring.peer);
  info.rank = rank_;
  info.device = static_cast<std::uint32_t>(team_->clique->device_of(rank_));
  info.chain = ring.chain;
  info.operation = std::uint64_t{ring.seen} + 1;
  // A descriptor is a plain store: the NIC knows what its thread has released, not what it knows.
  info.start = services_.check->checker.races().released_with(slot);
  info.call = posted.site;
  check::PutRecord put;
  put.from = rank_;
  put.to = ring.peer;
  put.source = job.source == 0 ? 0 : services_.check->canonical(job.source);
  put.destination = job.destination == 0 ? 0 : services_.check->canonical(job.destination);
  put.bytes = descriptor.bytes;
  put.communicator = team_->layouts.front().base;
  const GinLayout& theirs = team_->layouts[static_cast<std::size_t>(ring.peer)];
  if (descriptor.signal && *descriptor.signal < theirs.signals) {
    put.signal = theirs.contexts[ring.context].signals + std::uint64_t{*descriptor.signal} * 8;
  }
  posted.operation = info.operation;
  posted.source = put.source;
  posted.destination = put.destination;
  posted.work = services_.check->begin_put(info, put);
  return posted;
}

// A ring is consumed by one event at a time, however many writes wake it.
void GinNic::on_write(std::size_t index, VTime when) {
  Ring& ring = rings_[index];
  if (services_.check != nullptr) look_at_posters(ring);
  if (ring.is_scheduled) return;
  const Address slot =
      ring.queue + (ring.consumed % kQueueSize) * std::uint64_t{nccl_core::kGinDescriptorBytes};
  if (!nccl_core::is_complete(load<GinWords>(slot))) return;
  ring.is_scheduled = true;
  const VTime poll = services_.fabric.topology().gin.by_proxy ? kPoll : 0;
  services_.timeline.at(when + poll, [this, index, alive = alive_] {
    if (*alive) consume(index);
  });
}

void GinNic::consume(std::size_t index) {
  Ring& ring = rings_[index];
  ring.is_scheduled = false;
  for (;;) {
    const Address slot =
        ring.queue + (ring.consumed % kQueueSize) * std::uint64_t{nccl_core::kGinDescriptorBytes};
    const auto words = load<GinWords>(slot);
    if (!nccl_core::is_complete(words)) return;
    // Zeroed before its credit comes back, so that a stale flag is never taken for a new one.
    store(slot, GinWords{});
    ++ring.consumed;
    const fabric::Gin& gin = services_.fabric.topology().gin;
    VTime start = services_.timeline.now();
    if (gin.by_proxy) {
      start = std::max(start, proxy_free_);
      proxy_free_ = start + kPerDescriptor;
    }
    carry_out(ring, nccl_core::decode(words), start + gin.post);
  }
}

std::optional<std::string> GinNic::locate(const GinDescriptor& descriptor, int peer, Job* job) {
  const auto find = [&](std::uint64_t number, std::uint64_t offset, int owner, const char* which,
                        Address* address) -> std::optional<std::string> {
    const NcclWindowSet* window = services_.windows.find(number);
    if (window == nullptr || window->clique != team_->clique) {
      return fmt::format("the {} window is not registered with this communicator", which);
    }
    if (offset > window->bytes || descriptor.bytes > window->bytes - offset) {
      return fmt::format("{} bytes at offset {} go past the end of the {} window, which has {}",
                         descriptor.bytes, offset, which, window->bytes);
    }
    *address = window->copies[static_cast<std::size_t>(owner)].address + offset;
    return std::nullopt;
  };
  if (descriptor.bytes == 0) return std::nullopt;
  if (descriptor.is_inline) {
    if (descriptor.bytes > 8) return "an inline value has more than 8 bytes";
  } else if (auto wrong = find(descriptor.source_window, descriptor.source_offset, rank_, "source",
                               &job->source)) {
    return wrong;
  }
  return find(descriptor.destination_window, descriptor.destination_offset, peer, "destination",
              &job->destination);
}

void GinNic::carry_out(Ring& ring, const GinDescriptor& descriptor, VTime start) {
  const GinLayout& mine = team_->layouts[static_cast<std::size_t>(rank_)];
  const GinLayout& theirs = team_->layouts[static_cast<std::size_t>(ring.peer)];
  Job job;
  job.descriptor = descriptor;
  job.context = ring.context;
  job.peer = ring.peer;
  std::optional<std::string> wrong = locate(descriptor, ring.peer, &job);
  if (!wrong && descriptor.signal && *descriptor.signal >= theirs.signals) {
    wrong = fmt::format("signal {} does not exist: the device communicator has {}",
                        *descriptor.signal, theirs.signals);
  }
  if (!wrong && descriptor.counter && *descriptor.counter >= mine.counters) {
    wrong = fmt::format("counter {} does not exist: the device communicator has {}",
                        *descriptor.counter, mine.counters);
  }
  if (services_.check != nullptr && !ring.posted.empty()) {
    job.chain = ring.chain;
    job.posted = std::move(ring.posted.front());
    ring.posted.pop_front();
    if (wrong) services_.check->on_bad_put(job.posted.site, *wrong, rank_);
  }
  if (wrong) {
    services_.fail_device(team_->clique->device_of(rank_),
                          fmt::format("GIN operation of rank {} to rank {} on {}: {}", rank_,
                                      ring.peer, team_->clique->name(), *wrong));
    return;
  }
  lint(descriptor, ring.peer);
  ++puts_;
  bytes_ += descriptor.bytes;
  const int from = team_->clique->device_of(rank_);
  const int to = team_->clique->device_of(ring.peer);
  const fabric::Transfer transfer =
      services_.fabric.transfer(fabric::Route::Nic, from, to, descriptor.bytes, start);
  const VTime arrival = transfer.arrival;
  // The contract lets the NIC read its source at any time until completion.
  if (services_.sources.some_early && job.source != 0 && rng_.below(2) == 0) {
    const std::byte* source = vgpu::Memory::at(job.source);
    job.staged = std::make_shared<const std::vector<std::byte>>(source, source + descriptor.bytes);
  }
  // Puts of a ring may overtake each other, but a signal comes after all puts before it.
  ring.last_arrival = std::max(ring.last_arrival, arrival);
  // The NIC reports completion when the peer's acknowledgement is back. A probe may make arrivals
  // late and not completions: who waits for one has not waited for the other.
  const fabric::Topology& topology = services_.fabric.topology();
  const fabric::Lateness& lateness = services_.fabric.lateness();
  const VTime late = lateness.spares_completions ? lateness.always : 0;
  const VTime acknowledged = arrival - late + (topology.nic ? topology.nic->latency : 0);
  if (acknowledged < arrival && job.source != 0 && !job.staged) stage_at(acknowledged, job);
  ring.last_credit = std::max(ring.last_credit, acknowledged);
  services_.timeline.at(arrival, [this, job, alive = alive_] {
    if (*alive) deliver(job);
  });
  if (services_.deliveries != nullptr) {
    log_delivery(job, start, arrival, ring.last_arrival);
    log_completion(job, start, acknowledged, ring.last_credit);
  }
  if (descriptor.signal) {
    services_.timeline.at(ring.last_arrival, [this, job, alive = alive_] {
      if (*alive) add_signal(job);
    });
  }
  const auto index = static_cast<std::size_t>(&ring - rings_.data());
  if (descriptor.counter) {
    services_.timeline.at(acknowledged, [this, job, alive = alive_] {
      if (!*alive) return;
      const abi::GinProxyContext& proxy =
          team_->layouts[static_cast<std::size_t>(rank_)].contexts[job.context];
      const Address counter = proxy.counters + std::uint64_t{*job.descriptor.counter} * 8;
      store(counter, load<std::uint64_t>(counter) + 1);
      if (services_.check != nullptr) {
        services_.check->checker.publish(job.posted.work, counter, 8, 1,
                                         load<std::uint64_t>(counter));
      }
      services_.memory.notify_write(counter, 8, services_.timeline.now());
    });
  }
  services_.timeline.at(ring.last_credit, [this, index, job, alive = alive_] {
    if (*alive) complete(index, job);
  });
}

void GinNic::log_delivery(const Job& job, VTime sent, VTime arrival, VTime signalled) {
  auto& log = *services_.deliveries;
  const int from = team_->clique->device_of(rank_);
  const int to = team_->clique->device_of(job.peer);
  if (job.descriptor.bytes != 0) {
    log.push_back({services_.memory.canonical(job.destination), job.descriptor.bytes, sent, arrival,
                   false, from, to});
  }
  if (!job.descriptor.signal) return;
  const abi::GinProxyContext& theirs =
      team_->layouts[static_cast<std::size_t>(job.peer)].contexts[job.context];
  log.push_back({theirs.signals + std::uint64_t{*job.descriptor.signal} * 8, 8, sent, signalled,
                 false, from, to});
}

void GinNic::log_completion(const Job& job, VTime sent, VTime acknowledged, VTime credited) {
  const abi::GinProxyContext& mine =
      team_->layouts[static_cast<std::size_t>(rank_)].contexts[job.context];
  auto& log = *services_.deliveries;
  const int device = team_->clique->device_of(rank_);
  log.push_back({mine.consumer_indices + static_cast<std::uint64_t>(job.peer) * 4, 4, sent,
                 credited, true, device, device});
  if (!job.descriptor.counter) return;
  log.push_back({mine.counters + std::uint64_t{*job.descriptor.counter} * 8, 8, sent, acknowledged,
                 true, device, device});
}

// The program may write its source again from then on.
void GinNic::stage_at(VTime when, Job& job) {
  auto staged = std::make_shared<std::vector<std::byte>>(job.descriptor.bytes);
  job.staged = staged;
  services_.timeline.at(when, [staged, source = job.source] {
    std::memcpy(staged->data(), vgpu::Memory::at(source), staged->size());
  });
}

void GinNic::deliver(const Job& job) {
  if (job.descriptor.bytes == 0) return;
  std::byte* to = vgpu::Memory::at(job.destination);
  if (job.descriptor.is_inline) {
    std::memcpy(to, &job.descriptor.value, job.descriptor.bytes);
  } else {
    std::memmove(to, job.staged ? job.staged->data() : vgpu::Memory::at(job.source),
                 job.descriptor.bytes);
    if (services_.types != nullptr) {
      services_.types->note_copy(services_.memory.canonical(job.destination),
                                 services_.memory.canonical(job.source), job.descriptor.bytes);
    }
  }
  if (services_.check != nullptr) {
    services_.check->checker.deliver(job.posted.work, job.posted.destination, job.posted.source,
                                     job.descriptor.bytes);
  }
  services_.memory.notify_write(job.destination, job.descriptor.bytes, services_.timeline.now());
}

void GinNic::add_signal(const Job& job) {
  const abi::GinProxyContext& theirs =
      team_->layouts[static_cast<std::size_t>(job.peer)].contexts[job.context];
  const Address signal = theirs.signals + std::uint64_t{*job.descriptor.signal} * 8;
  store(signal, load<std::uint64_t>(signal) + job.descriptor.signal_value);
  if (services_.check != nullptr) {
    services_.check->raise(job.posted.work, signal, job.descriptor.signal_value,
                           load<std::uint64_t>(signal), {job.chain, job.posted.operation});
  }
  services_.memory.notify_write(signal, 8, services_.timeline.now());
}

void GinNic::complete(std::size_t index, const Job& job) {
  Ring& ring = rings_[index];
  const abi::GinProxyContext& mine =
      team_->layouts[static_cast<std::size_t>(rank_)].contexts[ring.context];
  const Address credit = mine.consumer_indices + static_cast<std::uint64_t>(job.peer) * 4;
  store(credit, ++ring.credited);
  if (services_.check != nullptr) {
    services_.check->end_put(job.posted.work, credit, ring.credited,
                             {job.chain, job.posted.operation});
  }
  services_.memory.notify_write(credit, 4, services_.timeline.now());
}

void GinNic::lint(const GinDescriptor& descriptor, int peer) {
  const int lsa_size = team_->clique->lsa_size;
  const bool of_rail_barrier =
      descriptor.signal &&
      std::uint32_t{*descriptor.signal} - team_->first_rail_signal < team_->rail_barriers;
  if (of_rail_barrier && peer % lsa_size != rank_ % lsa_size && lsa_size >= 3 &&
      !std::exchange(team_->has_warned_of_rail, true)) {
    services_.log(fmt::format(
        "warning: rank {} takes part in a GIN barrier of devComm.railGinBarrier with rank {}, "
        "which "
        "is not on its rail: NCCL 2.28.9 hangs with three or more ranks on a node (NCCL issue "
        "1923). Use ncclBarrierSession with ncclTeamTagWorld, or worldGinBarrierCount from 2.30.3 "
        "on",
        rank_, peer));
  }
  if (!descriptor.is_inline || warned_value_signal_) return;
  warned_value_signal_ = true;
  services_.log(fmt::format(
      "warning: rank {} uses ncclGin::putValue{}: right by NCCL's contract, but the proxy of NCCL "
      "2.28.9 {}; fixed in 2.29.7. On 2.28.9 use put from a registered window",
      rank_, descriptor.signal ? " with a signal" : "",
      descriptor.signal ? "writes the value to the wrong place and loses the signal"
                        : "writes the value to the wrong place"));
}

std::vector<std::string> GinNic::describe_pending() const {
  std::vector<std::string> lines;
  for (const Ring& ring : rings_) {
    if (ring.consumed == ring.credited) continue;
    lines.push_back(fmt::format("GIN of rank {} on {}: {} operations to rank {} are in flight",
                                rank_, team_->clique->name(), ring.consumed - ring.credited,
                                ring.peer));
  }
  return lines;
}

}  // namespace cuco::vcluster
