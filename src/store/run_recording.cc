// SPDX-License-Identifier: Apache-2.0
#include "store/run_recording.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "candidate/event_json.h"
#include "store/sqlite_store.h"

namespace cuco::store {
namespace {

/// Shows the time at which the event that is being copied happened.
class RecordedClock final : public Clock {
 public:
  void set(std::int64_t milliseconds) { wall_ = std::chrono::milliseconds(milliseconds); }
  [[nodiscard]] Nanoseconds now() const override { return wall_; }
  [[nodiscard]] Nanoseconds wall() const override { return wall_; }
  void sleep(Nanoseconds duration) override { wall_ += duration; }

 private:
  Nanoseconds wall_{0};
};

Result<candidate::Event> parse_line(std::string_view line) {
  CUCO_TRY_ASSIGN(const Json json, parse_json(line));
  candidate::Event event;
  CUCO_TRY_ASSIGN(event.sequence, integer_member(json, "sequence"));
  CUCO_TRY_ASSIGN(event.time_ms, integer_member(json, "time_ms"));
  CUCO_TRY_ASSIGN(const std::string kind, string_member(json, "kind"));
  if (!json.contains("body")) return Error{ErrorKind::InvalidInput, "'body' is missing"};
  CUCO_TRY_ASSIGN(event.body, candidate::parse_event(kind, to_text(json["body"])));
  return event;
}

}  // namespace

std::string to_recording(std::span<const candidate::Event> events) {
  std::string text;
  for (const candidate::Event& event : events) {
    // The body is JSON already; parsing it only to print it again would reorder its keys.
    text += fmt::format("{{\"sequence\":{},\"time_ms\":{},\"kind\":\"{}\",\"body\":{}}}\n",
                        event.sequence, event.time_ms, candidate::kind(event.body),
                        candidate::to_json(event.body));
  }
  return text;
}

Result<std::vector<candidate::Event>> parse_recording(std::string_view text) {
  std::vector<candidate::Event> events;
  std::size_t number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    if (trim(line).empty()) continue;
    auto event = parse_line(line);
    if (!event) return std::move(event).error().while_doing(fmt::format("line {}", number));
    events.push_back(*std::move(event));
  }
  return events;
}

namespace {

void remove_database(const RunFolder& folder) {
  for (const char* suffix : {"", "-wal", "-shm"}) {
    std::error_code ignored;  // What is not there need not go.
    std::filesystem::remove(folder.database().string() + suffix, ignored);
  }
}

Result<void> write_events(std::span<const candidate::Event> events, const RunFolder& folder) {
  RecordedClock clock;
  CUCO_TRY_ASSIGN(const auto store,
                  SqliteStore::open(folder.database(), OpenMode::ReadWrite, clock));
  for (const candidate::Event& event : events) {
    clock.set(event.time_ms);
    CUCO_TRY(store->append(event.body));
  }
  return {};
}

}  // namespace

Result<void> write_run(std::span<const candidate::Event> events, const RunFolder& folder) {
  CUCO_TRY(system::make_folder(folder.path));
  CUCO_TRY_ASSIGN(const system::Fd lock, lock_run(folder));
  remove_database(folder);
  auto written = write_events(events, folder);
  // Half a run would look like a whole one.
  if (!written) remove_database(folder);
  return written;
}

}  // namespace cuco::store
