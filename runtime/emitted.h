#pragma once

// The one header emitted programs include.

#include "runtime/app/session.h"
#include "runtime/kernels/scalar_math.h"
#include "runtime/kernels/task.h"
#include "runtime/plan/op_builder.h"
