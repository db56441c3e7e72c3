// SPDX-License-Identifier: Apache-2.0
#include "expert/kernels/writing/row_loops.h"

#include <algorithm>

#include <fmt/format.h>

namespace cuco::expert::kernels {
namespace {

/// A vector of a batch, by the name that the body uses.
struct Register {
  const VectorAccess* access;
  std::string name;
};

class Emitter {
 public:
  Emitter(const RowGroup& group,
          const Sharing& sharing,
          const KernelBody& kernel,
          std::string_view text,
          const RowLoopNames& names,
          FreshNames& fresh)
      : group_(group),
        sharing_(sharing),
        kernel_(kernel),
        text_(text),
        names_(names),
        fresh_(fresh),
        vectors_(fresh.make("vectors")),
        batch_(names.when == Whole::Always ? "" : fresh.make("batch")),
        whole_(names.whole) {
    for (const auto& access : group.accesses)
      kept_.push_back(fresh.make(last_name(access.pointer) + "_kept"));
  }

  RowLoops emit(const std::vector<Replacement>& everywhere) {
    const auto& first = *group_.loops.front().found;
    const VectorLoop wanted{&first.loop, &*first.accesses, sharing_, everywhere};
    const LoopText loop(wanted, kernel_, text_);
    RowLoops made{.before = before(loop)};
    for (const auto& grouped : group_.loops) {
      const VectorLoop each{&grouped.found->loop, &*grouped.found->accesses, sharing_, everywhere};
      const LoopText body(each, kernel_, text_);
      made.loops.push_back(in_batches(grouped, body) + body.rest(vectors_, fresh_));
    }
    // A bounds check may ask for more: then its loads stand behind that.
    if (!first.loop.other_condition.empty()) {
      made.loops.front() = loop.in_condition(made.before + made.loops.front());
      made.before.clear();
    }
    return made;
  }

 private:
  /// Counts what goes in vectors, and loads the first batch where it is all of them.
  std::string before(const LoopText& loop) const {
    auto all = group_.accesses;
    for (const auto& grouped : group_.loops) {
      for (std::size_t i = 0; i < grouped.shared.size(); ++i) {
        if (grouped.shared[i] < 0) all.push_back(grouped.found->accesses->accesses[i]);
      }
    }
    auto out = fmt::format("{} {} = 0;  // elements that go in vectors\n", loop.type(), vectors_);
    out += if_aligned(all, names_.length, names_.vectors);
    out += fmt::format("  {} = {} / {} * {};\n}}\n", vectors_, as_factor(loop.limit()),
                       names_.length, names_.length);
    if (names_.when != Whole::Always) out += batch(loop);
    std::vector<Register> loaded;
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      if (is_kept(i))
        out += fmt::format("{} {}[{}];\n",
                           vector_type(group_.accesses[i], names_.length, names_.vectors), kept_[i],
                           names_.rounds);
      if (group_.accesses[i].read) loaded.push_back({&group_.accesses[i], kept_[i]});
    }
    if (loaded.empty()) return out;
    if (names_.when == Whole::Always) return out + loads(loop, loaded, "", 0);
    return out + fmt::format("if ({}) {{\n{}}}\n", whole_, loads(loop, loaded, "", 2));
  }

  [[nodiscard]] std::string batch(const LoopText& loop) const {
    const bool narrow =
        loop.type() == "int" || loop.type() == "unsigned" || loop.type() == "unsigned int";
    auto out = fmt::format("const {0} {1} = {2} * {3} * {4}{5};  // elements in {2} rounds\n",
                           loop.type(), batch_, names_.rounds, names_.length,
                           narrow ? "" : fmt::format("({})", loop.type()), as_factor(loop.step()));
    if (names_.when == Whole::Tested)
      out += fmt::format("const bool {} = {} <= {};\n", whole_, vectors_, batch_);
    return out;
  }

  /// What is only stored by one loop needs no register behind it.
  [[nodiscard]] bool is_kept(std::size_t access) const {
    const auto uses = std::ranges::count_if(group_.loops, [&](const GroupedLoop& grouped) {
      return std::ranges::find(grouped.shared, static_cast<int>(access)) != grouped.shared.end();
    });
    return group_.accesses[access].read || uses > 1;
  }

  /// The loads of a batch.
  std::string loads(const LoopText& loop,
                    const std::vector<Register>& loaded,
                    const std::string& begin,
                    std::size_t column) const {
    return each_round(loop, begin, column, [&](const std::string& first) {
      std::string inner;
      for (const auto& [access, name] : loaded)
        inner += fmt::format("{}[{}] = {}<{}>({});\n", name, round_, names_.vectors.load,
                             names_.length, address_of(*access, first));
      return inner;
    });
  }

  /// `code(first)` for the vectors of a batch.
  template <typename Code>
  std::string each_round(const LoopText& loop,
                         const std::string& begin,
                         std::size_t column,
                         const Code& code) const {
    FreshNames inner = fresh_;
    const auto first = inner.make("first");
    const auto at = fmt::format("({} * {} + {}) * {}", round_, as_product(loop.step()),
                                as_term(loop.start()), names_.length);
    auto out = fmt::format("#pragma unroll\nfor (int {0} = 0; {0} < {1}; ++{0}) {{\n", round_,
                           names_.rounds);
    out += fmt::format("  const {} {} = {}{};\n", loop.type(), first,
                       begin.empty() ? "" : begin + " + ", at);
    out +=
        fmt::format("  if ({} < {}) {{\n{}\n  }}\n}}", first, vectors_, at_column(code(first), 4));
    return at_column(out, column) + "\n";
  }

  std::string in_batches(const GroupedLoop& grouped, const LoopText& loop) const {
    FreshNames inner = fresh_;
    const auto begin = inner.make("begin");
    const auto own = registers(grouped, inner);
    std::vector<Register> again;
    std::vector<Register> always;
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (own[i].access->read) (grouped.shared[i] < 0 ? always : again).push_back(own[i]);
    }
    const auto body = [&](const std::string& from, std::size_t column) {
      return each_round(loop, from, column, [&](const std::string& first) {
        return round(grouped, own, loop, first, inner);
      });
    };
    const bool once = names_.when == Whole::Always;
    if (once && always.empty()) return body("", 0);
    auto out = once ? "{\n"
                    : fmt::format("for ({0} {1} = 0; {1} < {2}; {1} += {3}) {{\n", loop.type(),
                                  begin, vectors_, batch_);
    for (const auto& [access, name] : always)
      out += fmt::format("  {} {}[{}];\n", vector_type(*access, names_.length, names_.vectors),
                         name, names_.rounds);
    if (once) return out + loads(loop, always, "", 2) + body("", 2) + "}\n";
    if (!again.empty())
      out += fmt::format("  if (!{}) {{\n{}  }}\n", whole_, loads(loop, again, begin, 4));
    if (!always.empty()) out += loads(loop, always, begin, 2);
    out += body(begin, 2);
    if (names_.when == Whole::Argument) out += fmt::format("  if ({}) break;\n", whole_);
    return out + "}\n";
  }

  /// What the loop's accesses are called, in their order.
  std::vector<Register> registers(const GroupedLoop& grouped, FreshNames& inner) const {
    std::vector<Register> own;
    for (std::size_t i = 0; i < grouped.shared.size(); ++i) {
      const auto& access = grouped.found->accesses->accesses[i];
      const int shared = grouped.shared[i];
      const bool kept = shared >= 0 && is_kept(static_cast<std::size_t>(shared));
      own.push_back({&access, kept ? kept_[static_cast<std::size_t>(shared)]
                                   : inner.make(last_name(access.pointer) + "_vector")});
    }
    return own;
  }

  /// The body for all elements of one vector, and its stores.
  std::string round(const GroupedLoop& grouped,
                    const std::vector<Register>& own,
                    const LoopText& loop,
                    const std::string& first,
                    FreshNames& inner) const {
    const auto each = inner.make("e");
    std::string out;
    std::string stores;
    std::vector<Replacement> places;
    for (std::size_t i = 0; i < own.size(); ++i) {
      const auto& [access, name] = own[i];
      const int shared = grouped.shared[i];
      const bool single =
          !access->read && (shared < 0 || !is_kept(static_cast<std::size_t>(shared)));
      const auto value = single ? name : fmt::format("{}[{}]", name, round_);
      if (single)
        out += fmt::format("{} {};\n", vector_type(*access, names_.length, names_.vectors), name);
      if (access->written)
        stores +=
            fmt::format("{}({}, {});\n", names_.vectors.store, address_of(*access, first), value);
      for (const auto& place : access->places)
        places.push_back({place.begin, place.end, fmt::format("{}[{}]", value, each)});
    }
    out += fmt::format("#pragma unroll\nfor (int {0} = 0; {0} < {1}; ++{0}) {{\n", each,
                       names_.length);
    out += at_column(loop.per_element(std::move(places), first, each), 2);
    return out + "\n}\n" + stores;
  }

  const RowGroup& group_;
  const Sharing& sharing_;
  const KernelBody& kernel_;
  std::string_view text_;
  const RowLoopNames& names_;
  FreshNames& fresh_;
  std::string vectors_, batch_, whole_;
  std::string round_ = fresh_.make("round");
  std::vector<std::string> kept_;
};

}  // namespace

RowLoops emit_row_loops(const RowGroup& group,
                        const Sharing& sharing,
                        const std::vector<Replacement>& everywhere,
                        const KernelBody& kernel,
                        std::string_view text,
                        const RowLoopNames& names,
                        FreshNames& fresh) {
  return Emitter(group, sharing, kernel, text, names, fresh).emit(everywhere);
}

}  // namespace cuco::expert::kernels
