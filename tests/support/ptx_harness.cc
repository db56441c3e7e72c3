// SPDX-License-Identifier: Apache-2.0
#include "support/ptx_harness.h"

#include <utility>

#include <fmt/format.h>

#include "base/assert.h"
#include "ptx/parse/parse.h"

namespace cuco::vgpu {

Result<std::unique_ptr<Harness>> Harness::load(std::string_view ptx,
                                               const hardware::GpuDescription& description,
                                               Environment environment,
                                               unsigned devices) {
  CUCO_TRY_ASSIGN(ptx::Module module, ptx::parse(ptx));
  std::unique_ptr<Harness> harness(new Harness());
  CUCO_TRY_ASSIGN(harness->memory_, Memory::create(devices));
  CUCO_TRY_ASSIGN(
      harness->program_,
      Program::load(std::make_shared<const ptx::Module>(std::move(module)), *harness->memory_, 0));
  if (!environment.print) {
    environment.print = [raw = harness.get()](std::string_view text) { raw->printed_ += text; };
  }
  harness->gpu_ = std::make_unique<Gpu>(0, description, *harness->memory_, std::move(environment));
  return harness;
}

Address Harness::allocate(std::uint64_t bytes) {
  const auto address = memory_->allocate(0, bytes);
  CUCO_ASSERT(address.has_value());
  return *address;
}

Result<HarnessResult> Harness::run_packed(std::string_view name,
                                          const HarnessLaunch& launch,
                                          std::span<const std::vector<std::byte>> args) {
  const auto kernel = program_->find_kernel(name);
  if (!kernel) return Error(ErrorKind::NotFound, fmt::format("no kernel {}", name));
  const KernelInfo& info = program_->kernel_info(*kernel);
  if (args.size() != info.parameters.size()) {
    return Error(ErrorKind::InvalidInput, fmt::format("{} takes {} arguments, not {}", name,
                                                      info.parameters.size(), args.size()));
  }
  LaunchRequest request;
  request.program = program_.get();
  request.kernel = *kernel;
  request.grid = launch.grid;
  request.block = launch.block;
  request.dynamic_shared = launch.dynamic_shared;
  request.cooperative = launch.cooperative;
  request.instruction_budget = launch.instruction_budget;
  request.arguments.resize(info.argument_bytes);
  for (std::size_t i = 0; i < args.size(); ++i) {
    const ParameterInfo& parameter = info.parameters[i];
    if (args[i].size() != parameter.bytes) {
      return Error(ErrorKind::InvalidInput, fmt::format("argument {} of {} has {} bytes, not {}", i,
                                                        name, parameter.bytes, args[i].size()));
    }
    std::memcpy(request.arguments.data() + parameter.offset, args[i].data(), parameter.bytes);
  }
  HarnessResult result;
  bool finished = false;
  printed_.clear();
  CUCO_TRY_ASSIGN(const GridId id,
                  gpu_->launch(std::move(request), now_, [&](const GridResult& done) {
                    result.grid = done;
                    finished = true;
                  }));
  while (!finished && gpu_->next_time())
    gpu_->step();
  if (!finished) {
    for (const Wait& wait : gpu_->waits())
      result.deadlock.push_back(describe(wait));
    gpu_->kill(id, TrapKind::Cancelled, "deadlock");
  }
  now_ = std::max(now_, result.grid.finished);
  result.printed = printed_;
  return result;
}

}  // namespace cuco::vgpu
