// SPDX-License-Identifier: Apache-2.0
// Formatted by nobody: statements share lines, braces are missing, names shadow each other, the
// comma operator and ?: stand where statements would do, and /* nccl */ appears in comments.
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>
#include <cmath>
#include <cstdio>
#include <vector>
// clang-format off
__global__ void
k1 ( float*a,
     int n   ,int r ) { int i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n)
  a[i]=float(i&15)+r/*ncclAllGather(a,a,n)*/; }
__global__ void k2(const float*a,float*b,int n,int N){int i=blockIdx.x*blockDim.x+threadIdx.x;if(i>=n)return;float s=0;for(int r=0;r<N;++r)s+=a[r*n+i]*(r+1);b[i]=s;}
#define W(x) if((x)!=0){return 7;}
const char* text="ncclAllReduce(a, b, n, ncclFloat, ncclSum, comm, 0); // not a call";
int main(int c,char**v){int r,N;MPI_Init(&c,&v);MPI_Comm_rank(MPI_COMM_WORLD,&r),MPI_Comm_size(MPI_COMM_WORLD,&N);cudaSetDevice(r);
ncclUniqueId u;if(!r)ncclGetUniqueId(&u);MPI_Bcast(&u,sizeof u,MPI_BYTE,0,MPI_COMM_WORLD);ncclComm_t comm;W(ncclCommInitRank(&comm,N,u,r))
float*a,*b,*all;const int n=2222;W(cudaMalloc(&a,4*n)) W(cudaMalloc(&b,4*n)) W(cudaMalloc(&all,4*n*N))
cudaStream_t a_stream=0,&s=a_stream;W(cudaStreamCreate(&s))
for(int i=0;i<5;i++)k1<<<(n+99)/100,100,0,s>>>(a,n,
r),ncclAllGather ( a , // send
 all /* receive */,
 n,ncclFloat,comm,s)
 ,k2<<<n/64+1
   ,64,0,s>>>(all,b,n,N);
cudaStream_t t=s;float*A=a;{std::vector<float>a(n);cudaMemcpyAsync(a.data(),b,4*n,cudaMemcpyDeviceToHost,t),cudaStreamSynchronize(s);int bad=0;
for(int i=0;i<n;i++){float e=0;for(int r=0;r<N;r++)e+=(float(i&15)+r)*(r+1);bad+=std::fabs(a[i]-e)>1e-3f*(1+e);}
std::printf("rank %d: %s\n",r,bad?"FAIL":"PASS");cudaFree(A),cudaFree(b),cudaFree(all),ncclCommDestroy(comm);MPI_Finalize();return bad?1:0;}}
