#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/plan/region/region.h"
#include "runtime/plan/value/plan_value.h"

namespace tdsl::codegen {

/// Why an operation is not an expression of the algebra; nothing if it is: every label covers whole dimensions,
/// subscripts are labels, and partial results can be combined.
[[nodiscard]] std::optional<std::string> opaque_because(const plan::Op& op,
                                                        const std::map<plan::TensorId, plan::TensorDesc>& tensors);

/// True for A[i, i] with a whole matrix A.
[[nodiscard]] bool reads_diagonal(const plan::Access& access);

/// A decision's layouts, by slots (slot_names) and by output dimensions.
struct Placed {
  plan::Layout work;
  std::optional<plan::Layout> result;
  std::optional<plan::Layout> copy;
  std::vector<int> readers;
};
/// The plan's decision for the operation; nothing if it has no applicable one.
[[nodiscard]] std::optional<Placed> placed_by(const plan::PlanValue& plan, const plan::Op& op);

/// The number of blocks of every dimension. Dimensions indexed by one label are cut alike, into as many blocks as the
/// plan's shares of any of them need; if an extent is not divisible, into single elements if they are few.
class RelationBlocks {
 public:
  /// Without a plan, `blocks` per dimension.
  RelationBlocks(const plan::Region& region, const plan::PlanValue* plan, plan::Index blocks);

  struct Cut {
    plan::Index blocks = 1;
    plan::Index size = 1;
    bool padded = false;  ///< the last block is smaller than `size`, which the algebra cannot express
  };
  [[nodiscard]] Cut of(plan::TensorId tensor, std::size_t dim) const;

 private:
  struct Class {
    plan::Index extent = 0;
    plan::Index shares = 1;
  };
  using Dimension = std::pair<plan::TensorId, std::size_t>;

  void enter(const plan::TensorDesc& tensor);
  void unite(const plan::Op& op);
  void share(const plan::Op& op, const plan::PlanValue& plan);
  void require(const Dimension& dimension, plan::Index shares);
  [[nodiscard]] std::size_t root(const Dimension& dimension) const;

  std::map<Dimension, std::size_t> number_;
  std::vector<std::size_t> parent_;
  std::vector<Class> class_;
  plan::Index blocks_;
};

}  // namespace tdsl::codegen
