// `make` is NCCL's call.
template <typename Make>
ncclResult_t made(const std::string& clique, ncclComm_t* comm, Make make) {
  Communicators::all().expect(clique, 1);
  const ncclResult_t result = make();
  if (result != ncclSuccess) {
    Communicators::all().expect(clique, -1);
    return result;
  }
  open_group().made.push_back({clique, comm});
  return end_of_group();
}
inline std::string clique_of(const ncclUniqueId& id) {
  return "id " + std::string(id.internal, sizeof id.internal);
}
inline ncclResult_t comm_init_rank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  return made(clique_of(id), comm, [=] { return ncclCommInitRank(comm, ranks, id, rank); });
}
// A communicator is opened as soon as its call has returned, so NCCL may not still be making it then:
// calls of one that does not block wait, and asking for its state finds it done.
template <typename Make>
ncclResult_t waiting(const ncclConfig_t* config, Make make) {
  if (config == nullptr) return make(nullptr);
  ncclConfig_t waits = *config;
  waits.blocking = 1;
  return make(&waits);
}
inline ncclResult_t comm_init_rank_config(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                                          ncclConfig_t* config) {
  return made(clique_of(id), comm, [=] {
    return waiting(config, [=](ncclConfig_t* waits) {
      return ncclCommInitRankConfig(comm, ranks, id, rank, waits);
    });
  });
}
inline ncclResult_t comm_init_all(ncclComm_t* comms, int n, const int* devices) {
  const ncclResult_t result = ncclCommInitAll(comms, n, devices);
  if (result != ncclSuccess) return result;
  const std::string clique = Communicators::all().clique_of_all();
  Communicators::all().expect(clique, n);
  return Communicators::all().add(comms, n, clique);
}
inline ncclResult_t comm_split(ncclComm_t comm, int color, int key, ncclComm_t* part,
                               ncclConfig_t* config) {
  const std::string clique = Communicators::all().clique_of_part(comm, color);
  return made(clique, part, [=] {
    return waiting(config, [=](ncclConfig_t* waits) {
      return ncclCommSplit(comm, color, key, part, waits);
    });
  });
}
inline ncclResult_t comm_finalize(ncclComm_t comm) {
  return Communicators::all().leave(comm, kFinalize);
}
inline ncclResult_t comm_destroy(ncclComm_t comm) {
  return Communicators::all().leave(comm, kDestroy);
}
