// SPDX-License-Identifier: Apache-2.0
// Calls of what has no text here: only so much is known of it as the standard containers, pointers
// and threads need.
#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "analysis/walk/type_spelling.h"
#include "analysis/walk/walker.h"
#include "base/text.h"

namespace cuco::analysis {

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
    return call_member(expression, object.places_or_value(), arguments);
  }
  const std::string_view name = expression.name;
  if (name.starts_with("operator") && !arguments.empty()) {
    const auto self = arguments[0].places_or_value();
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

}  // namespace cuco::analysis
