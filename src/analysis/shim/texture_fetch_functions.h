// SPDX-License-Identifier: Apache-2.0
// clang's CUDA wrapper includes this file; CUDA 13 no longer ships it. Nothing in it is missed.
#pragma once
