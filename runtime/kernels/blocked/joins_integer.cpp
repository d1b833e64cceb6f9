#include "runtime/kernels/blocked/joins.h"

// Compiled like emitted programs (runtime/CMakeLists.txt): the bits do not depend on the vector width.

namespace tdsl::rt {

TDSL_JOINS_OF_BOOLS(TDSL_LOOPS_OF_JOIN, bool)
TDSL_JOINS_OF_INTEGERS(TDSL_LOOPS_OF_JOIN, std::int32_t)
TDSL_JOINS_OF_INTEGERS(TDSL_LOOPS_OF_JOIN, std::int64_t)

}  // namespace tdsl::rt
