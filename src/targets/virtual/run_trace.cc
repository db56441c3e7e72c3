// SPDX-License-Identifier: Apache-2.0
#include "targets/virtual/run_trace.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include <cxxabi.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cuco::targets {
namespace {

constexpr std::string_view kKernel = "kernel ";

struct Span {
  double begin = 0;  ///< Microseconds.
  double end = 0;
};

double microseconds(const Json& item, const char* key) {
  return static_cast<double>(item.value(key, std::int64_t{0})) * 1e-6;
}

Span span_of(const Json& item, const char* begin, const char* end) {
  return {microseconds(item, begin), microseconds(item, end)};
}

std::string kind_of(const std::string& what) {
  if (what.starts_with(kKernel)) return "kernels";
  if (what.starts_with("nccl")) return "collectives";
  if (what.starts_with("copy") || what.starts_with("fill")) return "copies";
  return "other work";
}

std::string shown(const std::string& what) {
  return what.starts_with(kKernel) ? kernel_name(what.substr(kKernel.size())) : what;
}

std::vector<Json> sorted(const Json& report, const char* list, const char* by) {
  auto items = report.value(list, std::vector<Json>());
  std::ranges::stable_sort(items, {},
                           [&](const Json& item) { return item.value(by, std::int64_t{0}); });
  return items;
}

class Trace {
 public:
  explicit Trace(const Json& report) {
    for (const Json& work : sorted(report, "works", "started_ps"))
      add_work(work);
    for (const Json& phase : sorted(report, "phases", "started_ps"))
      add_waits(phase);
    for (const Json& delivery : sorted(report, "deliveries", "sent_ps"))
      add_arrival(delivery);
  }

  [[nodiscard]] Json take() {
    return {{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events_)}};
  }

 private:
  struct Row {
    int device = 0;
    int number = 0;
    double busy_until = 0;
  };
  struct Wait {
    Row row;
    Span span;
  };

  /// A row of that name that is free at that time: slices of one row must not overlap.
  Row& row(int device, const std::string& name, Span span) {
    auto& rows = rows_[{device, name}];
    for (Row& one : rows) {
      if (one.busy_until > span.begin) continue;
      one.busy_until = span.end;
      return one;
    }
    if (named_.insert(device).second)
      name_it("process_name", device, 0, fmt::format("GPU {}", device));
    const std::string shown = rows.empty() ? name : fmt::format("{} ({})", name, rows.size() + 1);
    rows.push_back({device, ++count_, span.end});
    name_it("thread_name", device, count_, shown);
    return rows.back();
  }

  void name_it(const char* what, int device, int number, const std::string& name) {
    events_.push_back({{"ph", "M"},
                       {"name", what},
                       {"pid", device},
                       {"tid", number},
                       {"args", {{"name", name}}}});
  }

  void add_slice(
      const Row& row, const std::string& name, const std::string& kind, Span span, Json args) {
    events_.push_back({{"ph", "X"},
                       {"name", name},
                       {"cat", kind},
                       {"pid", row.device},
                       {"tid", row.number},
                       {"ts", span.begin},
                       {"dur", span.end - span.begin},
                       {"args", std::move(args)}});
  }

  void add_work(const Json& work) {
    const int device = work.value("device", -1);
    if (device < 0) return;
    const std::string what = work.value("what", "?");
    const Span span = span_of(work, "started_ps", "finished_ps");
    add_slice(row(device, kind_of(what), span), shown(what), kind_of(what), span, Json::object());
  }

  void add_waits(const Json& phase) {
    const int device = phase.value("device", 0);
    for (const Json& wait : phase.value("waits", Json::array())) {
      if (wait.value("waited_ps", std::int64_t{0}) == 0) continue;
      const std::string file = std::filesystem::path(wait.value("file", "")).filename().string();
      const std::string where =
          file.empty() ? "an unknown line" : fmt::format("{}:{}", file, wait.value("line", 0));
      const Span span = span_of(wait, "first_ps", "last_ps");
      const Row& at = row(device, "waits at " + where, span);
      add_slice(at, kernel_name(phase.value("kernel", "?")), "waits", span,
                {{"polls", wait.value("polls", std::uint64_t{0})},
                 {"all warps waited, us", microseconds(wait, "waited_ps")}});
      for (const Json& address : wait.value("addresses", Json::array()))
        waits_[address.get<std::uint64_t>()].push_back({at, span});
    }
  }

  /// Only what somebody waited for: whose memory it is, is known by that.
  void add_arrival(const Json& delivery) {
    const auto found = waits_.find(delivery.value("address", std::uint64_t{0}));
    if (found == waits_.end()) return;
    const Span span = span_of(delivery, "sent_ps", "arrived_ps");
    const auto wait = std::ranges::find_if(found->second, [&](const Wait& one) {
      return one.span.begin <= span.end && span.end <= one.span.end;
    });
    const int device = found->second.front().row.device;
    const bool is_own = delivery.value("is_completion", false);
    const Row from = row(device, is_own ? "completions of own puts" : "arrivals", span);
    add_slice(from, fmt::format("{} bytes", delivery.value("bytes", std::uint64_t{0})), "arrivals",
              span, Json::object());
    if (wait == found->second.end()) return;
    add_arrow("s", from, span.end);
    add_arrow("f", wait->row, span.end);
    ++arrows_;
  }

  void add_arrow(const char* phase, const Row& row, double time) {
    events_.push_back({{"ph", phase},
                       {"bp", "e"},
                       {"name", "seen by"},
                       {"cat", "arrivals"},
                       {"id", arrows_},
                       {"pid", row.device},
                       {"tid", row.number},
                       {"ts", time}});
  }

  Json events_ = Json::array();
  std::map<std::pair<int, std::string>, std::vector<Row>> rows_;
  std::set<int> named_;
  std::map<std::uint64_t, std::vector<Wait>> waits_;  ///< By address.
  int count_ = 0;
  int arrows_ = 1;
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
  // After the anonymous namespace is gone the first parenthesis opens the parameters.
  return full.substr(0, full.find('('));
}

Json trace_of(const Json& report) {
  return Trace(report).take();
}

Result<void> write_trace(std::string_view report, const system::Path& file) {
  CUCO_TRY_ASSIGN(const Json parsed, parse_json(report));
  return system::write_file(file, to_text(trace_of(parsed)));
}

}  // namespace cuco::targets
