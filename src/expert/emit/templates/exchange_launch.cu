ncclResult_t {{name}}(const cuco::Site& site, cuco::Group<{{type}}>& group, cudaStream_t stream) {
  for (const auto& messages : group.messages) {
    const int blocks = cuco::blocks_for(site, messages.longest() * sizeof({{type}}));
    {{name}}_kernel<<<blocks, {{threads}}, 0, stream>>>(site, messages);
  }
  group.messages.clear();
  return cuco::launched();
}
