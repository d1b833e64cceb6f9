#pragma once

#include "runtime/check.h"

/// TDSL_CHECK(condition, message) checks an invariant in every build type; see runtime/check.h.
namespace tdsl::ir {

/// A bug in the compiler itself (never a user error). `tdslc` reports it as a compiler bug and exits with 3.
using tdsl::rt::InternalError;

}  // namespace tdsl::ir
