// The end of a group, or of a call that stands alone.
inline ncclResult_t end_of_group() {
  OpenGroup& group = open_group();
  if (group.depth > 0) return ncclSuccess;
  std::map<std::string, std::vector<ncclComm_t>> made;
  for (const auto& [clique, comm] : group.made) {
    if (*comm != nullptr) made[clique].push_back(*comm);
  }
  group.made.clear();
  ncclResult_t result = ncclSuccess;
  for (const auto& [clique, comms] : made) {
    if (result == ncclSuccess)
      result = Communicators::all().add(comms.data(), (int)comms.size(), clique);
  }
  const ncclResult_t sent = {{messages}};
  return result != ncclSuccess ? result : sent;
}

inline ncclResult_t group_start() {
  ++open_group().depth;
  return {{start}};
}
inline ncclResult_t group_end() {
  if (open_group().depth > 0) --open_group().depth;
  const ncclResult_t ended = {{end}};
  return ended != ncclSuccess ? ended : end_of_group();
}
