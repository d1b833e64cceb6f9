#include "passes/pipeline.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "ir/graph/check.h"
#include "ir/verify/verify.h"
#include "passes/passes.h"

namespace tdsl::passes {

namespace {

constexpr std::array kPipeline = {
    // First, so that no other pass sees a Gradient and all of them optimise the derivative code.
    Pass{"differentiate", "compute derivatives in reverse mode", differentiate, 0},
    // From here on, semantics do not depend on how tensors are stored.
    Pass{"absence", "say with operators which absent elements win in products", absence, 0},
    Pass{"simplify", "fold constants and exact identities", simplify, 1},
    // Unused loop-carried values would look like dependences between iterations.
    Pass{"dead_code", "remove unused values", dead_code, 1},
    // A check keeps its loop sequential.
    Pass{"proved_checks", "remove checks of slices that the ranges of loops prove", proved_checks, 1},
    // Only nests that the next pass would leave sequential.
    Pass{"schedule_loops", "run the statements of sequential loop nests one after the other", schedule_loops, 2},
    Pass{"loops_to_algebra", "turn for loops with independent or associative updates into tensor algebra",
         loops_to_algebra, 1},
    Pass{"updates", "turn updates that write every element into definitions", updates, 1},
    Pass{"simplify", "fold constants and exact identities", simplify, 1},
    Pass{"copy_propagation", "read through copies, transposes and slices", copy_propagation, 1},
    Pass{"dead_code", "remove unused values", dead_code, 1},
    // While conditions are still as written, and before operands of products are materialised, which would be whole
    // matrices.
    Pass{"bands", "run reductions over the band where they count", bands, 1},
    Pass{"split_labels", "run sums over tiles and the positions in them", split_labels, 2},
    // Before rearrangements are read at positions.
    Pass{"filters", "copy the elements where a condition holds without looking up positions", filters, 1},
    Pass{"compose_reads",
         "compute maps and reductions at the elements that are read, in the order and shape of their use",
         compose_reads, 2},
    // Maps are now computed at the elements that are read, and no operators have been merged yet.
    Pass{"filters", "copy the elements where a condition holds without looking up positions", filters, 1},
    // Combines reshapes of operands with those of results.
    Pass{"copy_propagation", "read through copies, transposes and slices", copy_propagation, 1},
    Pass{"dead_code", "remove unused values", dead_code, 1},
    // Before equal operands are merged.
    Pass{"contractions", "compute operands of products ahead", contractions, 2},
    Pass{"repeated_parts", "compute ahead the subexpressions shared by many points", repeated_parts, 2},
    // Ordered operands expose equal computations.
    Pass{"canonicalise", "one spelling for computations that differ by spelling only", canonicalise, 1},
    Pass{"common_subexpressions", "compute the same thing once", common_subexpressions, 1},
    Pass{"loop_invariants", "move what does not change in a loop in front of it", loop_invariants, 2},
    Pass{"chain_order", "order chains of matrix products by the number of multiplications", chain_order, 2},
    Pass{"neighbours", "write out short reductions over neighbouring elements", neighbours, 2},
    Pass{"fusion", "inline element-wise producers into their only consumer", fusion, 2},
    Pass{"simplify", "fold constants and exact identities", simplify, 1},
    Pass{"dead_code", "remove unused values", dead_code, 1},
    Pass{"canonicalise", "one spelling for computations that differ by spelling only", canonicalise, 1},
    Pass{"common_subexpressions", "compute the same thing once", common_subexpressions, 1},
    // When all readers of a tensor are known, and before loops become tasks, which cannot read compressed tensors.
    Pass{"storage", "store the elements of sparse matrices that are there, where operations go over these alone",
         storage, 1},
    Pass{"sampling", "compute dense matrices only where a compressed one has elements, if nothing reads them elsewhere",
         sampling, 2},
    // After the passes that turn loops into algebra: this one handles the remaining loops.
    Pass{"serial_loops", "run loops over single elements as one task", serial_loops, 1},
    // Last of the algebraic passes, so that none of the others has to handle the nodes it creates.
    Pass{"start_choices", "leave choices that need sizes to the start of the run", start_choices, 2},
    // For merge_rows.
    Pass{"bins", "search the interval of each point where reductions go over the points in an interval", bins, 2},
    Pass{"fuse_rows", "run operators over the rows of the same tensors in one loop nest", fuse_rows, 2},
    Pass{"merge_rows", "compute reductions over the rows of the same tensors in one scan of them", merge_rows, 2},
    Pass{"shared_maps",
         "compute element-wise values again in the loops of each reader where that is cheaper than storing them",
         shared_maps, 2},
    // After shared_maps: a row nest saves more, and values that readers recompute are not results.
    Pass{"epilogues", "compute what follows a product of matrices in the loops of the product", epilogues, 2},
    // After shared_maps, which would recompute the copies in the loops that read them.
    Pass{"row_reads", "read dense matrices along their rows where columns are looked up by stored elements", row_reads,
         2},
    // Legal form, which is lowered one to one. After the fusion passes, which expect stores and reductions as written.
    Pass{"periodic_stores", "rewrite stores at periodic subscripts as affine stores", periodic_stores, 0},
    // Before stores and scatters: periodic and flat store subscripts are not scatters.
    Pass{"flat_stores", "store positions of several index variables as those of one", flat_stores, 0},
    Pass{"stores", "simplify store subscripts, and reduce values that collide in an element", stores, 0},
    Pass{"scatters", "combine scattered values with each other before combining them with the base", scatters, 0},
    // After scatters, which create reductions.
    Pass{"reductions", "begin reductions as the identity or the base, and do the rest afterwards", reductions, 0},
    // Once index variables are final.
    Pass{"boundary_reads", "read inside of a dimension at affine subscripts, and around its ends at others",
         boundary_reads, 0},
    // After boundary_reads: a periodic subscript is not an indirect one.
    Pass{"gathers", "gather indirect reads, except one that the operation can perform itself", gathers, 0},
    // No later pass changes the readers of a tensor.
    Pass{"dense_copies", "copy compressed matrices where all of their elements are read", dense_copies, 0},
    // Lowering reads it.
    Pass{"iteration", "choose the loops over stored elements of each operation", iteration, 0},
    // Members are operations in legal form, each with its iteration.
    Pass{"stored_nests", "compute operators over the stored elements of one matrix in one loop nest", stored_nests, 2},
    // Last: depends on the loops of all readers.
    Pass{"coding", "store columns as codes where operations run once per distinct value", coding, 1},
};

void check(const ir::Program& program, std::string_view pass) {
  const std::vector<std::string> problems = ir::verify(program);
  if (problems.empty()) return;
  throw ir::InternalError("the pass `" + std::string(pass) + "` broke the program: " + problems[0]);
}

bool left_out(const Pass& pass, FusionPolicy fusion) {
  const bool fuses = pass.name == "fusion" || pass.name == "bins" || pass.name == "fuse_rows" ||
                     pass.name == "merge_rows" || pass.name == "shared_maps" || pass.name == "epilogues" ||
                     pass.name == "stored_nests";
  return (fusion == FusionPolicy::kNone && fuses) ||
         (fusion == FusionPolicy::kNoRedundancy && pass.name == "shared_maps");
}

}  // namespace

std::span<const Pass> pipeline() { return kPipeline; }

bool is_pass(std::string_view name) {
  return std::ranges::any_of(kPipeline, [&](const Pass& p) { return p.name == name; });
}

bool is_needed(std::string_view name) {
  return std::ranges::any_of(kPipeline, [&](const Pass& p) { return p.name == name && p.level == 0; });
}

ir::Program run_pipeline(const ir::Program& program, const PipelineOptions& options, PassContext& context) {
  ir::Program current = program;
  context.options().task_forms = !options.disabled.contains("serial_loops");
  context.options().fusion = options.fusion;
  for (const Pass& pass : kPipeline) {
    const bool needed = pass.level == 0;
    if (!needed &&
        (pass.level > options.level || options.disabled.contains(pass.name) || left_out(pass, options.fusion)))
      continue;
    context.enter(std::string(pass.name));
    const auto start = std::chrono::steady_clock::now();
    ir::Program next = pass.run(current, context);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (context.failed()) return next;
    if (options.verify_each || &pass == &kPipeline.back()) check(next, pass.name);
    if (options.after_pass) options.after_pass(pass, current, next, seconds.count());
    current = std::move(next);
  }
  warn_of_dense_storage(current, context);
  return current;
}

}  // namespace tdsl::passes
