#include "passes/sparse/absence.h"

#include "ir/analysis/absence.h"

namespace tdsl::passes {

ir::Program absence(const ir::Program& program, PassContext&) { return ir::with_explicit_absence(program); }

}  // namespace tdsl::passes
