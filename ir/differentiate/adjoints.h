#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph/computes.h"
#include "ir/graph/graph.h"

namespace tdsl::ir {

/// Appends nodes to a list.
class NodeWriter {
 public:
  NodeWriter(Program& program, std::vector<Node>& nodes) : program_(program), nodes_(nodes) {}

  [[nodiscard]] Program& program() { return program_; }
  /// With `result` the node defines that value, else a new one.
  ValueId emit(Compute compute, const Type& type, const std::string& name, const SourceRange& range,
               std::optional<ValueId> result = std::nullopt);
  void emit(Node node) { nodes_.push_back(std::move(node)); }
  [[nodiscard]] std::size_t position() const { return nodes_.size(); }
  /// Puts nodes where `position` was.
  void insert(std::size_t position, std::vector<Node> nodes);
  /// A tensor that is `body` everywhere; `body` may mention the labels of `plain_labels`.
  ValueId filled(const Type& type, const Expr& body, const std::string& name, const SourceRange& range,
                 std::optional<ValueId> result = std::nullopt);

 private:
  Program& program_;
  std::vector<Node>& nodes_;
};

/// The type of the derivative of the loss by a value: dense, and f32 for floats of two bytes.
[[nodiscard]] Type adjoint_type(const Program& program, ValueId v);

/// The derivative of the loss by one value: a tensor of its shape, or one number for all its elements.
struct Adjoint {
  ValueId value;
  Expr uniform;  ///< a constant or a rank-0 read; null if `value` holds the elements

  [[nodiscard]] Expr at(const Type& type, std::vector<Expr> subscripts) const;
};

/// Derivatives of the loss by the values of one region while the region is walked backwards. What later nodes
/// contribute is collected and added up when the node that defines the value is reached.
class Adjoints {
 public:
  explicit Adjoints(NodeWriter& writer) : writer_(writer) {}

  /// A Compute without base. `left` empty: over all elements of `v`; else it adds to the elements it names; if
  /// `combines`, several points may add to one element.
  void add(ValueId v, Compute contribution, bool combines, const SourceRange& range);
  /// A tensor of v's adjoint_type.
  void add(ValueId v, ValueId contribution, const SourceRange& range);
  void add(ValueId v, const Adjoint& contribution, const SourceRange& range);
  [[nodiscard]] bool has(ValueId v) const { return contributions_.contains(v) || totals_.contains(v); }
  /// The sum, once nothing more is to come; nothing if `v` has no contribution.
  std::optional<Adjoint> total(ValueId v);
  /// The sum as a tensor; zeros if there is none.
  ValueId tensor(ValueId v);
  /// The sum so far as a tensor; further contributions add to it.
  ValueId so_far(ValueId v);
  /// All values that have contributions and no total yet.
  [[nodiscard]] std::vector<ValueId> open() const;
  /// Replaces all contributions to `v` by `total`.
  void replace(ValueId v, ValueId total, const SourceRange& range);
  /// The node that makes the total of `v` is to define `result`.
  void define(ValueId v, ValueId result) { results_[v] = result; }

 private:
  struct Contribution {
    Compute compute;
    bool combines = false;
    SourceRange range;
  };
  [[nodiscard]] static bool is_elementwise(const Contribution& c);
  [[nodiscard]] Type type_of(ValueId v) const;
  [[nodiscard]] std::string name_of(ValueId v) const;
  std::optional<Adjoint> sum(ValueId v, std::optional<ValueId> result);
  std::optional<Adjoint> sum_of_full(ValueId v, std::vector<Contribution> full, std::optional<ValueId> result);
  ValueId stored(ValueId v, const Adjoint& a, const SourceRange& range, std::optional<ValueId> result);
  ValueId updated(ValueId v, Contribution update, std::optional<ValueId> base, std::optional<ValueId> result);

  NodeWriter& writer_;
  std::map<ValueId, std::vector<Contribution>> contributions_;
  std::map<ValueId, Adjoint> totals_;
  std::map<ValueId, ValueId> results_;
};

}  // namespace tdsl::ir
