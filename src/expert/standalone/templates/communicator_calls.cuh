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
