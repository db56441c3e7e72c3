// SPDX-License-Identifier: Apache-2.0
#include "toolchain/object_builder.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "program/regions.h"
#include "system/jobs/process.h"
#include "system/os/kernel.h"
#include "toolchain/device_build.h"
#include "toolchain/machine_code.h"
#include "toolchain/nvcc.h"

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
                                const Path& include,
                                std::string_view compiler) {
  CUCO_TRY_ASSIGN(std::string text, named_headers(source, include));
  for (const std::string& word : words)
    text += "\n" + word;
  return text.append("\n").append(compiler);
}

/// Moves a finished object to its place, readable by the ranks' user.
Result<Path> keep(const Path& object, const Path& place) {
  CUCO_TRY_ASSIGN(const std::string bytes, system::read_file(object));
  CUCO_TRY(system::write_file(place, bytes, 0755));
  return place;
}

/// nvcc with what a build of judged code is given besides.
struct Compiler {
  Nvcc nvcc;
  Path include;  ///< Our own headers.
};

Result<Compiler> open_compiler(const BuildSettings& settings) {
  CUCO_TRY_ASSIGN(CudaToolkit toolkit, toolkit_of(settings));
  CUCO_TRY_ASSIGN(const Path include, system::find_data("include"));
  return Compiler{Nvcc(std::move(toolkit)), include};
}

std::vector<std::string> object_flags(const Compiler& compiler, const BuildSettings& settings) {
  std::vector<std::string> words = {
      "-std=c++17", "-O3", "-lineinfo", "-Xcompiler", "-fPIC", "-gencode",
      // The machine code beside the PTX says how many registers ptxas uses, and what it spills.
      fmt::format("arch=compute_{0},code=[compute_{0},sm_{0}]", settings.architecture),
      "-I" + compiler.include.string()};
  const auto nccl = compiler.nvcc.toolkit().nccl_flags();
  words.insert(words.end(), nccl.begin(), nccl.end());
  return words;
}

/// Nothing if nvcc succeeded; or why not.
Result<std::optional<BuildResult>> compile(const Compiler& compiler,
                                           const std::vector<std::string>& words,
                                           const BuildSettings& settings,
                                           const Path& folder,
                                           const std::vector<Path>& readable = {}) {
  NvccJob job{.folder = folder};
  job.limits.wall = settings.deadline;
  job.limits.cpu = settings.deadline;
  job.limits.memory = std::uint64_t{6} << 30U;
  job.limits.processes = 128;
  job.limits.file_size = std::uint64_t{256} << 20U;
  job.sandbox =
      system::SandboxSpec{.tier = settings.tier, .read_only = readable, .writable = {folder}};
  if (!compiler.include.string().starts_with("/usr/"))
    job.sandbox->read_only.push_back(compiler.include);
  CUCO_TRY_ASSIGN(const system::JobOutcome outcome, compiler.nvcc.run(words, job));
  if (outcome.ending == system::Ending::NotStarted) {
    return Error{ErrorKind::Unavailable, "build: " + describe(outcome)};
  }
  if (outcome.ending == system::Ending::TimedOut) {
    const auto limit = static_cast<double>(settings.deadline.count());
    return std::optional<BuildResult>(CompileTimeout{limit});
  }
  if (outcome.succeeded()) return std::optional<BuildResult>();
  std::string message = compiler_message(outcome, folder);
  if (outcome.ending != system::Ending::Exited) message = describe(outcome) + "\n" + message;
  return std::optional<BuildResult>(CompileError{std::move(message)});
}

/// Changes with what is recorded, so that no record of an older kind is taken for one.
constexpr std::string_view kRecordVersion = "\nfrozen code, 4";

/// The record of the frozen code lies beside its object.
Path record_of(const Path& object) {
  return object.string() + ".frozen";
}

Json as_json(const program::FrozenText& text) {
  return {{"stretches", text.stretches}, {"trouble", text.trouble}};
}

/// From what nvcc keeps: the input of its two compilers, as its preprocessor has made it.
Result<std::string> read_frozen(const Path& folder,
                                std::string_view source,
                                const std::string& secret,
                                const Path& headers) {
  CUCO_TRY_ASSIGN(const auto regions, program::find_regions(source));
  const auto side = [&](const char* name) -> Result<Json> {
    CUCO_TRY_ASSIGN(const std::string output, system::read_file(folder / name));
    return as_json(program::read_preprocessed(output, secret, regions.size(), headers.string()));
  };
  Json record;
  CUCO_TRY_ASSIGN(record["host"], side("program.cpp4.ii"));
  CUCO_TRY_ASSIGN(record["device"], side("program.cpp1.ii"));
  return to_text(record);
}

/// Nothing: the whole has to be built. What nvcc's compiler of device code says against the program
/// it would say again.
Result<std::optional<BuildResult>> build_device_code(std::string_view source,
                                                     const DeviceBuild& device,
                                                     const Compiler& compiler,
                                                     const BuildSettings& settings,
                                                     const Path& stem) {
  using Built = std::optional<BuildResult>;
  for (const char* by : {".nvrtc.so", ".ptx.so"}) {
    const Path place = stem.string() + by;
    if (std::filesystem::exists(place)) return Built(place);
  }
  if (!device.has_base()) return Built();
  if (const auto ptx = device.ptx_by_nvrtc(); ptx && *ptx) {
    const Path place = stem.string() + ".nvrtc.so";
    CUCO_TRY_ASSIGN(const bool built, device.build(**ptx, place, record_of(place)));
    if (built) return Built(place);
  }
  CUCO_TRY_ASSIGN(const system::TempFolder folder, system::TempFolder::create("cuco-build"));
  CUCO_TRY(system::write_file(folder.path() / "program.cu", source));
  std::vector<std::string> words = object_flags(compiler, settings);
  words.insert(words.end(), {"-ptx", "-o", "program.ptx", "program.cu"});
  CUCO_TRY_ASSIGN(auto failed, compile(compiler, words, settings, folder.path()));
  if (failed) return failed;
  CUCO_TRY_ASSIGN(const std::string ptx, system::read_file(folder.path() / "program.ptx"));
  const Path place = stem.string() + ".ptx.so";
  CUCO_TRY_ASSIGN(const bool built, device.build(ptx, place, record_of(place)));
  return built ? Built(place) : Built();
}

}  // namespace

Result<CudaToolkit> toolkit_of(const BuildSettings& settings) {
  if (settings.cuda) return *settings.cuda;
  return find_cuda(system::Environment::current());
}

Result<FrozenParts> frozen_parts(const Path& object) {
  CUCO_TRY_ASSIGN(const std::string text, system::read_file(record_of(object)));
  CUCO_TRY_ASSIGN(const Json record, parse_json(text));
  const auto side = [&](const char* name) -> program::FrozenText {
    const Json& part = record.at(name);
    return {part.at("stretches").get<std::vector<std::string>>(),
            part.at("trouble").get<std::string>()};
  };
  try {
    return FrozenParts{side("host"), side("device")};
  } catch (const Json::exception& error) {
    return Error{ErrorKind::InvalidInput, fmt::format("{}: {}; remove it, and it is built again",
                                                      record_of(object).string(), error.what())};
  }
}

Result<BuildResult> build_candidate(std::string_view source, const BuildSettings& settings) {
  CUCO_TRY_ASSIGN(const Compiler compiler, open_compiler(settings));
  std::vector<std::string> words = object_flags(compiler, settings);
  // program.ptx and program.o are for DeviceBuild.
  // The preprocessor's output is kept, too; 161: it does not know our marks.
  words.insert(words.end(), {"--keep", "-shared", "-cudart", "none", "-diag-suppress", "161"});
  const std::string nvcc = compiler.nvcc.identity() + std::string(kRecordVersion);
  CUCO_TRY_ASSIGN(const std::string identity, fingerprint(source, words, compiler.include, nvcc));
  const std::string name = to_hex(sha256(identity));
  const Path place = settings.cache / (name + ".so");
  if (std::filesystem::exists(place)) return BuildResult(place);
  CUCO_TRY(system::make_folder(settings.cache));

  std::optional<DeviceBuild> device;
  const auto split = program::split_device_code(source);
  if (split) {
    CUCO_TRY_ASSIGN(const std::string host,
                    fingerprint(split->host, words, compiler.include, nvcc));
    device.emplace(settings, *split, host);
  }
  if (device && settings.device_only) {
    auto built = build_device_code(source, *device, compiler, settings, settings.cache / name);
    if (built && *built) return **std::move(built);
  }

  CUCO_TRY_ASSIGN(const system::TempFolder folder, system::TempFolder::create("cuco-build"));
  CUCO_TRY_ASSIGN(const std::string random, system::random_bytes(16));
  const std::string secret = to_hex(sha256(random)).substr(0, 32);
  CUCO_TRY_ASSIGN(const std::string marked, program::mark_regions(source, secret));
  CUCO_TRY(system::write_file(folder.path() / "program.cu", marked));
  words.insert(words.end(), {"-o", "candidate.so", "program.cu"});
  CUCO_TRY_ASSIGN(auto failed, compile(compiler, words, settings, folder.path()));
  if (failed) return *std::move(failed);
  CUCO_TRY_ASSIGN(const std::string record,
                  read_frozen(folder.path(), source, secret, compiler.include));
  CUCO_TRY(system::write_file(record_of(place), record));
  CUCO_TRY_ASSIGN(const std::string ptx, system::read_file(folder.path() / "program.ptx"));
  CUCO_TRY_ASSIGN(const std::string object, system::read_file(folder.path() / "program.o"));
  if (const auto code = machine_code(ptx, std::as_bytes(std::span(object))))
    CUCO_TRY(keep_machine_code(place, *code));
  CUCO_TRY_ASSIGN(Path kept, keep(folder.path() / "candidate.so", place));
  if (device) CUCO_TRY(device->keep_base(folder.path(), record));
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
  CUCO_TRY_ASSIGN(const Compiler compiler, open_compiler(settings));
  std::vector<std::string> words =
      program_flags(compiler.nvcc.toolkit(), settings.architecture, flags, source);
  CUCO_TRY_ASSIGN(const std::string identity,
                  fingerprint(source, words, compiler.include, compiler.nvcc.identity()));
  const std::vector<Path> named = named_paths(flags);
  CUCO_TRY_ASSIGN(const std::string contents, contents_of(named));
  const Path place = settings.cache / (to_hex(sha256(identity + contents)) + ".program");
  if (std::filesystem::exists(place)) return BuildResult(place);
  CUCO_TRY(system::make_folder(settings.cache));
  CUCO_TRY_ASSIGN(const system::TempFolder folder, system::TempFolder::create("cuco-build"));
  CUCO_TRY(system::write_file(folder.path() / "program.cu", source));
  words.insert(words.begin(), {"-o", "program", "program.cu"});
  CUCO_TRY_ASSIGN(auto failed, compile(compiler, words, settings, folder.path(), named));
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
  // Sums keep their order, and there are no fused ones: the numbers are those of any machine.
  if (__builtin_cpu_supports("avx2") != 0) words.emplace_back("-mavx2");
  CUCO_TRY_ASSIGN(const std::string text, system::read_file(source));
  std::error_code code;
  const auto changed = std::filesystem::last_write_time(compiler, code).time_since_epoch();
  CUCO_TRY_ASSIGN(const std::string identity,
                  fingerprint(text, words, include, std::to_string(changed.count())));
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
