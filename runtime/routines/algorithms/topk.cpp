#include <algorithm>

#include "runtime/routines/algorithms/forms.h"
#include "runtime/routines/algorithms/steps.h"

namespace tdsl::rt::routines {

namespace {

constexpr Index kMostBlocks = 64;
/// Estimated comparisons per element.
constexpr double kFlops = 40;

/// Number of blocks for which the k largest of each make up a quarter of the vector.
Index blocks_of(Index n, Index k) { return n / (4 * std::max<Index>(k, 1)); }

/// Note [Largest of the largest]. Equal elements are in order within a block, and blocks are in order, so among equal
/// candidates the first element comes first.
class Topk : private Steps {
 public:
  Topk(Caller& caller, Call& call) : Steps(caller, call), n_(operand(0).extent(0)), k_(call.count) {
    groups_ = std::max<Index>(std::min(kMostBlocks, blocks_of(n_, k_)), 1);
    height_ = plan::ceil_div(n_, groups_);
    each_ = std::min(k_, height_);
  }

  void run() {
    const TensorHandle blocks = padded_blocks();
    release_operands();
    const TensorHandle values = of_blocks(1, "largest", element(), KernelName::kTopkValues, blocks);
    TensorHandle positions;
    if (result(1).wanted) positions = of_blocks(2, "places", ElementType::kI64, KernelName::kTopkPositions, blocks);
    const TensorHandle candidates = in_one_row(3, "candidates", values, KernelName::kInOneRow, element(), 0);
    TensorHandle origins;
    if (result(1).wanted) origins = in_one_row(4, "origins", positions, KernelName::kOrigins, ElementType::kI64, 3);
    if (result(0).wanted)
      result(0).tensor = of_candidates(5, name(0, "topk_values"), element(), KernelName::kTopkValues, candidates);
    if (!result(1).wanted) return;
    const TensorHandle picked = of_candidates(6, "picked", ElementType::kI64, KernelName::kTopkPositions, candidates);
    OpBuilder pick = op(OpClass::kReduce, name(1, "topk_positions"), 7);
    pick.out("j", k_).gather("place", groups_ * each_).read(picked.id(), {at(0)}).read(origins.id(), {at(1)});
    pick.combine(plan::Combine::kMax).flops(0);
    result(1).tensor = compute(pick, ElementType::kI64, KernelName::kPick);
  }

 private:
  /// Pads the last block with a value that compares below every element.
  TensorHandle padded_blocks() {
    OpBuilder blocks = op(OpClass::kMap, "blocks", 0);
    blocks.out("g", groups_).out("j", height_).read(operand(0).id(), {at({{0, height_}, {1, 1}})}).flops(3).divisible();
    return compute(blocks, element(), KernelName::kPaddedBlocks, {height_, n_});
  }

  TensorHandle of_blocks(int place, std::string_view name, ElementType type, KernelName kernel,
                         const TensorHandle& blocks) {
    OpBuilder largest = op(OpClass::kMap, name, place);
    largest.out("g", groups_).out("j", each_).uncut().read(blocks.id(), {at(0), whole()}).flops(kFlops);
    return compute(largest, type, kernel, {1});
  }

  TensorHandle in_one_row(int place, std::string_view name, const TensorHandle& rows, KernelName kernel,
                          ElementType type, double flops) {
    OpBuilder row = op(OpClass::kMap, name, place);
    row.out("c", groups_ * each_)
        .read(rows.id(), {plan::quotient({{0, 1}}, 0, each_), whole()})
        .flops(flops)
        .divisible();
    return compute(row, type, kernel, {each_, height_});
  }

  TensorHandle of_candidates(int place, std::string_view name, ElementType type, KernelName kernel,
                             const TensorHandle& candidates) {
    OpBuilder largest = op(OpClass::kMap, name, place);
    largest.out("j", k_).uncut().read(candidates.id(), {whole()}).flops(kFlops);
    return compute(largest, type, kernel, {0});
  }

  Index n_;
  Index k_;
  Index groups_ = 1;
  Index height_ = 0;  ///< elements per block
  Index each_ = 0;    ///< candidates per block
};

}  // namespace

bool has_topk_by_blocks(Index n, Index k) { return blocks_of(n, k) >= 2; }

void distributed_topk(Caller& caller, Call& call) { Topk(caller, call).run(); }

}  // namespace tdsl::rt::routines
