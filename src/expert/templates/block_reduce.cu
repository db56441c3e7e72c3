// The {{what}} over the threads of a block, known to all of them. Blocks are whole warps; `shared`
// has room for one value of each.
template <typename T>
__device__ T {{name}}(T value, T* shared) {
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    const T other = __shfl_xor_sync(0xffffffffu, value, lanes);
    value = {{combine}};
  }
  const int lane = threadIdx.x % 32;
  const int warps = blockDim.x / 32;
  if (lane == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  value = {{first}};
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    const T other = __shfl_xor_sync(0xffffffffu, value, lanes);
    value = {{combine}};
  }
  return value;
}
