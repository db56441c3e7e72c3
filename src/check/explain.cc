// SPDX-License-Identifier: Apache-2.0
// What a race or a deadlock means in terms of communication, and what to change.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "check/block_state.h"
#include "check/checker.h"
#include "check/entry.h"

namespace cuco::check {
namespace {

bool holds(Address base, std::uint64_t bytes, Address address) {
  return base != 0 && address + 4 > base && address < base + bytes;
}

}  // namespace

void Checker::explain_race(const Race& race, Finding& finding) {
  if (const Region* region = communication_.find(race.address);
      region != nullptr && region->kind == Region::Kind::Barriers) {
    return explain_barrier(race, finding);
  }
  const auto is_by = [&](std::string_view call) {
    return sites_[race.earlier.site].place.what == call ||
           sites_[race.later.site].place.what == call;
  };
  if (is_by(kEntry)) {
    finding.kind = Kind::GlobalRace;
    finding.message =
        "a peer's buffer is used without knowing that the peer has entered the same call of "
        "cuco_run";
    finding.hint =
        "let every rank say that it has entered (a flag or barrier, release), and wait for it "
        "(acquire) before the first access to its buffers";
    return;
  }
  if (is_by(kEnd)) {
    finding.kind = Kind::GlobalRace;
    finding.message =
        "a peer's buffer is used when the peer's cuco_run may have ended: its caller may already "
        "have given it something else";
    finding.hint =
        "let every rank say that it is done with its peers' buffers (a flag or barrier, release), "
        "and wait for that (acquire) before the end of the stream";
    return;
  }
  for (const ActorId side : {race.earlier.actor, race.later.actor}) {
    if (communication_.find_put(side) != nullptr) return explain_put(race, side, finding);
  }
  const ActorInfo& earlier = races_.info(race.earlier.actor);
  const ActorInfo& later = races_.info(race.later.actor);
  const bool in_kernels = sites_[race.earlier.site].in_kernel && sites_[race.later.site].in_kernel;
  finding.kind = Kind::GlobalRace;
  finding.message = fmt::format("{} and {} of the same bytes are not ordered",
                                race.earlier_writes ? "a write" : "a read",
                                race.later_writes ? "a write" : "a read");
  const auto is_bulk_store = [&](const Stamp& side, bool writes) {
    return writes && sites_[side.site].is_bulk;
  };
  if (is_bulk_store(race.earlier, race.earlier_writes) ||
      is_bulk_store(race.later, race.later_writes)) {
    finding.message =
        "a bulk copy to these bytes is on its way: that it has arrived is known to the thread that "
        "began it, once that has waited for it";
    finding.hint =
        "let that thread wait with cp.async.bulk.wait_group (with .read it waits for the source to "
        "be free, not for the arrival) before it raises a flag or ends";
  } else if (is_by("cudaFreeAsync")) {
    finding.kind = Kind::UseAfterFree;
    finding.message = "memory is freed in one stream while work of another may still use it";
    finding.hint = "let the stream that frees wait for an event recorded after the last use";
  } else if (is_by("cudaMallocAsync")) {
    finding.message = "memory is used without waiting for the stream that allocates it";
    finding.hint = "record an event after cudaMallocAsync and let the other stream wait for it";
  } else if (race.unmet == Race::Unmet::BeforeRelease) {
    finding.message =
        "another lane of the writer's warp announced these bytes without having met it: a release "
        "or fence covers the lane's own writes";
    finding.hint = "put __syncwarp() between the writes and the release or fence of one lane";
  } else if (race.unmet == Race::Unmet::AfterAcquire) {
    finding.message =
        fmt::format("only another lane of the warp waited for what makes this {} safe",
                    race.later_writes ? "write" : "read");
    finding.hint = "put __syncwarp() between the wait of one lane and what the others do";
  } else if (race.unmet == Race::Unmet::BeforeKernel) {
    finding.message =
        "reads through the read-only cache (ld.global.nc) what was written after this kernel began";
    finding.hint =
        "no __ldg(), and no const __restrict__, for memory that changes while the kernel runs: the "
        "cache may hold what was there before";
  } else if (race.unmet == Race::Unmet::OtherSize) {
    finding.message =
        "a flag is used in two sizes: strong operations that overlap only in part, such as one of "
        "8 "
        "bytes and one of 4, order nothing and may not meet";
    finding.hint = "raise and await a flag with operations of one size, at one address";
  } else if (race.earlier.actor == race.later.actor) {
    finding.message =
        !race.later_writes
            ? "reads what another lane of the warp has just written, without a __syncwarp() between"
        : race.earlier_writes
            ? "stores over what another lane of the warp has just stored, without a __syncwarp() "
              "between"
            : "writes what another lane of the warp may still be reading, without a __syncwarp() "
              "between";
    finding.hint = "put __syncwarp() between the two: lanes of a warp run apart";
  } else if (earlier.block == later.block) {
    finding.hint = "put __syncthreads() between the two";
  } else if (earlier.device == kHostDevice || later.device == kHostDevice) {
    const bool host_writes =
        earlier.device == kHostDevice ? race.earlier_writes : race.later_writes;
    finding.message =
        fmt::format("the host {} bytes that work on the device may still {}",
                    host_writes ? "writes" : "reads", host_writes ? "be using" : "be writing");
    finding.hint =
        "let the host wait for that work first: cudaStreamSynchronize, cudaEventSynchronize or "
        "cudaDeviceSynchronize; a flag between the two is volatile or atomic on both sides, with "
        "__threadfence_system()";
  } else if (!in_kernels) {
    finding.hint =
        "order the two: the same stream, cudaStreamWaitEvent on an event recorded after the "
        "first, or a synchronisation of the host between them";
  } else if (earlier.chain == later.chain && earlier.operation == later.operation) {
    finding.hint =
        "blocks of one kernel run in any order: a grid barrier, or a flag with release and acquire "
        "of device scope (__threadfence() on both sides of a volatile flag)";
  } else if (earlier.device == later.device && block_records_[later.block].waits) {
    finding.hint =
        "the flag that was waited for does not order them: raise it after the write with release "
        "order, wait for a value that only it gives, with acquire order, both of device scope";
  } else if (earlier.device == later.device) {
    finding.hint =
        "order them: the same stream, an event, or a flag with release and acquire of device "
        "scope (__threadfence() on both sides of a volatile flag)";
  } else {
    const bool both_write = race.earlier_writes && race.later_writes;
    finding.kind = both_write ? Kind::GlobalRace : Kind::UnorderedRead;
    finding.message = race.later_writes
                          ? "a peer stores to bytes that may still be in use"
                          : "reads bytes that a peer stores, without knowing that they are there";
    finding.hint =
        "put a barrier of the ranks between the two (ncclLsaBarrierSession, memory_order_acq_rel), "
        "or a flag with release and acquire of system scope";
  }
}

void Checker::judge_stand_ins(std::uint32_t device) {
  std::erase_if(stand_ins_, [&](const StandIn& found) {
    if (races_.info(found.wait.actor).device != device) return false;
    const PutRecord* put = communication_.find_put(found.awaited.actor);
    const PutRecord* other = communication_.find_put(found.other.actor);
    if (put == nullptr || other == nullptr || put->bytes == 0) return true;
    // Only if somebody here took the put's bytes for arrived.
    const auto was_read = [&](Address address) {
      if (races_.last_write(address).actor != found.awaited.actor) return false;
      return std::ranges::any_of(races_.last_reads(address), [&](const Stamp& read) {
        return read.actor != kNoActor && races_.info(read.actor).device == device;
      });
    };
    const Address last = put->destination + (put->bytes - 1) / 4 * 4;
    if (!was_read(put->destination) && !was_read(last)) return true;
    const std::uint64_t key = std::uint64_t{sites_[put->site].line} << 32U | 0xFFFE0000U;
    if (const auto known = reported_.find(key); known != reported_.end()) {
      findings_.count(known->second);
      return true;
    }
    Finding finding;
    finding.kind = Kind::SignalCount;
    finding.where = describe(put->site, found.awaited.actor, 0);
    finding.other = describe(other->site, found.other.actor, 0);
    finding.address = put->destination;
    locate(finding, put->destination);
    finding.message = fmt::format(
        "{} is counted for several puts: the next one of rank {} could have stood in for this one "
        "of rank {}, whose bytes were read",
        communication_.describe(found.address), other->from, put->from);
    finding.hint =
        "give every source a signal of its own, or put a barrier of all ranks between two rounds: "
        "a sum does not say who has come";
    if (const auto index = findings_.add(std::move(finding))) reported_[key] = *index;
    return true;
  });
}

void Checker::explain_barrier(const Race& race, Finding& finding) const {
  const ActorInfo& earlier = races_.info(race.earlier.actor);
  const ActorInfo& later = races_.info(race.later.actor);
  finding.kind = Kind::BarrierIndex;
  finding.allocation = communication_.describe(race.address);
  finding.made = std::nullopt;
  finding.message =
      earlier.device == later.device
          ? "two blocks use the same barrier of the device communicator at the same time"
          : "ranks disagree about who uses this barrier of the device communicator";
  finding.hint =
      "give every block its own barrier index (blockIdx.x), and as many barriers in "
      "ncclDevCommRequirements as there are blocks; the same on every rank";
}

void Checker::explain_put(const Race& race, ActorId actor, Finding& finding) {
  const PutRecord& put = *communication_.find_put(actor);
  told_puts_.insert(sites_[put.site].line);
  const bool put_is_later = race.later.actor == actor;
  const ActorId other = put_is_later ? race.earlier.actor : race.later.actor;
  const bool other_writes = put_is_later ? race.earlier_writes : race.later_writes;
  const bool put_writes = put_is_later ? race.later_writes : race.earlier_writes;
  if (!put_writes && holds(put.source, put.bytes, race.address)) {
    if (put_is_later) {
      finding.kind = Kind::UnorderedRead;
      finding.message = "a put sends bytes that are not known to be written yet";
      finding.hint =
          "order the producer before the put: a barrier of the block (the put's own "
          "group, ncclCoopCta), a grid barrier, or the stream; a put whose last argument is "
          "cuda::thread_scope_system releases nothing itself (NCCL 2.28.9): its thread does before";
    } else {
      finding.kind = Kind::SourceReuse;
      finding.message =
          fmt::format("writes bytes that a put to rank {} may still be reading", put.to);
      finding.hint =
          "flush (ncclGin::flush), or give the put a counter and wait for it, before the "
          "source is used again";
    }
    return;
  }
  if (communication_.find_put(other) != nullptr) {
    finding.kind = Kind::GlobalRace;
    finding.message = "two puts write the same bytes in any order";
    finding.hint = "give them different places, or let the second wait for the first one's signal";
    return;
  }
  explain_arrival(put, other, !other_writes, finding);
}

void Checker::explain_arrival(const PutRecord& put, ActorId reader, bool reads, Finding& finding) {
  finding.kind = Kind::UnorderedRead;
  const std::string signal = put.signal == 0 ? "its arrival" : communication_.describe(put.signal);
  finding.message = fmt::format(
      "{} bytes {} rank {}, without having waited for {}", reads ? "reads" : "writes",
      put.is_delivered ? "that a put has delivered from" : "while a put to them is in flight from",
      put.from, signal);
  finding.hint = put.signal == 0
                     ? "let the put raise a signal (ncclGin_SignalInc) and wait for it"
                     : "wait for the signal with acquire order (ncclGin::waitSignal) before";
  // The wait may have been an earlier kernel's: the last read of the signal that the reader knows
  // of.
  std::optional<SignalSeen> seen;
  if (put.signal != 0) {
    const std::uint32_t mine = races_.info(reader).block;
    const ClockPtr known = races_.clock(reader);
    seen = communication_.last_seen(put.signal, [&](std::uint32_t block) {
      if (block == mine) return true;
      // What a reader knew that is over is forgotten: its rank's waits were meant for it.
      return known ? races_.knows(known, block_records_[block].first)
                   : block_records_[block].rank == block_records_[mine].rank;
    });
  }
  // A read that found nothing belongs to a wait that has not returned.
  if (!seen || seen->raises == 0) return;
  const Site wait = describe(seen->site, kNoActor, 0);
  const std::string place =
      wait.file.empty() ? wait.kernel : fmt::format("{}:{}", wait.file, wait.line);
  const auto& raises = communication_.raises(put.signal);
  const bool is_shared = std::ranges::any_of(raises, [&](const Communication::Raise& raise) {
    const PutRecord* other = communication_.find_put(raise.by);
    return other != nullptr && other->from != put.from;
  });
  if (put.raised != 0 && seen->raises >= put.raised && is_shared) {
    finding.kind = Kind::SignalCount;
    finding.message = fmt::format(
        "the wait for {} counts the signals of several ranks: those of others could have stood in "
        "for the one of the put whose bytes these are",
        signal);
    finding.notes.push_back(fmt::format("the wait is at {}", place));
    finding.hint =
        "give every source a signal of its own, or put a barrier of all ranks between two rounds: "
        "a sum does not say who has come";
    return;
  }
  if (put.raised != 0 && seen->raises >= put.raised) {
    finding.message = "the wait saw the put's signal, but does not order what comes after it";
    finding.notes.push_back(fmt::format("the wait is at {}", place));
    finding.hint =
        "wait with memory_order_acquire, and let the other threads meet the one that "
        "waited (the wait's own group, or __syncthreads())";
    return;
  }
  const ActorId by = seen->raises == 0 ? kNoActor : raises[seen->raises - 1].by;
  const PutRecord* last = by == kNoActor ? nullptr : communication_.find_put(by);
  finding.notes.push_back(
      fmt::format("the wait at {} is satisfied with {} at {}, after {} signal{}", place, signal,
                  seen->value, seen->raises, seen->raises == 1 ? "" : "s"));
  if (seen->is_old) {
    finding.kind = Kind::StaleSignal;
    finding.message = fmt::format(
        "the wait for {} was satisfied by an earlier phase: it did not wait for the put whose "
        "bytes these are",
        signal);
    finding.notes.emplace_back("that signal was raised before this kernel began");
    finding.hint =
        "count what earlier phases raised: wait for the shadow's value plus this phase's signals "
        "(waitSignalMeetShadow, increaseSignalShadow), or reset the signal between phases";
  } else if (last != nullptr && holds(last->destination, last->bytes, put.destination)) {
    finding.kind = Kind::SourceReuse;
    finding.message = fmt::format(
        "a put from rank {} overwrites bytes of an earlier one that may still be in use", put.from);
    finding.hint =
        "let the reader tell the sender when it is done (a signal back, a barrier), or "
        "use two buffers in turn";
  } else {
    finding.kind = Kind::SignalCount;
    finding.message = fmt::format(
        "the wait for {} returned before the put whose bytes these are had raised it", signal);
    finding.hint = "wait for as many signals as there are puts, or give each sender its own";
  }
}

// A kernel that waits for an address of NCCL's waits for what NCCL keeps there.
bool Checker::explain_awaited(Address address, Finding& finding) const {
  const Region* region = communication_.find(address);
  if (region == nullptr) return false;
  if (region->kind == Region::Kind::Signals || region->kind == Region::Kind::Counters) {
    finding.kind = Kind::LostSignal;
    finding.message = fmt::format("a wait for {}, which nobody will raise any more",
                                  communication_.describe(address));
    finding.notes.insert(finding.notes.begin(), fmt::format("it was raised {} times in all",
                                                            communication_.raises(address).size()));
    finding.hint =
        "raise it as often as it is waited for: the right peer, the right index, once "
        "for each put that is counted";
    return true;
  }
  if (region->kind == Region::Kind::Barriers) {
    finding.kind = Kind::BarrierIndex;
    finding.message =
        "ranks wait for each other at barriers that do not match: a rank or a block never comes";
    finding.hint =
        "the same number of blocks on every rank must use the same barrier indices "
        "the same number of times";
    return true;
  }
  return false;
}

bool Checker::explain_wait(const Waiter& waiter, Finding& finding) const {
  if (std::holds_alternative<MissingRank>(waiter.what)) {
    finding.kind = Kind::Collective;
    finding.message = "a collective waits for a rank that never calls it: " + waiter.line;
    finding.hint = "every rank of a communicator must make the same calls in the same order";
    return true;
  }
  const auto* wait = std::get_if<vgpu::Wait>(&waiter.what);
  if (wait == nullptr) return false;
  for (const Address address : vgpu::awaited_addresses(*wait)) {
    if (explain_awaited(address, finding)) return true;
  }
  const auto* warp = std::get_if<vgpu::WarpWait>(wait);
  if (warp != nullptr && std::holds_alternative<vgpu::BarrierWait>(warp->reason)) {
    finding.kind = Kind::BarrierMismatch;
    finding.message =
        "threads of a block wait at barriers where the others never come: " + waiter.line;
    finding.hint = "all threads that a barrier counts must reach it";
  }
  // Whoever waits for another block or rank may be the reason that a barrier is not reached.
  return false;
}

void Checker::on_deadlock(std::span<const Waiter> waiters) {
  settle();
  // What stopped somebody before is the reason.
  if (std::exchange(was_stopped_, true)) return;
  Finding finding;
  finding.kind = Kind::Deadlock;
  finding.message = "nothing can go on: everybody waits for somebody else";
  finding.hint = "see who waits for what, and who should have woken them";
  constexpr std::size_t kEnough = 12;
  for (const Waiter& waiter : waiters.first(std::min(waiters.size(), kEnough))) {
    finding.notes.push_back(waiter.line);
  }
  if (waiters.size() > kEnough) {
    finding.notes.push_back(fmt::format("and {} more", waiters.size() - kEnough));
  }
  for (const Waiter& waiter : waiters) {
    if (explain_wait(waiter, finding)) break;
  }
  findings_.add(std::move(finding));
}

}  // namespace cuco::check
