// Expresses the value semantics of sparse types by operators:
//
//     %3:f64[%0] = compute [i in 0..%0] sum[j in 0..%0] (mul(%1[i, j], %2[j]))              %1 stored sparse
// becomes
//     %3:f64[%0] = compute [i in 0..%0] sum[j in 0..%0] (absent_mul(%1[i, j], %2[j]))
//
// Precondition: no Gradient, since derivatives are taken of plain products. Postcondition: that of
// ir::with_explicit_absence, which does the work.

#include "passes/passes.h"

#include "ir/analysis/absence.h"

namespace tdsl::passes {

ir::Program absence(const ir::Program& program, PassContext&) { return ir::with_explicit_absence(program); }

}  // namespace tdsl::passes
