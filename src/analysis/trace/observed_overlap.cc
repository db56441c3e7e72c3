// SPDX-License-Identifier: Apache-2.0
// Communication is taken to move its chunks one after the other, each in an equal part of its time.
// A chunk can leave when it is final; a kernel can begin when every chunk is there by the time that
// it is first needed. Both are bounds: latencies of many small transfers, and what NCCL's kernel or
// a put costs the others, are not in it.
#include "analysis/trace/observed_overlap.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

namespace cuco::analysis {
namespace {

using vcluster::BlockRecord;
using vcluster::kNoTime;
using vcluster::TracedPart;
using vcluster::TracedStep;

constexpr double kMicrosecond = 1e6;

/// One time that a site communicated, on one device.
struct Exchange {
  std::set<std::string> names;
  std::int64_t started = kNoTime;
  std::int64_t finished = 0;
  std::vector<TracedPart> read, written;
};

/// Calls of one group have one place in the order of the host's calls.
std::vector<Exchange> exchanges_of(const BlockRecord& record, std::int32_t device) {
  std::map<std::uint64_t, Exchange> all;
  for (const TracedStep& step : record.steps) {
    if (step.kind != "collective" || step.device != device) continue;
    Exchange& one = all[step.order];
    one.names.insert(step.name);
    one.started = std::min(one.started, step.started_ps);
    one.finished = std::max(one.finished, step.finished_ps);
    one.read.insert(one.read.end(), step.read.begin(), step.read.end());
    one.written.insert(one.written.end(), step.written.begin(), step.written.end());
  }
  std::vector<Exchange> out;
  for (auto& [order, exchange] : all)
    out.push_back(std::move(exchange));
  return out;
}

/// Kernels of the device, with the times of one buffer's chunks that lie in a part.
template <typename F>
void for_chunks(const BlockRecord& record,
                std::int32_t device,
                const TracedPart& part,
                const F& take) {
  for (const TracedStep& step : record.steps) {
    if (step.kind != "kernel" || step.device != device) continue;
    for (const vcluster::TouchedBuffer& touched : step.touched) {
      if (touched.buffer != part.buffer || part.bytes == 0) continue;
      const std::size_t last = (part.offset + part.bytes - 1) / touched.times.bytes;
      for (std::size_t i = part.offset / touched.times.bytes;
           i <= last && i < touched.times.first_read.size(); ++i) {
        take(step, i, touched.times.first_read[i], touched.times.last_write[i]);
      }
    }
  }
}

using ChunkKey = std::pair<std::uint64_t, std::size_t>;

struct Makers {
  std::map<ChunkKey, std::int64_t> final_at;
  std::int64_t finished = 0;
};

/// Kernels that wrote what is sent, after `since`. What nobody has written since was final before
/// the first of them began.
Makers makers_of(const BlockRecord& record,
                 std::int32_t device,
                 const Exchange& exchange,
                 std::int64_t since) {
  Makers makers;
  for (const TracedPart& part : exchange.read) {
    for_chunks(record, device, part,
               [&](const TracedStep& step, std::size_t chunk, std::int64_t, std::int64_t written) {
                 if (written == kNoTime || step.finished_ps > exchange.finished ||
                     step.started_ps > exchange.started || step.started_ps < since)
                   return;
                 auto& last = makers.final_at[{part.buffer, chunk}];
                 if (written < last) return;
                 last = written;
                 makers.finished = std::max(makers.finished, step.finished_ps);
               });
  }
  return makers;
}

void add_makers(const Makers& makers, double time, ObservedOverlap& out) {
  if (makers.final_at.empty()) return;
  std::vector<std::int64_t> times;
  for (const auto& [chunk, at] : makers.final_at)
    times.push_back(at);
  std::ranges::sort(times);
  const double part = time / static_cast<double>(times.size());
  double sent = 0;
  const auto first = static_cast<double>(times.front());
  for (const std::int64_t at : times)
    sent = std::max(sent, static_cast<double>(at) - first) + part;
  const double window = static_cast<double>(makers.finished) - first;
  out.producers_us += window / kMicrosecond;
  out.half_final_us += (static_cast<double>(times[(times.size() - 1) / 2]) - first) / kMicrosecond;
  out.behind_producers_us += std::clamp(window + time - sent, 0.0, time) / kMicrosecond;
}

/// When chunks of what arrived are first needed, up to `until`.
void add_users(const BlockRecord& record,
               std::int32_t device,
               const Exchange& exchange,
               std::int64_t until,
               double time,
               ObservedOverlap& out) {
  std::map<ChunkKey, std::int64_t> needed;
  std::int64_t begins = kNoTime;
  for (const TracedPart& part : exchange.written) {
    for_chunks(record, device, part,
               [&](const TracedStep& step, std::size_t chunk, std::int64_t read, std::int64_t) {
                 if (read == kNoTime || step.started_ps < exchange.finished || read > until) return;
                 const auto [found, is_new] = needed.try_emplace({part.buffer, chunk}, read);
                 if (!is_new) found->second = std::min(found->second, read);
                 begins = std::min(begins, step.started_ps);
               });
  }
  if (needed.empty()) return;
  std::vector<std::int64_t> times;
  for (const auto& [chunk, at] : needed)
    times.push_back(at);
  std::ranges::sort(times);
  double late = 0;  // After its communication begins, the kernel can begin so much later.
  const double part = time / static_cast<double>(times.size());
  for (std::size_t i = 0; i < times.size(); ++i) {
    const double there = part * static_cast<double>(i + 1);
    late = std::max(late, there - static_cast<double>(times[i] - begins));
  }
  out.behind_consumers_us += std::clamp(time - late, 0.0, time) / kMicrosecond;
}

std::set<std::string> names_of(const CommunicationGraph& graph, const Site& site) {
  std::set<std::string> names;
  for (const int index : site.collectives)
    names.insert(graph.collectives[static_cast<std::size_t>(index)].name);
  return names;
}

/// The site that an exchange belongs to: by what it calls; where several call the same, in turn.
int site_of(const CommunicationGraph& graph,
            const Exchange& exchange,
            std::map<std::set<std::string>, std::size_t>& turns) {
  std::vector<int> fitting;
  for (std::size_t i = 0; i < graph.sites.size(); ++i) {
    const auto names = names_of(graph, graph.sites[i]);
    // A rank may only send, or only receive.
    if (std::ranges::includes(names, exchange.names)) fitting.push_back(static_cast<int>(i));
  }
  if (fitting.empty()) return -1;
  return fitting[turns[exchange.names]++ % fitting.size()];
}

}  // namespace

std::vector<ObservedOverlap> observe_overlaps(const CommunicationGraph& graph,
                                              const BlockRecord& record) {
  std::vector<ObservedOverlap> out(graph.sites.size());
  std::set<std::int32_t> devices;
  for (const TracedStep& step : record.steps)
    devices.insert(step.device);
  for (const std::int32_t device : devices) {
    const auto exchanges = exchanges_of(record, device);
    std::map<std::set<std::string>, std::size_t> turns;
    std::map<int, std::int64_t> last;  // By site: when it ended.
    for (std::size_t i = 0; i < exchanges.size(); ++i) {
      const Exchange& one = exchanges[i];
      const int site = site_of(graph, one, turns);
      if (site < 0) continue;
      ObservedOverlap& overlap = out[static_cast<std::size_t>(site)];
      const auto time = static_cast<double>(one.finished - one.started);
      const std::int64_t until = i + 1 < exchanges.size() ? exchanges[i + 1].finished : kNoTime;
      ++overlap.seen;
      overlap.communication_us += time / kMicrosecond;
      const auto before = last.find(site);
      add_makers(makers_of(record, device, one, before == last.end() ? 0 : before->second), time,
                 overlap);
      last[site] = one.finished;
      add_users(record, device, one, until, time, overlap);
    }
  }
  for (ObservedOverlap& overlap : out) {
    if (overlap.seen == 0) continue;
    const auto count = static_cast<double>(overlap.seen);
    for (double* sum : {&overlap.communication_us, &overlap.producers_us, &overlap.half_final_us,
                        &overlap.behind_producers_us, &overlap.behind_consumers_us})
      *sum /= count;
    overlap.gain_us = std::min(overlap.communication_us,
                               overlap.behind_producers_us + overlap.behind_consumers_us);
  }
  return out;
}

std::string to_text(const ObservedOverlap& overlap) {
  if (overlap.seen == 0) return "it did not communicate in this run";
  std::string text = fmt::format("{:.1f} us", overlap.communication_us);
  if (overlap.producers_us > 0) {
    text += fmt::format(
        " · half of what is sent is final {:.1f} us into the last {:.1f} us of its makers",
        overlap.half_final_us, overlap.producers_us);
  }
  return text +
         fmt::format(
             " · at most {:.1f} us hide behind makers, {:.1f} us behind users, {:.1f} us in all",
             overlap.behind_producers_us, overlap.behind_consumers_us, overlap.gain_us);
}

}  // namespace cuco::analysis
