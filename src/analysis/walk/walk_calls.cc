// SPDX-License-Identifier: Apache-2.0
// Calls of functions of the program.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "analysis/walk/type_spelling.h"
#include "analysis/walk/walker.h"

namespace cuco::analysis {

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
  if (const auto dynamic = overriding(expression, object.places_or_value()); !dynamic.empty()) {
    Outcome all;
    for (const int id : dynamic) {
      const auto one = call_function(id, object.places_or_value(), arguments, expression);
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
      return call_function(expression.function, arguments[0].places_or_value(),
                           {arguments.begin() + 1, arguments.end()}, expression);
    }
    return call_function(expression.function, object.places_or_value(), arguments, expression);
  }
  return call_foreign(expression, object, arguments);
}

}  // namespace cuco::analysis
