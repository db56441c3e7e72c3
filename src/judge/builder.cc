// SPDX-License-Identifier: Apache-2.0
#include "judge/builder.h"

#include <optional>

#include "judge/screen.h"

namespace cuco::judge {
namespace {

using candidate::Outcome;

class NvccBuilder final : public Builder {
 public:
  explicit NvccBuilder(toolchain::BuildSettings settings) : settings_(std::move(settings)) {}

  Result<toolchain::BuildResult> build(std::string_view source, bool device_only) override {
    toolchain::BuildSettings settings = settings_;
    settings.device_only = device_only;
    return toolchain::build_candidate(source, settings);
  }

  Result<std::optional<toolchain::FrozenParts>> frozen(const system::Path& object) override {
    CUCO_TRY_ASSIGN(toolchain::FrozenParts parts, toolchain::frozen_parts(object));
    return std::optional(std::move(parts));
  }

  std::optional<toolchain::MachineCode> machine_code(const system::Path& object) override {
    return toolchain::machine_code_of(object);
  }

  Result<toolchain::ElfFacts> inspect(const system::Path& object) override {
    CUCO_TRY_ASSIGN(const std::string bytes, system::read_file(object));
    return toolchain::read_elf(std::as_bytes(std::span(bytes)));
  }

 private:
  toolchain::BuildSettings settings_;
};

/// Whether the compiler saw the same frozen code in both, on both sides.
Result<std::optional<Outcome>> compare_frozen(Builder& builder,
                                              std::string_view seed,
                                              const system::Path& object) {
  CUCO_TRY_ASSIGN(const auto mine, builder.frozen(object));
  if (!mine) return std::optional<Outcome>();
  CUCO_TRY_ASSIGN(const toolchain::BuildResult built, builder.build(seed, false));
  const auto* path = std::get_if<system::Path>(&built);
  if (path == nullptr) return std::optional<Outcome>();  // whoever times it will say why
  CUCO_TRY_ASSIGN(const auto theirs, builder.frozen(*path));
  if (!theirs) return std::optional<Outcome>();
  if (auto refused = screen_frozen(theirs->host, mine->host))
    return std::optional<Outcome>(*refused);
  if (auto refused = screen_frozen(theirs->device, mine->device))
    return std::optional<Outcome>(*refused);
  return std::optional<Outcome>();
}

}  // namespace

std::unique_ptr<Builder> make_builder(toolchain::BuildSettings settings) {
  return std::make_unique<NvccBuilder>(std::move(settings));
}

Result<Built> build_screened(Builder& builder,
                             std::string_view seed,
                             const std::string& program,
                             bool device_only,
                             Stages* stages) {
  std::optional<Stages::Lap> lap(std::in_place, stages, "screen");
  CUCO_TRY_ASSIGN(auto screened, screen_source(seed, program));
  if (screened) return Built(Outcome(*std::move(screened)));
  lap.emplace(stages, "build");
  CUCO_TRY_ASSIGN(toolchain::BuildResult result, builder.build(program, device_only));
  if (auto* failed = std::get_if<toolchain::CompileError>(&result))
    return Built(Outcome(candidate::BuildFailed{std::move(failed->message)}));
  if (const auto* late = std::get_if<toolchain::CompileTimeout>(&result))
    return Built(Outcome(candidate::TimedOut{"build", late->limit_seconds}));
  lap.emplace(stages, "object screen");
  const system::Path object = std::get<system::Path>(result);
  CUCO_TRY_ASSIGN(const toolchain::ElfFacts facts, builder.inspect(object));
  if (auto refused = screen_object(facts)) return Built(Outcome(*std::move(refused)));
  if (program != seed) {
    CUCO_TRY_ASSIGN(auto refused, compare_frozen(builder, seed, object));
    if (refused) return Built(*std::move(refused));
  }
  return Built(object);
}

}  // namespace cuco::judge
