/* SPDX-License-Identifier: Apache-2.0
 *
 * What every oracle needs: secret random values, and elements in the formats that workloads use.
 * Header-only C++20; included by oracle.cpp files only.
 */
#ifndef CUCO_ORACLE_NUMBERS_H
#define CUCO_ORACLE_NUMBERS_H

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace cuco_oracle {

/* ChaCha with 8 rounds. A rank sees all of its own inputs; from them it must not be able to compute
 * its peers', nor the key: with a generator that is only well mixed it could, and would then have
 * nothing to communicate. `Word` is one word of a block, or the same word of several. */
template <typename Word>
void chacha(Word* x) {
  const auto step = [x](int a, int b, int d, int turn) {
    x[a] += x[b];
    x[d] ^= x[a];
    x[d] = x[d] << turn | x[d] >> (32 - turn);
  };
  const auto quarter = [step](int a, int b, int c, int d) {
    step(a, b, d, 16);
    step(c, d, b, 12);
    step(a, b, d, 8);
    step(c, d, b, 7);
  };
  Word start[16];
  std::memcpy(start, x, sizeof start);
  for (int round = 0; round < 8; round += 2) {
    for (int i = 0; i < 4; ++i)
      quarter(i, 4 + i, 8 + i, 12 + i);
    for (int i = 0; i < 4; ++i)
      quarter(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4);
  }
  for (int i = 0; i < 16; ++i)
    x[i] += start[i];
}

struct Block {
  std::uint32_t words[16];
};

inline Block first_state(std::uint64_t key, std::uint64_t nonce, std::uint64_t counter) {
  const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32U); };
  return {{0x6F637563, 0x6172202E, 0x6D6F646E, 0x756E202C,  // "cuco. random, nu"
           low(key), high(key), 0x7265626D, 0x66202C73,     // the key, "mbers, f"
           ~low(key), ~high(key), 0x6120726F, 0x206C6C6C,   // and again, "or alll "
           low(counter), high(counter), low(nonce), high(nonce)}};
}

inline Block block(std::uint64_t key, std::uint64_t nonce, std::uint64_t counter) {
  Block state = first_state(key, nonce, counter);
  chacha(state.words);
  return state;
}

/* A stream of values of its own for each (key, owner). */
inline std::uint64_t stream(std::uint64_t key, std::uint64_t owner) {
  const Block made = block(key, owner, ~std::uint64_t{0});
  return made.words[0] | std::uint64_t{made.words[1]} << 32U;
}

/* Word i of a stream; those of one block are computed once. */
inline std::uint32_t word(std::uint64_t stream_key, std::size_t i) {
  struct Last {
    std::uint64_t key = 0;
    std::size_t number = ~std::size_t{0};
    Block block{};
  };
  static thread_local Last last;
  if (last.number != i / 16 || last.key != stream_key)
    last = {stream_key, i / 16, block(stream_key, 0, i / 16)};
  return last.block.words[i % 16];
}

/* Uniform in (-1, 1): none is special, none negligible. */
inline float uniform_of(std::uint32_t word) {
  return static_cast<float>((word + 0.5) * 0x1.0p-31 - 1.0);
}

/* Element i of a stream. */
inline float uniform(std::uint64_t stream_key, std::size_t i) {
  return uniform_of(word(stream_key, i));
}

/* Of so many blocks the same word is one vector. */
constexpr std::size_t kBlocksAtOnce = 8;
constexpr std::size_t kWordsAtOnce = 16 * kBlocksAtOnce;

/* Elements [first, first + kWordsAtOnce) of a stream; first is a multiple of that. */
inline void uniforms(std::uint64_t stream_key, std::size_t first, float* values) {
  using Words = std::uint32_t __attribute__((vector_size(4 * kBlocksAtOnce)));
  Words x[16];
  for (std::size_t b = 0; b < kBlocksAtOnce; ++b) {
    const Block state = first_state(stream_key, 0, first / 16 + b);
    for (int i = 0; i < 16; ++i)
      x[i][b] = state.words[i];
  }
  chacha(x);
  for (std::size_t b = 0; b < kBlocksAtOnce; ++b) {
    for (std::size_t i = 0; i < 16; ++i)
      values[16 * b + i] = uniform_of(x[i][b]);
  }
}

inline std::uint16_t to_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U);
}

/* Elements of fp32 or bf16, read and written as doubles. */
inline double load(const void* bytes, std::size_t i, bool bf16) {
  if (bf16) {
    std::uint16_t half = 0;
    std::memcpy(&half, static_cast<const char*>(bytes) + 2 * i, 2);
    return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16U);
  }
  float x = 0;
  std::memcpy(&x, static_cast<const char*>(bytes) + 4 * i, 4);
  return x;
}

inline void store(void* bytes, std::size_t i, bool bf16, float x) {
  if (bf16) {
    const std::uint16_t half = to_bf16(x);
    std::memcpy(static_cast<char*>(bytes) + 2 * i, &half, 2);
  } else {
    std::memcpy(static_cast<char*>(bytes) + 4 * i, &x, 4);
  }
}

/* How the values of one input are distributed in one iteration: a program that is right only for
 * uniform values of size 1 is not right. */
struct Style {
  float factor; /* A power of two. */
  unsigned kind;
};

/* From the iteration's key, the same on every rank; factor from 2^low to 2^high. Take them as wide
 * as the tolerance holds. */
inline Style style(std::uint64_t key, std::uint64_t input, int low, int high) {
  const Block made = block(key, ~input, ~std::uint64_t{0} - 1);
  const int octave = low + static_cast<int>(made.words[0] % static_cast<unsigned>(high - low + 1));
  const float factor = octave < 0 ? 1.0F / static_cast<float>(std::uint64_t{1} << -octave)
                                  : static_cast<float>(std::uint64_t{1} << octave);
  return {factor, made.words[1] % 3};
}

/* Element i of a stream in (-1, 1): uniform, bell-shaped, or mostly small with few large ones. */
inline float styled(std::uint64_t stream_key, std::size_t i, unsigned kind) {
  if (kind == 0) return uniform(stream_key, i);
  if (kind == 1) return 0.5F * (uniform(stream_key, 2 * i) + uniform(stream_key, 2 * i + 1));
  const float x = uniform(stream_key, i);
  return x * x * x;
}

/* Elements [first, first + kWordsAtOnce) of a stream, as styled() has them. */
inline void styled_many(std::uint64_t stream_key, std::size_t first, unsigned kind, float* values) {
  if (kind == 1) {
    float pairs[2 * kWordsAtOnce];
    uniforms(stream_key, 2 * first, pairs);
    uniforms(stream_key, 2 * first + kWordsAtOnce, pairs + kWordsAtOnce);
    for (std::size_t i = 0; i < kWordsAtOnce; ++i)
      values[i] = 0.5F * (pairs[2 * i] + pairs[2 * i + 1]);
    return;
  }
  uniforms(stream_key, first, values);
  if (kind == 0) return;
  for (std::size_t i = 0; i < kWordsAtOnce; ++i)
    values[i] = values[i] * values[i] * values[i];
}

/* Fills a buffer with factor * styled. */
inline void fill_styled(void* bytes,
                        std::size_t n_bytes,
                        bool bf16,
                        std::uint64_t stream_key,
                        float factor,
                        unsigned kind) {
  const std::size_t size = bf16 ? 2 : 4;
  const std::size_t count = n_bytes / size;
  float values[kWordsAtOnce];
  unsigned char stored[4 * kWordsAtOnce];
  for (std::size_t i = 0; i < count; i += kWordsAtOnce) {
    styled_many(stream_key, i, kind, values);
    if (bf16) {
      for (std::size_t k = 0; k < kWordsAtOnce; ++k)
        store(stored, k, true, factor * values[k]);
    } else {
      for (std::size_t k = 0; k < kWordsAtOnce; ++k)
        store(stored, k, false, factor * values[k]);
    }
    std::memcpy(static_cast<char*>(bytes) + i * size, stored,
                (count - i < kWordsAtOnce ? count - i : kWordsAtOnce) * size);
  }
}

/* Fills a buffer with scale * uniform. */
inline void fill(
    void* bytes, std::size_t n_bytes, bool bf16, std::uint64_t stream_key, float scale) {
  fill_styled(bytes, n_bytes, bf16, stream_key, scale, 0);
}

/* Fills a buffer with scale * factor * styled. */
inline void fill(void* bytes,
                 std::size_t n_bytes,
                 bool bf16,
                 std::uint64_t stream_key,
                 float scale,
                 const Style& style) {
  fill_styled(bytes, n_bytes, bf16, stream_key, scale * style.factor, style.kind);
}

/* The elements of a matrix from one on, row by row. */
struct Elements {
  const void* bytes;
  std::size_t first;
  bool bf16;
  double operator[](std::size_t i) const { return load(bytes, first + i, bf16); }
};

/* Elements of a row times `count` columns side by side, of a matrix with `width` of them: the sums,
 * and those of the sizes of what is added up. Each sum is added up in the order of its elements. */
inline void row_times_columns(const Elements& row,
                              std::size_t length,
                              const Elements& columns,
                              std::size_t width,
                              std::size_t count,
                              double* sums,
                              double* sizes) {
  for (std::size_t i = 0; i < count; ++i)
    sums[i] = sizes[i] = 0;
  const auto add = [&](bool bf16) {
    const Elements other{columns.bytes, columns.first, bf16};
    for (std::size_t d = 0; d < length; ++d) {
      const double factor = row[d];
      for (std::size_t i = 0; i < count; ++i) {
        const double product = factor * other[d * width + i];
        sums[i] += product;
        sizes[i] += product < 0 ? -product : product;
      }
    }
  };
  columns.bf16 ? add(true) : add(false);
}

}  // namespace cuco_oracle

#endif
