// SPDX-License-Identifier: Apache-2.0
/// \file
/// Streams and events of one process on one device, with CUDA's implicit order.
///
/// Work of a stream runs in order. The legacy default stream also waits for everything handed to
/// the blocking streams of its context before, and they wait for it. All of that becomes edges of
/// the work graph the moment a piece is handed in.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vcluster/core/work.h"

namespace cuco::vcluster {

struct Process;
struct Context;
struct Capture;

struct Stream {
  std::uint64_t id = 0;
  Context* context = nullptr;
  bool non_blocking = false;
  bool is_legacy = false;
  std::int32_t priority = 0;
  WorkPtr tail;                  ///< The last piece handed in.
  check::ChainId chain = 0;      ///< Its name where order is checked…
  std::uint64_t operations = 0;  ///< …and how many pieces were handed in.
  /// Not null: the stream records into a graph. Shared by the streams that joined the capture.
  std::shared_ptr<Capture> capture;
  std::vector<std::uint64_t> capture_tail;  ///< Nodes the next captured operation depends on.

  [[nodiscard]] std::string name() const;
};

/// Where an event was last recorded. Shared by the handle, graph nodes and other processes (IPC).
struct Event {
  std::uint64_t id = 0;
  std::int32_t device = 0;
  bool timing = true;
  bool interprocess = false;
  WorkPtr recorded;                         ///< Null: never.
  std::weak_ptr<Capture> capture;           ///< Recorded in a capture...
  std::vector<std::uint64_t> capture_tail;  ///< ...after these nodes.
};
using EventPtr = std::shared_ptr<Event>;

/// The streams of one context.
class StreamSet {
 public:
  StreamSet(Context& context, WorkGraph& works);

  Stream& create(std::uint64_t id, bool non_blocking, std::int32_t priority);
  [[nodiscard]] Stream* find(std::uint64_t id);
  /// Forgets the handle; work handed in before goes on.
  void destroy(Stream& stream);
  [[nodiscard]] Stream& legacy() { return *legacy_; }
  /// The default stream of one host thread, made on demand.
  Stream& per_thread(std::uint32_t thread);

  /// Hands work to a stream: after everything CUDA says it comes after, and after `also`.
  void submit(Stream& stream, const WorkPtr& work, std::span<const WorkPtr> also = {});

  // All of these may hold pieces that are done: whoever waits for them learns what they knew.
  /// What cudaStreamSynchronize waits for; for the legacy stream this includes all blocking ones.
  [[nodiscard]] std::vector<WorkPtr> unfinished(const Stream& stream) const;
  /// What cudaDeviceSynchronize waits for.
  [[nodiscard]] std::vector<WorkPtr> unfinished() const;
  [[nodiscard]] std::vector<Stream*> all();

 private:
  Context& context_;
  WorkGraph& works_;
  std::unique_ptr<Stream> legacy_;
  std::map<std::uint64_t, std::unique_ptr<Stream>> streams_;
  std::map<std::uint32_t, std::unique_ptr<Stream>> per_thread_;
  std::vector<WorkPtr> orphans_;  ///< Tails of destroyed streams that are still at work.
  WorkPtr past_;                  ///< Stands for all destroyed streams whose work is done.
};

}  // namespace cuco::vcluster
