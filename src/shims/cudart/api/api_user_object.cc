// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <mutex>
#include <vector>

#include "shims/cudart/runtime.h"
#include "shims/cudart/user_object.h"
#include "shims/wire/status.h"

CUCO_CUDART cuco::cudart::Error cudaDeviceSynchronize();

namespace cuco::cudart {
namespace {

struct UserObject {
  void* content = nullptr;
  HostFunction destroy = nullptr;
  unsigned references = 0;
};
using Holdings = std::map<UserObject*, unsigned>;

/// Never destroyed: static destructors of the program still call us.
struct Keeper {
  std::mutex mutex;
  std::map<const void*, Holdings> holdings;  ///< By graph or executable graph.
  std::map<ExecHandle, unsigned long long> flags;
};

Keeper& keeper() {
  static Keeper* const instance = new Keeper;
  return *instance;
}

/// Gives references back; the program's function runs without the lock.
void release(UserObject* object, unsigned count) {
  {
    const std::lock_guard lock(keeper().mutex);
    object->references -= std::min(object->references, count);
    if (object->references > 0) return;
  }
  object->destroy(object->content);
  delete object;
}

void copy_holdings(const void* to, const void* from) {
  Keeper& all = keeper();
  const std::lock_guard lock(all.mutex);
  const auto held = all.holdings.find(from);
  if (held == all.holdings.end()) return;
  for (const auto& [object, count] : held->second)
    object->references += count;
  all.holdings[to] = held->second;
}

void drop_holdings(const void* holder) {
  Holdings held;
  {
    const std::lock_guard lock(keeper().mutex);
    const auto found = keeper().holdings.extract(holder);
    if (!found.empty()) held = found.mapped();
  }
  // What runs may still use them.
  if (!held.empty()) (void)cudaDeviceSynchronize();
  for (const auto& [object, count] : held)
    release(object, count);
}

}  // namespace

void note_instantiated(ExecHandle exec, GraphHandle graph, unsigned long long flags) {
  {
    const std::lock_guard lock(keeper().mutex);
    keeper().flags[exec] = flags;
  }
  copy_holdings(exec, graph);
}

void note_cloned(GraphHandle clone, GraphHandle original) {
  copy_holdings(clone, original);
}

void note_destroyed(ExecHandle exec) {
  {
    const std::lock_guard lock(keeper().mutex);
    keeper().flags.erase(exec);
  }
  drop_holdings(exec);
}

void note_destroyed(GraphHandle graph) {
  drop_holdings(graph);
}

}  // namespace cuco::cudart

using namespace cuco::cudart;  // NOLINT(google-build-using-namespace): the ABI is global
namespace wire = cuco::wire;

CUCO_CUDART Error cudaGraphExecGetFlags(ExecHandle exec, unsigned long long* flags) {
  if (flags == nullptr) return done(wire::kInvalidValue);
  const std::lock_guard lock(keeper().mutex);
  const auto known = keeper().flags.find(exec);
  if (known == keeper().flags.end()) return done(wire::kInvalidValue);
  *flags = known->second;
  return 0;
}

CUCO_CUDART Error cudaUserObjectCreate(
    UserObject** object, void* content, HostFunction destroy, unsigned references, unsigned flags) {
  constexpr unsigned kNoSync = 1;  // cudaUserObjectNoDestructorSync, the only way there is
  if (object == nullptr || destroy == nullptr || references == 0 || flags != kNoSync) {
    return done(wire::kInvalidValue);
  }
  *object = new UserObject{content, destroy, references};
  return 0;
}

CUCO_CUDART Error cudaUserObjectRetain(UserObject* object, unsigned count) {
  if (object == nullptr || count == 0) return done(wire::kInvalidValue);
  const std::lock_guard lock(keeper().mutex);
  object->references += count;
  return 0;
}

CUCO_CUDART Error cudaUserObjectRelease(UserObject* object, unsigned count) {
  if (object == nullptr || count == 0) return done(wire::kInvalidValue);
  release(object, count);
  return 0;
}

CUCO_CUDART Error cudaGraphRetainUserObject(GraphHandle graph,
                                            UserObject* object,
                                            unsigned count,
                                            unsigned flags) {
  constexpr unsigned kMove = 1;  // cudaGraphUserObjectMove: the caller's references
  if (graph == nullptr || object == nullptr || count == 0 || flags > kMove) {
    return done(wire::kInvalidValue);
  }
  const std::lock_guard lock(keeper().mutex);
  if (flags != kMove) object->references += count;
  keeper().holdings[graph][object] += count;
  return 0;
}

CUCO_CUDART Error cudaGraphReleaseUserObject(GraphHandle graph,
                                             UserObject* object,
                                             unsigned count) {
  {
    const std::lock_guard lock(keeper().mutex);
    const auto held = keeper().holdings.find(graph);
    if (held == keeper().holdings.end()) return done(wire::kInvalidValue);
    const auto found = held->second.find(object);
    if (found == held->second.end() || count == 0 || found->second < count) {
      return done(wire::kInvalidValue);
    }
    found->second -= count;
    if (found->second == 0) held->second.erase(found);
  }
  release(object, count);
  return 0;
}
