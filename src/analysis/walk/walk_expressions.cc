// SPDX-License-Identifier: Apache-2.0
// Expressions but calls: which places they stand for, and what is read and written.
#include <algorithm>

#include <fmt/format.h>

#include "analysis/walk/type_spelling.h"
#include "analysis/walk/walker.h"

namespace cuco::analysis {

std::vector<Outcome> Walker::evaluate_all(const std::vector<Expression>& expressions) {
  std::vector<Outcome> outcomes;
  for (const auto& expression : expressions)
    outcomes.push_back(evaluate(expression));
  return outcomes;
}

Outcome Walker::evaluate(const Expression& expression) {
  if (tired()) return {};
  switch (expression.kind) {
    case ExpressionKind::Literal:
      return {};
    case ExpressionKind::Variable:
      return Outcome::of_place(home_of(expression.variable));
    case ExpressionKind::Function: {
      if (expression.function < 0) return {};
      const int object = memory_.object(
          fmt::format("function {}", expression.function),
          {.kind = ObjectKind::Function, .name = expression.name, .function = expression.function});
      return Outcome::of_value({{object, ""}});
    }
    case ExpressionKind::Lambda: {
      const int object = memory_.object(
          key(&expression),
          {.kind = ObjectKind::Function, .name = "lambda", .function = expression.function});
      closures_[object] = frame_;
      return Outcome::of_value({{object, ""}});
    }
    case ExpressionKind::Member: {
      const auto base = evaluate(expression.operands[0]);
      const auto owners = expression.arrow ? take(base, expression.operands[0])
                          : base.is_place  ? base.places
                                           : base.value;
      return Outcome::of_place(parts(owners, "." + expression.name));
    }
    case ExpressionKind::Index:
      return evaluate_index(expression);
    case ExpressionKind::Unary:
      return evaluate_unary(expression);
    case ExpressionKind::Binary: {
      // A pointer and an offset lead to where the pointer does.
      Places value;
      for (const auto& operand : expression.operands)
        merge(value, take(evaluate(operand), operand));
      const bool keeps = expression.name == "+" || expression.name == "-" ||
                         expression.name == "," || is_pointer(expression.type);
      return Outcome::of_value(keeps ? value : Places{});
    }
    case ExpressionKind::Assign: {
      const auto from = evaluate(expression.operands[1]);
      const auto to = evaluate(expression.operands[0]);
      if (expression.name != "=") {
        note(to.places, true, false, nullptr);
        for (const auto& place : to.places)
          constants_[place.object] = std::nullopt;
      }
      note(to.places, false, true, &expression.operands[0]);
      if (expression.name == "=") {
        assign(to.places, from, expression.operands[1], false);
      } else {
        take(from, expression.operands[1]);
      }
      return to;
    }
    case ExpressionKind::Conditional:
      return evaluate_conditional(expression);
    case ExpressionKind::Call:
      return evaluate_call(expression);
    case ExpressionKind::Launch:
      return evaluate_launch(expression);
    case ExpressionKind::Construct:
      return evaluate_construct(expression);
    case ExpressionKind::List:
      return evaluate_list(expression);
    case ExpressionKind::New: {
      const auto at = temporary(expression, "new");
      for (const auto& operand : expression.operands) {
        const auto given = evaluate(operand);
        if (operand.kind == ExpressionKind::List || operand.kind == ExpressionKind::Construct) {
          memory_.at(at.begin()->object).record = operand.record;
          assign(at, given, operand, true);
        }
      }
      return Outcome::of_value(at);
    }
    case ExpressionKind::This:
      return Outcome::of_value(frame_->self);
    case ExpressionKind::Block:
      for (const auto& statement : expression.block)
        execute(statement);
      return {};
    case ExpressionKind::Other:
      break;
  }
  Places value;
  for (const auto& operand : expression.operands)
    merge(value, take(evaluate(operand), operand));
  return Outcome::of_value(value);
}

Places Walker::take(const Outcome& outcome, const Expression& expression) {
  if (!outcome.is_place) return outcome.value;
  const auto& type = expression.type;
  if (is_array(type)) return parts(outcome.places, kAnyElement);
  note(outcome.places, true, false, nullptr);
  auto held = memory_.load(outcome.places, is_pointer(type));
  merge(held, outcome.value);
  return held;
}

/// `fresh`: the target is new, so that nothing else can be in it.
void Walker::assign(const Places& target,
                    const Outcome& from,
                    const Expression& expression,
                    bool fresh) {
  const auto value = take(from, expression);
  const bool alone = target.size() == 1;
  for (const auto& place : target) {
    // Set twice, or by a loop, it is no constant.
    const auto number = fresh && alone && place.path.empty() ? constant(expression) : std::nullopt;
    const auto [known, added] = constants_.try_emplace(place.object, number);
    if (!added && known->second != number) known->second = std::nullopt;
  }
  const auto born = alone ? born_.find(target.begin()->object) : born_.end();
  const bool certain =
      fresh || control_depth() == 0 || (born != born_.end() && born->second == control_depth());
  const bool any = alone && target.begin()->path.find(kAnyElement) != std::string::npos;
  if (is_pointer(expression.type) || !value.empty()) {
    memory_.store(target, value, certain && alone && !any && silent_ == 0);
    name_objects(target, value);
  }
  if (from.is_place && !is_number(expression.type) && !is_pointer(expression.type)) {
    memory_.copy(target, from.places);
  }
}

bool Walker::varies(const Expression& expression) const {
  if (expression.kind == ExpressionKind::Variable) return counters_.contains(expression.variable);
  return std::ranges::any_of(expression.operands,
                             [&](const Expression& operand) { return varies(operand); });
}

/// A flag that a caller sets decides which side of a condition there is.
std::optional<long long> Walker::constant(const std::optional<Expression>& expression) {
  if (!expression) return std::nullopt;
  const auto& operands = expression->operands;
  switch (expression->kind) {
    case ExpressionKind::Literal:
      if (expression->type == "bool" || expression->type == "int") return expression->value;
      return std::nullopt;
    case ExpressionKind::Variable: {
      const auto home = home_of(expression->variable);
      if (home.size() != 1 || !home.begin()->path.empty()) return std::nullopt;
      const auto known = constants_.find(home.begin()->object);
      return known == constants_.end() ? std::nullopt : known->second;
    }
    case ExpressionKind::Unary: {
      const auto inner = constant(operands[0]);
      if (expression->name != "!" || !inner) return std::nullopt;
      return *inner == 0 ? 1 : 0;
    }
    case ExpressionKind::Binary: {
      const auto left = constant(operands[0]);
      const auto right = constant(operands[1]);
      if (!left || !right) return std::nullopt;
      if (expression->name == "==") return *left == *right ? 1 : 0;
      if (expression->name == "!=") return *left != *right ? 1 : 0;
      return std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

/// What a thing is called by its owners says more than what a helper's local variable says.
void Walker::name_objects(const Places& target, const Places& value) {
  for (const auto& place : target) {
    const auto& owner = memory_.at(place.object);
    const auto dot = place.path.rfind('.');
    // "x.data" says more than "data"; of "ranks[].send" the last part is enough.
    const bool short_path = owner.kind == ObjectKind::Variable && dot == 0 &&
                            place.path.find('[') == std::string::npos && owner.name != "this";
    const auto name = dot == std::string::npos || short_path ? owner.name + place.path
                                                             : place.path.substr(dot + 1);
    const int depth = dot != std::string::npos ? 0 : owner.depth;
    if (name.empty() || owner.kind == ObjectKind::Unknown) continue;
    for (const auto& to : value) {
      auto& object = memory_.at(to.object);
      if (!to.path.empty() || object.kind == ObjectKind::Variable ||
          object.kind == ObjectKind::Function) {
        continue;
      }
      if (std::ranges::find(object.names, name) == object.names.end()) object.names.push_back(name);
      const bool given = !object.role.empty() || object.kind == ObjectKind::Unknown;
      if (depth < object.depth && !given) {
        object.name = name;
        object.depth = depth;
      }
    }
  }
}

/// Pointers to pointers lead to lists of them; the element matters there and nowhere else.
Places Walker::behind(const Places& pointers, const std::string& element, const std::string& type) {
  Places found;
  for (const auto& place : pointers) {
    const auto kind = memory_.at(place.object).kind;
    const bool list = kind == ObjectKind::HostMemory || kind == ObjectKind::Unknown;
    const bool indexed = place.path.ends_with(']');
    found.insert(list && !indexed && is_pointer(type) ? part(place, element) : place);
  }
  return found;
}

/// A constant is itself. Workload buffers lie at [set * n + i]: there the sum's constant counts.
std::string Walker::element_of(const Expression& index, const Places& base) {
  if (index.kind == ExpressionKind::Literal) return element(index.value);
  const bool workload = std::ranges::any_of(
      base, [&](const Place& place) { return !memory_.at(place.object).role.empty(); });
  if (!workload) return kAnyElement;
  long long constant = 0;
  bool varies = false;
  const auto visit = [&](const auto& self, const Expression& part, bool summand) -> void {
    if (part.kind == ExpressionKind::Variable && counters_.contains(part.variable)) varies = true;
    if (part.kind == ExpressionKind::Literal && summand) constant += part.value;
    for (const auto& operand : part.operands)
      self(self, operand, summand && part.kind == ExpressionKind::Binary && part.name == "+");
  };
  visit(visit, index, true);
  return varies ? kAnyElement : element(constant);
}

Outcome Walker::evaluate_index(const Expression& expression) {
  const auto& base = expression.operands[0];
  const auto& index = expression.operands[1];
  const auto from = evaluate(base);
  take(evaluate(index), index);
  if (from.is_place && is_array(base.type)) {
    return Outcome::of_place(parts(from.places, element_of(index, from.places)));
  }
  const auto pointers = take(from, base);
  return Outcome::of_place(behind(pointers, element_of(index, pointers), expression.type));
}

Outcome Walker::evaluate_unary(const Expression& expression) {
  const auto& operand = expression.operands[0];
  const auto given = evaluate(operand);
  if (expression.name == "&") {
    return given.is_place ? Outcome::of_value(given.places) : given;
  }
  if (expression.name == "*") {
    return Outcome::of_place(behind(take(given, operand), element(0), expression.type));
  }
  const auto value = take(given, operand);
  if (expression.name == "++" || expression.name == "--") {
    note(given.places, true, true, &operand);
    for (const auto& place : given.places)
      constants_[place.object] = std::nullopt;
    return given;
  }
  return Outcome::of_value(value);
}

Outcome Walker::evaluate_conditional(const Expression& expression) {
  take(evaluate(expression.operands[0]), expression.operands[0]);
  if (const auto known = constant(expression.operands[0])) {
    return evaluate(expression.operands[*known != 0 ? 1 : 2]);
  }
  Outcome both;
  for (const std::size_t i : {1U, 2U}) {
    nest_.push_back(
        {i == 1 ? NestKind::If : NestKind::Else, expression.operands[0].text, expression.span});
    const auto side = evaluate(expression.operands[i]);
    nest_.pop_back();
    both.is_place |= side.is_place;
    merge(both.places, side.places);
    merge(both.value, side.value);
  }
  return both;
}

std::string Walker::key(const void* site) const {
  return fmt::format("{} at {}", frame_->context, site);
}

Places Walker::temporary(const Expression& expression, const std::string& name) {
  const int object = memory_.object(key(&expression), {.kind = ObjectKind::HostMemory,
                                                       .name = name,
                                                       .type = expression.type,
                                                       .span = expression.span});
  return {{object, ""}};
}

/// Members in their order, or elements.
Outcome Walker::evaluate_list(const Expression& expression) {
  const auto at = temporary(expression, "list");
  const auto* record = expression.record < 0
                           ? nullptr
                           : &syntax_.records[static_cast<std::size_t>(expression.record)];
  for (std::size_t i = 0; i < expression.operands.size(); ++i) {
    const auto& operand = expression.operands[i];
    const bool member = record != nullptr && i < record->fields.size();
    if (record == nullptr && expression.operands.size() == 1 && !is_array(expression.type) &&
        expression.type == operand.type) {
      return evaluate(operand);
    }
    const auto path = member              ? "." + record->fields[i].name
                      : record == nullptr ? element(static_cast<long long>(i))
                                          : "";
    assign(parts(at, path), evaluate(operand), operand, true);
  }
  return Outcome::of_place(at);
}

Outcome Walker::evaluate_construct(const Expression& expression) {
  auto arguments = evaluate_all(expression.operands);
  const bool copy = arguments.size() == 1 && arguments[0].is_place &&
                    expression.operands[0].type == expression.type;
  if (copy) {
    note(arguments[0].places, true, false, nullptr);
    const auto at = temporary(expression, expression.name);
    memory_.copy(at, arguments[0].places);
    return Outcome::of_place(at);
  }
  if (expression.function < 0) {
    if (expression.name == "thread" || expression.name == "jthread") {
      start_thread(arguments, expression);
    }
    const auto at = temporary(expression, expression.name);
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const auto& operand = expression.operands[i];
      if (expression.record >= 0 && arguments[i].is_place) {
        memory_.copy(at, arguments[i].places);
      }
      // A conversion of one foreign thing to another holds what that held.
      const bool converted = arguments.size() == 1 && arguments[i].is_place &&
                             !is_pointer(operand.type) && !is_number(operand.type);
      if (operand.kind == ExpressionKind::List || converted) {
        memory_.copy(at, arguments[i].places);
        if (operand.kind == ExpressionKind::List) continue;
      }
      auto value = take(arguments[i], operand);
      if (converted && value.empty()) continue;
      // What is held by reference can be written later.
      if (arguments[i].is_place && value.empty()) value = arguments[i].places;
      memory_.store(parts(at, kAnyElement), value, false);
    }
    return Outcome::of_place(at);
  }
  const auto at = temporary(expression, expression.name);
  call_function(expression.function, at, arguments, expression);
  return Outcome::of_place(at);
}

}  // namespace cuco::analysis
