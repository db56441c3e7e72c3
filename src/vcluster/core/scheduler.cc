// SPDX-License-Identifier: Apache-2.0
// The conservative order of events.
//
// Host threads, GPUs and the timeline each have a next time. While a host thread runs, its next
// request could come at its clock, which is never later than anything that waits, so nothing may
// move: must_wait(). When all threads are parked or have a request pending, the thing with the
// lowest time is done, and only that; ties go to the timeline, then to threads by number, then to
// GPUs by number. So the order of all effects depends on virtual times and numbers alone, never on
// how fast this machine ran which process.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "vcluster/core/cluster.h"
#include "vcluster/nccl/nccl_world.h"

namespace cuco::vcluster {

bool Cluster::must_wait() const {
  if (judged_run_.is_held() || !processes_.all_here()) return true;
  return std::ranges::any_of(sessions_.all(), [](const auto& entry) {
    return entry.second->state() == Session::State::Running;
  });
}

bool Cluster::advance() {
  // `second` bounds how far a GPU may run ahead: nothing else can happen before it.
  VTime best = vgpu::kNever;
  VTime second = vgpu::kNever;
  Session* session = nullptr;
  vgpu::Gpu* gpu = nullptr;
  bool found = false;
  const auto offer = [&](VTime time) {
    if (found && time >= best) {
      second = std::min(second, time);
      return false;
    }
    second = best;
    best = time;
    found = true;
    return true;
  };
  if (const auto time = timeline_.next_time()) offer(*time);
  for (const auto& [number, candidate] : sessions_.all()) {
    if (candidate->state() == Session::State::Pending && offer(candidate->clock())) {
      session = candidate.get();
    }
  }
  for (const auto& candidate : devices_->gpus()) {
    if (const auto time = candidate->next_time(); time && offer(*time)) gpu = candidate.get();
  }
  out_of_time_ = found && best > judged_run_.limit();
  if (!found || out_of_time_) return false;
  if (gpu != nullptr) {
    timeline_.advance_to(best);
    gpu->step(second);
  } else if (session != nullptr) {
    timeline_.advance_to(best);
    serve(*session, *dispatcher_.find(session->request().header.type));
  } else {
    timeline_.run_next();
  }
  return true;
}

std::vector<ClusterWait> Cluster::waits() const {
  std::vector<ClusterWait> waits;
  for (const std::string& name : processes_.lost())
    waits.emplace_back(LostProcess{name});
  for (const auto& [number, session] : sessions_.all()) {
    if (session->state() == Session::State::Idle || session->process == nullptr) continue;
    waits.emplace_back(WaitingThread{
        .thread = fmt::format("{} thread {}", session->process->name(), session->thread),
        .runs = session->state() == Session::State::Running,
        .what = session->waits_for()});
  }
  for (const auto& [index, process] : processes_.all()) {
    for (const auto& [device, context] : process->contexts) {
      for (const Stream* stream : context->streams.all()) {
        if (stream->tail == nullptr || stream->tail->done()) continue;
        waits.emplace_back(
            WaitingStream{fmt::format("{} device {} {}", process->name(), device, stream->name()),
                          describe(*stream->tail)});
      }
    }
  }
  for (WaitingCall& call : nccl_->waits())
    waits.emplace_back(std::move(call));
  for (const auto& gpu : devices_->gpus()) {
    for (vgpu::Wait& wait : gpu->waits()) {
      auto awaited = name_awaited(wait);
      waits.emplace_back(WaitingKernel{gpu->device(), std::move(wait), std::move(awaited)});
    }
  }
  return waits;
}

std::optional<std::string> Cluster::name_awaited(const vgpu::Wait& wait) const {
  for (const vgpu::Address address : vgpu::awaited_addresses(wait)) {
    if (auto name = nccl_->identify(address)) return name;
  }
  return std::nullopt;
}

}  // namespace cuco::vcluster
