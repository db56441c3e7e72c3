// SPDX-License-Identifier: Apache-2.0
/// \file
/// Knowledge: what runs have taught, kept across them. For each move in each situation: how often
/// it was tried, how often it was correct, what it gained, predicted and measured apart, and one
/// example to look at.
///
/// A situation is a text that says what programs have in common (what they communicate, on how many
/// ranks); a move is a design without its knobs. Both are made by whoever learns, so that the
/// knowledge itself knows nothing about programs.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "candidate/run_state.h"

namespace cuco::knowledge {

/// Gains are logarithms of speed-ups over the seed, summed.
struct Gains {
  int count = 0;
  double sum = 0;
  bool operator==(const Gains&) const = default;
};

struct Lesson {
  int tries = 0;
  int correct = 0;
  Gains predicted, measured;
  double best = 0;      ///< The largest speed-up.
  std::string example;  ///< Where that was: "workloads/x 0003 #7".

  /// Speed-up to expect, as a factor; failures count as no gain, and one try's worth of doubt is
  /// there from the start.
  [[nodiscard]] double expected() const;
  /// How sure that is, from 0 to 1.
  [[nodiscard]] double confidence() const;
  bool operator==(const Lesson&) const = default;
};

class Knowledge {
 public:
  using Key = std::pair<std::string, std::string>;  ///< Situation, move.

  /// The error says what is wrong with the text; an empty one is empty knowledge.
  [[nodiscard]] static Result<Knowledge> parse(std::string_view json);
  [[nodiscard]] std::string to_json() const;

  /// Takes a run over, once: the same run again changes nothing. Whether it was new.
  bool learn(const std::string& situation, const candidate::RunState& run, std::string_view name);

  /// Adds what another one has learnt from runs that this one does not know.
  void merge(const Knowledge& other);

  /// Drops all situations that contain the text; how many lessons that were.
  std::size_t forget(std::string_view situation);

  [[nodiscard]] const std::map<Key, Lesson>& lessons() const { return lessons_; }
  /// Null: nobody has tried that there.
  [[nodiscard]] const Lesson* find(const std::string& situation, const std::string& move) const;

  /// The best and the worst moves of a situation, for proposers.
  [[nodiscard]] std::vector<std::string> notes(const std::string& situation) const;

  bool operator==(const Knowledge&) const = default;

 private:
  struct Source {
    std::map<Key, Lesson> lessons;
    bool operator==(const Source&) const = default;
  };
  void add(const std::map<Key, Lesson>& lessons);

  std::map<std::string, Source> runs_;  ///< By what identifies a run.
  std::map<Key, Lesson> lessons_;       ///< Of all of them together.
};

/// A design without its knobs: "LSA · producer-fused · per-chunk flag", then its kernels' part.
[[nodiscard]] std::string move_of(const design::Directive& directive);

}  // namespace cuco::knowledge
