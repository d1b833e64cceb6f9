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
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/analysis/by_value.h"
#include "ir/graph/computes.h"
#include "passes/passes.h"
#include "passes/rewriting.h"
#include "passes/sparse/storage_choice.h"

namespace tdsl::passes {

using namespace ir;

namespace {

/// True if the operation reads the matrix in one loop over its rows with one over the row's elements inside.
bool visits_by_rows(const Compute& c, ValueId v) {
  if (!c.iteration) return false;
  const SparseIteration& iteration = *c.iteration;
  int number = -1;
  for (std::size_t k = 0; k < iteration.operands.size(); ++k) {
    if (iteration.operands[k].tensor != v) continue;
    if (number >= 0 || iteration.operands[k].labels.size() != 2) return false;
    number = static_cast<int>(k);
  }
  if (number != 0 || iteration.loops.size() < 2) return false;
  for (std::size_t level = 0; level < 2; ++level) {
    const StoredLoop& loop = iteration.loops[level];
    if (loop.label != iteration.driver().labels[level] || loop.over != std::vector<int>{0}) return false;
  }
  return std::none_of(iteration.loops.begin() + 2, iteration.loops.end(),
                      [](const StoredLoop& loop) { return std::ranges::find(loop.over, 0) != loop.over.end(); });
}

/// The readers of a matrix; one in a loop counts twice.
struct Readers {
  int by_value = 0;
  int by_rows = 0;
  std::optional<SourceRange> other;  ///< the first one of another kind
};

class ReaderCount {
 public:
  ReaderCount(const Program& program, ValueId v) : program_(program), v_(v) {}

  Readers run() {
    for_each_node(program_.body, [&](const Node& n) {
      const auto mentions = [&](const std::vector<ValueId>& values) { return std::ranges::count(values, v_) > 0; };
      const bool yields = std::ranges::any_of(regions_in(n), [&](const Region* r) { return mentions(r->yields); });
      const auto* c = std::get_if<Compute>(&n.op);
      if (yields || ((c == nullptr || !c->iteration) && mentions(operands_of(program_, n)))) readers_.other = n.range;
    });
    visit(program_.body.nodes, 1);
    return readers_;
  }

 private:
  void visit(const std::vector<Node>& nodes, int times) {
    for (const Node& n : nodes) {
      if (std::holds_alternative<Compute>(n.op)) count({n}, n.range, times);
      if (const auto* f = std::get_if<Fused>(&n.op)) count(f->body.nodes, n.range, times);
      if (!holds_operations(n)) continue;
      const bool loop = std::holds_alternative<For>(n.op) || std::holds_alternative<While>(n.op);
      for (const Region* inner : regions_in(n)) visit(inner->nodes, loop ? 2 : times);
    }
  }
  /// The Computes of one operation.
  void count(const std::vector<Node>& members, const SourceRange& range, int times) {
    const auto type = [&](ValueId value) -> const Type& { return program_.type(value); };
    bool reads = false, once_per_value = true, by_rows = true;
    for (const Node& n : members) {
      const auto& c = std::get<Compute>(n.op);
      const bool here = values_read(c).contains(v_) || c.base == v_;
      reads = reads || here;
      once_per_value = once_per_value && (!c.iteration || by_value(c, type) != ByValue::kNone);
      by_rows = by_rows && (!here || (visits_by_rows(c, v_) && c.base != v_));
    }
    if (!reads) return;
    by_rows = by_rows && (members.size() == 1 || walks_alone(members));
    if (once_per_value)
      readers_.by_value += times;
    else if (by_rows)
      readers_.by_rows += times;
    else
      readers_.other = range;
  }

  /// True if the members of a nest visit no other matrix together with this one.
  [[nodiscard]] bool walks_alone(const std::vector<Node>& members) const {
    std::set<ValueId> inside{v_};
    for (const Node& n : members) inside.insert(n.results.begin(), n.results.end());
    return std::ranges::all_of(members, [&](const Node& n) {
      const auto& c = std::get<Compute>(n.op);
      return !c.iteration || std::ranges::all_of(c.iteration->operands,
                                                 [&](const StoredOperand& o) { return inside.contains(o.tensor); });
    });
  }

  const Program& program_;
  ValueId v_;
  Readers readers_;
};

bool may_be_coded(const Type& type) { return type.rank() == 2 && type.is_compressed() && type.scalar != Scalar::kBool; }

}  // namespace

Program coding(const Program& original, PassContext& context) {
  Program program = original;
  for (const Node& n : original.body.nodes) {
    if (!std::holds_alternative<Input>(n.op) || !may_be_coded(original.type(n.results[0]))) continue;
    const ValueId v = n.results[0];
    const Readers readers = ReaderCount(original, v).run();
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
