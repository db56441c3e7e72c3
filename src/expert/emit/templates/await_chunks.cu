// Waits for what peers have sent from the kernels that made it.
__global__ void {{name}}_kernel(cuco::Site site) { cuco::await_chunks<{{path}}>(site); }

ncclResult_t {{name}}(const cuco::Site& site, cudaStream_t stream) {
  {{name}}_kernel<<<1, 128, 0, stream>>>(site);
  return cuco::launched();
}
