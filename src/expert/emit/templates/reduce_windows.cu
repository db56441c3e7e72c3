// A reduction to the root, which reads all ranks' elements and adds up. First all have entered:
// their elements are computed. Last, the root has read: elements may be overwritten.
__global__ void __launch_bounds__({{threads}})
    {{name}}_kernel(cuco::Site site, cuco::Place<{{type}}> send, {{type}}* recv, size_t count, int root) {
  cuco::Channel<{{path}}> channel(site);
  channel.meet();
  if (channel.rank() == root) {
    const auto part = channel.part<{{type}}>(count, gridDim.x);
    channel.reduce_from_all<cuco::{{reduction}}>(recv + part.begin, send + part.begin, part.count);
  }
  channel.meet();
}
