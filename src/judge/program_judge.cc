// SPDX-License-Identifier: Apache-2.0
#include "judge/program_judge.h"

#include <fmt/format.h>

#include "judge/judge.h"
#include "judge/whole/whole_program_judge.h"

namespace cuco::judge {

std::optional<candidate::MachineCode> ProgramJudge::build(const candidate::Candidate& candidate,
                                                          candidate::Rung rung) {
  const auto file = candidate.source.find("program.cu");
  return file == nullptr ? std::nullopt : build_only(file->text, rung.fidelity);
}

Result<candidate::Outcome> ProgramJudge::evaluate(const candidate::Candidate& candidate,
                                                  candidate::Rung rung) {
  const auto file = candidate.source.find("program.cu");
  if (file == nullptr) {
    return candidate::Outcome(candidate::ScreenRejected{"files", "there is no program.cu", {}});
  }
  return judge(file->text, rung.fidelity);
}

Result<std::unique_ptr<ProgramJudge>> open_judge(const JudgeOptions& options) {
  CUCO_TRY_ASSIGN(auto whole, load_whole_program(options.workload));
  if (whole) {
    CUCO_TRY_ASSIGN(auto judge, WholeProgramJudge::create(*std::move(whole), options));
    return std::unique_ptr<ProgramJudge>(std::move(judge));
  }
  if (options.exact) {
    return Error{ErrorKind::InvalidInput,
                 "--exact is for whole programs: others are compared with an oracle"};
  }
  CUCO_TRY_ASSIGN(auto judge, Judge::create(options));
  return std::unique_ptr<ProgramJudge>(std::move(judge));
}

std::string reservations(const candidate::Scored& scored) {
  std::string text;
  for (const std::string& what : scored.warnings)
    text += fmt::format("\n  warning: {}", what);
  for (const std::string& what : scored.left_out)
    text += fmt::format("\n  left out: {}", what);
  return text;
}

}  // namespace cuco::judge
