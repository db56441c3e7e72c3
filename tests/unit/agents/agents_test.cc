// SPDX-License-Identifier: Apache-2.0
#include <deque>

#include <gtest/gtest.h>

#include "../../fakes/no_exchanges.h"
#include "agents/model_proposer.h"
#include "agents/reply.h"
#include "base/rng.h"

namespace cuco::agents {
namespace {

constexpr std::string_view kSeed =
    "#include <nccl.h>\n"
    "// cuco: evolve begin kernels\n"
    "int old;\n"
    "// cuco: evolve end\n"
    "extern int frozen;\n";

constexpr std::string_view kGood =
    "Let me think about it.\n\n"
    "**DIRECTIVE:** LSA · producer-fused · per-chunk flag · block · 64 KiB\n"
    "BECAUSE: tiles are final early\n"
    "### REGION kernels\n"
    "```cuda\n"
    "int fresh;\n"
    "```\n";

TEST(Reply, IsReadWithMarkdownAndTalkAroundIt) {
  const auto reply = parse_reply(kGood);
  ASSERT_TRUE(reply) << reply.error().message();
  EXPECT_EQ(design::to_text(reply->directive),
            "LSA · producer-fused · per-chunk flag · block · 64 KiB");
  EXPECT_EQ(reply->because, "tiles are final early");
  ASSERT_EQ(reply->regions.size(), 1U);
  EXPECT_EQ(reply->regions[0].region, "kernels");
  const auto program = apply_reply(*reply, kSeed, kSeed);
  ASSERT_TRUE(program) << program.error().message();
  EXPECT_NE(program->find("begin kernels\nint fresh;\n// cuco"), std::string::npos);
}

TEST(Reply, SaysWhatIsMissing) {
  EXPECT_EQ(parse_reply("sure!").error().message(),
            "the answer states no directive (DIRECTIVE: …)");
  EXPECT_EQ(
      parse_reply("DIRECTIVE: LSA, host-ordered, global barrier, block, whole").error().message(),
      "the answer replaces no region (REGION name, then a code block)");
  EXPECT_EQ(parse_reply("REGION a\n```\nint x;\n").error().message(),
            "the last code block is not closed: the answer was cut off");
  EXPECT_FALSE(parse_reply("DIRECTIVE: teleport"));
}

TEST(Reply, MayBeTheWholeProgramIfFrozenBytesAreKept) {
  const std::string head = "DIRECTIVE: LSA, host-ordered, global barrier, block, whole\n```cuda\n";
  std::string program(kSeed);
  program.replace(program.find("int old"), 7, "int new");
  auto reply = parse_reply(head + program + "```\n");
  ASSERT_TRUE(reply) << reply.error().message();
  EXPECT_EQ(*apply_reply(*reply, kSeed, kSeed), program);
  program.replace(program.find("frozen"), 6, "thawed");
  reply = parse_reply(head + program + "```\n");
  ASSERT_TRUE(reply);
  EXPECT_EQ(apply_reply(*reply, kSeed, kSeed).error().message(),
            "frozen line 5 was changed: 'extern int thawed;' instead of 'extern int frozen;'");
}

TEST(Reply, ADirectiveThatLiesIsRefused) {
  const std::string head =
      "DIRECTIVE: host, host-ordered, global barrier, block, whole\nREGION kernels\n```cuda\n";
  const auto lie = parse_reply(head + "auto p = ncclGetLsaPointer(w, 0, 1);\n```\n");
  ASSERT_TRUE(lie) << lie.error().message();
  EXPECT_EQ(apply_reply(*lie, kSeed, kSeed).error().message(),
            "the directive says host, and the program uses ncclGetLsaPointer");
  const auto honest = parse_reply(head + "int x;  // no ncclGetLsaPointer\n```\n");
  ASSERT_TRUE(honest);
  EXPECT_TRUE(apply_reply(*honest, kSeed, kSeed));
}

TEST(Reply, SurvivesAnyText) {
  Rng rng(2);
  const std::vector<std::string> words = {"DIRECTIVE: ", "REGION ", "```", "\n", "LSA", "·",
                                          ",",           "whole",   "*",   "x",  " ",   "BECAUSE:"};
  for (int i = 0; i < 5000; ++i) {
    std::string text;
    for (std::uint64_t n = rng.below(30); n > 0; --n)
      text += words[rng.below(words.size())];
    (void)parse_reply(text);
  }
}

class FakeProvider final : public llm::Provider {
 public:
  [[nodiscard]] std::string name() const override { return "fake"; }
  [[nodiscard]] std::string model() const override { return "m"; }
  Result<llm::Reply> complete(const llm::Request& request) override {
    prompts.push_back(request.prompt);
    auto next = std::move(answers.front());
    answers.pop_front();
    return next;
  }
  std::deque<Result<llm::Reply>> answers;
  std::vector<std::string> prompts;
};

class Proposing : public testing::Test {
 protected:
  Proposing() {
    auto seed = std::make_shared<candidate::Judged>();
    seed->candidate.source = program::single_file("program.cu", std::string(kSeed));
    seed->outcome = candidate::Scored{.seconds = 1e-3, .hardware = "4 x H200"};
    history = candidate::History({seed});
    problem.summary = "sum of squares";
    problem.api = "ncclGetLsaPointer";
    problem.program = {.has_collective = true, .has_producer = true};
    problem.topology = {.ranks = 4, .lsa_ranks = 4};
  }

  candidate::ProposerAnswer ask(Result<llm::Reply> reply) {
    provider.answers.push_back(std::move(reply));
    ModelProposer proposer(provider, problem, "program.cu", std::chrono::seconds(5));
    auto answer = proposer.propose({.history = history}, log);
    EXPECT_TRUE(answer && answer->has_value());
    return **answer;
  }

  static std::string reason(const candidate::ProposerAnswer& answer) {
    const auto* rejected = std::get_if<candidate::ProposalRejected>(&answer);
    return rejected == nullptr ? "accepted" : rejected->reason;
  }

  FakeProvider provider;
  Problem problem;
  candidate::History history;
  fakes::KeptExchanges log;
};

TEST_F(Proposing, MakesACandidateOfAGoodAnswerAndKeepsTheExchange) {
  const auto answer = ask(llm::Reply{.text = std::string(kGood), .prompt_tokens = 9});
  ASSERT_EQ(reason(answer), "accepted");
  const auto& proposal = std::get<candidate::Proposal>(answer);
  EXPECT_EQ(proposal.lineage.because, "tiles are final early");
  EXPECT_EQ(proposal.lineage.proposer, "fake:m");
  ASSERT_EQ(log.kept.size(), 1U);
  EXPECT_EQ(log.kept[0].answer, kGood);
  EXPECT_EQ(log.kept[0].prompt_tokens, 9);
}

TEST_F(Proposing, AsksWithSpaceParentVerdictAndApi) {
  (void)ask(llm::Reply{.text = "garbage"});
  const auto& prompt = provider.prompts.front();
  for (const auto* part : {"sum of squares", "placement: host-ordered", "int old;", "1.00 ms",
                           "ncclGetLsaPointer", "not multimem", "#0 the seed"}) {
    EXPECT_NE(prompt.find(part), std::string::npos) << part << "\n" << prompt;
  }
}

TEST_F(Proposing, ExplainsWhatWasWrongWithAnAnswer) {
  EXPECT_EQ(reason(ask(llm::Reply{.text = "garbage"})),
            "the answer states no directive (DIRECTIVE: …)");
  EXPECT_EQ(reason(ask(llm::Reply{
                .text = "DIRECTIVE: GIN · producer-fused · per-peer signal · thread · whole\n"
                        "REGION kernels\n```\nint x;\n```\n"})),
            "the directive 'GIN · producer-fused · per-peer signal · thread · whole' is not valid "
            "here: GIN needs a NIC that the GPU can drive; this topology has none");
  EXPECT_EQ(reason(ask(llm::Reply{
                .text = "DIRECTIVE: LSA · host-ordered · global barrier · block · whole\n"
                        "REGION main\n```\nint x;\n```\n"})),
            "no evolve region 'main'");
  EXPECT_EQ(reason(ask(Error{ErrorKind::Timeout, "m: no answer within 5 s"})),
            "the proposer failed: m: no answer within 5 s");
}

TEST_F(Proposing, DoesNotBuyAnAnswerTwice) {
  (void)ask(llm::Reply{.text = "garbage"});
  log.paid = {{.provider = "fake",
               .model = "m",
               .prompt = provider.prompts[0],
               .answer = std::string(kGood)}};
  const auto answer = ask(llm::Reply{.text = "must not be asked"});
  EXPECT_EQ(reason(answer), "accepted");
  EXPECT_EQ(provider.prompts.size(), 1U);
}

TEST_F(Proposing, PassesOnThatTheProviderCannotBeReached) {
  provider.answers.emplace_back(Error{ErrorKind::Unavailable, "down"});
  ModelProposer proposer(provider, problem, "program.cu", std::chrono::seconds(5));
  EXPECT_EQ(proposer.propose({.history = history}, log).error().kind(), ErrorKind::Unavailable);
}

TEST(Api, IsCutToDeclarations) {
  EXPECT_EQ(
      cut_api({"/* licence\n */\n#ifndef A\n#define B \\\n  2\nint f(int); // talk\n\n#endif\n"}),
      "int f(int); \n");
}

}  // namespace
}  // namespace cuco::agents
