// SPDX-License-Identifier: Apache-2.0
//
// NVRTC knows no headers of the C library and only device code. What our programs include of both
// is made palatable here: stand-ins for the C headers, `__host__` made to mean nothing, and two
// places of NCCL's device headers rewritten that only nvcc's front end accepts. Whether the code is
// still the same is not believed but compared, see device_build.cc.
#include "toolchain/nvrtc.h"

#include <algorithm>
#include <regex>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/text.h"
#include "system/jobs/process.h"

namespace cuco::toolchain {
namespace {

using system::Path;

constexpr std::string_view kFirstHeader = "cuco_device.h";
constexpr std::string_view kFirstText =
    "#include <cuda_runtime.h>\n"
    "#undef __host__\n"
    "#define __host__\n";
constexpr std::string_view kLinuxTypes =
    "#pragma once\n"
    "typedef signed char __s8;\ntypedef unsigned char __u8;\n"
    "typedef short __s16;\ntypedef unsigned short __u16;\n"
    "typedef int __s32;\ntypedef unsigned __u32;\n"
    "typedef long long __s64;\ntypedef unsigned long long __u64;\n"
    "typedef __u16 __be16;\ntypedef __u32 __be32;\ntypedef __u64 __be64;\n";
constexpr std::string_view kMath =
    "#pragma once\n"
    "#define INFINITY __int_as_float(0x7f800000)\n#define HUGE_VALF INFINITY\n"
    "#define NAN __int_as_float(0x7fffffff)\n"
    "#define M_E 2.7182818284590452354\n#define M_LOG2E 1.4426950408889634074\n"
    "#define M_LN2 0.69314718055994530942\n#define M_PI 3.14159265358979323846\n"
    "#define M_SQRT1_2 0.70710678118654752440\n";
constexpr std::string_view kErrors =
    "#pragma once\n#define EIO 5\n#define EAGAIN 11\n#define ENOMEM 12\n#define EBUSY 16\n"
    "#define EINVAL 22\n#define ETIMEDOUT 110\n";
constexpr std::size_t kKeptHeaders = 4;  // precompiled ones, of 10 to 120 MB

/// NVRTC has no arrays of size zero, and wants to know that a struct is packed before it begins.
std::string palatable(std::string text) {
  static const std::regex zero_size(R"(\[sizeof\(T\)/(\d+)\])");
  static const std::regex packed(R"(struct \{([^{}]*)\} __attribute__\(\(packed\)\))");
  text = std::regex_replace(text, zero_size, "[(sizeof(T)+$1-1)/$1]");
  return std::regex_replace(text, packed, "struct __attribute__((packed)) {$1}");
}

Result<void> fill_headers(const Path& folder, const Path& cuda_include) {
  for (const char* name : {"limits.h", "stdint.h", "stddef.h", "stdlib.h",   "stdio.h",  "string.h",
                           "assert.h", "math.h",   "errno.h",  "time.h",     "cstdint",  "cstddef",
                           "cstdlib",  "cstdio",   "cstring",  "inttypes.h", "unistd.h", "stdarg.h",
                           "cassert",  "cmath",    "climits",  "stdbool.h"}) {
    CUCO_TRY(system::write_file(folder / name, "#pragma once\n"));
  }
  for (const char* name : {"math.h", "cmath"})
    CUCO_TRY(system::write_file(folder / name, kMath));
  for (const char* name : {"errno.h", "cerrno"})
    CUCO_TRY(system::write_file(folder / name, kErrors));
  CUCO_TRY(system::make_folder(folder / "linux"));
  CUCO_TRY(system::write_file(folder / "linux/types.h", kLinuxTypes));
  CUCO_TRY(system::write_file(folder / kFirstHeader, kFirstText));
  if (!std::filesystem::exists(cuda_include / "nccl_device.h")) return {};
  CUCO_TRY_ASSIGN(const std::string top, system::read_file(cuda_include / "nccl_device.h"));
  CUCO_TRY(system::write_file(folder / "nccl_device.h", top));
  CUCO_TRY_ASSIGN(const auto names, system::walk(cuda_include / "nccl_device"));
  for (const Path& name : names) {
    CUCO_TRY_ASSIGN(std::string text, system::read_file(cuda_include / "nccl_device" / name));
    CUCO_TRY(system::make_folder((folder / "nccl_device" / name).parent_path()));
    CUCO_TRY(system::write_file(folder / "nccl_device" / name, palatable(std::move(text))));
  }
  return {};
}

/// The headers that stand in for others, made once for this toolkit.
Result<Path> stand_in_headers(const CudaToolkit& toolkit, const BuildSettings& settings) {
  const Path include = toolkit.include();
  std::string identity = std::string(kFirstText) + std::string(kLinuxTypes) + std::string(kMath) +
                         std::string(kErrors) + "3";
  for (const char* name : {"nccl_device/utility.h", "nccl.h", "cuda_runtime.h"}) {
    if (const auto text = system::read_file(include / name)) identity += *text;
  }
  const Path place =
      settings.cache / "nvrtc" / ("include-" + to_hex(sha256(identity)).substr(0, 16));
  if (std::filesystem::exists(place / kFirstHeader)) return place;
  CUCO_TRY(system::make_folder(place.parent_path()));
  CUCO_TRY_ASSIGN(system::TempFolder folder,
                  system::TempFolder::create("include", place.parent_path()));
  std::error_code code;
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755), code);
  CUCO_TRY(fill_headers(folder.path(), include));
  std::filesystem::rename(folder.path(), place, code);  // another may have been quicker
  if (!code) folder.keep();
  return place;
}

struct Toolbox {
  CudaToolkit toolkit;
  Path program;
  Path library;
  Path headers;
  Path own_headers;
  std::vector<std::string> options;
};

Result<Toolbox> open_toolbox(const BuildSettings& settings) {
  Toolbox box;
  CUCO_TRY_ASSIGN(box.program, system::find_helper("cuco-nvrtc"));
  CUCO_TRY_ASSIGN(box.toolkit, toolkit_of(settings));
  const auto library = box.toolkit.nvrtc();
  if (!library) return Error{ErrorKind::NotFound, "there is no libnvrtc"};
  box.library = *library;
  CUCO_TRY_ASSIGN(box.headers, stand_in_headers(box.toolkit, settings));
  CUCO_TRY_ASSIGN(box.own_headers, system::find_data("include"));
  const std::string include = box.toolkit.include().string();
  box.options = {"-arch=compute_" + settings.architecture,
                 "-std=c++17",
                 "-lineinfo",
                 "-w",
                 "-default-device",
                 fmt::format("-include={}", kFirstHeader),
                 "-I" + box.headers.string(),
                 "-I" + box.own_headers.string(),
                 "-I" + include,
                 "-I" + include + "/cccl"};
  const auto nccl = box.toolkit.nccl_flags();
  box.options.insert(box.options.end(), nccl.begin(), nccl.end());
  return box;
}

struct Compilation {
  std::string text;
  std::string output;  ///< Name of a file, or "-".
  std::vector<std::string> options;
  std::vector<std::string> kernels;
  Path readable;  ///< A folder besides the usual ones; may be empty.
};

Result<void> compile(const Compilation& what,
                     const Toolbox& box,
                     const BuildSettings& settings,
                     const Path& folder) {
  CUCO_TRY(system::write_file(folder / "program.cu", what.text));
  system::JobSpec spec;
  std::vector<std::string>& words = spec.command.argv;
  words = {box.program.string(), box.library.string(), "program.cu", what.output};
  words.insert(words.end(), box.options.begin(), box.options.end());
  words.insert(words.end(), what.options.begin(), what.options.end());
  words.emplace_back("--");
  words.insert(words.end(), what.kernels.begin(), what.kernels.end());
  spec.command.environment = system::Environment::bare();
  spec.command.environment.set("LD_LIBRARY_PATH", box.toolkit.libraries().string());
  spec.command.folder = folder;
  spec.limits.wall = std::chrono::seconds(60);
  spec.limits.cpu = std::chrono::seconds(60);
  spec.limits.memory = std::uint64_t{3} << 30U;
  spec.limits.processes = 16;
  spec.limits.file_size = std::uint64_t{256} << 20U;
  spec.sandbox = system::SandboxSpec{
      .tier = settings.tier, .read_only = {box.program, box.headers}, .writable = {folder}};
  if (!what.readable.empty()) spec.sandbox->read_only.push_back(what.readable);
  for (const Path& outside : box.toolkit.outside_system())
    spec.sandbox->read_only.push_back(outside);
  if (!box.own_headers.string().starts_with("/usr/"))
    spec.sandbox->read_only.push_back(box.own_headers);
  CUCO_TRY_ASSIGN(const system::JobOutcome outcome, system::run_job(spec));
  if (outcome.succeeded()) return {};
  const bool said = outcome.ending == system::Ending::Exited && outcome.code == 1;
  return Error{said ? ErrorKind::InvalidInput : ErrorKind::Unavailable,
               fmt::format("nvrtc: {}\n{}", describe(outcome), trim(outcome.err))};
}

void drop_oldest(const Path& folder) {
  std::error_code code;
  std::vector<std::pair<std::filesystem::file_time_type, Path>> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, code)) {
    if (entry.path().extension() == ".pch")
      files.emplace_back(entry.last_write_time(code), entry.path());
  }
  std::ranges::sort(files);
  for (std::size_t i = 0; i + kKeptHeaders < files.size(); ++i)
    std::filesystem::remove(files[i].second, code);
}

/// Of everything before the first declaration; made once for each different beginning.
Result<Path> precompiled(const DeviceSource& source,
                         const Toolbox& box,
                         const BuildSettings& settings) {
  const std::string identity = source.preamble + join(box.options, "\n") + box.program.string();
  const Path place =
      settings.cache / "nvrtc" / "pch" / (to_hex(sha256(identity)).substr(0, 32) + ".pch");
  if (std::filesystem::exists(place)) return place;
  CUCO_TRY(system::make_folder(place.parent_path()));
  CUCO_TRY_ASSIGN(const system::TempFolder folder,
                  system::TempFolder::create("cuco-build", place.parent_path()));
  Compilation what{.text = source.preamble, .output = "-"};
  what.options = {"-create-pch=" + place.filename().string(), "-pch-dir=."};
  CUCO_TRY(compile(what, box, settings, folder.path()));
  std::error_code code;
  std::filesystem::permissions(folder.path() / place.filename(), std::filesystem::perms(0644),
                               code);
  std::filesystem::rename(folder.path() / place.filename(), place, code);
  if (code) return Error{ErrorKind::Io, "nvrtc: no precompiled header was written"};
  drop_oldest(place.parent_path());
  return place;
}

}  // namespace

Result<std::string> compile_device_code(const DeviceSource& source, const BuildSettings& settings) {
  CUCO_TRY_ASSIGN(const Toolbox box, open_toolbox(settings));
  Compilation what{.text = source.text, .output = "program.ptx"};
  what.kernels = source.kernels;
  if (const auto header = precompiled(source, box, settings)) {
    what.options = {"-pch-dir=" + header->parent_path().string(),
                    "-use-pch=" + header->filename().string()};
    what.readable = header->parent_path();
  }
  CUCO_TRY_ASSIGN(const system::TempFolder folder, system::TempFolder::create("cuco-build"));
  CUCO_TRY(compile(what, box, settings, folder.path()));
  return system::read_file(folder.path() / "program.ptx");
}

}  // namespace cuco::toolchain
