// SPDX-License-Identifier: Apache-2.0
#include "vcluster/watch/run_report.h"

#include <array>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/json.h"

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
    if (with_addresses) out["waits"].back()["addresses"] = wait.addresses;
  }
  return out;
}

}  // namespace

std::string report_of(const RunRecord& record) {
  Json out = {
      {"gpu", record.gpu},      {"kernels", Json::array()},      {"phases", Json::array()},
      {"works", Json::array()}, {"transfers", record.transfers}, {"deliveries", Json::array()}};
  for (const auto& [name, kernel] : record.profiler.kernels())
    out["kernels"].push_back(json_of(name, kernel));
  for (const vgpu::Phase& phase : record.profiler.phases())
    out["phases"].push_back(json_of(phase, record.deliveries != nullptr));
  for (const FinishedWork& work : record.works) {
    out["works"].push_back({{"what", work.what},
                            {"device", work.device},
                            {"started_ps", work.started},
                            {"finished_ps", work.finished}});
  }
  if (record.deliveries == nullptr) return to_text(out);
  for (const vgpu::Delivery& delivery : *record.deliveries) {
    out["deliveries"].push_back({{"address", delivery.address},
                                 {"bytes", delivery.bytes},
                                 {"sent_ps", delivery.sent},
                                 {"arrived_ps", delivery.arrived},
                                 {"is_completion", delivery.is_completion}});
  }
  return to_text(out);
}

}  // namespace cuco::vcluster
