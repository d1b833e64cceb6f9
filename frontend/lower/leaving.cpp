#include "frontend/lower/leaving.h"

#include <algorithm>
#include <memory>

#include "frontend/lower/lowering.h"
#include "frontend/sema/walk.h"
#include "frontend/syntax/ast_parts.h"

namespace tdsl::frontend {

namespace {

bool leaves(const ast::Stmt& s, bool breaks_only);

bool leaves(const ast::Block& b, bool breaks_only) {
  return std::ranges::any_of(b.statements, [&](const ast::StmtPtr& s) { return leaves(*s, breaks_only); });
}

/// True if the statement contains `break` or `continue` outside of inner loops.
bool leaves(const ast::Stmt& s, bool breaks_only) {
  if (const auto* leave = std::get_if<ast::Leave>(&s.node)) return leave->ends_loop || !breaks_only;
  const auto* branch = std::get_if<ast::If>(&s.node);
  if (branch == nullptr) return false;
  return std::ranges::any_of(branch->arms, [&](const ast::IfArm& arm) { return leaves(arm.body, breaks_only); }) ||
         (branch->else_body && leaves(*branch->else_body, breaks_only));
}

/// True if the only `break` or `continue` of the block is its last statement.
bool leaves_at_end(const ast::Block& b) {
  if (b.statements.empty() || !std::holds_alternative<ast::Leave>(b.statements.back()->node)) return false;
  return std::none_of(b.statements.begin(), b.statements.end() - 1,
                      [](const ast::StmtPtr& s) { return leaves(*s, false); });
}

/// Rewrites a loop that `break` or `continue` leaves. `range`: its header, the place of everything that is added.
class Rewriter {
 public:
  Rewriter(Reports& reports, const SourceRange& range) : reports_(reports), range_(range) {
    const std::string place = std::to_string(range.line) + "_" + std::to_string(range.column);
    ended_ = {"_ended_" + place, range};
    passed_ = {"_passed_" + place, range};
  }

  /// The statements in place of the loop.
  std::vector<ast::StmtPtr> loop(const ast::While& w) {
    std::vector<ast::StmtPtr> result;
    const bool ends = leaves(w.body, true);
    if (ends) result.push_back(flag(ended_));
    const ast::Block body = inside(w.body);
    result.push_back(statement(ast::While{ends ? unless_ended(w.condition) : w.condition, body}));
    return result;
  }
  std::vector<ast::StmtPtr> loop(const ast::For& f) {
    ast::Block body = inside(f.body);
    if (!leaves(f.body, true)) return {statement(ast::For{f.ranges, body})};
    std::vector<ast::StmtPtr> result;
    for (std::size_t k = f.ranges.size(); k-- > 0;) body = block(over(f.ranges[k], k, body));
    result.push_back(flag(ended_));
    for (const ast::StmtPtr& s : body.statements) result.push_back(s);
    return result;
  }

 private:
  template <class Node>
  [[nodiscard]] ast::StmtPtr statement(Node node) const {
    ast::StmtNode any = std::move(node);
    const std::uint32_t depth = depth_of(any);
    return std::make_shared<const ast::Stmt>(ast::Stmt{range_, std::move(any), depth});
  }
  template <class Node>
  [[nodiscard]] ast::ExprPtr expression(Node node) const {
    ast::ExprNode any = std::move(node);
    const std::uint32_t depth = depth_of(any);
    return std::make_shared<const ast::Expr>(ast::Expr{range_, std::move(any), 0, depth});
  }
  [[nodiscard]] ast::Block block(std::vector<ast::StmtPtr> statements) const { return {std::move(statements), range_}; }
  [[nodiscard]] ast::ExprPtr name(const ast::Identifier& of) const { return expression(ast::Name{of.name}); }
  [[nodiscard]] ast::ExprPtr integer(std::int64_t value) const {
    return expression(ast::IntegerLiteral{value, std::to_string(value)});
  }
  [[nodiscard]] ast::ExprPtr binary(ast::BinaryOp op, const ast::ExprPtr& a, const ast::ExprPtr& b) const {
    return expression(ast::Binary{op, a, b, range_});
  }
  [[nodiscard]] ast::ExprPtr is_not(const ast::Identifier& of) const {
    return expression(ast::Unary{ast::UnaryOp::kNot, name(of)});
  }
  [[nodiscard]] ast::ExprPtr unless_ended(const ast::ExprPtr& condition) const {
    return binary(ast::BinaryOp::kAnd, is_not(ended_), condition);
  }
  [[nodiscard]] ast::Definition definition(const ast::ExprPtr& value) const {
    ast::Definition result;
    result.op.range = range_;
    result.value = value;
    return result;
  }
  [[nodiscard]] ast::StmtPtr declared(const ast::Identifier& of, bool is_mutable, const ast::ExprPtr& value) const {
    return statement(ast::Let{is_mutable, {of, std::nullopt, range_}, {}, definition(value)});
  }
  [[nodiscard]] ast::StmtPtr assigned(const ast::Identifier& to, const ast::ExprPtr& value) const {
    return statement(ast::Assign{{to, std::nullopt, range_}, definition(value)});
  }
  [[nodiscard]] ast::StmtPtr flag(const ast::Identifier& of) const {
    return declared(of, true, expression(ast::BoolLiteral{false}));
  }

  /// The body, with a flag for the rest of the block where one is needed.
  ast::Block inside(const ast::Block& body) {
    needs_flag_ = false;
    std::vector<ast::StmtPtr> statements = rest_of(body.statements, 0, false);
    if (needs_flag_) statements.insert(statements.begin(), flag(passed_));
    return block(std::move(statements));
  }

  /// The statements from number `first` on; `follows`: others stand behind them, in an outer block.
  std::vector<ast::StmtPtr> rest_of(const std::vector<ast::StmtPtr>& statements, std::size_t first, bool follows) {
    std::vector<ast::StmtPtr> result;
    for (std::size_t k = first; k < statements.size(); ++k) {
      const ast::Stmt& s = *statements[k];
      if (const auto* leave = std::get_if<ast::Leave>(&s.node)) {
        if (k + 1 < statements.size())
          reports_.warn(DiagnosticId::kUnreachable, statements[k + 1]->range,
                        std::string("nothing behind `") + (leave->ends_loop ? "break" : "continue") + "` is reached");
        left(*leave, follows, result);
        return result;
      }
      if (!leaves(s, false)) {
        result.push_back(statements[k]);
        continue;
      }
      branch(std::get<ast::If>(s.node), statements, k + 1, follows, result);
      return result;
    }
    return result;
  }

  void left(const ast::Leave& leave, bool follows, std::vector<ast::StmtPtr>& result) {
    if (leave.ends_loop) result.push_back(assigned(ended_, expression(ast::BoolLiteral{true})));
    if (!follows) return;
    needs_flag_ = true;
    result.push_back(assigned(passed_, expression(ast::BoolLiteral{true})));
  }

  /// An `if` that leaves the loop, and the statements from `next` on behind it.
  void branch(const ast::If& node, const std::vector<ast::StmtPtr>& statements, std::size_t next, bool follows,
              std::vector<ast::StmtPtr>& result) {
    const bool alone = next == statements.size();
    const bool staying_else = !node.else_body || !leaves(*node.else_body, false);
    const bool simple = std::ranges::all_of(node.arms, [](const ast::IfArm& arm) { return leaves_at_end(arm.body); });
    ast::If changed;
    if (alone || (simple && staying_else)) {
      // All arms leave, so that the rest belongs to `else`.
      for (const ast::IfArm& arm : node.arms)
        changed.arms.push_back({arm.condition, block(rest_of(arm.body.statements, 0, follows))});
      std::vector<ast::StmtPtr> otherwise;
      if (node.else_body) otherwise = rest_of(node.else_body->statements, 0, follows);
      if (!alone) {
        for (ast::StmtPtr& s : rest_of(statements, next, follows)) otherwise.push_back(std::move(s));
      }
      if (!otherwise.empty()) changed.else_body = block(std::move(otherwise));
      result.push_back(statement(std::move(changed)));
      return;
    }
    for (const ast::IfArm& arm : node.arms)
      changed.arms.push_back({arm.condition, block(rest_of(arm.body.statements, 0, true))});
    if (node.else_body) changed.else_body = block(rest_of(node.else_body->statements, 0, true));
    result.push_back(statement(std::move(changed)));
    ast::If behind;
    behind.arms.push_back({is_not(passed_), block(rest_of(statements, next, follows))});
    needs_flag_ = true;
    result.push_back(statement(std::move(behind)));
  }

  /// The step of a range whose direction is known.
  [[nodiscard]] std::int64_t step_of_range(const ast::IndexRange& range) const {
    if (!range.step) return 1;
    const auto* minus = std::get_if<ast::Unary>(&range.step->node);
    const bool down = minus != nullptr && minus->op == ast::UnaryOp::kNegate;
    const auto* number = std::get_if<ast::IntegerLiteral>(down ? &minus->operand->node : &range.step->node);
    if (number == nullptr || number->value == 0)
      reports_.unsupported(range.step->range, "`break` in a loop with a computed step is");
    return down ? -number->value : number->value;
  }

  /// The body at every point of a range until the loop ends.
  std::vector<ast::StmtPtr> over(const ast::IndexRange& range, std::size_t k, const ast::Block& body) const {
    const std::int64_t step = step_of_range(range);
    const std::string own = std::to_string(range_.line) + "_" + std::to_string(range_.column) + "_" + std::to_string(k);
    const ast::Identifier place{"_place_" + own, range_};
    const ast::Identifier end{"_end_" + own, range_};
    const auto whole = [&](const ast::ExprPtr& e) { return expression(ast::Cast{Scalar::kI64, e}); };
    std::vector<ast::StmtPtr> at_point;
    bool used = false;
    for_each_expr(body, [&](const ast::Expr& e) {
      const std::string* mentioned = bare_name(e);
      used = used || (mentioned != nullptr && *mentioned == range.name.name);
    });
    if (used) at_point.push_back(declared(range.name, false, name(place)));
    for (const ast::StmtPtr& s : body.statements) at_point.push_back(s);
    at_point.push_back(assigned(place, binary(ast::BinaryOp::kAdd, name(place), integer(step))));
    const ast::ExprPtr more = binary(step > 0 ? ast::BinaryOp::kLt : ast::BinaryOp::kGt, name(place), name(end));
    return {declared(place, true, whole(range.lower)), declared(end, false, whole(range.upper)),
            statement(ast::While{unless_ended(more), block(std::move(at_point))})};
  }

  Reports& reports_;
  SourceRange range_;
  ast::Identifier ended_;   // the flag of `break`
  ast::Identifier passed_;  // the flag of `break` and `continue` within a point
  bool needs_flag_ = false;
};

}  // namespace

bool is_left(const ast::Stmt& s) {
  const auto* f = std::get_if<ast::For>(&s.node);
  const auto* w = std::get_if<ast::While>(&s.node);
  return (f != nullptr && leaves(f->body, false)) || (w != nullptr && leaves(w->body, false));
}

void lower_left_loop(Lowerer& lowerer, const ast::Stmt& s) {
  const auto* w = std::get_if<ast::While>(&s.node);
  const auto* f = std::get_if<ast::For>(&s.node);
  Rewriter rewriter(lowerer.reports, w != nullptr ? w->condition->range : f->ranges.front().range);
  const std::vector<ast::StmtPtr> statements = w != nullptr ? rewriter.loop(*w) : rewriter.loop(*f);
  for (const ast::StmtPtr& rewritten : statements) dispatch(lowerer, *rewritten);
}

}  // namespace tdsl::frontend
