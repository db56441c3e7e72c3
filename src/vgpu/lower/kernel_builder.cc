// SPDX-License-Identifier: Apache-2.0
#include "vgpu/lower/kernel_builder.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "vgpu/exec/fused.h"
#include "vgpu/memory/access.h"

namespace cuco::vgpu {

namespace {

constexpr std::uint32_t kScratchBytes = 16 * kLanes;

constexpr std::uint32_t round_up(std::uint32_t value, std::uint32_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// Takes the next aligned range of a growing area.
std::uint32_t take(std::uint32_t& used, std::uint64_t bytes, std::uint32_t align) {
  const std::uint32_t offset = round_up(used, std::max(align, 1U));
  used = offset + static_cast<std::uint32_t>(bytes);
  return offset;
}

constexpr std::uint64_t local_key(std::uint32_t function, std::uint32_t variable) {
  return std::uint64_t{function} << 32U | variable;
}

}  // namespace

std::unique_ptr<Kernel> KernelBuilder::build(std::uint32_t entry) {
  kernel_ = std::make_unique<Kernel>();
  kernel_->module = &module_;
  function_index(entry);
  // Shared memory must be laid out before code refers to it, so the closure comes first. It grows
  // while functions are lowered only through indirect calls, whose targets it then takes in whole.
  for (std::size_t i = 0; i < module_functions_.size(); ++i) {
    const ptx::Function& function = module_.functions[module_functions_[i]];
    for (const ptx::CallSite& call : function.calls) {
      if (call.target.kind == ptx::Operand::Kind::Symbol) {
        const ptx::Symbol& symbol = module_.symbols[call.target.index];
        if (symbol.kind == ptx::Symbol::Kind::Function &&
            module_.functions[symbol.index].has_body) {
          function_index(symbol.index);
        }
      } else {
        add_address_taken();
      }
    }
  }
  lay_out_shared();
  for (std::uint32_t i = 0; i < module_functions_.size(); ++i)
    lower_function(i);
  finish_info();
  return std::move(kernel_);
}

std::uint32_t KernelBuilder::function_index(std::uint32_t module_function) {
  const auto next = static_cast<std::uint32_t>(module_functions_.size());
  const auto [found, added] = closure_.emplace(module_function, next);
  if (added) module_functions_.push_back(module_function);
  return found->second;
}

void KernelBuilder::add_address_taken() {
  if (address_taken_added_) return;
  address_taken_added_ = true;
  // Any function with a body may be behind a pointer; entries cannot.
  for (std::uint32_t i = 0; i < module_.functions.size(); ++i) {
    const ptx::Function& function = module_.functions[i];
    if (function.has_body && !function.is_entry) function_index(i);
  }
}

void KernelBuilder::lay_out_shared() {
  std::vector<bool> used(module_.symbols.size(), false);
  const auto visit = [&](const ptx::Operand& operand, const auto& self) -> void {
    if (operand.kind == ptx::Operand::Kind::Symbol) used[operand.index] = true;
    for (const ptx::Operand& element : operand.elements)
      self(element, self);
  };
  for (const std::uint32_t index : module_functions_) {
    const ptx::Function& function = module_.functions[index];
    for (const ptx::Instruction& instruction : function.instructions) {
      for (const ptx::Operand& operand : instruction.operands)
        visit(operand, visit);
    }
  }
  std::vector<std::uint32_t> dynamic;
  for (std::uint32_t s = 0; s < used.size(); ++s) {
    const ptx::Symbol& symbol = module_.symbols[s];
    if (!used[s] || symbol.kind != ptx::Symbol::Kind::Variable) continue;
    const ptx::Variable& variable = module_.variables[symbol.index];
    if (variable.space != ptx::Space::Shared) continue;
    if (variable.bytes == 0) {
      dynamic.push_back(s);
      dynamic_align_ = std::max(dynamic_align_, variable.align);
    } else {
      shared_symbols_[s] = take(shared_bytes_, variable.bytes, variable.align);
    }
  }
  for (const std::uint32_t index : module_functions_) {
    const ptx::Function& function = module_.functions[index];
    for (std::uint32_t v = 0; v < function.variables.size(); ++v) {
      const ptx::Variable& variable = function.variables[v];
      if (variable.space != ptx::Space::Shared || variable.bytes == 0) continue;
      shared_locals_[local_key(index, v)] = take(shared_bytes_, variable.bytes, variable.align);
    }
  }
  // All `extern .shared x[]` begin where static shared memory ends.
  if (!dynamic.empty()) shared_bytes_ = round_up(shared_bytes_, dynamic_align_);
  for (const std::uint32_t s : dynamic)
    shared_symbols_[s] = shared_bytes_;
}

void KernelBuilder::lay_out_frame(FunctionCode& code, const ptx::Function& function) {
  frame_.assign(function.variables.size(), {});
  std::uint32_t used = 0;
  std::uint32_t argument_bytes = 0;
  const std::size_t returns = function.returns.size();
  for (std::size_t v = 0; v < function.variables.size(); ++v) {
    const ptx::Variable& variable = function.variables[v];
    const auto bytes = static_cast<std::uint32_t>(variable.bytes);
    const bool is_parameter = v >= returns && v < returns + function.parameters.size();
    if (function.is_entry && is_parameter) {
      frame_[v] = {take(argument_bytes, bytes, variable.align), bytes};
      kernel_->info.parameters.push_back({frame_[v].offset, bytes});
    } else if (variable.space == ptx::Space::Local || variable.space == ptx::Space::Param) {
      frame_[v] = {take(used, bytes, std::max(variable.align, 4U)), bytes};
    }
    if (v < returns) code.returns.push_back(frame_[v]);
    if (is_parameter && !function.is_entry) code.parameters.push_back(frame_[v]);
  }
  if (function.is_entry) kernel_->info.argument_bytes = argument_bytes;
  code.frame_bytes = round_up(used, 16);
}

void KernelBuilder::lay_out_registers(const ptx::Function& function) {
  register_bytes_ = kScratchBytes;
  predicates_ = 2;  // kTruePredicate, kScratchPredicate
  registers_.clear();
  // Registers that are never live together share a place: the file stays in the host's cache.
  ptx::RegisterPlan plan = ptx::plan_registers(function);
  std::array<std::uint32_t, ptx::kRegisterClasses> base{};
  std::array<std::uint32_t, ptx::kRegisterClasses> bytes{0, 4, 8, 16};
  for (std::size_t c = 1; c < base.size(); ++c) {
    base[c] = register_bytes_;
    register_bytes_ += plan.slots[c] * bytes[c] * kLanes;
  }
  predicates_ += plan.slots[0];
  for (const ptx::RegisterPlan::Place& place : plan.places) {
    const auto c = static_cast<std::size_t>(place.kind);
    registers_.push_back(c == 0 ? 2 + place.slot : base[c] + place.slot * bytes[c] * kLanes);
  }
  live_words_ = plan.slots[1] + 2 * plan.slots[2] + 4 * plan.slots[3];
  intervals_ = std::move(plan.intervals);
  const std::size_t count = function.registers.size();
  load_slot_.assign(count, 0);
  load_seen_.assign(count, false);
  load_pending_.assign(count, false);
  producer_.assign(count, -1);
  pattern_key_.assign(count, 0);
}

Ref KernelBuilder::add_register(std::uint32_t bytes) {
  const Ref ref = register_bytes_;
  register_bytes_ += bytes * kLanes;
  return ref;
}

Ref KernelBuilder::constant(std::uint64_t value, std::uint32_t bytes) {
  auto& pool = bytes == 4 ? constants32_ : constants64_;
  const auto [found, added] = pool.emplace(value, 0);
  if (!added) return found->second;
  AlignedBytes& data = kernel_->constants;
  found->second = static_cast<Ref>(data.size()) | kConstantBit;
  for (unsigned l = 0; l < kLanes; ++l) {
    for (unsigned b = 0; b < bytes; ++b)
      data.push_back(static_cast<std::byte>(value >> (8 * b)));
  }
  return found->second;
}

FrameSlot KernelBuilder::frame_slot(std::uint32_t variable) const {
  return variable < frame_.size() ? frame_[variable] : FrameSlot{};
}

Place KernelBuilder::place_of(const ptx::Operand& operand) const {
  using Kind = ptx::Operand::Kind;
  const auto addend = static_cast<std::uint64_t>(operand.value);
  if (operand.kind == Kind::Symbol) {
    if (const auto address = program_.symbol_address(operand.index)) {
      return {Place::Kind::Fixed, ptx::Space::Global, *address + addend};
    }
    if (const auto shared = shared_symbols_.find(operand.index); shared != shared_symbols_.end()) {
      return {Place::Kind::Fixed, ptx::Space::Shared, shared->second + addend};
    }
    return {};
  }
  if (operand.kind != Kind::Local) return {};
  const ptx::Function& function = module_.functions[module_functions_[current_]];
  const ptx::Variable& variable = function.variables[operand.index];
  if (variable.space == ptx::Space::Shared) {
    if (variable.bytes == 0)
      return {Place::Kind::Fixed, ptx::Space::Shared, shared_bytes_ + addend};
    const auto found = shared_locals_.find(local_key(module_functions_[current_], operand.index));
    return {Place::Kind::Fixed, ptx::Space::Shared, found->second + addend};
  }
  const std::size_t returns = function.returns.size();
  const bool is_parameter =
      operand.index >= returns && operand.index < returns + function.parameters.size();
  if (function.is_entry && is_parameter) {
    return {Place::Kind::Parameter, ptx::Space::Param, frame_[operand.index].offset + addend};
  }
  if (variable.space == ptx::Space::Local || variable.space == ptx::Space::Param) {
    return {Place::Kind::Frame, ptx::Space::Local, frame_[operand.index].offset + addend};
  }
  return {};
}

void KernelBuilder::branch_to(std::uint32_t op, std::uint32_t instruction) {
  branches_.emplace_back(op, instruction);
}

void KernelBuilder::jump_table_entry(std::uint32_t table, std::uint32_t instruction) {
  auto& entries = kernel_->jump_tables[table];
  table_entries_.push_back({table, static_cast<std::uint32_t>(entries.size()), instruction});
  entries.push_back(0);
}

void KernelBuilder::lower_function(std::uint32_t index) {
  current_ = index;
  const ptx::Function& function = module_.functions[module_functions_[index]];
  FunctionCode code;
  code.function = &function;
  for (std::uint32_t s = 0; s < module_.symbols.size(); ++s) {
    const ptx::Symbol& symbol = module_.symbols[s];
    if (symbol.kind == ptx::Symbol::Kind::Function && symbol.index == module_functions_[index]) {
      code.symbol = s;
      kernel_->function_of_symbol[s] = index;
    }
  }
  code.first_op = static_cast<std::uint32_t>(kernel_->ops.size());
  lay_out_frame(code, function);
  lay_out_registers(function);
  find_launch_values(function);
  branches_.clear();
  table_entries_.clear();
  op_of_instruction_.clear();

  is_label_.assign(function.instructions.size() + 1, false);
  for (const ptx::Instruction& instruction : function.instructions) {
    for (const ptx::Operand& operand : instruction.operands) {
      if (operand.kind == ptx::Operand::Kind::Label) is_label_[operand.index] = true;
    }
  }
  for (const auto& targets : function.branch_targets) {
    for (const std::uint32_t target : targets)
      is_label_[target] = true;
  }

  take_load_slots(function);
  Lowering lowering(*this, function);
  bool leader = true;
  for (std::size_t i = 0; i < function.instructions.size(); ++i) {
    const ptx::Instruction& instruction = function.instructions[i];
    const auto first = static_cast<std::uint32_t>(kernel_->ops.size());
    op_of_instruction_.push_back(first);
    if (leader || is_label_[i]) {
      load_pending_.assign(load_pending_.size(), true);
      producer_.assign(producer_.size(), -1);
      pattern_key_.assign(pattern_key_.size(), 0);
      begin_order(function, i);
      block_begin_ = first;
      leader = true;
    }
    lower_instruction(lowering, instruction);
    for (std::size_t op = first; is_settled_[i] && op < kernel_->ops.size(); ++op)
      kernel_->ops[op].run = exec_nothing;
    kernel_->leaders.resize(kernel_->ops.size(), false);
    if (leader) kernel_->leaders[first] = true;
    note_dependences(first, instruction);
    kernel_->block_begin.resize(kernel_->ops.size(), block_begin_);
    leader = instruction.opcode == ptx::Opcode::Bra || instruction.opcode == ptx::Opcode::Call ||
             instruction.opcode == ptx::Opcode::Brx || instruction.opcode == ptx::Opcode::Ret ||
             instruction.opcode == ptx::Opcode::Exit;
  }
  // Control that runs off the end returns.
  op_of_instruction_.push_back(static_cast<std::uint32_t>(kernel_->ops.size()));
  static const ptx::Instruction kEnd{};
  lowering.instruction_ = &kEnd;
  lowering.emit(exec_ret, CostClass::Control);
  kernel_->leaders.push_back(true);
  kernel_->block_begin.push_back(static_cast<std::uint32_t>(kernel_->ops.size() - 1));
  kernel_->producers.resize(kernel_->ops.size());

  for (const auto& [op, target] : branches_)
    kernel_->ops[op].imm = op_of_instruction_[target];
  for (const auto& [table, entry, target] : table_entries_) {
    kernel_->jump_tables[table][entry] = op_of_instruction_[target];
  }
  fuse(std::span(kernel_->ops).subspan(code.first_op),
       [&](std::uint32_t op, Ref ref) { return dies(code.first_op + op, ref); });
  join_settled(std::span(kernel_->ops).subspan(code.first_op));
  if (index == 0) entry_words_ = live_words_;
  note_pressure(code.first_op, function);
  code.register_bytes = register_bytes_;
  code.predicates = predicates_;
  code.registers = registers_;
  code.live = intervals_;
  kernel_->functions.push_back(std::move(code));
}

void KernelBuilder::lower_instruction(Lowering& lowering, const ptx::Instruction& instruction) {
  const std::size_t first = kernel_->ops.size();
  lowering.instruction_ = &instruction;
  lowering.failure_.reset();
  const LowerFunction family = family_of(instruction);
  // A word that nobody here knows may change what the instruction does. Policies are opaque.
  const bool is_known =
      instruction.opcode == ptx::Opcode::Createpolicy || !instruction.has(ptx::Modifier::Unknown);
  const bool done = is_known && family != nullptr && family(lowering, instruction);
  if (done && lowering.ok() && kernel_->ops.size() > first) return;
  kernel_->ops.resize(first);
  kernel_->origins.resize(first);
  std::erase_if(branches_, [&](const auto& branch) { return branch.first >= first; });
  const std::string why = lowering.failure_.value_or("");
  lowering.failure_.reset();
  Op& op = lowering.emit(exec_unsupported, CostClass::Control);
  op.aux = static_cast<std::uint32_t>(kernel_->failures.size());
  kernel_->failures.push_back(why.empty() ? instruction.text
                                          : fmt::format("{} ({})", instruction.text, why));
}

void KernelBuilder::collect_registers(const ptx::Operand& operand,
                                      std::vector<std::uint32_t>& out) const {
  if (operand.kind == ptx::Operand::Kind::Register && operand.index < load_slot_.size()) {
    out.push_back(operand.index);
  }
  for (const ptx::Operand& element : operand.elements)
    collect_registers(element, out);
}

void KernelBuilder::note_dependences(std::uint32_t first_op, const ptx::Instruction& instruction) {
  const auto end = static_cast<std::uint32_t>(kernel_->ops.size());
  kernel_->producers.resize(end);
  std::vector<std::uint32_t> touched;
  for (const ptx::Operand& operand : instruction.operands)
    collect_registers(operand, touched);
  if (instruction.guarded) touched.push_back(instruction.guard);
  Op& first = kernel_->ops[first_op];
  std::size_t producers = 0;
  ptx::find_access(module_.functions[module_functions_[current_]], instruction, access_);
  for (const std::uint32_t reg : touched) {
    // What is only loaded further down, the turn before has loaded: who reads it waits for it.
    const bool is_wanted = load_seen_[reg] || std::ranges::count(access_.reads, reg) != 0;
    if (load_slot_[reg] != 0 && load_pending_[reg] && is_wanted) {
      first.wait_slots |= static_cast<std::uint16_t>(1U << (load_slot_[reg] - 1U));
      first.flags |= Op::WaitsForLoads;
      load_pending_[reg] = false;
    }
    const std::int64_t distance = producer_[reg] < 0 ? 0 : first_op - producer_[reg];
    if (distance > 0 && distance < 256 && producers < 4) {
      kernel_->producers[first_op][producers++] = static_cast<std::uint8_t>(distance);
    }
  }
  note_pattern(kernel_->ops[end - 1], instruction);
  note_order(end - 1, instruction);
  if (instruction.operands.empty() || instruction.opcode == ptx::Opcode::St) return;
  std::vector<std::uint32_t> written;
  collect_registers(instruction.operands[0], written);
  if (instruction.operands[0].kind == ptx::Operand::Kind::Address) written.clear();
  for (const std::uint32_t reg : written) {
    producer_[reg] = end - 1;
    pattern_key_[reg] = 0;
    if (!is_load(instruction) || load_slot_[reg] == 0) continue;
    load_seen_[reg] = true;
    load_pending_[reg] = true;
    kernel_->ops[end - 1].set_slots |= static_cast<std::uint16_t>(1U << (load_slot_[reg] - 1U));
  }
}

void KernelBuilder::note_pattern(Op& op, const ptx::Instruction& instruction) {
  for (const ptx::Operand& operand : instruction.operands) {
    if (operand.kind != ptx::Operand::Kind::Address || operand.elements.size() != 1) continue;
    const ptx::Operand& base = operand.elements[0];
    if (base.kind != ptx::Operand::Kind::Register || base.index >= pattern_key_.size()) continue;
    std::uint16_t& key = pattern_key_[base.index];
    if (key == 0 && next_pattern_key_ != UINT16_MAX) key = next_pattern_key_++;
    op.pattern_key = key;
    return;
  }
}

bool KernelBuilder::dies(std::uint32_t op, Ref ref) const {
  const Origin& origin = kernel_->origins[kernel_->ops[op].source];
  const auto index =
      static_cast<std::uint32_t>(origin.instruction - origin.function->instructions.data());
  for (const ptx::Operand& operand : origin.instruction->operands) {
    if (operand.kind != ptx::Operand::Kind::Register || registers_[operand.index] != ref) continue;
    if (intervals_[operand.index].last != index) return false;
  }
  return true;
}

void KernelBuilder::note_pressure(std::uint32_t first_op, const ptx::Function& function) {
  constexpr std::array<std::int32_t, ptx::kRegisterClasses> words{0, 1, 2, 4};
  std::vector<std::int32_t> change(function.instructions.size() + 2, 0);
  for (std::size_t reg = 0; reg < intervals_.size(); ++reg) {
    const ptx::LiveInterval& interval = intervals_[reg];
    if (interval.is_empty()) continue;
    const auto kind = static_cast<std::size_t>(ptx::class_of(function.registers[reg].type));
    change[interval.first] += words[kind];
    change[interval.last + 1] -= words[kind];
  }
  std::int32_t live = 0;
  kernel_->pressure.resize(first_op, 0);
  for (std::size_t i = 0; i < function.instructions.size(); ++i) {
    live += change[i];
    kernel_->pressure.resize(op_of_instruction_[i + 1],
                             static_cast<std::uint16_t>(std::clamp(live, 0, 0xFFFF)));
  }
  kernel_->pressure.resize(kernel_->ops.size(), 0);
}

void KernelBuilder::finish_info() {
  const FunctionCode& entry = kernel_->functions.front();
  KernelInfo& info = kernel_->info;
  info.name = entry.function->name;
  info.static_shared = shared_bytes_;
  std::uint32_t callees = 0;
  for (std::size_t i = 1; i < kernel_->functions.size(); ++i) {
    callees = std::max(callees, kernel_->functions[i].frame_bytes);
  }
  info.local_bytes = entry.frame_bytes + callees;
  // What is live at once, and a few for addresses: near enough until ptxas says better.
  info.registers = std::clamp(round_up(8 + entry_words_, 8), 16U, 255U);
  if (entry.function->max_registers != 0) {
    info.max_registers = std::min(info.max_registers, entry.function->max_registers);
  }
  if (entry.function->max_threads) {
    const auto& limit = *entry.function->max_threads;
    info.max_threads = info.bound_threads = std::min(1024U, limit[0] * limit[1] * limit[2]);
  }
}

}  // namespace cuco::vgpu
