// SPDX-License-Identifier: Apache-2.0
#include "expert/kernels/writing/vector_loop.h"

#include <algorithm>
#include <cctype>
#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "expert/kernels/reading/visit.h"

namespace cuco::expert::kernels {
namespace {

constexpr std::size_t kShort = 80;

bool within(const analysis::Span& inner, const analysis::Span& outer) {
  return inner.begin >= outer.begin && inner.end <= outer.end;
}

/// "values" of "p.values".
std::string last_name(const std::string& pointer) {
  auto begin = pointer.size();
  while (begin > 0 && (std::isalnum(static_cast<unsigned char>(pointer[begin - 1])) != 0 ||
                       pointer[begin - 1] == '_')) {
    --begin;
  }
  const auto name = pointer.substr(begin);
  return name.empty() ? "array" : name;
}

std::string index_type(const KernelBody& kernel, const ElementLoop& loop) {
  const auto& variable = kernel.variable(loop.index);
  std::string type = variable.type;
  if (type.starts_with("const ")) type.erase(0, 6);
  return type.find("auto") == std::string::npos ? type : variable.canonical;
}

class Emitter {
 public:
  Emitter(const VectorLoop& wanted,
          const KernelBody& kernel,
          std::string_view text,
          FreshNames& fresh)
      : wanted_(wanted),
        loop_(*wanted.loop),
        kernel_(kernel),
        text_(text),
        fresh_(fresh),
        index_(kernel.variable(loop_.index).name),
        type_(index_type(kernel, loop_)),
        limit_(loop_.limit->text) {}

  std::string emit(const std::string& length, const VectorNames& names) {
    const auto count = fresh_.make("vectors");
    // The others are gone with the loop: the next one may use them again.
    FreshNames inner = fresh_;
    const auto first = inner.make("first");
    const auto each = inner.make("e");
    std::string out = fmt::format("{} {} = 0;  // elements that go in vectors\n", type_, count);
    std::vector<std::string> checks;
    for (const auto& access : wanted_.accesses->accesses)
      checks.push_back(fmt::format("{}<{}>({})", names.aligned, length, base_of(access)));
    const auto on_one_line = join(checks, " && ");
    out += fmt::format("if ({}) {{\n",
                       on_one_line.size() <= kShort ? on_one_line : join(checks, " &&\n    "));
    out += fmt::format("  {} = {} / {} * {};\n", count, as_factor(limit_), length, length);
    out += fmt::format("  for ({0} {1} = {2} * {3}; {1} < {4}; {1} += {5} * {3}) {{\n", type_,
                       first, as_factor(start()), length, count, as_product(step()));
    out += body_in_vectors(length, names, first, each, inner);
    out += "  }\n}\n";
    return in_condition(out + rest(count));
  }

  std::string emit_shared() { return in_condition(rest("")); }

 private:
  [[nodiscard]] std::string start() const {
    return loop_.form == LoopForm::Guarded && wanted_.sharing.start == loop_.start->text
               ? index_
               : wanted_.sharing.start;
  }
  [[nodiscard]] std::string step() const { return wanted_.sharing.step; }

  /// Where the loop's first element is.
  static std::string base_of(const VectorAccess& access) {
    return access.rest.empty() ? access.pointer
                               : fmt::format("&{}[{}]", access.pointer, access.rest);
  }

  static std::string address_of(const VectorAccess& access, const std::string& first) {
    if (access.rest.empty()) return fmt::format("&{}[{}]", access.pointer, first);
    return fmt::format("&{}[{} + {}]", access.pointer, access.rest, first);
  }

  std::string vector_type(const VectorAccess& access,
                          const std::string& length,
                          const VectorNames& names) const {
    if (!access.type_text.empty())
      return fmt::format("{}<{}, {}>", names.vector, access.type_text, length);
    return fmt::format("decltype({}<{}>({}))", names.load, length, access.pointer);
  }

  std::string body_in_vectors(const std::string& length,
                              const VectorNames& names,
                              const std::string& first,
                              const std::string& each,
                              FreshNames& inner) {
    std::string loads;
    std::string stores;
    auto replacements = wanted_.everywhere;
    for (const auto& access : wanted_.accesses->accesses) {
      const auto name = inner.make(last_name(access.pointer) + "_vector");
      const auto address = address_of(access, first);
      const auto load = fmt::format("{}<{}>({})", names.load, length, address);
      if (!access.read) {
        loads += fmt::format("    {} {};\n", vector_type(access, length, names), name);
      } else {
        loads += fmt::format("    {}auto {} = {};\n", access.written ? "" : "const ", name, load);
      }
      if (access.written) stores += fmt::format("    {}({}, {});\n", names.store, address, name);
      for (const auto& place : access.places)
        replacements.push_back({place.begin, place.end, fmt::format("{}[{}]", name, each)});
    }
    const auto& span = loop_.body_text;
    for (auto& declaration : without_use(replacements))
      replacements.push_back(std::move(declaration));
    std::string out = loads + "#pragma unroll\n";
    out += fmt::format("    for (int {0} = 0; {0} < {1}; ++{0}) {{\n", each, length);
    if (!uses_of(loop_.index, replacements).empty())
      out += fmt::format("      const {} {} = {} + {};\n", type_, index_, first, each);
    out += at_column(whole_lines(render(text_, span.begin, span.end, replacements), span.begin), 6);
    return out + "\n    }\n" + stores;
  }

  /// Where the body names a variable, apart from what is replaced.
  [[nodiscard]] std::vector<analysis::Span> uses_of(
      int variable, const std::vector<Replacement>& replaced) const {
    std::vector<analysis::Span> found;
    for (const auto* statement : loop_.body) {
      for_each_expression(*statement, [&](const analysis::Expression& expression) {
        if (expression.kind != analysis::ExpressionKind::Variable ||
            expression.variable != variable)
          return;
        const bool gone = std::ranges::any_of(replaced, [&](const Replacement& replacement) {
          return within(expression.span, {.begin = replacement.begin, .end = replacement.end});
        });
        if (!gone) found.push_back(expression.span);
      });
    }
    return found;
  }

  /// Declarations of values that nobody asks for once the replacements are made, as replacements by
  /// nothing.
  [[nodiscard]] std::vector<Replacement> without_use(std::vector<Replacement> replaced) const {
    std::vector<Replacement> found;
    // The last first: what only it uses is not used any more either.
    for (auto at = loop_.body.rbegin(); at != loop_.body.rend(); ++at) {
      const auto& statement = **at;
      if (statement.kind != analysis::StatementKind::Declare || statement.declared.size() != 1 ||
          statement.span.from_macro || !uses_of(statement.declared[0].variable, replaced).empty())
        continue;
      bool calls = false;
      for_each_expression(statement, [&](const analysis::Expression& expression) {
        calls = calls || expression.kind == analysis::ExpressionKind::Call;
      });
      if (calls) continue;
      // With its line, if it has that for itself.
      auto begin = statement.span.begin;
      const auto newline = text_.rfind('\n', begin);
      if (newline != std::string_view::npos && newline + 1 >= loop_.body_text.begin &&
          trim(text_.substr(newline, begin - newline)).empty())
        begin = newline;
      found.push_back({begin, statement.span.end, ""});
      replaced.push_back(found.back());
    }
    return found;
  }

  /// With the columns before its first line, which the text may begin behind.
  [[nodiscard]] std::string whole_lines(const std::string& piece, std::size_t begin) const {
    const auto newline = begin == 0 ? std::string_view::npos : text_.rfind('\n', begin - 1);
    const auto line = newline == std::string_view::npos ? 0 : newline + 1;
    const bool margin = trim(text_.substr(line, begin - line)).empty();
    return margin ? std::string(begin - line, ' ') + piece : piece;
  }

  /// The loop as it was, after the elements that have been handled.
  std::string rest(const std::string& done) {
    const auto from = done.empty() ? start() : fmt::format("{} + {}", done, as_term(start()));
    auto replacements = wanted_.everywhere;
    const auto& span = loop_.statement->span;
    if (loop_.form == LoopForm::Guarded) return guarded_rest(from);
    std::string before;
    if (loop_.form == LoopForm::While) {
      if (!done.empty()) before = fmt::format("{} += {};\n", index_, done);
    } else {
      replacements.push_back({loop_.start->span.begin, loop_.start->span.end, from});
      const auto& advance = loop_.statement->header[2].value->span;
      if (step() != loop_.step)
        replacements.push_back(
            {advance.begin, advance.end, fmt::format("{} += {}", index_, step())});
    }
    return before +
           at_column(whole_lines(render(text_, span.begin, span.end, replacements), span.begin), 0);
  }

  std::string guarded_rest(const std::string& from) {
    FreshNames inner = fresh_;
    const auto each = inner.make("one");
    const auto& span = loop_.body_text;
    std::string out = fmt::format("for ({0} {1} = {2}; {1} < {3}; {1} += {4}) {{\n", type_, each,
                                  from, limit_, step());
    auto replacements = wanted_.everywhere;
    const auto uses = uses_of(loop_.index, replacements);
    if (std::ranges::any_of(uses, &analysis::Span::from_macro)) {
      out += fmt::format("  const {} {} = {};\n", type_, index_, each);
    } else {
      for (const auto& use : uses)
        replacements.push_back({use.begin, use.end, each});
    }
    out += at_column(whole_lines(render(text_, span.begin, span.end, replacements), span.begin), 2);
    return out + "\n}";
  }

  [[nodiscard]] std::string in_condition(const std::string& code) const {
    if (loop_.other_condition.empty()) return code;
    return fmt::format("if ({}) {{\n{}\n}}", loop_.other_condition, at_column(code, 2));
  }

  const VectorLoop& wanted_;
  const ElementLoop& loop_;
  const KernelBody& kernel_;
  std::string_view text_;
  FreshNames& fresh_;
  std::string index_, type_, limit_;
};

}  // namespace

std::string vector_length(const LoopAccesses& accesses, int bytes) {
  // The widest element decides, so that no access is wider than asked for. Of those whose size is
  // the same in every instantiation, one is enough.
  const VectorAccess* fixed = nullptr;
  std::vector<std::string> sizes;
  for (const auto& access : accesses.accesses) {
    if (bytes_of_type(access.type_text) == 0) {
      auto size = access.type_text.empty() ? fmt::format("sizeof(*{})", access.pointer)
                                           : fmt::format("sizeof({})", access.type_text);
      if (std::ranges::find(sizes, size) == sizes.end()) sizes.push_back(std::move(size));
    } else if (fixed == nullptr || access.element_bytes > fixed->element_bytes) {
      fixed = &access;
    }
  }
  if (fixed != nullptr) sizes.push_back(fmt::format("sizeof({})", fixed->type_text));
  std::string widest = sizes.front();
  for (std::size_t i = 1; i < sizes.size(); ++i)
    widest = fmt::format("({0} > {1} ? {0} : {1})", widest, sizes[i]);
  return fmt::format("{} / {}", bytes, widest);
}

std::string emit_vector_loop(const VectorLoop& wanted,
                             const KernelBody& kernel,
                             std::string_view text,
                             const std::string& length,
                             const VectorNames& names,
                             FreshNames& fresh) {
  return Emitter(wanted, kernel, text, fresh).emit(length, names);
}

std::string emit_shared_loop(const VectorLoop& wanted,
                             const KernelBody& kernel,
                             std::string_view text,
                             FreshNames& fresh) {
  return Emitter(wanted, kernel, text, fresh).emit_shared();
}

}  // namespace cuco::expert::kernels
