#pragma once

#include <string>
#include <string_view>

#include "codegen/relations/bodies.h"
#include "runtime/plan/region/plan_request.h"

namespace tdsl::codegen {

/// True for a plan as tensor relations, the text form of ir/algebra: its first line that is no comment is `mesh ..` or
/// an operator's.
[[nodiscard]] bool is_relations(std::string_view text);

/// The plan that tensor relations on sites describe, as text of plan::PlanValue with the lines of the relations. The
/// relations are those that `explain --stage=algebra` and `--stage=rules` print; of a file with several programs, the
/// part after the last line `mesh ..` is the plan. They must compute the program's own relations (R1-2, R1-4 and R1-7,
/// which merge maps into other operators, may have been applied); their layouts become decisions of sites:
///   - the layout of an input: where it lies; that of a local operator: where its operation works;
///   - a move of pieces and its aggregation: where partial results are combined; a move of joined blocks before their
///     aggregation (Table 1) is the same, as each rank adds up its blocks first;
///   - a move whose result several sites read: a kept copy. Other moves follow from the layouts.
/// A cut by several dimensions becomes one by their first, which is the same for as many blocks as sites. Throws
/// std::runtime_error("line N: ...").
[[nodiscard]] plan::PlanFile plan_of_relations(const plan::Region& region, const Bodies& bodies,
                                               const plan::PlanFile& file, const std::string& program,
                                               plan::Index ranks);

}  // namespace tdsl::codegen
