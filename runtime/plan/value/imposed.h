#pragma once

#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "runtime/plan/value/plan_value.h"

namespace tdsl::plan {

/// A copy of a result, kept as long as the result lives.
struct KeptCopy {
  Layout layout;             ///< one entry per dimension of the result
  std::vector<int> readers;  ///< sites that read it instead of the original
};

/// Interface through which the planner asks for imposed layouts of operations, equal on all ranks.
class Imposed {
 public:
  virtual ~Imposed() = default;
  [[nodiscard]] virtual const Mesh& mesh() const = 0;
  /// The layout of the operation's task space: output dimensions, then reduce labels (for a combination of partial
  /// results: the layout of the result), the `execution`-th time its site is planned. Null if its site has no decision,
  /// or none valid for its dimensions.
  [[nodiscard]] virtual const Layout* layout_for(const Op& op, Index execution) = 0;
  /// Ranks by which that layout is shifted from the site's first one (plan_value.h, Note [Turning decisions]).
  [[nodiscard]] virtual Index shift_of(int site, Index execution) const = 0;
  /// The copy of the operation's only output, or of the combination's if there are partial results; null if none.
  [[nodiscard]] virtual const KeptCopy* copy_of(const Op& op) = 0;
};

/// A plan's layouts, resolved against operations as they are recorded.
class ImposedPlan : public Imposed {
 public:
  explicit ImposedPlan(std::shared_ptr<const PlanValue> plan) : plan_(std::move(plan)) {}

  [[nodiscard]] const Mesh& mesh() const override { return plan_->mesh; }
  [[nodiscard]] const Layout* layout_for(const Op& op, Index execution) override;
  [[nodiscard]] Index shift_of(int site, Index execution) const override;
  [[nodiscard]] const KeptCopy* copy_of(const Op& op) override;

 private:
  std::shared_ptr<const PlanValue> plan_;
  std::map<std::tuple<int, bool, Index>, std::optional<Layout>>
      resolved_;                                   ///< by site, whether it is a combination, and shift
  std::map<int, std::optional<KeptCopy>> copies_;  ///< by site
};

}  // namespace tdsl::plan
