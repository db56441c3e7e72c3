// SPDX-License-Identifier: Apache-2.0
#include "candidate/pipeline/twins.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace cuco::candidate {
namespace {

std::vector<std::string_view> lines_of(const program::Files& files, const std::string& path) {
  const auto* file = std::ranges::find(files, path, &program::File::path);
  return file == files.end() ? std::vector<std::string_view>() : split(file->text, '\n');
}

/// The line nearest to `line` that says the same; -1: none does.
int moved(int line,
          const std::vector<std::string_view>& from,
          const std::vector<std::string_view>& to) {
  if (line < 1 || static_cast<std::size_t>(line) > from.size()) return -1;
  const std::string_view text = trim(from[static_cast<std::size_t>(line) - 1]);
  int nearest = -1;
  for (int other = 1; other <= static_cast<int>(to.size()); ++other) {
    const bool nearer = nearest < 0 || std::abs(other - line) < std::abs(nearest - line);
    if (nearer && trim(to[static_cast<std::size_t>(other) - 1]) == text) nearest = other;
  }
  return nearest;
}

}  // namespace

Number Twins::first(Number number, Rung rung, const MachineCode& code) {
  if (rung.fidelity == Fidelity::Final) return number;
  return first_.emplace(std::pair(rung, code), number).first->second;
}

void Twins::forget(Number number, Rung rung, const MachineCode& code) {
  const auto found = first_.find({rung, code});
  if (found != first_.end() && found->second == number) first_.erase(found);
}

Scored for_twin(Scored scored, const Candidate& of, const Candidate& twin) {
  const program::Files from = of.source.files();
  const program::Files to = twin.source.files();
  for (ShapeTime& shape : scored.shapes) {
    for (HotSpot& spot : shape.hot_spots) {
      const std::string& file = spot.where.file;
      spot.where.line = moved(spot.where.line, lines_of(from, file), lines_of(to, file));
    }
  }
  return scored;
}

}  // namespace cuco::candidate
