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

/// Why a loop stays sequential, and where.
struct Refusal {
  ir::SourceRange range;
  std::string reason;
};

/// A `for` loop taken apart: its body as a flat list of Computes, so that dependences can be read off.
struct LoopBody {
  /// A value carried around the loop. `argument` is its version at the start of an iteration, `yield` at the end.
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
  std::vector<ir::Node> hoisted;     ///< moved in front of the loop: size checks and what does not change in it
  std::vector<ir::Node> statements;  ///< Computes with one result each, in order
  std::vector<Carried> carried;

  /// Index, carried arguments and everything the statements define.
  [[nodiscard]] std::set<ir::ValueId> defined() const;
  /// The statement that defines `v`, or null.
  [[nodiscard]] const ir::Node* statement_of(ir::ValueId v) const;
};

/// Takes a loop apart: branches become guards and selects, computations that do not change in the loop move out,
/// scalars computed per iteration are substituted into their users. `resolve` gives the polynomial of a rank-0 i64
/// value; `used` tells whether a value is mentioned after the loop. Adds values to `program`.
class LoopBodyBuilder {
 public:
  LoopBodyBuilder(ir::Program& program, const PassContext& context, std::function<ir::Extent(ir::ValueId)> resolve,
                  std::function<bool(ir::ValueId)> used)
      : program_(program), context_(context), resolve_(std::move(resolve)), used_(std::move(used)) {}

  /// `node` holds a For. Nothing, with refusal() set, if the body holds what cannot become algebra.
  [[nodiscard]] std::optional<LoopBody> build(const ir::Node& node);
  [[nodiscard]] const Refusal& refusal() const { return refusal_; }

 private:
  bool refuse(const ir::SourceRange& range, std::string reason);
  bool flatten(const ir::Region& region, const ir::Expr& guard, std::vector<ir::Node>& into);
  bool flatten_node(ir::Node node, const ir::Expr& guard, std::vector<ir::Node>& into);
  /// A loop on scalars becomes a procedure, applied per iteration.
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
