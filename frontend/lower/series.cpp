#include "frontend/lower/series.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "frontend/lower/lowering.h"
#include "frontend/syntax/ast_parts.h"
#include "ir/graph/check.h"

namespace tdsl::frontend {

namespace {

constexpr std::size_t kMostRecordDimensions = 7;

/// An output in a block of the program, and its hidden variables.
struct SeriesStatement {
  ast::Identifier name;
  SourceRange range;
  ast::ExprPtr every_written;  ///< or null
  ast::Identifier count;       ///< of executions so far
  ast::Identifier every;
};

/// Numbers the records of the outputs in the blocks of a statement.
class RecordNumbers {
 public:
  /// The statement with a condition and a count at each output.
  ast::StmtPtr statement(const ast::Stmt& s) {
    if (const auto* loop = std::get_if<ast::For>(&s.node)) {
      ast::Block body = block(loop->body);
      return made(ast::For{loop->ranges, std::move(body)}, s.range);
    }
    if (const auto* loop = std::get_if<ast::While>(&s.node)) {
      ast::Block body = block(loop->body);
      return made(ast::While{loop->condition, std::move(body)}, s.range);
    }
    ast::If branch = std::get<ast::If>(s.node);
    for (ast::IfArm& arm : branch.arms) arm.body = block(arm.body);
    if (branch.else_body) branch.else_body = block(*branch.else_body);
    return made(std::move(branch), s.range);
  }
  [[nodiscard]] const std::vector<SeriesStatement>& found() const { return found_; }

 private:
  template <class Node>
  static ast::StmtPtr made(Node node, const SourceRange& range) {
    ast::StmtNode any = std::move(node);
    const std::uint32_t depth = depth_of(any);
    return std::make_shared<const ast::Stmt>(ast::Stmt{range, std::move(any), depth});
  }
  template <class Node>
  [[nodiscard]] ast::ExprPtr expression(Node node) const {
    ast::ExprNode any = std::move(node);
    const std::uint32_t depth = depth_of(any);
    return std::make_shared<const ast::Expr>(ast::Expr{range_, std::move(any), 0, depth});
  }
  [[nodiscard]] ast::ExprPtr name(const ast::Identifier& of) const { return expression(ast::Name{of.name}); }
  [[nodiscard]] ast::ExprPtr integer(std::int64_t value) const {
    return expression(ast::IntegerLiteral{value, std::to_string(value)});
  }
  [[nodiscard]] ast::ExprPtr binary(ast::BinaryOp op, const ast::ExprPtr& a, const ast::ExprPtr& b) const {
    return expression(ast::Binary{op, a, b, range_});
  }

  ast::Block block(const ast::Block& of) {
    ast::Block result{{}, of.range};
    for (const ast::StmtPtr& s : of.statements) {
      if (const auto* output = std::get_if<ast::Output>(&s->node)) {
        for (ast::StmtPtr& numbered : record(*output, s->range)) result.statements.push_back(std::move(numbered));
      } else {
        result.statements.push_back(holds_series(*s) ? statement(*s) : s);
      }
    }
    return result;
  }

  std::vector<ast::StmtPtr> record(const ast::Output& output, const SourceRange& range) {
    range_ = range;
    const ast::Identifier& series = output.target.name;
    const std::string place = series.name + "_" + std::to_string(range.line) + "_" + std::to_string(range.column);
    const SeriesStatement entry{series, range, output.every, {"_count_" + place, range}, {"_every_" + place, range}};
    found_.push_back(entry);
    ast::Output appended = output;
    appended.record = name(entry.count);
    ast::Definition more;
    more.op.range = range;
    more.value = binary(ast::BinaryOp::kAdd, name(entry.count), integer(1));
    const ast::StmtPtr counted = made(ast::Assign{{entry.count, std::nullopt, range}, more}, range);
    if (!output.every) return {made(std::move(appended), range), counted};
    appended.record = binary(ast::BinaryOp::kDiv, name(entry.count), name(entry.every));
    const ast::ExprPtr due =
        binary(ast::BinaryOp::kEq, binary(ast::BinaryOp::kMod, name(entry.count), name(entry.every)), integer(0));
    ast::If branch;
    branch.arms.push_back({due, {{made(std::move(appended), range)}, range}});
    return {made(std::move(branch), range), counted};
  }

  std::vector<SeriesStatement> found_;
  SourceRange range_;
};

/// Declares the hidden variables in front of the outermost statement.
void declare_counts(Lowerer& lowerer, const SeriesStatement& series) {
  const auto value = [&](const ir::Expr& e, const std::string& name) {
    return lowerer.values.materialise(scalar_tensor(e), name, series.range);
  };
  declare_value(lowerer, series.count, Symbol::Kind::kVar,
                lowerer.versions.own_value(series.count, value(ir::constant_i64(0), "count")));
  if (!series.every_written) return;
  const SourceRange& range = series.every_written->range;
  const ir::Expr every = integer_scalar(lowerer, *series.every_written, "`every`");
  if (known_integer(lowerer.graph, every).value_or(1) < 1)
    lowerer.reports.fail(DiagnosticId::kBadArgument, range, "`every` takes a number above 0");
  const ir::ValueId number = value(every, "every");
  if (!ir::known_at_start(lowerer.graph.program(), number)) {
    lowerer.reports.fail(DiagnosticId::kNotConstant, range,
                         "`every` takes a constant or a scalar computed from params and dimensions; this depends on "
                         "data");
  }
  lowerer.shapes.check({ir::Check::Relation::kAtMost,
                        1,
                        lowerer.graph.extent_of_value(number),
                        "`every` takes a number above 0, but is {right}",
                        {}},
                       range);
  declare_value(lowerer, series.every, Symbol::Kind::kLet, number)->used = true;
}

/// Where a series of that type begins: the first position behind leading declarations and earlier series at which all
/// sizes are defined. None if one of them is not defined by the first `count` nodes of the program.
std::optional<std::size_t> beginning(const ir::Program& program, const ir::Type& type, std::size_t count) {
  std::set<ir::ValueId> sizes;
  for (const ir::Extent& extent : type.shape) {
    for (const ir::ValueId v : extent.values()) sizes.insert(v);
  }
  const auto front = std::span(program.body.nodes).first(count);
  const auto declares = [](const ir::Node& n) {
    return std::holds_alternative<ir::Dimension>(n.op) || std::holds_alternative<ir::Param>(n.op) ||
           std::holds_alternative<ir::Input>(n.op);
  };
  auto place = static_cast<std::size_t>(std::ranges::find_if_not(front, declares) - front.begin());
  for (std::size_t k = 0; k < front.size(); ++k) {
    const auto* output = std::get_if<ir::Output>(&front[k].op);
    bool behind = output != nullptr && output->begins;
    for (const ir::ValueId v : front[k].results) behind = sizes.erase(v) > 0 || behind;
    if (behind) place = std::max(place, k + 1);
  }
  return sizes.empty() ? std::optional(place) : std::nullopt;
}

/// Begins the series with no record, at the start of the program. Its outermost statement stands behind `count` nodes.
void begin_series(Lowerer& lowerer, const SeriesStatement& series, const ir::Type& record, std::size_t count) {
  std::vector<ir::Node>& nodes = lowerer.graph.program().body.nodes;
  const std::optional<std::size_t> place = beginning(lowerer.graph.program(), record, count);
  if (!place) {
    lowerer.reports.unsupported(series.range, "a series whose records have a size that is computed in the loop, `" +
                                                  lowerer.graph.text(record) + "`, is");
  }
  std::vector<Dim> shape{{ir::Extent(0), "the number of records", series.range}};
  for (const ir::Extent& extent : record.shape) shape.push_back({extent, "a dimension of the records", series.range});
  const ir::Literal zero = record.scalar == Scalar::kBool ? ir::Literal(false)
                           : rt::is_float(record.scalar)  ? ir::Literal(0.0)
                                                          : ir::Literal(std::int64_t{0});
  const std::size_t first = nodes.size();
  const ir::ValueId none = lowerer.values.materialise(
      lowerer.algebra.filled(ir::constant(record.scalar, zero, series.range), Weak::kNo, std::move(shape)),
      series.name.name, series.range);
  lowerer.graph.emit_effect(ir::Output{series.name.name, none, {}, true}, series.range);
  const auto at = [&](std::size_t k) { return nodes.begin() + static_cast<std::ptrdiff_t>(k); };
  std::rotate(at(*place), at(first), nodes.end());
}

}  // namespace

const ast::Stmt* first_output(const ast::Block& block) {
  const ast::Stmt* found = nullptr;
  const auto visit = [&](const auto& part) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(part)>, ast::Block>) {
      if (found == nullptr) found = first_output(part);
    }
  };
  for (const ast::StmtPtr& s : block.statements) {
    if (std::holds_alternative<ast::Output>(s->node)) return s.get();
    std::visit(SyntaxParts(visit, false), s->node);
    if (found != nullptr) return found;
  }
  return nullptr;
}

bool holds_series(const ast::Stmt& s) {
  const auto holds = [](const ast::Block& block) {
    const ast::Stmt* const found = first_output(block);
    return found != nullptr && std::get<ast::Output>(found->node).record == nullptr;
  };
  if (const auto* loop = std::get_if<ast::For>(&s.node)) return holds(loop->body);
  if (const auto* loop = std::get_if<ast::While>(&s.node)) return holds(loop->body);
  const auto* branch = std::get_if<ast::If>(&s.node);
  if (branch == nullptr) return false;
  return std::ranges::any_of(branch->arms, [&](const ast::IfArm& arm) { return holds(arm.body); }) ||
         (branch->else_body && holds(*branch->else_body));
}

void lower_series(Lowerer& lowerer, const ast::Stmt& s) {
  RecordNumbers numbers;
  const ast::StmtPtr numbered = numbers.statement(s);
  for (const SeriesStatement& series : numbers.found()) declare_counts(lowerer, series);
  std::size_t count = lowerer.graph.program().body.nodes.size();
  dispatch(lowerer, *numbered);
  for (const SeriesStatement& series : numbers.found()) {
    const auto record = lowerer.declared.records.find(series.name.name);
    if (record == lowerer.declared.records.end()) continue;  // reported
    const std::size_t before = lowerer.graph.program().body.nodes.size();
    begin_series(lowerer, series, ir::Type(lowerer.graph.program().type(record->second)), count);
    count += lowerer.graph.program().body.nodes.size() - before;
  }
}

void lower_record(Lowerer& lowerer, const ast::Output& o, ir::ValueId value, const SourceRange& range) {
  const std::string& name = o.target.name.name;
  const ir::Type type = lowerer.graph.program().type(value);
  if (type.rank() > kMostRecordDimensions) {
    lowerer.reports.fail(DiagnosticId::kRankMismatch, o.target.name.range,
                         "a record has at most 7 dimensions, and this one has " + std::to_string(type.rank()));
  }
  const ir::ValueId record = lowerer.values.materialise(lower(lowerer, *o.record), "record", range);
  lowerer.graph.emit_effect(ir::Output{name, value, record, false}, range);
  lowerer.declared.records.emplace(name, value);
}

}  // namespace tdsl::frontend
