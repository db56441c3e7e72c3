// SPDX-License-Identifier: Apache-2.0
/// \file
/// The machine behind host_walk.h: an interpreter whose values are sets of places.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/walk/host_walk.h"

namespace cuco::analysis {

/// What an expression gives: a place that can be taken or assigned, or a value.
struct Outcome {
  Places places;
  Places value;
  bool is_place = false;

  static Outcome of_place(Places at) { return {std::move(at), {}, true}; }
  static Outcome of_value(Places leads_to) { return {{}, std::move(leads_to), false}; }

  [[nodiscard]] const Places& places_or_value() const { return is_place ? places : value; }
};

/// One call of a function.
struct Frame {
  std::string context;  ///< The calls that led here; the same each time they do.
  int function = -1;
  int depth = 0;
  std::map<int, Places> bindings;  ///< Where each variable lives.
  Places self;                     ///< `this`.
  Outcome returned;
  std::set<int> kept;            ///< Variables that are returned, and so not destroyed.
  std::shared_ptr<Frame> outer;  ///< Of a closure: where it was made.
};

class Walker {
 public:
  explicit Walker(const Syntax& syntax);
  HostWalk walk();

 private:
  // Statements.
  void execute(const Statement& statement);
  void execute_block(const Statement& statement);
  void execute_loop(const Statement& statement);
  void execute_in(Nest nest, const Statement& statement);
  void declare(const Declared& declared);
  void destroy(int variable);
  void bind_element(const Statement& loop);

  // Expressions.
  Outcome evaluate(const Expression& expression);
  Outcome evaluate_index(const Expression& expression);
  Outcome evaluate_unary(const Expression& expression);
  Outcome evaluate_construct(const Expression& expression);
  Outcome evaluate_list(const Expression& expression);
  Outcome evaluate_conditional(const Expression& expression);
  Outcome evaluate_call(const Expression& expression);
  Outcome evaluate_launch(const Expression& expression);
  std::vector<Outcome> evaluate_all(const std::vector<Expression>& expressions);

  /// What the outcome leads to; reading it from memory counts as a read.
  Places take(const Outcome& outcome, const Expression& expression);
  void assign(const Places& target, const Outcome& from, const Expression& expression, bool fresh);
  Places behind(const Places& pointers, const std::string& element, const std::string& type);
  std::string element_of(const Expression& index, const Places& base);
  bool varies(const Expression& expression) const;
  std::optional<long long> constant(const std::optional<Expression>& expression);
  Places temporary(const Expression& expression, const std::string& name);

  // Calls.
  Outcome call_function(int function,
                        const Places& self,
                        const std::vector<Outcome>& arguments,
                        const Expression& expression);
  Outcome call_closures(const Places& callees,
                        const std::vector<Outcome>& arguments,
                        const Expression& expression);
  Outcome call_foreign(const Expression& expression,
                       const Outcome& object,
                       const std::vector<Outcome>& arguments);
  Outcome call_member(const Expression& expression,
                      const Places& object,
                      const std::vector<Outcome>& arguments);
  std::optional<Outcome> call_standard(const Expression& expression,
                                       const std::vector<Outcome>& arguments);
  std::optional<Outcome> launch_by_call(const Expression& expression,
                                        const std::vector<Outcome>& arguments);
  std::vector<int> overriding(const Expression& expression, const Places& object) const;
  bool derives_from(int record, std::string_view base) const;
  int member_of(int record, std::string_view name, std::size_t parameters) const;
  Outcome make_owned(const Expression& expression, const std::vector<Outcome>& arguments);
  void start_thread(const std::vector<Outcome>& arguments, const Expression& expression);
  void bind_parameters(const Function& function,
                       const std::vector<Outcome>& arguments,
                       const Expression* expression);

  // Operations.
  HostOperation begin_operation(OperationKind kind, const Expression& expression);
  void record_call(const KnownCall& call,
                   const Expression& expression,
                   const std::vector<Outcome>& arguments);
  void record_launch(int kernel,
                     const Expression& expression,
                     const std::vector<Outcome>& arguments,
                     LaunchConfiguration configuration,
                     const Places& streams);
  void make_objects(const KnownCall& call, const Expression& expression, HostOperation& operation);
  const KernelUse& kernel_use(int kernel);
  Places at_launch(const Place& place,
                   const KernelUse& use,
                   const std::vector<Outcome>& arguments,
                   int depth);

  // Entry points.
  void enter(int function, const std::vector<Outcome>& arguments);
  void walk_workload(int setup, int run, int teardown);
  std::vector<int> roots() const;
  int number_of(std::string_view name) const;

  // The ground.
  void note(const Places& places, bool read, bool written, const Expression* target);
  Places one_of(const Places& handles, const Outcome& given) const;
  void name_objects(const Places& target, const Places& value);
  Places home_of(int variable);
  int control_depth() const;
  std::string key(const void* site) const;
  const Variable& variable(int id) const { return syntax_.variables[static_cast<std::size_t>(id)]; }
  const Function& function(int id) const { return syntax_.functions[static_cast<std::size_t>(id)]; }
  bool tired() { return ++steps_ > kMostSteps; }

  static constexpr long kMostSteps = 3'000'000;
  static constexpr int kDeepestCall = 48;

  const Syntax& syntax_;
  HostWalk result_;
  AbstractMemory& memory_ = result_.memory;
  std::shared_ptr<Frame> frame_ = std::make_shared<Frame>();
  std::map<int, std::shared_ptr<Frame>> closures_;  ///< By the closure's object.
  std::map<int, int> born_;                         ///< Control depth of each variable's object.
  std::set<int> counters_;                          ///< Variables that change from round to round.
  std::map<int, std::optional<long long>> constants_;  ///< Of variables, by their object.
  std::map<int, Places> globals_;
  std::vector<int> calls_;  ///< Functions that are being called.
  std::vector<Nest> nest_;
  Span statement_, outermost_;
  std::string entry_;
  KernelUse* kernel_ = nullptr;  ///< Set while a kernel is walked.
  int kernel_function_ = -1;
  int silent_ = 0;
  long steps_ = 0;
};

}  // namespace cuco::analysis
