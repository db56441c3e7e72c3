// SPDX-License-Identifier: Apache-2.0
#include "analysis/walker.h"

#include <algorithm>

#include <fmt/format.h>

#include "analysis/syntax_query.h"

namespace cuco::analysis {
namespace {

bool is_pointer(std::string_view type) {
  return type.ends_with('*') || type.ends_with("*const") || type.ends_with("*__restrict");
}

bool is_array(std::string_view type) {
  return type.ends_with(']');
}

/// Numbers hold no pointers; everything else may.
bool is_number(std::string_view type) {
  constexpr std::string_view kNumbers[] = {
      "int",   "unsigned int", "long",          "unsigned long", "long long", "unsigned long long",
      "short", "float",        "double",        "bool",          "char",      "unsigned char",
      "void",  "signed char",  "unsigned short"};
  return std::ranges::find(kNumbers, type) != std::end(kNumbers);
}

void merge(Places& into, const Places& more) {
  into.insert(more.begin(), more.end());
}

}  // namespace

Walker::Walker(const Syntax& syntax) : syntax_(syntax) {}

// --- Entry points
// ---------------------------------------------------------------------------------

/// -1 if there is none with a body.
int Walker::number_of(std::string_view name) const {
  const auto* found = find_function(syntax_, name);
  return found == nullptr ? -1 : static_cast<int>(found - syntax_.functions.data());
}

/// Functions that nothing in the file calls: where a part of a program begins.
std::vector<int> Walker::roots() const {
  std::set<int> called;
  for (const auto& function : syntax_.functions) {
    for (const auto& site : calls_in(function))
      called.insert(site.call->function);
  }
  std::vector<int> found;
  for (std::size_t i = 0; i < syntax_.functions.size(); ++i) {
    const auto& function = syntax_.functions[i];
    const bool free = function.kind == FunctionKind::Host && function.body &&
                      function.name != "lambda" && function.name != "operator()";
    if (free && !called.contains(static_cast<int>(i))) found.push_back(static_cast<int>(i));
  }
  std::ranges::sort(found, {}, [&](int id) { return this->function(id).span.begin; });
  return found;
}

HostWalk Walker::walk() {
  for (const auto& global : syntax_.globals) {
    const auto& known = variable(global.variable);
    const int object =
        memory_.object(fmt::format("global {}", global.variable), {.name = known.name,
                                                                   .type = known.canonical,
                                                                   .variable = global.variable,
                                                                   .global = true,
                                                                   .span = known.span,
                                                                   .depth = 0});
    globals_[global.variable] = {{object, ""}};
    if (!global.value || is_number(known.canonical)) continue;
    assign(globals_[global.variable], evaluate(*global.value), *global.value, true);
  }
  const int setup = number_of("cuco_setup");
  const int run = number_of("cuco_run");
  if (const int main = number_of("main"); main >= 0) {
    enter(main, {});
  } else if (setup >= 0 && run >= 0) {
    walk_workload(setup, run, number_of("cuco_teardown"));
  } else {
    for (const int root : roots())
      enter(root, {});
  }
  for (std::size_t i = 0; i < syntax_.functions.size(); ++i) {
    if (syntax_.functions[i].kind == FunctionKind::Kernel) kernel_use(static_cast<int>(i));
  }
  result_.complete = steps_ <= kMostSteps;
  return std::move(result_);
}

void Walker::enter(int id, const std::vector<Outcome>& arguments) {
  const auto& called = function(id);
  entry_ = called.name;
  frame_ = std::make_shared<Frame>();
  frame_->context = called.name;
  frame_->function = id;
  calls_ = {id};
  bind_parameters(called, arguments, nullptr);
  if (called.record >= 0) {
    const int self = memory_.object("this of " + called.name, {.name = "this", .depth = 0});
    frame_->self = {{self, ""}};
  }
  execute(*called.body);
}

/// The three calls of include/cuco/workload.h, with what they are given.
void Walker::walk_workload(int setup, int run, int teardown) {
  const int context = memory_.object("workload", {.name = "context", .depth = 0});
  for (const auto& [field, role] : {std::pair{"inputs", "input"}, std::pair{"outputs", "output"}}) {
    const int list = memory_.object(fmt::format("workload {}", field),
                                    {.kind = ObjectKind::HostMemory, .name = field, .role = role});
    memory_.store({{context, fmt::format(".{}", field)}}, {{list, ""}}, true);
  }
  const int state = memory_.object("workload state", {.name = "state", .depth = 0});
  enter(setup, {Outcome::of_value({{context, ""}}), Outcome::of_value({{state, ""}})});
  const auto handle = Outcome::of_value(memory_.load({{state, ""}}, true));
  for (const auto& place : handle.value)
    result_.state_record = memory_.at(place.object).record;
  const int stream = memory_.object(
      "workload stream", {.kind = ObjectKind::Stream, .name = "stream", .role = "given"});
  enter(run, {handle, {}, Outcome::of_value({{stream, ""}})});
  if (teardown >= 0) enter(teardown, {handle});
}

// --- Statements
// -----------------------------------------------------------------------------------

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

// --- Expressions
// ----------------------------------------------------------------------------------

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

// --- The ground
// -----------------------------------------------------------------------------------

/// In a kernel: memory that its parameters lead to, and device variables.
void Walker::note(const Places& places, bool read, bool written, const Expression* target) {
  if (kernel_ == nullptr || silent_ > 0) return;
  for (const auto& place : places) {
    const auto& object = memory_.at(place.object);
    if (object.kind == ObjectKind::Variable &&
        (!object.global || !variable(object.variable).device)) {
      continue;
    }
    if (object.kind == ObjectKind::HostMemory || object.kind == ObjectKind::Function) continue;
    auto known = std::ranges::find(kernel_->accesses, place.object, &Access::object);
    if (known == kernel_->accesses.end()) {
      known = kernel_->accesses.insert(known, Access{.object = place.object});
    }
    known->read |= read;
    known->written |= written;
    if (!written || object.origin.empty()) continue;
    const auto owner = object.origin.begin()->object;
    const auto parameter = std::ranges::find(kernel_->parameters, owner);
    if (parameter == kernel_->parameters.end()) continue;
    const bool here = frame_->function == kernel_function_;
    const auto& name = memory_.at(owner).name;
    const bool direct = here && target != nullptr && target->text.find(name) != std::string::npos;
    const StoreSite site{static_cast<int>(parameter - kernel_->parameters.begin()), direct,
                         statement_};
    const auto same = [&](const StoreSite& other) {
      return other.parameter == site.parameter && other.statement == site.statement;
    };
    if (std::ranges::none_of(kernel_->stores, same)) kernel_->stores.push_back(site);
  }
}

/// Handles that a loop made are one object; which of them it is, the index says.
Places Walker::one_of(const Places& handles, const Outcome& given) const {
  if (!given.is_place || given.places.size() != 1 || handles.size() != 1) return handles;
  const auto& name = memory_.at(handles.begin()->object).name;
  const auto& path = given.places.begin()->path;
  const auto open = path.rfind('[');
  const bool many = name.ends_with(kAnyElement);
  if (!many || open == std::string::npos || !path.ends_with(']')) return handles;
  return {{handles.begin()->object, path.substr(open)}};
}

HostWalk walk_host(const Syntax& syntax) {
  return Walker(syntax).walk();
}

}  // namespace cuco::analysis
