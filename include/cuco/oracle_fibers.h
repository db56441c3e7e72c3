/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads that take turns in one thread: those of a block, and the ranks of a program. Included by
 * oracle_device.h.
 */
#ifndef CUCO_ORACLE_FIBERS_H
#define CUCO_ORACLE_FIBERS_H

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include <ucontext.h>

namespace cuco_oracle {

/* Memory for the stacks of threads that come and go: a block has hundreds, a grid thousands. */
class Stack {
 public:
  explicit Stack(std::size_t bytes) : bytes_(bytes) {
    auto& free = unused()[bytes];
    if (free.empty()) free.emplace_back(new char[bytes]);
    memory_ = std::move(free.back());
    free.pop_back();
  }
  ~Stack() { unused()[bytes_].push_back(std::move(memory_)); }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;
  char* data() { return memory_.get(); }
  std::size_t size() const { return bytes_; }

 private:
  static std::map<std::size_t, std::vector<std::unique_ptr<char[]>>>& unused() {
    static std::map<std::size_t, std::vector<std::unique_ptr<char[]>>> all;
    return all;
  }
  std::size_t bytes_;
  std::unique_ptr<char[]> memory_;
};

/* Several bodies, each until it waits or ends, in turns. A body may run a crew of its own. */
class Crew {
 public:
  using Body = std::function<void(int)>;
  using Condition = std::function<bool()>;

  Crew(int count, std::size_t stack_bytes, const Body& body) : body_(body) {
    for (int i = 0; i < count; ++i)
      members_.push_back(std::make_unique<Member>(stack_bytes));
  }

  /* Until all have ended. */
  void run() {
    Crew* const outer = current_;
    current_ = this;
    for (std::size_t left = members_.size(); left > 0;) {
      bool moved = false;
      for (now_ = 0; now_ < static_cast<int>(members_.size()); ++now_) {
        Member& member = *members_[static_cast<std::size_t>(now_)];
        if (member.ended || (member.waits_for && !(*member.waits_for)())) continue;
        moved = true;
        member.waits_for = nullptr;
        resume(member);
        left -= member.ended ? 1 : 0;
      }
      if (!moved) {
        std::fputs("oracle: all wait for each other\n", stderr);
        std::abort();
      }
    }
    current_ = outer;
  }

  /* The others go on until the condition holds. */
  static void wait(const Condition& condition) {
    Crew& crew = *current_;
    if (condition()) return;
    Member& member = *crew.members_[static_cast<std::size_t>(crew.now_)];
    member.waits_for = &condition;
    swapcontext(&member.context, &crew.scheduler_);
  }

  static int member() { return current_->now_; }

 private:
  struct Member {
    explicit Member(std::size_t bytes) : stack(bytes) {}
    ucontext_t context{};
    Stack stack;
    bool begun = false, ended = false;
    const Condition* waits_for = nullptr;
  };

  void resume(Member& member) {
    if (!member.begun) {
      member.begun = true;
      getcontext(&member.context);
      member.context.uc_stack.ss_sp = member.stack.data();
      member.context.uc_stack.ss_size = member.stack.size();
      member.context.uc_link = &scheduler_;
      makecontext(&member.context, &Crew::enter, 0);
    }
    swapcontext(&scheduler_, &member.context);
  }

  static void enter() {
    Crew& crew = *current_;
    const int mine = crew.now_;
    crew.body_(mine);
    crew.members_[static_cast<std::size_t>(mine)]->ended = true;
  }

  const Body& body_;
  std::vector<std::unique_ptr<Member>> members_;
  ucontext_t scheduler_{};
  int now_ = 0;
  static inline Crew* current_ = nullptr;
};

/* Where all members have to arrive before any goes on. Who ends leaves. */
struct Gate {
  int members = 0, waiting = 0;
  long round = 0;

  void pass() {
    const long mine = round;
    if (++waiting == members) return open();
    Crew::wait([&] { return round != mine; });
  }
  void leave() {
    if (--members > 0 && waiting == members) open();
  }

 private:
  void open() {
    waiting = 0;
    ++round;
  }
};

}  // namespace cuco_oracle

#endif
