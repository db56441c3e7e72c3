// SPDX-License-Identifier: Apache-2.0
#include "vcluster/core/work.h"

#include <utility>

#include "base/assert.h"

namespace cuco::vcluster {

std::string describe(const Work& work) {
  if (work.state == Work::State::Done) return work.what + " (done)";
  if (work.state == Work::State::Running) return work.what;
  for (const auto& weak : work.waits_for) {
    const WorkPtr earlier = weak.lock();
    if (earlier == nullptr || earlier->done()) continue;
    // One level is enough: the earlier piece is in a stream or on a GPU and named there too.
    return work.what + ", after " + earlier->what;
  }
  return work.what;
}

WorkPtr WorkGraph::make(std::string what, std::function<void(const WorkPtr&)> start) {
  auto work = std::make_shared<Work>();
  work->what = std::move(what);
  work->start = std::move(start);
  return work;
}

// Edges are made here and only here. What is known travels along them: a piece knows what its
// predecessors knew at their ends, and what the host thread that handed it in knew.
void WorkGraph::submit(const WorkPtr& work, std::span<const WorkPtr> after) {
  work->submitted_at = timeline_.now();
  work->order = ++submitted_;
  if (is_checked) {
    work->known = check::Clock::join(work->known, host.known);
    if (work->call == nullptr) work->call = host.call;
    if (work->chain == 0) {
      work->chain = new_chain();
      work->operation = 1;
    }
  }
  for (const WorkPtr& earlier : after) {
    if (earlier == nullptr || earlier == work) continue;
    if (earlier->done()) {
      work->known = check::Clock::join(work->known, earlier->known);
      continue;
    }
    ++work->unmet;
    work->waits_for.push_back(earlier);
    earlier->then.emplace_back([this, work, from = earlier.get()] {
      work->known = check::Clock::join(work->known, from->known);
      if (--work->unmet == 0) ready_.emplace_back([this, work] { begin(work); });
    });
  }
  if (work->unmet == 0) {
    ready_.emplace_back([this, work] { begin(work); });
    drain();
  }
}

void WorkGraph::finish(const WorkPtr& work, VTime when) {
  CUCO_ASSERT(work->state == Work::State::Running);
  if (when <= timeline_.now()) {
    ready_.emplace_back([this, work] { complete(work); });
    drain();
  } else {
    timeline_.at(when, [this, work] {
      ready_.emplace_back([this, work] { complete(work); });
      drain();
    });
  }
}

void WorkGraph::when_done(std::span<const WorkPtr> works, std::function<void()> callback) {
  // Shared by the works that are awaited: the last one to end calls back.
  auto left = std::make_shared<std::size_t>(0);
  auto shared = std::make_shared<std::function<void()>>(std::move(callback));
  for (const WorkPtr& work : works) {
    if (work == nullptr || work->done()) continue;
    ++*left;
    work->then.emplace_back([this, left, shared] {
      if (--*left == 0) ready_.emplace_back([shared] { (*shared)(); });
    });
  }
  if (*left == 0) (*shared)();
}

void WorkGraph::begin(const WorkPtr& work) {
  work->state = Work::State::Running;
  work->started_at = timeline_.now();
  work->waits_for.clear();
  if (work->start) {
    // What it captured may keep memory and other works alive: it goes as soon as it has run.
    const auto start = std::exchange(work->start, nullptr);
    start(work);
  } else {
    complete(work);
  }
}

void WorkGraph::complete(const WorkPtr& work) {
  work->state = Work::State::Done;
  work->done_at = timeline_.now();
  if (log != nullptr && work->done_at > work->started_at) {
    log->push_back({work->what, work->device, work->stream, work->started_at, work->done_at});
  }
  const auto then = std::exchange(work->then, {});
  for (const auto& next : then)
    next();
}

void WorkGraph::drain() {
  // Whoever drains already also takes what is added meanwhile.
  if (draining_) return;
  draining_ = true;
  while (!ready_.empty()) {
    const auto next = std::move(ready_.front());
    ready_.pop_front();
    next();
  }
  draining_ = false;
}

}  // namespace cuco::vcluster
