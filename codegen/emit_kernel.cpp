#include "codegen/emit_kernel.h"

#include <algorithm>
#include <map>
#include <set>

#include "codegen/affine.h"
#include "codegen/blocking.h"
#include "codegen/common_parts.h"
#include "codegen/describe.h"
#include "codegen/emit_blocked.h"
#include "codegen/emit_expr.h"
#include "codegen/guard_bounds.h"
#include "codegen/loop_order.h"
#include "codegen/names.h"
#include "codegen/statements.h"
#include "codegen/vector_forms.h"
#include "ir/check.h"

namespace tdsl::codegen {

namespace {

using ir::match;
using ir::Monoid;

/// From here on arithmetic takes longer than memory.
constexpr double kFlopsPerByte = 4;

class KernelEmitter {
 public:
  explicit KernelEmitter(const KernelRequest& request)
      : request_(request), op_(*request.step.op), kernel_(*request.step.kernel), compute_(kernel_.compute),
        expr_(claim_names(), [this](ValueId v) { return host(v); },
              [this](const ir::ExprNode& n, const std::vector<std::string>& s) { return element(n, s); },
              [this](const ir::SourceRange& place) { return faults_name(place); }) {
    expr_.set_procedures(request.procedure_name);
    expr_.use_vector_math([this](const ir::Select& s) { return takes_both(s); });
  }

  EmittedKernel run() {
    if (const std::optional<Blocking> blocks = blocking(op_, kernel_)) return assemble(blocked(*blocks));
    order_ = loop_order(op_, kernel_);
    return assemble(order_.into_scalar ? scalar_reduction() : nest(order_.labels, 0, true, [&] { return point(); }));
  }

  std::optional<ShortKernel> run_short() {
    if (!is_short() || blocking(op_, kernel_)) return std::nullopt;
    order_ = loop_order(op_, kernel_);
    for (std::size_t k = 0; k < order_.labels.size(); ++k) {
      if (order_.labels[k] != static_cast<int>(k)) return std::nullopt;
    }
    const bool sums = compute_.monoid.has_value();
    if (sums && !order_.into_scalar) return std::nullopt;
    const std::string parts = named(compute_.bodies.front());
    const std::string element = expr_.text(compute_.bodies.front());
    const std::string statement = parts + (sums ? fmt::format("return {};", element) : fmt::format("{} = {};", out_element(), element));
    if (checks_ || expr_.uses_faults()) return std::nullopt;
    const bool simd = !order_.labels.empty() && !expr_.applies() && order_.in_order.contains(order_.labels.back());
    const int across = sums || simd || order_.labels.size() < 2 ? -1 : label_across(op_, order_.labels.back());
    const std::string output = fmt::format("{}, {}", cpp_type(kernel_.type), request_.program.type(request_.step.target).rank());
    std::string list = sums ? "" : fmt::format("Out<{}> {}", output, out_name());
    for (const std::string& parameter : parameters()) list += (list.empty() ? "" : ", ") + parameter;
    vectorised_ = simd;
    if (across >= 0) return ShortKernel{fmt::format("[]({}) {{ {} }}", list, statement), "rt::each_in_squares", std::to_string(across), widest(), captures_};
    return ShortKernel{fmt::format("[]({}) {{ {} }}", list, statement), fmt::format("rt::{}{}", sums ? "sum" : "each", simd ? "_simd" : ""),
                       sums ? output : "", widest(), captures_};
  }

 private:
  /// Whether both branches of a select are computed, so that the loop around it becomes vectors.
  [[nodiscard]] bool takes_both(const ir::Select& s) const {
    if (!kernel_.checked.empty() || !kernel_.gathers.empty()) return false;
    return computes_both(s, request_.program, [this](std::int32_t label, const Extent& extent) {
      const LabelTemplate& l = op_.labels[static_cast<std::size_t>(label)];
      return l.begin == Extent(0) && l.end == extent;
    });
  }

  /// Declarations of what the expression computes several times.
  std::string named(const Expr& e) {
    return named_parts(expr_, e, [this](const ir::Select& s) { return takes_both(s); }, [this](std::string_view name) { return names_.table.claim(name); });
  }
  /// What `print` makes of the expression, behind declarations of what it computes several times.
  template <class Print>
  Statements with_named_parts(const Expr& e, const Print& print) {
    const std::string parts = named(e);
    Statements result = print();
    expr_.replace_nothing();
    if (!parts.empty()) result.insert(result.begin(), simple(parts));
    return result;
  }

  /// The vectors from which the kernel gains. Loops that wait for memory do not gain from the widest.
  [[nodiscard]] rt::SimdLevel widest() const {
    if (!vectorised_ || (op_.reads.empty() && op_.flops_per_point == 0)) return rt::SimdLevel::kBaseline;
    std::int64_t bytes = ir::size_of(kernel_.type);
    for (const AccessTemplate& read : op_.reads) bytes += ir::size_of(request_.program.type(read.tensor).scalar);
    const bool busy = expr_.calls_library() || op_.flops_per_point > kFlopsPerByte * static_cast<double>(bytes);
    return busy ? rt::SimdLevel::kAvx512 : rt::SimdLevel::kAvx2;
  }

  /// Whether the kernel may be one expression: an assignment to every point, or a sum.
  [[nodiscard]] bool is_short() const {
    if (compute_.combine || compute_.guard || op_.writes || op_.base || !kernel_.gathers.empty() || !kernel_.scattered.empty()) return false;
    if (!compute_.monoid) return true;
    const bool from_zero = std::ranges::all_of(compute_.out, [](const ir::Label& l) { return l.begin == Extent(0); });
    return from_zero && compute_.monoid->kind == Monoid::Kind::kSum && ir::is_float(kernel_.type);
  }

  /// `In<double, 1> x`, `Index i`, `double rate`: those that are not mentioned have no names.
  std::vector<std::string> parameters() {
    std::set<int> used;
    for (std::size_t l = 0; !compute_.monoid && l < compute_.out.size(); ++l) used.insert(static_cast<int>(l));
    ir::for_each_node(compute_.bodies.front(), [&](const ir::ExprNode& n) {
      if (const auto* r = std::get_if<ir::IndexRef>(&n.op)) used.insert(r->label);
    });
    std::vector<std::string> list;
    for (std::size_t k = 0; k < op_.reads.size(); ++k) {
      const ir::Type& type = request_.program.type(op_.reads[k].tensor);
      const auto view = views_.find(static_cast<int>(k));
      list.push_back(fmt::format("In<{}, {}>{}", cpp_type(type.scalar), type.rank(), view == views_.end() ? "" : " " + view->second));
    }
    for (std::size_t l = 0; l < op_.labels.size(); ++l) {
      list.push_back(used.contains(static_cast<int>(l)) ? "Index " + expr_.labels()[l] : "Index");
    }
    for (const ValueId v : captures_) list.push_back(fmt::format("{} {}", cpp_type(request_.program.type(v).scalar), request_.value_name(v)));
    return list;
  }

  /// Claims the names of everything the kernel uses before its labels, which are free to differ.
  std::vector<std::string> claim_names() {
    names_.claim_all_of(request_);
    std::vector<std::string> labels;
    for (const LabelTemplate& l : op_.labels) labels.push_back(names_.table.claim(l.name));
    return labels;
  }

  struct Names {
    NameTable table;
    void claim_all_of(const KernelRequest& r) {
      std::set<ValueId> seen;
      const auto claim = [&](ValueId v) {
        if (seen.insert(v).second && r.program.is_host(v)) static_cast<void>(table.claim(r.value_name(v)));
      };
      for_each_use(r.program, {{}, r.step}, claim);
      // Checks of subscripts mention the operands' extents.
      for (const AccessTemplate& read : r.step.op->reads) {
        for (const Extent& extent : r.program.type(read.tensor).shape) std::ranges::for_each(extent.values(), claim);
      }
    }
  };

  /// The place as emitted; the operation's own if there is no better one.
  [[nodiscard]] std::string line_of(const ir::SourceRange& place) const { return place_text(place.known() ? place : request_.place); }

  /// One Faults for each line, so that a kernel fused from several names the right one.
  std::string faults_name(const ir::SourceRange& place) {
    const std::string line = line_of(place);
    const auto found = std::ranges::find(faults_, line, &std::pair<std::string, std::string>::first);
    if (found != faults_.end()) return found->second;
    const std::string name = faults_.empty() ? "faults" : names_.table.claim(fmt::format("faults_{}", faults_.size() + 1));
    faults_.emplace_back(line, name);
    return name;
  }

  std::string host(ValueId v) {
    if (std::ranges::find(captures_, v) == captures_.end()) captures_.push_back(v);
    return request_.value_name(v);
  }

  /// `A(i, k)`, with the checks of subscripts that need one.
  std::string element(const ir::ExprNode& node, const std::vector<std::string>& subscripts) {
    const auto& r = std::get<ir::Read>(node.op);
    if (request_.program.is_host(r.tensor)) return host(r.tensor);
    const int operand = kernel_.operand.at(&node);
    const auto checked = kernel_.checked.find(&node);
    std::string list;
    const auto gather = kernel_.gathers.find(&node);
    for (std::size_t d = 0; d < subscripts.size(); ++d) {
      std::string s = subscripts[d];
      if (gather != kernel_.gathers.end() && gather->second[d] >= 0) {
        s = found_.at(gather->second[d]);
      } else if (checked != kernel_.checked.end() && checked->second[d]) {
        s = fmt::format("inside({}, {}, {}, {})", s, expr_.text(*checked->second[d]), line_of(node.range),
                        string_literal(describe(request_.program, r.subscripts[d], label_names()) + "' of '" +
                               name_of(request_.program, r.tensor)));
        checks_ = true;
      }
      list += (d == 0 ? "" : ", ") + s;
    }
    return fmt::format("{}({})", view_name(operand), list);
  }

  [[nodiscard]] std::vector<std::string> label_names() const {
    std::vector<std::string> names;
    for (const LabelTemplate& l : op_.labels) names.push_back(l.name);
    return names;
  }

  std::string view_name(int operand) {
    const auto found = views_.find(operand);
    if (found != views_.end()) return found->second;
    const ValueId v = op_.reads[static_cast<std::size_t>(operand)].tensor;
    return views_[operand] = names_.table.claim(name_of(request_.program, v));
  }

  std::string out_name() {
    if (out_name_.empty()) out_name_ = names_.table.claim(name_of(request_.program, request_.step.target));
    return out_name_;
  }

  /// The output element of the current labels.
  std::string out_element() {
    std::string list;
    if (op_.writes) {
      for (std::size_t d = 0; d < compute_.left.size(); ++d) {
        list += (d == 0 ? "" : ", ") + (is_scattered(d) ? targets_.at(d) : expr_.subscript(compute_.left[d]));
      }
    } else {
      for (std::size_t d = 0; d < compute_.out.size(); ++d) {
        const Extent& begin = compute_.out[d].begin;
        const std::string& label = expr_.labels()[d];
        list += (d == 0 ? "" : ", ") + label;
        if (!(begin == Extent(0))) list += " - " + expr_.text(begin, 7);
      }
    }
    return fmt::format("{}({})", out_name(), list);
  }

  /// Loops over `labels` from number `depth` on around what `body` gives; with `mark` the innermost may be vectorised.
  template <class Body>
  Statements nest(const std::vector<int>& labels, std::size_t depth, bool mark, const Body& body) {
    if (depth == labels.size()) return body();
    const int label = labels[depth];
    const std::string& name = expr_.labels()[static_cast<std::size_t>(label)];
    Statements result;
    const auto [begin, end] = loop_bounds(label, result);
    const std::size_t before = result.size();
    open_.insert(label);
    Statements inner = nest(labels, depth + 1, mark, body);
    open_.erase(label);
    if (mark && depth + 1 == labels.size() && vectorises(label)) {
      result.push_back(simple("#pragma omp simd"));
      vectorised_ = true;
    }
    result.push_back(block(fmt::format("for (Index {0} = {1}; {0} < {2}; ++{0})", name, begin, end), std::move(inner)));
    return before == 0 ? result : with_points(std::move(result));
  }

  /// Whether the loop over a label may become vectors, once its body has been printed. Reports and exceptions are dependences between iterations.
  [[nodiscard]] bool vectorises(int label) const {
    return !checks_ && !expr_.uses_faults() && !expr_.applies() && !ordered_ && order_.in_order.contains(label);
  }

  /// A task over no points may have no operands, not even for bounds.
  Statements with_points(Statements body) {
    std::string all;
    for (std::size_t l = 0; l < op_.labels.size(); ++l) {
      const bool reduces = op_.labels[l].kind == LabelTemplate::Kind::kReduce || op_.labels[l].kind == LabelTemplate::Kind::kGather;
      if (reduces) all += fmt::format("{}!{}.empty()", all.empty() ? "" : " && ", range_name(static_cast<int>(l)));
    }
    return {block(fmt::format("if ({})", all), std::move(body))};
  }

  /// Where the loop over a label begins and ends: inside the task's range, and where the guard bounds a reduce label by what is
  /// fixed around the loop. `before`: computes such bounds.
  std::pair<std::string, std::string> loop_bounds(int label, Statements& before) {
    std::string begin = range_name(label) + ".lo";
    std::string end = range_name(label) + ".hi";
    const bool reduces = op_.labels[static_cast<std::size_t>(label)].kind == LabelTemplate::Kind::kReduce;
    if (!compute_.monoid || !compute_.guard || !reduces) return {begin, end};
    const std::string& name = expr_.labels()[static_cast<std::size_t>(label)];
    for (const GuardBound& bound : guard_bounds(kernel_, label, open_, observed_)) {
      std::string value = expr_.text(bound.value);
      // The largest integer has none past it.
      if (bound.past) value = fmt::format("std::min<Index>({}, {} - 1) + 1", value, end);
      std::string& side = bound.from_below ? begin : end;
      std::string text = fmt::format("std::{}<Index>({}, {})", bound.from_below ? "max" : "min", side, value);
      if (!bound.safe) text = fmt::format("{} < {} ? {} : {}", begin, end, text, side);
      side = names_.table.claim(name + (bound.from_below ? "_begin" : "_end"));
      before.push_back(simple(fmt::format("const Index {} = {};", side, text)));
    }
    return {begin, end};
  }

  static std::string labels_of_task(int label) { return fmt::format("t.labels[{}]", label); }

  std::string range_name(int label) {
    const auto found = ranges_.find(label);
    if (found != ranges_.end()) return found->second;
    return ranges_[label] = names_.table.claim("range_" + expr_.labels()[static_cast<std::size_t>(label)]);
  }

  [[nodiscard]] bool is_scattered(std::size_t d) const { return d < kernel_.scattered.size() && kernel_.scattered[d]; }

  /// Where the point goes is computed and checked; the element is changed if it lies in this task's tile.
  Statements scatter() {
    Statements result;
    std::string mine;
    for (std::size_t d = 0; d < kernel_.scattered.size(); ++d) {
      if (!is_scattered(d)) continue;
      if (!targets_.contains(d)) targets_[d] = names_.table.claim(fmt::format("at{}", d));
      const std::string& name = targets_.at(d);
      const std::string text = describe(request_.program, compute_.left[d], label_names()) + "' of '" +
                               name_of(request_.program, request_.step.target);
      result.push_back(simple(fmt::format("const Index {} = inside({}, {}, {}, {});", name, expr_.text(compute_.left[d]),
                                          expr_.text(*kernel_.scattered[d]), line_of(compute_.left[d]->range), string_literal(text))));
      checks_ = true;
      mine += fmt::format("{0}t.out_box[{1}].lo <= {2} && {2} < t.out_box[{1}].hi", mine.empty() ? "" : " && ", d, name);
    }
    ordered_ = true;
    result.push_back(block(fmt::format("if ({})", mine), accumulate(*compute_.monoid, out_element())));
    return result;
  }

  /// Where the point's operand lies is computed and checked; the point counts if that is in this task's interval.
  template <class Body>
  Statements located(const Body& body) {
    if (kernel_.gathers.empty()) return body();
    Statements result;
    std::string mine;
    for (const auto& [node, labels] : kernel_.gathers) {
      const auto& r = std::get<ir::Read>(node->op);
      for (std::size_t d = 0; d < labels.size(); ++d) {
        if (labels[d] < 0) continue;
        const std::string& name = expr_.labels()[static_cast<std::size_t>(labels[d])];
        found_[labels[d]] = name;
        const std::string text = describe(request_.program, r.subscripts[d], label_names()) + "' of '" + name_of(request_.program, r.tensor);
        result.push_back(simple(fmt::format("const Index {} = inside({}, {}, {}, {});", name, expr_.text(r.subscripts[d]),
                                            expr_.text(op_.labels[static_cast<std::size_t>(labels[d])].end), line_of(node->range), string_literal(text))));
        checks_ = true;
        mine += fmt::format("{0}{1}.lo <= {2} && {2} < {1}.hi", mine.empty() ? "" : " && ", range_name(labels[d]), name);
      }
    }
    ordered_ = true;
    result.push_back(block(fmt::format("if ({})", mine), body()));
    return result;
  }

  /// The last parts of a reduction may have no panels; the task has no operands then, not even for its guard.
  Statements with_panels(Statements body) {
    std::string any;
    for (std::size_t l = 0; l < op_.labels.size(); ++l) {
      if (op_.labels[l].kind != LabelTemplate::Kind::kGather) continue;
      any += fmt::format("{}!{}.empty()", any.empty() ? "" : " && ", range_name(static_cast<int>(l)));
    }
    if (any.empty()) return body;
    return {block(fmt::format("if ({})", any), std::move(body))};
  }

  /// The statement at one point of the label space.
  Statements point() {
    if (!kernel_.scattered.empty()) return with_panels(guarded(located([&] { return scatter(); })));
    if (!kernel_.gathers.empty()) return with_panels(guarded(located([&] { return accumulate(*compute_.monoid, out_element()); })));
    const std::string target = out_element();
    if (compute_.monoid || compute_.combine) return guarded(accumulate(compute_.monoid ? *compute_.monoid : *compute_.combine, target));
    const Expr& body = compute_.bodies.front();
    if (compute_.guard && !op_.writes && !op_.base) {
      return {simple(fmt::format("{} = {};", target, value_where(compute_.guard, body, compute_.fill, fill_text())))};
    }
    return guarded(with_named_parts(body, [&] { return Statements{simple(fmt::format("{} = {};", target, expr_.text(body)))}; }));
  }

  /// `condition ? body : otherwise`; no `otherwise`: a constant.
  std::string value_where(const Expr& condition, const Expr& body, const Expr& otherwise, const std::string& otherwise_text) {
    const bool both = ir::is_float(body->type) && takes_both({condition, body, otherwise ? otherwise : ir::constant(body->type, 0.0)});
    if (both) return fmt::format("math::choose({}, {}, {})", expr_.text(condition), expr_.text(body), otherwise_text);
    return fmt::format("{} ? {} : {}", expr_.text(condition, 1), expr_.text(body, 1), otherwise_text);
  }

  Statements guarded(Statements body) {
    const Expr rest = without_parts(compute_.guard, observed_);
    if (!rest) return body;
    return {block(fmt::format("if ({})", expr_.text(rest)), std::move(body))};
  }

  /// `target = combine(target, body)`.
  Statements accumulate(const Monoid& m, const std::string& target) {
    if (m.kind == Monoid::Kind::kUser) ordered_ = true;
    return with_named_parts(compute_.bodies.front(), [&] { return accumulation(expr_, m, compute_.bodies.front(), kernel_.type, target); });
  }

  [[nodiscard]] std::string identity_text() { return expr_.text(ir::identity_of(*compute_.monoid, kernel_.type)); }
  [[nodiscard]] std::string fill_text() {
    if (compute_.fill) return expr_.text(compute_.fill, 1);
    if (kernel_.type == ir::Scalar::kBool) return "false";
    return ir::is_float(kernel_.type) ? cpp_constant(kernel_.type, 0.0) : cpp_constant(kernel_.type, std::int64_t{0});
  }

  /// Reduce labels innermost: one scalar per output element.
  Statements scalar_reduction() {
    std::vector<int> out_labels;
    std::vector<int> reduce_labels;
    for (const int l : order_.labels) {
      (op_.labels[static_cast<std::size_t>(l)].kind == LabelTemplate::Kind::kReduce ? reduce_labels : out_labels).push_back(l);
    }
    return nest(out_labels, 0, false, [&] {
      const std::string target = out_element();
      const bool starts = !op_.writes && !op_.base;
      const std::string first = starts ? fmt::format("t.fresh ? {} : {}", identity_text(), target) : target;
      Statements result = {simple(fmt::format("{} total = {};", cpp_type(kernel_.type), first))};
      for (Statement& s : into_total(reduce_labels)) result.push_back(std::move(s));
      result.push_back(simple(fmt::format("{} = total;", target)));
      return result;
    });
  }

  Statements into_total(const std::vector<int>& labels) {
    const std::vector<int> outer(labels.begin(), labels.end() - 1);
    bool lines = true;
    Statements result = nest(outer, 0, false, [&] {
      std::optional<Statements> line = line_sum(labels.back());
      lines = line.has_value();
      return lines ? *line : Statements{};
    });
    if (lines) return result;
    return nest(labels, 0, false, [&] { return with_panels(guarded(located([&] { return accumulate(*compute_.monoid, "total"); }))); });
  }

  /// Adds or multiplies up along the last label through the runtime's partial results, which become vectors; nothing where that cannot be.
  std::optional<Statements> line_sum(int label) {
    const Monoid& m = *compute_.monoid;
    const bool sum = m.kind == Monoid::Kind::kSum;
    if (!ir::is_float(kernel_.type) || !(sum || m.kind == Monoid::Kind::kProd) || !kernel_.gathers.empty()) return std::nullopt;
    Statements result;
    const auto [begin, end] = loop_bounds(label, result);
    const std::string range = result.empty() ? range_name(label) : fmt::format("Interval{{{}, {}}}", begin, end);
    open_.insert(label);
    const Expr rest = without_parts(compute_.guard, observed_);
    const Expr& body = compute_.bodies.front();
    const std::string parts = rest ? "" : named(body);
    const std::string value = rest ? value_where(rest, body, Expr(), identity_text()) : expr_.text(body);
    expr_.replace_nothing();
    open_.erase(label);
    if (!vectorises(label)) return std::nullopt;
    vectorised_ = true;
    const bool bounds = !result.empty();
    result.push_back(simple(fmt::format("total {}= rt::lanes::{}<{}>({}, [&](Index {}) {{ {}return {}; }});", sum ? "+" : "*", sum ? "sum" : "product",
                                        cpp_type(kernel_.type), range, expr_.labels()[static_cast<std::size_t>(label)], parts, value)));
    return bounds ? with_points(std::move(result)) : result;
  }

  Statements blocked(const Blocking& blocks) {
    blocked_ = true;
    return nest(blocks.outer, 0, false, [&] {
      BlockedPlace place{labels_of_task(blocks.row), labels_of_task(blocks.column), {}, out_element()};
      for (const int l : blocks.reduce) place.reduce.push_back(labels_of_task(l));
      const Expr rest = without_parts(compute_.guard, observed_);
      return blocked_statements(expr_, compute_, rest, kernel_.type, blocks, place, [&](std::string_view name) { return names_.table.claim(name); });
    });
  }

  EmittedKernel assemble(const Statements& loops) {
    Writer w;
    w.indent();
    for (const auto& [operand, name] : views_) {
      const ValueId v = op_.reads[static_cast<std::size_t>(operand)].tensor;
      w.line("const auto {} = t.in<{}, {}>({});", name, cpp_type(request_.program.type(v).scalar),
             request_.program.type(v).rank(), operand);
    }
    w.line("const auto {} = t.out<{}, {}>();", out_name(), cpp_type(kernel_.type), request_.program.type(request_.step.target).rank());
    for (const auto& [label, name] : ranges_) w.line("const Interval {} = t.labels[{}];", name, label);
    for (const auto& [line, name] : faults_) w.line("scalar::Faults {};", name);
    start(w);
    write(w, loops);
    for (const auto& [line, name] : faults_) w.line("if ({0}.any()) rt::stop(place({1}), {0}.message());", name, line);
    std::string signature = fmt::format("void {}(const TaskArgs& t", request_.name);
    for (const ValueId v : captures_) {
      signature += fmt::format(", {} {}", cpp_type(request_.program.type(v).scalar), request_.value_name(v));
    }
    return {fmt::format("{}) {{\n{}}}\n", signature, w.text()), captures_, checks_, blocked_, widest()};
  }

  /// Gives elements their first values where the loops only add to them or do not reach them all.
  void start(Writer& w) {
    const std::string_view type = cpp_type(kernel_.type);
    if (compute_.monoid) {
      if (!order_.into_scalar || op_.writes || op_.base) w.line("if (t.fresh) rt::fill<{}>(t.outputs[0], {});", type, identity_text());
    } else if ((op_.writes || compute_.combine) && !op_.base) {
      w.line("if (t.fresh) rt::fill<{}>(t.outputs[0], {});", type, fill_text());
    }
    // Without output labels no loop is empty where the tile is not written.
    if (op_.writes && compute_.out.empty()) w.line("if (!t.hit) return;");
  }

  const KernelRequest& request_;
  const OpTemplate& op_;
  const KernelTemplate& kernel_;
  const ir::Compute& compute_;
  Names names_;
  std::vector<ValueId> captures_;
  ExprEmitter expr_;
  LoopOrder order_;
  std::map<int, std::string> views_;
  std::map<int, std::string> ranges_;
  std::map<std::size_t, std::string> targets_;  ///< names of computed left subscripts, by dimension
  std::map<int, std::string> found_;            ///< names of subscripts looked up in data, by gather label
  std::vector<std::pair<std::string, std::string>> faults_;  ///< place as emitted, variable
  std::set<int> open_;                      ///< labels of the loops around
  std::set<const ir::ExprNode*> observed_;  ///< parts of the guard that loops observe by their bounds
  std::string out_name_;
  bool checks_ = false;
  bool blocked_ = false;
  bool ordered_ = false;
  bool vectorised_ = false;
};

}  // namespace

EmittedKernel emit_kernel(const KernelRequest& request) { return KernelEmitter(request).run(); }
std::optional<ShortKernel> short_kernel(const KernelRequest& request) { return KernelEmitter(request).run_short(); }

}  // namespace tdsl::codegen
