// SPDX-License-Identifier: Apache-2.0
#include "toolchain/device_build.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "base/text.h"
#include "system/jobs/process.h"
#include "toolchain/device_ptx.h"
#include "toolchain/machine_code.h"
#include "toolchain/nvrtc.h"

namespace cuco::toolchain {
namespace {

using system::Path;

constexpr std::string_view kSame = "same";

/// The base's object with other PTX and machine code in it: as nvcc packs, checks and links it.
/// Fixed words; the candidate's text is only in program.ptx.
Result<bool> replace_ptx(const Path& folder, const BuildSettings& settings) {
  CUCO_TRY_ASSIGN(const CudaToolkit toolkit, toolkit_of(settings));
  const std::string arch = settings.architecture;
  system::JobSpec spec;
  spec.command.argv = {
      "/bin/sh", "-c",
      fmt::format("set -e; ptxas -arch=sm_{0} -m64 --generate-line-info program.ptx "
                  "-o program.cubin; "
                  "fatbinary -64 --create=program.fatbin "
                  "--image3=kind=elf,sm={0},file=program.cubin "
                  "--image3=kind=ptx,sm={0},file=program.ptx; "
                  "objcopy --update-section .nv_fatbin=program.fatbin program.o; "
                  "g++ -shared -fPIC program.o -o candidate.so",
                  arch)};
  spec.command.environment = system::Environment::bare();
  spec.command.environment.set(
      "PATH", fmt::format("{}:/usr/local/bin:/usr/bin:/bin", toolkit.programs().string()));
  spec.command.folder = folder;
  spec.limits.wall = std::chrono::seconds(60);
  spec.limits.memory = std::uint64_t{2} << 30U;
  spec.limits.processes = 32;
  spec.limits.file_size = std::uint64_t{256} << 20U;
  spec.sandbox = system::SandboxSpec{.tier = settings.tier, .writable = {folder}};
  spec.sandbox->read_only = toolkit.outside_system();
  CUCO_TRY_ASSIGN(const system::JobOutcome outcome, system::run_job(spec));
  return outcome.succeeded();
}

}  // namespace

DeviceBuild::DeviceBuild(const BuildSettings& settings,
                         const program::DeviceSplit& split,
                         std::string_view host_identity)
    : settings_(settings),
      split_(split),
      base_(settings.cache / "nvrtc" / ("base-" + to_hex(sha256(host_identity)))) {}

Result<void> DeviceBuild::keep_base(const Path& folder, const std::string& record) const {
  if (std::filesystem::exists(base_)) return {};
  CUCO_TRY(system::make_folder(base_.parent_path()));
  CUCO_TRY_ASSIGN(system::TempFolder draft,
                  system::TempFolder::create("base", base_.parent_path()));
  for (const char* name : {"program.o", "program.ptx"}) {
    CUCO_TRY_ASSIGN(const std::string bytes, system::read_file(folder / name));
    CUCO_TRY(system::write_file(draft.path() / name, bytes));
  }
  CUCO_TRY(system::write_file(draft.path() / "frozen", record));
  CUCO_TRY(system::write_file(draft.path() / "device.cu", split_.device));
  CUCO_TRY(system::write_file(draft.path() / "preamble.cu", split_.preamble));
  std::error_code code;
  std::filesystem::rename(draft.path(), base_, code);  // another may have been quicker
  if (!code) draft.keep();
  return {};
}

Result<bool> DeviceBuild::is_trusted(const std::string& nvcc_ptx) const {
  if (const auto verdict = system::read_file(base_ / "verdict")) return *verdict == kSame;
  CUCO_TRY_ASSIGN(const std::string text, system::read_file(base_ / "device.cu"));
  CUCO_TRY_ASSIGN(const std::string preamble, system::read_file(base_ / "preamble.cu"));
  const auto ptx = compile_device_code(
      {.text = text, .preamble = preamble, .kernels = template_kernels(nvcc_ptx)}, settings_);
  std::string verdict(kSame);
  if (!ptx) {
    if (ptx.error().kind() != ErrorKind::InvalidInput) return false;  // may be otherwise later
    verdict = ptx.error().message();
  } else if (const auto fitted = fit_ptx(*ptx, nvcc_ptx); !fitted) {
    verdict = "other kernels or variables than nvcc's";
  } else if (const auto name = first_difference(*fitted, nvcc_ptx)) {
    verdict = fmt::format("{} is not what nvcc makes", *name);
  }
  CUCO_TRY(system::write_file(base_ / "verdict", verdict));
  return verdict == kSame;
}

bool DeviceBuild::has_base() const {
  return std::filesystem::exists(base_ / "program.ptx");
}

Result<std::optional<std::string>> DeviceBuild::ptx_by_nvrtc() const {
  using Ptx = std::optional<std::string>;
  CUCO_TRY_ASSIGN(const std::string nvcc_ptx, system::read_file(base_ / "program.ptx"));
  CUCO_TRY_ASSIGN(const bool trusted, is_trusted(nvcc_ptx));
  if (!trusted) return Ptx();
  auto ptx = compile_device_code(
      {.text = split_.device, .preamble = split_.preamble, .kernels = template_kernels(nvcc_ptx)},
      settings_);
  return ptx ? Ptx(*std::move(ptx)) : Ptx();
}

Result<bool> DeviceBuild::build(std::string_view ptx,
                                const Path& place,
                                const Path& record_place) const {
  CUCO_TRY_ASSIGN(const std::string nvcc_ptx, system::read_file(base_ / "program.ptx"));
  const auto fitted = fit_ptx(ptx, nvcc_ptx);
  if (!fitted) return false;
  CUCO_TRY_ASSIGN(const system::TempFolder folder, system::TempFolder::create("cuco-build"));
  CUCO_TRY_ASSIGN(const std::string object, system::read_file(base_ / "program.o"));
  CUCO_TRY(system::write_file(folder.path() / "program.o", object, 0666));
  CUCO_TRY(system::write_file(folder.path() / "program.ptx", *fitted));
  CUCO_TRY_ASSIGN(const bool replaced, replace_ptx(folder.path(), settings_));
  if (!replaced) return false;
  CUCO_TRY_ASSIGN(const std::string bytes, system::read_file(folder.path() / "candidate.so"));
  CUCO_TRY_ASSIGN(const std::string record, system::read_file(base_ / "frozen"));
  CUCO_TRY(system::write_file(record_place, record));
  if (const auto code = machine_code(*fitted, std::as_bytes(std::span(object))))
    CUCO_TRY(keep_machine_code(place, *code));
  CUCO_TRY(system::write_file(place, bytes, 0755));
  return true;
}

}  // namespace cuco::toolchain
