#include "codegen/print/emit_fused.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "codegen/loops/vector_forms.h"
#include "codegen/lower/common_parts.h"
#include "codegen/lower/fused.h"
#include "codegen/print/emit_blocked.h"
#include "codegen/print/line_reduction.h"
#include "codegen/print/names.h"
#include "codegen/print/statements.h"
#include "codegen/relations/describe.h"
#include "ir/graph/check.h"
#include "ir/graph/computes.h"
#include "ir/graph/group.h"

namespace tdsl::codegen {

namespace {

using ir::Monoid;
using Member = FusedKernel::Member;

class FusedEmitter {
 public:
  explicit FusedEmitter(const KernelRequest& request)
      : request_(request), op_(*request.step.op), fused_(*request.step.fused) {
    claim_names();
  }

  EmittedKernel run() {
    Statements block_body;
    for (const Member& m : fused_.members) {
      for (Statement& s : statements(m)) block_body.push_back(std::move(s));
    }
    Writer w;
    w.indent();
    for (const auto& [operand, name] : views_) {
      const ir::Type& type = request_.program.type(op_.reads[static_cast<std::size_t>(operand)].tensor);
      w.line("const auto {} = t.in<{}, {}>({});", name, cpp_type(type.scalar), type.rank(), operand);
    }
    results(w);
    std::string locals;
    for (const Member& m : fused_.members) {
      if (is_result(m)) continue;
      if (const auto taken = in_place_.find(m.value); taken != in_place_.end()) {
        w.line("auto& {} = {};  // element by element in its place", name_of_local(m), local_names_.at(taken->second));
        continue;
      }
      const std::string extents = line_extents(m);
      w.line("rt::rows::Local<{}, {}> {}{};", cpp_type(m.type), m.compute.out.size() - outer_.size(), name_of_local(m),
             extents.empty() ? "" : fmt::format("({{{}}})", extents));
      locals += ", " + name_of_local(m);
    }
    Statements loops{
        block(fmt::format("for (const Interval {} : rt::rows::Blocks(t.labels[{}], rt::rows::Work::{}, {}{}))", rows_,
                          shared_label(outer_.size()),
                          multiplies() || needs_.has(Header::kBlockedReduction) ? "kProducts" : "kLines",
                          bytes_per_row(), locals),
              std::move(block_body))};
    for (std::size_t f = outer_.size(); f-- > 0;) {
      loops = {block(
          fmt::format("for (Index {0} = t.labels[{1}].lo; {0} < t.labels[{1}].hi; ++{0})", outer_[f], shared_label(f)),
          std::move(loops))};
    }
    if (!faults_.empty()) w.line("scalar::Faults {};", faults_);
    write(w, loops);
    if (!faults_.empty()) {
      needs_.add(Helper::kPlace);
      w.line("if ({0}.any()) rt::stop(place({1}), {0}.message());", faults_, place_text(request_.place));
    }
    needs_.add(Header::kRows);
    std::string signature = fmt::format("void {}(const TaskArgs& t", request_.name);
    for (const ValueId v : captures_)
      signature += fmt::format(", {} {}", cpp_type(request_.program.type(v).scalar), request_.value_name(v));
    return {fmt::format("{}) {{\n{}}}\n", signature, w.text()), captures_, needs_, widest_};
  }

 private:
  /// One of them, the last member.
  [[nodiscard]] const Member& result() const { return fused_.members.back(); }
  [[nodiscard]] bool is_result(const Member& m) const { return &m == &result() || m.place.has_value(); }
  /// Views of the results, and their first values.
  void results(Writer& w) {
    const std::string type(cpp_type(result().type));
    if (!result().place) {
      w.line("const auto {} = t.out<{}, {}>();", local_names_.at(result().value), type, result().compute.out.size());
      if (closes()) w.line("if (t.fresh) rt::fill<{}>(t.outputs[0], {});", type, identity(result()));
      return;
    }
    w.line("const auto {} = t.out<{}, 1>();", packed_, type);
    for (const Member& m : fused_.members) {
      if (!m.place) continue;
      std::string extents;
      Extent count(1);
      for (const ir::Label& l : m.compute.out) {
        extents += (extents.empty() ? "" : ", ") + extent(l.end - l.begin);
        count = count * (l.end - l.begin);
      }
      w.line("const auto {} = rt::rows::piece<{}>({}, {}, {{{}}});", local_names_.at(m.value), m.compute.out.size(),
             packed_, extent(*m.place), extents);
      w.line("if (t.fresh) rt::rows::start<{}>({}, {}, {}, {});", type, packed_, extent(*m.place), extent(count),
             identity(m));
    }
  }
  [[nodiscard]] static bool closes(const Member& m) {
    return static_cast<std::size_t>(m.shared[0]) >= m.compute.out.size();
  }
  [[nodiscard]] bool closes() const { return closes(result()); }
  /// The operation's label that is number f of the shared ones.
  [[nodiscard]] std::size_t shared_label(std::size_t f) const {
    return closes() ? op_.labels.size() - result().shared.size() + f : static_cast<std::size_t>(result().shared[f]);
  }
  /// Blocks are of the last shared label; around them are loops over the others.
  [[nodiscard]] static bool counts_rows(const Member& m, std::size_t label) {
    return static_cast<std::int32_t>(label) == m.shared.back();
  }
  [[nodiscard]] static bool is_outer(const Member& m, std::size_t label) {
    return !counts_rows(m, label) && std::ranges::find(m.shared, static_cast<std::int32_t>(label)) != m.shared.end();
  }

  void claim_names() {
    std::set<ValueId> seen;
    for_each_use(request_.program, {{}, request_.step}, [&](ValueId v) {
      if (seen.insert(v).second && request_.program.is_host(v)) static_cast<void>(table_.claim(request_.value_name(v)));
    });
    for (std::size_t k = 0; k < op_.reads.size(); ++k) {
      views_[static_cast<int>(k)] = table_.claim(title_of(request_.program, op_.reads[k].tensor));
    }
    for (const Member& m : fused_.members) {
      const std::string& known = request_.program.info(m.value).name;
      const std::string text = known.empty() ? describe(request_.program, m.compute) : known;
      local_names_[m.value] =
          table_.claim(&m == &result() && !m.place ? title_of(request_.program, request_.step.target)
                       : text.size() <= 32         ? text
                                                   : "part");
    }
    rows_ = table_.claim("rows");
    if (result().place) packed_ = table_.claim("packed");
    for (std::size_t f = 0; f + 1 < result().shared.size(); ++f) {
      outer_.push_back(table_.claim(label_of(result(), static_cast<std::size_t>(result().shared[f])).name));
    }
    take_places();
    // Loops of different members may have the same names.
    const NameTable common = table_;
    for (const Member& m : fused_.members) {
      NameTable own = common;
      std::vector<std::string> labels;
      for (const auto* list : {&m.compute.out, &m.compute.reduce}) {
        for (const ir::Label& l : *list) labels.push_back(own.claim(l.name));
      }
      for (std::size_t f = 0; f < outer_.size(); ++f) labels[static_cast<std::size_t>(m.shared[f])] = outer_[f];
      for (const char* name : {"a", "b"}) labels.push_back(own.claim(name));
      labels_[m.value] = std::move(labels);
    }
    for (const auto& [v, labels] : labels_) {
      for (const std::string& label : labels) static_cast<void>(table_.claim(label));
    }
  }

  /// An element-wise operator that is the last to read a value of the block takes its place, if every element needs the
  /// one there alone.
  void take_places() {
    for (std::size_t k = 0; k + 1 < fused_.members.size(); ++k) {
      const Member& m = fused_.members[k];
      if (m.compute.monoid || m.compute.out.empty()) continue;
      std::vector<std::int32_t> same(m.compute.out.size());
      std::iota(same.begin(), same.end(), 0);
      for (const Member& from : fused_.members) {
        if (&from == &m) break;
        const bool alike =
            from.type == m.type && !closes(from) &&
            std::ranges::equal(from.compute.out, m.compute.out, [](const ir::Label& a, const ir::Label& b) {
              return a.begin == b.begin && a.end == b.end && a.begin == Extent(0);
            });
        bool here = false, only = true;
        for (std::size_t reader = 0; reader < fused_.members.size(); ++reader) {
          ir::for_each_node(fused_.members[reader].compute.bodies[0], [&](const ir::ExprNode& n) {
            const auto* r = std::get_if<ir::Read>(&n.op);
            if (r == nullptr || r->tensor != from.value) return;
            here = here || reader == k;
            only = only && (reader < k || (reader == k && is_read(n, same, from.type)));
          });
        }
        const bool free =
            std::ranges::none_of(in_place_, [&](const auto& entry) { return entry.second == from.value; });
        if (alike && here && only && free) {
          in_place_[m.value] = from.value;
          break;
        }
      }
    }
  }

  std::string host(ValueId v) {
    if (std::ranges::find(captures_, v) == captures_.end()) captures_.push_back(v);
    return request_.value_name(v);
  }

  /// The vectors from which the loops of a member gain. (Products and blocked reductions have versions of their own.)
  static rt::SimdLevel widest(const Member& m) {
    const std::size_t loops = m.compute.out.size() + m.compute.reduce.size() - m.shared.size();
    return loops > 1 || library_calls(m.compute.bodies[0]) > 0 ? rt::SimdLevel::kAvx512 : rt::SimdLevel::kAvx2;
  }

  ExprEmitter expressions(const Member& m) {
    ExprEmitter e{labels_.at(m.value), [this](ValueId v) { return host(v); },
                  [this](const ir::ExprNode& n, const std::vector<std::string>& subscripts) {
                    const auto& r = std::get<ir::Read>(n.op);
                    if (request_.program.is_host(r.tensor)) return host(r.tensor);
                    const bool local = is_local(r.tensor);
                    return fmt::format(
                        "{}({})", tensor_name(n),
                        fmt::join(subscripts.begin() + (local ? static_cast<std::ptrdiff_t>(outer_.size()) : 0),
                                  subscripts.end(), ", "));
                  },
                  [this](const ir::SourceRange&) { return faults_name(); }};
    e.use_vector_math([this, &m](const ir::Select& s) { return takes_both(m, s); });
    return e;
  }
  [[nodiscard]] bool takes_both(const Member& m, const ir::Select& s) const {
    return computes_both(s, request_.program, [&m](std::int32_t label, const Extent& extent) {
      const ir::Label& l = label_of(m, static_cast<std::size_t>(label));
      return l.begin == Extent(0) && l.end == extent;
    });
  }

  /// Members cannot fail, but functions that can in general report to something.
  std::string faults_name() {
    if (faults_.empty()) faults_ = table_.claim("faults");
    return faults_;
  }

  /// Whether the value exists for a block of rows: not its outer dimensions.
  [[nodiscard]] bool is_local(ValueId v) const {
    return local_names_.contains(v) &&
           std::ranges::none_of(fused_.members, [&](const Member& m) { return m.value == v && is_result(m); });
  }

  /// The view that a read refers to.
  std::string tensor_name(const ir::ExprNode& read) {
    const auto& r = std::get<ir::Read>(read.op);
    if (const auto found = local_names_.find(r.tensor); found != local_names_.end()) return found->second;
    return views_.at(fused_.operand.at(&read));
  }

  const std::string& name_of_local(const Member& m) { return local_names_.at(m.value); }

  static const ir::Label& label_of(const Member& m, std::size_t l) {
    return l < m.compute.out.size() ? m.compute.out[l] : m.compute.reduce[l - m.compute.out.size()];
  }
  std::string extent(const Extent& e, int outer = 0) {
    ExprEmitter expr(
        {}, [this](ValueId v) { return host(v); }, nullptr);
    return expr.text(e, outer);
  }
  std::string line_extents(const Member& m) {
    std::string list;
    const std::size_t first = m.shared.size();
    for (std::size_t d = first; d < m.compute.out.size(); ++d) {
      list += (d == first ? "" : ", ") + extent(m.compute.out[d].end - m.compute.out[d].begin);
    }
    return list;
  }
  std::string identity(const Member& m) {
    ExprEmitter expr(
        {}, [this](ValueId v) { return host(v); }, nullptr);
    return expr.text(ir::identity_of(*m.compute.monoid, m.type));
  }

  /// Bytes per row of operands cut by rows, and of intermediate values of a block.
  std::string bytes_per_row() {
    Extent bytes;
    for (const SymbolicAccess& a : op_.reads) {
      const int row = static_cast<int>(shared_label(outer_.size()));
      const bool by_rows = std::ranges::any_of(
          a.dims, [&](const SymbolicDim& d) { return !d.terms.empty() && d.terms[0].label == row; });
      Extent elements(ir::size_of(request_.program.type(a.tensor).scalar));
      for (const SymbolicDim& d : a.dims) {
        if (d.terms.empty()) elements = elements * (d.offset.hi - d.offset.lo);
      }
      if (by_rows) bytes = bytes + elements;
    }
    for (const Member& m : fused_.members) {
      if (closes(m) || in_place_.contains(m.value)) continue;
      Extent elements(ir::size_of(m.type));
      for (std::size_t d = m.shared.size(); d < m.compute.out.size(); ++d)
        elements = elements * (m.compute.out[d].end - m.compute.out[d].begin);
      bytes = bytes + elements;
    }
    return extent(bytes);
  }

  std::string range(const Member& m, std::size_t label) {
    if (counts_rows(m, label)) return rows_;
    const ir::Label& l = label_of(m, label);
    return fmt::format("Interval{{{}, {}}}", extent(l.begin), extent(l.end));
  }
  std::string loop(const Member& m, std::size_t label) {
    const std::string& name = labels_.at(m.value)[label];
    const bool shared = counts_rows(m, label);
    const ir::Label& l = label_of(m, label);
    return fmt::format("for (Index {0} = {1}; {0} < {2}; ++{0})", name, shared ? rows_ + ".lo" : extent(l.begin),
                       shared ? rows_ + ".hi" : extent(l.end));
  }

  std::string element(const Member& m) {
    std::string list;
    const std::size_t first = is_local(m.value) ? outer_.size() : 0;
    for (std::size_t l = first; l < m.compute.out.size(); ++l) {
      const Extent& begin = m.compute.out[l].begin;
      list += (l == first ? "" : ", ") + labels_.at(m.value)[l] + (begin == Extent(0) ? "" : " - " + extent(begin, 7));
    }
    return fmt::format("{}({})", name_of_local(m), list);
  }

  Statements statements(const Member& m) {
    if (m.compute.guard) return grouped(m);
    if (std::optional<std::string> call = product(m)) return {simple(*call)};
    const bool position_of_best = m.compute.monoid && ir::locates(*m.compute.monoid);
    if (!position_of_best) {
      if (std::optional<Statements> blocks = blocked(m)) return std::move(*blocks);
    }
    widest_ = std::max(widest_, widest(m));
    if (position_of_best) return position(m);
    std::vector<std::size_t> loops;
    for (std::size_t l = 0; l < m.compute.out.size(); ++l) {
      if (!is_outer(m, l)) loops.push_back(l);
    }
    if (m.compute.reduce.empty() && loops.size() == 1) {
      const Spelling s = spelled(m);
      return {simple(fmt::format("rt::rows::each({}, [&](Index {}) {{ {}{} = {}; }});", rows_,
                                 labels_.at(m.value)[loops[0]], s.parts, element(m), s.value))};
    }
    if (m.compute.reduce.empty()) {
      const Spelling s = spelled(m);
      return nest(m, loops, true, with_parts(s, {simple(fmt::format("{} = {};", element(m), s.value))}));
    }
    if (closes(m)) return closing(m);
    return nest(m, loops, false, along_lines(m));
  }

  /// A member's expression, and declarations of its common subexpressions.
  struct Spelling {
    std::string parts;
    std::string value;
  };
  Spelling spelled(const Member& m, int outer = 0) {
    ExprEmitter e = expressions(m);
    const Expr& body = m.compute.bodies[0];
    std::string parts = named_parts(
        e, body, [&](const ir::Select& s) { return takes_both(m, s); },
        [this](std::string_view name) { return table_.claim(name); });
    return {std::move(parts), e.text(body, outer)};
  }
  static Statements with_parts(const Spelling& s, Statements statements) {
    if (!s.parts.empty()) statements.insert(statements.begin(), simple(s.parts));
    return statements;
  }

  /// Loops over the labels, the first one outermost.
  Statements nest(const Member& m, const std::vector<std::size_t>& labels, bool simd, Statements body) {
    for (std::size_t k = labels.size(); k-- > 0;) {
      Statements around;
      if (simd && k + 1 == labels.size()) around.push_back(simple("#pragma omp simd"));
      around.push_back(block(loop(m, labels[k]), std::move(body)));
      body = std::move(around);
    }
    return body;
  }

  /// `scalar::greatest(a, b)`
  std::string combined(const Member& m, const std::string& a, const std::string& b) {
    const bool real = ir::is_float(m.type);
    switch (m.compute.monoid->kind) {
      case Monoid::Kind::kSum: return real ? fmt::format("{} + {}", a, b) : fmt::format("scalar::add({}, {})", a, b);
      case Monoid::Kind::kProd:
        return real ? fmt::format("{} * {}", a, b) : fmt::format("scalar::multiply({}, {})", a, b);
      case Monoid::Kind::kMin: return fmt::format("scalar::least({}, {})", a, b);
      case Monoid::Kind::kMax: return fmt::format("scalar::greatest({}, {})", a, b);
      case Monoid::Kind::kAny: return fmt::format("{} || {}", b, a);
      case Monoid::Kind::kAll: return fmt::format("{} && {}", b, a);
      default: break;
    }
    TDSL_CHECK(false, "other monoids are not fused");
    return {};
  }

  /// `total += x;`
  std::string accumulated(const Member& m, const std::string& total, const std::string& x) {
    const bool infix = ir::is_float(m.type) &&
                       (m.compute.monoid->kind == Monoid::Kind::kSum || m.compute.monoid->kind == Monoid::Kind::kProd);
    if (!infix) return fmt::format("{} = {};", total, combined(m, total, x));
    return fmt::format("{} {}= {};", total, m.compute.monoid->kind == Monoid::Kind::kSum ? "+" : "*", x);
  }

  /// Reduces over `labels`, along the last one with the runtime's partial results, and stores the result in `target`.
  Statements line_reduction(const Member& m, const std::vector<std::size_t>& labels, const std::string& start,
                            const std::string& target) {
    const std::vector<std::string>& names = labels_.at(m.value);
    const std::string type(cpp_type(m.type));
    const std::string& a = names[names.size() - 2];
    const std::string& b = names[names.size() - 1];
    const Spelling s = spelled(m);
    const Monoid::Kind kind = m.compute.monoid->kind;
    const bool logical = kind == Monoid::Kind::kAny || kind == Monoid::Kind::kAll;
    const std::string line =
        logical ? fmt::format(
                      "rt::rows::reduce<{0}>({1}, {2}, [&]({0} {3}, {0} {4}) {{ return {5}; }}, [&](Index {6}) "
                      "{{ {7}return {8}; }})",
                      type, range(m, labels.back()), identity(m), a, b, combined(m, a, b), names[labels.back()],
                      s.parts, s.value)
                : codegen::line_reduction(kind, type, range(m, labels.back()), names[labels.back()], s.value, s.parts);
    if (labels.size() == 1)
      return {simple(start.empty() ? fmt::format("{} = {};", target, line) : accumulated(m, target, line))};
    const std::string total = table_.claim("total");
    Statements result{simple(fmt::format("{} {} = {};", type, total, start.empty() ? identity(m) : start))};
    const std::vector<std::size_t> outer(labels.begin(), labels.end() - 1);
    for (Statement& s : nest(m, outer, false, {simple(accumulated(m, total, line))})) result.push_back(std::move(s));
    result.push_back(simple(fmt::format("{} = {};", target, total)));
    return result;
  }

  Statements along_lines(const Member& m) {
    std::vector<std::size_t> reduced;
    for (std::size_t l = m.compute.out.size(); l < m.compute.out.size() + m.compute.reduce.size(); ++l)
      reduced.push_back(l);
    return line_reduction(m, reduced, "", element(m));
  }

  /// Stores the position of the best element of every line.
  Statements position(const Member& m) {
    std::vector<std::size_t> loops;
    for (std::size_t l = 0; l < m.compute.out.size(); ++l) {
      if (!is_outer(m, l)) loops.push_back(l);
    }
    const std::size_t along = m.compute.out.size();
    const std::string_view function = m.compute.monoid->kind == Monoid::Kind::kArgMin ? "arg_min" : "arg_max";
    const Spelling s = spelled(m);
    return nest(m, loops, false,
                {simple(fmt::format("{} = rt::rows::{}<{}>({}, [&](Index {}) {{ {}return {}; }});", element(m),
                                    function, cpp_type(m.compute.bodies[0]->type), range(m, along),
                                    labels_.at(m.value)[along], s.parts, s.value))});
  }

  /// A reduction of rows and an operand shared by all rows, in register blocks.
  std::optional<Statements> blocked(const Member& m) {
    const ir::Compute& c = m.compute;
    if (closes(m) || c.reduce.empty() || c.out.size() <= m.shared.size()) return std::nullopt;
    Blocking labels;
    labels.row = m.shared.back();
    labels.column = static_cast<int>(c.out.size()) - 1;
    std::vector<std::size_t> loops;
    for (std::size_t l = 0; l + 1 < c.out.size(); ++l) {
      if (static_cast<int>(l) == labels.row) continue;
      labels.outer.push_back(static_cast<int>(l));
      if (!is_outer(m, l)) loops.push_back(l);
    }
    for (std::size_t l = c.out.size(); l < c.out.size() + c.reduce.size(); ++l)
      labels.reduce.push_back(static_cast<int>(l));
    const std::optional<Blocking> blocks = blocking(c, std::move(labels), [&](const ir::ExprNode& n) {
      const auto* r = std::get_if<ir::Read>(&n.op);
      return r != nullptr && !request_.program.is_host(r->tensor);
    });
    if (!blocks) return std::nullopt;
    needs_.add(Header::kBlockedReduction);
    BlockedPlace place{rows_, range(m, static_cast<std::size_t>(blocks->column)), {}, element(m)};
    for (const int l : blocks->reduce) place.reduce.push_back(range(m, static_cast<std::size_t>(l)));
    ExprEmitter expr = expressions(m);
    Statements result = nest(m, loops, false,
                             blocked_statements(expr, c, Expr(), m.type, *blocks, place,
                                                [&](std::string_view name) { return table_.claim(name); }));
    result.insert(result.begin(), simple(filled(m)));
    return result;
  }

  /// Initializes the elements of a block.
  std::string filled(const Member& m) {
    std::string lines, target = name_of_local(m);
    const std::size_t count = m.compute.out.size() - m.shared.size();
    for (std::size_t l = m.shared.size(); l < m.compute.out.size(); ++l) {
      const Extent length = m.compute.out[l].end - m.compute.out[l].begin;
      lines += (lines.empty() ? "" : ", ") + fmt::format("Interval{{0, {}}}", extent(length));
    }
    if (!is_local(m.value)) target = at_outer(target, outer_.size());
    return fmt::format("rt::rows::fill<{}, {}>({}, {}, {{{}}}, {});", cpp_type(m.type), count + 1, target, rows_, lines,
                       identity(m));
  }

  /// The view at the loops around the blocks.
  std::string at_outer(std::string view, std::size_t count) {
    for (std::size_t f = 0; f < count; ++f) view = fmt::format("rt::rows::at({}, {})", view, outer_[f]);
    return view;
  }
  [[nodiscard]] bool multiplies() const {
    return std::ranges::any_of(fused_.members, [](const Member& m) { return matrix_product(m).has_value(); });
  }

  /// The call for a product of matrices.
  std::string matrix_call(const Member& m, const MatrixProduct& p) {
    const std::string type(cpp_type(m.type));
    const auto view = [&](const ir::ExprNode* read, std::size_t shared) {
      const bool local = is_local(std::get<ir::Read>(read->op).tensor);
      return at_outer(tensor_name(*read), local ? 0 : std::min(shared, outer_.size()));
    };
    const std::string target =
        is_local(m.value) ? name_of_local(m) : at_outer(name_of_local(m), p.of_rows ? 0 : outer_.size());
    if (p.of_rows) {
      return fmt::format("rt::rows::add_product<{}>({}, {}, {}, {}, {}, {});", type, target, view(p.x, 0), rows_,
                         view(p.y, 0), range(m, 0), range(m, 1));
    }
    const std::size_t j = m.compute.out.size() - 1;
    const std::string y = view(p.y, p.shared);
    return fmt::format("rt::rows::product<{}>({}, {}, {}, {}, {}, {});", type, target, view(p.x, outer_.size()), rows_,
                       p.transposed ? fmt::format("rt::rows::transposed<const {}>({})", type, y) : y, range(m, j),
                       range(m, j + 1));
  }

  /// Rows outermost, the result's last dimension innermost; without dimensions, into a scalar.
  Statements closing(const Member& m) {
    std::vector<std::size_t> loops{static_cast<std::size_t>(m.shared.back())};
    for (std::size_t l = m.compute.out.size(); l < m.compute.out.size() + m.compute.reduce.size(); ++l) {
      if (!counts_rows(m, l) && !is_outer(m, l)) loops.push_back(l);
    }
    if (m.compute.out.empty()) return line_reduction(m, loops, element(m), element(m));
    for (std::size_t l = 0; l < m.compute.out.size(); ++l) loops.push_back(l);
    const Spelling s = spelled(m, 7);
    return nest(m, loops, true, with_parts(s, {simple(accumulated(m, element(m), s.value))}));
  }

  /// A sum of rows by groups, `sum[i where c == a[i]](…)`: every row meets the one element, or line, that its group
  /// has.
  Statements grouped(const Member& m) {
    const ir::Group group = *ir::group_of(m.compute);
    const std::size_t row = static_cast<std::size_t>(m.shared.back());
    std::vector<std::size_t> loops;
    for (std::size_t l = 0; l < m.compute.out.size() + m.compute.reduce.size(); ++l) {
      if (l != static_cast<std::size_t>(group.label) && !counts_rows(m, l) && !is_outer(m, l)) loops.push_back(l);
    }
    std::ranges::stable_sort(
        loops, [&](std::size_t a, std::size_t b) { return a >= m.compute.out.size() && b < m.compute.out.size(); });
    const Spelling s = spelled(m, 7);
    const std::string& c = labels_.at(m.value)[static_cast<std::size_t>(group.label)];
    const ir::Label& range = label_of(m, static_cast<std::size_t>(group.label));
    const bool simd = !loops.empty() && loops.back() < m.compute.out.size();
    Statements body = nest(m, loops, simd, with_parts(s, {simple(accumulated(m, element(m), s.value))}));
    body = {block(fmt::format("if (const Index {0} = {1}; {2} <= {0} && {0} < {3})", c,
                              expressions(m).text(group.number), extent(range.begin), extent(range.end)),
                  std::move(body))};
    return {block(loop(m, row), std::move(body))};
  }

  /// The call for `sum[j](x[i, j] * v[j])` and `sum[i](x[i, j] * u[i])`.
  std::optional<std::string> product(const Member& m) {
    if (const std::optional<MatrixProduct> p = matrix_product(m)) return matrix_call(m, *p);
    const auto& c = m.compute;
    const auto* times = std::get_if<ir::Binary>(&c.bodies[0]->op);
    if (!c.monoid || c.monoid->kind != Monoid::Kind::kSum || !ir::is_float(m.type) || times == nullptr ||
        times->op != ir::BinaryOp::kMul)
      return std::nullopt;
    if (c.out.size() != 1 || c.reduce.size() != 1 || !(c.out[0].begin == Extent(0))) return std::nullopt;
    if (!outer_.empty()) return std::nullopt;
    const std::int32_t other = 1 - m.shared[0];
    for (const auto& [x, v] : {std::pair(&times->left, &times->right), std::pair(&times->right, &times->left)}) {
      if (!is_read(**x, {m.shared[0], other}, m.type)) continue;
      const bool along = !closes(m) && is_read(**v, {other}, m.type);
      if (!along && !(closes(m) && is_read(**v, {m.shared[0]}, m.type))) continue;
      return fmt::format("rt::rows::{}<{}>({}, {}, {}, {}, {});", along ? "dot" : "add_scaled", cpp_type(m.type),
                         name_of_local(m), tensor_name(**x), rows_, tensor_name(**v),
                         range(m, static_cast<std::size_t>(other)));
    }
    return std::nullopt;
  }

  /// Whether it reads a tensor at exactly these labels.
  bool is_read(const ir::ExprNode& e, const std::vector<std::int32_t>& labels, ir::Scalar type) {
    const auto* r = std::get_if<ir::Read>(&e.op);
    return r != nullptr && e.type == type && !request_.program.is_host(r->tensor) &&
           std::ranges::equal(r->subscripts, labels, ir::is_label);
  }

  const KernelRequest& request_;
  const RecordedOp& op_;
  const FusedKernel& fused_;
  NameTable table_;
  std::vector<ValueId> captures_;
  std::map<int, std::string> views_;                    ///< by operand
  std::map<ValueId, std::string> local_names_;          ///< members, as views
  std::map<ValueId, std::vector<std::string>> labels_;  ///< of members; then two names for reductions
  std::vector<std::string> outer_;                      ///< loops around the blocks
  std::map<ValueId, ValueId> in_place_;                 ///< values that take the place of others
  std::string rows_, packed_, faults_;
  Needs needs_;
  rt::SimdLevel widest_ = rt::SimdLevel::kBaseline;
};

}  // namespace

EmittedKernel emit_fused(const KernelRequest& request) { return FusedEmitter(request).run(); }

}  // namespace tdsl::codegen
