// SPDX-License-Identifier: Apache-2.0
// Every answer of the recorded runs (tests/llm/recorded) is still read as it was then: the cheap
// half of replaying them. tests/llm judges them again.
#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "agents/advice.h"
#include "agents/reply.h"
#include "agents/role.h"
#include "base/json.h"
#include "base/text.h"
#include "system/os/files.h"

namespace cuco::agents {
namespace {

/// The program that a prompt shows.
std::string shown_program(std::string_view prompt) {
  const auto heading = prompt.find("# The program's source\n");
  if (heading == std::string_view::npos) return {};
  const auto begin = prompt.find("```cuda\n", heading) + 8;
  return std::string(prompt.substr(begin, prompt.find("\n```\n", begin) + 1 - begin));
}

/// Why the answer to that question cannot be used; empty if it can.
std::string objection(AnswerForm form, const std::string& prompt, const std::string& answer) {
  const auto why = [](const auto& result) {
    return result ? std::string() : result.error().message();
  };
  const bool communicates = shown_program(prompt).find("nccl") != std::string::npos;
  Problem problem;
  problem.program = {.has_collective = communicates, .has_producer = true, .has_consumer = true};
  problem.topology = {.ranks = 4, .lsa_ranks = 4, .gin = true, .multimem = true};
  switch (form) {
    case AnswerForm::Program: {
      const auto reply = parse_reply(answer, communicates);
      if (!reply) return reply.error().message();
      const std::string program = shown_program(prompt);
      if (program.empty()) return "the prompt shows no program";
      return why(apply_reply(*reply, program, program));
    }
    case AnswerForm::Plans:
      return why(read_plans(answer, problem));
    case AnswerForm::Shapes:
      return why(read_shapes(answer));
    case AnswerForm::Notes:
      return why(read_notes(answer));
    case AnswerForm::Text:
      return read_words(answer).empty() ? "no words" : "";
  }
  return "an unknown form";
}

TEST(RecordedAnswers, AreStillReadAsTheyWere) {
  int programs = 0;
  const auto folder = system::Path(CUCO_SOURCE_DIR) / "tests/llm/recorded";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".jsonl") continue;
    const auto text = system::read_file(entry.path());
    ASSERT_TRUE(text);
    for (const auto line : split(*text, '\n')) {
      if (line.empty()) continue;
      const auto json = parse_json(line);
      ASSERT_TRUE(json);
      if (!json->contains("role")) continue;
      const std::string name = json->at("role");
      const Role* role = find_role(name);
      ASSERT_NE(role, nullptr) << name;
      programs += role->form == AnswerForm::Program ? 1 : 0;
      EXPECT_EQ(objection(role->form, json->at("prompt"), json->at("answer")), "")
          << entry.path() << " decision " << json->at("decision") << " " << name;
    }
  }
  EXPECT_GT(programs, 3);
}

}  // namespace
}  // namespace cuco::agents
