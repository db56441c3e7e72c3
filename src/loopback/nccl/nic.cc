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

constexpr std::uint64_t kStaging = std::uint64_t{1} << 30U;
// 195 GB/s on four multiprocessors of an H200; less is assumed, so that payloads are early.
constexpr double kBytesPerNsOfSm = 35;
constexpr std::size_t kPayloadsAhead = 4;
// A launch, and that its end is seen: how early a large payload sets out besides its copying.
constexpr Nanoseconds kLaunch = 12'000;
constexpr double kMostAhead = 20'000;
// How early the courier is told of what it announces at a given time.
constexpr double kHandOver = 8'000;

/// The mutex is free again at once, but would be taken again as soon.
class Visit {
 public:
  explicit Visit(std::atomic<int>& visitors) : visitors_(visitors) { ++visitors_; }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;
  ~Visit() { --visitors_; }

 private:
  std::atomic<int>& visitors_;
};

}  // namespace

Nic& Nic::get() {
  static Nic& nic = *new Nic;
  return nic;
}

Nic::Nic() : pacing_(static_cast<std::size_t>(Machine::get().ranks())) {
  Machine& machine = Machine::get();
  if (settings().network) pacer_.emplace(*settings().network);
  is_pacing_ = settings().paces();
  copy_bytes_per_ns_ = kBytesPerNsOfSm * machine.network().sms;
  courier_.emplace();
  collectives_.emplace(pacer_, settings().delay, is_pacing_, pacing_);
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
        made.push_back(std::move(ring));
      }
    }
  }
  const Visit visit(visitors_);
  const std::lock_guard lock(mutex_);
  for (auto& ring : made)
    rings_.push_back(std::move(ring));
}

void Nic::remove(const std::shared_ptr<GinSet>& set) {
  const Visit visit(visitors_);
  const std::lock_guard lock(mutex_);
  std::erase_if(rings_, [&](const auto& ring) { return ring->set == set; });
}

void Nic::run() {
  must(driver().cuCtxSetCurrent(Machine::get().network().context), "the network's context");
  allow_calls_while_others_capture();
  while (!stops_ && !courier_->has_failed()) {
    if (visitors_ > 0) {
      std::this_thread::yield();
      if (!mutex_.try_lock()) continue;
    } else {
      mutex_.lock();
    }
    for (const auto& ring : rings_)
      serve(*ring);
    courier_->tend(now_ns());
    mutex_.unlock();
    if (cliques_version_ != Cliques::get().version()) {
      cliques_version_ = Cliques::get().version();
      cliques_ = Cliques::get().all();
    }
    for (const auto& clique : cliques_) {
      if (clique->is_ready) progress_ += collectives_->poll(*clique, now_ns());
    }
  }
}

void Nic::serve(Ring& ring) {
  poll(ring);
  if (!ring.now.empty()) deliver(ring, ring.now);
  if (!ring.due.empty()) deliver(ring, ring.due);
  if (!ring.sent.empty()) settle(ring);
}

// Bit 0 of every word says that it is written; the words are zeroed before the credit comes back.
void Nic::poll(Ring& ring) {
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
    take(ring, nccl_core::decode(words), now_ns());
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
  Due due{.job = job, .posted = now, .arrival = now};
  if (!is_pacing_) {
    ring.now.push_back(due);
    return;
  }
  if (pacer_) {
    due.arrival = pacer_->put(device_of(ring, ring.source), device_of(ring, ring.peer),
                              descriptor.bytes, now);
  }
  if (settings().delay > 0) {
    // The sender is done when the source was read; the receiver gets it later.
    due.arrival += settings().delay;
    const auto room = job.source != 0 ? stage(job.bytes) : std::optional<Address>();
    if (job.source == 0 || room) {
      Due first{.job = job, .posted = now, .arrival = now, .is_delivery = false};
      first.job.signal = 0;
      first.job.destination = room.value_or(0);
      if (!room) first.job.bytes = 0;
      ring.now.push_back(first);
      due.job.counter = due.job.credit = 0;
      if (room) due.job.source = due.staged = *room;
    }
  }
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

Nanoseconds Nic::time_of(std::uint64_t bytes) const {
  return static_cast<Nanoseconds>(static_cast<double>(bytes) / copy_bytes_per_ns_);
}

// Large payloads go so early that they are there in time.
void Nic::send_payloads(Ring& ring, std::deque<Due>& queue, Nanoseconds now) {
  for (std::size_t i = 0; i < std::min(queue.size(), kPayloadsAhead); ++i) {
    Due& due = queue[i];
    if (!due.is_large() || due.copy_number != 0) continue;
    if (now < due.arrival - 2 * time_of(due.job.bytes) - kLaunch) return;
    due.copy_number = courier_->copy(ring.lane, due.job.source, due.job.destination, due.job.bytes);
  }
}

// What announces them comes exactly in time, and small payloads with it. The courier waits itself
// for the last microseconds, where it knows how.
void Nic::deliver(Ring& ring, std::deque<Due>& queue) {
  const Nanoseconds now = now_ns();
  send_payloads(ring, queue, now);
  const bool waits_itself = is_pacing_ && courier_->knows_clock();
  while (!queue.empty()) {
    Due& due = queue.front();
    // A block copies it, or a piece of it.
    const std::uint64_t alone =
        due.is_large() || due.job.source == 0 ? 0 : std::min(due.job.bytes, Courier::kPiece);
    const auto ahead = static_cast<Nanoseconds>((waits_itself ? kHandOver : ahead_) +
                                                static_cast<double>(alone) / kBytesPerNsOfSm);
    if (now < due.arrival - ahead) return;
    if (due.is_large()) {
      if (due.copy_number == 0 || !courier_->is_copied(ring.lane, due.copy_number)) return;
      due.job.source = due.job.destination = due.job.bytes = 0;
    }
    const std::uint64_t number =
        courier_->deliver(ring.lane, due.job, now, waits_itself ? due.arrival : 0);
    ring.sent.push_back(
        {number, due.posted, due.arrival, due.staged, due.is_delivery, waits_itself});
    queue.pop_front();
    send_payloads(ring, queue, now);
  }
}

void Nic::settle(Ring& ring) {
  while (!ring.sent.empty() && courier_->is_delivered(ring.lane, ring.sent.front().number)) {
    const Sent& one = ring.sent.front();
    if (is_pacing_ && one.is_delivery) {
      const Nanoseconds now = now_ns();
      const auto late = static_cast<double>(now - one.arrival);
      // What was late already says nothing about the courier.
      if (!one.waited_itself && late < kMostAhead)
        ahead_ = std::clamp(ahead_ + late / 16, 0.0, kMostAhead);
      pacing_[static_cast<std::size_t>(device_of(ring, ring.source))].add(
          one.arrival - one.posted, courier_->time_of(ring.lane, one.number, now) - one.posted);
    }
    if (one.staged != 0) staged_.erase(one.staged - staging_);
    ring.sent.pop_front();
    ++progress_;
  }
}

// A rank waits for its peer's signal: is it that nothing was posted, or that it has not come?
std::string Nic::describe(const Ring& ring, bool* can_read) {
  const auto& proxy =
      ring.set->ranks[static_cast<std::size_t>(ring.source)][static_cast<std::size_t>(ring.context)]
          .proxy;
  const Address index = static_cast<Address>(ring.peer) * sizeof(std::uint32_t);
  std::uint32_t posted = ring.seen;
  std::uint32_t credited = ring.seen;
  // Each look may take a second where copies hang.
  *can_read = *can_read &&
              Machine::get().download(&posted, proxy.producer_indices + index, sizeof posted) &&
              Machine::get().download(&credited, proxy.consumer_indices + index, sizeof credited);
  const std::size_t waiting = ring.now.size() + ring.due.size() + ring.sent.size();
  if (waiting == 0 && posted == ring.seen && credited == ring.seen) return {};
  std::string line = "rank " + std::to_string(ring.source) + " to rank " +
                     std::to_string(ring.peer) + ", GIN context " + std::to_string(ring.context) +
                     ": " + std::to_string(waiting) + " of " + std::to_string(ring.seen) +
                     " deliveries are on their way";
  if (posted != ring.seen || credited != ring.seen) {
    line += "; the kernel has posted " + std::to_string(posted) + " and has credit for " +
            std::to_string(credited);
  }
  if (posted == ring.seen) return line;
  line += ", the next one reads";
  const volatile std::uint64_t* slot =
      ring.queue + std::size_t{ring.seen % kGinQueue} * (nccl_core::kGinDescriptorBytes / 8);
  for (std::size_t i = 0; i < nccl_core::kGinDescriptorBytes / 8; ++i)
    line += " " + std::to_string(slot[i]);
  return line;
}

std::vector<std::string> Nic::describe() {
  const Visit visit(visitors_);
  const std::unique_lock lock(mutex_, std::chrono::seconds(1));
  if (!lock) return {"the network's thread is inside a call into the CUDA driver"};
  std::vector<std::string> lines;
  bool can_read = true;
  for (const auto& ring : rings_) {
    if (std::string line = describe(*ring, &can_read); !line.empty())
      lines.push_back(std::move(line));
  }
  if (!can_read) lines.push_back("the GPU's memory cannot be read: copies hang, too");
  for (std::string& line : courier_->describe())
    lines.push_back(std::move(line));
  return lines;
}

}  // namespace cuco::loopback
