// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a communication site is to become: a collective with its types, expressions and design.
/// Nothing in it says how the site was found.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "design/directive.h"

namespace cuco::expert::emit {

enum class Collective {
  AllGather,
  AllReduce,
  ReduceScatter,
  Broadcast,
  Reduce,
  AllToAll,
  Exchange,  ///< A group of sends and receives: ring shifts, halos, variable counts.
};

enum class Element { Int8, Uint8, Int32, Uint32, Int64, Uint64, Half, Bfloat16, Float, Double };

enum class Reduction { Sum, Prod, Min, Max, Avg };

/// How peers get at the data.
enum class Buffers {
  Staged,   ///< Through boxes of the site's own: the program's buffers may be any memory.
  Windows,  ///< Directly: the program's buffers become symmetric memory.
};

/// How often the data of an all-reduce crosses the links.
enum class Shots { One, Two };

/// C++ expressions of the program. `send`, `recv`, `count`, `root` and `stream` hold where the
/// collective was called, `comm` and `site` there and where set-up and teardown go.
struct Expressions {
  std::string send;
  std::string recv;
  std::string count;
  std::string root;
  std::string stream;
  std::string comm;
  std::string site;  ///< The variable or member of type cuco::Site; also names the windows.
  /// Where one thread drives several GPUs: their number, and arrays of communicators and sites for
  /// set-up and teardown, which are done for all of them at once.
  std::string devices;
  std::string comms;
  std::string sites;
};

struct Request {
  std::string name;  ///< An identifier that is free at file scope: the function that is called.
  Collective collective = Collective::AllGather;
  Element element = Element::Float;
  Reduction reduction = Reduction::Sum;
  bool in_place = false;
  design::Backend backend = design::Backend::Lsa;
  Buffers buffers = Buffers::Staged;
  Shots shots = Shots::One;
  int blocks = 32;  ///< At most; small calls take fewer.
  int threads = 512;
  std::uint64_t box_bytes = 64 << 10;  ///< What a block sends to a peer in one round.
  Expressions expressions;
};

[[nodiscard]] std::string_view name(Collective collective);
[[nodiscard]] std::string_view name(Element element);
[[nodiscard]] std::string_view name(Reduction reduction);
[[nodiscard]] std::string_view name(Buffers buffers);
[[nodiscard]] std::string_view name(Shots shots);

/// "int", "__half": the type in CUDA C++.
[[nodiscard]] std::string_view cuda_type(Element element);
[[nodiscard]] int bytes_of(Element element);
[[nodiscard]] bool reduces(Collective collective);
[[nodiscard]] bool has_root(Collective collective);

}  // namespace cuco::expert::emit
