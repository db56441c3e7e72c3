// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda_runtime.h>
void forward(const float* w, float* a, int n, cudaStream_t s);
void update(float* w, const float* g, int n, float lr, cudaStream_t s);
