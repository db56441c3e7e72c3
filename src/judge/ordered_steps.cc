// SPDX-License-Identifier: Apache-2.0
#include "judge/ordered_steps.h"

#include <atomic>
#include <mutex>
#include <thread>

namespace cuco::judge {
namespace {

using Answer = Result<std::optional<candidate::Outcome>>;

bool ends_it(const Answer& answer) {
  return !answer || answer->has_value();
}

}  // namespace

Answer OrderedSteps::run(int threads, const StepWatch& watch) const {
  // Steps are begun in order, and what is begun is finished: when all threads are done, every step
  // before `last` has been taken and had nothing to say.
  std::atomic<std::size_t> next{0};
  std::atomic<std::size_t> last{steps_.size()};
  std::atomic<std::size_t> done{0};
  std::mutex mutex;
  if (watch) watch(0, steps_.size());
  Answer verdict = std::optional<candidate::Outcome>();
  const auto work = [&] {
    for (std::size_t i = next++; i < last; i = next++) {
      Answer answer = steps_[i]();
      const std::size_t so_far = ++done;
      if (watch) watch(so_far, steps_.size());
      if (!ends_it(answer)) continue;
      const std::lock_guard lock(mutex);
      if (i >= last) continue;
      last = i;
      verdict = std::move(answer);
    }
  };
  {
    std::vector<std::jthread> others;
    for (int i = 1; i < threads; ++i)
      others.emplace_back(work);
    work();
  }
  return verdict;
}

}  // namespace cuco::judge
