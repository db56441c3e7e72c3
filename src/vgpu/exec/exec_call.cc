// SPDX-License-Identifier: Apache-2.0
// call and return (PTX ISA 9.7.12.5). Arguments and results travel through .param variables, which
// live in the frames of local memory: a call copies bytes from the caller's frame to the callee's.
#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "vgpu/exec/exec.h"
#include "vgpu/gpu/grid.h"
#include "vgpu/gpu/spin.h"
#include "vgpu/lower/builtins.h"
#include "vgpu/lower/kernel_builder.h"
#include "vgpu/lower/lowering.h"

namespace cuco::vgpu {

namespace {

constexpr std::uint32_t kMaxDepth = 1024;
constexpr std::uint32_t kMaxLocal = 512U << 10U;

/// Makes every thread's local memory at least `bytes` long.
bool grow_local(Warp& w, std::uint32_t bytes) {
  if (bytes <= w.local_stride) return true;
  if (bytes > kMaxLocal) return false;
  const std::uint32_t stride = std::min(kMaxLocal, std::bit_ceil(std::max(bytes, 256U)));
  std::vector<std::byte> grown(std::size_t{stride} * kLanes, kNeverWritten);
  for (unsigned l = 0; l < kLanes; ++l) {
    std::copy_n(w.local.begin() + std::ptrdiff_t{w.local_stride} * l, w.local_stride,
                grown.begin() + std::ptrdiff_t{stride} * l);
  }
  w.local = std::move(grown);
  w.local_stride = stride;
  return true;
}

/// Copies byte ranges between two frames of the active lanes.
void copy_slots(Warp& w,
                std::uint32_t lanes,
                const std::vector<FrameSlot>& from,
                std::uint32_t from_base,
                const std::vector<FrameSlot>& to,
                std::uint32_t to_base) {
  const std::size_t count = std::min(from.size(), to.size());
  for_active(lanes, [&](unsigned l) {
    std::byte* memory = w.local.data() + std::size_t{w.local_stride} * l;
    for (std::size_t i = 0; i < count; ++i) {
      std::memcpy(memory + to_base + to[i].offset, memory + from_base + from[i].offset,
                  std::min(from[i].bytes, to[i].bytes));
    }
  });
}

/// Of a call, and of the return: registers are saved, the code is fetched (bench/sanity,
/// recursion).
constexpr VTime kCallCycles = 80;

void enter_function(Warp& w, const Op& op, std::uint32_t function, const CallPlan& plan) {
  w.sync_clock();
  w.clock += kCallCycles * w.sm->timing->cycle;
  const FunctionCode& code = w.kernel->functions[function];
  Frame* caller = w.splits[w.current].frame;
  const std::uint32_t base = caller->local_base + caller->code->frame_bytes;
  const auto lane = static_cast<unsigned>(std::countr_zero(w.active));
  if (caller->depth + 1 >= kMaxDepth || !grow_local(w, base + code.frame_bytes)) {
    w.raise(op, TrapKind::StackOverflow, lane,
            fmt::format("call depth {}, {} bytes of local memory", caller->depth + 1, base));
    return;
  }
  w.flush_segment();
  isolate(w, w.active);
  Frame& frame = add_frame(w, code);
  frame.parent = caller;
  frame.plan = &plan;
  frame.return_op = static_cast<std::uint32_t>(w.ip - w.kernel->ops.data());
  frame.depth = caller->depth + 1;
  frame.lanes = w.active;
  frame.local_base = base;
  copy_slots(w, w.active, plan.arguments, caller->local_base, code.parameters, base);
  Split& split = w.splits[w.current];
  split.frame = &frame;
  split.op = code.first_op;
  w.go_to(w.kernel->ops.data() + code.first_op);
  w.stop = nullptr;  // Registers change: the loop has to be entered anew.
}

void exec_call_direct(Warp& w, const Op& op) {
  const CallPlan& plan = w.kernel->calls[op.aux];
  enter_function(w, op, static_cast<std::uint32_t>(plan.function), plan);
}

void exec_call_builtin(Warp& w, const Op& op) {
  w.sync_clock();
  run_builtin(w, op, w.kernel->calls[op.aux]);
}

/// Lanes may call different functions: the first lane's target goes first, the others re-execute.
void exec_call_indirect(Warp& w, const Op& op) {
  const std::uint64_t* target = w.slots<std::uint64_t>(op.a);
  const auto first = static_cast<unsigned>(std::countr_zero(w.active));
  const std::uint64_t address = target[first];
  const std::uint64_t symbol = (address - kCodeBase) / kCodeStride;
  const auto found = w.kernel->function_of_symbol.find(static_cast<std::uint32_t>(symbol));
  const bool aligned = address >= kCodeBase && (address - kCodeBase) % kCodeStride == 0;
  if (!aligned || symbol > UINT32_MAX || found == w.kernel->function_of_symbol.end() ||
      found->second == 0) {
    w.raise(op, TrapKind::IllegalInstruction, first,
            fmt::format("call of {:#x}, which is no function", address), address);
    return;
  }
  const CallPlan& plan = w.kernel->calls[op.aux];
  const FunctionCode& code = w.kernel->functions[found->second];
  const auto fits = [](const std::vector<FrameSlot>& a, const std::vector<FrameSlot>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const FrameSlot& x, const FrameSlot& y) { return x.bytes == y.bytes; });
  };
  if (!fits(plan.arguments, code.parameters) || !fits(plan.returns, code.returns)) {
    w.raise(op, TrapKind::IllegalInstruction, first,
            fmt::format("call of {} through a wrong prototype", code.function->name), address);
    return;
  }
  std::uint32_t same = 0;
  for_active(w.active, [&](unsigned l) {
    if (target[l] == address) same |= 1U << l;
  });
  const std::uint32_t others = w.active & ~same;
  if (others != 0) {
    w.flush_segment();
    Split rest;
    rest.frame = w.splits[w.current].frame;
    rest.op = static_cast<std::uint32_t>(&op - w.kernel->ops.data());
    rest.mask = others;
    rest.ready_at = w.clock;
    w.mask &= ~others;
    w.splits[w.current].mask = w.mask;
    w.splits.push_back(std::move(rest));
    w.active = same;
  }
  enter_function(w, op, found->second, plan);
}

FrameSlot slot_of(Lowering& lowering, const ptx::Operand& operand) {
  if (operand.kind == ptx::Operand::Kind::Local) {
    const Place place = lowering.builder().place_of(operand);
    if (place.kind == Place::Kind::Frame) return lowering.builder().frame_slot(operand.index);
  }
  lowering.fail("call through registers");
  return {};
}

}  // namespace

Frame& add_frame(Warp& w, const FunctionCode& code) {
  std::unique_ptr<Frame> frame;
  if (!w.grid->spare_frames->empty()) {
    frame = std::move(w.grid->spare_frames->back());
    w.grid->spare_frames->pop_back();
  } else {
    frame = std::make_unique<Frame>();
    // Not zero, which too many would be right with.
    frame->registers.resize(code.register_bytes);
    std::ranges::fill(frame->registers, kNeverWritten);
  }
  frame->code = &code;
  // Not cleared: a program that reads what it never wrote gets some value, the same in every run.
  frame->registers.resize(code.register_bytes);
  frame->predicates.assign(code.predicates, 0);
  frame->predicates[kTruePredicate] = kFullMask;
  w.frames.push_back(std::move(frame));
  return *w.frames.back();
}

void return_from_call(Warp& w, const Op& /*op*/) {
  w.flush_segment();
  w.clock += kCallCycles * w.sm->timing->cycle;
  Split* split = &w.splits[w.current];
  Frame* frame = split->frame;
  Frame* caller = frame->parent;
  const std::uint32_t lanes = w.active;
  copy_slots(w, lanes, frame->code->returns, frame->local_base, frame->plan->returns,
             caller->local_base);
  isolate(w, lanes);
  split = &w.splits[w.current];
  split->frame = caller;
  w.go_to(w.kernel->ops.data() + frame->return_op);
  split->op = frame->return_op;
  w.stop = nullptr;
  frame->lanes &= ~lanes;
  if (frame->lanes == 0) {
    const auto gone = std::find_if(w.frames.begin(), w.frames.end(),
                                   [&](const auto& owned) { return owned.get() == frame; });
    w.grid->spare_frames->push_back(std::move(*gone));
    w.frames.erase(gone);
  }
}

bool lower_call(Lowering& lowering, const ptx::Instruction& instruction) {
  if (instruction.call < 0) return false;
  const ptx::CallSite& site = lowering.function().calls[static_cast<std::size_t>(instruction.call)];
  CallPlan plan;
  for (const ptx::Operand& operand : site.returns) {
    plan.returns.push_back(slot_of(lowering, operand));
  }
  for (const ptx::Operand& operand : site.arguments) {
    plan.arguments.push_back(slot_of(lowering, operand));
  }
  if (!lowering.ok()) return false;
  const ptx::Module& module = lowering.builder().module();
  Handler handler = exec_call_indirect;
  Ref target = kScratch;
  if (site.target.kind == ptx::Operand::Kind::Symbol) {
    const ptx::Symbol& symbol = module.symbols[site.target.index];
    if (symbol.kind != ptx::Symbol::Kind::Function) return false;
    const ptx::Function& callee = module.functions[symbol.index];
    if (callee.has_body) {
      plan.function = static_cast<std::int32_t>(lowering.builder().function_index(symbol.index));
      handler = exec_call_direct;
    } else {
      plan.builtin = find_builtin(callee.name);
      handler = exec_call_builtin;
      if (plan.builtin < 0) {
        // What libcudadevrt calls to launch a kernel from a kernel.
        const bool launches = callee.name.starts_with("__cuda_syscall_cnp") ||
                              callee.name.starts_with("cudaLaunchDevice") ||
                              callee.name.starts_with("cudaGetParameterBuffer");
        lowering.fail(launches ? "dynamic parallelism is not emulated: launch from the host"
                               : "undefined function " + callee.name);
        return false;
      }
    }
  } else {
    target = lowering.source(site.target, ptx::Type::U64);
  }
  auto& calls = lowering.builder().kernel().calls;
  calls.push_back(std::move(plan));
  Op& op = lowering.emit(handler, CostClass::Control);
  op.a = target;
  op.aux = static_cast<std::uint32_t>(calls.size() - 1);
  return true;
}

}  // namespace cuco::vgpu
