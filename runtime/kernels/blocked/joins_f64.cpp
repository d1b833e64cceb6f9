#include "runtime/kernels/blocked/joins.h"

// Compiled like emitted programs (runtime/CMakeLists.txt): the bits do not depend on the vector width.

namespace tdsl::rt {

TDSL_JOINS_OF_FLOATS(TDSL_LOOPS_OF_JOIN, double)

}  // namespace tdsl::rt
