#include <algorithm>
#include <numeric>
#include <set>

#include "codegen/loops/blocking.h"
#include "codegen/loops/compute_nest.h"
#include "codegen/loops/vector_forms.h"
#include "codegen/lower/fused.h"
#include "codegen/nest/facts.h"
#include "codegen/relations/describe.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"
#include "ir/graph/group.h"

namespace tdsl::codegen {

namespace {

using ir::Monoid;
using Member = FusedKernel::Member;

/// Names up to this length describe a value without a name of its own.
constexpr std::size_t kLongestName = 32;

bool closes(const Member& m) { return static_cast<std::size_t>(m.shared[0]) >= m.compute.out.size(); }
/// Blocks are of the last shared label; around them are loops over the others.
bool counts_rows(const Member& m, int label) { return label == m.shared.back(); }
bool is_outer(const Member& m, int label) {
  return !counts_rows(m, label) && std::ranges::find(m.shared, label) != m.shared.end();
}
const ir::Label& label_of(const Member& m, int label) {
  const auto l = static_cast<std::size_t>(label);
  return l < m.compute.out.size() ? m.compute.out[l] : m.compute.reduce[l - m.compute.out.size()];
}
int label_count(const Member& m) { return static_cast<int>(m.compute.out.size() + m.compute.reduce.size()); }
Extent length_of(const ir::Label& l) { return l.end - l.begin; }

/// Widest vectors that make the loops of a member faster, except for products and register-blocked reductions.
rt::SimdLevel widest_of(const Member& m) {
  const std::size_t loops = m.compute.out.size() + m.compute.reduce.size() - m.shared.size();
  return loops > 1 || library_calls(m.compute.bodies[0]) > 0 ? rt::SimdLevel::kAvx512 : rt::SimdLevel::kAvx2;
}

/// The nest of fused operators: the Computes of its members over blocks of rows, one after the other. Members other
/// than results are tensors that exist for one block.
class FusedNestBuilder final : public ComputeNest {
 public:
  FusedNestBuilder(const NestRequest& request, const OperationStep& step)
      : ComputeNest(request), step_(step), op_(*step.op), fused_(*step.fused) {
    nest_.form = nest::Form::kRows;
    outer_ = result().shared.size() - 1;
    block_ = shared_label(outer_);
    add_captures();
    add_indices();
    for (std::size_t k = 0; k < op_.reads.size(); ++k)
      operands_.push_back(added(operand_variable(op_.reads[k].tensor, static_cast<int>(k))));
    take_places();
    for (const Member& m : fused_.members) values_[m.value] = variable(m);
  }

  BuiltNest run() {
    std::vector<int> around(outer_);
    for (std::size_t f = 0; f < outer_; ++f) around[f] = shared_label(f);
    labels_ = numbered(0, op_.labels.size());
    loops(around, false, [&] {
      Body body = collected([&] { std::ranges::for_each(fused_.members, [&](const Member& m) { statements(m); }); });
      const bool products = blocked_ || std::ranges::any_of(fused_.members, [](const Member& m) {
                              return matrix_product(m).has_value();
                            });
      add(nest::For{block_, nest::Blocks{of_nest(bytes_per_row()), products}, nest::Order::kSerial, std::move(body)});
    });
    nest_.fresh = collected([&] {
      for (const Member& m : fused_.members) {
        if (is_result(m) && closes(m)) add(nest::Fill{values_.at(m.value), identity(m)});
      }
    });
    nest_.body = std::move(top_);
    return {std::move(nest_), std::move(captured_), widest_};
  }

 private:
  [[nodiscard]] const Member& result() const { return fused_.members.back(); }
  /// One of several, or the last member.
  [[nodiscard]] bool is_result(const Member& m) const { return &m == &result() || m.place.has_value(); }
  [[nodiscard]] static Expr identity(const Member& m) { return ir::identity_of(*m.compute.monoid, m.type); }
  /// The operation's label for number `f` of the shared ones.
  [[nodiscard]] int shared_label(std::size_t f) const {
    return closes(result()) ? static_cast<int>(op_.labels.size() - result().shared.size() + f) : result().shared[f];
  }

  // --- The context

  Expr part(const Expr& e) override {
    if (const auto* i = std::get_if<ir::IndexRef>(&e->op))
      return ir::index_ref(labels_[static_cast<std::size_t>(i->label)], e->range);
    const auto* r = std::get_if<ir::Read>(&e->op);
    if (r == nullptr) return {};
    if (program_.is_host(r->tensor)) return ir::read(e->type, captured(r->tensor), {}, e->range);
    const auto member = values_.find(r->tensor);
    const ValueId v = member != values_.end() ? member->second : operands_[number_of(e)];
    std::vector<Expr> subscripts;
    for (std::size_t d = is_local(v) ? outer_ : 0; d < r->subscripts.size(); ++d)
      subscripts.push_back(of_nest(r->subscripts[d]));
    return ir::read(e->type, v, std::move(subscripts), e->range);
  }
  Extent size(ValueId v) override { return Extent::of(captured(v)); }
  [[nodiscard]] bool takes_both(const ir::Select& s) const override { return nest::takes_both(nest_, {}, s); }
  nest::For enter(int label) override {
    return {labels_[static_cast<std::size_t>(label)], nest::TaskRange{}, nest::Order::kSerial, {}};
  }
  void leave(int /*label*/) override {}
  [[nodiscard]] bool vectorises(int label, const Body& body) const override {
    return nest::not_simd(nest_, labels_[static_cast<std::size_t>(label)], body).empty();
  }
  bool line(ValueId total, std::span<const int> labels) override {
    loops(labels.first(labels.size() - 1), false, [&] { row(total, labels.back()); });
    return true;
  }

  // --- Variables

  [[nodiscard]] std::size_t number_of(const Expr& read) const {
    return static_cast<std::size_t>(fused_.operand.at(read.id()));
  }
  [[nodiscard]] bool is_local(ValueId v) const { return nest_.variable(v).role == Role::kLocal; }
  ValueId captured(ValueId v) {
    if (!captures_.contains(v)) capture(v);
    return captures_.at(v);
  }

  /// Host values and sizes in numerical order, which determines how sizes are printed.
  void add_captures() {
    std::set<ValueId> values;
    const auto add_all = [&](const Extent& e) {
      std::ranges::for_each(e.values(), [&](ValueId v) { values.insert(v); });
    };
    for_each_use(program_, {{}, step_}, [&](ValueId v) {
      if (program_.is_host(v)) values.insert(v);
    });
    for (const SymbolicAccess& read : op_.reads) std::ranges::for_each(program_.type(read.tensor).shape, add_all);
    std::ranges::for_each(program_.type(step_.target).shape, add_all);
    for (const SymbolicLabel& l : op_.labels) add_all(l.range.lo), add_all(l.range.hi);
    for (const Member& m : fused_.members) {
      for (int l = 0; l < label_count(m); ++l) add_all(label_of(m, l).begin), add_all(label_of(m, l).end);
      add_all(m.place.value_or(Extent()));
    }
    for (const ValueId v : values) capture(v);
  }

  /// Those of the operation. Only the shared ones are cut; the last one, in blocks, names the rows of a block.
  void add_indices() {
    std::set<int> cut;
    for (std::size_t f = 0; f <= outer_; ++f) cut.insert(shared_label(f));
    for (int k = 0; k < static_cast<int>(op_.labels.size()); ++k) {
      const SymbolicLabel& l = op_.labels[static_cast<std::size_t>(k)];
      nest_.indices.push_back({k == block_ ? "rows" : l.name, true, of_nest(l.range.lo), of_nest(l.range.hi)});
      nest_.indices.back().whole = !cut.contains(k);
    }
  }

  /// Index variables of a member, in the order of its labels. Members share equal ones.
  std::vector<int> indices_of(const Member& m) {
    std::vector<int> indices;
    for (int l = 0; l < label_count(m); ++l) {
      const auto shared = std::ranges::find(m.shared, l);
      if (is_outer(m, l)) {
        indices.push_back(shared_label(static_cast<std::size_t>(shared - m.shared.begin())));
        continue;
      }
      const ir::Label& label = label_of(m, l);
      nest::Index index{label.name.empty() ? "k" : label.name, true, of_nest(label.begin), of_nest(label.end)};
      index.whole = !counts_rows(m, l);
      index.block = counts_rows(m, l) ? block_ : -1;
      if (m.compute.guard && l == ir::group_of(m.compute)->label) index.of_task = index.whole = false;
      indices.push_back(shared_index(std::move(index), indices));
    }
    return indices;
  }
  /// An index with these properties, other than those in `used`; the name is unique in the nest.
  int shared_index(nest::Index index, const std::vector<int>& used) {
    const std::string name = index.name;
    for (int copy = 1;; ++copy) {
      if (copy > 1) index.name = name + "_" + std::to_string(copy);
      const auto known = std::ranges::find(nest_.indices, index.name, &nest::Index::name);
      const int k = static_cast<int>(known - nest_.indices.begin());
      if (known == nest_.indices.end()) {
        nest_.indices.push_back(std::move(index));
        return k;
      }
      const bool same = known->of_task == index.of_task && known->begin == index.begin && known->end == index.end &&
                        known->whole == index.whole && known->block == index.block;
      if (same && std::ranges::find(used, k) == used.end()) return k;
    }
  }

  /// A result, or a tensor of the block's rows, without outer dimensions.
  ValueId variable(const Member& m) {
    if (const auto taken = in_place_.find(m.value); taken != in_place_.end()) return values_.at(taken->second);
    const std::string& known = program_.info(m.value).name;
    const std::string text = known.empty() ? describe(program_, m.compute) : known;
    nest::Variable made{is_result(m) ? Role::kResult : Role::kLocal,
                        &m == &result() && !m.place   ? title_of(program_, step_.target)
                        : text.size() <= kLongestName ? text
                                                      : "part",
                        {m.type, {}, {}}};
    for (std::size_t d = is_result(m) ? 0 : outer_; d < m.compute.out.size(); ++d) {
      made.type.shape.push_back(of_nest(length_of(m.compute.out[d])));
      if (is_result(m)) made.origin.push_back(of_nest(m.compute.out[d].begin));
    }
    if (m.place) made.place = of_nest(*m.place);
    return added(std::move(made));
  }

  /// An element-wise operator that is the last to read a value of the block takes its place, if every element needs the
  /// one there alone.
  void take_places() {
    for (std::size_t k = 0; k + 1 < fused_.members.size(); ++k) {
      const Member& m = fused_.members[k];
      if (m.compute.monoid || m.compute.out.empty()) continue;
      for (std::size_t from = 0; from < k; ++from) {
        const Member& before = fused_.members[from];
        const bool free =
            std::ranges::none_of(in_place_, [&](const auto& entry) { return entry.second == before.value; });
        if (!free || !same_elements(before, m) || !ends_in(before, k)) continue;
        in_place_[m.value] = before.value;
        break;
      }
    }
  }
  static bool same_elements(const Member& before, const Member& m) {
    return before.type == m.type && !closes(before) &&
           std::ranges::equal(before.compute.out, m.compute.out, [](const ir::Label& a, const ir::Label& b) {
             return a.begin == b.begin && a.end == b.end && a.begin == Extent(0);
           });
  }
  /// True if the last reader of the value is member number `k`, which reads the element it computes only.
  [[nodiscard]] bool ends_in(const Member& before, std::size_t k) const {
    std::vector<std::int32_t> same(before.compute.out.size());
    std::iota(same.begin(), same.end(), 0);
    bool here = false, only = true;
    for (std::size_t reader = 0; reader < fused_.members.size(); ++reader) {
      ir::for_each_node(fused_.members[reader].compute.bodies[0], [&](const ir::ExprNode& n) {
        const auto* r = std::get_if<ir::Read>(&n.op);
        if (r == nullptr || r->tensor != before.value) return;
        here = here || reader == k;
        only = only && (reader < k || (reader == k && is_read(n, same, before.type)));
      });
    }
    return here && only;
  }
  /// True for a read of a tensor at exactly these labels.
  [[nodiscard]] bool is_read(const ir::ExprNode& e, const std::vector<std::int32_t>& labels, ir::Scalar type) const {
    const auto* r = std::get_if<ir::Read>(&e.op);
    return r != nullptr && e.type == type && !program_.is_host(r->tensor) &&
           std::ranges::equal(r->subscripts, labels, ir::is_label);
  }

  /// Of operands that are cut along the rows, and of values that exist for a block.
  [[nodiscard]] Extent bytes_per_row() const {
    Extent bytes;
    for (const SymbolicAccess& a : op_.reads) {
      const bool by_rows = std::ranges::any_of(
          a.dims, [&](const SymbolicDim& d) { return !d.terms.empty() && d.terms[0].label == block_; });
      Extent elements(ir::size_of(program_.type(a.tensor).scalar));
      for (const SymbolicDim& d : a.dims) {
        if (d.terms.empty()) elements = elements * (d.offset.hi - d.offset.lo);
      }
      if (by_rows) bytes = bytes + elements;
    }
    for (const Member& m : fused_.members) {
      if (closes(m) || in_place_.contains(m.value)) continue;
      Extent elements(ir::size_of(m.type));
      for (std::size_t d = m.shared.size(); d < m.compute.out.size(); ++d)
        elements = elements * length_of(m.compute.out[d]);
      bytes = bytes + elements;
    }
    return bytes;
  }

  // --- Statements of one member

  void statements(const Member& m) {
    compute_ = &m.compute;
    labels_ = indices_of(m);
    if (m.compute.guard) return grouped(m);
    if (product(m)) return;
    const bool locates = m.compute.monoid && ir::locates(*m.compute.monoid);
    if (!locates && blocked(m)) return;
    widest_ = std::max(widest_, widest_of(m));
    if (m.compute.monoid && closes(m)) return closing(m);
    const std::vector<int> labels = inner_labels(m, 0, static_cast<int>(m.compute.out.size()));
    if (m.compute.reduce.empty())
      return loops(labels, true, [&] { change(element(m), std::nullopt, named(of_nest(m.compute.bodies[0]))); });
    loops(labels, false, [&] {
      const ValueId total = local("total", m.type);
      add(nest::Var{total, locates ? ir::constant_i64(-1) : identity(m)});
      accumulate(total, numbered(m.compute.out.size(), m.compute.reduce.size()), [] {});
      add(nest::Store{element(m), local_read(total)});
    });
  }

  /// Labels from `first` to `end` without those of the loops around the blocks.
  static std::vector<int> inner_labels(const Member& m, int first, int end) {
    std::vector<int> labels;
    for (int l = first; l < end; ++l) {
      if (!is_outer(m, l)) labels.push_back(l);
    }
    return labels;
  }

  Place element(const Member& m) {
    Place place{values_.at(m.value), {}};
    const bool of_block = is_local(place.variable);
    for (std::size_t l = of_block ? outer_ : 0; l < m.compute.out.size(); ++l) {
      const Expr index = ir::index_ref(labels_[l]);
      const Extent& begin = m.compute.out[l].begin;
      const bool shifted = of_block && !(begin == Extent(0));
      place.subscripts.push_back(shifted ? ir::binary(ir::BinaryOp::kSub, index, ir::expr_of_polynomial(of_nest(begin)))
                                         : index);
    }
    return place;
  }

  /// A reduction along a label through the runtime's partial results.
  void row(ValueId total, int label) {
    nest::Named parts = in_parts(of_nest(compute_->bodies[0]));
    add(nest::RowReduction{total, compute_->monoid->kind, labels_[static_cast<std::size_t>(label)], nest::TaskRange{},
                           std::move(parts.value), false, std::move(parts.lets)});
  }

  /// Rows outermost, the result's last dimension innermost; without dimensions, into a scalar.
  void closing(const Member& m) {
    std::vector<int> labels{m.shared.back()};
    for (int l = static_cast<int>(m.compute.out.size()); l < label_count(m); ++l) {
      if (!counts_rows(m, l) && !is_outer(m, l)) labels.push_back(l);
    }
    if (m.compute.out.empty()) return closing_scalar(m, labels);
    for (int l = 0; l < static_cast<int>(m.compute.out.size()); ++l) labels.push_back(l);
    loops(labels, true, [&] { change(element(m), m.compute.monoid, named(of_nest(m.compute.bodies[0]))); });
  }
  void closing_scalar(const Member& m, const std::vector<int>& labels) {
    if (labels.size() == 1) return accumulate(values_.at(m.value), labels, [] {});
    const ValueId total = local("total", m.type);
    add(nest::Start{total, element(m), {}});
    accumulate(total, labels, [] {});
    add(nest::Store{element(m), local_read(total)});
  }

  /// A sum of rows by groups, `sum[i where c == a[i]](…)`: every row changes the one element, or line, of its group.
  void grouped(const Member& m) {
    const ir::Group group = *ir::group_of(m.compute);
    const auto label = static_cast<std::size_t>(group.label);
    const auto out = static_cast<int>(m.compute.out.size());
    std::vector<int> labels;
    for (const auto& [first, end] : {std::pair(out, label_count(m)), std::pair(0, out)}) {
      for (const int l : inner_labels(m, first, end)) {
        if (l != group.label && !counts_rows(m, l)) labels.push_back(l);
      }
    }
    const bool vectors = !labels.empty() && labels.back() < out;
    loops(std::vector{m.shared.back()}, false, [&] {
      Body body = collected([&] {
        loops(labels, vectors, [&] { change(element(m), m.compute.monoid, named(of_nest(m.compute.bodies[0]))); });
      });
      add(nest::If{nest::Within{labels_[label], of_nest(group.number)}, std::move(body)});
    });
  }

  /// A reduction of rows with operands shared by all rows, by blocks that stay in registers.
  bool blocked(const Member& m) {
    const ir::Compute& c = m.compute;
    if (closes(m) || c.reduce.empty() || c.out.size() <= m.shared.size()) return false;
    Blocking labels;
    labels.row = m.shared.back();
    labels.column = static_cast<int>(c.out.size()) - 1;
    for (int l = 0; l < labels.column; ++l) {
      if (l != labels.row) labels.outer.push_back(l);
    }
    labels.reduce = numbered(c.out.size(), c.reduce.size());
    const std::optional<Blocking> blocks = blocking(c, std::move(labels), [&](const ir::ExprNode& n) {
      const auto* r = std::get_if<ir::Read>(&n.op);
      return r != nullptr && !program_.is_host(r->tensor);
    });
    if (!blocks) return false;
    blocked_ = true;
    add(nest::FillRows{whole(m), block_, identity(m)});
    std::vector<int> around;
    for (const int l : blocks->outer) {
      if (!is_outer(m, l)) around.push_back(l);
    }
    loops(around, false, [&] { add(blocked_reduction(c, *blocks, {}, element(m))); });
    return true;
  }

  /// A member's tensor, at the loops around the blocks.
  Place whole(const Member& m) { return at_outer(values_.at(m.value), outer_); }
  Place at_outer(ValueId v, std::size_t count) {
    Place place{v, {}};
    for (std::size_t f = 0; f < count && !is_local(v); ++f) place.subscripts.push_back(ir::index_ref(shared_label(f)));
    return place;
  }
  Place operand(const ir::ExprNode& read, std::size_t shared) {
    const auto member = values_.find(std::get<ir::Read>(read.op).tensor);
    const ValueId v =
        member != values_.end() ? member->second : operands_[static_cast<std::size_t>(fused_.operand.at(&read))];
    return at_outer(v, std::min(shared, outer_));
  }

  /// A product of matrices, or `sum[j](x[i, j] * v[j])` or `sum[i](x[i, j] * u[i])`, as one call; false for others.
  bool product(const Member& m) {
    using Kind = nest::RowProducts::Kind;
    if (const std::optional<MatrixProduct> p = matrix_product(m)) {
      const auto last = m.compute.out.size() - 1;
      const std::vector<int> along =
          p->of_rows ? std::vector{labels_[0], labels_[1]} : std::vector{labels_[last], labels_[last + 1]};
      add(nest::RowProducts{p->of_rows ? Kind::kSums : Kind::kRows,
                            at_outer(values_.at(m.value), p->of_rows ? 0 : outer_),
                            operand(*p->x, p->of_rows ? 0 : outer_), operand(*p->y, p->of_rows ? 0 : p->shared), block_,
                            along, p->transposed});
      return true;
    }
    const auto& c = m.compute;
    const auto* times = std::get_if<ir::Binary>(&c.bodies[0]->op);
    if (!c.monoid || c.monoid->kind != Monoid::Kind::kSum || !ir::is_float(m.type) || times == nullptr ||
        times->op != ir::BinaryOp::kMul || outer_ != 0)
      return false;
    if (c.out.size() != 1 || c.reduce.size() != 1 || !(c.out[0].begin == Extent(0))) return false;
    const std::int32_t other = 1 - m.shared[0];
    for (const auto& [x, v] : {std::pair(&times->left, &times->right), std::pair(&times->right, &times->left)}) {
      if (!is_read(**x, {m.shared[0], other}, m.type)) continue;
      const bool along = !closes(m) && is_read(**v, {other}, m.type);
      if (!along && !(closes(m) && is_read(**v, {m.shared[0]}, m.type))) continue;
      add(nest::RowProducts{along ? Kind::kDot : Kind::kScaled,
                            whole(m),
                            operand(**x, 0),
                            operand(**v, 0),
                            block_,
                            {labels_[static_cast<std::size_t>(other)]}});
      return true;
    }
    return false;
  }

  const OperationStep& step_;
  const RecordedOp& op_;
  const FusedKernel& fused_;
  std::size_t outer_ = 0;  ///< number of loops around the blocks
  int block_ = 0;          ///< the index of the rows
  std::vector<ValueId> operands_;
  std::map<ValueId, ValueId> values_;     ///< variables of members
  std::map<ValueId, ValueId> in_place_;   ///< members that take the place of others
  const ir::Compute* compute_ = nullptr;  ///< of the current member
  std::vector<int> labels_;               ///< its indices, by label
  bool blocked_ = false;
  rt::SimdLevel widest_ = rt::SimdLevel::kBaseline;
};

}  // namespace

BuiltNest build_rows_nest(const NestRequest& request, const OperationStep& step) {
  return FusedNestBuilder(request, step).run();
}

}  // namespace tdsl::codegen
