// SPDX-License-Identifier: Apache-2.0
// A distributed matrix transpose: every rank packs one tile for each peer, a group of sends and
// receives exchanges them, and the receiver puts the tiles in place.
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cstdio>
#include <vector>

__global__ void fill(float* rows, int height, int width, int first_row) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < height * width) rows[i] = static_cast<float>((first_row + i / width) * width + i % width);
}

// rows: height x (height * ranks). Tile p, transposed, goes to peer p.
__global__ void pack(const float* rows, float* tiles, int height, int ranks) {
  const int tile = blockIdx.y;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= height * height) return;
  const int row = i / height, column = i % height;
  tiles[tile * height * height + column * height + row] = rows[row * height * ranks + tile * height + column];
}

__global__ void unpack(const float* tiles, float* rows, int height, int ranks) {
  const int tile = blockIdx.y;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= height * height) return;
  rows[i / height * height * ranks + tile * height + i % height] = tiles[tile * height * height + i];
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  cudaSetDevice(rank);
  ncclUniqueId id;
  if (rank == 0) ncclGetUniqueId(&id);
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm;
  ncclCommInitRank(&comm, ranks, id, rank);
  cudaStream_t stream;
  cudaStreamCreate(&stream);

  const int height = 32, width = height * ranks, tile = height * height;
  const size_t bytes = sizeof(float) * height * width;
  float *rows, *outgoing, *incoming, *transposed;
  cudaMalloc(&rows, bytes);
  cudaMalloc(&outgoing, bytes);
  cudaMalloc(&incoming, bytes);
  cudaMalloc(&transposed, bytes);
  fill<<<(height * width + 255) / 256, 256, 0, stream>>>(rows, height, width, rank * height);

  const dim3 grid(tile / 256, ranks);
  for (int i = 0; i < 4; ++i) {
    pack<<<grid, 256, 0, stream>>>(rows, outgoing, height, ranks);
    ncclGroupStart();
    for (int peer = 0; peer < ranks; ++peer) {
      ncclSend(outgoing + peer * tile, tile, ncclFloat, peer, comm, stream);
      ncclRecv(incoming + peer * tile, tile, ncclFloat, peer, comm, stream);
    }
    ncclGroupEnd();
    unpack<<<grid, 256, 0, stream>>>(incoming, transposed, height, ranks);
  }

  std::vector<float> host(static_cast<size_t>(height) * width);
  cudaMemcpyAsync(host.data(), transposed, bytes, cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  int wrong = 0;
  for (int r = 0; r < height; ++r)
    for (int c = 0; c < width; ++c) wrong += host[r * width + c] != static_cast<float>(c * width + rank * height + r);
  std::printf("rank %d: %s\n", rank, wrong ? "FAIL" : "PASS");
  for (float* memory : {rows, outgoing, incoming, transposed}) cudaFree(memory);
  ncclCommDestroy(comm);
  MPI_Finalize();
  return wrong != 0;
}
