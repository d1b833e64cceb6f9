#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/plan/op.h"
#include "runtime/plan/op_plan.h"
#include "tests/unit/plan/random.h"

namespace tdsl::tests {

/// An operation with a random plan and randomly placed operands, independent of the planner.
struct PlannedCase {
  plan::Op op;
  plan::OpPlan plan;
  std::map<plan::TensorId, plan::PlacedTensor> tensors;

  [[nodiscard]] plan::TensorLookup lookup() const {
    return [this](plan::TensorId id) -> const plan::PlacedTensor& { return tensors.at(id); };
  }
  [[nodiscard]] std::string describe() const {
    std::string text = plan.space.describe({}) + " on " + std::to_string(plan.space.ranks()) + " ranks;";
    for (std::size_t d = 0; d < op.out.size(); ++d) {
      const plan::OutSubscript& s = op.out[d];
      text += " out" + std::to_string(op.shape[d]) + "@" + std::to_string(s.coefficient) + "*L" +
              std::to_string(s.label) + "+" + std::to_string(s.constant);
      if (!plan.super_block.empty()) text += "/" + std::to_string(plan.super_block[d]);
    }
    for (const plan::LabelDesc& l : op.labels) {
      text += " " + l.name + "[" + std::to_string(l.range.lo) + "," + std::to_string(l.range.hi) + ")";
    }
    for (std::size_t k = 0; k < op.reduce.size(); ++k) {
      text += " reduce L" + std::to_string(op.reduce[k].label) + " in " + std::to_string(plan.reduce[k].tiles());
      if (op.reduce[k].part_dim >= 0) text += " parts of dim " + std::to_string(op.reduce[k].part_dim);
    }
    for (const plan::Access& access : op.reads) {
      text += plan.keeps(op, access.tensor) ? " kept" : "";
      text +=
          " read T" + std::to_string(access.tensor) + "(" + tensors.at(access.tensor).distribution.describe({}) + ")[";
      for (const plan::DimAccess& dim : access.dims) {
        text += dim.whole ? ":" : "";
        for (const plan::Affine::Term& t : dim.terms) {
          text += std::to_string(t.coefficient) + "L" + std::to_string(t.label) + "+";
        }
        text += "{" + std::to_string(dim.offset.lo) + "," + std::to_string(dim.offset.hi) + "}/" +
                std::to_string(dim.divisor) + ";";
      }
      text += "]";
    }
    return text;
  }
};

class OperationGenerator {
 public:
  explicit OperationGenerator(Random& random) : random_(random) {}

  PlannedCase make() {
    ranks_ = random_.in(1, 8);
    made_.op.op_class = plan::OpClass::kReduce;
    made_.op.combine = plan::Combine::kSum;
    add_outputs();
    add_reductions();
    add_tensors();
    for (int reads = random_.small(1, 3); reads > 0; --reads) add_read();
    made_.op.outputs.push_back({100, {8, "f64"}, made_.op.shape, "result"});
    made_.plan.space = random_distribution(random_, ranks_, std::move(tilings_));
    if (random_.chance(40)) {
      for (std::size_t d = 0; d < made_.op.shape.size(); ++d) made_.plan.super_block.push_back(random_.in(0, 2));
      if (random_.chance(50)) keep_operands();
    }
    return std::move(made_);
  }

 private:
  int add_label(const char* prefix) {
    const Index lo = random_.in(-2, 2);
    made_.op.labels.push_back(
        {prefix + std::to_string(made_.op.labels.size()), {lo, lo + (random_.chance(4) ? 0 : random_.in(1, 7))}});
    return static_cast<int>(made_.op.labels.size()) - 1;
  }

  /// An output dimension written at coefficient * label + constant, usually large enough for all values.
  void add_output(int label, Index coefficient) {
    const plan::Interval range = made_.op.labels[static_cast<std::size_t>(label)].range;
    const Index last = std::max(range.lo, range.hi - 1);
    const Index low = std::min(coefficient * range.lo, coefficient * last);
    const Index high = std::max(coefficient * range.lo, coefficient * last);
    const Index before = random_.chance(70) ? 0 : random_.in(-2, 3);
    const Index after = random_.chance(70) ? 0 : random_.in(-2, 3);
    add_dimension(std::max<Index>(0, high - low + 1 + before + after), {label, coefficient, before - low});
  }
  void add_dimension(Index extent, plan::OutSubscript subscript) {
    made_.op.shape.push_back(extent);
    made_.op.out.push_back(subscript);
    tilings_.push_back(random_tiling(random_, extent));
  }

  void add_outputs() {
    for (int n = random_.small(0, 3); n > 0; --n) {
      const bool again = !made_.op.labels.empty() && random_.chance(12);
      if (random_.chance(8)) {
        const Index extent = random_.in(1, 5);
        add_dimension(extent, {plan::kNoLabel, 1, random_.in(0, random_.chance(90) ? extent - 1 : extent)});
      } else if (random_.chance(8)) {
        add_dimension(random_.in(0, 5), {plan::kAnyLabel, 1, 0});
      } else {
        const int label = again ? random_.small(0, static_cast<int>(made_.op.labels.size()) - 1) : add_label("i");
        add_output(label, random_.chance(70) ? 1 : random_.one_of<Index>({-1, 2, -2, 3}));
      }
    }
  }

  void add_reductions() {
    for (int n = random_.small(0, 2); n > 0; --n) {
      const int label = add_label("k");
      const Index extent = made_.op.labels[static_cast<std::size_t>(label)].range.size();
      plan::ReduceLabel reduce{label, -1};
      plan::Tiling tiling = random_tiling(random_, extent);
      if (extent > 0 && random_.chance(25)) {
        const Index parts = random_.in(1, extent + 1);
        reduce.part_dim = made_.op.out_rank();
        made_.op.shape.push_back(parts);
        made_.op.out.push_back({plan::kPartLabel, 1, 0});
        tilings_.push_back(plan::Tiling::near_equal(parts, parts));
      }
      made_.op.reduce.push_back(reduce);
      made_.plan.reduce.push_back(tiling);
    }
  }

  void add_tensors() {
    for (plan::TensorId id = 0; id < random_.in(1, 2); ++id) {
      std::vector<Index> shape;
      std::vector<plan::Tiling> tilings;
      for (int d = random_.small(0, 3); d > 0; --d) {
        shape.push_back(random_.chance(4) ? 0 : random_.in(1, 9));
        tilings.push_back(random_tiling(random_, shape.back()));
      }
      made_.tensors[id] = {{id, {random_.chance(50) ? 4 : 8, "f"}, shape, "T" + std::to_string(id)},
                           random_distribution(random_, ranks_, std::move(tilings))};
    }
  }

  plan::DimAccess dimension() {
    const int labels = static_cast<int>(made_.op.labels.size());
    plan::DimAccess dim;
    if (random_.chance(6)) {
      dim.whole = true;
      dim.offset = {0, 0};
      return dim;
    }
    const Index from = random_.chance(60) ? 0 : random_.in(-3, 6);
    dim.offset = {from, from + (random_.chance(75) ? 1 : random_.in(1, 3))};
    if (labels == 0 || random_.chance(8)) return dim;
    if (random_.chance(12)) dim.divisor = random_.in(2, 4);
    for (int terms = random_.chance(80) ? 1 : 2; terms > 0; --terms) {
      dim.terms.push_back({random_.small(0, labels - 1), random_.chance(70) ? 1 : random_.one_of<Index>({-1, 2, -2})});
    }
    return dim;
  }

  /// Often a variation of an earlier access to the same tensor: X[k, i] and X[k, j], A[i] and A[i + 1].
  void add_read() {
    const plan::TensorId id = random_.in(0, static_cast<Index>(made_.tensors.size()) - 1);
    plan::Access access{id, {}};
    for (const plan::Access& earlier : made_.op.reads) {
      if (earlier.tensor == id && random_.chance(70)) access.dims = earlier.dims;
    }
    const std::size_t rank = made_.tensors[id].desc.shape.size();
    if (access.dims.size() != rank || rank == 0) {
      access.dims.clear();
      for (std::size_t d = 0; d < rank; ++d) access.dims.push_back(dimension());
    } else {
      access.dims[static_cast<std::size_t>(random_.in(0, static_cast<Index>(rank) - 1))] = dimension();
    }
    made_.op.reads.push_back(std::move(access));
  }

  /// Keeps a random operand or all of them over super-blocks.
  void keep_operands() {
    const plan::TensorId kept = random_.in(-1, static_cast<Index>(made_.tensors.size()) - 1);
    for (const plan::Access& access : made_.op.reads) made_.plan.kept.push_back(kept < 0 || access.tensor == kept);
  }

  Random& random_;
  Index ranks_ = 1;
  std::vector<plan::Tiling> tilings_;
  PlannedCase made_;
};

}  // namespace tdsl::tests
