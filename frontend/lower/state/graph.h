#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "frontend/sema/tensor.h"
#include "ir/graph/graph.h"
#include "ir/graph/within.h"

namespace tdsl::frontend {

/// A dimension where an index variable stands bare, and the place of its subscript.
struct BareUse {
  Dim dim;
  ir::SourceRange place;
};

/// An index variable's range while it is being found out. Numbered over the whole compilation.
struct LabelInfo {
  std::string name;  ///< empty: named i, j, k, … where it is used
  ir::SourceRange range;
  bool resolved = false;
  ir::Extent begin;
  ir::Extent end;
  bool is_explicit = false;  ///< has a range in the source
  ir::Expr lower;            ///< of an explicit range that depends on other index variables; else null
  ir::Expr upper;
  bool from_zero = false;                 ///< the explicit range begins at 0
  std::optional<ir::Extent> written_end;  ///< of an explicit range: one past the largest value
  std::vector<BareUse> bare_uses;
};

/// Whether a label standing bare in a dimension of that extent is in bounds wherever it runs. One without an explicit
/// range runs over the dimension itself.
[[nodiscard]] bool stays_inside(const LabelInfo& label, const ir::Extent& extent);

/// A Compute over labels of the compilation; `GraphBuilder` renumbers them.
struct ComputeSpec {
  std::vector<std::int32_t> out;
  std::vector<std::int32_t> reduce;
  ir::Expr body;
  ir::Expr guard;
  std::optional<ir::Monoid> monoid;
  std::vector<ir::Expr> left;
  std::optional<ir::ValueId> base;
  std::optional<ir::Monoid> combine;
  ir::Expr fill;
  ir::Type type;
  bool storage_given = false;  ///< by a type or a variable; else it is inferred when the node is emitted
  std::string name;
  ir::SourceRange range;
};

/// A function's body that runs statement by statement at every point of some index variables.
///
///     let z[i, j] = newton(a[i], b[j]);
///
///     for i in 0..n { for j in 0..m { let p = a[i]; let q = b[j]; …; T[i, j] = the result; } }   // and z reads T
struct PointLoop {
  std::map<std::int32_t, ir::ValueId> positions;                ///< what the index variables are in the body
  std::vector<std::pair<ir::ValueId, ComputeSpec>> parameters;  ///< what the body calls them, what they are at a point
  ir::Expr guard;                                               ///< points where it is false are left out; null: none
  ir::Region body;
  ir::ValueId result;  ///< a scalar of `body`
};

/// Writes the index graph: regions, nodes, labels, and reductions that wait until the ranges of the index variables
/// around them are known.
class GraphBuilder {
 private:
  struct Waiting {
    ComputeSpec spec;  ///< of a loop: only `out`, `type`, `name` and `range`
    ir::ValueId value;
    std::shared_ptr<PointLoop> loop;        ///< null: a Compute
    std::optional<ir::Random> random = {};  ///< instead of a Compute
  };

 public:
  explicit GraphBuilder(ir::Program& program) : program_(program) { regions_.push_back(&program.body); }

  [[nodiscard]] const ir::Program& program() const { return program_; }
  [[nodiscard]] ir::Program& program() { return program_; }

  // Nodes
  ir::ValueId emit(ir::Op op, ir::Type type, std::string name, ir::SourceRange range);
  void emit_effect(ir::Op op, ir::SourceRange range);
  void emit_results(ir::Op op, std::vector<ir::ValueId> results, ir::SourceRange range);
  ir::ValueId emit(const ComputeSpec& spec);
  /// The node of the region being written that defines `v`; null: there is none. Valid until the next one is written.
  [[nodiscard]] const ir::Node* definition(ir::ValueId v) const;
  /// Further nodes go to `region` until pop_region.
  void push_region(ir::Region& region) { regions_.push_back(&region); }
  void pop_region() { regions_.pop_back(); }
  [[nodiscard]] std::size_t region_depth() const { return regions_.size(); }

  // Storage
  /// From now on expressions may carry absence.
  void note_sparse() { has_sparse_ = true; }
  [[nodiscard]] bool has_sparse() const { return has_sparse_; }

  // Labels
  std::int32_t new_label(std::string name = {}, ir::SourceRange range = {});
  /// A resolved label over [0, extent).
  std::int32_t new_label(const ir::Extent& extent);
  [[nodiscard]] LabelInfo& label(std::int32_t id) { return labels_.at(static_cast<std::size_t>(id)); }
  [[nodiscard]] const LabelInfo& label(std::int32_t id) const { return labels_.at(static_cast<std::size_t>(id)); }
  [[nodiscard]] ir::Extent length(std::int32_t id) const { return label(id).end - label(id).begin; }

  // Extents
  /// What an integer scalar value is in terms of extents: itself, or the extent it was computed from.
  [[nodiscard]] ir::Extent extent_of_value(ir::ValueId v) const;
  [[nodiscard]] ValueExtent value_extent() const;
  /// The integer expression (no labels) as an extent; emits a scalar node if it is not a polynomial.
  ir::Extent extent_of(const ir::Expr& e, const std::string& name);
  [[nodiscard]] std::string text(const ir::Extent& e) const;
  /// As the type is written: `f64[n, m]`.
  [[nodiscard]] std::string text(const Tensor& t) const;
  [[nodiscard]] std::string text(const ir::Type& t) const;

  // Waiting reductions
  /// A Compute whose labels `free` (the first of its `out`) belong to enclosing index variables. Returns its value,
  /// readable at once; the node is emitted by `flush`.
  ir::ValueId wait(ComputeSpec spec, std::size_t free);
  /// The results of `loop` over the enclosing index variables `labels`: read and emitted as those of a Compute that
  /// waits. Points that the guard leaves out are 0.
  ir::ValueId wait(PointLoop loop, std::vector<std::int32_t> labels, const std::string& name, ir::SourceRange range);
  /// A random number for each value of the enclosing index variables `labels`.
  ir::ValueId wait(ir::Random random, std::vector<std::int32_t> labels, ir::SourceRange range);
  /// When `e` is exactly the last waiting value, read at all of `out`: its Compute over `out` in that order, which then
  /// waits no more.
  std::optional<ComputeSpec> take_waiting(const ir::Expr& e, const std::vector<std::int32_t>& out);
  /// Emits what waits and has all its labels resolved, in order.
  void flush();
  /// Whether the expression reads what still waits after all that is ready has been emitted.
  bool reads_pending(const ir::Expr& e);
  /// Finds the hull of an explicit range that depends on resolved labels. False while it cannot.
  bool resolve(std::int32_t id);
  /// Whether the value has a node already.
  [[nodiscard]] bool waits(ir::ValueId v) const { return free_labels_.contains(v); }
  /// For as long as it lives, nodes go to the region and what waited before is left alone.
  class SeparateRegion {
   public:
    SeparateRegion(GraphBuilder& graph, ir::Region& region);
    ~SeparateRegion();
    SeparateRegion(const SeparateRegion&) = delete;
    SeparateRegion& operator=(const SeparateRegion&) = delete;

   private:
    GraphBuilder& graph_;
    std::vector<Waiting> outer_;
  };

 private:
  /// Without the checks of subscripts (ir/graph/within.h) that the ranges of index variables make needless. Of what is
  /// computed once and at all points, those of sums of index variables and of what is known at start become checks of
  /// sizes in front of it.
  [[nodiscard]] ComputeSpec settled(ComputeSpec spec);
  [[nodiscard]] ir::Expr with_checks_in_front(const ir::Expr& e, const ComputeSpec& spec);
  [[nodiscard]] bool is_inside(const ir::Within& w) const;
  bool check_in_front(const ir::Within& w, const ComputeSpec& spec, const ir::SourceRange& place);
  /// `others`: what further labels stand for.
  ir::Compute compute_of(const ComputeSpec& spec, LabelMap others = {}) const;
  void emit_point_loop(const Waiting& w);
  /// The loop over label `level` and those inside it; `tensor` is what the results so far are in.
  ir::ValueId emit_point_level(const Waiting& w, const LabelMap& numbers,
                               const std::vector<std::pair<ir::ValueId, ir::ValueId>>& bounds, std::size_t level,
                               ir::ValueId tensor);
  ir::ValueId emit_point(const Waiting& w, const LabelMap& numbers, ir::ValueId tensor);
  ir::ValueId emit_scalar(const ir::Expr& e, const std::string& name, const ir::SourceRange& range,
                          const LabelMap& numbers = {});
  [[nodiscard]] ir::Expr finished(const ir::Expr& e, const LabelMap& numbers) const;
  ir::Extent hull(const ir::Expr& bound, bool upper, std::int32_t id);
  ir::Extent computed_hull(const ir::Expr& bound, bool upper, std::int32_t id);
  void remember_extent(const ComputeSpec& spec, ir::ValueId v);

  [[nodiscard]] ir::Type stored(ir::Type type, const ComputeSpec& spec, const ir::Compute& compute) const;

  ir::Program& program_;
  bool has_sparse_ = false;
  std::vector<ir::Region*> regions_;
  std::vector<LabelInfo> labels_;
  std::map<ir::ValueId, ir::Extent> value_extents_;
  std::vector<Waiting> waiting_;
  std::set<ir::ValueId> pending_;  ///< waiting, also during flush()
  bool flushing_ = false;
  std::map<ir::ValueId, std::vector<std::int32_t>> free_labels_;  ///< of values made by wait()
};

}  // namespace tdsl::frontend
