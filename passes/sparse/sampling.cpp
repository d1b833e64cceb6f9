// Computes a dense matrix only where a compressed one has elements, if no reader uses other elements ("sampled"
// products):
//
//     %4:f64[%0, %0] = compute [i in 0..%0, j in 0..%0] sum[k in 0..8] (mul(%2[i, k], %3[j, k]))
//     %5:f64 = compute [] sum[i in 0..%0, j in 0..%0] (absent_mul(%1[i, j], log(%4[i, j])))
// becomes
//     %4:f64[%0, compressed %0] = compute [i in 0..%0, j in 0..%0] sum[k in 0..8] (mul(%2[i, k], %3[j, k]))
//       where ne(%1[i, j], 0.0)
//     %5:f64 = compute [] sum[i in 0..%0, j in 0..%0] (absent_mul(%1[i, j], log(%4[i, j])))
//
// All readers iterate over the same matrix and read the sampled one at its row and column; one that all of them read
// transposed is computed with rows and columns exchanged (exchanged.h). Where the iterated matrix is 0,
// their values are 0 whatever they read, so the 0 found there is harmless. After `absence` types no longer affect
// values, so the type may change.
//
// Precondition: `storage` has marked the compressed values.

#include "passes/passes.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "ir/analysis/iteration_rules.h"
#include "ir/graph/affine.h"
#include "ir/graph/computes.h"
#include "passes/region_rewriter.h"
#include "passes/rewriting.h"
#include "passes/sparse/exchanged.h"
#include "passes/sparse/iteration.h"
#include "passes/sparse/storage_choice.h"

namespace tdsl::passes {

using namespace ir;

namespace {

class Sampling : public RegionRewriter {
 public:
  using RegionRewriter::RegionRewriter;

 private:
  struct Readers {
    std::size_t first = 0;  ///< position of the first reader
    ValueId walked;         ///< the matrix over which they iterate
  };

  void rewrite_region(Region& region) override {
    rewrite_inside(region);
    // Backwards: values that only a sampled node reads can be sampled too.
    for (std::size_t k = region.nodes.size(); k-- > 0;) {
      if (const auto readers = readers_of(region, k))
        sample(region, k, *readers);
      else if (is_read_transposed(region, k))
        sample_exchanged(region, k);
    }
  }

  /// True for a dense matrix M if its readers read M[j, i] together with an element A[i, j] of a compressed matrix.
  [[nodiscard]] bool is_read_transposed(const Region& region, std::size_t k) const {
    const auto* c = std::get_if<Compute>(&region.nodes[k].op);
    if (c == nullptr || c->out.size() != 2 || c->bodies.size() != 1 || !c->left.empty() || c->base ||
        !is_dense_matrix(region.nodes[k].results[0]))
      return false;
    const ValueId v = region.nodes[k].results[0];
    int count = 0;
    for (std::size_t r = k + 1; r < region.nodes.size(); ++r) {
      const auto* reader = std::get_if<Compute>(&region.nodes[r].op);
      if (reader == nullptr || !values_read(*reader).contains(v)) continue;
      if (!reads_transposed(*reader, v)) return false;
      ++count;
    }
    return count > 0 && use_counts_[static_cast<std::size_t>(v.id)] == count;
  }
  [[nodiscard]] bool reads_transposed(const Compute& c, ValueId v) const {
    std::vector<std::pair<std::int32_t, std::int32_t>> stored, exchanged;
    for_each_read(c, [&](const Read& r) {
      if (r.subscripts.size() != 2) return;
      const std::int32_t row = bare_label(r.subscripts[0]), column = bare_label(r.subscripts[1]);
      if (r.tensor == v)
        exchanged.emplace_back(column, row);
      else if (program_.type(r.tensor).is_compressed())
        stored.emplace_back(row, column);
    });
    return std::ranges::all_of(exchanged, [&](const auto& at) {
      return at.first >= 0 && at.second >= 0 && std::ranges::count(stored, at) > 0;
    });
  }
  void sample_exchanged(Region& region, std::size_t k) {
    const ValueId v = region.nodes[k].results[0];
    exchange_dimensions(program_, region, k);
    const auto readers = readers_of(region, k);
    if (readers && sample(region, k, *readers))
      name_exchanged(program_, v);
    else
      exchange_dimensions(program_, region, k);
  }

  /// The readers of the node's value if it is a dense matrix or a product of compressed ones, and all of them iterate
  /// over one other matrix as well.
  [[nodiscard]] std::optional<Readers> readers_of(const Region& region, std::size_t k) const {
    const auto* c = std::get_if<Compute>(&region.nodes[k].op);
    const ValueId v = region.nodes[k].results.empty() ? ValueId{} : region.nodes[k].results[0];
    if (c == nullptr || c->out.size() != 2 || c->bodies.size() != 1 ||
        !(is_product(region.nodes[k]) || (is_dense_matrix(v) && !reads_compressed(*c))) || can_fail(program_, *c))
      return std::nullopt;
    Readers readers;
    int count = 0;
    for (std::size_t r = k + 1; r < region.nodes.size(); ++r) {
      const auto* reader = std::get_if<Compute>(&region.nodes[r].op);
      if (reader == nullptr || !values_read(*reader).contains(v)) continue;
      const auto iteration = sparse_iteration(program_, *reader, false);
      const bool only_there = iteration && !iteration->is_union() && visits(*reader, *iteration, v);
      const ValueId beside = only_there ? visited_beside(*iteration, v) : ValueId{};
      if (!beside.valid() || (count > 0 && !(beside == readers.walked))) return std::nullopt;
      if (count++ == 0) readers = {r, beside};
    }
    const bool all = count > 0 && use_counts_[static_cast<std::size_t>(v.id)] == count;
    return all && program_.type(v).shape == program_.type(readers.walked).shape ? std::optional(readers) : std::nullopt;
  }
  /// The matrix at whose coordinates the value is read: the driver, or if the value itself is the driver, another
  /// matrix in the intersection.
  [[nodiscard]] static ValueId visited_beside(const SparseIteration& iteration, ValueId v) {
    const std::vector<StoredOperand>& operands = iteration.operands;
    const std::vector<std::int32_t>& labels = iteration.driver().labels;
    if (std::ranges::any_of(operands, [&](const StoredOperand& o) { return o.tensor == v && o.labels != labels; }))
      return {};
    if (!(iteration.driver().tensor == v)) return iteration.driver().tensor;
    const StoredLoop& loop = iteration.loops.front();
    return loop.merge == Merge::kIntersection ? operands[static_cast<std::size_t>(loop.over[1])].tensor : ValueId{};
  }
  /// True if rows of the compressed result are accumulated (A @ B).
  [[nodiscard]] bool is_product(const Node& n) const {
    const auto iteration = sparse_iteration(program_, n);
    return iteration && iteration->result == SparseIteration::Result::kAccumulated;
  }
  [[nodiscard]] bool is_dense_matrix(ValueId v) const {
    return program_.type(v).rank() == 2 && !program_.type(v).has_sparse() && program_.info(v).tile.empty();
  }
  [[nodiscard]] bool reads_compressed(const Compute& c) const {
    return std::ranges::any_of(values_read(c), [&](ValueId v) { return program_.type(v).is_compressed(); });
  }

  /// Adds the guard and moves the node in front of its first reader: the iterated matrix may be defined behind the
  /// node. False: it stays as it is.
  bool sample(Region& region, std::size_t k, const Readers& readers) {
    const Type& walked = program_.type(readers.walked);
    if (const auto before = sparse_iteration(program_, std::get<Compute>(region.nodes[k].op), true);
        before && is_masked(*before, readers.walked))
      return false;
    Compute sampled = std::get<Compute>(region.nodes[k].op);
    const Expr element = read(walked.scalar, readers.walked, {index_ref(0), index_ref(1)});
    sampled.guard = conjunction_of(is_present(element), sampled.guard);
    const auto iteration = sparse_iteration(program_, sampled, true);
    const bool product = is_product(region.nodes[k]);
    if (!iteration || !(product ? is_masked(*iteration, readers.walked)
                                : iteration->result == SparseIteration::Result::kOrdered &&
                                      iteration->driver().tensor == readers.walked))
      return false;
    const SourceRange range = region.nodes[k].range;
    region.nodes[k].op = std::move(sampled);
    if (!product) program_.values[static_cast<std::size_t>(region.nodes[k].results[0].id)].type.format = walked.format;
    context_.applied(range, "computed only where " + quoted(program_, readers.walked, "a compressed matrix") +
                                " has elements: nothing reads it elsewhere");
    const auto begin = region.nodes.begin();
    std::rotate(begin + static_cast<std::ptrdiff_t>(k), begin + static_cast<std::ptrdiff_t>(k) + 1,
                begin + static_cast<std::ptrdiff_t>(readers.first));
    return true;
  }

  /// True if the product's rows are accumulated where the mask has elements, and the iteration still covers all of its
  /// operands.
  [[nodiscard]] static bool is_masked(const SparseIteration& iteration, ValueId mask) {
    const bool marked = std::ranges::any_of(iteration.masks, [&](int k) {
      const StoredOperand& operand = iteration.operands[static_cast<std::size_t>(k)];
      return operand.tensor == mask && operand.labels == std::vector<std::int32_t>{0, 1};
    });
    return marked && iteration.result == SparseIteration::Result::kAccumulated && iteration.loops.size() > 2;
  }

  std::vector<int> use_counts_ = use_counts(program_);
};

}  // namespace

Program sampling(const Program& program, PassContext& context) { return Sampling(program, context).run(); }

}  // namespace tdsl::passes
