// The headers of emitted programs, for lib/tdsl/precompiled (tools/cmake/TdslToolchain.cmake), which replaces
// runtime/emitted.h for the same compiler and options. No #pragma once: this file is never included.

#include "runtime/emitted.h"
#include "runtime/kernels/blocked/joins.h"
#include "runtime/kernels/elements.h"
#include "runtime/kernels/stored.h"
#include "runtime/routines/calls.h"
