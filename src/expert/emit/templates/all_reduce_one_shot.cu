// An all-reduce in one round: everybody sends everything to everybody, and each rank adds up.
__global__ void __launch_bounds__({{threads}})
    {{name}}_kernel(cuco::Site site, const {{type}}* send, {{type}}* recv, size_t count) {
  cuco::Channel<{{path}}> channel(site);
  channel.catch_up();
  for (auto piece = channel.first<{{type}}>(count, gridDim.x); piece.count > 0;
       piece = channel.next<{{type}}>(piece)) {
    channel.put_all(send + piece.begin, piece.count);
    channel.send([&](int) { return piece.count * sizeof({{type}}); });
    channel.receive();
    channel.reduce_into<cuco::{{reduction}}>(recv + piece.begin, send + piece.begin, piece.count);
    channel.done();
  }
}
