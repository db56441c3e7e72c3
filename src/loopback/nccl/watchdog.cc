// SPDX-License-Identifier: Apache-2.0
#include "loopback/nccl/watchdog.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "loopback/gpu/divided_gpu.h"
#include "loopback/gpu/rank_streams.h"
#include "loopback/gpu/settings.h"
#include "loopback/nccl/dev_comms.h"
#include "loopback/nccl/nic.h"
#include "loopback/runtime/interpose.h"

namespace cuco::loopback {
namespace {

std::atomic<std::uint64_t> set_ups{0};
std::atomic<bool> ends{false};
Nanoseconds started = 0;
Elsewhere* elsewhere = nullptr;

constexpr std::size_t kSignalsShown = 16;

std::string values(Address address, std::uint32_t count) {
  std::vector<std::uint64_t> read(std::min<std::size_t>(count, kSignalsShown));
  if (read.empty()) return "none";
  if (!Machine::get().download(read.data(), address, read.size() * sizeof read[0]))
    return "not readable";
  std::string text;
  for (const std::uint64_t value : read)
    text += (text.empty() ? "" : " ") + std::to_string(value);
  return text + (count > kSignalsShown ? " …" : "");
}

/// What a rank's kernels may be waiting for: its signals, and what it has posted.
void describe_gin(std::vector<std::string>* lines) {
  for (const auto& set : DevComms::get().gin_sets()) {
    if (set->signals == 0) continue;
    for (int rank = 0; rank < set->clique->ranks(); ++rank) {
      std::string line = "rank " + std::to_string(rank) + " of " + set->clique->name() + " has";
      const auto& contexts = set->ranks[static_cast<std::size_t>(rank)];
      for (std::size_t context = 0; context < contexts.size(); ++context) {
        const std::string shown = values(contexts[context].proxy.signals, set->signals);
        if (context != 0 && shown.find_first_not_of("0 ") == std::string::npos) continue;
        line += " signals [" + shown + "] in GIN context " + std::to_string(context) + ";";
      }
      lines->push_back(line + " it has made " +
                       std::to_string(set->clique->puts[static_cast<std::size_t>(rank)]) + " puts");
    }
  }
}

std::vector<std::string> describe_all(bool* is_waiting) {
  std::vector<std::string> lines;
  for (const auto& clique : Cliques::get().all()) {
    for (std::string& line : clique->waits())
      lines.push_back(std::move(line));
  }
  for (std::string& line : elsewhere != nullptr ? elsewhere->waits() : own_waits())
    lines.push_back(std::move(line));
  *is_waiting = !lines.empty();
  return lines;
}

std::uint64_t progress() {
  return own_progress() + Nic::get().progress() +
         (elsewhere != nullptr ? elsewhere->progress() : 0);
}

void fire(std::vector<std::string> lines) {
  for (std::string& line : Nic::get().describe())
    lines.push_back(std::move(line));
  describe_gin(&lines);
  std::string text = "no progress for " +
                     std::to_string(static_cast<int>(settings().watchdog_seconds)) +
                     " seconds; who waits for what:";
  for (const std::string& line : lines)
    text += "\n  " + line;
  give_up(text, kStuck);
}

void watch() {
  must(driver().cuCtxSetCurrent(Machine::get().network().context), "the network's context");
  allow_calls_while_others_capture();
  const auto patience = static_cast<Nanoseconds>(settings().watchdog_seconds * 1e9);
  std::uint64_t last = progress();
  Nanoseconds since = now_ns();
  while (!ends) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const std::uint64_t now = progress();
    bool is_waiting = false;
    if (now != last) {
      last = now;
      since = now_ns();
    } else if (now_ns() - since > patience) {
      std::vector<std::string> lines = describe_all(&is_waiting);
      if (is_waiting) fire(std::move(lines));
      since = now_ns();  // The host computes by itself.
    }
  }
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

void report() {
  ends = true;
  Nic::get().stop();
  const double seconds = static_cast<double>(now_ns() - started) / 1e9;
  const int ranks = Machine::get().ranks();
  for (int device = 0; device < ranks; ++device) {
    std::uint64_t puts = 0;
    std::uint64_t put_bytes = 0;
    std::uint64_t collective_bytes = 0;
    bool takes_part = false;
    bool uses_lsa = false;
    for (const auto& clique : Cliques::get().all()) {
      for (std::size_t rank = 0; rank < clique->devices.size(); ++rank) {
        if (clique->devices[rank] != device) continue;
        takes_part = true;
        uses_lsa = uses_lsa || (clique->has_windows && clique->lsa_size > 1);
        collective_bytes += clique->collective_bytes[rank];
        puts += clique->puts[rank];
        put_bytes += clique->put_bytes[rank];
      }
    }
    if (!takes_part) continue;
    std::string line = "{\"rank\": " + std::to_string(device) +
                       ", \"puts\": " + std::to_string(puts) +
                       ", \"put_bytes\": " + std::to_string(put_bytes) +
                       ", \"collective_bytes\": " + std::to_string(collective_bytes) +
                       ", \"lsa_used\": " + (uses_lsa ? "true" : "false") +
                       ", \"sms\": " + std::to_string(Machine::get().sms_of(device)) +
                       ", \"seconds\": " + number(seconds);
    const PacingError& pacing = Nic::get().pacing_of(device);
    if (pacing.transfers() > 0) {
      line += ", \"pacing\": {\"transfers\": " + std::to_string(pacing.transfers()) +
              ", \"mean_error\": " + number(pacing.mean()) +
              ", \"worst_error\": " + number(pacing.worst()) +
              ", \"mean_off_us\": " + number(pacing.mean_off_us()) + "}";
    }
    write_report(line + "}");
  }
}

}  // namespace

void watch_elsewhere(Elsewhere& others) {
  elsewhere = &others;
}

std::uint64_t own_progress() {
  return Streams::get().operations() + set_ups;
}

std::vector<std::string> own_waits() {
  std::vector<std::string> lines;
  for (int rank = 0; rank < Machine::get().ranks(); ++rank) {
    if (!Machine::get().has_made(rank)) continue;
    for (const std::string& line : Streams::get().unfinished(rank))
      lines.push_back("rank " + std::to_string(rank) + ": " + line);
  }
  return lines;
}

void note_progress() {
  ++set_ups;
}

void start_watchdog() {
  static std::once_flag once;
  std::call_once(once, [] {
    started = now_ns();
    prepare_kernels();
    if (settings().role == Role::Rank) return;  // The network's process watches.
    (void)Nic::get();
    std::atexit(report);
    if (settings().watchdog_seconds > 0) std::thread(watch).detach();
  });
}

}  // namespace cuco::loopback
