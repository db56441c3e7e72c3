// SPDX-License-Identifier: Apache-2.0
/// \file
/// Walks a program's host code as it would run: from its entry points, into every call, with what
/// each pointer, stream, event and communicator may be. What comes out is the list of operations in
/// the order in which the host issues them, each with the loops, conditions and calls around it.
///
/// Both sides of a condition are walked, a loop's body stands for all its rounds. Kernels are
/// walked once each, for what they read and write through their parameters.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analysis/syntax.h"
#include "analysis/walk/abstract_memory.h"
#include "analysis/walk/known_calls.h"

namespace cuco::analysis {

enum class NestKind { Loop, If, Else, Call, Thread };

/// One thing that an operation stands in.
struct Nest {
  NestKind kind = NestKind::Loop;
  std::string text;  ///< Header, condition, or the function that is called.
  Span span;         ///< The whole statement.
  bool operator==(const Nest&) const = default;
};

struct Access {
  int object = -1;
  bool read = false;
  bool written = false;
  bool operator==(const Access&) const = default;
};

struct LaunchConfiguration {
  std::string grid;
  std::string block;
  std::string shared;
  std::string stream;
};

struct HostOperation {
  OperationKind kind = OperationKind::Mpi;
  std::string name;   ///< Of the call or kernel.
  std::string entry;  ///< The entry point that it is reached from: "main", "cuco_run", …
  int function = -1;  ///< That holds it.
  Span span;
  Span statement;
  Span outermost;                      ///< The statement of the function's own block around it.
  std::vector<Nest> nest;              ///< From the outside in.
  std::vector<std::string> arguments;  ///< As written.
  std::vector<Places> values;          ///< What each argument may lead to.
  std::vector<bool> varies;            ///< Each argument: differs from round to round of a loop.
  std::vector<Access> accesses;
  Places made, used, streams, events, communicators;
  int kernel = -1;  ///< Function of a launch; its own number if unknown.
  LaunchConfiguration configuration;
  const KnownCall* call = nullptr;
};

/// A write through a kernel's parameter.
struct StoreSite {
  int parameter = -1;
  bool direct = false;  ///< The statement names the parameter itself, so that it can be replaced.
  Span statement;
};

/// What a kernel does with what its parameters lead to.
struct KernelUse {
  std::vector<Access> accesses;  ///< Of objects that stand for parameters.
  std::vector<StoreSite> stores;
  std::vector<int> parameters;  ///< The object of each parameter's variable.
  std::vector<Span> returns;
};

struct HostWalk {
  AbstractMemory memory;
  std::vector<HostOperation> operations;
  std::map<int, KernelUse> kernels;  ///< By function.
  int state_record = -1;             ///< What a workload's state is.
  bool complete = true;              ///< False if the program was too large to follow to its end.
};

[[nodiscard]] HostWalk walk_host(const Syntax& syntax);

}  // namespace cuco::analysis
