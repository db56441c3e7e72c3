// SPDX-License-Identifier: Apache-2.0
#include "loopback/gpu/rank_streams.h"

#include <chrono>

#include "loopback/gpu/divided_gpu.h"

namespace cuco::loopback {

Streams& Streams::get() {
  static Streams& streams = *new Streams;
  return streams;
}

bool Streams::is_capturing(CUstream stream) {
  if (stream == nullptr) return false;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return driver().cuStreamIsCapturing(stream, &status) != CUDA_SUCCESS ||
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

void Streams::order(CUstream first, CUevent* event, CUstream then) {
  const Driver& d = driver();
  if (*event == nullptr && d.cuEventCreate(event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) return;
  if (d.cuEventRecord(*event, first) != CUDA_SUCCESS) return;
  if (then != first) (void)d.cuStreamWaitEvent(then, *event, 0);
}

void Streams::add(int number, CUstream stream, bool is_blocking) {
  const std::lock_guard lock(mutex_);
  rank(number).streams[stream].is_blocking = is_blocking;
}

void Streams::remove(CUstream stream) {
  const std::lock_guard lock(mutex_);
  for (auto& [number, r] : ranks_)
    r.streams.erase(stream);
}

int Streams::rank_of(CUstream stream, int otherwise) {
  if (stream == nullptr) return otherwise;
  const std::lock_guard lock(mutex_);
  for (const auto& [number, r] : ranks_) {
    if (r.streams.contains(stream)) return number;
  }
  return otherwise;
}

CUstream Streams::of_thread(int number) {
  thread_local std::map<int, CUstream> mine;
  CUstream& stream = mine[number];
  if (stream == nullptr &&
      driver().cuGreenCtxStreamCreate(&stream, Machine::get().rank(number).green,
                                      CU_STREAM_NON_BLOCKING, 0) == CUDA_SUCCESS) {
    add(number, stream, true);
  }
  return stream;
}

// The default stream waits for what blocking streams hold, and they for what it held before.
void Streams::before(int number, CUstream stream) {
  const std::lock_guard lock(mutex_);
  ++operations_;
  Rank& r = rank(number);
  if (stream == nullptr) {
    for (auto& [other, state] : r.streams) {
      if (other == nullptr || !state.is_blocking || !state.has_new_work) continue;
      if (is_capturing(other)) continue;
      order(other, &state.event, nullptr);
      state.has_new_work = false;
    }
    return;
  }
  const auto found = r.streams.find(stream);
  if (found == r.streams.end() || !found->second.is_blocking) return;
  if (found->second.seen == r.default_work || is_capturing(stream)) return;
  (void)driver().cuStreamWaitEvent(stream, r.event, 0);
  found->second.seen = r.default_work;
}

void Streams::after(int number, CUstream stream, const char* what) {
  if (what == nullptr) return;
  const std::lock_guard lock(mutex_);
  Rank& r = rank(number);
  const auto found =
      stream == nullptr ? r.streams.try_emplace(nullptr).first : r.streams.find(stream);
  if (found == r.streams.end()) return;
  if (*what != 0) found->second.last = what;
  found->second.has_new_work = true;
  if (stream != nullptr) return;
  order(nullptr, &r.event, nullptr);
  ++r.default_work;
}

CUresult Streams::wait_for(int number) {
  std::vector<CUstream> streams;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [stream, state] : rank(number).streams)
      streams.push_back(stream);
  }
  const ScopedContext scope(Machine::get().rank(number).context);
  CUresult result = driver().cuStreamSynchronize(nullptr);
  for (CUstream stream : streams) {
    if (stream == nullptr || is_capturing(stream)) continue;
    const CUresult one = driver().cuStreamSynchronize(stream);
    if (result == CUDA_SUCCESS) result = one;
  }
  return result;
}

std::vector<std::string> Streams::unfinished(int number) {
  const std::unique_lock lock(mutex_, std::chrono::seconds(1));
  if (!lock) return {"a call into the CUDA driver does not return"};
  const ScopedContext scope(Machine::get().rank(number).context);
  std::vector<std::string> lines;
  int index = 0;
  for (const auto& [stream, state] : rank(number).streams) {
    const std::string name =
        stream == nullptr ? "the default stream" : "stream " + std::to_string(++index);
    if (is_capturing(stream)) continue;
    if (driver().cuStreamQuery(stream) != CUDA_ERROR_NOT_READY) continue;
    lines.push_back(name + " is not done; it was last given " + state.last);
  }
  return lines;
}

}  // namespace cuco::loopback
