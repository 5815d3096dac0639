// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// A library that user-mode Linux loads first (LD_PRELOAD). Linux 6.1 sets the floating-point registers of a process with a buffer for
// AVX-512 at most, 2,696 bytes. The machine's kernel accepts only a buffer for all registers of the processor (xstateregs_set in
// arch/x86/kernel/fpu/regset.c), which has 11,008 bytes with AMX: then every process of the guest would fail with EFAULT. The library
// completes a short buffer with the present registers. Programs of the tests use no AMX.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>

typedef long (*ptrace_function)(int request, pid_t pid, void *address, void *data);

static ptrace_function next_ptrace;

// The stacks of the guest's kernel are small, and one thread of it sets registers.
static char registers[1 << 16] __attribute__((aligned(64)));

__attribute__((constructor)) static void find_next(void) {
  next_ptrace = (ptrace_function)dlsym(RTLD_NEXT, "ptrace");
}

long ptrace(enum __ptrace_request request, ...) {
  va_list arguments;
  va_start(arguments, request);
  pid_t pid = va_arg(arguments, pid_t);
  void *address = va_arg(arguments, void *);
  void *data = va_arg(arguments, void *);
  va_end(arguments);
  if (request == PTRACE_SETREGSET && (long)address == NT_X86_XSTATE) {
    const struct iovec *given = data;
    struct iovec all = {registers, sizeof registers};
    if (next_ptrace(PTRACE_GETREGSET, pid, address, &all) == 0 && given->iov_len < all.iov_len) {
      memcpy(registers, given->iov_base, given->iov_len);
      return next_ptrace(request, pid, address, &all);
    }
  }
  return next_ptrace(request, pid, address, data);
}
