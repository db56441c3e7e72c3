// A reduction to the root: the others put into its boxes, and it adds up in the order of ranks. Its
// announcements tell them that boxes are free again; all pairs count all rounds, so that the root
// may change from call to call.
__global__ void __launch_bounds__({{threads}})
    {{name}}_kernel(cuco::Site site, const {{type}}* send, {{type}}* recv, size_t count, int root) {
  cuco::Channel<{{path}}> channel(site);
  const auto is_root = [&](int peer) { return peer == root; };
  for (auto piece = channel.first<{{type}}>(count, gridDim.x); piece.count > 0;
       piece = channel.next<{{type}}>(piece)) {
    if (channel.rank() == root) {
      channel.send();
      channel.receive();
      channel.reduce_into<cuco::{{reduction}}>(recv + piece.begin, send + piece.begin, piece.count);
    } else {
      channel.ready(is_root);
      channel.put(root, send + piece.begin, piece.count);
      channel.send([&](int peer) { return is_root(peer) ? piece.count * sizeof({{type}}) : 0; });
      channel.fall_behind();
    }
    channel.done();
  }
}
