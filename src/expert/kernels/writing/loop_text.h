// SPDX-License-Identifier: Apache-2.0
/// \file
/// The pieces of text that every new form of an element loop is made of: its body for one element,
/// the loop as it was, and who shares it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "expert/kernels/reading/loops/loop_accesses.h"
#include "expert/kernels/writing/fresh_names.h"
#include "expert/kernels/writing/rendering.h"

namespace cuco::expert::kernels {

/// How the threads share a loop, as expressions: usually what the program says itself.
struct Sharing {
  std::string start, step;
};

/// Names of what the program is given once: see templates/vector.cu.
struct VectorNames {
  std::string vector = "Vector";
  std::string load = "load_vector";
  std::string store = "store_vector";
  std::string aligned = "is_aligned";
};

struct VectorLoop {
  const ElementLoop* loop;
  const LoopAccesses* accesses;
  Sharing sharing;
  std::vector<Replacement> everywhere;  ///< Replacements that other moves make in the kernel.
};

class LoopText {
 public:
  LoopText(const VectorLoop& wanted, const KernelBody& kernel, std::string_view text);

  [[nodiscard]] const std::string& type() const { return type_; }
  [[nodiscard]] const std::string& limit() const { return limit_; }
  [[nodiscard]] std::string start() const;
  [[nodiscard]] const std::string& step() const { return wanted_.sharing.step; }

  /// The body for element `each` of the vectors that begin at `first`, with `places` in it replaced
  /// beside what other moves replace.
  [[nodiscard]] std::string per_element(std::vector<Replacement> places,
                                        const std::string& first,
                                        const std::string& each) const;

  /// The loop as it was, behind the first `done` elements, which have been handled.
  [[nodiscard]] std::string rest(const std::string& done, const FreshNames& fresh) const;

  /// In what else a bounds check asks.
  [[nodiscard]] std::string in_condition(const std::string& code) const;

 private:
  [[nodiscard]] std::vector<analysis::Span> uses_of(int variable,
                                                    const std::vector<Replacement>& replaced) const;
  [[nodiscard]] std::vector<Replacement> without_use(std::vector<Replacement> replaced) const;
  [[nodiscard]] std::string whole_lines(const std::string& piece, std::size_t begin) const;
  [[nodiscard]] std::string guarded_rest(const std::string& from, FreshNames fresh) const;

  const VectorLoop& wanted_;
  const ElementLoop& loop_;
  std::string_view text_;
  std::string index_, type_, limit_;
};

/// Where the first element of an access is.
[[nodiscard]] std::string base_of(const VectorAccess& access);

/// Where its element number `first` is.
[[nodiscard]] std::string address_of(const VectorAccess& access, const std::string& first);

/// The type of `length` of its elements.
[[nodiscard]] std::string vector_type(const VectorAccess& access,
                                      const std::string& length,
                                      const VectorNames& names);

/// "values" of "p.values": what its vectors are called after.
[[nodiscard]] std::string last_name(const std::string& pointer);

/// "if (…) {" with a check of each base, in lines that are not too long.
[[nodiscard]] std::string if_aligned(const std::vector<VectorAccess>& accesses,
                                     const std::string& length,
                                     const VectorNames& names);

}  // namespace cuco::expert::kernels
