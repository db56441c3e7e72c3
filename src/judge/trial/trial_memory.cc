// SPDX-License-Identifier: Apache-2.0
#include "judge/trial/trial_memory.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/rng.h"
#include "rank/rank_job.h"

namespace cuco::judge {
namespace {

using candidate::Outcome;

/// Every 16-bit half is a NaN in bf16, and every word one in fp32; the payload is new each time.
std::string poison(std::size_t bytes, std::uint64_t seed) {
  Rng rng(seed);
  const auto half = [&] { return static_cast<std::uint16_t>(0x7FC1U + rng.below(0x3EU)); };
  const std::uint16_t first = half();
  const std::uint16_t second = half();
  std::string text(bytes, '\0');
  for (std::size_t i = 0; i + 1 < bytes; i += 2) {
    std::memcpy(text.data() + i, i % 4 == 0 ? &first : &second, 2);
  }
  return text;
}

}  // namespace

std::uint64_t TrialMemory::input_at(int rank, int set, std::size_t i) const {
  return addresses_[static_cast<std::size_t>(rank)]
                   [static_cast<std::size_t>(set) * inputs_.size() + i];
}

std::uint64_t TrialMemory::output_at(int rank, int set, std::size_t i) const {
  const std::size_t outputs_from = static_cast<std::size_t>(spec_.wanted_sets()) * inputs_.size();
  return addresses_[static_cast<std::size_t>(rank)]
                   [outputs_from + static_cast<std::size_t>(set) * outputs_.size() + i];
}

Result<void> TrialMemory::describe(rank::RankJob* job) {
  const workload::Workload& workload = spec_.workload;
  CUCO_TRY_ASSIGN(inputs_, workload.buffers(workload.inputs, spec_.shape));
  CUCO_TRY_ASSIGN(outputs_, workload.buffers(workload.outputs, spec_.shape));
  for (const workload::Buffer& buffer : inputs_)
    job->input_bytes.push_back(buffer.bytes());
  for (const workload::Buffer& buffer : outputs_)
    job->output_bytes.push_back(buffer.bytes());
  return {};
}

Result<void> TrialMemory::add_rank(std::string_view addresses) {
  const auto sets = static_cast<std::size_t>(spec_.wanted_sets());
  auto words = wire::read_array<std::uint64_t>(wire::bytes_of_text(addresses),
                                               sets * (inputs_.size() + outputs_.size()));
  if (!words) return Error{ErrorKind::Protocol, "cuco-rank: no addresses"};
  addresses_.push_back(*std::move(words));
  return {};
}

Result<std::string> TrialMemory::input(int iteration, int rank, std::size_t i) {
  return oracle_.input(spec_.workload, spec_.shape, spec_.key("input", iteration), rank,
                       static_cast<int>(i), inputs_[i].bytes());
}

Result<void> TrialMemory::place_on(int rank, Given* given) {
  const auto [iteration, set] = given->turn;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    CUCO_TRY_ASSIGN(std::string bytes, input(iteration, rank, i));
    CUCO_TRY(target_.write(input_at(rank, set, i), bytes));
    CUCO_TRY(target_.write(input_at(rank, set, i) + bytes.size(), given->guard));
    given->pristine[{rank, i}] = std::move(bytes);
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const std::string nothing = poison(outputs_[i].bytes(), spec_.key("poison", iteration));
    CUCO_TRY(target_.write(output_at(rank, set, i), nothing));
    CUCO_TRY(target_.write(output_at(rank, set, i) + nothing.size(), given->guard));
  }
  return {};
}

Result<void> TrialMemory::place(const std::vector<Turn>& turns) {
  given_.clear();
  for (const Turn& turn : turns) {
    Given given{turn, poison(rank::kGuardBytes, spec_.key("guard", turn.iteration)), {}};
    for (int rank = 0; rank < spec_.workload.ranks; ++rank)
      CUCO_TRY(place_on(rank, &given));
    given_.push_back(std::move(given));
  }
  for (int rank = 0; rank < spec_.workload.ranks; ++rank) {
    std::vector<targets::MemoryRange> kept;
    std::vector<targets::MemoryRange> given;
    for (const Turn& turn : turns) {
      for (std::size_t i = 0; i < outputs_.size(); ++i)
        kept.push_back({output_at(rank, turn.set, i), outputs_[i].bytes()});
      for (std::size_t i = 0; i < inputs_.size(); ++i)
        given.push_back({input_at(rank, turn.set, i), inputs_[i].bytes()});
    }
    std::vector<targets::MemoryRange> closed;
    for (int other = 0; other < spec_.wanted_sets(); ++other) {
      if (std::ranges::find(turns, other, &Turn::set) != turns.end()) continue;
      for (std::size_t i = 0; i < inputs_.size(); ++i)
        closed.push_back({input_at(rank, other, i), inputs_[i].bytes()});
      for (std::size_t i = 0; i < outputs_.size(); ++i)
        closed.push_back({output_at(rank, other, i), outputs_[i].bytes()});
    }
    CUCO_TRY(target_.order_snapshot(rank, kept, given, closed));
  }
  return {};
}

candidate::WrongResult TrialMemory::wrong(int iteration, int rank, std::size_t output) const {
  candidate::WrongResult result;
  result.shape = spec_.shape.name;
  result.schedule = schedule_;
  result.output = outputs_[output].name;
  result.iteration = iteration;
  result.rank = rank;
  result.total = static_cast<std::int64_t>(outputs_[output].elements);
  return result;
}

Result<std::optional<Outcome>> TrialMemory::check_output(std::size_t turn,
                                                         int rank,
                                                         std::size_t output) {
  const int iteration = given_[turn].turn.iteration;
  const workload::Buffer& buffer = outputs_[output];
  CUCO_TRY_ASSIGN(std::string bytes,
                  target_.read_snapshot(rank, turn * outputs_.size() + output, buffer.bytes()));
  const Oracle::Question question{rank, static_cast<int>(output), buffer.type,
                                  spec_.key("sample", iteration), spec_.check_limit};
  CUCO_TRY_ASSIGN(Comparison found, oracle_.check(spec_.workload, spec_.shape, question, bytes));
  if (found.wrong == 0 && !answers_.empty()) {
    const Answer& answer = answers_[static_cast<std::size_t>(rank) * outputs_.size() + output];
    found = compare_with(std::as_bytes(std::span(bytes)), buffer.type,
                         spec_.workload.tolerance.at(buffer.type), answer.want, answer.scale);
  }
  std::optional<Outcome> outcome;
  if (found.wrong > 0) {
    candidate::WrongResult result = wrong(iteration, rank, output);
    result.index = found.index;
    result.expected = found.want;
    result.actual = found.got;
    result.wrong = found.wrong;
    const std::size_t at = static_cast<std::size_t>(found.index) * workload::bytes_of(buffer.type);
    const auto same = [&](const std::string& other) {
      return other.size() == bytes.size() && std::memcmp(bytes.data() + at, other.data() + at,
                                                         workload::bytes_of(buffer.type)) == 0;
    };
    if (same(poison(buffer.bytes(), spec_.key("poison", iteration)))) result.note = "never written";
    if (same(previous_[{rank, output}])) result.note = "equals the previous iteration's";
    outcome = std::move(result);
  } else {
    outcome = compare_with_seed(iteration, rank, output, bytes, found.scale);
  }
  if (spec_.keep_outputs) kept_[{iteration, rank, output}] = bytes;
  previous_[{rank, output}] = std::move(bytes);
  return outcome;
}

std::optional<Outcome> TrialMemory::compare_with_seed(
    int iteration, int rank, std::size_t output, const std::string& bytes, double scale) const {
  if (spec_.like == nullptr) return std::nullopt;
  const auto seed = spec_.like->find({iteration, rank, output});
  if (seed == spec_.like->end() || seed->second.size() != bytes.size()) return std::nullopt;
  const workload::Element type = outputs_[output].type;
  const auto mine = std::as_bytes(std::span(bytes));
  const auto other = std::as_bytes(std::span(seed->second));
  const auto unlike = first_unlike(mine, other, type, spec_.workload.tolerance.at(type), scale);
  if (!unlike) return std::nullopt;
  candidate::WrongResult result = wrong(iteration, rank, output);
  result.index = static_cast<std::int64_t>(*unlike);
  result.expected = load_element(other, *unlike, type);
  result.actual = load_element(mine, *unlike, type);
  result.wrong = 1;
  result.note = "the seed has the other value on the same inputs";
  return result;
}

Result<std::optional<Outcome>> TrialMemory::check_untouched(int rank, const Given& given) {
  const int set = given.turn.set;
  const auto guard_broken = [&](std::uint64_t address) -> Result<bool> {
    CUCO_TRY_ASSIGN(const std::string bytes, target_.read(address, rank::kGuardBytes));
    return bytes != given.guard;
  };
  const auto finding = [&](std::string message) {
    candidate::Finding item{.kind = "out of bounds", .message = std::move(message)};
    item.where.rank = rank;
    return std::optional<Outcome>(candidate::Findings{{std::move(item)}, schedule_});
  };
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const std::uint64_t address = input_at(rank, set, i);
    CUCO_TRY_ASSIGN(const std::string bytes, target_.read(address, inputs_[i].bytes()));
    if (bytes != given.pristine.at({rank, i}))
      return finding(fmt::format("input {} was written to", inputs_[i].name));
    CUCO_TRY_ASSIGN(const bool broken, guard_broken(address + bytes.size()));
    if (broken)
      return finding(fmt::format("bytes after input {} were written to", inputs_[i].name));
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    CUCO_TRY_ASSIGN(const bool broken, guard_broken(output_at(rank, set, i) + outputs_[i].bytes()));
    if (broken)
      return finding(fmt::format("bytes after output {} were written to", outputs_[i].name));
  }
  return std::optional<Outcome>();
}

Result<std::optional<Outcome>> TrialMemory::check_turn(std::size_t index) {
  const Given& given = given_[index];
  // The oracle answers for the inputs that it made last.
  for (int rank = 0; given_.size() > 1 && rank < spec_.workload.ranks; ++rank) {
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      CUCO_TRY(input(given.turn.iteration, rank, i));
  }
  if (spec_.reference != nullptr) {
    CUCO_TRY_ASSIGN(answers_, spec_.reference->answers(given.pristine));
  }
  for (int rank = 0; rank < spec_.workload.ranks; ++rank) {
    for (std::size_t output = 0; output < outputs_.size(); ++output) {
      CUCO_TRY_ASSIGN(auto outcome, check_output(index, rank, output));
      if (outcome) return outcome;
    }
    CUCO_TRY_ASSIGN(auto outcome, check_untouched(rank, given));
    if (outcome) return outcome;
  }
  return std::optional<Outcome>();
}

Result<std::optional<Outcome>> TrialMemory::check(const std::string& schedule) {
  schedule_ = schedule;
  for (std::size_t i = 0; i < given_.size(); ++i) {
    CUCO_TRY_ASSIGN(auto outcome, check_turn(i));
    if (outcome) return outcome;
  }
  return std::optional<Outcome>();
}

}  // namespace cuco::judge
