#pragma once

#include <initializer_list>

#include "runtime/routines/algorithms/routine.h"
#include "runtime/routines/calls.h"
#include "runtime/routines/kernels/make.h"

// For the sources of this folder only.

namespace tdsl::rt::routines {

/// Records the call in the session and puts its results where they are wanted.
void carry_out(Session& session, Call& call, std::initializer_list<Into> results, MakeKernel make);

}  // namespace tdsl::rt::routines
