// SPDX-License-Identifier: Apache-2.0
/// \file
/// Work: one piece of device-side activity and what it waits for.
///
/// Streams, events, graphs and collectives are all ways to say which piece comes after which. Here
/// they meet as one graph: a piece starts when every piece it depends on is done.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "check/finding/finding.h"
#include "check/race/happens_before.h"
#include "vcluster/core/timeline.h"

namespace cuco::vcluster {

struct Work;
/// Shared by the stream it is the tail of, the events recorded on it, and its successors' callers.
using WorkPtr = std::shared_ptr<Work>;

struct Work {
  enum class State : std::uint8_t { Waiting, Running, Done };

  std::string what;  ///< For reports: "kernel saxpy", "copy of 4096 bytes".
  /// Begins the activity; whoever does it calls WorkGraph::finish, at once or later. Empty: a
  /// marker, done when reached.
  std::function<void(const WorkPtr&)> start;

  State state = State::Waiting;
  std::uint32_t unmet = 0;
  VTime submitted_at = 0;
  std::uint64_t order = 0;  ///< Of all that was handed in.
  bool in_graph = false;
  std::int32_t device = -1;  ///< Whose stream it was handed to.
  std::string stream;        ///< Its name, where finished works are logged.
  VTime started_at = 0;
  VTime done_at = 0;
  std::vector<std::function<void()>> then;
  std::vector<std::weak_ptr<Work>> waits_for;  ///< For deadlock reports.

  // Checked runs only.
  /// What has happened before it; once it is done, what is known after it.
  check::ClockPtr known;
  check::ChainId chain = 0;  ///< Its stream, or a chain of its own…
  std::uint64_t operation = 0;
  std::shared_ptr<const check::Site> call;  ///< Where the program asked for it.

  [[nodiscard]] bool done() const { return state == State::Done; }
};

/// The host thread whose request is being served, as checked runs see it.
struct HostView {
  check::ClockPtr known;
  std::shared_ptr<const check::Site> call;
};

/// A piece that is over, for profiles.
struct FinishedWork {
  std::string what;
  std::int32_t device = -1;
  std::string stream;
  VTime started = 0;
  VTime finished = 0;
};

/// "copy of 64 bytes, after kernel k": the piece and what it waits for first.
[[nodiscard]] std::string describe(const Work& work);

class WorkGraph {
 public:
  explicit WorkGraph(Timeline& timeline) : timeline_(timeline) {}

  /// Work handed in comes after what this host knows.
  HostView host;
  bool is_checked = false;
  std::vector<FinishedWork>* log = nullptr;  ///< Null: nobody wants to know.
  /// A name for a sequence of works in which each one comes after all before it.
  [[nodiscard]] check::ChainId new_chain() { return next_chain_++; }

  [[nodiscard]] static WorkPtr make(std::string what, std::function<void(const WorkPtr&)> start);

  /// Hands a piece in; it starts now or when the last of `after` is done. Null entries are ignored.
  void submit(const WorkPtr& work, std::span<const WorkPtr> after);
  /// Says that a started piece ends at `when`.
  void finish(const WorkPtr& work, VTime when);
  /// Calls back when all are done; at once if they are. Never from inside this call's caller's
  /// stack if something was pending.
  void when_done(std::span<const WorkPtr> works, std::function<void()> callback);

 private:
  void begin(const WorkPtr& work);
  void complete(const WorkPtr& work);
  /// Runs what became ready, without recursion: chains may be a million long.
  void drain();

  Timeline& timeline_;
  std::deque<std::function<void()>> ready_;
  bool draining_ = false;
  check::ChainId next_chain_ = 1;
  std::uint64_t submitted_ = 0;
};

}  // namespace cuco::vcluster
