// SPDX-License-Identifier: Apache-2.0
// cuco-manual FOLDER: writes the pages that an installation has. Part of the build, not installed.
#include <cstdio>

#include "cli/commands/commands.h"
#include "cli/manual/man_pages.h"
#include "cli/version.h"
#include "system/os/files.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: cuco-manual FOLDER\n", stderr);
    return 2;
  }
  const cuco::system::Path folder = argv[1];
  auto done = cuco::system::make_folder(folder);
  for (const auto& page : cuco::cli::man_pages(cuco::cli::all_commands(), cuco::cli::kVersion)) {
    if (done) done = cuco::system::write_file(folder / page.path, page.text);
  }
  if (!done) std::fprintf(stderr, "cuco-manual: %s\n", done.error().message().c_str());
  return done ? 0 : 1;
}
