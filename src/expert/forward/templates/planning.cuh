// Plans of this thread.
inline bool& is_planning() {
  static thread_local bool planning = false;
  return planning;
}
inline Forwarding*& planned_here() {
  static thread_local Forwarding* planned = nullptr;
  return planned;
}

// Runs the calls of an exchange that will come, without doing them. One that is planned already, or
// is being planned by who calls this function, is left alone.
template <typename Calls>
void plan(Calls calls) {
  if (is_planning() || planned_here() != nullptr) return;
  is_planning() = true;
  calls();
  is_planning() = false;
}

// The last argument of a kernel that may store what is sent.
inline Forward forward() {
  return planned_here() == nullptr ? Forward{} : planned_here()->for_kernel();
}
