/* SPDX-License-Identifier: Apache-2.0
 *
 * A number that a device computes in fp32, for oracles that run the program's own computation: its
 * value in fp64, and the size of what was added up to get it, to which rounding errors are
 * proportional. Included by oracle_device.h, which calls it `float`.
 */
#ifndef CUCO_ORACLE_TRACED_H
#define CUCO_ORACLE_TRACED_H

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

namespace cuco_oracle {

struct Number {
  double value = std::numeric_limits<double>::quiet_NaN(); /* Never written. */
  double scale = 0;

  constexpr Number() = default;
  constexpr Number(double v, double s) : value(v), scale(s) {}
  template <typename T>
    requires std::is_arithmetic_v<T>
  constexpr Number(T v)
      : value(static_cast<double>(v)),
        scale(v < T(0) ? -static_cast<double>(v) : static_cast<double>(v)) {}
  template <typename T>
    requires std::is_arithmetic_v<T>
  constexpr explicit operator T() const {
    return static_cast<T>(value);
  }

  friend constexpr Number operator+(Number a, Number b) {
    return {a.value + b.value, a.scale + b.scale};
  }
  friend constexpr Number operator-(Number a, Number b) {
    return {a.value - b.value, a.scale + b.scale};
  }
  friend constexpr Number operator*(Number a, Number b) {
    return {a.value * b.value, a.scale * b.scale};
  }
  /* What b's error does grows with its size over its value. */
  friend constexpr Number operator/(Number a, Number b) {
    return {a.value / b.value, std::abs(a.scale * b.scale / (b.value * b.value))};
  }
  constexpr Number operator+() const { return *this; }
  constexpr Number operator-() const { return {-value, scale}; }
  constexpr Number& operator+=(Number b) { return *this = *this + b; }
  constexpr Number& operator-=(Number b) { return *this = *this - b; }
  constexpr Number& operator*=(Number b) { return *this = *this * b; }
  constexpr Number& operator/=(Number b) { return *this = *this / b; }
  friend constexpr bool operator==(Number a, Number b) { return a.value == b.value; }
  friend constexpr auto operator<=>(Number a, Number b) { return a.value <=> b.value; }
};

/* A function's result: its own rounding, or its argument's passed on by the slope. */
inline Number through(Number x, double result, double slope) {
  return {result, std::max(std::abs(result), std::abs(slope) * x.scale)};
}

/* The winner as it is: the other is often an infinity to begin with. */
inline Number larger(Number a, Number b) {
  return a.value < b.value || std::isnan(a.value) ? b : a;
}
inline Number smaller(Number a, Number b) {
  return b.value < a.value || std::isnan(a.value) ? b : a;
}

}  // namespace cuco_oracle

#define CUCO_ORACLE_FUNCTION(name, result, slope)          \
  inline cuco_oracle::Number name(cuco_oracle::Number x) { \
    const double v = x.value;                              \
    return cuco_oracle::through(x, result, slope);         \
  }
#define CUCO_ORACLE_FUNCTIONS(name, result, slope) \
  CUCO_ORACLE_FUNCTION(name, result, slope)        \
  CUCO_ORACLE_FUNCTION(name##f, result, slope)

CUCO_ORACLE_FUNCTIONS(exp, std::exp(v), std::exp(v))
CUCO_ORACLE_FUNCTIONS(exp2, std::exp2(v), std::exp2(v) * 0.6931471805599453)
CUCO_ORACLE_FUNCTIONS(expm1, std::expm1(v), std::exp(v))
CUCO_ORACLE_FUNCTIONS(log, std::log(v), 1 / v)
CUCO_ORACLE_FUNCTIONS(log2, std::log2(v), 1.4426950408889634 / v)
CUCO_ORACLE_FUNCTIONS(log1p, std::log1p(v), 1 / (1 + v))
CUCO_ORACLE_FUNCTIONS(sqrt, std::sqrt(v), 0.5 / std::sqrt(v))
CUCO_ORACLE_FUNCTIONS(rsqrt, 1 / std::sqrt(v), 0.5 / (v * std::sqrt(v)))
CUCO_ORACLE_FUNCTIONS(tanh, std::tanh(v), 1 - std::tanh(v) * std::tanh(v))
CUCO_ORACLE_FUNCTIONS(erf, std::erf(v), 1.1283791670955126 * std::exp(-v * v))
CUCO_ORACLE_FUNCTIONS(sin, std::sin(v), 1)
CUCO_ORACLE_FUNCTIONS(cos, std::cos(v), 1)
CUCO_ORACLE_FUNCTIONS(fabs, std::abs(v), 1)
CUCO_ORACLE_FUNCTIONS(floor, std::floor(v), 0)
CUCO_ORACLE_FUNCTIONS(ceil, std::ceil(v), 0)
CUCO_ORACLE_FUNCTIONS(round, std::round(v), 0)
CUCO_ORACLE_FUNCTION(abs, std::abs(v), 1)
CUCO_ORACLE_FUNCTION(__expf, std::exp(v), std::exp(v))
CUCO_ORACLE_FUNCTION(__logf, std::log(v), 1 / v)
CUCO_ORACLE_FUNCTION(__frcp_rn, 1 / v, 1 / (v * v))

#undef CUCO_ORACLE_FUNCTIONS
#undef CUCO_ORACLE_FUNCTION

#define CUCO_ORACLE_PAIR(name, formula)                                           \
  inline cuco_oracle::Number name(cuco_oracle::Number a, cuco_oracle::Number b) { \
    return formula;                                                               \
  }
CUCO_ORACLE_PAIR(fmaxf, cuco_oracle::larger(a, b))
CUCO_ORACLE_PAIR(fmax, cuco_oracle::larger(a, b))
CUCO_ORACLE_PAIR(max, cuco_oracle::larger(a, b))
CUCO_ORACLE_PAIR(fminf, cuco_oracle::smaller(a, b))
CUCO_ORACLE_PAIR(fmin, cuco_oracle::smaller(a, b))
CUCO_ORACLE_PAIR(min, cuco_oracle::smaller(a, b))
CUCO_ORACLE_PAIR(fdividef, a / b)
CUCO_ORACLE_PAIR(__fdividef, a / b)
#undef CUCO_ORACLE_PAIR

inline cuco_oracle::Number fmaf(cuco_oracle::Number a,
                                cuco_oracle::Number b,
                                cuco_oracle::Number c) {
  return a * b + c;
}
inline cuco_oracle::Number fma(cuco_oracle::Number a,
                               cuco_oracle::Number b,
                               cuco_oracle::Number c) {
  return a * b + c;
}
inline cuco_oracle::Number powf(cuco_oracle::Number x, cuco_oracle::Number y) {
  const double result = std::pow(x.value, y.value);
  return cuco_oracle::through(x, result, y.value * result / x.value);
}

#endif
