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
/// to parts of blocks at the ends of tiles. Each element of the result is found once, as in a gather. Operands stay in
/// their tiles (Op::by_blocks): assembled ones would be copied for every task.
class OfMask : protected Steps {
 protected:
  OfMask(Caller& caller, Call& call, std::size_t mask)
      : Steps(caller, call),
        mask_(mask),
        n_(operand(mask).extent(0)),
        height_(std::max(kLeastBlock, plan::ceil_div(n_, kMaskBlocks))),
        count_(plan::ceil_div(n_, height_)) {}

  /// The elements of the blocks numbered by the label.
  [[nodiscard]] DimAccess blocks_of(int label) const { return {{{label, height_}}, {0, height_}, false}; }

  /// The number of true elements before each block, and that of all.
  TensorHandle trues_before() {
    OpBuilder counts = op(OpClass::kMap, "block_counts", 0);
    counts.out("g", count_).read(operand(mask_).id(), {blocks_of(0)}).flops(static_cast<double>(height_)).by_blocks();
    const TensorHandle in_blocks = compute(counts, ElementType::kI64, KernelName::kBlockCounts, {height_});
    OpBuilder before = op(OpClass::kMap, "before", 1);
    before.out("g", count_ + 1).uncut().read(in_blocks.id(), {whole()}).flops(1);
    return compute(before, ElementType::kI64, KernelName::kCountsBefore);
  }

  std::size_t mask_;  ///< its number among the operands
  Index n_;
  Index height_;  ///< elements per block
  Index count_;   ///< blocks
};

class Partition : private OfMask {
 public:
  Partition(Caller& caller, Call& call) : OfMask(caller, call, 0) {}

  void run() {
    const TensorHandle before = trues_before();
    if (result(0).wanted) result(0).tensor = values(before);
    if (result(1).wanted) result(1).tensor = places(before);
    release_operands();
  }

 private:
  TensorHandle values(const TensorHandle& before) {
    OpBuilder values = op(OpClass::kMap, name(0, "topk_values"), 2);
    values.out("k", call_.count).read(before.id(), {plan::fixed(count_, count_ + 1)}).flops(1);
    return compute(values, element(), KernelName::kTruesFirst);
  }

  TensorHandle places(const TensorHandle& before) {
    OpBuilder places = op(OpClass::kReduce, name(1, "topk_positions"), 3);
    places.out("k", call_.count).gather("block", count_).read(before.id(), {whole()});
    places.read(operand(0).id(), {blocks_of(1)}).by_blocks();
    places.combine(plan::Combine::kMax).flops(1);
    return compute(places, ElementType::kI64, KernelName::kPlaces, {height_});
  }
};

class Filter : private OfMask {
 public:
  Filter(Caller& caller, Call& call) : OfMask(caller, call, 1) {}

  void run() {
    const TensorHandle before = trues_before();
    const std::vector<Index> shape = operand(0).state().desc.shape;
    OpBuilder kept = op(OpClass::kReduce, name(0, "filter"), 2);
    std::vector<DimAccess> dims;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const bool along = d == static_cast<std::size_t>(call_.axis);
      kept.out(along ? "k" : std::string(1, static_cast<char>('a' + d)), along ? call_.count : shape[d]);
      dims.push_back(along ? blocks_of(static_cast<int>(shape.size())) : at(static_cast<int>(d)));
    }
    kept.gather("block", count_).read(before.id(), {whole()});
    kept.read(operand(1).id(), {blocks_of(static_cast<int>(shape.size()))});
    kept.read(operand(0).id(), std::move(dims)).by_blocks();
    // Every element has one term; complex numbers have no order.
    kept.combine(is_complex(element()) ? plan::Combine::kSum : plan::Combine::kMax).flops(1);
    result(0).tensor = compute(kept, element(), KernelName::kFilter, {call_.axis, height_});
    release_operands();
  }
};

}  // namespace

void distributed_partition(Caller& caller, Call& call) { Partition(caller, call).run(); }
void distributed_filter(Caller& caller, Call& call) { Filter(caller, call).run(); }

}  // namespace tdsl::rt::routines
