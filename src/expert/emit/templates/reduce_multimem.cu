// A reduction to the root: each rank lays its elements into a box of its own, and the switch adds up
// all ranks' boxes when the root reads. All must be ready, since any of them may have been the root
// that read the box before.
__global__ void __launch_bounds__({{threads}})
    {{name}}_kernel(cuco::Site site, const {{type}}* send, {{type}}* recv, size_t count, int root) {
  cuco::Channel<cuco::Path::Multimem> channel(site);
  for (auto piece = channel.first<{{type}}>(count, gridDim.x); piece.count > 0;
       piece = channel.next<{{type}}>(piece)) {
    channel.ready();
    cuco::copy(channel.own_box<{{type}}>(0), send + piece.begin, piece.count);
    channel.send();
    if (channel.rank() == root) {
      channel.receive();
      channel.reduce_by_switch<cuco::{{reduction}}>(recv + piece.begin, 0, piece.count);
    } else {
      channel.fall_behind();
    }
    channel.done();
  }
}
