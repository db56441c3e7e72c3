// SPDX-License-Identifier: Apache-2.0
/// \file
/// A directive as a list of dimensions: for whoever compares designs, or takes one dimension of a
/// design and the rest of another, whatever they mean.
#pragma once

#include <span>
#include <string_view>

#include "design/directive.h"

namespace cuco::design {

struct Dimension {
  std::string_view name;
  /// Its value as a number. 0 of a quantity: as the program has it.
  double (*value)(const Directive&);
  /// Gives the second what the first has.
  void (*copy)(const Directive&, Directive*);
  /// Neighbouring values resemble each other; those of the others are just different.
  bool is_quantity;
  /// How far apart two designs are that differ in it: another backend is another program, another
  /// knob is not.
  int weight;
};

[[nodiscard]] std::span<const Dimension> dimensions();

/// The weights of the dimensions in which two designs differ.
[[nodiscard]] int distance(const Directive& a, const Directive& b);

/// From 0 to 1: how alike two designs are in that dimension. Quantities that differ by a factor of
/// two resemble each other by e^-1.
[[nodiscard]] double likeness(const Dimension& dimension, const Directive& a, const Directive& b);

}  // namespace cuco::design
