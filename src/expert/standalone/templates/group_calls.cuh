inline ncclResult_t send_messages(Communicator& communicator) {
  const Call call(communicator, communicator.messages_on);
  return exchange(call.site(), communicator.messages, communicator.messages_on);
}

// The end of a group, or of a call that stands alone.
inline ncclResult_t end_of_group() {
  OpenGroup& group = open_group();
  if (group.depth > 0) return ncclSuccess;
  std::vector<ncclComm_t> made;
  for (ncclComm_t* comm : group.made) {
    if (*comm != nullptr) made.push_back(*comm);
  }
  group.made.clear();
  ncclResult_t result = ncclSuccess;
  if (!made.empty()) result = Communicators::all().add(made.data(), (int)made.size());
  for (Communicator* communicator : group.with_messages) {
    const ncclResult_t sent = send_messages(*communicator);
    if (result == ncclSuccess) result = sent;
  }
  group.with_messages.clear();
  return result;
}

inline ncclResult_t group_start() {
  ++open_group().depth;
  return ncclGroupStart();
}
inline ncclResult_t group_end() {
  if (open_group().depth > 0) --open_group().depth;
  const ncclResult_t ended = ncclGroupEnd();
  return ended != ncclSuccess ? ended : end_of_group();
}

inline ncclResult_t made(ncclResult_t result, ncclComm_t* comm) {
  if (result != ncclSuccess) return result;
  open_group().made.push_back(comm);
  return end_of_group();
}
inline ncclResult_t comm_init_rank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  return made(ncclCommInitRank(comm, ranks, id, rank), comm);
}
inline ncclResult_t comm_init_rank_config(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                                          ncclConfig_t* config) {
  // What is not there yet when the call returns cannot be opened.
  if (config != nullptr && config->blocking == 0) return ncclInvalidUsage;
  return made(ncclCommInitRankConfig(comm, ranks, id, rank, config), comm);
}
inline ncclResult_t comm_init_all(ncclComm_t* comms, int n, const int* devices) {
  const ncclResult_t result = ncclCommInitAll(comms, n, devices);
  return result != ncclSuccess ? result : Communicators::all().add(comms, n);
}
inline ncclResult_t comm_split(ncclComm_t comm, int color, int key, ncclComm_t* part,
                               ncclConfig_t* config) {
  return made(ncclCommSplit(comm, color, key, part, config), part);
}
inline ncclResult_t comm_finalize(ncclComm_t comm) {
  const ncclResult_t result = Communicators::all().remove(comm);
  return result != ncclSuccess ? result : ncclCommFinalize(comm);
}
inline ncclResult_t comm_destroy(ncclComm_t comm) {
  const ncclResult_t result = Communicators::all().remove(comm);
  return result != ncclSuccess ? result : ncclCommDestroy(comm);
}

inline Group<unsigned char>* messages_of(ncclComm_t comm, cudaStream_t stream) {
  Communicator* communicator = Communicators::all().find(comm);
  if (communicator == nullptr) return nullptr;
  std::vector<Communicator*>& waiting = open_group().with_messages;
  bool is_waiting = false;
  for (const Communicator* other : waiting) is_waiting = is_waiting || other == communicator;
  if (!is_waiting) waiting.push_back(communicator);
  communicator->messages_on = stream;
  return &communicator->messages;
}
inline ncclResult_t send(const void* data, size_t count, ncclDataType_t type, int peer,
                         ncclComm_t comm, cudaStream_t stream) {
  Group<unsigned char>* messages = messages_of(comm, stream);
  if (messages == nullptr) return ncclInvalidArgument;
  messages->send((const unsigned char*)data, count * size_of(type), peer);
  return end_of_group();
}
inline ncclResult_t recv(void* data, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                         cudaStream_t stream) {
  Group<unsigned char>* messages = messages_of(comm, stream);
  if (messages == nullptr) return ncclInvalidArgument;
  messages->receive((unsigned char*)data, count * size_of(type), peer);
  return end_of_group();
}
