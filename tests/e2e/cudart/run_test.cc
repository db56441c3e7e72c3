// SPDX-License-Identifier: Apache-2.0
// Runs every program of programs/ with `cuco run`. Comments at its top say what must come out:
//   // expect: LINE    a line of standard output, all of them in order
//   // stderr: TEXT    somewhere in standard error
//   // exit: CODE      0 unless said
//   // ranks: N        1 unless said
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/require.h"
#include "system/jobs/process.h"
#include "system/os/environment.h"
#include "system/os/files.h"

namespace cuco {
namespace {

namespace fs = std::filesystem;

struct Expectation {
  std::string out;
  std::vector<std::string> err;
  int code = 0;
  std::string ranks = "1";
};

Expectation read_expectation(const fs::path& program) {
  Expectation result;
  std::ifstream file(program);
  for (std::string line; std::getline(file, line);) {
    const auto after = [&](const char* mark) -> std::optional<std::string> {
      const std::string prefix = std::string("// ") + mark + ": ";
      if (!line.starts_with(prefix)) return std::nullopt;
      return line.substr(prefix.size());
    };
    if (const auto text = after("expect")) result.out += *text + "\n";
    if (const auto text = after("stderr")) result.err.push_back(*text);
    if (const auto text = after("exit")) result.code = std::stoi(*text);
    if (const auto text = after("ranks")) result.ranks = *text;
  }
  return result;
}

system::JobOutcome run(std::vector<std::string> arguments) {
  system::JobSpec spec;
  const char* other = std::getenv("CUCO_UNDER_TEST");  // one with instrumented libraries
  spec.command.argv = {other != nullptr ? other : CUCO_BINARY, "run"};
  spec.command.argv.insert(spec.command.argv.end(), arguments.begin(), arguments.end());
  spec.command.environment = system::Environment::current();
  spec.command.folder = fs::path(CUCO_SOURCE_DIR) / "tests/e2e/cudart/programs";
  spec.limits.wall = std::chrono::minutes(5);
  auto outcome = system::run_job(spec);
  EXPECT_TRUE(outcome.has_value());
  return outcome ? *std::move(outcome) : system::JobOutcome{};
}

std::vector<std::string> all_programs() {
  std::vector<std::string> names;
  for (const auto& entry :
       fs::directory_iterator(fs::path(CUCO_SOURCE_DIR) / "tests/e2e/cudart/programs")) {
    if (entry.path().extension() == ".cu") names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class Program : public testing::TestWithParam<std::string> {};

TEST_P(Program, DoesWhatItSays) {
  CUCO_NEEDS_NVCC();
  const fs::path path =
      fs::path(CUCO_SOURCE_DIR) / "tests/e2e/cudart/programs" / (GetParam() + ".cu");
  const Expectation wanted = read_expectation(path);
  const auto outcome = run({"--ranks", wanted.ranks, path.filename()});
  EXPECT_EQ(outcome.out, wanted.out);
  EXPECT_EQ(outcome.code, wanted.code) << outcome.err;
  for (const std::string& text : wanted.err) {
    EXPECT_NE(outcome.err.find(text), std::string::npos) << text << "\nnot in:\n" << outcome.err;
  }
}

INSTANTIATE_TEST_SUITE_P(Cudart, Program, testing::ValuesIn(all_programs()), [](const auto& one) {
  return one.param;
});

TEST(Run, RepeatedRunsAreBitIdentical) {
  CUCO_NEEDS_NVCC();
  const auto first = run({"--ranks", "3", "repeat.cu"});
  EXPECT_FALSE(first.err.empty());
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(run({"--ranks", "3", "repeat.cu"}).err, first.err);
  }
}

TEST(Run, MissingFileIsNamed) {
  const auto outcome = run({"no_such_file.cu"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("no_such_file.cu"), std::string::npos) << outcome.err;
}

TEST(Run, NotAProgramIsRefused) {
  const auto outcome = run({"check.h"});
  EXPECT_EQ(outcome.code, 2) << outcome.err;
}

TEST(Run, UnknownHardwareIsNamed) {
  const auto outcome = run({"--hardware", "b9000", "nvtx.cu"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("b9000"), std::string::npos) << outcome.err;
}

TEST(Run, AStaticRuntimeIsRefusedWithTheFlag) {
  CUCO_NEEDS_NVCC();
  auto folder = system::TempFolder::create("static");
  ASSERT_TRUE(folder.has_value());
  system::JobSpec spec;
  spec.command.environment = system::Environment::current();
  spec.command.environment.set(
      "PATH", spec.command.environment.get("PATH").value_or("") + ":/usr/local/cuda/bin");
  spec.command.folder = fs::path(CUCO_SOURCE_DIR) / "tests/e2e/cudart/programs";
  const std::string program = folder->path() / "program";
  spec.command.argv = {"nvcc", "-o", program, "nvtx.cu"};
  auto built = system::run_job(spec);
  ASSERT_TRUE(built && built->succeeded());
  const auto outcome = run({program});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("links the CUDA runtime statically"), std::string::npos);
  EXPECT_NE(outcome.err.find("nvcc -cudart shared"), std::string::npos) << outcome.err;
}

TEST(Run, CompilerErrorsAreShown) {
  CUCO_NEEDS_NVCC();
  auto folder = system::TempFolder::create("broken");
  ASSERT_TRUE(folder.has_value());
  const system::Path source = folder->path() / "broken.cu";
  ASSERT_TRUE(system::write_file(source, "int main() { return missing; }\n").has_value());
  const auto outcome = run({source.string()});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("missing"), std::string::npos) << outcome.err;
}

TEST(Run, TheExitCodeAndArgumentsPassThrough) {
  CUCO_NEEDS_NVCC();
  auto folder = system::TempFolder::create("code");
  ASSERT_TRUE(folder.has_value());
  const system::Path source = folder->path() / "code.cu";
  ASSERT_TRUE(system::write_file(source,
                                 "#include <cstdlib>\nint main(int, char** v) { return "
                                 "std::atoi(v[1]); }\n")
                  .has_value());
  EXPECT_EQ(run({source.string(), "--", "37"}).code, 37);
}

}  // namespace
}  // namespace cuco
