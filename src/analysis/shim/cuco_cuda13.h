// SPDX-License-Identifier: Apache-2.0
// What clang 19 lacks to parse CUDA 13 and the NCCL device headers. For parsing only: the bodies
// are never compiled to code.
#pragma once

// clang defines this empty, NCCL asks for its value.
#undef __CUDACC__
#define __CUDACC__ 1

// clang has its own intrinsics header, without the loads and stores that carry a cache hint.
#define CUCO_HINTED_LOAD(name, type)                     \
  static __device__ inline type name(const type* from) { \
    return *from;                                        \
  }
#define CUCO_HINTED_STORE(name, type)                        \
  static __device__ inline void name(type* to, type value) { \
    *to = value;                                             \
  }
#define CUCO_HINTED(type)         \
  CUCO_HINTED_LOAD(__ldcg, type)  \
  CUCO_HINTED_LOAD(__ldca, type)  \
  CUCO_HINTED_LOAD(__ldcs, type)  \
  CUCO_HINTED_LOAD(__ldlu, type)  \
  CUCO_HINTED_LOAD(__ldcv, type)  \
  CUCO_HINTED_STORE(__stwb, type) \
  CUCO_HINTED_STORE(__stcg, type) \
  CUCO_HINTED_STORE(__stcs, type) \
  CUCO_HINTED_STORE(__stwt, type)
CUCO_HINTED(char)
CUCO_HINTED(signed char)
CUCO_HINTED(unsigned char)
CUCO_HINTED(short)
CUCO_HINTED(unsigned short)
CUCO_HINTED(int)
CUCO_HINTED(unsigned)
CUCO_HINTED(long)
CUCO_HINTED(unsigned long)
CUCO_HINTED(long long)
CUCO_HINTED(unsigned long long)
CUCO_HINTED(float)
CUCO_HINTED(double)
CUCO_HINTED(int2)
CUCO_HINTED(int4)
CUCO_HINTED(uint2)
CUCO_HINTED(uint4)
CUCO_HINTED(float2)
CUCO_HINTED(float4)
CUCO_HINTED(double2)
CUCO_HINTED(longlong2)
CUCO_HINTED(ulonglong2)
#undef CUCO_HINTED
#undef CUCO_HINTED_LOAD
#undef CUCO_HINTED_STORE
