#pragma once

// The one header emitted programs include.

#include "runtime/app/session.h"
#include "runtime/kernels/philox.h"
#include "runtime/kernels/scalar_math.h"
#include "runtime/kernels/stop.h"
#include "runtime/kernels/task.h"
#include "runtime/plan/op_builder.h"

/// Marks functions that record operations: they run a few times while kernels run for hours, and optimising them is most
/// of the time g++ takes for a program of many statements.
#if defined(__GNUC__) && !defined(__clang__)
#define TDSL_RECORDING [[gnu::optimize("O0")]]
#else
#define TDSL_RECORDING [[gnu::cold]]
#endif
