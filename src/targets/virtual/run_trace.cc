// SPDX-License-Identifier: Apache-2.0
#include "targets/virtual/run_trace.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <cxxabi.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace cuco::targets {
namespace {

constexpr std::string_view kKernel = "kernel ";

/// Rows of a process of the trace, from top to bottom.
enum class RowKind : std::uint8_t { Thread, Stream, Wait, Store, Load, Put, Arrival };

struct RowKey {
  int run = 0;
  bool is_gpu = false;
  int number = 0;  ///< Of the host process, or the GPU.
  RowKind kind = RowKind::Thread;
  std::string name;

  [[nodiscard]] auto process() const { return std::tie(run, number, is_gpu); }
  bool operator<(const RowKey& other) const {
    return std::tie(run, number, is_gpu, kind, name) <
           std::tie(other.run, other.number, other.is_gpu, other.kind, other.name);
  }
};

/// Nanoseconds, as viewers count: none is empty.
struct Span {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

struct Slice {
  std::string name;
  std::string category;
  Span span;
  Json args;
  int pid = 0;  ///< See Trace::lay_out.
  int tid = 0;
};

struct Arrow {
  std::string name;
  std::size_t from = 0;  ///< Slices.
  std::size_t to = 0;
  std::int64_t sent = 0;
  std::int64_t seen = 0;
};

std::int64_t number(const Json& item, const char* key) {
  return item.value(key, std::int64_t{0});
}

std::string category_of(const std::string& what) {
  if (what.starts_with(kKernel)) return "kernel";
  if (what.starts_with("nccl")) return "collective";
  if (what.starts_with("copy") || what.starts_with("fill")) return "copy";
  return "other";
}

std::string shown(const std::string& what) {
  return what.starts_with(kKernel) ? kernel_name(what.substr(kKernel.size())) : what;
}

/// "stream 3" of "stream 3", "default stream" of "the default stream".
std::string stream_row(std::string name) {
  constexpr std::string_view kArticle = "the ";
  if (name.starts_with(kArticle)) name.erase(0, kArticle.size());
  return name.empty() ? "other work" : name;
}

class Trace {
 public:
  void add(const TracedRun& run, const Json& report) {
    run_ = static_cast<int>(names_.size());
    names_.push_back(run.name);
    begin_ps_ = run.begin_ps;
    const Json& timeline = report.value("timeline", Json::object());
    places_ = timeline.value("places", Json::array());
    at_places_.clear();
    put_of_.clear();
    for (const Json& call : timeline.value("calls", Json::array()))
      add_call(call);
    for (const Json& work : report.value("works", Json::array()))
      add_work(work);
    for (const Json& wait : timeline.value("waits", Json::array()))
      add_wait(wait);
    for (const Json& burst : timeline.value("traffic", Json::array()))
      add_traffic(burst);
    add_puts(report.value("deliveries", Json::array()));
    for (const Json& arrow : timeline.value("arrows", Json::array()))
      add_arrow(arrow);
  }

  [[nodiscard]] Json take() {
    lay_out();
    for (const Slice& slice : slices_)
      emit(slice);
    for (std::size_t i = 0; i < arrows_.size(); ++i)
      emit(arrows_[i], i + 1);
    // What begins first comes first, and what holds others before them.
    std::ranges::stable_sort(timed_, {}, [](const Timed& one) {
      return std::tuple(one.begin, one.event["pid"].get<int>(), one.event["tid"].get<int>(),
                        -one.length);
    });
    for (Timed& one : timed_)
      events_.push_back(std::move(one.event));
    return {{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events_)}};
  }

 private:
  /// What happened at a line of a kernel, with a peer if it takes one.
  using PlaceKey = std::tuple<std::string, std::int64_t, int>;
  struct Placed {
    std::size_t slice = 0;
    std::int64_t end_ps = 0;
  };

  [[nodiscard]] std::int64_t nanoseconds(std::int64_t ps) const {
    return std::max<std::int64_t>(0, (ps - begin_ps_) / 1000);
  }

  /// Nothing if it was over before the trace begins.
  std::optional<std::size_t> add_slice(RowKey row,
                                       std::string name,
                                       std::string category,
                                       std::pair<std::int64_t, std::int64_t> ps,
                                       Json args = Json::object()) {
    if (ps.second <= begin_ps_) return std::nullopt;
    const std::int64_t begin = nanoseconds(ps.first);
    const Span span{begin, std::max(begin + 1, nanoseconds(ps.second))};
    row.run = run_;
    rows_[std::move(row)].push_back(slices_.size());
    slices_.push_back({std::move(name), std::move(category), span, std::move(args)});
    return slices_.size() - 1;
  }

  void add_call(const Json& call) {
    // Processes count as they came; ranks are the same in every run.
    const int rank = call.value("rank", -1);
    const int process = rank < 0 ? static_cast<int>(number(call, "process")) : rank;
    hosts_[{run_, process}] =
        fmt::format("{} {}", rank < 0 ? "host process" : "host of rank", process);
    Json args = Json::object();
    if (const std::string wait = call.value("wait", ""); !wait.empty()) args["waits for"] = wait;
    std::string name = call.value("name", "?");
    if (const std::int64_t times = number(call, "times"); times > 1)
      name += fmt::format(" x {}", times);
    add_slice({.number = process,
               .kind = RowKind::Thread,
               .name = fmt::format("thread {}", number(call, "thread"))},
              std::move(name), "call", {number(call, "started_ps"), number(call, "finished_ps")},
              std::move(args));
  }

  void add_work(const Json& work) {
    const int device = work.value("device", -1);
    if (device < 0) return;
    const std::string what = work.value("what", "?");
    add_slice({.is_gpu = true,
               .number = device,
               .kind = RowKind::Stream,
               .name = stream_row(work.value("stream", ""))},
              shown(what), category_of(what),
              {number(work, "started_ps"), number(work, "finished_ps")});
  }

  struct Where {
    int device = 0;
    std::string kernel;
    std::string line;
  };
  [[nodiscard]] Where where(const Json& item) const {
    const auto index = static_cast<std::size_t>(number(item, "place"));
    if (index >= places_.size()) return {};
    const Json& place = places_[index];
    const std::string file = std::filesystem::path(place.value("file", "")).filename().string();
    return {place.value("device", 0), kernel_name(place.value("kernel", "?")),
            file.empty() ? "an unknown line" : fmt::format("{}:{}", file, number(place, "line"))};
  }

  void add_at_place(
      const Json& item, RowKey row, std::string name, const std::string& kind, Json args) {
    const std::pair ps(number(item, "from_ps"), number(item, "to_ps"));
    const auto slice = add_slice(std::move(row), std::move(name), kind, ps, std::move(args));
    if (!slice) return;
    at_places_[{kind, number(item, "place"), item.value("peer", -1)}][ps.first] = {*slice,
                                                                                   ps.second};
  }

  void add_wait(const Json& wait) {
    const Where at = where(wait);
    add_at_place(
        wait,
        {.is_gpu = true, .number = at.device, .kind = RowKind::Wait, .name = "waits at " + at.line},
        at.kernel, "wait", {{"waits of warps", number(wait, "times")}});
  }

  void add_traffic(const Json& burst) {
    const Where at = where(burst);
    const bool is_load = burst.value("is_load", false);
    const std::int64_t bytes = number(burst, "bytes");
    add_at_place(burst,
                 {.is_gpu = true,
                  .number = at.device,
                  .kind = is_load ? RowKind::Load : RowKind::Store,
                  .name = fmt::format("{} GPU {}", is_load ? "loads from" : "stores to",
                                      number(burst, "peer"))},
                 fmt::format("{} at {}", human_bytes(static_cast<double>(bytes)), at.line),
                 is_load ? "load" : "store", {{"kernel", at.kernel}, {"bytes", bytes}});
  }

  // A NIC logs what becomes of a put one after the other: its payload and its signal, as far as it
  // has them, and then the completions.
  void add_puts(const Json& deliveries) {
    put_of_.resize(deliveries.size());
    for (std::size_t i = 0; i < deliveries.size();) {
      const std::size_t first = i;
      while (i < deliveries.size() && !deliveries[i].value("is_completion", false))
        ++i;
      const std::size_t past_arrivals = i;
      while (i < deliveries.size() && deliveries[i].value("is_completion", false))
        ++i;
      if (i == past_arrivals) continue;  // not of a NIC
      const auto slice = add_put({deliveries.begin() + static_cast<std::ptrdiff_t>(first),
                                  deliveries.begin() + static_cast<std::ptrdiff_t>(past_arrivals)});
      std::fill(put_of_.begin() + static_cast<std::ptrdiff_t>(first),
                put_of_.begin() + static_cast<std::ptrdiff_t>(i), slice);
    }
  }

  std::optional<std::size_t> add_put(
      const std::pair<Json::const_iterator, Json::const_iterator>& arrivals) {
    if (arrivals.first == arrivals.second) return std::nullopt;
    const Json& last = *std::prev(arrivals.second);
    const auto from = static_cast<int>(number(last, "from"));
    const auto to = static_cast<int>(number(last, "to"));
    // A signal is the last of two, or alone and the size of a word.
    const std::int64_t bytes = number(*arrivals.first, "bytes");
    const bool has_signal = std::distance(arrivals.first, arrivals.second) > 1;
    const std::string what =
        fmt::format("{}{}", human_bytes(static_cast<double>(bytes)), has_signal ? " + signal" : "");
    for (auto arrival = arrivals.first; arrival != arrivals.second; ++arrival) {
      const std::int64_t when = number(*arrival, "arrived_ps");
      if (when < begin_ps_) continue;
      RowKey row{run_, true, to, RowKind::Arrival, "arrivals"};
      rows_[row];  // it needs a name, whether it has slices or not
      marks_[row].push_back(
          {nanoseconds(when),
           fmt::format("{} of GPU {}", human_bytes(static_cast<double>(number(*arrival, "bytes"))),
                       from)});
    }
    return add_slice({.is_gpu = true,
                      .number = from,
                      .kind = RowKind::Put,
                      .name = fmt::format("puts to GPU {}", to)},
                     what, "put", {number(last, "sent_ps"), number(last, "arrived_ps")},
                     {{"bytes", bytes}});
  }

  [[nodiscard]] std::optional<std::size_t> slice_at(const PlaceKey& key, std::int64_t ps) const {
    const auto found = at_places_.find(key);
    if (found == at_places_.end()) return std::nullopt;
    const auto next = found->second.upper_bound(ps);
    if (next == found->second.begin()) return std::nullopt;
    const Placed& last = std::prev(next)->second;
    return ps <= last.end_ps ? std::optional(last.slice) : std::nullopt;
  }

  void add_arrow(const Json& arrow) {
    const std::int64_t sent = number(arrow, "sent_ps");
    const std::int64_t seen = number(arrow, "seen_ps");
    const std::int64_t place = number(arrow, "to");
    const auto to = slice_at({"wait", place, -1}, seen);
    if (!to) return;
    const std::int64_t delivery = arrow.value("delivery", std::int64_t{-1});
    std::optional<std::size_t> from;
    if (delivery >= 0 && static_cast<std::size_t>(delivery) < put_of_.size()) {
      from = put_of_[static_cast<std::size_t>(delivery)];
    } else {
      from = slice_at({"store", number(arrow, "from"), where({{"place", place}}).device}, sent);
    }
    if (!from) return;
    arrows_.push_back(
        {delivery >= 0 ? "put" : "store", *from, *to, nanoseconds(sent), nanoseconds(seen)});
  }

  /// Gives every slice a row of the viewer: those of one row do not overlap.
  void lay_out() {
    std::map<std::tuple<int, int, bool>, int> pids;
    int tid = 0;
    for (auto& [row, slices] : rows_) {
      const auto [found, is_new] =
          pids.try_emplace(row.process(), static_cast<int>(pids.size()) + 1);
      const int pid = found->second;
      if (is_new) name_process(row, pid);
      std::ranges::stable_sort(slices, {}, [&](std::size_t i) {
        return std::pair(slices_[i].span.begin, -slices_[i].span.end);
      });
      std::vector<std::int64_t> busy_until(1, 0);
      for (const std::size_t i : slices) {
        const auto free = std::ranges::find_if(
            busy_until, [&](std::int64_t until) { return until <= slices_[i].span.begin; });
        const auto lane = static_cast<int>(free - busy_until.begin());
        if (free == busy_until.end()) busy_until.push_back(0);
        busy_until[static_cast<std::size_t>(lane)] = slices_[i].span.end;
        slices_[i].pid = pid;
        slices_[i].tid = tid + 1 + lane;
      }
      for (const Mark& mark : marks_[row])
        emit(mark, pid, tid + 1);
      for (std::size_t lane = 0; lane < busy_until.size(); ++lane) {
        ++tid;
        name_row(pid, tid, lane == 0 ? row.name : fmt::format("{} ({})", row.name, lane + 1));
      }
    }
  }

  void name_process(const RowKey& row, int pid) {
    std::string name =
        row.is_gpu ? fmt::format("GPU {}", row.number) : hosts_[{row.run, row.number}];
    const std::string& run = names_[static_cast<std::size_t>(row.run)];
    if (!run.empty()) name = run + ": " + name;
    add_metadata("process_name", pid, 0, {{"name", name}});
    add_metadata("process_sort_index", pid, 0, {{"sort_index", pid}});
  }

  void name_row(int pid, int tid, const std::string& name) {
    add_metadata("thread_name", pid, tid, {{"name", name}});
    add_metadata("thread_sort_index", pid, tid, {{"sort_index", tid}});
  }

  void add_metadata(const char* what, int pid, int tid, Json args) {
    events_.push_back(
        {{"ph", "M"}, {"name", what}, {"pid", pid}, {"tid", tid}, {"args", std::move(args)}});
  }

  struct Timed {
    std::int64_t begin = 0;
    std::int64_t length = 0;
    Json event;
  };
  /// Times of traces are microseconds.
  void add_event(std::int64_t begin, std::int64_t length, Json event) {
    event["ts"] = static_cast<double>(begin) / 1000;
    timed_.push_back({begin, length, std::move(event)});
  }

  void emit(const Slice& slice) {
    const std::int64_t length = slice.span.end - slice.span.begin;
    add_event(slice.span.begin, length,
              {{"ph", "X"},
               {"name", slice.name},
               {"cat", slice.category},
               {"pid", slice.pid},
               {"tid", slice.tid},
               {"dur", static_cast<double>(length) / 1000},
               {"args", slice.args}});
  }

  struct Mark {
    std::int64_t time = 0;
    std::string name;
  };
  void emit(const Mark& mark, int pid, int tid) {
    add_event(mark.time, 0,
              {{"ph", "i"},
               {"s", "t"},
               {"name", mark.name},
               {"cat", "arrival"},
               {"pid", pid},
               {"tid", tid}});
  }

  // Viewers bind an end of an arrow to the slice that is open then: it must not be over.
  void emit(const Arrow& arrow, std::size_t id) {
    const auto add = [&](const char* phase, const Slice& slice, std::int64_t time) {
      Json event = {{"ph", phase}, {"name", arrow.name}, {"cat", "arrow"},
                    {"id", id},    {"pid", slice.pid},   {"tid", slice.tid}};
      if (*phase == 'f') event["bp"] = "e";
      add_event(std::clamp(time, slice.span.begin, slice.span.end - 1), 0, std::move(event));
    };
    add("s", slices_[arrow.from], arrow.sent);
    add("f", slices_[arrow.to], arrow.seen);
  }

  std::vector<std::string> names_;                    ///< Of runs.
  std::map<std::pair<int, int>, std::string> hosts_;  ///< By run and number.
  std::map<RowKey, std::vector<std::size_t>> rows_;
  std::vector<Slice> slices_;
  std::map<RowKey, std::vector<Mark>> marks_;
  std::vector<Arrow> arrows_;
  Json events_ = Json::array();
  std::vector<Timed> timed_;

  // Of the run that is being added.
  int run_ = 0;
  std::int64_t begin_ps_ = 0;
  Json places_;
  std::map<PlaceKey, std::map<std::int64_t, Placed>> at_places_;  ///< By beginning, in ps.
  std::vector<std::optional<std::size_t>> put_of_;                ///< By delivery.
};

}  // namespace

std::string kernel_name(const std::string& mangled) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), std::free);
  if (status != 0 || text == nullptr) return mangled;
  std::string full = text.get();
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  for (std::size_t at = full.find(kAnonymous); at != std::string::npos; at = full.find(kAnonymous))
    full.erase(at, kAnonymous.size());
  // A template's name begins with what it returns; kernels return nothing.
  if (full.starts_with("void ")) full.erase(0, 5);
  // After the anonymous namespace is gone the first parenthesis opens the parameters.
  return full.substr(0, full.find('('));
}

Result<Json> trace_of(std::span<const TracedRun> runs) {
  Trace trace;
  for (const TracedRun& run : runs) {
    CUCO_TRY_ASSIGN(const Json report, parse_json(run.report));
    trace.add(run, report);
  }
  return trace.take();
}

Result<void> write_trace(std::span<const TracedRun> runs, const system::Path& file) {
  CUCO_TRY_ASSIGN(const Json trace, trace_of(runs));
  return system::write_file(file, to_text(trace));
}

Result<void> check_trace_file(const system::Path& file, std::string_view what) {
  const auto refused = [&](std::string_view why) {
    return Error{ErrorKind::InvalidInput,
                 fmt::format("no {} can be written to '{}': {}", what, file.string(), why)};
  };
  std::error_code code;
  const auto type = std::filesystem::status(file, code).type();
  using std::filesystem::file_type;
  if (type == file_type::directory || !file.has_filename()) return refused("it is a folder");
  if (type != file_type::regular && type != file_type::not_found && type != file_type::none)
    return refused("it is not a regular file");
  // It is written beside its place first, so there must be room for something new.
  const system::Path folder = file.has_parent_path() ? file.parent_path() : system::Path(".");
  const auto trial = system::TempFolder::create(".timeline", folder);
  if (!trial) return refused(trial.error().message());
  return {};
}

}  // namespace cuco::targets
