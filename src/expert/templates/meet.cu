// Returns when every rank has got here: everything before it on any rank's stream is then visible
// to everything after it on this one.
__global__ void meet(ncclDevComm comm) {
  ncclCoopCta block;
  ncclLsaBarrierSession<ncclCoopCta> barrier(block, comm, ncclTeamTagLsa(), 0);
  barrier.sync(block, cuda::memory_order_acq_rel);
}
