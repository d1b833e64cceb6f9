#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "ir/eval/eval.h"
#include "ir/eval/expr.h"
#include "ir/graph/graph.h"

namespace tdsl::ir::eval {

/// Last uses of values.
struct Lifetimes {
  /// For every node, the values of its own region that are dead after it (including its own results).
  std::unordered_map<const Node*, std::vector<ValueId>> last;
  /// For every node with regions, the outer values used in these.
  std::unordered_map<const Node*, std::set<ValueId>> captured;
};
[[nodiscard]] Lifetimes find_lifetimes(const Program& program);

/// The values defined at the current point of the evaluation. Arrays are shared between names and changed in place only
/// by their sole owner.
class Environment {
 public:
  explicit Environment(const Program& program) : program_(program), slots_(program.values.size()) {}

  [[nodiscard]] const Array& get(ValueId v) const;
  [[nodiscard]] std::shared_ptr<Array> share(ValueId v) const;
  /// Moves the array out: the value becomes undefined.
  [[nodiscard]] std::shared_ptr<Array> take(ValueId v);
  void set(ValueId v, std::shared_ptr<Array> array);
  void release(ValueId v) { slot(v).reset(); }

  /// The value of a rank-0 integer or bool. An open value marks the control flow uncertain.
  [[nodiscard]] std::int64_t control(ValueId v);
  /// The value of an extent; stops at `place` on a division by zero.
  [[nodiscard]] std::int64_t extent(const Extent& e, const SourceRange& place);
  [[nodiscard]] rt::Exact exact(const Extent& e, const SourceRange& place);
  /// The shape of a value about to be defined; a negative extent is an empty range if the value is computed over
  /// ranges, else it stops at `place`.
  [[nodiscard]] std::vector<std::int64_t> shape(ValueId v, const SourceRange& place, bool computed = false);
  [[nodiscard]] const Program& program() const { return program_; }
  [[nodiscard]] bool uncertain() const { return uncertain_; }

 private:
  [[nodiscard]] std::shared_ptr<Array>& slot(ValueId v) { return slots_[static_cast<std::size_t>(v.id)]; }

  const Program& program_;
  std::vector<std::shared_ptr<Array>> slots_;
  bool uncertain_ = false;
};

/// The array with larger extents, new elements being 0.
[[nodiscard]] Array extended(const Array& array, const std::vector<std::int64_t>& shape);

/// Evaluates a Compute node. `base_dies`: the node is the last reader of its base, so it may change it in place.
[[nodiscard]] std::vector<std::shared_ptr<Array>> evaluate_compute(Environment& environment, const Node& node,
                                                                   const Compute& compute, bool base_dies);

}  // namespace tdsl::ir::eval
