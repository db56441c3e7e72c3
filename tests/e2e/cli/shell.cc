// SPDX-License-Identifier: Apache-2.0
#include "shell.h"

#include <sys/wait.h>

#include <cstdlib>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/assert.h"

namespace cuco::test {
namespace {

system::TempFolder make_folder() {
  auto folder = system::TempFolder::create("cuco-e2e");
  CUCO_ASSERT(folder.has_value());
  return *std::move(folder);
}

std::string contents(const system::Path& path) {
  auto text = system::read_file(path);
  return text ? *std::move(text) : "";
}

}  // namespace

Shell::Shell() : folder_(make_folder()) {}

Seen Shell::operator()(const std::string& command) const {
  const std::string place = folder_.path().string();
  // env -i: neither the developer's settings nor CI's may change what is seen.
  const std::string line = fmt::format(
      "cd {0} && env -i PATH=\"{1}:$PATH\" HOME={0} TERM=dumb sh -c '{2}' "
      ">{0}/.out 2>{0}/.error </dev/null",
      place, system::Path(CUCO_BINARY).parent_path().string(), command);
  const int status = std::system(line.c_str());
  Seen seen;
  seen.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  seen.out = contents(folder_.path() / ".out");
  seen.error = contents(folder_.path() / ".error");
  return seen;
}

void Shell::write(const std::string& name, const std::string& text) const {
  CUCO_ASSERT(system::write_file(folder_.path() / name, text).has_value());
}

void expect_golden(const std::string& name, const std::string& text) {
  const system::Path path = system::Path(CUCO_SOURCE_DIR) / "tests/golden/cli" / (name + ".txt");
  if (std::getenv("CUCO_UPDATE_GOLDEN") != nullptr) {
    ASSERT_TRUE(system::write_file(path, text));
    return;
  }
  const auto golden = system::read_file(path);
  ASSERT_TRUE(golden) << golden.error().message();
  EXPECT_EQ(text, *golden) << "if this is meant: CUCO_UPDATE_GOLDEN=1 ./test -R e2e_cli";
}

}  // namespace cuco::test
