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

  Result<toolchain::ElfFacts> inspect(const system::Path& object) override {
    CUCO_TRY_ASSIGN(const std::string bytes, system::read_file(object));
    return toolchain::read_elf(std::as_bytes(std::span(bytes)));
  }

 private:
  toolchain::BuildSettings settings_;
};

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
  return Built(object);
}

}  // namespace cuco::judge
