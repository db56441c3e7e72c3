// SPDX-License-Identifier: Apache-2.0
// Loopback's kernels as nvcc made them, inside the library.
asm(".section .rodata\n"
    ".global cuco_loopback_kernels\n"
    ".hidden cuco_loopback_kernels\n"
    ".balign 16\n"
    "cuco_loopback_kernels:\n"
    ".incbin \"" CUCO_LOOPBACK_KERNELS
    "\"\n"
    ".byte 0\n"
    ".previous\n");
