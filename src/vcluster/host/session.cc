// SPDX-License-Identifier: Apache-2.0
#include "vcluster/host/session.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "vcluster/core/work.h"
#include "vcluster/host/call_log.h"
#include "vcluster/host/client_process.h"

namespace cuco::vcluster {

Session::Session(std::uint32_t number, const Timeline& timeline, Sink sink)
    : number_(number), timeline_(timeline), sink_(std::move(sink)) {}

void Session::learn(std::span<const WorkPtr> works) {
  for (const WorkPtr& work : works) {
    if (work != nullptr) learn(work->known);
  }
}

void Session::accept(wire::Frame frame, bool one_way) {
  request_ = std::move(frame);
  if (one_way) return;
  if (state_ == State::Outside) {
    move_clock_to(timeline_.now());
    if (log != nullptr) note_call();
  }
  state_ = State::Pending;
}

void Session::note_call() {
  if (process == nullptr || is_service || clock_ <= called_at_) return;
  log->add({process->index, process->rank, thread, call_, describe(wait_), called_at_, clock_});
}

void Session::begin(VTime cost) {
  clock_ = vgpu::after(clock_, cost);
}

VTime Session::poll_cost(VTime cost) {
  constexpr VTime kPatience = vgpu::kMillisecond;
  constexpr VTime kFineness = 256;  // So what was waited for is noticed at most 0.4 % late.
  if (!polls_since_) polls_since_ = clock_;
  const VTime polled = clock_ - *polls_since_;
  return polled < kPatience ? cost
                            : std::max(cost, std::min(polled / kFineness, vgpu::kLongestLeap));
}

void Session::reply(std::int32_t status, wire::Bytes head, wire::Bytes tail, int fd) {
  CUCO_ASSERT(state_ == State::Pending || state_ == State::Parked || state_ == State::Idle);
  if (state_ != State::Pending) move_clock_to(timeline_.now());
  if (log != nullptr) note_call();
  state_ = State::Running;
  wait_ = {};
  wire::Header header;
  header.type = request_.header.type;
  header.status = status;
  header.clock = clock_;
  sink_(header, head, tail, fd);
}

void Session::acknowledge() {
  wire::Header header;
  header.type = request_.header.type;
  header.clock = clock_;
  sink_(header, {}, {}, -1);
}

void Session::park(ThreadWait wait) {
  state_ = State::Parked;
  wait_ = std::move(wait);
}

void Session::become_idle() {
  state_ = State::Idle;
  wait_ = ServiceWait{};
}

void Session::go_outside(ThreadWait wait) {
  state_ = State::Outside;
  wait_ = std::move(wait);
}

void Session::come_back(VTime woken_at) {
  move_clock_to(woken_at);
  if (log != nullptr) note_call();
  state_ = State::Running;
  wait_ = {};
}

void Session::refuse(std::string reason) {
  if (refusal_.empty()) refusal_ = std::move(reason);
  state_ = State::Closed;  // its request is never served again
}

}  // namespace cuco::vcluster
