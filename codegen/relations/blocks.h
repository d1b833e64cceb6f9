#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/plan/region/region.h"
#include "runtime/plan/value/plan_value.h"

namespace tdsl::codegen {

/// Why an operation is no expression of the algebra; nothing if it is one: every label runs over whole dimensions,
/// subscripts are labels, and partial results may meet.
[[nodiscard]] std::optional<std::string> opaque_because(const plan::Op& op,
                                                        const std::map<plan::TensorId, plan::TensorDesc>& tensors);

/// A decision's layouts, by slots (slot_names) and by output dimensions.
struct Placed {
  plan::Layout work;
  std::optional<plan::Layout> result;
  std::optional<plan::Layout> copy;
  std::vector<int> readers;
};
/// What the plan says of the operation; nothing where it says nothing that fits.
[[nodiscard]] std::optional<Placed> placed_by(const plan::PlanValue& plan, const plan::Op& op);

/// Into how many blocks every dimension is cut. Dimensions that one label runs over are cut alike, into as many blocks
/// as the plan's shares of any of them need; where an extent is no multiple of that, into single elements if they are
/// few.
class RelationBlocks {
 public:
  /// Without a plan, `blocks` per dimension where that divides it.
  RelationBlocks(const plan::Region& region, const plan::PlanValue* plan, plan::Index blocks);

  struct Cut {
    plan::Index blocks = 1;
    plan::Index size = 1;
    bool padded = false;  ///< the last block is smaller than `size`, which the algebra cannot say
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
