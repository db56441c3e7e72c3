// SPDX-License-Identifier: Apache-2.0
// Calls of CUDA and NCCL (known_calls.h), and launches: what the host asks of its GPUs.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "analysis/walk/type_spelling.h"
#include "analysis/walk/walker.h"

namespace cuco::analysis {

HostOperation Walker::begin_operation(OperationKind kind, const Expression& expression) {
  HostOperation operation;
  operation.kind = kind;
  operation.name = expression.name;
  operation.entry = entry_;
  operation.function = frame_->function;
  operation.span = expression.span;
  operation.statement = statement_;
  operation.outermost = outermost_;
  operation.nest = nest_;
  for (const auto& operand : expression.operands) {
    operation.arguments.push_back(operand.text);
    operation.varies.push_back(varies(operand));
  }
  return operation;
}

/// One object per place that takes it: a loop over a table of pointers makes as many buffers.
void Walker::make_objects(const KnownCall& call,
                          const Expression& expression,
                          HostOperation& operation) {
  const auto size = static_cast<std::size_t>(call.size);
  for (const auto& target : operation.values[static_cast<std::size_t>(call.made)]) {
    Object made{.kind = call.makes, .allocator = expression.name, .span = expression.span};
    if (call.size >= 0 && size < operation.arguments.size()) made.bytes = operation.arguments[size];
    if (call.makes == ObjectKind::Window) made.origin = operation.used;
    if (call.makes == ObjectKind::Communicator && call.communicator >= 0) {
      made.origin = operation.communicators;
    }
    const int object =
        memory_.object(fmt::format("{} {}{}", key(&expression), target.object, target.path), made);
    const bool any = target.path.find(kAnyElement) != std::string::npos;
    memory_.store({target}, {{object, ""}}, !any);
    name_objects({target}, {{object, ""}});
    operation.made.insert({object, ""});
  }
}

void Walker::record_call(const KnownCall& call,
                         const Expression& expression,
                         const std::vector<Outcome>& arguments) {
  if (kernel_ != nullptr) return;
  auto operation = begin_operation(call.kind, expression);
  operation.call = &call;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    operation.values.push_back(take(arguments[i], expression.operands[i]));
  const auto value = [&](int index) {
    const auto at = static_cast<std::size_t>(index);
    return index >= 0 && at < operation.values.size() ? operation.values[at] : Places{};
  };
  const auto handle = [&](int index) {
    const auto at = static_cast<std::size_t>(index);
    return index >= 0 && at < arguments.size() ? one_of(operation.values[at], arguments[at])
                                               : Places{};
  };
  operation.streams = handle(call.stream);
  operation.events = value(call.event);
  operation.communicators = handle(call.communicator);
  operation.used = value(call.used);
  const auto touch = [&](int index, bool written) {
    for (const auto& place : value(index)) {
      auto known = std::ranges::find(operation.accesses, place.object, &Access::object);
      if (known == operation.accesses.end()) {
        known = operation.accesses.insert(known, Access{.object = place.object});
      }
      (written ? known->written : known->read) = true;
    }
  };
  touch(call.read, false);
  touch(call.written, true);
  if (call.name == "ncclBcast") touch(call.written, false);
  if (call.made >= 0 && static_cast<std::size_t>(call.made) < operation.values.size()) {
    make_objects(call, expression, operation);
  }
  if (silent_ == 0) result_.operations.push_back(std::move(operation));
}

Outcome Walker::evaluate_launch(const Expression& expression) {
  LaunchConfiguration configuration;
  std::array<std::string*, 4> texts{&configuration.grid, &configuration.block,
                                    &configuration.shared, &configuration.stream};
  Places streams;
  for (std::size_t i = 0; i < expression.configuration.size() && i < texts.size(); ++i) {
    *texts[i] = expression.configuration[i].text;
    const auto given = evaluate(expression.configuration[i]);
    const auto leads_to = take(given, expression.configuration[i]);
    if (i == 3) streams = one_of(leads_to, given);
  }
  const auto arguments = evaluate_all(expression.operands);
  Places callees;
  if (!expression.callee.empty()) {
    const auto& callee = expression.callee[0];
    callees = take(evaluate(callee), callee);
  }
  bool launched = false;
  for (const auto& callee : callees) {
    const int kernel = memory_.at(callee.object).function;
    if (kernel < 0) continue;
    record_launch(kernel, expression, arguments, configuration, streams);
    launched = true;
  }
  if (!launched) record_launch(-1, expression, arguments, configuration, streams);
  return {};
}

/// cudaLaunchKernel(kernel, grid, block, arguments, …) and its relatives.
std::optional<Outcome> Walker::launch_by_call(const Expression& expression,
                                              const std::vector<Outcome>& arguments) {
  const std::string_view name = expression.name;
  const bool plain = is_any_of(name, {"cudaLaunchKernel", "cudaLaunchCooperativeKernel"});
  const bool extended = is_any_of(name, {"cudaLaunchKernelEx"});
  if (!plain && !extended) return std::nullopt;
  const std::size_t callee = plain ? 0 : 1;
  if (arguments.size() <= callee) return std::nullopt;
  LaunchConfiguration configuration;
  Places streams;
  std::vector<Outcome> given;
  Expression shown = expression;
  shown.operands.clear();
  if (plain && arguments.size() >= 6) {
    configuration = {expression.operands[1].text, expression.operands[2].text,
                     expression.operands[4].text, expression.operands[5].text};
    streams = take(arguments[5], expression.operands[5]);
    // The fourth argument is a list of addresses.
    const auto list = take(arguments[3], expression.operands[3]);
    for (int i = 0; i < 64; ++i) {
      Places at;
      for (const auto& place : list) {
        const auto base = place.path.ends_with("[]")
                              ? Place{place.object, place.path.substr(0, place.path.size() - 2)}
                              : place;
        at.insert(part(base, element(i)));
      }
      const auto address = memory_.load(at, false);
      if (address.empty()) break;
      given.push_back(Outcome::of_place(address));
      Expression argument;
      argument.kind = ExpressionKind::Variable;
      argument.text = memory_.at(address.begin()->object).name;
      argument.type = "void *";
      shown.operands.push_back(argument);
    }
  } else if (extended) {
    const auto config = take(arguments[0], expression.operands[0]);
    streams = memory_.load(parts(config, ".stream"), false);
    given.assign(arguments.begin() + 2, arguments.end());
    shown.operands.assign(expression.operands.begin() + 2, expression.operands.end());
  }
  for (const auto& place : take(arguments[callee], expression.operands[callee])) {
    const int kernel = memory_.at(place.object).function;
    if (kernel >= 0) record_launch(kernel, shown, given, configuration, streams);
  }
  return Outcome{};
}

void Walker::record_launch(int kernel,
                           const Expression& expression,
                           const std::vector<Outcome>& arguments,
                           LaunchConfiguration configuration,
                           const Places& streams) {
  if (kernel_ != nullptr) return;
  auto operation = begin_operation(OperationKind::Launch, expression);
  operation.kernel = kernel;
  operation.configuration = std::move(configuration);
  operation.streams = streams;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    operation.values.push_back(take(arguments[i], expression.operands[i]));
  if (kernel >= 0) {
    operation.name = function(kernel).name;
    const auto& use = kernel_use(kernel);
    for (const auto& access : use.accesses) {
      for (const auto& place : at_launch({access.object, ""}, use, arguments, 0)) {
        auto known = std::ranges::find(operation.accesses, place.object, &Access::object);
        if (known == operation.accesses.end()) {
          known = operation.accesses.insert(known, Access{.object = place.object});
        }
        known->read |= access.read;
        known->written |= access.written;
      }
    }
  }
  if (silent_ == 0) result_.operations.push_back(std::move(operation));
}

/// What a place of the kernel's walk is in one launch.
Places Walker::at_launch(const Place& place,
                         const KernelUse& use,
                         const std::vector<Outcome>& arguments,
                         int depth) {
  const auto object = memory_.at(place.object);  // loads make objects, and move those there are
  const auto parameter = std::ranges::find(use.parameters, place.object);
  if (parameter != use.parameters.end()) {
    const auto index = static_cast<std::size_t>(parameter - use.parameters.begin());
    if (index >= arguments.size()) return {};
    const auto& given = arguments[index];
    if (given.is_place) return parts(given.places, place.path);
    return place.path.empty() ? given.value : parts(given.value, place.path);
  }
  if (object.kind != ObjectKind::Unknown || depth > 4) return {place};
  Places found;
  for (const auto& origin : object.origin) {
    const bool whole = std::ranges::find(use.parameters, origin.object) != use.parameters.end() &&
                       origin.path.empty();
    const auto at = at_launch(origin, use, arguments, depth + 1);
    // A pointer argument that is a value is there already; one that lies in memory is loaded.
    const auto index = static_cast<std::size_t>(std::ranges::find(use.parameters, origin.object) -
                                                use.parameters.begin());
    const bool value = whole && index < arguments.size() && !arguments[index].is_place;
    merge(found, value ? at : memory_.load(at, true));
  }
  return parts(found, place.path);
}

const KernelUse& Walker::kernel_use(int kernel) {
  const auto [known, added] = result_.kernels.try_emplace(kernel);
  if (!added) return known->second;
  auto& use = known->second;
  const auto saved_frame = frame_;
  const auto saved_nest = nest_;
  const auto saved_calls = calls_;
  const Span saved_statement = statement_;
  const Span saved_outermost = outermost_;
  const int saved_silent = silent_;
  silent_ = 0;
  nest_.clear();
  calls_ = {kernel};
  frame_ = std::make_shared<Frame>();
  frame_->context = fmt::format("kernel {}", kernel);
  frame_->function = kernel;
  kernel_ = &use;
  kernel_function_ = kernel;
  for (const int parameter : function(kernel).parameters)
    use.parameters.push_back(home_of(parameter).begin()->object);
  if (function(kernel).body) execute(*function(kernel).body);
  kernel_ = nullptr;
  kernel_function_ = -1;
  silent_ = saved_silent;
  frame_ = saved_frame;
  nest_ = saved_nest;
  calls_ = saved_calls;
  statement_ = saved_statement;
  outermost_ = saved_outermost;
  return use;
}

}  // namespace cuco::analysis
