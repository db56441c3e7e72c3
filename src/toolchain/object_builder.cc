// SPDX-License-Identifier: Apache-2.0
#include "toolchain/object_builder.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/text.h"
#include "system/os/process.h"
#include "toolchain/device_build.h"
#include "toolchain/library_flags.h"
#include "toolchain/printable.h"

namespace cuco::toolchain {
namespace {

using system::Path;

/// Those of our headers that the source names, and those that they name: a new header elsewhere
/// must not have everything built again.
Result<std::string> named_headers(std::string_view source, const Path& include) {
  CUCO_TRY_ASSIGN(auto left, system::walk(include));
  std::string text(source);
  for (bool grew = true; grew;) {
    grew = false;
    for (auto header = left.begin(); header != left.end(); ++header) {
      if (text.find(header->string()) == std::string::npos) continue;
      CUCO_TRY_ASSIGN(const std::string content, system::read_file(include / *header));
      text += "\n" + header->string() + "\n" + content;
      left.erase(header);
      grew = true;
      break;
    }
  }
  return text;
}

/// All that the object depends on: source, flags, headers, the compiler itself.
Result<std::string> fingerprint(std::string_view source,
                                const std::vector<std::string>& words,
                                const Path& include) {
  CUCO_TRY_ASSIGN(std::string text, named_headers(source, include));
  for (const std::string& word : words)
    text += "\n" + word;
  std::error_code code;
  const auto changed = std::filesystem::last_write_time(words.front(), code);
  return text + std::to_string(changed.time_since_epoch().count());
}

/// Only the errors, without the sandbox's folder, at a length that a person and a model can read.
std::string compiler_words(const system::JobOutcome& outcome, const Path& folder) {
  std::string text = outcome.out + outcome.err;
  const std::string prefix = folder.string() + "/";
  for (std::size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix, at)) {
    text.erase(at, prefix.size());
  }
  constexpr std::size_t kMost = 8000;
  if (text.size() > kMost) text = text.substr(0, kMost) + "\n[...]";
  return printable(text);
}

/// Moves a finished object to its place, readable by the ranks' user.
Result<Path> keep(const Path& object, const Path& place) {
  CUCO_TRY_ASSIGN(const std::string bytes, system::read_file(object));
  CUCO_TRY(system::write_file(place, bytes, 0755));
  return place;
}

std::vector<std::string> nvcc_words(const BuildSettings& settings, const Path& include) {
  return {(settings.cuda / "bin/nvcc").string(),
          "-std=c++17",
          "-O3",
          "-lineinfo",
          "-Xcompiler",
          "-fPIC",
          "-gencode",
          fmt::format("arch=compute_{0},code=compute_{0}", settings.architecture),
          "-I" + include.string()};
}

/// Nothing if nvcc has made what the words say; or why not.
Result<std::optional<BuildResult>> run_nvcc(std::vector<std::string> words,
                                            const BuildSettings& settings,
                                            const Path& include,
                                            const Path& folder,
                                            const std::vector<Path>& readable = {}) {
  system::JobSpec spec;
  spec.command.argv = std::move(words);
  spec.command.environment = system::Environment::bare();
  spec.command.environment.set(
      "PATH", fmt::format("{}:/usr/local/bin:/usr/bin:/bin", (settings.cuda / "bin").string()));
  spec.command.folder = folder;
  spec.limits.wall = settings.deadline;
  spec.limits.cpu = settings.deadline;
  spec.limits.memory = std::uint64_t{6} << 30U;
  spec.limits.processes = 128;
  spec.limits.file_size = std::uint64_t{256} << 20U;
  spec.sandbox = system::SandboxSpec{.tier = settings.tier, .writable = {folder}};
  for (const Path& path : {include, settings.cuda}) {
    if (!path.string().starts_with("/usr/")) spec.sandbox->read_only.push_back(path);
  }
  spec.sandbox->read_only.insert(spec.sandbox->read_only.end(), readable.begin(), readable.end());
  CUCO_TRY_ASSIGN(const system::JobOutcome outcome, system::run_job(spec));
  if (outcome.ending == system::Ending::NotStarted) {
    return Error{ErrorKind::Unavailable, "build: " + describe(outcome)};
  }
  if (outcome.ending == system::Ending::TimedOut) {
    const auto limit = static_cast<double>(settings.deadline.count());
    return std::optional<BuildResult>(candidate::TimedOut{"build", limit});
  }
  if (outcome.succeeded()) return std::optional<BuildResult>();
  std::string message = compiler_words(outcome, folder);
  if (outcome.ending != system::Ending::Exited) message = describe(outcome) + "\n" + message;
  return std::optional<BuildResult>(candidate::BuildFailed{std::move(message)});
}

/// Nothing: the whole has to be built. What nvcc's compiler of device code says against the program
/// it would say again.
Result<std::optional<BuildResult>> build_device_code(std::string_view source,
                                                     const DeviceBuild& device,
                                                     const BuildSettings& settings,
                                                     const Path& include,
                                                     const Path& stem) {
  using Built = std::optional<BuildResult>;
  for (const char* by : {".nvrtc.so", ".ptx.so"}) {
    const Path place = stem.string() + by;
    if (std::filesystem::exists(place)) return Built(place);
  }
  if (!device.has_base()) return Built();
  if (const auto ptx = device.ptx_by_nvrtc(); ptx && *ptx) {
    const Path place = stem.string() + ".nvrtc.so";
    CUCO_TRY_ASSIGN(const bool built, device.build(**ptx, place));
    if (built) return Built(place);
  }
  CUCO_TRY_ASSIGN(const system::TempFolder folder, system::TempFolder::create("cuco-build"));
  CUCO_TRY(system::write_file(folder.path() / "program.cu", source));
  std::vector<std::string> words = nvcc_words(settings, include);
  words.insert(words.end(), {"-ptx", "-o", "program.ptx", "program.cu"});
  CUCO_TRY_ASSIGN(auto failed, run_nvcc(std::move(words), settings, include, folder.path()));
  if (failed) return failed;
  CUCO_TRY_ASSIGN(const std::string ptx, system::read_file(folder.path() / "program.ptx"));
  const Path place = stem.string() + ".ptx.so";
  CUCO_TRY_ASSIGN(const bool built, device.build(ptx, place));
  return built ? Built(place) : Built();
}

}  // namespace

Result<BuildResult> build_candidate(std::string_view source, const BuildSettings& settings) {
  CUCO_TRY_ASSIGN(const Path include, system::find_data("include"));
  std::vector<std::string> words = nvcc_words(settings, include);
  // program.ptx and program.o are for DeviceBuild.
  words.insert(words.end(), {"--keep", "-shared", "-cudart", "none"});
  CUCO_TRY_ASSIGN(const std::string identity, fingerprint(source, words, include));
  const std::string name = to_hex(sha256(identity));
  const Path place = settings.cache / (name + ".so");
  if (std::filesystem::exists(place)) return BuildResult(place);
  CUCO_TRY(system::make_folder(settings.cache));

  std::optional<DeviceBuild> device;
  const auto split = program::split_device_code(source);
  if (split) {
    CUCO_TRY_ASSIGN(const std::string host, fingerprint(split->host, words, include));
    device.emplace(settings, *split, host);
  }
  if (device && settings.device_only) {
    auto built = build_device_code(source, *device, settings, include, settings.cache / name);
    if (built && *built) return **std::move(built);
  }

  CUCO_TRY_ASSIGN(const system::TempFolder folder, system::TempFolder::create("cuco-build"));
  CUCO_TRY(system::write_file(folder.path() / "program.cu", source));
  words.insert(words.end(), {"-o", "candidate.so", "program.cu"});
  CUCO_TRY_ASSIGN(auto failed, run_nvcc(words, settings, include, folder.path()));
  if (failed) return *std::move(failed);
  CUCO_TRY_ASSIGN(Path kept, keep(folder.path() / "candidate.so", place));
  if (device) CUCO_TRY(device->keep_base(folder.path()));
  return BuildResult(std::move(kept));
}

namespace {

/// Folders and files that the flags name, so that the compiler can see them in its sandbox.
std::vector<Path> named_paths(const std::vector<std::string>& flags) {
  std::vector<Path> paths;
  std::error_code code;
  for (const std::string& flag : flags) {
    const std::string_view text = flag;
    const bool glued = text.starts_with("-I") || text.starts_with("-L");
    const Path path = glued ? text.substr(2) : text;
    if (path.is_absolute() && !path.string().starts_with("/usr/") &&
        std::filesystem::exists(path, code))
      paths.push_back(path);
  }
  return paths;
}

/// What lies in those folders counts for the program, too.
Result<std::string> contents_of(const std::vector<Path>& paths) {
  std::string text;
  for (const Path& path : paths) {
    std::vector<Path> files{path};
    if (std::filesystem::is_directory(path)) {
      files.clear();
      CUCO_TRY_ASSIGN(const auto names, system::walk(path));
      for (const Path& name : names)
        files.push_back(path / name);
    }
    for (const Path& file : files) {
      std::error_code code;
      const auto changed = std::filesystem::last_write_time(file, code).time_since_epoch();
      text += fmt::format("\n{} {} {}", file.string(), changed.count(),
                          std::filesystem::file_size(file, code));
    }
  }
  return text;
}

}  // namespace

Result<BuildResult> build_whole_program(std::string_view source,
                                        const std::vector<std::string>& flags,
                                        const BuildSettings& settings) {
  CUCO_TRY_ASSIGN(const Path include, system::find_data("include"));
  std::vector<std::string> words = {
      (settings.cuda / "bin/nvcc").string(), "-cudart", "shared", "-O3", "-std=c++17", "-lineinfo",
      // PTX to run; machine code for its register counts.
      "-gencode", fmt::format("arch=compute_{0},code=[compute_{0},sm_{0}]", settings.architecture)};
  words.insert(words.end(), flags.begin(), flags.end());
  const auto libraries = library_flags(source);
  words.insert(words.end(), libraries.begin(), libraries.end());
  CUCO_TRY_ASSIGN(const std::string identity, fingerprint(source, words, include));
  const std::vector<Path> named = named_paths(flags);
  CUCO_TRY_ASSIGN(const std::string contents, contents_of(named));
  const Path place = settings.cache / (to_hex(sha256(identity + contents)) + ".program");
  if (std::filesystem::exists(place)) return BuildResult(place);
  CUCO_TRY(system::make_folder(settings.cache));
  CUCO_TRY_ASSIGN(const system::TempFolder folder, system::TempFolder::create("cuco-build"));
  CUCO_TRY(system::write_file(folder.path() / "program.cu", source));
  words.insert(words.begin() + 1, {"-o", "program", "program.cu"});
  CUCO_TRY_ASSIGN(auto failed, run_nvcc(words, settings, include, folder.path(), named));
  if (failed) return *std::move(failed);
  CUCO_TRY_ASSIGN(Path kept, keep(folder.path() / "program", place));
  return BuildResult(std::move(kept));
}

Result<Path> build_oracle(const Path& source, const BuildSettings& settings) {
  CUCO_TRY_ASSIGN(const Path include, system::find_data("include"));
  const system::Environment environment = system::Environment::bare();
  CUCO_TRY_ASSIGN(const Path compiler, system::find_program("g++", *environment.get("PATH")));
  std::vector<std::string> words = {compiler.string(), "-std=c++20", "-O3",
                                    "-shared",         "-fPIC",      "-I" + include.string()};
  CUCO_TRY_ASSIGN(const std::string text, system::read_file(source));
  CUCO_TRY_ASSIGN(const std::string identity, fingerprint(text, words, include));
  const Path place = settings.cache / (to_hex(sha256(identity)) + ".oracle.so");
  if (std::filesystem::exists(place)) return place;
  CUCO_TRY(system::make_folder(settings.cache));
  CUCO_TRY_ASSIGN(const system::TempFolder folder, system::TempFolder::create("cuco-build"));
  const Path object = folder.path() / "oracle.so";
  words.insert(words.end(), {"-o", object.string(), std::filesystem::absolute(source).string()});
  system::JobSpec spec;
  spec.command.argv = words;
  spec.command.environment = environment;
  spec.limits.wall = settings.deadline;
  CUCO_TRY_ASSIGN(const system::JobOutcome outcome, system::run_job(spec));
  if (!outcome.succeeded()) {
    return Error{ErrorKind::InvalidInput, fmt::format("compile '{}': {}\n{}", source.string(),
                                                      describe(outcome), trim(outcome.err))};
  }
  return keep(object, place);
}

}  // namespace cuco::toolchain
