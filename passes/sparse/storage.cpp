// Chooses the matrices with sparse dimensions whose blocks contain stored elements only:
//
//     %1:f64[%0, sparse %0] "A" = input "A"
//     %3 = compute [i in 0..%0] sum[j in 0..%0] (absent_mul(%1[i, j], %2[j]))
// becomes
//     %1:f64[%0, compressed %0] "A" = input "A"
//
// These are inputs, and results computed from stored elements of compressed operands, if at least one operation
// iterates over their stored elements; and matrices computed at all points, if an operation does. A Compute that reads
// a submatrix, `A[2:5, :]`, may iterate over the elements of that one alone (rearranged_reads.h). Reductions to which
// absent elements contribute are split first (background.cpp). Readers of whole matrices get a dense copy at once
// (dense_copies.cpp), so that loops over single elements read the copy and can still run as one task. No later pass
// transforms a sparse iteration: readers of marked values are excluded from serial loops and nests.
//
// Precondition and postcondition: verified; no value is compressed yet.

#include "passes/passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "passes/rewriting.h"
#include "passes/sparse/compressed_copies.h"
#include "passes/sparse/rearranged_reads.h"
#include "passes/sparse/storage_choice.h"

namespace tdsl::passes {

using namespace ir;

namespace {

/// Moves reads at other subscripts than index variables to separate matrices if that lets more values be compressed.
std::pair<Program, StorageChoice> with_rearranged(const Program& program) {
  UserResults results;
  while (true) {
    RearrangedReads reads = rearranged_reads(program, results);
    StorageChoice choice = choose_storage(reads.program, Candidates::kAll);
    const std::size_t before = results.refused.size() + results.dense.size();
    const auto dense = [&](ValueId v) { return !choice.compressed.contains(v); };
    for (const auto& [v, moved] : reads.moved) {
      for (const ValueId user : moved.users) {
        const Type& type = reads.program.type(user);
        if (dense(v) || std::ranges::any_of(moved.from, dense))
          results.refused.insert(user);
        else if (type.rank() == 2 && type.has_sparse() && dense(user))
          results.dense.insert(user);
      }
    }
    if (results.refused.size() + results.dense.size() == before) return {std::move(reads.program), std::move(choice)};
  }
}

/// Adds compressed copies of dense values over which operations iterate.
std::pair<Program, StorageChoice> chosen(const Program& program) {
  std::pair<Program, StorageChoice> without = with_rearranged(program);
  std::set<ValueId> refused;
  while (true) {
    const CompressedCopies copies = compressed_copies(program, without.second, refused);
    if (copies.copies.empty()) return without;
    std::pair<Program, StorageChoice> with = with_rearranged(copies.program);
    const std::set<ValueId> vain = copies_in_vain(copies, with.first, with.second);
    if (vain.empty()) return with;
    refused.insert(vain.begin(), vain.end());
  }
}

}  // namespace

Program storage(const Program& original, PassContext& context) {
  auto [marked, choice] = chosen(background(original, context));
  for (const auto& [v, walks] : choice.compressed) {
    marked.values[static_cast<std::size_t>(v.id)].type.format.compress(true);
    context.applied(
        marked.info(v).range,
        fmt::format("{} is compressed: {} go{} over its stored elements", quoted(marked, v, "this value"),
                    walks == 1 ? "one operation" : fmt::format("{} operations", walks), walks == 1 ? "es" : ""));
  }
  for (const auto& [v, reason] : choice.dense)
    context.refused(marked.info(v).range,
                    fmt::format("{} is stored dense: {}", quoted(marked, v, "this value"), reason));
  return dense_copies(marked, context);
}

}  // namespace tdsl::passes
