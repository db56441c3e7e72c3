// SPDX-License-Identifier: Apache-2.0
#include "analysis/walk/walker.h"

#include <algorithm>

#include <fmt/format.h>

#include "analysis/syntax_query.h"
#include "analysis/walk/type_spelling.h"

namespace cuco::analysis {

Walker::Walker(const Syntax& syntax) : syntax_(syntax) {}

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
