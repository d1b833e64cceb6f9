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

/// A dimension in which an index variable is a bare subscript, and the location of the subscript.
struct BareUse {
  Dim dim;
  ir::SourceRange place;
  bool is_left = false;  ///< on the left side of a statement whose shape is known
};

/// The range of an index variable during its inference. Numbers are unique in the compilation.
struct LabelInfo {
  std::string name;  ///< empty: named i, j, k, … on use
  ir::SourceRange range;
  bool resolved = false;
  ir::Extent begin;
  ir::Extent end;
  bool is_explicit = false;  ///< has a range in the source
  ir::Expr lower;            ///< of an explicit range that depends on other index variables, else null
  ir::Expr upper;
  bool from_zero = false;                 ///< the explicit range starts at 0
  std::optional<ir::Extent> written_end;  ///< of an explicit range: one past the largest value
  bool computed_step = false;             ///< of an explicit range: known at run time only
  std::vector<BareUse> bare_uses;
};

/// True if the label, as a bare subscript, is always in bounds in a dimension of that extent. A label without an
/// explicit range runs over the dimension itself.
[[nodiscard]] bool stays_inside(const LabelInfo& label, const ir::Extent& extent);

/// A Compute over labels numbered in the compilation; `GraphBuilder` renumbers them.
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
  bool storage_given = false;  ///< given by a type or a variable; otherwise inferred when the node is emitted
  std::string name;
  ir::SourceRange range;
};

/// A function body that runs statement by statement at every point of some index variables.
///
///     let z[i, j] = newton(a[i], b[j]);
///
///     for i in 0..n { for j in 0..m { let p = a[i]; let q = b[j]; …; T[i, j] = the result; } }   // and z reads T
struct PointLoop {
  std::map<std::int32_t, ir::ValueId> positions;                ///< the index variables as values of the body
  std::vector<std::pair<ir::ValueId, ComputeSpec>> parameters;  ///< values of the body, and their definitions at a
                                                                ///< point
  ir::Expr guard;                                               ///< points where it is false are skipped; null: none
  ir::Region body;
  ir::ValueId result;  ///< a scalar of `body`
};

/// Builds the index graph: regions, nodes, labels, and reductions deferred until the ranges of the enclosing index
/// variables are known.
class GraphBuilder {
 private:
  struct Waiting {
    ComputeSpec spec;  ///< of a loop: only `out`, `type`, `name` and `range`
    ir::ValueId value;
    std::shared_ptr<PointLoop> loop;        ///< null for a Compute
    std::optional<ir::Random> random = {};  ///< replaces a Compute
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
  /// The node of the current region that defines `v`, or null. Valid until the next node is emitted.
  [[nodiscard]] const ir::Node* definition(ir::ValueId v) const;
  /// Makes the derivative of `v`, a Compute of the current region, 0.
  void hold_constant(ir::ValueId v);
  /// The node that finds the extent `v`, in an open region; else null. Valid until the next node is emitted.
  [[nodiscard]] ir::Found* found(ir::ValueId v);
  /// Emits subsequent nodes into `region` until pop_region.
  void push_region(ir::Region& region) { regions_.push_back(&region); }
  void pop_region() { regions_.pop_back(); }
  [[nodiscard]] std::size_t region_depth() const { return regions_.size(); }

  // Storage
  /// From now on, expressions may involve absent elements.
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
  /// An integer scalar value as an extent: the extent it was computed from, or itself.
  [[nodiscard]] ir::Extent extent_of_value(ir::ValueId v) const;
  [[nodiscard]] ValueExtent value_extent() const;
  /// A label-free integer expression as an extent; emits a scalar node if it is not a polynomial.
  ir::Extent extent_of(const ir::Expr& e, const std::string& name);
  [[nodiscard]] std::string text(const ir::Extent& e) const;
  /// The type in source syntax: `f64[n, m]`.
  [[nodiscard]] std::string text(const Tensor& t) const;
  [[nodiscard]] std::string text(const ir::Type& t) const;

  // Deferred reductions
  /// Defers a Compute whose labels `free` (the first of its `out`) belong to enclosing index variables. Returns its
  /// value, which may be read at once; `flush` emits the node.
  ir::ValueId wait(ComputeSpec spec, std::size_t free);
  /// Defers `loop` over the enclosing index variables `labels`; its results are read and emitted like those of a
  /// deferred Compute. Points excluded by the guard are 0.
  ir::ValueId wait(PointLoop loop, std::vector<std::int32_t> labels, const std::string& name, ir::SourceRange range);
  /// Defers random numbers, one for each value of the enclosing index variables `labels`.
  ir::ValueId wait(ir::Random random, std::vector<std::int32_t> labels, ir::SourceRange range);
  /// If `e` is exactly the last deferred value, read at all of `out`, removes it and returns its Compute over `out` in
  /// that order.
  std::optional<ComputeSpec> take_waiting(const ir::Expr& e, const std::vector<std::int32_t>& out);
  /// Emits the deferred nodes whose labels are all resolved, in order.
  void flush();
  /// True if the expression reads a value that is still deferred after a flush.
  bool reads_pending(const ir::Expr& e);
  /// Computes the hull of an explicit range that depends on resolved labels. False if a label is not resolved yet.
  bool resolve(std::int32_t id);
  /// True for a value made by wait(), which may have no node yet.
  [[nodiscard]] bool waits(ir::ValueId v) const { return free_labels_.contains(v); }
  /// During its lifetime, nodes go to the region, and values deferred before are not emitted.
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
  /// Drops subscript checks (ir/graph/within.h) that the ranges of index variables prove. For nodes that run once and
  /// are evaluated at all points, moves checks of sums of index variables and of sizes known at start in front of the
  /// node, as size checks.
  [[nodiscard]] ComputeSpec settled(ComputeSpec spec);
  [[nodiscard]] ir::Expr with_checks_in_front(const ir::Expr& e, const ComputeSpec& spec);
  [[nodiscard]] bool is_inside(const ir::Within& w) const;
  bool check_in_front(const ir::Within& w, const ComputeSpec& spec, const ir::SourceRange& place);
  /// `others`: definitions of further labels.
  ir::Compute compute_of(const ComputeSpec& spec, LabelMap others = {}) const;
  void emit_point_loop(const Waiting& w);
  /// The loop over label `level` and the nested ones; `tensor` holds the results so far.
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
  std::set<ir::ValueId> pending_;  ///< deferred, also during flush()
  bool flushing_ = false;
  std::map<ir::ValueId, std::vector<std::int32_t>> free_labels_;  ///< of values made by wait()
};

}  // namespace tdsl::frontend
