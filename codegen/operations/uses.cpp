#include <set>

#include "codegen/operations/fields.h"
#include "ir/graph/computes.h"
#include "runtime/plan/op_fields.h"

namespace tdsl::codegen {

namespace {

class UseVisitor : public StepVisitor<UseVisitor> {
 public:
  UseVisitor(const OperationProgram& program, const std::function<void(ValueId)>& f) : program_(program), f_(f) {}

  void target(const ValueId& v, Sizes sizes) {
    if (sizes == Sizes::kNone) return;
    for (const Extent& e : program_.type(v).shape) extent("", e);
    if (sizes == Sizes::kShape) return;
    for (const Extent& e : program_.info(v).tile) extent("", e);
  }
  void results(const std::vector<RoutineStep::Result>&) {}
  void results(const std::vector<LoopStep::Result>& results) {
    for (const LoopStep::Result& r : results) target(r.target, Sizes::kShape);
  }
  void inner(const char*, const ValueId& v) { inner_.insert(v); }
  void use(const char*, const ValueId& v) {
    if (!inner_.contains(v)) f_(v);
  }
  void use(const char*, const std::optional<ValueId>& v) {
    if (v) f_(*v);
  }
  void use(const char*, const std::variant<std::string, ValueId>& item) {
    if (const auto* v = std::get_if<ValueId>(&item)) f_(*v);
  }
  void extent(const char*, const Extent& e) {
    for (const ValueId v : e.values()) f_(v);
  }
  void extent(const char*, const std::optional<Extent>& e) {
    if (e) extent("", *e);
  }
  void expr(const char*, const Expr& e) {
    ir::for_each_read(e, [this](const ir::Read& r) { use("", r.tensor); });
  }
  void labels(const char*, const std::vector<ir::Label>& labels) {
    for (const ir::Label& l : labels) {
      extent("", l.begin);
      extent("", l.end);
    }
  }
  /// Ranges of reduce labels are counted as ranges of the operation's labels, except in a fused operator.
  void compute(const char*, const ir::Compute& c) {
    ir::for_each_expr(c, [this](const Expr& e) { expr("", e); });
    labels("", c.out);
    if (fused_) labels("", c.reduce);
  }
  void nodes(const char*, const ComputeKernel& kernel) {
    for (const auto& [node, extents] : kernel.checked) list("", kExtents, extents);
  }
  void nodes(const char*, const FusedKernel&) {}
  void pointer(const char*, const std::shared_ptr<const RecordedOp>& op) {
    const auto in_number = [this](const Extent& e) { extent("", e); };
    plan::for_each_number<Extent, plan::BasicOp>(*op, in_number, f_);
    plan::for_each_number(op->sparsity, in_number, f_);
    extent("", op->flops_per_row);
    extent("", op->product_flops_per_row);
    extent("", op->dense_flops_per_row);
  }
  void pointer(const char*, const std::shared_ptr<const ComputeKernel>& kernel) { visit_part(*this, *kernel); }
  void pointer(const char*, const std::shared_ptr<const FusedKernel>& fused) {
    fused_ = fused != nullptr;
    if (fused) visit_part(*this, *fused);
  }
  void pointer(const char*, const std::shared_ptr<const OperationStep>& epilogue) {
    if (!epilogue) return;
    const ValueId product = epilogue->op->reads.front().tensor;
    const std::function<void(ValueId)> others = [&](ValueId v) {
      if (v != product) f_(v);
    };
    UseVisitor of_epilogue(program_, others);
    visit_step(of_epilogue, *epilogue);
  }
  template <class Other>
  void pointer(const char*, const Other&) {}
  void steps(const char*, const Steps& steps) {
    for (const Step& s : steps) for_each_use(program_, s, f_);
  }

 private:
  const OperationProgram& program_;
  const std::function<void(ValueId)>& f_;
  std::set<ValueId> inner_;
  bool fused_ = false;
};

struct TargetVisitor : StepVisitor<TargetVisitor> {
  void target(const ValueId& v, Sizes) { targets.push_back(v); }
  void results(const std::vector<RoutineStep::Result>& results) {
    for (const RoutineStep::Result& r : results) {
      if (r.wanted) targets.push_back(r.target);
    }
  }
  void results(const std::vector<LoopStep::Result>& results) {
    for (const LoopStep::Result& r : results) targets.push_back(r.target);
  }
  std::vector<ValueId> targets;
};

template <class F>
struct ListVisitor : StepVisitor<ListVisitor<F>> {
  explicit ListVisitor(const F& each) : f(each) {}
  template <class List>
  void steps(const char*, List& steps) {
    f(steps);
  }
  const F& f;
};

}  // namespace

void for_each_use(const OperationProgram& program, const Step& step, const std::function<void(ValueId)>& f) {
  UseVisitor visitor(program, f);
  std::visit([&](const auto& s) { visit_step(visitor, s); }, step.op);
}

void for_each_list(const Step& step, const std::function<void(const Steps&)>& f) {
  ListVisitor visitor(f);
  std::visit([&](const auto& s) { visit_step(visitor, s); }, step.op);
}

void for_each_list(Step& step, const std::function<void(Steps&)>& f) {
  ListVisitor visitor(f);
  std::visit([&](auto& s) { visit_step(visitor, s); }, step.op);
}

std::vector<ValueId> targets_of(const Step& step) {
  TargetVisitor visitor;
  std::visit([&](const auto& s) { visit_step(visitor, s); }, step.op);
  return visitor.targets;
}

}  // namespace tdsl::codegen
