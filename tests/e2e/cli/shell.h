// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs the built cuco as a person would, in a folder of its own with a home of its own.
#pragma once

#include <string>

#include "system/os/files.h"

namespace cuco::test {

/// What a person saw.
struct Seen {
  int exit_code = -1;
  std::string out;
  std::string error;
};

/// A folder to be in, and a shell.
class Shell {
 public:
  Shell();

  /// `command` is given to sh; `cuco` is the built program.
  Seen operator()(const std::string& command) const;
  void write(const std::string& name, const std::string& text) const;
  [[nodiscard]] const system::Path& folder() const { return folder_.path(); }

 private:
  system::TempFolder folder_;
};

/// Compares with tests/golden/cli/NAME.txt; CUCO_UPDATE_GOLDEN=1 rewrites it instead.
void expect_golden(const std::string& name, const std::string& text);

}  // namespace cuco::test
