// What emitted programs may include, for lib/tdsl/precompiled (tools/cmake/TdslToolchain.cmake): it stands for
// runtime/emitted.h where the compiler and its options are the same. No #pragma once, for it is never included itself.

#include "runtime/emitted.h"
#include "runtime/kernels/blocked_reduction.h"
#include "runtime/kernels/elements.h"
#include "runtime/kernels/stored.h"
#include "runtime/routines/calls.h"
