// SPDX-License-Identifier: Apache-2.0
/// \file
/// What may point to what. Objects stand for variables, allocations, handles and closures; a place
/// is a part of one; a place holds the places that it may lead to. Sets grow where control flow
/// leaves several possibilities.
#pragma once

#include <compare>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "analysis/syntax.h"

namespace cuco::analysis {

enum class ObjectKind {
  Variable,
  HostMemory,
  DeviceMemory,
  Stream,
  Event,
  Communicator,
  Window,
  DeviceCommunicator,
  Function,  ///< A function or closure.
  Unknown,   ///< What is behind a pointer that nothing was seen to set.
};

/// A part of an object: ".member" and "[3]", "[]" where the index is not known.
struct Place {
  int object = -1;
  std::string path;
  auto operator<=>(const Place&) const = default;
};
using Places = std::set<Place>;

void merge(Places& into, const Places& more);

struct Object {
  ObjectKind kind = ObjectKind::Variable;
  std::string name;
  std::string type;       ///< Of a variable.
  std::string allocator;  ///< The call that made it.
  std::string bytes;      ///< As written in that call.
  std::string role;       ///< Of the workload's buffers: "input", "output".
  Places origin;          ///< Of Unknown: where the pointer was found; of a window: its memory.
  int function = -1;
  int variable = -1;
  int record = -1;  ///< Of what `new` makes.
  bool global = false;
  Span span;
  int depth = 1 << 20;             ///< Of the call that named it.
  std::vector<std::string> names;  ///< All that were seen to lead to it.
};

class AbstractMemory {
 public:
  /// The object with that key, made when first met.
  int object(const std::string& key, const Object& made);
  [[nodiscard]] Object& at(int object) { return objects_[static_cast<std::size_t>(object)]; }
  [[nodiscard]] const Object& at(int object) const {
    return objects_[static_cast<std::size_t>(object)];
  }
  [[nodiscard]] std::vector<Object>& objects() { return objects_; }
  [[nodiscard]] const std::vector<Object>& objects() const { return objects_; }

  /// Everything that the places may lead to. Where nothing was stored and `pointer` is set, an
  /// unknown object is put there.
  Places load(const Places& places, bool pointer);

  /// `replace` forgets what was there before.
  void store(const Places& places, const Places& value, bool replace);

  /// Makes `to` a copy of all that `from` holds, now and when it is looked up later.
  void copy(const Places& to, const Places& from);

 private:
  Places found(const Place& place, Places& seen) const;
  Place home(const Place& place) const;

  std::vector<Object> objects_;
  std::map<std::string, int> keys_;
  std::map<Place, Places> contents_;
  std::map<Place, Places> copies_;  ///< Where the rest of a copied object is looked up.
};

[[nodiscard]] Place part(const Place& place, const std::string& path);
[[nodiscard]] Places parts(const Places& places, const std::string& path);

/// "[3]" for 3.
[[nodiscard]] std::string element(long long index);
inline constexpr const char* kAnyElement = "[]";

}  // namespace cuco::analysis
