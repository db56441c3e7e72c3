// SPDX-License-Identifier: Apache-2.0
/// \file
/// Lane: a queue of work and the threads that do it. One stage of the run's pipeline.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace cuco::candidate {

/// Work is begun in the order in which it came. How much there is at once is up to whoever adds it.
class Lane {
 public:
  explicit Lane(int threads) {
    for (int i = 0; i < threads; ++i)
      threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  /// Waits for work that was begun; the rest is dropped.
  ~Lane() {
    for (auto& thread : threads_)
      thread.request_stop();
    changed_.notify_all();
  }

  void add(std::function<void()> work) {
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back(std::move(work));
    }
    changed_.notify_one();
  }

 private:
  void work(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [this] { return !queue_.empty(); })) {
      if (stop.stop_requested()) return;
      const auto next = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      next();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::function<void()>> queue_;
  std::vector<std::jthread> threads_;  ///< Last: they end before what they use.
};

}  // namespace cuco::candidate
