#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "passes/pass_context.h"
#include "passes/rewriting.h"

namespace tdsl::passes {

/// The reason why a loop stays sequential, and its position.
struct Refusal {
  ir::SourceRange range;
  std::string reason;
};

/// A `for` loop decomposed for dependence analysis: its body as a flat list of Computes.
struct LoopBody {
  /// A loop-carried value. `argument` is its version at the start of an iteration, `yield` the one at the end.
  struct Carried {
    ir::ValueId argument;
    ir::ValueId init;
    ir::ValueId yield;
    ir::ValueId result;
    bool result_used = true;
  };

  ir::SourceRange range;
  ir::ValueId index;
  ir::Extent begin;
  ir::Extent end;
  std::int64_t step = 1;
  std::vector<ir::Node> hoisted;     ///< moved in front of the loop: size checks and loop invariants
  std::vector<ir::Node> statements;  ///< Computes with one result each, in order
  std::vector<Carried> carried;

  /// Index, carried arguments and everything the statements define.
  [[nodiscard]] std::set<ir::ValueId> defined() const;
  /// The statement that defines `v`, or null.
  [[nodiscard]] const ir::Node* statement_of(ir::ValueId v) const;
};

/// Decomposes a loop: branches become guards and selects, loop-invariant computations are hoisted, per-iteration
/// scalars are substituted into their users. `resolve` returns the polynomial of a rank-0 i64 value; `used` is true for
/// values that are used after the loop. Adds values to `program`.
class LoopBodyBuilder {
 public:
  LoopBodyBuilder(ir::Program& program, const PassContext& context, std::function<ir::Extent(ir::ValueId)> resolve,
                  std::function<bool(ir::ValueId)> used)
      : program_(program), context_(context), resolve_(std::move(resolve)), used_(std::move(used)) {}

  /// `node` holds a For. Returns nullopt and sets refusal() if the body cannot become algebra.
  [[nodiscard]] std::optional<LoopBody> build(const ir::Node& node);
  [[nodiscard]] const Refusal& refusal() const { return refusal_; }

 private:
  bool refuse(const ir::SourceRange& range, std::string reason);
  bool flatten(const ir::Region& region, const ir::Expr& guard, std::vector<ir::Node>& into);
  bool flatten_node(ir::Node node, const ir::Expr& guard, std::vector<ir::Node>& into);
  /// Turns a loop on scalars into a procedure applied per iteration.
  bool flatten_loop(const ir::Node& node, const ir::Expr& guard, std::vector<ir::Node>& into);
  bool flatten_branch(const ir::Node& node, const ir::If& branch, const ir::Expr& guard, std::vector<ir::Node>& into);
  bool join(const ir::Node& node, std::size_t k, const ir::If& branch, std::vector<ir::Node>& then_nodes,
            std::vector<ir::Node>& else_nodes, std::vector<ir::Node>& selects);
  void hoist(LoopBody& body);
  bool inline_scalars(LoopBody& body);

  ir::Program& program_;
  const PassContext& context_;
  std::function<ir::Extent(ir::ValueId)> resolve_;
  std::function<bool(ir::ValueId)> used_;
  std::vector<ir::Node> checks_;
  std::set<ir::ValueId> mentioned_;  ///< in the loop's body
  std::set<ir::ValueId> in_branch_;
  ValueMap joined_;
  Refusal refusal_;
};

}  // namespace tdsl::passes
