// SPDX-License-Identifier: Apache-2.0
#include "report/timeline/rank_timeline.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"

namespace cuco::report {
namespace {

constexpr std::size_t kMostStretches = 300;

std::optional<Activity> activity_of(std::string_view category) {
  if (category == "kernel") return Activity::Kernel;
  if (category == "collective") return Activity::Collective;
  if (category == "copy") return Activity::Copy;
  if (category == "store" || category == "load" || category == "put") return Activity::Send;
  if (category == "wait") return Activity::Wait;
  return std::nullopt;
}

std::optional<Activity> parse_activity(std::string_view word) {
  for (int i = 0; i < kActivities; ++i) {
    if (word == name(static_cast<Activity>(i))) return static_cast<Activity>(i);
  }
  return std::nullopt;
}

/// "seed: GPU 2", or "GPU 2" where there is one program.
struct Place {
  std::string program;
  int rank = 0;
};
std::optional<Place> place_of(std::string_view process) {
  constexpr std::string_view kGpu = "GPU ";
  Place place;
  if (const auto colon = process.find(": "); colon != std::string_view::npos) {
    place.program = process.substr(0, colon);
    process.remove_prefix(colon + 2);
  }
  if (!process.starts_with(kGpu)) return std::nullopt;
  process.remove_prefix(kGpu.size());
  const auto [end, error] =
      std::from_chars(process.data(), process.data() + process.size(), place.rank);
  if (error != std::errc() || end != process.data() + process.size()) return std::nullopt;
  return place;
}

/// Joins neighbours that are at most `gap` apart. Different things are told apart as long as there
/// is room for that.
std::vector<Stretch> joined(const std::vector<Stretch>& stretches, double gap, bool any_name) {
  std::vector<Stretch> made;
  for (const Stretch& one : stretches) {
    if (!made.empty() && one.begin <= made.back().end + gap &&
        (any_name || one.what == made.back().what)) {
      made.back().end = std::max(made.back().end, one.end);
    } else {
      made.push_back(one);
    }
  }
  return made;
}

std::vector<Stretch> thinned(std::vector<Stretch> stretches, double length) {
  std::ranges::stable_sort(stretches, {}, &Stretch::begin);
  auto made = joined(stretches, 0, false);
  for (double gap = length / 5000; made.size() > kMostStretches; gap *= 2)
    made = joined(stretches, gap, true);
  return made;
}

double number(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

std::string text(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

std::string_view name(Activity activity) {
  switch (activity) {
    case Activity::Kernel:
      return "kernel";
    case Activity::Collective:
      return "collective";
    case Activity::Copy:
      return "copy";
    case Activity::Send:
      return "send";
    case Activity::Wait:
      return "wait";
  }
  return "";
}

double ProgramTimeline::length() const {
  double longest = 0;
  for (const RankTimeline& rank : ranks) {
    for (const Lane& lane : rank.lanes) {
      for (const Stretch& stretch : lane.stretches)
        longest = std::max(longest, stretch.end);
    }
  }
  return longest;
}

Result<Timeline> timeline_of_trace(std::string_view trace) {
  CUCO_TRY_ASSIGN(const Json json, parse_json(trace));
  const auto events = json.find("traceEvents");
  if (events == json.end() || !events->is_array())
    return Error{ErrorKind::InvalidInput, "the trace has no traceEvents"};
  std::map<int, Place> places;
  std::vector<std::string> programs;  // as they come
  for (const Json& event : *events) {
    if (text(event, "name") != "process_name" || !event.contains("args")) continue;
    const auto place = place_of(text(event["args"], "name"));
    if (!place) continue;
    places[static_cast<int>(number(event, "pid"))] = *place;
    if (std::ranges::find(programs, place->program) == programs.end())
      programs.push_back(place->program);
  }
  std::map<std::string, std::map<int, std::map<Activity, std::vector<Stretch>>>> found;
  double length = 0;
  for (const Json& event : *events) {
    const auto activity = activity_of(text(event, "cat"));
    const auto place = places.find(static_cast<int>(number(event, "pid")));
    if (!activity || place == places.end() || text(event, "ph") != "X") continue;
    const double begin = number(event, "ts");
    const Stretch stretch{begin, begin + number(event, "dur"), text(event, "name")};
    length = std::max(length, stretch.end);
    found[place->second.program][place->second.rank][*activity].push_back(stretch);
  }
  Timeline timeline;
  for (const std::string& program : programs) {
    ProgramTimeline made{program, {}};
    for (auto& [rank, lanes] : found[program]) {
      RankTimeline one{rank, {}};
      for (auto& [activity, stretches] : lanes)
        one.lanes.push_back({activity, thinned(std::move(stretches), length)});
      made.ranks.push_back(std::move(one));
    }
    timeline.programs.push_back(std::move(made));
  }
  return timeline;
}

std::string to_json(const Timeline& timeline) {
  Json json{{"candidate", timeline.candidate}, {"programs", Json::array()}};
  for (const ProgramTimeline& program : timeline.programs) {
    Json ranks = Json::array();
    for (const RankTimeline& rank : program.ranks) {
      Json lanes = Json::array();
      for (const Lane& lane : rank.lanes) {
        Json stretches = Json::array();
        for (const Stretch& stretch : lane.stretches)
          stretches.push_back({stretch.begin, stretch.end, stretch.what});
        lanes.push_back({{"activity", name(lane.activity)}, {"stretches", std::move(stretches)}});
      }
      ranks.push_back({{"rank", rank.rank}, {"lanes", std::move(lanes)}});
    }
    json["programs"].push_back({{"program", program.program}, {"ranks", std::move(ranks)}});
  }
  return to_text(json);
}

Result<Timeline> parse_timeline(std::string_view json) {
  CUCO_TRY_ASSIGN(const Json parsed, parse_json(json));
  const auto list = [](const Json& object, const char* key) {
    const auto found = object.is_object() ? object.find(key) : object.end();
    return found != object.end() && found->is_array() ? *found : Json::array();
  };
  if (!parsed.is_object()) return Error{ErrorKind::InvalidInput, "the timeline is no JSON object"};
  Timeline timeline{static_cast<int>(number(parsed, "candidate")), {}};
  for (const Json& program : list(parsed, "programs")) {
    ProgramTimeline made{text(program, "program"), {}};
    for (const Json& rank : list(program, "ranks")) {
      RankTimeline one{static_cast<int>(number(rank, "rank")), {}};
      for (const Json& lane : list(rank, "lanes")) {
        const auto activity = parse_activity(text(lane, "activity"));
        if (!activity) continue;
        Lane shown{*activity, {}};
        for (const Json& stretch : list(lane, "stretches")) {
          if (!stretch.is_array() || stretch.size() != 3 || !stretch[0].is_number() ||
              !stretch[1].is_number() || !stretch[2].is_string())
            return Error{ErrorKind::InvalidInput,
                         "a stretch of the timeline is not [from, to, what]"};
          shown.stretches.push_back(
              {stretch[0].get<double>(), stretch[1].get<double>(), stretch[2].get<std::string>()});
        }
        one.lanes.push_back(std::move(shown));
      }
      made.ranks.push_back(std::move(one));
    }
    timeline.programs.push_back(std::move(made));
  }
  return timeline;
}

}  // namespace cuco::report
