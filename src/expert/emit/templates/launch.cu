ncclResult_t {{name}}(const cuco::Site& site, {{parameters}}, cudaStream_t stream) {
  {{name}}_kernel<<<cuco::blocks_for(site, {{bytes}}), {{threads}}, 0, stream>>>(site, {{arguments}});
  return cuco::launched();
}
