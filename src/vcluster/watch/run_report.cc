// SPDX-License-Identifier: Apache-2.0
#include "vcluster/watch/run_report.h"

#include <array>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <string_view>

#include <cxxabi.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "vcluster/record/block_record.h"
#include "vcluster/watch/timeline_log.h"

namespace cuco::vcluster {
namespace {

constexpr std::array<std::string_view, vgpu::kCostClasses> kClasses = {
    "move",   "integer", "wide",   "float",  "double",  "special", "convert",
    "memory", "shared",  "atomic", "tensor", "barrier", "control"};

Json classes_of(const std::array<std::uint64_t, vgpu::kCostClasses>& counts) {
  Json out = Json::object();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] != 0) out[std::string(kClasses[i])] = counts[i];
  }
  return out;
}

Json json_of(const vgpu::ProfiledLine& where, const vgpu::LineProfile& line) {
  return {{"file", where.first},
          {"line", where.second},
          {"threads", line.threads},
          {"warps", line.warps},
          {"by_class", classes_of(line.by_class)},
          {"global_accesses", line.global_accesses},
          {"global_bytes", line.global_bytes},
          {"sectors", line.sectors},
          {"ideal_sectors", line.ideal_sectors},
          {"shared_accesses", line.shared_accesses},
          {"bank_conflicts", line.bank_conflicts},
          {"barriers", line.barriers},
          {"load_wait_ps", line.load_wait},
          {"poll_wait_ps", line.poll_wait},
          {"barrier_wait_ps", line.barrier_wait}};
}

Json json_of(const std::string& name, const vgpu::KernelProfile& kernel) {
  const vgpu::Counters& counters = kernel.counters;
  Json out = {{"name", name},
              {"launches", kernel.launches},
              {"blocks", counters.blocks},
              {"time_ps", kernel.time},
              {"thread_instructions", counters.thread_instructions},
              {"warp_instructions", counters.warp_instructions},
              {"by_class", classes_of(counters.warps)},
              {"global_loads", counters.global_loads},
              {"global_stores", counters.global_stores},
              {"atomics", counters.atomics},
              {"sectors", counters.sectors},
              {"l1_hit_sectors", counters.l1_hits},
              {"l2_hit_sectors", counters.l2_hits},
              {"hbm_bytes", counters.hbm_bytes},
              {"bank_conflicts", counters.bank_conflicts},
              {"divergent_branches", counters.divergent_branches},
              {"barriers", counters.barriers},
              {"waiting_ps", counters.waiting},
              {"lines", Json::array()}};
  for (const auto& [where, line] : kernel.lines)
    out["lines"].push_back(json_of(where, line));
  return out;
}

Json json_of(const vgpu::Phase& phase, bool with_addresses) {
  Json out = {{"kernel", phase.kernel},          {"device", phase.device},
              {"started_ps", phase.started},     {"finished_ps", phase.finished},
              {"warp_time_ps", phase.warp_time}, {"load_wait_ps", phase.load_wait},
              {"poll_wait_ps", phase.poll_wait}, {"barrier_wait_ps", phase.barrier_wait},
              {"waits", Json::array()}};
  for (const auto& [where, wait] : phase.waits) {
    out["waits"].push_back({{"file", where.first},
                            {"line", where.second},
                            {"polls", wait.polls},
                            {"waited_ps", wait.waited},
                            {"first_ps", wait.first},
                            {"last_ps", wait.last}});
    if (!with_addresses) continue;
    out["waits"].back()["addresses"] = wait.addresses;
    out["waits"].back()["repeated"] = wait.repeated.all;
    out["waits"].back()["accept_the_last"] = wait.repeated.accept_the_last;
  }
  return out;
}

/// "stream synchronize" of the type cuco::wire::StreamSynchronize.
std::string call_name(const char* type) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(type, nullptr, nullptr, &status), std::free);
  const std::string_view full = status == 0 ? text.get() : type;
  std::string words;
  for (const char c : full.substr(full.rfind(':') + 1)) {
    if (std::isupper(static_cast<unsigned char>(c)) != 0 && !words.empty()) words += ' ';
    words += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return words;
}

Json json_of(const HostCall& call) {
  return {{"process", call.process},      {"rank", call.rank},  {"thread", call.thread},
          {"name", call_name(call.name)}, {"wait", call.wait},  {"started_ps", call.started},
          {"finished_ps", call.finished}, {"times", call.times}};
}

Json json_of(const TimelineLog& timeline) {
  Json calls = Json::array();
  Json places = Json::array();
  Json waits = Json::array();
  Json traffic = Json::array();
  Json arrows = Json::array();
  for (const HostCall& call : timeline.calls.all())
    calls.push_back(json_of(call));
  for (const auto& [device, kernel, line] : timeline.places()) {
    places.push_back(
        {{"device", device}, {"kernel", kernel}, {"file", line.first}, {"line", line.second}});
  }
  for (const TimelineLog::Wait& wait : timeline.waits()) {
    waits.push_back(
        {{"place", wait.place}, {"from_ps", wait.from}, {"to_ps", wait.to}, {"times", wait.times}});
  }
  for (const TimelineLog::Traffic& burst : timeline.traffic()) {
    traffic.push_back({{"place", burst.place},
                       {"peer", burst.peer},
                       {"is_load", burst.is_load},
                       {"from_ps", burst.from},
                       {"to_ps", burst.to},
                       {"bytes", burst.bytes}});
  }
  for (const TimelineLog::Arrow& arrow : timeline.arrows()) {
    arrows.push_back({{"delivery", arrow.delivery},
                      {"from", arrow.from},
                      {"sent_ps", arrow.sent},
                      {"to", arrow.to},
                      {"seen_ps", arrow.seen}});
  }
  return {{"calls", std::move(calls)},
          {"places", std::move(places)},
          {"waits", std::move(waits)},
          {"traffic", std::move(traffic)},
          {"arrows", std::move(arrows)}};
}

}  // namespace

std::string report_of(const RunRecord& record) {
  Json out = {{"gpu", record.gpu},
              {"kernels", Json::array()},
              {"phases", Json::array()},
              {"works", Json::array()},
              {"transfers", record.transfers},
              {"wire_bytes", record.wire_bytes},
              {"deliveries", Json::array()}};
  for (const auto& [name, kernel] : record.profiler.kernels())
    out["kernels"].push_back(json_of(name, kernel));
  for (const vgpu::Phase& phase : record.profiler.phases())
    out["phases"].push_back(json_of(phase, record.deliveries != nullptr));
  for (const FinishedWork& work : record.works) {
    out["works"].push_back({{"what", work.what},
                            {"device", work.device},
                            {"stream", work.stream},
                            {"started_ps", work.started},
                            {"finished_ps", work.finished}});
  }
  if (record.timeline != nullptr) out["timeline"] = json_of(*record.timeline);
  if (record.blocks != nullptr) out["blocks"] = to_json(*record.blocks);
  if (record.deliveries == nullptr) return to_text(out);
  for (const vgpu::Delivery& delivery : *record.deliveries) {
    out["deliveries"].push_back({{"address", delivery.address},
                                 {"bytes", delivery.bytes},
                                 {"sent_ps", delivery.sent},
                                 {"arrived_ps", delivery.arrived},
                                 {"is_completion", delivery.is_completion},
                                 {"from", delivery.from},
                                 {"to", delivery.to}});
  }
  return to_text(out);
}

}  // namespace cuco::vcluster
