#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/eval/elements.h"
#include "ir/eval/expr.h"
#include "ir/eval/routine.h"

// Routines on matrices of more than two dimensions: the last two (of a right side perhaps one) are a matrix, the
// leading ones are the batch.

namespace tdsl::ir::eval {

namespace {

using Subscripts = std::vector<std::int64_t>;

/// An array with the array's dimensions from `rank` on.
Array block_of(const Array& array, std::size_t rank) {
  return zeros(array.type, {array.shape.begin() + static_cast<std::ptrdiff_t>(rank), array.shape.end()});
}

/// A tensor as a batch of blocks of its last dimensions.
class Batch {
 public:
  Batch(const Array& array, std::size_t rank) : array_(array), rank_(rank), block_(block_of(array, rank)) {}

  /// The block of those batch subscripts; an extent of 1 serves all.
  [[nodiscard]] const Array& load(const Subscripts& at) {
    const std::size_t first = position(at);
    block_.bounds.clear();
    for (std::size_t k = 0; k < size(); ++k) set_element(block_, k, element(array_, first + k));
    return block_;
  }

 private:
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(block_.size()); }
  [[nodiscard]] std::size_t position(const Subscripts& at) const {
    std::int64_t number = 0;
    for (std::size_t d = 0; d < rank_; ++d) number = number * array_.shape[d] + (array_.shape[d] == 1 ? 0 : at[d]);
    return static_cast<std::size_t>(number) * size();
  }

  const Array& array_;
  std::size_t rank_;
  Array block_;
};

/// Stores block number `number`.
void store(Array& to, const Array& block, std::size_t number) {
  const auto size = static_cast<std::size_t>(block.size());
  for (std::size_t k = 0; k < size; ++k) set_element(to, number * size + k, element(block, k));
}

/// The next subscripts in row-major order; false behind the last ones.
bool advance(Subscripts& at, const Subscripts& extents) {
  for (std::size_t d = extents.size(); d-- > 0;) {
    if (++at[d] < extents[d]) return true;
    at[d] = 0;
  }
  return false;
}

}  // namespace

void MatrixPlace::stop(const std::string& what) const {
  const std::string which = batch.empty() ? "" : fmt::format(" (batch [{}])", fmt::join(batch, ", "));
  eval::stop(node.range, fmt::format("{}: {}{} [no-solution]", name_of(routine.kind), what, which));
}

void evaluate_factorisation(const Node& node, const Routine& routine, const std::vector<const Array*>& operands,
                            const std::vector<std::shared_ptr<Array>>& results) {
  MatrixPlace place{node, routine, {}};
  const std::size_t rank = operands.at(0)->shape.size() - 2;
  if (rank == 0) return evaluate_matrix(place, operands, results);
  const std::vector<std::int64_t>& shape = results.at(0)->shape;
  const Subscripts extents(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(rank));
  for (const std::int64_t extent : extents) {
    if (extent == 0) return;
  }
  std::vector<Batch> batches;
  for (const Array* a : operands) batches.emplace_back(*a, rank);
  place.batch.assign(rank, 0);
  for (std::size_t number = 0;; ++number) {
    std::vector<const Array*> blocks;
    for (Batch& b : batches) blocks.push_back(&b.load(place.batch));
    std::vector<std::shared_ptr<Array>> parts;
    for (const auto& r : results) parts.push_back(std::make_shared<Array>(block_of(*r, rank)));
    evaluate_matrix(place, blocks, parts);
    for (std::size_t k = 0; k < results.size(); ++k) store(*results[k], *parts[k], number);
    if (!advance(place.batch, extents)) return;
  }
}

}  // namespace tdsl::ir::eval
