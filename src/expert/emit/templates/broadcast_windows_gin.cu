// A broadcast: the root puts straight into the peers' results. First all have entered: nobody reads
// the last result any more. The flush lets whatever follows overwrite the elements that were sent.
__global__ void __launch_bounds__({{threads}})
    {{name}}_kernel(cuco::Site site, cuco::Place<{{type}}> send, cuco::Place<{{type}}> recv, size_t count, int root) {
  cuco::Channel<cuco::Path::Gin> channel(site);
  channel.meet();
  if (channel.rank() == root) {
    const auto part = channel.part<{{type}}>(count, gridDim.x);
    const auto to = recv + part.begin, from = send + part.begin;
    channel.each_peer(cuco::Everyone(), [&](int peer) { channel.put_directly(peer, to, from, part.count); });
    cuco::copy(to.here(), from.here(), part.count);
  }
  channel.meet();
  channel.flush();
}
