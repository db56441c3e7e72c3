// SPDX-License-Identifier: Apache-2.0
#include "rig.h"

#include <cstring>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ptx/parse/parse.h"

namespace cuco::vgpu {
namespace {

constexpr std::uint32_t kResults = 4;
constexpr std::uint64_t kDistance = 256;  ///< Between variables.

/// One kernel: lane 0 of every warp is a thread, which branches to its own program.
std::string kernel_of(const Litmus& litmus) {
  std::string text =
      ".version 8.0\n.target sm_90\n.address_size 64\n"
      ".visible .entry litmus(.param .u64 vars, .param .u64 outs, .param .u32 base)\n{\n"
      "  .reg .b64 %x, %y, %z, %o;\n  .reg .b32 %r<8>, %d, %me, %t, %u;\n  .reg .pred %p, %q;\n"
      "  ld.param.u64 %x, [vars];\n  add.u64 %y, %x, 256;\n  add.u64 %z, %x, 512;\n"
      "  ld.param.u64 %o, [outs];\n  ld.param.u32 %me, [base];\n"
      "  mov.u32 %t, %tid.x;\n  and.b32 %u, %t, 31;\n  shr.u32 %t, %t, 5;\n  add.u32 %me, %me, "
      "%t;\n"
      "  mov.u32 %t, %ctaid.x;\n  mov.u32 %r0, %ntid.x;\n  shr.u32 %r0, %r0, 5;\n"
      "  mad.lo.u32 %me, %t, %r0, %me;\n"
      "  mov.u32 %r0, 0;\n  mov.u32 %r1, 0;\n  mov.u32 %r2, 0;\n  mov.u32 %r3, 0;\n"
      "  mov.u32 %d, 1;\n"
      "  setp.ne.u32 %p, %u, 0;\n  @%p exit;\n";
  for (std::size_t i = 0; i < litmus.threads.size(); ++i) {
    text += fmt::format("  setp.eq.u32 %p, %me, {};\n  @%p bra T{};\n", i, i);
  }
  for (std::size_t i = 0; i < litmus.threads.size(); ++i) {
    text += fmt::format("T{}:\n{}\n  bra DONE;\n", i, litmus.threads[i]);
  }
  text += "DONE:\n  mul.wide.u32 %x, %me, 16;\n  add.u64 %o, %o, %x;\n";
  text += "  st.global.v4.u32 [%o], {%r0, %r1, %r2, %r3};\n  exit;\n}\n";
  return text;
}

}  // namespace

LitmusRig::LitmusRig(const hardware::GpuDescription& gpu, Litmus litmus)
    : litmus_(std::move(litmus)), description_(gpu) {
  const auto threads = static_cast<unsigned>(litmus_.threads.size());
  const unsigned devices = litmus_.placement == Placement::System ? threads : 1;
  auto module = ptx::parse(kernel_of(litmus_));
  if (!module) {
    ADD_FAILURE() << litmus_.name << ": " << module.error().message();
    return;
  }
  const auto shared = std::make_shared<const ptx::Module>(*std::move(module));
  memory_ = *Memory::create(devices);
  for (unsigned device = 0; device < devices; ++device) {
    programs_.push_back(*Program::load(shared, *memory_, device));
  }
  variables_ = *memory_->allocate(0, 3 * kDistance);
  results_ = *memory_->allocate(0, std::uint64_t{threads} * kResults * 4);
}

void LitmusRig::clear() {
  const auto wipe = [&](Address address, std::uint64_t bytes) {
    std::memset(Memory::at(address), 0, bytes);
    memory_->notify_write(address, bytes, now_);
  };
  wipe(variables_, 3 * kDistance);
  wipe(results_, litmus_.threads.size() * kResults * 4);
}

Outcome LitmusRig::run_once() {
  clear();
  const auto threads = static_cast<std::uint32_t>(litmus_.threads.size());
  std::size_t open = gpus_.size();
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    LaunchRequest request;
    request.program = programs_[i].get();
    const std::uint32_t warps = litmus_.placement == Placement::Block ? threads : litmus_.group;
    request.grid = {litmus_.placement == Placement::Gpu ? threads / warps : 1, 1, 1};
    request.block = {warps * kLanes, 1, 1};
    request.arguments.resize(20);
    const auto base = static_cast<std::uint32_t>(i);
    std::memcpy(request.arguments.data(), &variables_, 8);
    std::memcpy(request.arguments.data() + 8, &results_, 8);
    std::memcpy(request.arguments.data() + 16, &base, 4);
    const auto id = gpus_[i]->launch(std::move(request), now_, [&](const GridResult& result) {
      if (result.trap) ADD_FAILURE() << litmus_.name << ": " << to_string(*result.trap);
      now_ = std::max(now_, result.finished);
      --open;
    });
    if (!id) ADD_FAILURE() << id.error().message();
  }
  while (open != 0) {
    Gpu* next = nullptr;
    VTime best = kNever;
    VTime second = kNever;
    for (const auto& gpu : gpus_) {
      const VTime time = gpu->next_time().value_or(kNever);
      if (time < best) {
        second = best;
        best = time;
        next = gpu.get();
      } else {
        second = std::min(second, time);
      }
    }
    if (next == nullptr) {
      ADD_FAILURE() << litmus_.name << ": deadlock";
      break;
    }
    next->step(second);
  }
  Outcome outcome(threads * kResults + 3);
  std::memcpy(outcome.data(), Memory::at(results_), std::size_t{threads} * kResults * 4);
  for (std::uint32_t i = 0; i < 3; ++i) {
    std::memcpy(&outcome[threads * kResults + i], Memory::at(variables_ + i * kDistance), 4);
  }
  return outcome;
}

void LitmusRig::make_gpus(const WeakMemory::Settings& settings, const Schedule& schedule) {
  gpus_.clear();
  weak_.reset();
  weak_ = std::make_unique<WeakMemory>(*memory_, settings);
  Rng rng(schedule.seed);
  for (std::size_t device = 0; device < programs_.size(); ++device) {
    Environment environment;
    environment.observer = weak_.get();
    environment.weak = weak_.get();
    environment.schedule = schedule;
    if (schedule.seed != 0) environment.schedule.seed = rng.next() | 1U;
    gpus_.push_back(std::make_unique<Gpu>(static_cast<unsigned>(device), description_, *memory_,
                                          std::move(environment)));
  }
}

std::map<Outcome, int> LitmusRig::run(int times, std::uint64_t seed) {
  if (memory_ == nullptr) return {};
  // A fence takes longer than a store: some schedules must leave room for one.
  const VTime delay = (seed & 1U) != 0 ? 400 * kNanosecond : 20 * kMicrosecond;
  make_gpus({.seed = seed}, {.seed = seed,
                             .shuffle_blocks = true,
                             .launch_delay = delay,
                             .block_delay = delay,
                             .stall = 500 * kNanosecond,
                             .stall_one_in = 4,
                             .run_ahead = 100 * kNanosecond});
  std::map<Outcome, int> outcomes;
  for (int i = 0; i < times; ++i)
    ++outcomes[run_once()];
  return outcomes;
}

VTime LitmusRig::run_delayed(VTime remote_delay) {
  if (memory_ == nullptr) return 0;
  make_gpus({.stale_percent = 0, .postpone_percent = 0, .remote_delay = remote_delay}, {});
  const VTime began = now_;
  run_once();
  return now_ - began;
}

}  // namespace cuco::vgpu
