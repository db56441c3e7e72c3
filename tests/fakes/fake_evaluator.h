// SPDX-License-Identifier: Apache-2.0
/// \file
/// An evaluator that reads its verdict from the candidate's own text: "time 3e-4", "wrong",
/// "findings at final", "broken". The seed takes 1 ms.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>

#include "candidate/evaluator.h"

namespace cuco::fakes {

class FakeEvaluator final : public candidate::Evaluator {
 public:
  [[nodiscard]] candidate::Target target() const override {
    return {.name = "fake cluster",
            .hardware = "4 x H200",
            .topology = "nvlink4",
            .facts = {.ranks = 4, .lsa_ranks = 4}};
  }

  [[nodiscard]] candidate::Provenance provenance() const override { return made_with; }

  /// "device D" and "host H": what the text becomes, if it says so.
  std::optional<candidate::MachineCode> build(const candidate::Candidate& candidate,
                                              candidate::Rung /*rung*/) override {
    if (jitter)
      std::this_thread::sleep_for(std::chrono::microseconds((candidate.number * 7907) % 3000));
    const auto& text = candidate.source.files().front().text;
    const auto word = [&](std::string_view name) {
      const auto at = text.find(name);
      if (at == std::string::npos) return std::string();
      const auto from = at + name.size();
      return text.substr(from, text.find(' ', from) - from);
    };
    candidate::MachineCode code{word("device "), word("host ")};
    if (code.device.empty()) return std::nullopt;
    return code;
  }

  Result<candidate::Outcome> evaluate(const candidate::Candidate& candidate,
                                      candidate::Rung rung) override {
    const int count = ++evaluations;
    if (fails_every > 0 && count % fails_every == 0) {
      ++failures;
      return Error{ErrorKind::Io, "the disk is full"};
    }
    if (jitter) std::this_thread::sleep_for(std::chrono::microseconds((count * 7919) % 3000));
    const auto& text = candidate.source.files().front().text;
    const auto has = [&](const char* word) { return text.find(word) != std::string::npos; };
    if (has("unavailable")) return Error{ErrorKind::Unavailable, "nvcc is gone"};
    if (has("broken")) return candidate::Outcome(candidate::BuildFailed{"expected a ';'"});
    if (has("wrong")) {
      return candidate::Outcome(candidate::WrongResult{.shape = "small", .output = "C", .rank = 1});
    }
    if (has("findings at final") && rung.fidelity == candidate::Fidelity::Final) {
      return candidate::Outcome(candidate::Findings{{{.kind = "unordered read"}}, "seed 3"});
    }
    candidate::Scored scored{.seconds = 1e-3, .baseline_seconds = 1e-3, .hardware = "4 x H200"};
    if (const auto at = text.find("time "); at != std::string::npos) {
      scored.seconds = std::strtod(text.c_str() + at + 5, nullptr);
    }
    return candidate::Outcome(scored);
  }

  std::atomic<int> evaluations{0};
  std::atomic<int> failures{0};
  int fails_every = 0;  ///< Of so many evaluations one cannot be done; 0: all can.
  bool jitter = false;  ///< Take some time, never the same.
  candidate::Provenance made_with{.workload = "w", .nvcc = "13.0"};
};

}  // namespace cuco::fakes
