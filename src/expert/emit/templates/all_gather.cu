// An all-gather: each block carries its part of this rank's elements into the peers' boxes, and
// what it finds in its own ones to where it belongs.
__global__ void __launch_bounds__({{threads}})
    {{name}}_kernel(cuco::Site site, const {{type}}* send, {{type}}* recv, size_t count) {
  cuco::Channel<{{path}}> channel(site);
  channel.catch_up();
  for (auto piece = channel.first<{{type}}>(count, gridDim.x); piece.count > 0;
       piece = channel.next<{{type}}>(piece)) {
    channel.put_all(send + piece.begin, piece.count);
    channel.send([&](int) { return piece.count * sizeof({{type}}); });
    cuco::copy(recv + channel.rank() * count + piece.begin, send + piece.begin, piece.count);
    channel.receive();
    for (int i = 1; i < channel.ranks(); ++i) {
      const int peer = channel.neighbour(i);
      cuco::copy(recv + peer * count + piece.begin, channel.box<{{type}}>(peer), piece.count);
    }
    channel.done();
  }
}
