#pragma once

// What emitted programs with library routines include.

#include "runtime/routines/blocked.h"
#include "runtime/routines/line.h"
#include "runtime/routines/matrix.h"
