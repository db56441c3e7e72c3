// SPDX-License-Identifier: Apache-2.0
#include "cli/programs/program_files.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/text.h"
#include "expert/standalone/nccl_names.h"
#include "program/joined.h"
#include "program/tokens.h"

namespace cuco::cli {
namespace {

constexpr std::size_t kLargestFile = 4U << 20U;

/// Headers that lie where the file does, or below: those of others stay what they are.
std::optional<program::File> header_beside(const std::string& includer, std::string_view name) {
  const system::Path path = (system::Path(includer).parent_path() / name).lexically_normal();
  std::error_code code;
  if (!std::filesystem::is_regular_file(path, code)) return std::nullopt;
  auto text = system::read_file(path, kLargestFile);
  if (!text) return std::nullopt;
  return program::File{path.string(), *std::move(text)};
}

Result<std::string> with_headers(const system::Path& file) {
  CUCO_TRY_ASSIGN(std::string text, system::read_file(file, kLargestFile));
  return program::joined({file.string(), std::move(text)}, header_beside, kLargestFile);
}

/// Files of several folders may have the same name; that of the first is taken.
std::string own_name(const system::Path& file,
                     const system::Path& first,
                     const std::vector<program::File>& others) {
  std::string name = file.filename().string();
  const auto is_taken = [&] {
    return system::Path(name).stem() == first.stem() ||
           std::ranges::find(others, name, &program::File::path) != others.end();
  };
  for (int number = 2; is_taken(); ++number)
    name = fmt::format("{}_{}{}", file.stem().string(), number, file.extension().string());
  return name;
}

bool communicates(const std::string& text) {
  const auto names = program::identifiers(text);
  return std::ranges::any_of(
      names, [](const auto& name) { return expert::drop_in_for(name.name) != nullptr; });
}

}  // namespace

bool has_main(const std::string& text) {
  const auto tokens = program::tokens(text);
  for (std::size_t i = 0; i + 2 < tokens.size(); ++i) {
    const bool typed = tokens[i] == "int" || tokens[i] == "auto";
    if (typed && tokens[i + 1] == "main" && tokens[i + 2] == "(") return true;
  }
  return false;
}

Result<std::vector<system::Path>> main_first(std::vector<system::Path> files) {
  if (files.size() < 2) return files;
  std::vector<std::string> with;
  for (auto& file : files) {
    std::error_code code;
    if (!std::filesystem::is_regular_file(file, code)) {
      return Error{
          ErrorKind::NotFound,
          fmt::format("no such file: {}; several names are the sources of one program, and "
                      "its arguments follow --",
                      file.string())};
    }
    CUCO_TRY_ASSIGN(const std::string text, system::read_file(file, kLargestFile));
    if (!has_main(text)) continue;
    with.push_back(file.string());
    std::swap(file, files.front());
  }
  if (with.size() == 1) return files;
  return Error{ErrorKind::InvalidInput,
               with.empty()
                   ? std::string("none of these files defines main()")
                   : fmt::format("several files define main(): {}; name those of one program",
                                 join(with, ", "))};
}

Result<ProgramFiles> read_program_files(const std::vector<system::Path>& files,
                                        const system::Path& cache) {
  ProgramFiles read;
  for (const system::Path& file : files) {
    CUCO_TRY_ASSIGN(std::string text, with_headers(file));
    if (&file == &files.front()) {
      read.text = std::move(text);
    } else if (communicates(text)) {
      read.text += fmt::format("\n// {}\n{}", file.filename().string(), text);
    } else {
      const system::Path folder = cache / "sources";
      const system::Path kept =
          folder / (to_hex(sha256(text)).substr(0, 32) + file.extension().string());
      CUCO_TRY(system::make_folder(folder));
      CUCO_TRY(system::write_file(kept, text));
      read.beside.push_back(std::filesystem::absolute(kept));
      read.to_write.push_back({own_name(file, files.front(), read.to_write), std::move(text)});
    }
  }
  return read;
}

}  // namespace cuco::cli
