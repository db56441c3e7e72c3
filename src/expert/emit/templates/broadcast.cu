// A broadcast: the root puts into everybody's boxes and waits until all have entered the round: the
// boxes of the next one are free then. All pairs count all rounds, so that the root may change from
// call to call.
__global__ void __launch_bounds__({{threads}})
    {{name}}_kernel(cuco::Site site, const {{type}}* send, {{type}}* recv, size_t count, int root) {
  cuco::Channel<{{path}}> channel(site);
  channel.catch_up();
  for (auto piece = channel.first<{{type}}>(count, gridDim.x); piece.count > 0;
       piece = channel.next<{{type}}>(piece)) {
    if (channel.rank() == root) {
      channel.put_all(send + piece.begin, piece.count);
      channel.send([&](int) { return piece.count * sizeof({{type}}); });
      cuco::copy(recv + piece.begin, send + piece.begin, piece.count);
      channel.receive();
    } else {
      channel.send();
      channel.receive([&](int peer) { return peer == root; });
      cuco::copy(recv + piece.begin, channel.box<{{type}}>(root), piece.count);
      channel.fall_behind();
    }
    channel.done();
  }
}
