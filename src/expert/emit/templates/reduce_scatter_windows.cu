// A reduce-scatter: rank p reads everybody's section p and adds up. First all have entered: their
// elements are computed. Last, all have read: elements may be overwritten.
__global__ void __launch_bounds__({{threads}})
    {{name}}_kernel(cuco::Site site, cuco::Place<{{type}}> send, {{type}}* recv, size_t count) {
  cuco::Channel<{{path}}> channel(site);
  channel.meet();
  const auto part = channel.part<{{type}}>(count, gridDim.x);
  channel.reduce_from_all<cuco::{{reduction}}>(
      recv + part.begin, send + (channel.rank() * count + part.begin), part.count);
  channel.meet();
}
