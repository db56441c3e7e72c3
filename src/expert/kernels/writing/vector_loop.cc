// SPDX-License-Identifier: Apache-2.0
#include "expert/kernels/writing/vector_loop.h"

#include <algorithm>

#include <fmt/format.h>

#include "expert/kernels/reading/place.h"

namespace cuco::expert::kernels {
namespace {

class Emitter {
 public:
  Emitter(const VectorLoop& wanted,
          const KernelBody& kernel,
          std::string_view text,
          FreshNames& fresh)
      : wanted_(wanted), text_(wanted, kernel, text), fresh_(fresh) {}

  std::string emit(const std::string& length, const VectorNames& names) {
    const auto count = fresh_.make("vectors");
    // The others are gone with the loop: the next one may use them again.
    FreshNames inner = fresh_;
    const auto first = inner.make("first");
    const auto each = inner.make("e");
    auto out = fmt::format("{} {} = 0;  // elements that go in vectors\n", text_.type(), count);
    out += if_aligned(wanted_.accesses->accesses, length, names);
    out += fmt::format("  {} = {} / {} * {};\n", count, as_factor(text_.limit()), length, length);
    out +=
        fmt::format("  for ({0} {1} = {2} * {3}; {1} < {4}; {1} += {5} * {3}) {{\n", text_.type(),
                    first, as_factor(text_.start()), length, count, as_product(text_.step()));
    out += body_in_vectors(length, names, first, each, inner);
    out += "  }\n}\n";
    return text_.in_condition(out + text_.rest(count, fresh_));
  }

  std::string emit_shared() { return text_.in_condition(text_.rest("", fresh_)); }

 private:
  std::string body_in_vectors(const std::string& length,
                              const VectorNames& names,
                              const std::string& first,
                              const std::string& each,
                              FreshNames& inner) {
    std::string loads;
    std::string stores;
    std::vector<Replacement> places;
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
        places.push_back({place.begin, place.end, fmt::format("{}[{}]", name, each)});
    }
    std::string out = loads + "#pragma unroll\n";
    out += fmt::format("    for (int {0} = 0; {0} < {1}; ++{0}) {{\n", each, length);
    out += at_column(text_.per_element(std::move(places), first, each), 6);
    return out + "\n    }\n" + stores;
  }

  const VectorLoop& wanted_;
  LoopText text_;
  FreshNames& fresh_;
};

}  // namespace

std::string vector_length(const std::vector<VectorAccess>& accesses, int bytes) {
  // The widest element decides, so that no access is wider than asked for. Of those whose size is
  // the same in every instantiation, one is enough.
  const VectorAccess* fixed = nullptr;
  std::vector<std::string> sizes;
  for (const auto& access : accesses) {
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
