// SPDX-License-Identifier: Apache-2.0
// Statements: what runs in which order, which variables live where.
#include <algorithm>

#include <fmt/format.h>

#include "analysis/walk/type_spelling.h"
#include "analysis/walk/walker.h"

namespace cuco::analysis {

int Walker::control_depth() const {
  return static_cast<int>(std::ranges::count_if(nest_, [](const Nest& nest) {
    return nest.kind != NestKind::Call && nest.kind != NestKind::Thread;
  }));
}

void Walker::execute(const Statement& statement) {
  if (tired()) return;
  const Span around = statement_;
  if (statement.kind != StatementKind::Block) statement_ = statement.span;
  switch (statement.kind) {
    case StatementKind::Block:
      execute_block(statement);
      break;
    case StatementKind::Declare:
      for (const auto& declared : statement.declared)
        declare(declared);
      break;
    case StatementKind::Evaluate:
      if (statement.value) evaluate(*statement.value);
      break;
    case StatementKind::If:
      for (const auto& first : statement.header)
        execute(first);
      statement_ = statement.span;
      if (statement.value) take(evaluate(*statement.value), *statement.value);
      if (const auto known = constant(statement.value)) {
        const std::size_t side = *known != 0 ? 0 : 1;
        if (side < statement.statements.size()) execute(statement.statements[side]);
        break;
      }
      if (!statement.statements.empty()) {
        execute_in({NestKind::If, statement.text, statement.span}, statement.statements[0]);
      }
      if (statement.statements.size() > 1) {
        execute_in({NestKind::Else, statement.text, statement.span}, statement.statements[1]);
      }
      break;
    case StatementKind::Loop:
      execute_loop(statement);
      break;
    case StatementKind::Switch:
      if (statement.value) take(evaluate(*statement.value), *statement.value);
      for (const auto& part : statement.statements)
        execute_in({NestKind::If, statement.value ? statement.value->text : "", statement.span},
                   part);
      break;
    case StatementKind::Return:
      if (kernel_ != nullptr && frame_->function == kernel_function_) {
        kernel_->returns.push_back(statement.span);
      }
      if (statement.value) {
        const auto given = evaluate(*statement.value);
        if (!given.is_place || is_number(statement.value->type)) {
          take(given, *statement.value);
        }
        if (statement.value->kind == ExpressionKind::Variable) {
          frame_->kept.insert(statement.value->variable);
        }
        for (const auto& operand : statement.value->operands) {
          if (operand.kind == ExpressionKind::Variable) frame_->kept.insert(operand.variable);
        }
        frame_->returned.is_place |= given.is_place;
        merge(frame_->returned.places, given.places);
        merge(frame_->returned.value, given.value);
      }
      break;
    case StatementKind::Jump:
      break;
    case StatementKind::Asm:
      // What an instruction does is not read: through a pointer to const it reads, else both.
      for (const auto& operand : statement.operands) {
        const auto given = take(evaluate(operand), operand);
        if (is_pointer(operand.type)) {
          note(given, true, !operand.type.starts_with("const "), &operand);
        }
      }
      break;
  }
  statement_ = around;
}

void Walker::execute_block(const Statement& statement) {
  std::vector<int> born;
  const auto& body = function(frame_->function).body;
  const bool own = body && &*body == &statement;
  for (const auto& part : statement.statements) {
    if (own) outermost_ = part.span;
    execute(part);
    for (const auto& declared : part.declared)
      born.push_back(declared.variable);
  }
  for (auto at = born.rbegin(); at != born.rend(); ++at)
    destroy(*at);
}

void Walker::execute_in(Nest nest, const Statement& statement) {
  nest_.push_back(std::move(nest));
  execute(statement);
  nest_.pop_back();
}

void Walker::execute_loop(const Statement& statement) {
  for (const auto& part : statement.header) {
    for (const auto& declared : part.declared)
      counters_.insert(declared.variable);
    execute(part);
  }
  const auto* test = statement.header.empty() ? nullptr : &statement.header.back().value;
  const bool once = statement.header.size() == 1 && test->has_value() &&
                    (*test)->kind == ExpressionKind::Literal && (*test)->value == 0 &&
                    statement.each < 0;
  if (statement.statements.empty()) return;
  // do { … } while (0) is a macro's way to be a statement.
  if (once) return execute(statement.statements.back());
  nest_.push_back({NestKind::Loop, statement.text, statement.span});
  if (statement.each >= 0) bind_element(statement);
  // The first round is for what it leaves to the next ones; the second has it all.
  ++silent_;
  execute(statement.statements.back());
  --silent_;
  execute(statement.statements.back());
  nest_.pop_back();
}

void Walker::bind_element(const Statement& loop) {
  counters_.insert(loop.each);
  if (!loop.value) return;
  const auto range = evaluate(*loop.value);
  auto elements = parts(range.places, kAnyElement);
  if (!range.is_place) elements = range.value;
  if (variable(loop.each).reference) {
    frame_->bindings[loop.each] = elements;
    return;
  }
  const auto home = home_of(loop.each);
  memory_.store(home, memory_.load(elements, is_pointer(variable(loop.each).canonical)), false);
  memory_.copy(home, elements);
}

Places Walker::home_of(int id) {
  for (auto frame = frame_; frame != nullptr; frame = frame->outer) {
    const auto found = frame->bindings.find(id);
    if (found != frame->bindings.end()) return found->second;
  }
  if (const auto global = globals_.find(id); global != globals_.end()) return global->second;
  const auto& known = variable(id);
  const int object =
      memory_.object(fmt::format("{} variable {}", frame_->context, id), {.name = known.name,
                                                                          .type = known.canonical,
                                                                          .variable = id,
                                                                          .span = known.span,
                                                                          .depth = frame_->depth});
  born_.try_emplace(object, control_depth());
  return frame_->bindings[id] = {{object, ""}};
}

void Walker::declare(const Declared& declared) {
  const auto& known = variable(declared.variable);
  if (!declared.value) {
    home_of(declared.variable);
    return;
  }
  // An object is constructed where it stands.
  if (declared.value->kind == ExpressionKind::Construct && declared.value->function >= 0 &&
      function(declared.value->function).body && !known.reference) {
    const auto arguments = evaluate_all(declared.value->operands);
    const bool copy = arguments.size() == 1 && arguments[0].is_place &&
                      declared.value->operands[0].type == declared.value->type;
    if (!copy) {
      call_function(declared.value->function, home_of(declared.variable), arguments,
                    *declared.value);
      return;
    }
  }
  const auto given = evaluate(*declared.value);
  if (known.reference && given.is_place) {
    frame_->bindings[declared.variable] = given.places;
    return;
  }
  if (varies(*declared.value)) counters_.insert(declared.variable);
  assign(home_of(declared.variable), given, *declared.value, true);
}

/// Runs the destructors of a variable that goes out of scope.
void Walker::destroy(int id) {
  const auto& known = variable(id);
  if (known.reference || known.record < 0 || frame_->kept.contains(id)) return;
  const auto home = home_of(id);
  const auto run = [&](const auto& self, int record, const Places& at, int depth) -> void {
    if (record < 0 || depth > 4) return;
    const auto& type = syntax_.records[static_cast<std::size_t>(record)];
    if (type.destructor >= 0) call_function(type.destructor, at, {}, Expression{});
    for (auto field = type.fields.rbegin(); field != type.fields.rend(); ++field)
      self(self, field->record, parts(at, "." + field->name), depth + 1);
  };
  run(run, known.record, home, 0);
}

}  // namespace cuco::analysis
