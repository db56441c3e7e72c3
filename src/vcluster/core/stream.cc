// SPDX-License-Identifier: Apache-2.0
#include "vcluster/core/stream.h"

#include <algorithm>
#include <utility>

#include "vcluster/host/client_process.h"

namespace cuco::vcluster {

std::string Stream::name() const {
  if (is_legacy) return "the default stream";
  if (id == 0) return "the thread's default stream";
  return "stream " + std::to_string(id);
}

// Streams that are gone still count: cudaDeviceSynchronize waits for their work, and in a checked
// run makes it known. `orphans_` are their last pieces that have not ended, `past_` stands for all
// that have.
StreamSet::StreamSet(Context& context, WorkGraph& works)
    : context_(context),
      works_(works),
      legacy_(std::make_unique<Stream>()),
      past_(WorkGraph::make("destroyed streams", nullptr)) {
  past_->state = Work::State::Done;
  legacy_->context = &context;
  legacy_->is_legacy = true;
}

Stream& StreamSet::create(std::uint64_t id, bool non_blocking, std::int32_t priority) {
  auto stream = std::make_unique<Stream>();
  stream->id = id;
  stream->context = &context_;
  stream->non_blocking = non_blocking;
  stream->priority = priority;
  return *(streams_[id] = std::move(stream));
}

Stream* StreamSet::find(std::uint64_t id) {
  const auto found = streams_.find(id);
  return found == streams_.end() ? nullptr : found->second.get();
}

void StreamSet::destroy(Stream& stream) {
  const auto remember = [&](const WorkPtr& work) {
    if (!work->done()) return false;
    past_->known = check::Clock::join(past_->known, work->known);
    return true;
  };
  std::erase_if(orphans_, remember);
  if (stream.tail != nullptr) remember(stream.tail);
  if (stream.tail != nullptr && !stream.tail->done()) {
    orphans_.push_back(stream.tail);
    // The legacy stream would have waited for it.
    if (!stream.non_blocking) {
      const WorkPtr marker = WorkGraph::make("end of " + stream.name(), nullptr);
      const WorkPtr after[] = {stream.tail, legacy_->tail};
      works_.submit(marker, after);
      legacy_->tail = marker;
    }
  }
  streams_.erase(stream.id);
}

// cudaStreamPerThread: every thread has its own, made when it is first used.
Stream& StreamSet::per_thread(std::uint32_t thread) {
  auto& slot = per_thread_[thread];
  if (slot == nullptr) {
    slot = std::make_unique<Stream>();
    slot->context = &context_;
  }
  return *slot;
}

void StreamSet::submit(Stream& stream, const WorkPtr& work, std::span<const WorkPtr> also) {
  std::vector<WorkPtr> after(also.begin(), also.end());
  after.push_back(stream.tail);
  // The legacy stream and the blocking streams wait for each other; others only for themselves.
  if (stream.is_legacy) {
    for (const Stream* other : all()) {
      if (!other->non_blocking) after.push_back(other->tail);
    }
  } else if (!stream.non_blocking) {
    after.push_back(legacy_->tail);
  }
  if (stream.chain == 0) stream.chain = works_.new_chain();
  work->chain = stream.chain;
  work->operation = ++stream.operations;
  work->device = context_.device;
  if (works_.log != nullptr) work->stream = stream.name();
  stream.tail = work;
  works_.submit(work, after);
}

std::vector<WorkPtr> StreamSet::unfinished(const Stream& stream) const {
  std::vector<WorkPtr> result;
  const auto add = [&](const Stream& one) {
    if (one.tail != nullptr) result.push_back(one.tail);
  };
  add(stream);
  if (stream.is_legacy) {
    for (const auto& [id, other] : streams_) {
      if (!other->non_blocking) add(*other);
    }
    for (const auto& [thread, other] : per_thread_)
      add(*other);
  }
  return result;
}

std::vector<WorkPtr> StreamSet::unfinished() const {
  std::vector<WorkPtr> result = unfinished(*legacy_);
  for (const auto& [id, other] : streams_) {
    if (other->non_blocking && other->tail != nullptr) result.push_back(other->tail);
  }
  result.insert(result.end(), orphans_.begin(), orphans_.end());
  result.push_back(past_);
  return result;
}

std::vector<Stream*> StreamSet::all() {
  std::vector<Stream*> result{legacy_.get()};
  for (const auto& [id, stream] : streams_)
    result.push_back(stream.get());
  for (const auto& [thread, stream] : per_thread_)
    result.push_back(stream.get());
  return result;
}

}  // namespace cuco::vcluster
