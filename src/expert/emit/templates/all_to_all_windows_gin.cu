// An all-to-all: each block puts its part of each section straight into the peers' results. First
// all have entered: nobody reads the last result any more. The flush lets whatever follows
// overwrite the elements that were sent.
__global__ void __launch_bounds__({{threads}})
    {{name}}_kernel(cuco::Site site, cuco::Place<{{type}}> send, cuco::Place<{{type}}> recv, size_t count) {
  cuco::Channel<cuco::Path::Gin> channel(site);
  channel.meet();
  const auto part = channel.part<{{type}}>(count, gridDim.x);
  const auto to = recv + (channel.rank() * count + part.begin);
  const auto from = [&](int peer) { return send + (peer * count + part.begin); };
  channel.each_peer(cuco::Everyone(),
                    [&](int peer) { channel.put_directly(peer, to, from(peer), part.count); });
  channel.send();
  cuco::copy(to.here(), from(channel.rank()).here(), part.count);
  channel.receive();
  channel.done();
  channel.flush();
}
