#include "codegen/lower/fused.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "codegen/loops/matrix_product.h"
#include "codegen/lower/compute_lowering.h"
#include "codegen/operations/describe.h"
#include "ir/graph/affine.h"
#include "ir/graph/check.h"
#include "ir/graph/expr_build.h"

namespace tdsl::codegen {

namespace {

using Member = FusedKernel::Member;

class FusedLowering {
 public:
  FusedLowering(ProgramBuilder& builder, const ir::Node& node, const ir::Fused& fused)
      : builder_(builder), node_(node), fused_(fused) {}

  void run() {
    for (std::size_t m = 0; m < fused_.body.nodes.size(); ++m) member(fused_.body.nodes[m], fused_.labels[m]);
    TDSL_CHECK(
        std::ranges::any_of(fused_.body.yields, [&](ValueId v) { return builder_.resolve(v) == result().value; }),
        "the last member is a result");
    op_->site = builder_.new_site();
    const bool packed = node_.results.size() > 1;
    packed ? pack() : labels();
    shared_labels();
    for (const Member& m : kernel_->members) reads(m);
    if (const auto walked = driver()) op_->sparsity.visits = {{*walked}};
    const ValueId target = packed ? packed_value() : builder_.resolve(node_.results[0]);
    op_->name = packed ? builder_.program().info(target).name : name(target);
    op_->op_class = closes() ? plan::OpClass::kReduce : plan::OpClass::kMap;
    if (closes())
      op_->combine = op_->pieces.empty() ? combine_of(*result().compute.monoid) : op_->pieces.front().combine;
    const ir::Compute& last = result().compute;
    op_->overwrites = !closes() && !driver() && last.reduce.empty() && last.left.empty() && !last.guard;
    op_->flops_per_row = flops([](const Member&) { return true; });
    op_->product_flops_per_row = flops([](const Member& m) { return matrix_product(m).has_value(); });
    if (driver()) op_->dense_flops_per_row = flops([](const Member& m) { return !m.walks(); });
    builder_.add(node_.range, OperationStep{target, op_, std::make_shared<ComputeKernel>(), kernel_});
    if (packed) unpack(target);
  }

 private:
  [[nodiscard]] const Member& result() const { return kernel_->members.back(); }
  [[nodiscard]] bool closes() const { return result().closes(); }

  /// The expression with reads of its own: members may share expressions, and read their operands by other labels.
  static Expr own_reads(const Expr& e) {
    return ir::rewrite(e, [](const Expr& part) {
      const auto* r = std::get_if<ir::Read>(&part->op);
      return r == nullptr ? part : ir::read(part->type, r->tensor, r->subscripts, part->range);
    });
  }
  void member(const ir::Node& node, const std::vector<std::int32_t>& shared) {
    const ValueId v = builder_.resolve(node.results[0]);
    Member m{v, std::get<ir::Compute>(node.op), builder_.type(v).scalar, shared, node.range};
    m.compute.bodies = {own_reads(builder_.rewritten(m.compute.bodies[0]))};
    if (m.compute.guard) m.compute.guard = own_reads(builder_.rewritten(m.compute.guard));
    if (m.compute.iteration) {
      for (ir::StoredOperand& operand : m.compute.iteration->operands)
        operand.tensor = builder_.resolve(operand.tensor);
    }
    for (auto* list : {&m.compute.out, &m.compute.reduce}) {
      for (ir::Label& l : *list) {
        l.begin = builder_.rewritten(l.begin, node.range);
        l.end = builder_.rewritten(l.end, node.range);
      }
    }
    kernel_->members.push_back(std::move(m));
  }

  /// Adds the result's dimensions as labels, and the shared label if it is not one of them.
  void labels() {
    const Member& r = result();
    for (std::size_t l = 0; l < r.compute.out.size(); ++l) {
      const ir::Label& label = r.compute.out[l];
      const bool shared = r.is_shared(static_cast<int>(l));
      op_->add_out({label.name, {label.begin, label.end}});
      if (!shared) op_->set_uncut(l);
    }
  }
  void shared_labels() {
    if (!closes()) return;
    const Member& r = result();
    for (const std::int32_t l : r.shared) {
      const ir::Label& label = r.label(l);
      op_->add_reduce({label.name, {label.begin, label.end}});
    }
  }

  // --- Several results that close, packed one behind the other

  [[nodiscard]] static Extent elements_of(const Member& m) {
    Extent count(1);
    for (const ir::Label& l : m.compute.out) count = count * (l.end - l.begin);
    return count;
  }
  /// Assigns positions in the packed tensor to the results, and combining operators to its pieces.
  void pack() {
    for (Member& m : kernel_->members) {
      if (std::ranges::none_of(fused_.body.yields, [&](ValueId v) { return builder_.resolve(v) == m.value; })) continue;
      if (!m.closes() || m.type != result().type)
        throw NotSupported(m.range,
                           "fused operators of several results that are not all sums over the rows, of one type, are "
                           "not supported yet");
      m.place = size_;
      size_ = size_ + elements_of(m);
      const plan::Combine combine = combine_of(*m.compute.monoid);
      if (op_->pieces.empty() || op_->pieces.back().combine != combine) op_->pieces.push_back({combine, Extent(0)});
      op_->pieces.back().count = op_->pieces.back().count + elements_of(m);
    }
    if (op_->pieces.size() == 1) op_->pieces.clear();
    op_->add_out({"element", {0, size_}});
    op_->set_uncut(0);
  }
  ValueId packed_value() {
    std::string names;
    for (const ValueId v : node_.results) names += (names.empty() ? "" : ", ") + builder_.program().info(v).name;
    return builder_.new_value(ir::Type{result().type, {size_}, {}}, names, node_.range, false);
  }
  /// One operation per result, which takes its part of the packed elements.
  void unpack(ValueId packed) {
    for (std::size_t k = 0; k < node_.results.size(); ++k) {
      const ValueId inside = builder_.resolve(fused_.body.yields[k]);
      const Member& m = *std::ranges::find_if(kernel_->members, [&](const Member& x) { return x.value == inside; });
      ir::Compute copy;
      Extent at = *m.place;
      Extent stride(1);
      for (std::size_t d = m.compute.out.size(); d-- > 0;) {
        const Extent length = m.compute.out[d].end - m.compute.out[d].begin;
        copy.out.insert(copy.out.begin(), {m.compute.out[d].name, Extent(0), length});
        at = at + Extent::of(ir::label_value(static_cast<std::int32_t>(d))) * stride;
        stride = stride * length;
      }
      const ValueId target = builder_.resolve(node_.results[k]);
      const Expr element = ir::read(m.type, packed, {ir::expr_of_polynomial(at)});
      const ir::Scalar type = builder_.type(target).scalar;
      copy.bodies = {type == m.type ? element : ir::cast(type, element)};
      take(target, *m.place, std::move(copy), m.range);
    }
  }
  void take(ValueId target, const Extent& from, ir::Compute copy, SourceRange range) {
    OperationStep step;
    // The parts fill the packed tensor: their subscripts need no checks.
    Steps before =
        builder_.nested([&] { step = ComputeLowering(builder_, target, std::move(copy), range).operation(); });
    for (Step& s : before) {
      if (!std::holds_alternative<SubscriptStep>(s.op)) builder_.add(s.range, std::move(s.op));
    }
    auto kernel = std::make_shared<ComputeKernel>(*step.kernel);
    if (step.op->tile.empty()) kernel->packed_from = from;
    step.kernel = std::move(kernel);
    builder_.add(range, std::move(step));
  }

  /// Number, in the operation, of shared label number `f`.
  [[nodiscard]] int shared(std::size_t f) const {
    return closes() ? static_cast<int>(op_->labels.size() - result().shared.size() + f) : result().shared[f];
  }

  void reads(const Member& m) {
    const auto enter = [&](const ir::ExprNode& n) {
      const auto* r = std::get_if<ir::Read>(&n.op);
      if (r == nullptr || builder_.is_host(r->tensor) || is_member(r->tensor) || kernel_->operand.contains(&n)) return;
      SymbolicAccess access{r->tensor, {}};
      const bool rows = builder_.type(r->tensor).is_compressed();
      for (std::size_t d = 0; d < r->subscripts.size(); ++d) {
        if (rows && d > 0) {
          access.dims.push_back(whole_dim());
          continue;
        }
        access.dims.push_back(
            dimension(m, r->subscripts[d], builder_.rewritten(builder_.type(r->tensor).shape[d], node_.range)));
      }
      kernel_->operand[&n] = operand(std::move(access));
    };
    ir::for_each_node(m.compute.bodies[0], enter);
    if (m.compute.guard) ir::for_each_node(m.compute.guard, enter);
  }

  /// The compressed matrix whose stored elements are visited; nullopt in a dense nest.
  [[nodiscard]] std::optional<ValueId> driver() const {
    for (const Member& m : kernel_->members) {
      if (m.walks() && !is_member(m.compute.iteration->driver().tensor)) return m.compute.iteration->driver().tensor;
    }
    return std::nullopt;
  }

  [[nodiscard]] bool is_member(ValueId v) const {
    return std::ranges::any_of(kernel_->members, [&](const Member& m) { return m.value == v; });
  }

  SymbolicDim dimension(const Member& m, const Expr& subscript, const Extent& extent) {
    const auto form = ir::affine_of(subscript, [this](const Expr& x) { return builder_.hoist(x); });
    TDSL_CHECK(form && form->terms.size() <= 1, "subscripts of fused operators are labels or constants");
    if (form->terms.empty()) return {{}, {form->constant, form->constant + Extent(1)}};
    const int label = form->terms[0].label;
    const auto place = std::ranges::find(m.shared, label);
    if (place != m.shared.end()) return {{{shared(static_cast<std::size_t>(place - m.shared.begin())), Extent(1)}}};
    const ir::Label& l = m.label(label);
    return {{}, {l.begin, l.end}, l.begin == Extent(0) && l.end == extent};
  }

  int operand(SymbolicAccess access) {
    const auto found = std::ranges::find(op_->reads, access);
    if (found != op_->reads.end()) return static_cast<int>(found - op_->reads.begin());
    op_->reads.push_back(std::move(access));
    return static_cast<int>(op_->reads.size()) - 1;
  }

  /// Operations per row of these members.
  template <class Counts>
  [[nodiscard]] Extent flops(const Counts& counts) const {
    Extent all;
    for (const Member& m : kernel_->members) {
      if (!counts(m)) continue;
      Extent points(1);
      for (int l = 0; l < m.label_count(); ++l) {
        if (!m.is_shared(l)) points = points * (m.label(l).end - m.label(l).begin);
      }
      const double each = flops_of(m.compute.bodies[0]) + (m.compute.monoid ? 1 : 0);
      all = all + points * Extent(static_cast<std::int64_t>(std::ceil(each)));
    }
    return all;
  }

  [[nodiscard]] std::string name(ValueId target) const {
    const std::string& known = builder_.program().info(target).name;
    if (!known.empty()) return known;
    const std::string text = describe(builder_.program(), result().compute);
    return text.size() <= 48 ? text : "temporary";
  }

  ProgramBuilder& builder_;
  const ir::Node& node_;
  const ir::Fused& fused_;
  Extent size_;  ///< of the packed results
  std::shared_ptr<RecordedOp> op_ = std::make_shared<RecordedOp>();
  std::shared_ptr<FusedKernel> kernel_ = std::make_shared<FusedKernel>();
};

}  // namespace

void lower_fused(ProgramBuilder& builder, const ir::Node& node, const ir::Fused& fused) {
  FusedLowering(builder, node, fused).run();
}

}  // namespace tdsl::codegen
