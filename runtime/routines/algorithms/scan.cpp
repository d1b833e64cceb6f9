#include <algorithm>

#include "runtime/routines/algorithms/forms.h"
#include "runtime/routines/algorithms/steps.h"

namespace tdsl::rt::routines {

namespace {

/// Maximum number of blocks per line that are combined independently.
constexpr Index kLineBlocks = 64;

class Scan : private Steps {
 public:
  Scan(Caller& caller, Call& call)
      : Steps(caller, call), shape_(operand(0).state().desc.shape), axis_(static_cast<std::size_t>(call.axis)) {
    const Index n = shape_[axis_];
    const Index groups = std::max<Index>(1, std::min(kLineBlocks, n / 2));
    height_ = std::max<Index>(1, plan::ceil_div(n, groups));
    count_ = plan::ceil_div(n, height_);
  }

  void run() {
    OpBuilder runs = op(OpClass::kMap, name(0, "block_scan"), 2);
    const TensorHandle before = totals_before();
    std::vector<DimAccess> elements;
    std::vector<DimAccess> line;
    Sizes tile;
    for (std::size_t d = 0; d < shape_.size(); ++d) {
      runs.out(label(d), shape_[d]);
      elements.push_back(at(static_cast<int>(d)));
      line.push_back(d == axis_ ? plan::whole() : elements.back());
      if (d <= axis_) tile.push_back(d == axis_ ? height_ : shape_[d]);
    }
    runs.read(operand(0).id(), std::move(elements)).read(before.id(), std::move(line)).flops(1).tile(std::move(tile));
    result(0).tensor =
        compute(runs, element(), KernelName::kBlockScan, {call_.axis, height_, scan_number(call_.routine)});
    release_operands();
  }

 private:
  [[nodiscard]] static std::string label(std::size_t d) { return std::string(1, static_cast<char>('i' + d)); }

  TensorHandle block_totals() {
    OpBuilder totals = op(OpClass::kMap, "block_totals", 0);
    std::vector<DimAccess> blocks;
    Sizes tile;
    for (std::size_t d = 0; d < shape_.size(); ++d) {
      const bool along = d == axis_;
      const int l = static_cast<int>(d);
      totals.out(label(d), along ? count_ : shape_[d]);
      blocks.push_back(along ? DimAccess{{{l, height_}}, {0, height_}, false} : at(l));
      if (d <= axis_) tile.push_back(along ? 1 : shape_[d]);
    }
    totals.read(operand(0).id(), std::move(blocks)).flops(static_cast<double>(height_)).tile(std::move(tile));
    return compute(totals, element(), KernelName::kBlockTotals, {call_.axis, height_, scan_number(call_.routine)});
  }

  TensorHandle totals_before() {
    const TensorHandle totals = block_totals();
    OpBuilder before = op(OpClass::kMap, "before", 1);
    std::vector<DimAccess> line;
    for (std::size_t d = 0; d < shape_.size(); ++d) {
      before.out(label(d), d == axis_ ? count_ : shape_[d]);
      if (d == axis_) before.uncut();
      line.push_back(d == axis_ ? plan::whole() : at(static_cast<int>(d)));
    }
    before.read(totals.id(), std::move(line)).flops(1);
    return compute(before, element(), KernelName::kTotalsBefore, {call_.axis, scan_number(call_.routine)});
  }

  Sizes shape_;
  std::size_t axis_;
  Index height_ = 1;  ///< elements per block
  Index count_ = 0;   ///< blocks per line
};

}  // namespace

void distributed_scan(Caller& caller, Call& call) { Scan(caller, call).run(); }

}  // namespace tdsl::rt::routines
