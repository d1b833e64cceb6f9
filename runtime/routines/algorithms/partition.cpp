#include <algorithm>

#include "runtime/routines/algorithms/forms.h"
#include "runtime/routines/algorithms/steps.h"

namespace tdsl::rt::routines {

namespace {

constexpr Index kMaskBlocks = 1024;
constexpr Index kLeastBlock = 64;

/// Note [Places of a mask]. The largest elements of a vector of bools are the true ones in order, and after them the
/// false ones. Blocks of the vector know the number of true elements before them. A task of the result visits a panel
/// of blocks at a time and reads those that have elements of its tile, so all tasks together read the vector once, up
/// to parts of blocks at the ends of tiles. Each element of the result is found once, as in a gather.
class Partition : private Steps {
 public:
  Partition(Caller& caller, Call& call) : Steps(caller, call), n_(operand(0).extent(0)) {
    height_ = std::max(kLeastBlock, plan::ceil_div(n_, kMaskBlocks));
    count_ = plan::ceil_div(n_, height_);
  }

  void run() {
    const TensorHandle before = trues_before(block_counts());
    if (result(0).wanted) result(0).tensor = values(before);
    if (result(1).wanted) result(1).tensor = places(before);
    release_operands();
  }

 private:
  [[nodiscard]] DimAccess block() const { return {{{0, height_}}, {0, height_}, false}; }

  TensorHandle block_counts() {
    OpBuilder counts = op(OpClass::kMap, "block_counts", 0);
    counts.out("g", count_).read(operand(0).id(), {block()}).flops(static_cast<double>(height_));
    return compute(counts, ElementType::kI64, KernelName::kBlockCounts, {height_});
  }

  /// The number of true elements before each block, and that of all.
  TensorHandle trues_before(const TensorHandle& counts) {
    OpBuilder before = op(OpClass::kMap, "before", 1);
    before.out("g", count_ + 1).uncut().read(counts.id(), {whole()}).flops(1);
    return compute(before, ElementType::kI64, KernelName::kCountsBefore);
  }

  TensorHandle values(const TensorHandle& before) {
    OpBuilder values = op(OpClass::kMap, name(0, "topk_values"), 2);
    values.out("k", call_.count).read(before.id(), {plan::fixed(count_, count_ + 1)}).flops(1);
    return compute(values, element(), KernelName::kTruesFirst);
  }

  TensorHandle places(const TensorHandle& before) {
    OpBuilder places = op(OpClass::kReduce, name(1, "topk_positions"), 3);
    places.out("k", call_.count).gather("block", count_).read(before.id(), {whole()});
    places.read(operand(0).id(), {DimAccess{{{1, height_}}, {0, height_}, false}});
    places.combine(plan::Combine::kMax).flops(0);
    return compute(places, ElementType::kI64, KernelName::kPlaces, {height_});
  }

  Index n_;
  Index height_ = 1;  ///< elements per block
  Index count_ = 0;   ///< blocks
};

}  // namespace

void distributed_partition(Caller& caller, Call& call) { Partition(caller, call).run(); }

}  // namespace tdsl::rt::routines
