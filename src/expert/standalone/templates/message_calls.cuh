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
