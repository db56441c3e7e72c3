// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a conformance case is: the directives at the head of a .ptx file, its input data and its
/// identity. Included by the runner (virtual GPU) and by the recorder (H200), so that both mean the
/// same; therefore it needs the standard library and base/rng.h only.
///
/// A case defines `.entry test(.param .u64 in, .param .u64 out, .param .u32 n)` and begins with
///
///     //@ about TEXT
///     //@ launch grid 2 block 32x4 smem 0 n 256
///     //@ in f32,i32*2 seed 7 slots 768     (8-byte slots; generators take turns)
///     //@ out 2048 fill 0                   (bytes, and the byte they hold before the launch)
///     //@ cmp bits                          (or: f32|f16|bf16|f64 ulp N [abs X], words, trap,
///     skip)
///
/// The identity is a hash of the whole text but the `cmp` and `about` lines, so that a tolerance
/// may be restated without a new recording, and nothing else may.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/rng.h"

namespace cuco::conformance {

struct Case {
  std::string name;
  std::string ptx;
  std::array<unsigned, 3> grid{1, 1, 1};
  std::array<unsigned, 3> block{1, 1, 1};
  unsigned smem = 0;
  unsigned n = 0;
  std::vector<std::string> generators;
  std::uint64_t seed = 0;
  std::size_t in_slots = 0;
  std::size_t out_bytes = 0;
  unsigned fill = 0;
  std::string compare = "bits";  ///< bits, f32, f16, bf16, f64, trap, skip
  std::uint64_t ulp = 0;
  double absolute = 0;  ///< Differences up to this are accepted too.
  std::uint64_t hash = 0;
};

inline std::array<unsigned, 3> parse_dim(const std::string& text) {
  std::array<unsigned, 3> dim{1, 1, 1};
  std::istringstream in(text);
  char x = 0;
  for (unsigned& d : dim) {
    if (!(in >> d)) break;
    in >> x;
  }
  return dim;
}

inline void parse_directive(Case& c, std::istringstream& words, const std::string& kind) {
  std::string key;
  if (kind == "in") {
    words >> key;
    std::istringstream list(key);
    for (std::string g; std::getline(list, g, ',');) {
      const std::size_t star = g.find('*');
      const std::size_t times = star == std::string::npos ? 1 : std::stoul(g.substr(star + 1));
      c.generators.insert(c.generators.end(), times, g.substr(0, star));
    }
  } else if (kind == "out") {
    words >> c.out_bytes;
  } else if (kind == "cmp") {
    words >> c.compare;
  }
  while (words >> key) {
    std::string value;
    words >> value;
    if (key == "grid") c.grid = parse_dim(value);
    if (key == "block") c.block = parse_dim(value);
    if (key == "smem") c.smem = static_cast<unsigned>(std::stoul(value));
    if (key == "n") c.n = static_cast<unsigned>(std::stoul(value));
    if (key == "seed") c.seed = std::stoull(value);
    if (key == "slots") c.in_slots = std::stoull(value);
    if (key == "fill") c.fill = static_cast<unsigned>(std::stoul(value));
    if (key == "ulp") c.ulp = std::stoull(value);
    if (key == "abs") c.absolute = std::stod(value);
  }
}

/// Reads the directives of a case. FNV-1a is enough: it tells versions apart, nothing is defended.
inline Case parse_case(const std::string& name, const std::string& text) {
  Case c;
  c.name = name;
  c.ptx = text;
  c.hash = 0xcbf29ce484222325ULL;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string mark;
    std::string kind;
    words >> mark;
    if (mark == "//@") words >> kind;
    if (!kind.empty() && kind != "about") parse_directive(c, words, kind);
    if (kind == "cmp" || kind == "about") continue;
    for (const char ch : line + "\n") {
      c.hash = (c.hash ^ static_cast<unsigned char>(ch)) * 0x100000001b3ULL;
    }
  }
  return c;
}

/// A floating-point value of `exponent` + `mantissa` bits: specials, any bits, or moderate numbers.
inline std::uint64_t any_float(Rng& rng, unsigned exponent, unsigned mantissa) {
  const std::uint64_t draw = rng.next();
  const std::uint64_t payload = rng.next();
  const std::uint64_t man_mask = (1ULL << mantissa) - 1;
  const std::uint64_t exp_mask = (1ULL << exponent) - 1;
  const std::uint64_t bias = exp_mask >> 1U;
  const std::uint64_t sign = (draw >> 60U & 1U) << (exponent + mantissa);
  const std::uint64_t one = bias << mantissa;
  const std::uint64_t inf = exp_mask << mantissa;
  const std::array<std::uint64_t, 16> special{0,
                                              one,
                                              inf,
                                              inf | 1ULL << (mantissa - 1),
                                              1,
                                              man_mask,
                                              1ULL << mantissa,
                                              inf - 1,
                                              (1ULL << mantissa) + 1,
                                              one + 1,
                                              one - 1,
                                              (bias - 1) << mantissa,
                                              (bias + 1) << mantissa,
                                              (bias + 1) << mantissa | 1ULL << (mantissa - 1),
                                              payload & man_mask,
                                              (bias + mantissa) << mantissa | (payload & man_mask)};
  const unsigned kind = draw & 7U;
  if (kind < 2) return sign | special[draw >> 8U & 15U];
  if (kind < 3) return payload & ((1ULL << (exponent + mantissa)) * 2 - 1);
  const std::uint64_t spread = exponent > 5 ? 16 : 8;
  const std::uint64_t e = bias - spread / 2 + (draw >> 16U) % spread;
  return sign | e << mantissa | (payload & man_mask);
}

/// A finite number with exponents in [low, high] around 0, for sums and products that stay finite.
inline std::uint64_t tame_float(Rng& rng, unsigned exponent, unsigned mantissa, int low, int high) {
  const std::uint64_t draw = rng.next();
  const std::uint64_t bias = (1ULL << (exponent - 1)) - 1;
  const auto span = static_cast<std::uint64_t>(high - low + 1);
  const auto e = static_cast<std::uint64_t>(static_cast<std::int64_t>(bias) + low +
                                            static_cast<std::int64_t>((draw >> 8U) % span));
  return (draw & 1U) << (exponent + mantissa) | e << mantissa |
         (draw >> 40U & ((1ULL << mantissa) - 1)) |
         (mantissa > 24 ? rng.next() & ((1ULL << mantissa) - 1) : 0);
}

/// An integer of `bits` bits: edges, small numbers of both signs, any bits.
inline std::uint64_t any_integer(Rng& rng, unsigned bits) {
  const std::uint64_t draw = rng.next();
  const std::uint64_t payload = rng.next();
  const std::uint64_t mask = bits == 64 ? ~0ULL : (1ULL << bits) - 1;
  const std::uint64_t top = 1ULL << (bits - 1);
  const std::array<std::uint64_t, 8> special{0, 1, mask, top, top - 1, top + 1, mask - 1, 2};
  switch (draw & 7U) {
    case 0:
    case 1:
      return special[draw >> 8U & 7U] & mask;
    case 2:
      return (draw >> 16U) % 80;
    case 3:
      return (0 - (draw >> 16U) % 80) & mask;
    case 4:
      return (payload & mask) >> ((draw >> 16U) % bits);
    default:
      return payload & mask;
  }
}

template <typename Make>
std::uint64_t pack(unsigned lanes, unsigned bits, Make make) {
  std::uint64_t word = 0;
  for (unsigned i = 0; i < lanes; ++i)
    word |= make() << (i * bits);
  return word;
}

/// One 8-byte slot of input.
inline std::uint64_t generate_slot(const std::string& g, Rng& rng, std::uint64_t index) {
  const auto is = [&](const char* name) { return g == name; };
  if (is("index")) return index;
  if (is("zero")) return 0;
  if (is("f32")) return any_float(rng, 8, 23);
  if (is("f64")) return any_float(rng, 11, 52);
  if (is("f16")) return any_float(rng, 5, 10);
  if (is("bf16")) return any_float(rng, 8, 7);
  if (is("f16x4")) return pack(4, 16, [&] { return any_float(rng, 5, 10); });
  if (is("bf16x4")) return pack(4, 16, [&] { return any_float(rng, 8, 7); });
  if (is("f32x2")) return pack(2, 32, [&] { return any_float(rng, 8, 23); });
  if (is("unit32")) return tame_float(rng, 8, 23, -4, 0);
  if (is("unit64")) return tame_float(rng, 11, 52, -4, 0);
  if (is("unit16x4")) return pack(4, 16, [&] { return tame_float(rng, 5, 10, -4, 0); });
  if (is("unitbf16x4")) return pack(4, 16, [&] { return tame_float(rng, 8, 7, -4, 0); });
  if (is("unit32x2")) return pack(2, 32, [&] { return tame_float(rng, 8, 23, -4, 0); });
  if (is("wide64")) return tame_float(rng, 11, 52, -30, 30);
  if (is("wide16x4")) return pack(4, 16, [&] { return tame_float(rng, 5, 10, -14, 7); });
  if (is("widebf16x4")) return pack(4, 16, [&] { return tame_float(rng, 8, 7, -18, 18); });
  if (is("wide32x2")) return pack(2, 32, [&] { return tame_float(rng, 8, 23, -18, 18); });
  if (is("angle32")) return tame_float(rng, 8, 23, -8, 6);
  if (is("exp32")) return tame_float(rng, 8, 23, -8, 7);
  if (is("positive32")) return tame_float(rng, 8, 23, -126, 127) & 0x7fffffffU;
  if (is("e4m3x8")) return pack(8, 8, [&] { return tame_float(rng, 4, 3, -5, 3); });
  if (is("e5m2x8")) return pack(8, 8, [&] { return tame_float(rng, 5, 2, -8, 5); });
  if (is("i8")) return any_integer(rng, 8);
  if (is("i16")) return any_integer(rng, 16);
  if (is("i32")) return any_integer(rng, 32);
  if (is("i64")) return any_integer(rng, 64);
  if (is("i16x2")) return pack(2, 16, [&] { return any_integer(rng, 16); });
  if (is("nz16") || is("nz32") || is("nz64")) {
    const unsigned bits = is("nz16") ? 16 : is("nz32") ? 32 : 64;
    const std::uint64_t value = any_integer(rng, bits);
    return value == 0 ? 3 : value;
  }
  if (is("shift")) return (rng.next() >> 8U) % 72;
  if (is("bool")) return rng.next() >> 63U;
  if (is("small")) return (rng.next() >> 8U) % 16;
  if (is("intf32"))
    return std::bit_cast<std::uint32_t>(static_cast<float>((rng.next() >> 8U) % 64));
  if (is("bits")) return rng.next();
  throw std::runtime_error("unknown generator " + g);
}

inline std::vector<std::uint64_t> make_input(const Case& c) {
  Rng rng(c.seed);
  std::vector<std::uint64_t> slots(c.in_slots);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    slots[i] =
        c.generators.empty() ? 0 : generate_slot(c.generators[i % c.generators.size()], rng, i);
  }
  return slots;
}

}  // namespace cuco::conformance
