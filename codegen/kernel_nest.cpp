#include "codegen/kernel_nest.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "codegen/blocking.h"
#include "codegen/describe.h"
#include "codegen/guard_bounds.h"
#include "codegen/loop_order.h"
#include "codegen/nest/build.h"
#include "codegen/nest/facts.h"
#include "ir/check.h"

namespace tdsl::codegen {

namespace {

using ir::Monoid;
using nest::Body;
using nest::Named;
using nest::Place;
using nest::TaskRange;
using nest::with_parts;
using Role = nest::Variable::Role;

nest::Statement statement(decltype(nest::Statement::op) op) { return {std::move(op)}; }

void append(Body& to, Body from) { std::ranges::move(from, std::back_inserter(to)); }

class KernelNestBuilder {
 public:
  explicit KernelNestBuilder(const KernelNestRequest& request)
      : request_(request), program_(request.program), op_(*request.step.op), kernel_(*request.step.kernel), compute_(kernel_.compute) {
    result_.nest.name = request.name;
    result_.nest.place = request.place;
    add_captures();
    add_indices();
    add_operands();
    add_result();
  }

  KernelNest run() {
    if (const std::optional<Blocking> blocks = blocking(op_, kernel_)) {
      result_.nest.body = blocked(*blocks);
    } else {
      order_ = loop_order(op_, kernel_);
      result_.nest.body = order_.into_scalar ? scalar_reduction() : loops(order_.labels, 0, true, [&] { return point(); });
    }
    result_.nest.fresh = first_values();
    // Without output labels no loop is empty where the tile is not written.
    result_.nest.only_hit = op_.writes && compute_.out.empty();
    return std::move(result_);
  }

 private:
  // --- Variables

  /// Host values in the order of their numbers, which decides how sizes are written.
  void add_captures() {
    std::set<ValueId> values;
    // Sizes of tensors may mention integers that are no host values where these tensors are made.
    const auto add_all = [&](const Extent& e) { std::ranges::for_each(e.values(), [&](ValueId v) { values.insert(v); }); };
    for_each_use(program_, {{}, request_.step}, [&](ValueId v) {
      if (program_.is_host(v)) values.insert(v);
    });
    for (const AccessTemplate& read : op_.reads) std::ranges::for_each(program_.type(read.tensor).shape, add_all);
    std::ranges::for_each(program_.type(request_.step.target).shape, add_all);
    for (const LabelTemplate& l : op_.labels) add_all(l.begin), add_all(l.end);
    for (const auto& [node, extents] : kernel_.checked) std::ranges::for_each(extents, [&](const std::optional<Extent>& e) { add_all(e.value_or(Extent())); });
    for (const std::optional<Extent>& e : kernel_.scattered) add_all(e.value_or(Extent()));
    for (const ValueId v : values) {
      nest::Variable capture{Role::kCapture, program_.is_host(v) ? request_.value_name(v) : name_of(program_, v), {program_.type(v).scalar, {}, {}}};
      capture.size = program_.type(v).scalar == ir::Scalar::kI64 && is_size(v);
      if (const auto turn = kernel_.turns.find(v); turn != kernel_.turns.end() && turn->second) {
        capture.turn = *turn->second > 0 ? nest::Variable::Turn::kFew : nest::Variable::Turn::kAllButFew;
      }
      captures_[v] = added(std::move(capture));
      result_.captured.push_back(v);
    }
  }
  /// Where a range ends, a dimension, or what turns within one.
  [[nodiscard]] bool is_size(ValueId v) const {
    const auto is_dimension = [&](ValueId tensor) { return std::ranges::find(program_.type(tensor).shape, Extent::of(v)) != program_.type(tensor).shape.end(); };
    const auto ends = [&](const LabelTemplate& l) { return l.begin == Extent::of(v) || l.end == Extent::of(v); };
    return kernel_.turns.contains(v) || is_dimension(request_.step.target) || std::ranges::any_of(op_.labels, ends) ||
           std::ranges::any_of(op_.reads, [&](const AccessTemplate& read) { return is_dimension(read.tensor); });
  }

  void add_indices() {
    for (const LabelTemplate& l : op_.labels) {
      labels_.push_back(l.name);
      result_.nest.indices.push_back({l.name, true, of_nest(l.begin), of_nest(l.end)});
    }
    // Subscripts of scatters are computed.
    for (std::size_t d = 0; d < kernel_.scattered.size(); ++d) {
      if (!is_scattered(d)) continue;
      targets_[d] = static_cast<int>(result_.nest.indices.size());
      result_.nest.indices.push_back({fmt::format("at{}", d), false, {}, {}});
    }
  }

  void add_operands() {
    for (std::size_t k = 0; k < op_.reads.size(); ++k) operands_[static_cast<int>(k)] = added(operand_variable(static_cast<int>(k)));
  }
  [[nodiscard]] nest::Variable operand_variable(int number) const {
    const ValueId tensor = op_.reads[static_cast<std::size_t>(number)].tensor;
    const ir::Type& type = program_.type(tensor);
    return {Role::kOperand, name_of(program_, tensor), {type.scalar, of_nest(type.shape), type.sparse}, number};
  }

  void add_result() {
    nest::Variable result{Role::kResult, name_of(program_, request_.step.target), {kernel_.type, of_nest(program_.type(request_.step.target).shape), {}}};
    result.continued = op_.base.has_value();
    if (!op_.writes) {
      for (const ir::Label& l : compute_.out) result.origin.push_back(of_nest(l.begin));
    }
    target_ = added(std::move(result));
  }

  ValueId added(nest::Variable variable) { return nest::added(result_.nest, std::move(variable)); }
  ValueId local(std::string name, ir::Scalar type) { return nest::added_local(result_.nest, std::move(name), type); }
  Expr local_read(ValueId v) const { return nest::scalar_read(result_.nest, v); }

  // --- Expressions of the program as those of the nest

  [[nodiscard]] Extent of_nest(const Extent& e) const {
    return e.substitute([this](ValueId v) -> std::optional<Extent> { return Extent::of(captures_.at(v)); });
  }
  [[nodiscard]] std::vector<Extent> of_nest(std::vector<Extent> shape) const {
    for (Extent& e : shape) e = of_nest(e);
    return shape;
  }

  Expr of_nest(const Expr& e) {
    return with_parts(e, [this](const Expr& part) {
      const auto* r = std::get_if<ir::Read>(&part->op);
      return r == nullptr ? Expr() : read(part, *r);
    }, true);
  }

  Expr read(const Expr& e, const ir::Read& r) {
    if (program_.is_host(r.tensor)) return ir::read(e->type, captures_.at(r.tensor), {}, e->range);
    const auto gather = kernel_.gathers.find(e.id());
    std::vector<Expr> subscripts;
    for (std::size_t d = 0; d < r.subscripts.size(); ++d) {
      const bool found = gather != kernel_.gathers.end() && gather->second[d] >= 0;
      subscripts.push_back(found ? ir::index_ref(gather->second[d]) : of_nest(r.subscripts[d]));
    }
    return ir::read(e->type, operand(e, r), std::move(subscripts), e->range);
  }

  /// The variable that a read means: of every operand one, and one for every read whose subscripts are checked.
  ValueId operand(const Expr& e, const ir::Read& r) {
    const int number = kernel_.operand.at(e.id());
    const auto checked = kernel_.checked.find(e.id());
    if (checked == kernel_.checked.end()) return operands_.at(number);
    ValueId& known = checked_[e.id()];
    if (known.valid()) return known;
    nest::Variable variable = operand_variable(number);
    for (std::size_t d = 0; d < checked->second.size(); ++d) {
      if (checked->second[d]) variable.bounds.push_back({static_cast<int>(d), of_nest(*checked->second[d]), subscript_text(r.subscripts[d], r.tensor), e->range});
    }
    return known = added(std::move(variable));
  }

  /// Of a subscript, for messages.
  [[nodiscard]] std::string subscript_text(const Expr& e, ValueId tensor) const {
    return describe(program_, e, labels_) + "' of '" + name_of(program_, tensor);
  }

  Named named(Expr value) {
    return nest::named(result_.nest, std::move(value), [this](const ir::Select& s) { return takes_both(s); });
  }
  [[nodiscard]] bool takes_both(const ir::Select& s) const {
    return kernel_.checked.empty() && kernel_.gathers.empty() && nest::takes_both(result_.nest, {}, s);
  }

  /// The element of the result at the indices.
  Place element() {
    Place place{target_, {}};
    if (!op_.writes) {
      for (std::size_t d = 0; d < compute_.out.size(); ++d) place.subscripts.push_back(ir::index_ref(static_cast<std::int32_t>(d)));
      return place;
    }
    for (std::size_t d = 0; d < compute_.left.size(); ++d) place.subscripts.push_back(is_scattered(d) ? ir::index_ref(targets_.at(d)) : of_nest(compute_.left[d]));
    return place;
  }
  [[nodiscard]] bool is_scattered(std::size_t d) const { return d < kernel_.scattered.size() && kernel_.scattered[d]; }
  [[nodiscard]] Expr guard() {
    const Expr rest = without_parts(compute_.guard, observed_);
    return rest ? of_nest(rest) : Expr();
  }
  [[nodiscard]] Expr identity() const { return ir::identity_of(*compute_.monoid, kernel_.type); }
  [[nodiscard]] Expr fill() {
    if (compute_.fill) return of_nest(compute_.fill);
    if (kernel_.type == ir::Scalar::kBool) return ir::constant(kernel_.type, false);
    return ir::is_float(kernel_.type) ? ir::constant(kernel_.type, 0.0) : ir::constant(kernel_.type, std::int64_t{0});
  }

  // --- Loops

  [[nodiscard]] LabelTemplate::Kind kind(int label) const { return op_.labels[static_cast<std::size_t>(label)].kind; }

  /// Loops over `labels` from number `depth` on around what `body` gives; with `mark` the innermost may run as vectors.
  template <class Inner>
  Body loops(const std::vector<int>& labels, std::size_t depth, bool mark, const Inner& body) {
    if (depth == labels.size()) return body();
    const int label = labels[depth];
    Body result;
    const TaskRange range = narrowed(label, result);
    const bool bounded = !result.empty();
    open_.insert(label);
    Body inner = loops(labels, depth + 1, mark, body);
    open_.erase(label);
    const bool simd = mark && depth + 1 == labels.size() && order_.in_order.contains(label) && nest::not_simd(result_.nest, label, inner).empty();
    result.push_back(statement(nest::For{label, range, simd ? nest::Order::kSimd : nest::Order::kSerial, std::move(inner)}));
    return bounded ? with_points(std::move(result)) : result;
  }

  /// A task over no points may have no operands, not even for bounds.
  Body with_points(Body body) { return where_points(std::move(body), [this](int l) { return kind(l) == LabelTemplate::Kind::kReduce || kind(l) == LabelTemplate::Kind::kGather; }); }
  /// The last parts of a reduction may have no panels; the task has no operands then, not even for its guard.
  Body with_panels(Body body) { return where_points(std::move(body), [this](int l) { return kind(l) == LabelTemplate::Kind::kGather; }); }
  template <class Condition>
  Body where_points(Body body, const Condition& condition) {
    nest::HasPoints points;
    for (int l = 0; l < static_cast<int>(op_.labels.size()); ++l) {
      if (condition(l)) points.indices.push_back(l);
    }
    if (points.indices.empty()) return body;
    return {statement(nest::If{std::move(points), std::move(body)})};
  }

  /// What the loop over a label runs over: the task's range, and where the guard bounds a reduce label by what is fixed around the loop, a part of
  /// it. `before`: computes such bounds.
  TaskRange narrowed(int label, Body& before) {
    TaskRange range;
    if (!compute_.monoid || !compute_.guard || kind(label) != LabelTemplate::Kind::kReduce) return range;
    for (const GuardBound& bound : guard_bounds(kernel_, label, open_, observed_)) {
      const ValueId side = local(labels_[static_cast<std::size_t>(label)] + (bound.from_below ? "_begin" : "_end"), ir::Scalar::kI64);
      before.push_back(statement(nest::Narrow{side, label, range, bound.from_below, of_nest(bound.value), bound.past, bound.safe}));
      (bound.from_below ? range.begin : range.end) = side;
    }
    return range;
  }

  // --- The statement at one point

  Body point() {
    if (!kernel_.scattered.empty()) return with_panels(guarded(located([&] { return scatter(); })));
    if (!kernel_.gathers.empty()) return with_panels(guarded(located([&] { return accumulate(element()); })));
    if (compute_.monoid || compute_.combine) return guarded(accumulate(element()));
    const Expr body = of_nest(compute_.bodies.front());
    if (compute_.guard && !op_.writes && !op_.base) return {statement(nest::Store{element(), ir::select(of_nest(compute_.guard), body, fill())})};
    auto [lets, value] = named(body);
    Body result = statements_of(std::move(lets));
    result.push_back(statement(nest::Store{element(), std::move(value)}));
    return guarded(std::move(result));
  }

  static Body statements_of(std::vector<nest::Let> lets) {
    Body result;
    for (nest::Let& let : lets) result.push_back(statement(std::move(let)));
    return result;
  }

  Body accumulate(Place to) {
    auto [lets, value] = named(of_nest(compute_.bodies.front()));
    Body result = statements_of(std::move(lets));
    result.push_back(statement(nest::Update{std::move(to), combining(), std::move(value)}));
    return result;
  }
  [[nodiscard]] const Monoid& combining() const { return compute_.monoid ? *compute_.monoid : *compute_.combine; }

  Body guarded(Body body) {
    const Expr rest = guard();
    if (!rest) return body;
    return {statement(nest::If{rest, std::move(body)})};
  }

  /// Where the point goes is computed and checked; the element is changed if it lies in this task's tile.
  Body scatter() {
    Body result;
    nest::IsMine mine;
    for (const auto& [d, index] : targets_) {
      const Expr& left = compute_.left[d];
      result.push_back(statement(nest::Check{index, of_nest(left), {static_cast<int>(d), of_nest(*kernel_.scattered[d]), subscript_text(left, request_.step.target), left->range}}));
      mine.members.push_back({index, static_cast<int>(d)});
    }
    result.push_back(statement(nest::If{std::move(mine), accumulate(element())}));
    return result;
  }

  /// Where the point's operand lies is computed and checked; the point counts if that is in this task's interval.
  template <class Inner>
  Body located(const Inner& body) {
    if (kernel_.gathers.empty()) return body();
    Body result;
    nest::IsMine mine;
    for (const auto& [node, labels] : kernel_.gathers) {
      const auto& r = std::get<ir::Read>(node->op);
      for (std::size_t d = 0; d < labels.size(); ++d) {
        if (labels[d] < 0) continue;
        const Extent& extent = op_.labels[static_cast<std::size_t>(labels[d])].end;
        result.push_back(statement(nest::Check{labels[d], of_nest(r.subscripts[d]), {static_cast<int>(d), of_nest(extent), subscript_text(r.subscripts[d], r.tensor), node->range}}));
        mine.members.push_back({labels[d]});
      }
    }
    result.push_back(statement(nest::If{std::move(mine), body()}));
    return result;
  }

  // --- Reductions

  /// Reduce labels innermost: one scalar per output element.
  Body scalar_reduction() {
    std::vector<int> out_labels;
    std::vector<int> reduce_labels;
    for (const int l : order_.labels) (kind(l) == LabelTemplate::Kind::kReduce ? reduce_labels : out_labels).push_back(l);
    return loops(out_labels, 0, false, [&] {
      const ValueId total = local("total", kernel_.type);
      const bool starts = !op_.writes && !op_.base;
      Body result = {statement(nest::Start{total, element(), starts ? identity() : Expr()})};
      append(result, into_total(total, reduce_labels));
      result.push_back(statement(nest::Store{element(), local_read(total)}));
      return result;
    });
  }

  Body into_total(ValueId total, const std::vector<int>& labels) {
    const std::vector<int> outer(labels.begin(), labels.end() - 1);
    const KernelNest before = result_;
    const auto checked = checked_;
    bool lines = true;
    Body result = loops(outer, 0, false, [&] {
      std::optional<Body> line = line_sum(total, labels.back());
      lines = line.has_value();
      return lines ? *line : Body{};
    });
    if (lines) return result;
    result_ = before;
    checked_ = checked;
    return loops(labels, 0, false, [&] { return with_panels(guarded(located([&] { return accumulate({total, {}}); }))); });
  }

  /// Adds or multiplies up along the last label through the runtime's partial results, which become vectors; nothing where that cannot be.
  std::optional<Body> line_sum(ValueId total, int label) {
    const Monoid::Kind kind = compute_.monoid->kind;
    if (!ir::is_float(kernel_.type) || !(kind == Monoid::Kind::kSum || kind == Monoid::Kind::kProd) || !kernel_.gathers.empty()) return std::nullopt;
    Body result;
    const TaskRange range = narrowed(label, result);
    const bool bounds = !result.empty();
    open_.insert(label);
    const Expr rest = guard();
    open_.erase(label);
    const Expr body = of_nest(compute_.bodies.front());
    Named line = rest ? Named{{}, ir::select(rest, body, identity())} : named(body);
    const bool stops = std::ranges::any_of(line.lets, [&](const nest::Let& let) { return nest::may_stop(result_.nest, let.value); });
    if (stops || nest::may_stop(result_.nest, line.value) || !order_.in_order.contains(label)) return std::nullopt;
    result.push_back(statement(nest::LineReduction{total, kind, label, range, std::move(line.lets), std::move(line.value)}));
    return bounds ? with_points(std::move(result)) : result;
  }

  Body blocked(const Blocking& blocks) {
    return loops(blocks.outer, 0, false, [&] {
      nest::BlockedReduction s{element(), blocks.row, blocks.column, blocks.reduce, {}, {}, *compute_.monoid, {}, {}, blocks.numbers};
      std::map<const ir::ExprNode*, Expr> values;
      const auto add = [&](const Blocking::Values& given, const char* name, std::vector<nest::Let>& lets) {
        for (const std::vector<Expr>& places : given) {
          const ValueId value = local(name, places.front()->type);
          lets.push_back({value, of_nest(places.front())});
          for (const Expr& e : places) values[e.id()] = local_read(value);
        }
      };
      add(blocks.x, "x", s.x);
      add(blocks.y, "y", s.y);
      const auto of_values = [&](const Expr& e) {
        return with_parts(e, [&](const Expr& part) {
          if (const auto found = values.find(part.id()); found != values.end()) return found->second;
          const auto* r = std::get_if<ir::Read>(&part->op);
          return r == nullptr ? Expr() : read(part, *r);
        }, true);
      };
      const Expr rest = without_parts(compute_.guard, observed_);
      s.value = of_values(compute_.bodies.front());
      if (rest) s.guard = of_values(rest);
      return Body{statement(std::move(s))};
    });
  }

  /// Gives elements their first values where the loops only add to them or do not reach them all.
  Body first_values() {
    const auto filled = [&](Expr value) { return Body{statement(nest::Fill{target_, std::move(value)})}; };
    if (compute_.monoid) return !order_.into_scalar || op_.writes || op_.base ? filled(identity()) : Body{};
    return (op_.writes || compute_.combine) && !op_.base ? filled(fill()) : Body{};
  }

  const KernelNestRequest& request_;
  const FamilyProgram& program_;
  const OpTemplate& op_;
  const KernelTemplate& kernel_;
  const ir::Compute& compute_;
  KernelNest result_;
  std::vector<std::string> labels_;
  std::map<ValueId, ValueId> captures_;
  std::map<int, ValueId> operands_;
  std::map<const ir::ExprNode*, ValueId> checked_;
  std::map<std::size_t, int> targets_;  ///< computed left subscripts, by dimension
  ValueId target_;
  LoopOrder order_;
  std::set<int> open_;                      ///< labels of the loops around
  std::set<const ir::ExprNode*> observed_;  ///< parts of the guard that loops observe by their bounds
};

}  // namespace

KernelNest build_nest(const KernelNestRequest& request) { return KernelNestBuilder(request).run(); }

}  // namespace tdsl::codegen
