// SPDX-License-Identifier: Apache-2.0
#include "loopback/nccl/nic.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

#include "loopback/gpu/divided_gpu.h"
#include "loopback/gpu/rank_memory.h"
#include "loopback/gpu/settings.h"
#include "loopback/nccl/windows.h"

namespace cuco::loopback {

using nccl_core::GinDescriptor;
using nccl_core::GinWords;

namespace {

constexpr std::size_t kLanes = 16;
// One block is faster than several that have to agree who is last.
constexpr std::uint64_t kBytesPerBlock = std::uint64_t{32} << 10U;
constexpr std::uint64_t kBatchBytes = std::uint64_t{256} << 10U;
constexpr std::uint64_t kStaging = std::uint64_t{1} << 30U;
// 195 GB/s on four multiprocessors of an H200; less is assumed, so that payloads are early.
constexpr double kBytesPerNsOfSm = 35;
constexpr int kPayloadsAhead = 4;

bool overlap(Address a, std::uint64_t a_bytes, Address b, std::uint64_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes;
}

}  // namespace

Nanoseconds now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Nic& Nic::get() {
  static Nic* const kNic = new Nic;
  return *kNic;
}

Nic::Nic() : pacing_(static_cast<std::size_t>(Machine::get().ranks())) {
  Machine& machine = Machine::get();
  if (settings().network) pacer_.emplace(*settings().network);
  is_pacing_ = pacer_.has_value() || settings().delay > 0;
  copy_bytes_per_ns_ = kBytesPerNsOfSm * machine.network().sms;
  lanes_.resize(kLanes);
  for (Lane& lane : lanes_) {
    lane.stream = machine.network_stream();
    lane.ticket = machine.device_bytes(sizeof(std::uint32_t));
  }
  if (settings().delay > 0) {
    CUdeviceptr memory = 0;
    must(Memory::get().allocate(&memory, 0, kStaging, false), "memory for deliveries that wait");
    staging_ = memory;
  }
  thread_ = std::thread([this] { run(); });
}

void Nic::stop() {
  stops_ = true;
  if (thread_.joinable()) thread_.join();
}

void Nic::add(const std::shared_ptr<GinSet>& set) {
  std::vector<std::unique_ptr<Ring>> made;
  for (int source = 0; source < set->clique->ranks(); ++source) {
    for (int context = 0; context < set->contexts; ++context) {
      const auto& proxy =
          set->ranks[static_cast<std::size_t>(source)][static_cast<std::size_t>(context)].proxy;
      for (int peer = 0; peer < set->clique->ranks(); ++peer) {
        auto ring = std::make_unique<Ring>();
        ring->set = set;
        ring->context = context;
        ring->source = source;
        ring->peer = peer;
        ring->queue = reinterpret_cast<volatile std::uint64_t*>(
            proxy.queues +
            static_cast<std::uint64_t>(peer) * kGinQueue * nccl_core::kGinDescriptorBytes);
        ring->lane = static_cast<std::size_t>(source * 7 + peer * 3 + context * 5) % kLanes;
        ring->done =
            static_cast<volatile std::uint64_t*>(Machine::get().host_bytes(sizeof(std::uint64_t)));
        made.push_back(std::move(ring));
      }
    }
  }
  const std::lock_guard lock(mutex_);
  for (auto& ring : made)
    rings_.push_back(std::move(ring));
}

void Nic::remove(const std::shared_ptr<GinSet>& set) {
  const std::lock_guard lock(mutex_);
  std::erase_if(rings_, [&](const auto& ring) { return ring->set == set; });
}

void Nic::run() {
  must(driver().cuCtxSetCurrent(Machine::get().network().context), "the network's context");
  allow_calls_while_others_capture();
  while (!stops_) {
    {
      const std::lock_guard lock(mutex_);
      // A clock is slower than a look at a ring.
      const Nanoseconds now = is_pacing_ ? now_ns() : 0;
      for (const auto& ring : rings_) {
        poll(*ring, now);
        if (!ring->due.empty()) deliver(*ring, now);
        if (!ring->launched.empty()) settle(*ring, now_ns());
      }
      flush_all();
    }
    if (cliques_version_ != Cliques::get().version()) {
      cliques_version_ = Cliques::get().version();
      cliques_ = Cliques::get().all();
    }
    for (const auto& clique : cliques_) {
      if (clique->is_ready) poll_collectives(*clique, now_ns());
    }
  }
}

// Bit 0 of every word says that it is written; the words are zeroed before the credit comes back.
void Nic::poll(Ring& ring, Nanoseconds now) {
  for (;;) {
    volatile std::uint64_t* slot =
        ring.queue +
        std::size_t{ring.seen % kGinQueue} * (nccl_core::kGinDescriptorBytes / sizeof(*slot));
    if ((slot[0] & 1U) == 0) return;
    GinWords words;
    for (std::size_t i = 0; i < words.size(); ++i)
      words[i] = slot[i];
    if (!nccl_core::is_complete(words)) return;
    std::atomic_thread_fence(std::memory_order_acquire);
    for (std::size_t i = 0; i < words.size(); ++i)
      slot[i] = 0;
    ++ring.seen;
    ++progress_;
    take(ring, nccl_core::decode(words), now);
    // What else was posted at the same time goes with it; the next ring's does not wait for it.
    const std::size_t next = ring.seen % kGinQueue;
    if ((ring.queue[next * (nccl_core::kGinDescriptorBytes / sizeof(*slot))] & 1U) == 0)
      flush(lanes_[ring.lane]);
  }
}

int Nic::device_of(const Ring& ring, int rank) const {
  return ring.set->clique->devices[static_cast<std::size_t>(rank)];
}

CopyJob Nic::job_of(const Ring& ring, const GinDescriptor& descriptor) {
  const auto context = static_cast<std::size_t>(ring.context);
  const auto& mine = ring.set->ranks[static_cast<std::size_t>(ring.source)][context].proxy;
  const auto& theirs = ring.set->ranks[static_cast<std::size_t>(ring.peer)][context].proxy;
  const auto where = [&](std::uint64_t number, std::uint64_t offset, int rank, const char* end) {
    const Window* window = Windows::get().find(number);
    if (window == nullptr || window->clique != ring.set->clique) {
      give_up("a put of rank " + std::to_string(ring.source) + " to rank " +
                  std::to_string(ring.peer) + ": its " + end +
                  " is no window of the communicator; was it deregistered?",
              kStuck);
    }
    if (offset > window->bytes || descriptor.bytes > window->bytes - offset) {
      give_up("a put of rank " + std::to_string(ring.source) + " to rank " +
                  std::to_string(ring.peer) + ": " + std::to_string(descriptor.bytes) +
                  " bytes at offset " + std::to_string(offset) + " go past the end of its " + end +
                  " window of " + std::to_string(window->bytes) + " bytes",
              kStuck);
    }
    return Address{window->addresses[static_cast<std::size_t>(rank)]} + offset;
  };
  CopyJob job;
  job.bytes = descriptor.bytes;
  if (descriptor.bytes != 0) {
    job.destination = where(descriptor.destination_window, descriptor.destination_offset, ring.peer,
                            "destination");
    if (descriptor.is_inline) {
      job.value = descriptor.value;
    } else {
      job.source = where(descriptor.source_window, descriptor.source_offset, ring.source, "source");
    }
  }
  if (descriptor.signal) {
    if (*descriptor.signal >= ring.set->signals) {
      give_up("rank " + std::to_string(ring.source) + " signals " +
                  std::to_string(*descriptor.signal) + " of rank " + std::to_string(ring.peer) +
                  "; its device communicator has " + std::to_string(ring.set->signals) +
                  ": ask for as many as are used with ginSignalCount",
              kStuck);
    }
    job.signal = theirs.signals + std::uint64_t{*descriptor.signal} * 8;
    job.signal_add = descriptor.signal_value;
  }
  if (descriptor.counter) {
    if (*descriptor.counter >= ring.set->counters) {
      give_up("rank " + std::to_string(ring.source) + " uses counter " +
                  std::to_string(*descriptor.counter) + "; its device communicator has " +
                  std::to_string(ring.set->counters) +
                  ": ask for as many as are used with ginCounterCount",
              kStuck);
    }
    job.counter = mine.counters + std::uint64_t{*descriptor.counter} * 8;
  }
  job.credit = mine.consumer_indices + static_cast<std::uint64_t>(ring.peer) * 4;
  job.credit_value = ring.seen;
  return job;
}

void Nic::take(Ring& ring, const GinDescriptor& descriptor, Nanoseconds now) {
  const CopyJob job = job_of(ring, descriptor);
  if (descriptor.bytes != 0) {
    ++ring.set->clique->puts[static_cast<std::size_t>(ring.source)];
    ring.set->clique->put_bytes[static_cast<std::size_t>(ring.source)] += descriptor.bytes;
  }
  if (!is_pacing_) return push(ring.lane, job);
  Due due;
  due.job = job;
  due.posted = now;
  due.arrival = pacer_ ? pacer_->put(device_of(ring, ring.source), device_of(ring, ring.peer),
                                     descriptor.bytes, now)
                       : now;
  if (settings().delay > 0) {
    // The sender is done when the source was read; the receiver gets it later.
    due.arrival += settings().delay;
    const auto room = job.source != 0 ? stage(job.bytes) : std::optional<Address>();
    if (job.source == 0 || room) {
      CopyJob first = job;
      first.signal = 0;
      first.destination = room.value_or(0);
      if (!room) first.bytes = 0;
      push(ring.lane, first);
      due.job.counter = due.job.credit = 0;
      if (room) {
        due.job.source = *room;
        due.staged_bytes = job.bytes;
      }
    }
  }
  due.has_payload = job.source == 0 || job.bytes <= kBytesPerBlock;
  ring.due.push_back(due);
}

std::optional<Address> Nic::stage(std::uint64_t bytes) {
  bytes = (bytes + 255) / 256 * 256;
  std::uint64_t at = 0;
  for (const auto& [offset, length] : staged_) {
    if (offset - at >= bytes) break;
    at = offset + length;
  }
  if (kStaging - at < bytes) return std::nullopt;
  staged_[at] = bytes;
  return staging_ + at;
}

// Payloads go so early that they are there in time, what announces them exactly in time.
void Nic::deliver(Ring& ring, Nanoseconds now) {
  const auto ahead = static_cast<Nanoseconds>(ahead_);
  int looked = 0;
  for (Due& due : ring.due) {
    if (++looked > kPayloadsAhead) break;
    if (due.has_payload) continue;
    const auto copy =
        static_cast<Nanoseconds>(static_cast<double>(due.job.bytes) / copy_bytes_per_ns_);
    if (now < due.arrival - 2 * copy - 2 * ahead) break;
    CopyJob payload;
    payload.source = due.job.source;
    payload.destination = due.job.destination;
    payload.bytes = due.job.bytes;
    push(ring.lane, payload);
    due.has_payload = true;
    due.job.bytes = 0;
    due.job.destination = 0;
  }
  while (!ring.due.empty() && now >= ring.due.front().arrival - ahead) {
    Due due = ring.due.front();
    ring.due.pop_front();
    flush(lanes_[ring.lane]);
    Lane& lane = lanes_[ring.lane];
    lane.batch.done = reinterpret_cast<Address>(ring.done);
    lane.batch.done_value = ++ring.last_id;
    push(ring.lane, due.job);
    flush(lane);
    ring.launched.push_back(
        {ring.last_id, due.posted, due.arrival, due.staged_bytes != 0 ? due.job.source : 0});
  }
}

void Nic::settle(Ring& ring, Nanoseconds now) {
  const std::uint64_t done = *ring.done;
  while (!ring.launched.empty() && ring.launched.front().id <= done) {
    const Launched& one = ring.launched.front();
    const auto late = static_cast<double>(now - one.arrival);
    // What was late already says nothing about launches.
    if (late < 20'000) ahead_ = std::clamp(ahead_ + late / 16, 0.0, 20'000.0);
    pacing_[static_cast<std::size_t>(device_of(ring, ring.source))].add(one.arrival - one.posted,
                                                                        now - one.posted);
    if (one.staged != 0) staged_.erase(one.staged - staging_);
    ring.launched.pop_front();
    ++progress_;
  }
}

void Nic::push(std::size_t index, const CopyJob& job) {
  Lane& lane = lanes_[index];
  for (std::uint32_t i = 0; i < lane.batch.jobs; ++i) {
    const CopyJob& other = lane.batch.job[i];
    // Within a batch payloads are copied in no order.
    if (overlap(other.destination, other.bytes, job.destination, job.bytes)) {
      flush(lane);
      break;
    }
  }
  lane.batch.job[lane.batch.jobs++] = job;
  if (job.source != 0) lane.bytes += job.bytes;
  if (lane.batch.jobs == kJobsPerBatch || lane.bytes > kBatchBytes) flush(lane);
}

void Nic::flush(Lane& lane) {
  if (lane.batch.jobs == 0) return;
  const auto most = static_cast<std::uint64_t>(Machine::get().network().sms) * 2;
  const auto blocks =
      static_cast<unsigned>(std::clamp<std::uint64_t>(lane.bytes / kBytesPerBlock, 1, most));
  lane.batch.ticket = lane.ticket;
  const CUresult result =
      Machine::get().launch(Machine::get().copy_kernel(), blocks, lane.bytes <= 4096 ? 128 : 512,
                            lane.stream, &lane.batch);
  if (result != CUDA_SUCCESS && !stops_.exchange(true)) {
    std::fprintf(stderr, "cuco loopback: the network stops: %s\n", text_of(result));
  }
  lane.batch.jobs = 0;
  lane.batch.done = 0;
  lane.bytes = 0;
}

void Nic::flush_all() {
  for (Lane& lane : lanes_)
    flush(lane);
}

void Nic::poll_collectives(Clique& clique, Nanoseconds now) {
  for (int rank = 0; rank < clique.ranks(); ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    Clique::Paced& paced = clique.paced[r];
    auto* consumed = reinterpret_cast<volatile std::uint64_t*>(clique.view.consumed) + r;
    auto* released = reinterpret_cast<volatile std::uint64_t*>(clique.view.released) + r;
    for (;;) {
      const auto* slot = reinterpret_cast<const volatile Event*>(clique.view.events) +
                         r * kEventRing + (paced.seen + 1) % kEventRing;
      if (slot->sequence != paced.seen + 1) break;
      std::atomic_thread_fence(std::memory_order_acquire);
      const Event event{slot->sequence, slot->number, slot->bytes, slot->kind, slot->peer};
      *consumed = ++paced.seen;
      ++progress_;
      const auto kind = static_cast<nccl_core::Kind>(event.kind);
      // What is received is counted where it was sent.
      const bool receives = kind == nccl_core::Kind::Recv;
      const auto sender = receives ? static_cast<std::size_t>(event.peer) : r;
      clique.collective_bytes[sender] += wire_bytes(
          receives ? nccl_core::Kind::Send : kind, clique.ranks(), event.peer == rank, event.bytes);
      if (is_pacing_) hold_back(clique, rank, event, now);
    }
    while (!paced.due.empty() && paced.due.front().is_known && now >= paced.due.front().when) {
      *released = paced.due.front().sequence;
      paced.due.erase(paced.due.begin());
    }
  }
}

void Nic::hold_back(Clique& clique, int rank, const Event& event, Nanoseconds now) {
  const auto kind = static_cast<nccl_core::Kind>(event.kind);
  Clique::Paced& paced = clique.paced[static_cast<std::size_t>(rank)];
  if (kind == nccl_core::Kind::Recv) {
    const Nanoseconds when =
        pacer_ ? pacer_->message(clique.devices[static_cast<std::size_t>(event.peer)],
                                 clique.devices[static_cast<std::size_t>(rank)], event.bytes, now)
               : now;
    paced.due.push_back({event.sequence, when + settings().delay, true, 0});
    return;
  }
  paced.due.push_back({event.sequence, 0, false, event.number});
  Clique::Round& round = clique.rounds[event.number];
  if (++round.joined < clique.ranks()) return;
  clique.rounds.erase(event.number);
  const Nanoseconds when =
      (pacer_ ? pacer_->collective(kind, clique.devices, event.peer, event.bytes, now) : now) +
      settings().delay;
  for (Clique::Paced& other : clique.paced) {
    for (Clique::Paced::Due& due : other.due) {
      if (due.is_known || due.number != event.number) continue;
      due.is_known = true;
      due.when = when;
    }
  }
}

std::vector<std::string> Nic::describe() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> lines;
  for (const auto& ring : rings_) {
    if (ring->due.empty() && ring->launched.empty()) continue;
    lines.push_back("rank " + std::to_string(ring->source) + " to rank " +
                    std::to_string(ring->peer) + ", GIN context " + std::to_string(ring->context) +
                    ": " + std::to_string(ring->due.size() + ring->launched.size()) + " of " +
                    std::to_string(ring->seen) + " deliveries are on their way");
  }
  return lines;
}

}  // namespace cuco::loopback
