// SPDX-License-Identifier: Apache-2.0
#include "expert/kernels/reading/loops/loop_accesses.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "base/text.h"
#include "expert/kernels/reading/callee.h"
#include "expert/kernels/reading/loops/accumulators.h"
#include "expert/kernels/reading/place.h"
#include "expert/kernels/reading/subscript.h"
#include "expert/kernels/reading/visit.h"

namespace cuco::expert::kernels {
namespace {

using analysis::Expression;
using analysis::ExpressionKind;
using analysis::Span;
using analysis::Statement;
using analysis::StatementKind;

Error no(std::string reason) {
  return {ErrorKind::InvalidInput, std::move(reason)};
}

enum class How { Read, Write, Update };

class Finder {
 public:
  Finder(const KernelBody& kernel, const ElementLoop& loop, std::string_view text)
      : kernel_(kernel), loop_(loop), text_(text) {
    for (const auto* statement : loop.body) {
      inside_.merge(declared_in(*statement));
      changed_.merge(assigned_in(*statement));
    }
  }

  Result<LoopAccesses> find() {
    for (const auto* statement : loop_.body)
      CUCO_TRY(walk(*statement, false));
    CUCO_TRY_ASSIGN(found_.reductions, find_accumulators(kernel_, loop_));
    CUCO_TRY(check_outside());
    CUCO_TRY(check_order());
    for (const auto& late : left_scalar_) {
      auto* known = find_known(late.key);
      if (known == nullptr && !late.harmless) return no(late.why);
      // Also made in every round: then the element is at hand.
      if (known != nullptr) known->places.push_back(late.span);
    }
    if (found_.accesses.empty()) return no("no access with the index as its last term");
    return std::move(found_);
  }

 private:
  using Key = std::pair<std::string, std::string>;

  /// An access that stays one by one unless the same is made in every round.
  struct Late {
    Key key;
    Span span;
    bool harmless;
    std::string why;
  };

  VectorAccess* find_known(const Key& key) {
    const auto found = std::ranges::find_if(found_.accesses, [&](const VectorAccess& access) {
      return access.pointer == key.first && access.rest == key.second;
    });
    return found == found_.accesses.end() ? nullptr : &*found;
  }

  // --- Statements --------------------------------------------------------------------------------

  Result<void> walk(const Statement& statement, bool conditional) {
    switch (statement.kind) {
      case StatementKind::Return:
        return no("the loop's body returns");
      case StatementKind::Asm:
        return no("the loop's body has inline assembly");
      case StatementKind::Jump:
        if (nested_ == 0) return no("the loop's body leaves a round early");
        return {};
      case StatementKind::Switch:
        return no("the loop's body has a switch");
      default:
        break;
    }
    const bool loop = statement.kind == StatementKind::Loop;
    const bool inner = conditional || loop;
    nested_ += loop ? 1 : 0;
    for (const auto& part : statement.header)
      CUCO_TRY(walk(part, inner));
    for (const auto& declared : statement.declared)
      CUCO_TRY(walk_declared(declared, conditional));
    if (statement.value) CUCO_TRY(walk(*statement.value, How::Read, conditional));
    for (const auto& part : statement.statements)
      CUCO_TRY(walk(part, inner || statement.kind == StatementKind::If));
    nested_ -= loop ? 1 : 0;
    return {};
  }

  Result<void> walk_declared(const analysis::Declared& declared, bool conditional) {
    if (!declared.value) return {};
    const auto& variable = kernel_.variable(declared.variable);
    const bool leads = variable.reference || variable.canonical.ends_with("*");
    if (leads && depends_on(kernel_, *declared.value, loop_.index))
      return no(fmt::format("'{}' keeps the address of an element", variable.name));
    return walk(*declared.value, How::Read, conditional);
  }

  // --- Expressions -------------------------------------------------------------------------------

  Result<void> walk(const Expression& expression, How how, bool conditional) {
    if (const auto place = read_place(expression))
      return access(expression, *place, how, conditional);
    switch (expression.kind) {
      case ExpressionKind::Variable:
        return {};
      case ExpressionKind::Assign:
        CUCO_TRY(walk(expression.operands[1], How::Read, conditional));
        return walk(expression.operands[0], expression.name == "=" ? How::Write : How::Update,
                    conditional);
      case ExpressionKind::Member:
        // A member of an element: the others stay as they are, so they have to be known.
        if (expression.operands.empty()) return {};
        return walk(expression.operands[0], how == How::Read ? How::Read : How::Update,
                    conditional);
      case ExpressionKind::Unary:
        return walk_unary(expression, conditional);
      case ExpressionKind::Binary: {
        const bool lazy = expression.name == "&&" || expression.name == "||";
        CUCO_TRY(walk(expression.operands[0], How::Read, conditional));
        return walk(expression.operands[1], How::Read, conditional || lazy);
      }
      case ExpressionKind::Conditional:
        CUCO_TRY(walk(expression.operands[0], How::Read, conditional));
        CUCO_TRY(walk(expression.operands[1], How::Read, true));
        return walk(expression.operands[2], How::Read, true);
      case ExpressionKind::Call:
        return call(expression, conditional);
      case ExpressionKind::Lambda:
      case ExpressionKind::Block:
      case ExpressionKind::Launch:
      case ExpressionKind::New:
        return no(fmt::format("'{}' is not understood", shortened(expression.text)));
      default:
        for (const auto& operand : expression.operands)
          CUCO_TRY(walk(operand, How::Read, conditional));
        return {};
    }
  }

  Result<void> walk_unary(const Expression& expression, bool conditional) {
    const bool changes = expression.name == "++" || expression.name == "--";
    if (expression.name == "&" && depends_on(kernel_, expression, loop_.index))
      return no(fmt::format("'{}' takes the address of an element", expression.text));
    return walk(expression.operands[0], changes ? How::Update : How::Read, conditional);
  }

  Result<void> call(const Expression& expression, bool conditional) {
    if (is_conversion(expression)) return walk(expression.callee[0], How::Read, conditional);
    if (!expression.callee.empty())
      return no(fmt::format("'{}' calls an object", shortened(expression.text)));
    if (talks_to_other_threads(expression.name))
      return no(fmt::format("the loop's body calls {}", expression.name));
    const auto* callee =
        expression.function < 0
            ? nullptr
            : &kernel_.syntax().functions[static_cast<std::size_t>(expression.function)];
    if (callee != nullptr) {
      if (const auto effect = side_effect(kernel_.syntax(), *callee))
        return no(fmt::format("the loop's body {}", *effect));
    }
    if (is_cached_load(expression)) {
      const auto place = read_place(expression.operands[0].operands[0]);
      if (place) return access(expression, *place, How::Read, conditional);
    }
    // Operators of classes assign their first operand.
    if (expression.name.starts_with("operator") && expression.name.ends_with('=') &&
        expression.name != "operator==" && expression.name != "operator!=" &&
        expression.name != "operator<=" && expression.name != "operator>=") {
      CUCO_TRY(walk(expression.operands[1], How::Read, conditional));
      return walk(expression.operands[0], expression.name == "operator=" ? How::Write : How::Update,
                  conditional);
    }
    // Values first: what the call writes, it writes when it has them.
    for (const bool addresses : {false, true}) {
      for (std::size_t i = 0; i < expression.operands.size(); ++i) {
        const auto& operand = expression.operands[i];
        const bool written = i < expression.writes.size() && expression.writes[i];
        const bool address = operand.type.ends_with("*") || written;
        if (address != addresses) continue;
        CUCO_TRY(address ? argument(expression, callee, i, conditional)
                         : walk(operand, How::Read, conditional));
      }
    }
    return {};
  }

  /// __ldg(&p[i]) and its relatives.
  static bool is_cached_load(const Expression& call) {
    constexpr std::array<std::string_view, 5> kLoads = {"__ldg", "__ldcs", "__ldca", "__ldcg",
                                                        "__ldlu"};
    return std::ranges::find(kLoads, call.name) != kLoads.end() && call.operands.size() == 1 &&
           call.operands[0].kind == ExpressionKind::Unary && call.operands[0].name == "&";
  }

  /// A pointer or reference that is handed to a function.
  Result<void> argument(const Expression& call,
                        const analysis::Function* callee,
                        std::size_t i,
                        bool conditional) {
    const auto& operand = call.operands[i];
    const bool taken = operand.kind == ExpressionKind::Unary && operand.name == "&";
    const auto& target = taken ? operand.operands[0] : operand;
    const auto place = read_place(target);
    if (!place) {
      // A variable of the body's own may be changed by anybody.
      const auto used = variables_of(operand);
      const bool own = std::ranges::all_of(used, [&](int id) { return inside_.contains(id); });
      if (own && !used.empty()) return {};
      return no(fmt::format("{} is given '{}'", call.name, shortened(operand.text)));
    }
    const auto use =
        callee == nullptr ? std::nullopt : use_of_parameter(kernel_.syntax(), *callee, i);
    if (!use)
      return no(fmt::format("what {} does with '{}' is not known", call.name, operand.text));
    const How how = !use->written ? How::Read : use->read ? How::Update : How::Write;
    return access(target, *place, how, conditional);
  }

  // --- Accesses ----------------------------------------------------------------------------------

  bool varies(const Expression& expression) const {
    return depends_on(kernel_, expression, loop_.index) ||
           std::ranges::any_of(variables_of(expression), [&](int id) {
             return inside_.contains(id) || changed_.contains(id);
           });
  }

  Result<void> access(const Expression& whole, const Place& place, How how, bool conditional) {
    const auto* array = place.pointer;
    const bool own = array->kind == ExpressionKind::Variable && inside_.contains(array->variable) &&
                     array->type.find('[') != std::string::npos;
    if (own)
      return place.subscript ? walk(*place.subscript, How::Read, conditional) : Result<void>();
    const bool moves = varies(*array) || (place.subscript != nullptr && varies(*place.subscript));
    if (!moves) {
      if (how != How::Read)
        return no(fmt::format("every round stores to '{}'", shortened(whole.text)));
      return place.subscript ? walk(*place.subscript, How::Read, conditional) : Result<void>();
    }
    auto rest = unit_stride(place);
    const bool readable = how == How::Read && is_read_only(*array);
    const auto why =
        fmt::format("'{}' does not go to neighbouring elements", shortened(whole.text));
    if (!rest || whole.span.from_macro) {
      if (!readable) return no(why);
      if (place.subscript) CUCO_TRY(walk(*place.subscript, How::Read, conditional));
      return {};
    }
    const Key key{array->text, *rest};
    if (conditional) {
      if (how != How::Read)
        return no(fmt::format("'{}' is stored in some rounds only", shortened(whole.text)));
      order_.push_back({key, false, is_restricted(*array)});
      left_scalar_.push_back(
          {key, whole.span, readable,
           fmt::format("'{}' is read in some rounds only", shortened(whole.text))});
      return {};
    }
    return add(key, whole, place, how);
  }

  /// The subscript without the index, if that leaves something that is the same in all rounds.
  std::optional<std::string> unit_stride(const Place& place) const {
    if (place.subscript == nullptr || varies(*place.pointer)) return std::nullopt;
    auto rest = without_index(kernel_, *place.subscript, loop_.index);
    if (!rest) return std::nullopt;
    bool steady = true;
    const auto check = [&](const Expression& part) {
      for (const int id : variables_of(part)) {
        const bool made_of_index = id == loop_.index || depends_on_index(id);
        if (!made_of_index && (inside_.contains(id) || changed_.contains(id))) steady = false;
      }
    };
    check(*place.subscript);
    for (const int id : variables_of(*place.subscript)) {
      if (id != loop_.index && depends_on_index(id)) check(*kernel_.only_value(id));
    }
    if (!steady) return std::nullopt;
    const auto terms = polynomial(kernel_, *place.subscript);
    // A neighbour's element would never be aligned at the same time.
    return terms.contains(Product{}) ? std::nullopt : std::optional(*std::move(rest));
  }

  bool depends_on_index(int id) const {
    const auto* value = kernel_.only_value(id);
    return value != nullptr && depends_on(kernel_, *value, loop_.index);
  }

  bool is_restricted(const Expression& pointer) const {
    return pointer.kind == ExpressionKind::Variable &&
           kernel_.variable(pointer.variable).type.find("__restrict") != std::string::npos;
  }

  /// Nothing that the loop stores can be what it reads there.
  bool is_read_only(const Expression& pointer) const {
    return is_restricted(pointer) && kernel_.variable(pointer.variable).type.starts_with("const ");
  }

  Result<void> add(const Key& key, const Expression& whole, const Place& place, How how) {
    const auto& array = *place.pointer;
    const auto& subscript = *place.subscript;
    auto* known = find_known(key);
    if (known == nullptr) {
      VectorAccess made{.pointer = key.first, .rest = key.second};
      made.element = element_type(array.type);
      made.element_bytes = bytes_of_type(made.element);
      if (made.element_bytes == 0)
        return no(fmt::format("elements of type {} make no vectors", made.element));
      made.restricted = is_restricted(array);
      made.array = &array;
      made.subscript = &subscript;
      made.type_text = type_text(array);
      found_.accesses.push_back(std::move(made));
      known = &found_.accesses.back();
    }
    if (how != How::Write && !known->written) known->read = true;
    if (how != How::Write) order_.push_back({key, false, known->restricted});
    if (how != How::Read) {
      known->written = true;
      order_.push_back({key, true, known->restricted});
    }
    known->places.push_back(whole.span);
    return {};
  }

  std::string type_text(const Expression& array) const {
    // Where nothing depends on a template's arguments, a type has one name.
    if (kernel_.function().arguments.empty()) return element_type(array.type);
    if (array.kind != ExpressionKind::Variable) return "";
    const auto& variable = kernel_.variable(array.variable);
    const auto& parameters = kernel_.function().parameters;
    if (variable.span.elsewhere ||
        std::ranges::find(parameters, array.variable) == parameters.end())
      return "";
    return written_type(text_.substr(variable.span.begin, variable.span.end - variable.span.begin),
                        variable.name);
  }

  // --- Preconditions of the whole loop -----------------------------------------------------------

  /// Loads move in front of all stores: none of them may read what was just stored.
  Result<void> check_order() const {
    for (std::size_t store = 0; store < order_.size(); ++store) {
      if (!order_[store].store) continue;
      for (std::size_t load = store + 1; load < order_.size(); ++load) {
        const bool apart = order_[load].restricted || order_[store].restricted;
        if (order_[load].store || order_[load].key == order_[store].key) continue;
        if (apart && order_[load].key.first != order_[store].key.first) continue;
        return no(fmt::format("'{}' is read after '{}' was stored, which may be the same memory",
                              order_[load].key.first, order_[store].key.first));
      }
    }
    return {};
  }

  /// What was made of the index outside of the loop still has its old value inside.
  Result<void> check_outside() {
    for (const auto* statement : loop_.body) {
      std::set<int> used;
      for_each_expression(*statement, [&](const Expression& part) {
        if (part.kind == ExpressionKind::Variable) used.insert(part.variable);
      });
      for (const int id : used) {
        if (id == loop_.index || inside_.contains(id)) continue;
        if (depends_on_index(id)) {
          return no(fmt::format("'{}' is made of the index outside of the loop",
                                kernel_.variable(id).name));
        }
      }
    }
    return {};
  }

  static std::string shortened(const std::string& text) {
    constexpr std::size_t kMost = 60;
    return text.size() <= kMost ? text : text.substr(0, kMost) + "…";
  }

  struct Event {
    Key key;
    bool store;
    bool restricted;
  };

  const KernelBody& kernel_;
  const ElementLoop& loop_;
  std::string_view text_;
  std::set<int> inside_, changed_;
  LoopAccesses found_;
  std::vector<Late> left_scalar_;
  std::vector<Event> order_;
  int nested_ = 0;
};

}  // namespace

Result<LoopAccesses> find_accesses(const KernelBody& kernel,
                                   const ElementLoop& loop,
                                   std::string_view text) {
  return Finder(kernel, loop, text).find();
}

int widest_element(const LoopAccesses& accesses) {
  return std::ranges::max(accesses.accesses, {}, &VectorAccess::element_bytes).element_bytes;
}

}  // namespace cuco::expert::kernels
