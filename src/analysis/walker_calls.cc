// SPDX-License-Identifier: Apache-2.0
// Calls: into functions of the program, of CUDA and NCCL (known_calls.h), and of everything else,
// of which only so much is known as the standard containers and pointers need.
#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "analysis/walker.h"
#include "base/text.h"

namespace cuco::analysis {
namespace {

bool is_pointer(std::string_view type) {
  return type.ends_with('*') || type.ends_with("*const") || type.ends_with("*__restrict");
}

bool is_any_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

bool is_smart_pointer(std::string_view type) {
  return type.find("unique_ptr<") != std::string_view::npos ||
         type.find("shared_ptr<") != std::string_view::npos ||
         type.find("optional<") != std::string_view::npos;
}

void merge(Places& into, const Places& more) {
  into.insert(more.begin(), more.end());
}

Places places_or_value(const Outcome& outcome) {
  return outcome.is_place ? outcome.places : outcome.value;
}

/// "const Base *": the class alone.
std::string class_of(std::string_view type) {
  std::string name;
  for (const std::string_view word : split(type, ' ')) {
    if (!is_any_of(word, {"const", "struct", "class", "*", "&", "*const", ""})) name = word;
  }
  while (name.ends_with('*') || name.ends_with('&'))
    name.pop_back();
  const auto scope = name.rfind("::");
  return scope == std::string::npos ? name : name.substr(scope + 2);
}

}  // namespace

// --- Functions of the program
// ---------------------------------------------------------------------

void Walker::bind_parameters(const Function& called,
                             const std::vector<Outcome>& arguments,
                             const Expression* expression) {
  for (std::size_t i = 0; i < called.parameters.size(); ++i) {
    const int id = called.parameters[i];
    const auto& parameter = variable(id);
    if (i >= arguments.size()) {
      home_of(id);
      continue;
    }
    const auto& given = arguments[i];
    if (parameter.reference && given.is_place) {
      frame_->bindings[id] = given.places;
      continue;
    }
    Expression written;
    written.type = parameter.canonical;
    if (expression != nullptr && i < expression->operands.size()) {
      written = expression->operands[i];
      if (varies(written)) counters_.insert(id);
    }
    assign(home_of(id), given, written, true);
  }
}

Outcome Walker::call_function(int id,
                              const Places& self,
                              const std::vector<Outcome>& arguments,
                              const Expression& expression) {
  const auto& called = function(id);
  const auto active = std::ranges::count(calls_, id);
  if (!called.body || active > 1 || calls_.size() > kDeepestCall) return {};
  const auto caller = frame_;
  const Span statement = statement_;
  const Span outermost = outermost_;
  auto frame = std::make_shared<Frame>();
  frame->context = fmt::format("{} {}", key(&expression), id);
  if (!self.empty() && expression.text.empty()) {
    // A destructor is called by nobody: its object tells the calls apart.
    frame->context += fmt::format(" of {}{}", self.begin()->object, self.begin()->path);
  }
  frame->function = id;
  frame->depth = caller->depth + 1;
  frame->self = self;
  if (called.name == "lambda") frame->outer = caller;
  frame_ = frame;
  bind_parameters(called, arguments, &expression);
  calls_.push_back(id);
  nest_.push_back({NestKind::Call, called.name, statement});
  for (const auto& member : called.members)
    assign(parts(self, "." + member.name), evaluate(member.value), member.value, true);
  if (called.record >= 0 &&
      called.name == syntax_.records[static_cast<std::size_t>(called.record)].name) {
    for (const auto& field : syntax_.records[static_cast<std::size_t>(called.record)].fields) {
      const bool given =
          std::ranges::find(called.members, field.name, &MemberValue::name) != called.members.end();
      if (field.value && !given) {
        assign(parts(self, "." + field.name), evaluate(*field.value), *field.value, true);
      }
    }
  }
  execute(*called.body);
  nest_.pop_back();
  calls_.pop_back();
  frame_ = caller;
  statement_ = statement;
  outermost_ = outermost;
  return frame->returned;
}

Outcome Walker::call_closures(const Places& callees,
                              const std::vector<Outcome>& arguments,
                              const Expression& expression) {
  Outcome all;
  for (const auto& callee : callees) {
    const auto& object = memory_.at(callee.object);
    if (object.kind != ObjectKind::Function || object.function < 0) continue;
    const auto caller = frame_;
    const auto closure = closures_.find(callee.object);
    // A closure sees the variables of where it was made.
    if (closure != closures_.end()) {
      auto inside = std::make_shared<Frame>(*closure->second);
      inside->context = fmt::format("{} closure {}", caller->context, callee.object);
      inside->depth = caller->depth;
      inside->outer = closure->second;
      inside->bindings.clear();
      frame_ = inside;
    }
    const auto result = call_function(object.function,
                                      closure == closures_.end() ? Places{} : closure->second->self,
                                      arguments, expression);
    frame_ = caller;
    all.is_place |= result.is_place;
    merge(all.places, result.places);
    merge(all.value, result.value);
  }
  return all;
}

Outcome Walker::evaluate_call(const Expression& expression) {
  Outcome object;
  if (!expression.callee.empty()) {
    object = evaluate(expression.callee[0]);
    if (expression.arrow) object = Outcome::of_place(take(object, expression.callee[0]));
  }
  const auto arguments = evaluate_all(expression.operands);
  if (expression.function < 0) {
    if (const auto* known = known_call(expression.name)) {
      record_call(*known, expression, arguments);
      return {};
    }
  }
  // A closure, or a pointer to a function, in a variable.
  if (!expression.callee.empty()) {
    auto held = object.is_place ? memory_.load(object.places, false) : object.value;
    // std::function holds its closure.
    if (object.is_place) merge(held, memory_.load(parts(object.places, kAnyElement), false));
    const bool closure = std::ranges::any_of(held, [&](const Place& place) {
      return memory_.at(place.object).kind == ObjectKind::Function;
    });
    if (closure && is_any_of(expression.name, {"operator()", "", expression.callee[0].text})) {
      return call_closures(held, arguments, expression);
    }
  }
  if (const auto dynamic = overriding(expression, places_or_value(object)); !dynamic.empty()) {
    Outcome all;
    for (const int id : dynamic) {
      const auto one = call_function(id, places_or_value(object), arguments, expression);
      all.is_place |= one.is_place;
      merge(all.places, one.places);
      merge(all.value, one.value);
    }
    return all;
  }
  if (expression.function >= 0 && function(expression.function).body) {
    const bool member = function(expression.function).record >= 0;
    if (member && expression.callee.empty() && !arguments.empty()) {
      // An operator: its object is the first argument.
      return call_function(expression.function, places_or_value(arguments[0]),
                           {arguments.begin() + 1, arguments.end()}, expression);
    }
    return call_function(expression.function, places_or_value(object), arguments, expression);
  }
  return call_foreign(expression, object, arguments);
}

// --- Everything else
// ------------------------------------------------------------------------------

bool Walker::derives_from(int record, std::string_view base) const {
  const auto& derived = syntax_.records[static_cast<std::size_t>(record)];
  return std::ranges::any_of(derived.bases, [&](int other) {
    return syntax_.records[static_cast<std::size_t>(other)].name == base ||
           derives_from(other, base);
  });
}

/// The members of that name of the classes that the object may be of: those that it was seen to be
/// made of, or all that derive from a class that leaves it to them. Empty: it is the one named.
std::vector<int> Walker::overriding(const Expression& expression, const Places& object) const {
  if (expression.callee.empty()) return {};
  std::set<int> found;
  const auto add = [&](int record) {
    const int member = member_of(record, expression.name, expression.operands.size());
    if (member >= 0) found.insert(member);
  };
  for (const auto& place : object) {
    const int record = place.path.empty() ? memory_.at(place.object).record : -1;
    if (record >= 0) add(record);
  }
  const bool is_known = expression.function >= 0 && function(expression.function).body;
  const std::string base = class_of(expression.callee[0].type);
  if (found.empty() && !is_known) {
    for (std::size_t i = 0; i < syntax_.records.size(); ++i) {
      if (derives_from(static_cast<int>(i), base)) add(static_cast<int>(i));
    }
  }
  return {found.begin(), found.end()};
}

int Walker::member_of(int record, std::string_view name, std::size_t parameters) const {
  for (std::size_t i = 0; i < syntax_.functions.size(); ++i) {
    const auto& candidate = syntax_.functions[i];
    if (candidate.record == record && candidate.name == name && candidate.body &&
        candidate.parameters.size() == parameters) {
      return static_cast<int>(i);
    }
  }
  for (const int base : syntax_.records[static_cast<std::size_t>(record)].bases) {
    if (const int found = member_of(base, name, parameters); found >= 0) return found;
  }
  return -1;
}

/// std::make_unique<Record>(…): the pointer in its holder.
Outcome Walker::make_owned(const Expression& expression, const std::vector<Outcome>& arguments) {
  const auto memory = temporary(expression, "owned");
  for (std::size_t i = 0; i < syntax_.records.size(); ++i) {
    const auto& record = syntax_.records[i];
    const bool named = expression.type.find("<" + record.name) != std::string::npos ||
                       expression.type.find("::" + record.name) != std::string::npos;
    if (record.name.empty() || !named) continue;
    const int constructor = member_of(static_cast<int>(i), record.name, arguments.size());
    memory_.at(memory.begin()->object).record = static_cast<int>(i);
    if (constructor >= 0) call_function(constructor, memory, arguments, expression);
    break;
  }
  const int holder = memory_.object(key(&expression) + " holder", {.name = "holder"});
  memory_.store({{holder, kAnyElement}}, memory, true);
  return Outcome::of_place({{holder, ""}});
}

void Walker::start_thread(const std::vector<Outcome>& arguments, const Expression& expression) {
  if (arguments.empty()) return;
  const auto callee = take(arguments[0], expression.operands[0]);
  nest_.push_back({NestKind::Thread, "", statement_});
  Expression call = expression;
  call.operands.erase(call.operands.begin());
  call_closures(callee, {arguments.begin() + 1, arguments.end()}, call);
  nest_.pop_back();
}

Outcome Walker::call_member(const Expression& expression,
                            const Places& object,
                            const std::vector<Outcome>& arguments) {
  const std::string_view name = expression.name;
  const std::string_view type = expression.callee.empty()
                                    ? std::string_view(expression.operands[0].type)
                                    : std::string_view(expression.callee[0].type);
  const std::size_t first = expression.callee.empty() ? 1 : 0;
  const auto held = parts(object, kAnyElement);
  if (is_smart_pointer(type)) {
    if (name == "reset" && !arguments.empty()) {
      memory_.store(held, take(arguments[first], expression.operands[first]), false);
      return {};
    }
    const auto inside = memory_.load(held, true);
    return name == "operator*" ? Outcome::of_place(inside) : Outcome::of_value(inside);
  }
  if (is_any_of(name, {"push_back", "emplace_back", "push", "emplace", "insert", "assign", "fill",
                       "push_front"})) {
    if (type.find("thread") != std::string_view::npos) {
      start_thread(arguments, expression);
      return {};
    }
    for (std::size_t i = first; i < arguments.size(); ++i)
      assign(held, arguments[i], expression.operands[i], false);
    return Outcome::of_place(held);
  }
  if (is_any_of(name, {"operator[]", "at"}) && arguments.size() > first) {
    const auto& index = expression.operands[first];
    return Outcome::of_place(parts(object, element_of(index, object)));
  }
  if (is_any_of(name, {"begin", "end", "data", "cbegin", "rbegin", "find", "c_str"})) {
    return Outcome::of_value(held);
  }
  // An iterator leads to its element.
  if (name == "operator*" || name == "operator->") {
    const auto inside = memory_.load(object, false);
    if (!inside.empty()) {
      return name == "operator*" ? Outcome::of_place(inside) : Outcome::of_value(inside);
    }
  }
  if (name == "operator+" || name == "operator-" || name == "operator++") {
    return Outcome::of_place(object);
  }
  // A method that may write does so to what the object refers to (cuda::atomic_ref, …).
  const auto referred = memory_.load(held, false);
  const bool loads = name == "load" || name == "wait";
  note(referred, !is_any_of(name, {"store"}), !loads, nullptr);
  if (expression.lvalue) return Outcome::of_place(held);
  return Outcome::of_value(is_pointer(expression.type) ? memory_.load(held, true) : referred);
}

std::optional<Outcome> Walker::call_standard(const Expression& expression,
                                             const std::vector<Outcome>& arguments) {
  const std::string_view name = expression.name;
  if (is_any_of(name, {"make_unique", "make_shared"})) return make_owned(expression, arguments);
  if (arguments.empty()) return std::nullopt;
  if (is_any_of(name, {"move", "forward", "ref", "cref", "as_const"})) return arguments[0];
  if (name == "addressof") return Outcome::of_value(arguments[0].places);
  if (name == "operator=" && arguments.size() == 2) {
    note(arguments[0].places, false, true, expression.operands.data());
    assign(arguments[0].places, arguments[1], expression.operands[1], false);
    return arguments[0];
  }
  if (name == "swap" && arguments.size() == 2) {
    const auto a = take(arguments[0], expression.operands[0]);
    const auto b = take(arguments[1], expression.operands[1]);
    memory_.store(arguments[0].places, b, false);
    memory_.store(arguments[1].places, a, false);
    return Outcome{};
  }
  if (is_any_of(name, {"malloc", "calloc", "aligned_alloc"})) {
    return Outcome::of_value(temporary(expression, std::string(name)));
  }
  if (is_any_of(name, {"async", "pthread_create"})) {
    const std::size_t at = name == "async" ? (arguments.size() > 1 ? 1 : 0) : 2;
    for (std::size_t i = 0; i <= at && i < arguments.size(); ++i) {
      const auto callee = take(arguments[i], expression.operands[i]);
      std::vector<Outcome> rest(arguments.begin() + static_cast<long>(i) + 1, arguments.end());
      nest_.push_back({NestKind::Thread, "", statement_});
      call_closures(callee, rest, Expression{expression});
      nest_.pop_back();
    }
    return Outcome{};
  }
  return std::nullopt;
}

Outcome Walker::call_foreign(const Expression& expression,
                             const Outcome& object,
                             const std::vector<Outcome>& arguments) {
  if (auto known = call_standard(expression, arguments)) return *std::move(known);
  if (auto launched = launch_by_call(expression, arguments)) return *std::move(launched);
  if (!expression.callee.empty()) {
    return call_member(expression, places_or_value(object), arguments);
  }
  const std::string_view name = expression.name;
  if (name.starts_with("operator") && !arguments.empty()) {
    const auto self = places_or_value(arguments[0]);
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const bool taken = i > 0 || !is_any_of(name, {"operator[]", "operator*", "operator->"});
      if (taken) take(arguments[i], expression.operands[i]);
    }
    const bool changes = name == "operator+=" || name == "operator-=" || name == "operator*=";
    if (changes) note(self, true, true, expression.operands.data());
    return call_member(expression, self, arguments);
  }
  // Of a function that is only known by name: what it may write through, and what it may call.
  const bool stores = name.starts_with("__st") || is_any_of(name, {"memcpy", "memset"});
  Places leads_to;
  std::vector<Outcome> elements;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto& operand = expression.operands[i];
    const bool writes = i < expression.writes.size() && expression.writes[i];
    if (is_pointer(operand.type) || !arguments[i].is_place) {
      const auto target = take(arguments[i], operand);
      if (is_pointer(operand.type)) note(target, !(stores && i == 0), writes, &operand);
      merge(leads_to, target);
      if (!target.empty()) elements.push_back(Outcome::of_place(target));
    } else {
      const bool read = !writes || !stores;
      note(arguments[i].places, read, writes, &operand);
    }
    const auto held =
        arguments[i].is_place ? memory_.load(arguments[i].places, false) : arguments[i].value;
    for (const auto& callee : held) {
      if (memory_.at(callee.object).kind != ObjectKind::Function) continue;
      call_closures({callee}, elements, Expression{expression});
    }
  }
  std::erase_if(leads_to, [&](const Place& place) {
    return memory_.at(place.object).kind == ObjectKind::Function;
  });
  return expression.lvalue ? Outcome::of_place(leads_to) : Outcome::of_value(leads_to);
}

// --- Operations
// -----------------------------------------------------------------------------------

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
