// SPDX-License-Identifier: Apache-2.0
#include "knowledge/knowledge.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"

namespace cuco::knowledge {
namespace {

constexpr int kVersion = 1;
constexpr std::size_t kMostNotes = 4;

void join_lesson(const Lesson& other, Lesson* lesson) {
  lesson->tries += other.tries;
  lesson->correct += other.correct;
  for (const auto member : {&Lesson::predicted, &Lesson::measured}) {
    (lesson->*member).count += (other.*member).count;
    (lesson->*member).sum += (other.*member).sum;
  }
  if (other.best <= lesson->best) return;
  lesson->best = other.best;
  lesson->example = other.example;
}

Json to_object(const Knowledge::Key& key, const Lesson& lesson) {
  return {{"situation", key.first},
          {"move", key.second},
          {"tries", lesson.tries},
          {"correct", lesson.correct},
          {"predicted", {lesson.predicted.count, lesson.predicted.sum}},
          {"measured", {lesson.measured.count, lesson.measured.sum}},
          {"best", lesson.best},
          {"example", lesson.example}};
}

Gains gains_from(const Json& list) {
  return {list.at(0).get<int>(), list.at(1).get<double>()};
}

std::pair<Knowledge::Key, Lesson> from_object(const Json& json) {
  Lesson lesson{.tries = json.at("tries").get<int>(),
                .correct = json.at("correct").get<int>(),
                .predicted = gains_from(json.at("predicted")),
                .measured = gains_from(json.at("measured")),
                .best = json.value("best", 0.0),
                .example = json.value("example", "")};
  return {{json.at("situation").get<std::string>(), json.at("move").get<std::string>()}, lesson};
}

/// One candidate as a lesson: its verdict at the highest rung.
Lesson lesson_of(const candidate::Entry& entry, const std::string& where) {
  Lesson lesson{.tries = 1};
  const candidate::Scored* scored = entry.scored();
  if (scored == nullptr || scored->seconds <= 0 || scored->baseline_seconds <= 0) return lesson;
  const double speedup = scored->baseline_seconds / scored->seconds;
  lesson.correct = 1;
  (scored->predicted ? lesson.predicted : lesson.measured) = {1, std::log(speedup)};
  lesson.best = speedup;
  lesson.example = fmt::format("{} #{}", where, entry.candidate.number);
  return lesson;
}

}  // namespace

double Lesson::expected() const {
  // Measured gains are the truth where there are any; a failure is a gain of nothing.
  const Gains& gains = measured.count > 0 ? measured : predicted;
  const int failures = tries - correct;
  return std::exp(gains.sum / (gains.count + failures + 1));
}

double Lesson::confidence() const {
  return static_cast<double>(tries) / (tries + 2);
}

Result<Knowledge> Knowledge::parse(std::string_view text) {
  Knowledge made;
  if (text.empty()) return made;
  CUCO_TRY_ASSIGN(const Json json, parse_json(text));
  try {
    if (json.at("version").get<int>() > kVersion)
      return Error{ErrorKind::InvalidInput, "written by a newer cuco: update cuco"};
    for (const auto& [name, lessons] : json.at("runs").items()) {
      Source& source = made.runs_[name];
      for (const Json& lesson : lessons)
        source.lessons.insert(from_object(lesson));
      made.add(source.lessons);
    }
  } catch (const Json::exception& error) {
    return Error{ErrorKind::InvalidInput, fmt::format("not knowledge: {}", error.what())};
  }
  return made;
}

std::string Knowledge::to_json() const {
  Json runs = Json::object();
  for (const auto& [name, source] : runs_) {
    Json lessons = Json::array();
    for (const auto& [key, lesson] : source.lessons)
      lessons.push_back(to_object(key, lesson));
    runs[name] = std::move(lessons);
  }
  return to_text(Json{{"version", kVersion}, {"runs", std::move(runs)}}) + "\n";
}

void Knowledge::add(const std::map<Key, Lesson>& lessons) {
  for (const auto& [key, lesson] : lessons)
    join_lesson(lesson, &lessons_[key]);
}

bool Knowledge::learn(const std::string& situation,
                      const candidate::RunState& run,
                      std::string_view name) {
  if (!run.started) return false;
  const auto identity = fmt::format("{} {} {}", run.started->workload, name, run.started_ms);
  if (runs_.contains(identity)) return false;
  Source source;
  const auto where = fmt::format("{} {}", run.started->workload, name);
  for (const candidate::Entry& entry : run.entries) {
    if (entry.candidate.number == candidate::kSeed || entry.candidate.source.empty() ||
        entry.latest() == nullptr || entry.was_skipped()) {
      continue;
    }
    join_lesson(lesson_of(entry, where),
                &source.lessons[{situation, move_of(entry.candidate.directive)}]);
  }
  add(source.lessons);
  runs_.emplace(identity, std::move(source));
  return true;
}

void Knowledge::merge(const Knowledge& other) {
  for (const auto& [name, source] : other.runs_) {
    if (runs_.emplace(name, source).second) add(source.lessons);
  }
}

std::size_t Knowledge::forget(std::string_view situation) {
  const auto matches = [&](const auto& item) {
    return item.first.first.find(situation) != std::string::npos;
  };
  for (auto& [name, source] : runs_)
    std::erase_if(source.lessons, matches);
  return std::erase_if(lessons_, matches);
}

const Lesson* Knowledge::find(const std::string& situation, const std::string& move) const {
  const auto found = lessons_.find({situation, move});
  return found == lessons_.end() ? nullptr : &found->second;
}

std::vector<std::string> Knowledge::notes(const std::string& situation) const {
  std::vector<std::pair<std::string, const Lesson*>> known;
  for (const auto& [key, lesson] : lessons_) {
    if (key.first == situation) known.emplace_back(key.second, &lesson);
  }
  std::stable_sort(known.begin(), known.end(), [](const auto& a, const auto& b) {
    return a.second->expected() > b.second->expected();
  });
  std::vector<std::string> notes;
  for (const auto& [move, lesson] : known) {
    if (notes.size() == kMostNotes) break;
    notes.push_back(fmt::format("earlier runs: {} was correct in {} of {} tries, best {:.2f}x ({})",
                                move, lesson->correct, lesson->tries, lesson->best,
                                lesson->measured.count > 0 ? "measured" : "predicted"));
  }
  return notes;
}

std::string move_of(const design::Directive& directive) {
  auto text = fmt::format("{} · {} · {}", design::name(directive.backend),
                          design::name(directive.placement), design::name(directive.sync));
  if (const auto kernel = design::to_text(directive.kernel); !kernel.empty())
    text += " · " + kernel;
  return text;
}

}  // namespace cuco::knowledge
