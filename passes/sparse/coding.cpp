// Lets the blocks of matrices from files store columns as codes of their distinct values:
//
//     %1:f64[%0, compressed %2] "X" = input "X"
//     %5 = compute [] sum[i in 0..%0, j in 0..%2] (absent_mul(%1[i, j], %1[i, j])) stored [i over %1[i, j], …]
// becomes
//     %1:f64[%0, coded %2] "X" = input "X"
//
// if operations that run once per distinct value (ir/analysis/by_value.h) read it twice or in a loop, since coding
// takes several times as long as reading an element; and if no others read it but those that visit it row by row, at
// most half as often: these decode the rows. Operators that share a walk are one operation, which runs once per
// distinct value if each of them does (codegen/loops/fused_walks.cpp); blocks without codes are walked once. Whether
// the columns of a block are coded depends on its content (runtime/sparse/coded.h).
//
// Precondition: `Compute::iteration` is set (iteration.cpp). Postcondition: only input matrices are coded.

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "ir/analysis/coded_readers.h"
#include "passes/passes.h"
#include "passes/rewriting.h"
#include "passes/sparse/storage_choice.h"

namespace tdsl::passes {

using namespace ir;

namespace {

bool may_be_coded(const Type& type) { return type.rank() == 2 && type.is_compressed() && type.scalar != Scalar::kBool; }

}  // namespace

Program coding(const Program& original, PassContext& context) {
  Program program = original;
  for (const Node& n : original.body.nodes) {
    if (!std::holds_alternative<Input>(n.op) || !may_be_coded(original.type(n.results[0]))) continue;
    const ValueId v = n.results[0];
    const CodedReaders readers = coded_readers(original, v);
    if (readers.by_value == 0) continue;
    const std::string name = quoted(original, v, "this value");
    if (readers.other) {
      context.refused(n.range, fmt::format("the columns of {} are not coded: line {} does not read it row by row", name,
                                           readers.other->line));
    } else if (readers.by_value < std::max(2, 2 * readers.by_rows)) {
      context.refused(n.range, "the columns of " + name + " are not coded: few operations run once per distinct value");
    } else {
      for (Format::Level& level : program.values[static_cast<std::size_t>(v.id)].type.format.levels) {
        if (level == Format::Level::kCompressed) level = Format::Level::kCoded;
      }
      context.applied(n.range, fmt::format("the columns of {} may be coded: operations run once per distinct value{}",
                                           name, readers.by_rows > 0 ? ", and others decode its rows" : ""));
    }
  }
  return program;
}

}  // namespace tdsl::passes
