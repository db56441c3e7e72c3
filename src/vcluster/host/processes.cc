// SPDX-License-Identifier: Apache-2.0
#include "vcluster/host/processes.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/printable.h"
#include "shims/wire/status.h"
#include "vcluster/device/loaded_module.h"
#include "vcluster/graph/cuda_graph.h"
#include "vcluster/host/process_identity.h"

namespace cuco::vcluster {

bool Process::sees(std::int32_t device) const {
  return std::ranges::find(devices, device) != devices.end();
}

std::string Process::name() const {
  return rank >= 0 ? fmt::format("rank {} (pid {}, {})", rank, pid % kPidLimit, program)
                   : fmt::format("process {} (pid {}, {})", index, pid % kPidLimit, program);
}

std::vector<WorkPtr> Process::unfinished() const {
  std::vector<WorkPtr> works;
  for (const auto& [device, context] : contexts) {
    const auto more = context->streams.unfinished();
    works.insert(works.end(), more.begin(), more.end());
  }
  return works;
}

Processes::Processes(const ClusterOptions& options, WorkGraph& works)
    : options_(options), works_(works) {}

Processes::~Processes() = default;

Process* Processes::find(std::uint32_t index) const {
  const auto found = processes_.find(index);
  return found == processes_.end() ? nullptr : found->second.get();
}

void Process::tell(std::string_view text) {
  output.push_back({2, printable(text)});
}

Process* Processes::join(std::uint32_t pid, const std::string& program) {
  for (const auto& [index, process] : processes_) {
    if (process->pid == pid) return process.get();
  }
  std::uint32_t index = 0;
  while (processes_.contains(index))
    ++index;
  if (index >= vgpu::kMaxProcesses) return nullptr;
  auto process = std::make_unique<Process>();
  process->index = index;
  process->pid = pid;
  process->program = printable(program);
  for (std::int32_t device = 0; device < options_.topology.gpus(); ++device)
    process->devices.push_back(device);
  ++seen_;
  return (processes_[index] = std::move(process)).get();
}

void Processes::place_on_node(Process& process) const {
  const fabric::Topology& topology = options_.topology;
  if (options_.expected_processes < 2 || topology.nodes < 2) return;
  const auto per_node = std::max<std::uint32_t>(
      options_.expected_processes / static_cast<std::uint32_t>(topology.nodes), 1);
  process.node = std::min(static_cast<std::uint32_t>(process.rank) / per_node,
                          static_cast<std::uint32_t>(topology.nodes) - 1);
  process.devices.clear();
  for (std::int32_t i = 0; i < topology.gpus_per_node; ++i) {
    process.devices.push_back(static_cast<std::int32_t>(process.node) * topology.gpus_per_node + i);
  }
}

// Works in flight and GPUs refer to contexts and modules of a process, so that none is destroyed
// before the run is over.
void Processes::end(Process& process) {
  const auto found = processes_.find(process.index);
  ended_.push_back(std::move(found->second));
  processes_.erase(found);
}

void Processes::clear() {
  for (const auto& [index, process] : processes_) {
    process->captures.clear();
    process->execs.clear();
    process->graphs.clear();
  }
  retired_programs_.clear();
  retired_.clear();
  ended_.clear();
  processes_.clear();
}

Context* Processes::context(Process& process, std::int32_t device) {
  if (!process.sees(device)) return nullptr;
  // A judged rank has the GPU that it was given: its peers' are theirs, however idle they are.
  if (sealed_ && !process.contexts.contains(device)) return nullptr;
  auto& slot = process.contexts[device];
  if (slot == nullptr) slot = std::make_unique<Context>(process, device, works_);
  return slot.get();
}

void Processes::retire(Process& process, std::int32_t device) {
  const auto found = process.contexts.find(device);
  if (found == process.contexts.end()) return;
  // Whatever it still has queued ends without effect.
  if (found->second->error == 0) found->second->error = wire::kContextIsDestroyed;
  retired_.push_back(std::move(found->second));
  process.contexts.erase(found);
  // Kernels in flight still read the code and variables of what was loaded on the device.
  for (const auto& [id, module] : process.modules) {
    const auto program = module->programs.find(device);
    if (program == module->programs.end()) continue;
    retired_programs_.push_back(std::move(program->second));
    module->programs.erase(program);
  }
}

Stream* Processes::stream(Session& session, const wire::StreamRef& ref) {
  if (ref.stream <= wire::kPerThreadStream) {
    Context* here = context(*session.process, ref.device);
    if (here == nullptr) return nullptr;
    return ref.stream == wire::kPerThreadStream ? &here->streams.per_thread(session.thread)
                                                : &here->streams.legacy();
  }
  for (const auto& [device, here] : session.process->contexts) {
    if (Stream* found = here->streams.find(ref.stream)) return found;
  }
  return nullptr;
}

void Processes::ask(Process& process, ServiceJob job) {
  job.request.ticket = next_ticket_++;
  process.jobs.push_back(std::move(job));
  serve_jobs(process);
}

void Processes::serve_jobs(Process& process) {
  Session* service = process.service;
  if (service == nullptr || service->state() != Session::State::Idle || process.jobs.empty()) {
    return;
  }
  ServiceJob job = std::move(process.jobs.front());
  process.jobs.pop_front();
  // Only now, because earlier jobs use the same bounce buffer.
  if (job.prepare) job.prepare(*service);
  const wire::NextService::Reply request = job.request;
  process.jobs_out[request.ticket] = std::move(job);
  service->reply_with(wire::kSuccess, request);
}

}  // namespace cuco::vcluster
