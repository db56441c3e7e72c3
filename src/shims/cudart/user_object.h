// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a process keeps about its graphs itself: user objects, which live as long as a graph or an
/// executable graph holds them, and the flags of executable graphs.
#pragma once

#include "shims/cudart/abi.h"

namespace cuco::cudart {

void note_instantiated(ExecHandle exec, GraphHandle graph, unsigned long long flags);
void note_cloned(GraphHandle clone, GraphHandle original);
/// To be called after the object is gone: what it alone held is destroyed.
void note_destroyed(ExecHandle exec);
void note_destroyed(GraphHandle graph);

}  // namespace cuco::cudart
