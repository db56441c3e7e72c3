// SPDX-License-Identifier: Apache-2.0
// A cache entry is a folder named by the hash of the sources' contents and the flags. Beside the
// program it keeps the hashes of all headers of the user's that went in: the entry counts only
// while they are unchanged. Headers below /usr come with the toolchain, whose version is hashed.
#include "run/program_build.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/printable.h"
#include "base/text.h"
#include "system/os/environment.h"
#include "targets/virtual/server_process.h"
#include "toolchain/nvcc.h"

namespace cuco::run {
namespace {

constexpr std::string_view kToolchainRoot = "/usr/";

/// As the user would run it, in the user's folder.
Result<system::JobOutcome> run_nvcc(const toolchain::Nvcc& nvcc, std::vector<std::string> words) {
  return nvcc.run(std::move(words), {.folder = std::filesystem::current_path()});
}

/// The user's headers in a make-style dependency list.
std::vector<system::Path> user_headers(const std::string& dependencies) {
  std::vector<system::Path> headers;
  std::istringstream words(dependencies);
  for (std::string word; words >> word;) {
    if (word == "\\" || word.starts_with(kToolchainRoot)) continue;
    if (word.ends_with(":")) {
      // "target.o : first.h": what stood before the colon is not a header.
      if (word.size() == 1 && !headers.empty()) headers.pop_back();
      continue;
    }
    headers.emplace_back(word);
  }
  std::ranges::sort(headers);
  const auto duplicates = std::ranges::unique(headers);
  headers.erase(duplicates.begin(), duplicates.end());
  return headers;
}

/// One line per file, hash first: what `is_current` compares.
Result<std::string> hash_lines(const std::vector<system::Path>& files) {
  std::string lines;
  for (const system::Path& file : files) {
    CUCO_TRY_ASSIGN(const std::string content, system::read_file(file));
    lines += fmt::format("{} {}\n", to_hex(sha256(content)), file.string());
  }
  return lines;
}

/// 65 is the length of a hash and the space behind it.
bool is_current(const system::Path& entry) {
  const auto recorded = system::read_file(entry / "headers");
  if (!recorded || !std::filesystem::exists(entry / "program")) return false;
  std::vector<system::Path> files;
  for (const std::string_view line : split(*recorded, '\n')) {
    if (line.size() > 65) files.emplace_back(line.substr(65));
  }
  const auto now = hash_lines(files);
  return now && *now == *recorded;
}

Result<void> compile(const BuildRequest& request,
                     const std::vector<std::string>& flags,
                     const toolchain::Nvcc& nvcc,
                     const system::Path& entry) {
  CUCO_TRY(system::make_folder(entry.parent_path()));
  CUCO_TRY_ASSIGN(const system::TempFolder work,
                  system::TempFolder::create("build", entry.parent_path()));
  std::vector<std::string> argv = flags;
  std::string dependencies;
  for (const system::Path& source : request.sources) {
    if (source.extension() == ".o" || source.extension() == ".a") continue;
    std::vector<std::string> list = argv;
    // All headers, those in system folders too: user_headers() leaves out the toolchain's.
    list.emplace_back("-M");
    list.push_back(source.string());
    CUCO_TRY_ASSIGN(const auto listed, run_nvcc(nvcc, std::move(list)));
    if (!listed.succeeded()) {
      return Error{ErrorKind::InvalidInput,
                   fmt::format("nvcc could not compile {}:\n{}", source.string(),
                               toolchain::compiler_message(listed, work.path()))};
    }
    dependencies += listed.out;
  }
  CUCO_TRY_ASSIGN(const std::string headers, hash_lines(user_headers(dependencies)));
  for (const system::Path& source : request.sources)
    argv.push_back(source.string());
  argv.emplace_back("-o");
  argv.push_back((work.path() / "program").string());
  CUCO_TRY_ASSIGN(const auto outcome, run_nvcc(nvcc, std::move(argv)));
  if (!outcome.succeeded()) {
    return Error{ErrorKind::InvalidInput,
                 fmt::format("nvcc could not build {}:\n{}", request.sources.front().string(),
                             toolchain::compiler_message(outcome, work.path()))};
  }
  CUCO_TRY(system::write_file(work.path() / "headers", headers));
  // Another cuco may have built the same meanwhile: the last one stays, and they are equal.
  std::error_code ignored;
  std::filesystem::remove_all(entry, ignored);
  std::filesystem::create_directories(entry, ignored);
  for (const char* name : {"program", "headers"}) {
    std::filesystem::rename(work.path() / name, entry / name, ignored);
  }
  return {};
}

struct SourceText {
  system::Path path;
  std::string text;
};

/// The sources and what they include with quotes.
std::vector<SourceText> own_texts(const BuildRequest& request) {
  std::vector<system::Path> folders;
  for (const std::string& flag : request.flags) {
    if (flag.starts_with("-I")) folders.emplace_back(flag.substr(2));
  }
  std::vector<SourceText> texts;
  std::vector<system::Path> pending = request.sources;
  std::set<system::Path> seen;
  while (!pending.empty()) {
    const system::Path path = pending.back();
    pending.pop_back();
    std::error_code ignored;
    const system::Path real = std::filesystem::weakly_canonical(path, ignored);
    if (real.string().starts_with(kToolchainRoot) || !seen.insert(real).second) continue;
    if (path.extension() == ".o" || path.extension() == ".a") continue;
    auto content = system::read_file(path);
    if (!content) continue;
    for (const std::string& name : program::local_includes(*content)) {
      std::vector<system::Path> candidates = {path.parent_path() / name};
      for (const system::Path& folder : folders)
        candidates.push_back(folder / name);
      const auto found = std::ranges::find_if(
          candidates, [](const auto& file) { return std::filesystem::is_regular_file(file); });
      if (found != candidates.end()) pending.push_back(*found);
    }
    texts.push_back({path, *std::move(content)});
  }
  return texts;
}

/// Does the program name a call or a word by which the host shares memory with devices?
bool shares_memory(std::string_view text) {
  constexpr std::array<std::string_view, 7> kWays = {
      "cudaMallocHost", "cudaHostAlloc",  "cudaMallocManaged", "__managed__",
      "cuMemAllocHost", "cuMemHostAlloc", "cuMemAllocManaged"};
  return std::ranges::any_of(
      kWays, [&](std::string_view way) { return text.find(way) != std::string_view::npos; });
}

/// The compiler calls before every access of host code (as for its thread sanitizer), and the
/// linker takes our library for what is called. Only the compiler proper is told, by way of its
/// driver's specs, so that the linker does not ask for the sanitizer's library.
constexpr std::string_view kWatchSpecs =
    "*cc1plus:\n"
    "+ -fsanitize=thread --param tsan-distinguish-volatile=1 "
    "--param tsan-instrument-func-entry-exit=0 -U__SANITIZE_THREAD__ -fno-builtin-memcpy "
    "-fno-builtin-memmove -fno-builtin-memset -fno-builtin-memcmp\n\n";

Result<std::vector<std::string>> watch_flags(const system::Path& cache) {
  CUCO_TRY_ASSIGN(const system::Path libraries, targets::find_library_folder());
  CUCO_TRY(system::make_folder(cache));
  const system::Path specs = cache / ("watch-" + content_id(std::string(kWatchSpecs)) + ".specs");
  if (!std::filesystem::exists(specs)) {
    CUCO_TRY(system::write_file(specs, std::string(kWatchSpecs)));
  }
  std::vector<std::string> flags = {"-Xcompiler", "-specs=" + specs.string()};
  for (const char* word : {"--wrap=memcpy", "--wrap=memmove", "--wrap=memset", "--wrap=memcmp",
                           "--push-state", "--no-as-needed"}) {
    flags.insert(flags.end(), {"-Xlinker", word});
  }
  flags.insert(flags.end(),
               {"-Xlinker", (libraries / "libcuco-host.so").string(), "-Xlinker", "--pop-state"});
  return flags;
}

}  // namespace

void tell_nccl_warnings(const std::vector<program::NcclWarning>& warnings,
                        const system::Path& file) {
  for (const program::NcclWarning& warning : warnings) {
    fmt::print(stderr, "cuco: warning: {}:{}: {}\n",
               printable(warning.file.empty() ? file.string() : warning.file), warning.line,
               printable(warning.message));
  }
}

bool is_source(const system::Path& path) {
  constexpr std::array<std::string_view, 8> kSuffixes = {".cu", ".cpp", ".cc", ".cxx",
                                                         ".c",  ".o",   ".a",  ".ptx"};
  return std::ranges::find(kSuffixes, path.extension().string()) != kSuffixes.end();
}

Result<system::Path> build_program(const BuildRequest& request) {
  CUCO_TRY_ASSIGN(toolchain::CudaToolkit toolkit,
                  toolchain::find_cuda(system::Environment::current()));
  const toolchain::Nvcc nvcc(std::move(toolkit));
  std::string identity = nvcc.identity() + "\n";
  for (const system::Path& source : request.sources) {
    CUCO_TRY_ASSIGN(const std::string content, system::read_file(source));
    // The path is part of it: it is in -lineinfo and decides which "headers" are found.
    identity += std::filesystem::absolute(source).string() + "\n" + content + "\n";
  }
  const std::vector<SourceText> texts = own_texts(request);
  std::string all;
  for (const SourceText& source : texts)
    all += source.text;
  if (all.find("nccl") != std::string::npos) {
    for (const SourceText& source : texts)
      tell_nccl_warnings(program::lint_nccl_2_28(source.text), source.path);
  }
  const std::vector<std::string> flags =
      toolchain::program_flags(nvcc.toolkit(), std::to_string(request.sm), request.flags, all);
  const auto build = [&](const std::vector<std::string>& all_flags) -> Result<system::Path> {
    const system::Path entry =
        request.cache / "programs" / content_id(identity + join(all_flags, "\n"));
    if (!is_current(entry)) CUCO_TRY(compile(request, all_flags, nvcc, entry));
    return entry / "program";
  };
  if (request.watches_host && shares_memory(all)) {
    // A host compiler that cannot do it, or a program that does not take it: built as ever, and
    // the run says that it is not watched.
    if (const auto watch = watch_flags(request.cache)) {
      std::vector<std::string> watched = flags;
      watched.insert(watched.end(), watch->begin(), watch->end());
      if (auto built = build(watched)) return built;
    }
  }
  return build(flags);
}

}  // namespace cuco::run
