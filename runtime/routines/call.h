#pragma once

#include <initializer_list>

#include "runtime/routines/algorithms/routine.h"
#include "runtime/routines/calls.h"
#include "runtime/routines/kernels/make.h"

// Internal to this folder.

namespace tdsl::rt::routines {

/// Records the call in the session and stores its requested results.
void carry_out(Session& session, Call& call, std::initializer_list<Into> results, MakeKernel make);

}  // namespace tdsl::rt::routines
