// Lets loops over stored elements read dense matrices along rows. If a sparse iteration jumps between columns and reads
// all rows of each, every element is in another cache line; it reads the transposed matrix instead, which is computed
// once for all sparse iterations of a region:
//
//     %4 = compute [i in 0..%0, k in 0..8] sum[j in 0..%1] (absent_mul(%2[i, j], %3[k, j]))           %2 compressed
// becomes
//     %5 = compute [i in 0..%1, j in 0..8] (%3[j, i])
//     %4 = compute [i in 0..%0, k in 0..8] sum[j in 0..%1] (absent_mul(%2[i, j], %5[j, k]))
//
// The copy is placed in front of the loops in which the matrix does not change.
//
// Precondition: `storage` has marked the compressed values.

#include "passes/passes.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "ir/analysis/stored_walk.h"
#include "ir/graph/computes.h"
#include "passes/rewriting.h"

namespace tdsl::passes {

using namespace ir;

namespace {

class RowReads {
 public:
  RowReads(Program program, PassContext& context) : program_(std::move(program)), context_(context) {}

  Program run() {
    visit(program_.body, true);
    return std::move(program_);
  }

 private:
  /// Returns the transposed copies, by matrix, that the region's nodes read and that are not made yet. `makes`: also
  /// makes copies of matrices defined outside.
  std::map<ValueId, ValueId> visit(Region& region, bool makes) {
    std::map<ValueId, ValueId> wanted;
    std::map<ValueId, std::size_t> first;
    for (std::size_t k = 0; k < region.nodes.size(); ++k) {
      Node& n = region.nodes[k];
      if (auto* c = std::get_if<Compute>(&n.op)) {
        if (const auto walk = walk_over_dense(*c)) {
          for (const ValueId matrix : turned(*c, *walk)) {
            if (!wanted.contains(matrix)) wanted.emplace(matrix, new_copy(matrix, n.range));
            redirect(*c, *walk, matrix, wanted.at(matrix));
            first.emplace(matrix, k);
          }
        }
      }
      if (!holds_operations(n)) continue;
      // Copies that only one branch reads are made in that branch.
      const bool branches = std::holds_alternative<If>(n.op) || std::holds_alternative<Choose>(n.op);
      for (Region* inner : regions_in(n)) {
        for (const auto& [matrix, copy] : visit(*inner, branches)) {
          const auto [known, fresh] = wanted.emplace(matrix, copy);
          first.emplace(matrix, k);
          if (!fresh) rename_operands(*inner, {{copy, known->second}});
        }
      }
    }
    return make(region, std::move(wanted), first, makes);
  }

  /// Inserts copies of matrices that the region defines in front of their first readers; returns the remaining ones.
  std::map<ValueId, ValueId> make(Region& region, std::map<ValueId, ValueId> wanted,
                                  const std::map<ValueId, std::size_t>& first, bool makes) {
    std::set<ValueId> defined(region.arguments.begin(), region.arguments.end());
    for (const Node& n : region.nodes) defined.insert(n.results.begin(), n.results.end());
    std::vector<std::pair<std::size_t, ValueId>> here;
    for (const auto& [matrix, copy] : wanted) {
      if (makes || defined.contains(matrix)) here.emplace_back(first.at(matrix), matrix);
    }
    std::ranges::sort(here, std::greater{}, &std::pair<std::size_t, ValueId>::first);
    for (const auto& [place, matrix] : here) {
      const ValueId copy = wanted.at(matrix);
      region.nodes.insert(region.nodes.begin() + static_cast<std::ptrdiff_t>(place), transposition(matrix, copy));
      wanted.erase(matrix);
    }
    return wanted;
  }

  [[nodiscard]] bool is_candidate(ValueId v) const {
    const ValueInfo& info = program_.info(v);
    return info.type.rank() == 2 && !info.compressed && !info.type.has_sparse() && info.tile.empty();
  }
  /// The sparse iteration of a Compute that also reads dense matrices.
  [[nodiscard]] std::optional<StoredWalk> walk_over_dense(const Compute& c) const {
    const std::set<ValueId> values = values_read(c);
    const bool both = std::ranges::any_of(values, [&](ValueId v) { return is_candidate(v); }) &&
                      std::ranges::any_of(values, [&](ValueId v) { return program_.info(v).compressed; });
    return both ? stored_walk(program_, c) : std::nullopt;
  }
  /// Dense matrices that the Compute reads with jumps between columns.
  [[nodiscard]] std::set<ValueId> turned(const Compute& c, const StoredWalk& walk) const {
    std::set<ValueId> found;
    for (const Expr& body : c.bodies) {
      for_each_read(body, [&](const Read& r) {
        if (is_candidate(r.tensor) && jumps(r, walk) && reads_all_rows(c, r)) found.insert(r.tensor);
      });
    }
    return found;
  }
  /// True if the column is the label of an inner sparse loop, and the row is the label of a dense loop.
  [[nodiscard]] static bool jumps(const Read& r, const StoredWalk& walk) {
    const std::int32_t row = bare_label(r.subscripts[0]);
    const std::int32_t column = bare_label(r.subscripts[1]);
    return row >= 0 && column >= 0 && !walk.has_loop(row) && walk.has_loop(column) && column != walk.row();
  }

  [[nodiscard]] bool reads_all_rows(const Compute& c, const Read& r) const {
    const Label& label = label_of(c, bare_label(r.subscripts[0]));
    return label.begin == Extent(0) && label.end == program_.type(r.tensor).shape[0];
  }

  static void redirect(Compute& c, const StoredWalk& walk, ValueId matrix, ValueId copy) {
    rewrite_expressions(c, [&](const Expr& whole) {
      return rewrite(whole, [&](const Expr& e) {
        const auto* r = std::get_if<Read>(&e->op);
        const bool turns = r != nullptr && r->tensor == matrix && jumps(*r, walk);
        return turns ? read(e->type, copy, {r->subscripts[1], r->subscripts[0]}, e->range) : e;
      });
    });
  }

  [[nodiscard]] ValueId new_copy(ValueId matrix, const SourceRange& range) {
    const ValueInfo info = program_.info(matrix);
    Type type = info.type;
    std::ranges::reverse(type.shape);
    return program_.new_value(type, info.name.empty() ? "" : info.name + "'", range);
  }
  [[nodiscard]] Node transposition(ValueId matrix, ValueId copy) {
    const Type& type = program_.type(copy);
    context_.applied(program_.info(copy).range,
                     quoted(program_, matrix, "a matrix") +
                         " is transposed first: columns are looked up where elements are stored, each as a row then");
    Compute c;
    c.out = plain_labels(type.shape);
    c.bodies = {read(type.scalar, matrix, {index_ref(1), index_ref(0)})};
    return {program_.info(copy).range, {copy}, std::move(c)};
  }

  Program program_;
  PassContext& context_;
};

}  // namespace

Program row_reads(const Program& program, PassContext& context) {
  const bool any = std::ranges::any_of(program.values, [](const ValueInfo& v) { return v.compressed; });
  return any ? RowReads(program, context).run() : program;
}

}  // namespace tdsl::passes
