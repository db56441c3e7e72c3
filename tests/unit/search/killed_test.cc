// SPDX-License-Identifier: Apache-2.0
// A run that is killed at any moment, inside an agent of three calls per candidate, asks no
// question twice whose answer it has. Real processes, real SQLite, SIGKILL.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "../../fakes/fake_evaluator.h"
#include "../../fakes/many.h"
#include "base/rng.h"
#include "base/text.h"
#include "search/search.h"
#include "store/sqlite_store.h"
#include "system/os/files.h"
#include "system/os/system_clock.h"

namespace cuco::search {
namespace {
using candidate::Run;

constexpr int kCandidates = 6;

/// One line per call, written at once, by a process that may be dead a microsecond later.
class CallLog {
 public:
  explicit CallLog(const system::Path& file)
      : fd_(::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600)) {}
  ~CallLog() { ::close(fd_); }
  CallLog(const CallLog&) = delete;
  CallLog& operator=(const CallLog&) = delete;
  void note(std::string_view what, const std::string& question) const {
    const std::string line = fmt::format("{} {}\n", what, question);
    (void)!::write(fd_, line.data(), line.size());
  }

 private:
  int fd_;
};

/// Plan, code, review: each question holds the answer before it.
class Agent final : public candidate::Proposer {
 public:
  explicit Agent(const CallLog& log) : log_(log) {}
  [[nodiscard]] std::string name() const override { return "agent"; }

  Result<std::optional<candidate::ProposerAnswer>> propose(const candidate::Task& task,
                                                           candidate::ExchangeLog& log) override {
    if (task.turn >= kCandidates) return std::optional<candidate::ProposerAnswer>();
    std::string answer = std::to_string(task.turn);
    for (const char* role : {"plan", "code", "review"}) {
      const candidate::Question question{.role = role, .prompt = answer, .most_tokens = 10};
      CUCO_TRY_ASSIGN(const auto exchange, log.ask(question, [&]() -> Result<candidate::Exchange> {
        log_.note("asked", candidate::hash_of(question));
        return candidate::Exchange{.answer = fmt::format("{} {}", role, answer),
                                   .answer_tokens = 7};
      }));
      log_.note("got", candidate::hash_of(question));
      answer = exchange.answer;
    }
    candidate::Proposal proposal{
        .source = program::single_file("program.cu",
                                       fmt::format("time {}e-4 // {}", 9 - task.turn, answer))};
    return std::optional(candidate::ProposerAnswer(std::move(proposal)));
  }

 private:
  const CallLog& log_;
};

/// The whole search in a process of its own; exit code 0: it came to its end.
pid_t start_search(const system::Path& folder) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  const system::SystemClock clock;
  const CallLog log(folder / "calls");
  auto store = store::SqliteStore::open(folder / "e.db", store::OpenMode::ReadWrite, clock);
  if (!store) ::_exit(3);
  fakes::FakeEvaluator evaluator;
  auto run = Run::open(**store, evaluator, clock, {.jobs = 2, .window = 3});
  candidate::Proposal seed{.source = program::single_file("program.cu", "seed")};
  if (!run || !run->add_candidate(seed)) ::_exit(4);
  if (!run->evaluate(candidate::kSeed, {.fidelity = candidate::Fidelity::Standard})) ::_exit(5);
  Agent agent(log);
  candidate::Proposer* const proposers[] = {&agent};
  const auto result = search(*run, proposers, {});
  ::_exit(result && result->winner == kCandidates ? 0 : 6);
}

int wait_for(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::set<std::string> stored_answers(const system::Path& file) {
  const system::SystemClock clock;
  std::set<std::string> questions;
  const auto store = store::SqliteStore::open(file, store::OpenMode::ReadOnly, clock);
  if (!store) return questions;  // killed before there was one
  const auto events = (*store)->events(0);
  if (!events) return questions;
  for (const auto& event : *events) {
    if (const auto* paid = std::get_if<candidate::Exchanged>(&event.body))
      questions.insert(paid->exchange.question);
  }
  return questions;
}

std::vector<std::pair<std::string, std::string>> calls(const system::Path& folder) {
  std::vector<std::pair<std::string, std::string>> list;
  const auto file = system::read_file(folder / "calls");
  const std::string text = file ? *file : std::string();
  for (const auto line : split(text, '\n')) {
    const auto space = line.find(' ');
    if (space != std::string_view::npos)
      list.emplace_back(line.substr(0, space), line.substr(space + 1));
  }
  return list;
}

TEST(Killed, AsksNoPaidQuestionTwice) {
  // In memory where there is such a place: what a disk does is the store's own test.
  const bool memory = ::access("/dev/shm", W_OK) == 0;
  const auto root = system::TempFolder::create("cuco_killed", memory ? "/dev/shm" : "");
  ASSERT_TRUE(root);
  using std::chrono::steady_clock;
  const auto begin = steady_clock::now();
  ASSERT_TRUE(system::make_folder(root->path() / "whole"));
  ASSERT_EQ(wait_for(start_search(root->path() / "whole")), 0);
  // The first run may have been slow; kills are to come before the end of the others.
  auto whole = std::chrono::duration_cast<std::chrono::microseconds>(steady_clock::now() - begin);
  const int kills = fakes::few_or_many(100, 1000);
  Rng rng(7);
  int killed = 0;
  int asked_again = 0;
  for (int round = 0; killed < kills && round < 3 * kills; ++round) {
    const auto folder = root->path() / std::to_string(round);
    ASSERT_TRUE(system::make_folder(folder));
    const pid_t child = start_search(folder);
    std::this_thread::sleep_for(
        std::chrono::microseconds(rng.below(static_cast<std::uint64_t>(whole.count()))));
    ::kill(child, SIGKILL);
    if (wait_for(child) == 0) {  // it was done before
      whole = std::max(whole * 9 / 10, std::chrono::microseconds(1));
      continue;
    }
    ++killed;
    const auto paid = stored_answers(folder / "e.db");
    const auto before = calls(folder).size();
    ASSERT_EQ(wait_for(start_search(folder)), 0) << "round " << round;
    const auto all = calls(folder);
    std::set<std::string> got;
    std::map<std::string, int> asked;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto& [what, question] = all[i];
      if (what == "got") {
        got.insert(question);
        continue;
      }
      ASSERT_FALSE(got.contains(question))
          << "round " << round << ": an answer was asked for twice";
      ASSERT_FALSE(i >= before && paid.contains(question))
          << "round " << round << ": a stored answer was asked for again";
      if (++asked[question] > 1) ++asked_again;
    }
    ASSERT_EQ(asked.size(), static_cast<std::size_t>(3 * kCandidates));
  }
  EXPECT_EQ(killed, kills);
  // Only what was on its way when the process died: one call at the most each time.
  EXPECT_LE(asked_again, killed);
  RecordProperty("asked_again_because_cut_off", asked_again);
}

}  // namespace
}  // namespace cuco::search
