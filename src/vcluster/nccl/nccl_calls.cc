// SPDX-License-Identifier: Apache-2.0
// The messages of libnccl.so.2.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/printable.h"
#include "fabric/collective_cost.h"
#include "shims/wire/messages_nccl.h"
#include "shims/wire/status.h"
#include "vcluster/calls/calls.h"
#include "vcluster/device/allocations.h"
#include "vcluster/graph/cuda_graph.h"
#include "vcluster/host/processes.h"
#include "vcluster/host/sessions.h"
#include "vcluster/nccl/nccl_world.h"
#include "vcluster/watch/run_check.h"

namespace cuco::vcluster {
namespace {

using nccl_core::Code;
using nccl_core::Problem;

/// One NcclSubmit under way: the session is answered when every item is.
struct Submission {
  std::uint32_t session = 0;
  bool is_detached = false;  ///< Nobody waits: the process will ask.
  std::vector<NcclReply> replies;
  std::size_t missing = 0;
  VTime predicted = 0;
};
using SubmissionPtr = std::shared_ptr<Submission>;
/// Submissions that their process will ask for, by process and ticket.
using Tickets = std::map<std::pair<std::uint32_t, std::uint64_t>, SubmissionPtr>;
constexpr std::size_t kMaxTickets = 1U << 16U;

/// Ranks of a communicator for which a thread has made calls, each by itself.
struct LoneCalls {
  std::set<int> ranks;
  bool has_warned = false;
};
/// By communicator and thread.
using AllLoneCalls = std::map<std::pair<std::string, std::uint32_t>, LoneCalls>;

/// What the handlers of NCCL's messages share.
struct NcclState {
  Tickets tickets;
  AllLoneCalls lone_calls;
};
/// A program that polls gets on in virtual time.
constexpr VTime kPollCost = 500 * vgpu::kNanosecond;

struct Item {
  wire::NcclItemKind kind{};
  wire::Bytes payload;
};

std::optional<std::vector<Item>> read_items(std::uint32_t count, wire::Bytes tail) {
  std::vector<Item> items;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto header = wire::read_front<wire::NcclItem>(tail);
    if (!header || tail.size() - sizeof *header < header->bytes) return std::nullopt;
    items.push_back({header->kind, tail.subspan(sizeof *header, header->bytes)});
    tail = tail.subspan(sizeof *header + header->bytes);
  }
  return items;
}

std::vector<std::byte> answers_of(const Submission& submission) {
  std::vector<std::byte> tail;
  for (const NcclReply& reply : submission.replies) {
    const std::string& text = reply.problem.message;
    wire::append(tail, wire::NcclAnswer{static_cast<std::int32_t>(reply.problem.code),
                                        static_cast<std::uint32_t>(reply.payload.size()),
                                        static_cast<std::uint32_t>(text.size()), 0});
    tail.insert(tail.end(), reply.payload.begin(), reply.payload.end());
    const wire::Bytes words = wire::bytes_of_text(text);
    tail.insert(tail.end(), words.begin(), words.end());
  }
  return tail;
}

void reply_if_complete(const NcclParts& parts, const SubmissionPtr& submission) {
  if (submission->missing != 0 || submission->is_detached) return;
  if (Session* session = parts.sessions.find(submission->session)) {
    for (const NcclReply& reply : submission->replies)
      session->learn(reply.known);
    session->reply_with(wire::kSuccess,
                        wire::NcclSubmit::Reply{.predicted_ps = submission->predicted},
                        answers_of(*submission));
  }
}

/// Answers item `index` of a submission.
std::function<void(NcclReply)> answer_to(const NcclParts& parts,
                                         SubmissionPtr submission,
                                         std::size_t index) {
  return [parts, submission = std::move(submission), index](NcclReply reply) {
    submission->replies[index] = std::move(reply);
    --submission->missing;
    reply_if_complete(parts, submission);
  };
}

/// Records a group of one communicator as one node of the graph that its streams are captured into.
std::optional<Problem> capture_group(const NcclParts& parts,
                                     const std::vector<wire::NcclOperation>& operations,
                                     const CliqueRank& place,
                                     const std::vector<Stream*>& streams,
                                     NcclWorld::Posted* posted) {
  Stream& first = *streams.front();
  for (Stream* stream : streams) {
    if (stream->capture == first.capture && stream->capture != nullptr) continue;
    return Problem{Code::InvalidUsage,
                   "the streams of one NCCL group are not all captured into the same graph"};
  }
  posted->problems = parts.nccl.check(place, operations);
  if (std::any_of(posted->problems.begin(), posted->problems.end(),
                  [](const nccl_core::Check& problem) { return problem.has_value(); })) {
    return std::nullopt;
  }
  for (const Stream* stream : streams) {
    for (const std::uint64_t node : stream->capture_tail) {
      auto& tail = first.capture_tail;
      if (std::find(tail.begin(), tail.end(), node) == tail.end()) tail.push_back(node);
    }
  }
  if (capture_operation(first, CollectiveOperation{operations}) != wire::kSuccess) {
    return Problem{Code::UnhandledCudaError, "the capture of the stream has been invalidated"};
  }
  for (Stream* stream : streams)
    stream->capture_tail = first.capture_tail;
  return std::nullopt;
}

/// Hands one group of operations of one communicator to its streams. With several streams the
/// group waits for all of them and all of them wait for the group.
std::optional<Problem> hand_to_streams(const NcclParts& parts,
                                       Session& session,
                                       const std::vector<wire::NcclOperation>& operations,
                                       const CliqueRank& place,
                                       NcclWorld::Posted* posted) {
  std::vector<Stream*> streams;
  for (const wire::NcclOperation& operation : operations) {
    Stream* stream = parts.processes.stream(session, operation.stream);
    if (stream == nullptr || stream->context->device != place.member().device) {
      return Problem{Code::UnhandledCudaError,
                     fmt::format("the stream is not one of device {}, which rank {} of {} uses: "
                                 "create it after cudaSetDevice of that device",
                                 place.member().device, place.rank, place.clique->name())};
    }
    if (stream->context->error != 0) {
      return Problem{Code::UnhandledCudaError, "an earlier kernel failed on this device"};
    }
    if (std::find(streams.begin(), streams.end(), stream) == streams.end()) {
      streams.push_back(stream);
    }
  }
  const auto captures = [](const Stream* stream) { return stream->capture != nullptr; };
  if (std::any_of(streams.begin(), streams.end(), captures)) {
    return capture_group(parts, operations, place, streams, posted);
  }
  *posted = parts.nccl.post(place, operations, session.clock());
  if (posted->work == nullptr) return std::nullopt;
  std::vector<WorkPtr> also;
  for (const Stream* stream : streams)
    also.push_back(stream->tail);
  Stream& first = *streams.front();
  first.context->streams.submit(first, posted->work, also);
  for (std::size_t i = 1; i < streams.size(); ++i) {
    const WorkPtr marker = WorkGraph::make("end of an NCCL group", nullptr);
    const WorkPtr group[] = {posted->work};
    streams[i]->context->streams.submit(*streams[i], marker, group);
  }
  return std::nullopt;
}

/// A call may wait for the other ranks' before it returns: a thread that makes them one after the
/// other would never get to the next.
void look_for_missing_group(AllLoneCalls& all,
                            const Session& session,
                            const std::vector<CliqueRank>& places) {
  if (places.size() != 1) return;
  const CliqueRank& place = places.front();
  LoneCalls& lone = all[{place.clique->name(), session.number()}];
  lone.ranks.insert(place.rank);
  if (lone.ranks.size() < 2 || std::exchange(lone.has_warned, true)) return;
  fmt::print(stderr,
             "cuco: warning: one thread makes the calls of ranks {} and {} of {} one after the "
             "other; NCCL may wait in the first for the second: put them between ncclGroupStart "
             "and ncclGroupEnd, or give each GPU a thread\n",
             *lone.ranks.begin(), *lone.ranks.rbegin(), printable(place.clique->name()));
}

/// One thread launches the kernels of its GPUs one after the other.
void spend_launch(const hardware::NcclCosts& costs,
                  Session& session,
                  const std::vector<wire::NcclOperation>& operations,
                  bool is_first) {
  const bool is_empty =
      std::all_of(operations.begin(), operations.end(),
                  [](const wire::NcclOperation& operation) { return operation.count == 0; });
  if (is_empty) return;
  // The call itself has been paid for.
  const VTime before = is_first ? kCallCost : fabric::host_time(costs, 0);
  session.begin(std::max<VTime>(0, fabric::host_time(costs, 1) - before));
}

/// All operations of a submission, by communicator, in the order of the calls.
void serve_operations(const NcclParts& parts,
                      Session& session,
                      const std::vector<Item>& items,
                      const SubmissionPtr& submission,
                      AllLoneCalls& lone_calls) {
  std::map<std::uint64_t, std::vector<std::pair<std::size_t, wire::NcclOperation>>> by_comm;
  std::vector<std::uint64_t> order;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].kind != wire::NcclItemKind::Operation) continue;
    const auto operation = wire::read_front<wire::NcclOperation>(items[i].payload);
    if (!operation) return session.refuse("an NCCL operation that is too short");
    if (!by_comm.contains(operation->comm)) order.push_back(operation->comm);
    by_comm[operation->comm].emplace_back(i, *operation);
  }
  std::vector<CliqueRank> places;
  for (const std::uint64_t comm : order) {
    const auto& entries = by_comm[comm];
    const auto answer_all = [&](const Problem& problem) {
      for (const auto& [index, operation] : entries) {
        answer_to(parts, submission, index)(NcclReply::failure(problem));
      }
    };
    const auto place = parts.nccl.find(comm, session.process->index);
    if (!place) {
      answer_all({Code::InvalidArgument, "not a communicator of this process"});
      continue;
    }
    places.push_back(*place);
    std::vector<wire::NcclOperation> operations;
    for (const auto& [index, operation] : entries)
      operations.push_back(operation);
    spend_launch(parts.nccl.costs(), session, operations, places.size() == 1);
    NcclWorld::Posted posted;
    if (const auto wrong = hand_to_streams(parts, session, operations, *place, &posted)) {
      answer_all(*wrong);
      continue;
    }
    for (std::size_t i = 0; i < entries.size(); ++i) {
      NcclReply reply;
      if (posted.problems[i]) reply = NcclReply::failure(*posted.problems[i]);
      answer_to(parts, submission, entries[i].first)(std::move(reply));
    }
  }
  if (parts.check != nullptr) look_for_missing_group(lone_calls, session, places);
}

void simulate(const NcclParts& parts, Session& session, const std::vector<Item>& items) {
  wire::NcclSubmit::Reply reply;
  for (const Item& item : items) {
    const auto operation = item.kind == wire::NcclItemKind::Operation
                               ? wire::read_front<wire::NcclOperation>(item.payload)
                               : std::nullopt;
    if (!operation) continue;
    if (const auto place = parts.nccl.find(operation->comm, session.process->index)) {
      reply.predicted_ps += parts.nccl.predict(*place, *operation);
    }
  }
  session.reply_with(wire::kSuccess, reply);
}

void submit(const NcclParts& parts,
            NcclState& state,
            Session& session,
            const wire::NcclSubmit& request,
            wire::Bytes tail) {
  const auto items = read_items(request.count, tail);
  if (!items) return session.refuse("a malformed NCCL group");
  if (request.simulate != 0) return simulate(parts, session, *items);
  auto submission = std::make_shared<Submission>();
  submission->session = session.number();
  submission->replies.resize(items->size());
  // One more than there are items: nothing is answered before all of them have been read.
  submission->missing = items->size() + 1;
  std::string what = "an NCCL group";
  for (std::size_t i = 0; i < items->size(); ++i) {
    const Item& item = (*items)[i];
    if (item.kind == wire::NcclItemKind::Operation) continue;
    what = std::string(name_of(item.kind));
    parts.nccl.serve(item.kind, item.payload,
                     {session.process->index, answer_to(parts, submission, i)});
  }
  serve_operations(parts, session, *items, submission, state.lone_calls);
  if (--submission->missing == 0) return reply_if_complete(parts, submission);
  if (request.ticket != 0) {
    if (state.tickets.size() >= kMaxTickets) {
      return session.refuse("too many NCCL calls in flight");
    }
    submission->is_detached = true;
    state.tickets[{session.process->index, request.ticket}] = submission;
    return session.reply_with(wire::kSuccess, wire::NcclSubmit::Reply{.pending = 1});
  }
  session.park(CallWait{what + " (other ranks have not called it)"});
}

void poll(Tickets& tickets, Session& session, const wire::NcclPoll& request) {
  const auto found = tickets.find({session.process->index, request.ticket});
  if (found == tickets.end()) return session.refuse("an NCCL call that is not in flight");
  if (found->second->missing != 0) {
    return session.reply_with(wire::kSuccess, wire::NcclPoll::Reply{.pending = 1});
  }
  const SubmissionPtr submission = found->second;
  tickets.erase(found);
  session.reply_with(wire::kSuccess, wire::NcclPoll::Reply{}, answers_of(*submission));
}

void allocate(const NcclParts& parts, Session& session, const wire::NcclMemAlloc& request) {
  if (!session.process->sees(request.device)) return session.reply(wire::kInvalidDevice);
  const auto device = static_cast<unsigned>(request.device);
  const std::uint64_t used = parts.devices.memory().allocated_bytes(device);
  const std::uint64_t capacity = parts.devices.description().memory_bytes;
  if (used > capacity || request.bytes > capacity - used) {
    return session.reply(wire::kMemoryAllocation);
  }
  const auto address = parts.nccl.windows().allocate(device, request.bytes);
  if (!address) return session.reply(wire::kMemoryAllocation);
  parts.allocations.add(*address, {.bytes = std::max<std::uint64_t>(request.bytes, 1),
                                   .kind = wire::MemoryKind::Device,
                                   .device = request.device,
                                   .process = session.process->index});
  if (parts.check != nullptr) {
    parts.check->allocated(*address, std::max<std::uint64_t>(request.bytes, 1), "ncclMemAlloc",
                           parts.check->rank_of(*session.process, request.device));
  }
  session.reply_with(wire::kSuccess, wire::NcclMemAlloc::Reply{*address});
}

void free(const NcclParts& parts, Session& session, const wire::NcclMemFree& request) {
  const Allocation* allocation = parts.allocations.find(request.address);
  if (allocation == nullptr || allocation->process != session.process->index ||
      !parts.nccl.windows().free(request.address)) {
    if (parts.check != nullptr && allocation == nullptr)
      parts.check->freed_again("ncclMemFree", request.address);
    return session.reply(wire::kInvalidValue);
  }
  if (parts.check != nullptr) {
    parts.check->given_back(request.address, allocation->bytes,
                            parts.check->rank_of(*session.process, allocation->device));
  }
  parts.allocations.erase(request.address);
  if (parts.check != nullptr) parts.check->freed(request.address, parts.works.host.call);
  session.reply(wire::kSuccess);
}

void async_error(const NcclParts& parts, Session& session, const wire::NcclAsyncError& request) {
  wire::NcclAsyncError::Reply reply;
  std::string text;
  if (const auto place = parts.nccl.find(request.comm, session.process->index)) {
    reply.code = static_cast<std::int32_t>(place->clique->broken.code);
    text = place->clique->broken.message;
  } else {
    reply.code = static_cast<std::int32_t>(Code::InvalidArgument);
  }
  session.reply_with(wire::kSuccess, reply, wire::bytes_of_text(text));
}

}  // namespace

void fail_device(const Devices& devices,
                 const Processes& processes,
                 int device,
                 const std::string& why) {
  bool is_reported = false;  // by a trap
  for (const auto& [index, process] : processes.all()) {
    const auto found = process->contexts.find(device);
    if (found == process->contexts.end()) continue;
    Context& context = *found->second;
    if (context.grids.empty()) continue;
    if (context.error == 0) context.error = wire::kLaunchFailure;
    const auto grids = context.grids;
    for (const std::uint64_t grid : grids) {
      devices.gpu(device).kill(grid, vgpu::TrapKind::Trap, why);
      is_reported = true;
    }
  }
  if (!is_reported) fmt::print(stderr, "cuco: {}\n", printable(why));
}

void register_nccl_calls(Dispatcher& dispatcher, const NcclParts& parts) {
  const auto state = std::make_shared<NcclState>();  // shared by the two handlers alone
  dispatcher.on<wire::NcclSubmit>(
      [parts, state](Session& session, const wire::NcclSubmit& request, wire::Bytes tail) {
        submit(parts, *state, session, request, tail);
      });
  dispatcher.on<wire::NcclPoll>([state](Session& session, const wire::NcclPoll& request,
                                        wire::Bytes) { poll(state->tickets, session, request); },
                                Turn::Poll, kPollCost);
  dispatcher.on<wire::NcclUniqueId>(
      [parts](Session& session, const wire::NcclUniqueId&, wire::Bytes) {
        session.reply_with(wire::kSuccess, parts.nccl.unique_id());
      });
  dispatcher.on<wire::NcclMemAlloc>([parts](Session& session, const wire::NcclMemAlloc& request,
                                            wire::Bytes) { allocate(parts, session, request); });
  dispatcher.on<wire::NcclMemFree>([parts](Session& session, const wire::NcclMemFree& request,
                                           wire::Bytes) { free(parts, session, request); });
  dispatcher.on<wire::NcclAsyncError>(
      [parts](Session& session, const wire::NcclAsyncError& request, wire::Bytes) {
        async_error(parts, session, request);
      },
      Turn::Poll);
}

}  // namespace cuco::vcluster
