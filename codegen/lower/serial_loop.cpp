#include "codegen/lower/serial_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "codegen/loops/loop_bounds.h"
#include "codegen/lower/compute_lowering.h"
#include "codegen/operations/describe.h"
#include "codegen/operations/host_values.h"
#include "ir/graph/check.h"
#include "ir/graph/clone.h"

namespace tdsl::codegen {

namespace {

using ir::match;

const std::vector<ValueId>& inits_of(const ir::Node& loop) {
  const auto* f = std::get_if<ir::For>(&loop.op);
  return f != nullptr ? f->inits : std::get<ir::While>(loop.op).inits;
}

class LoopLowering {
 public:
  LoopLowering(ProgramBuilder& builder, const ir::Program& program, const ir::Node& loop)
      : builder_(builder), program_(program), loop_(loop) {}

  void run() {
    LoopStep step;
    step.loop = std::make_shared<const ir::Node>(loop_);
    for (const ValueId v : outer_values(program_, loop_)) step.outer[v] = builder_.resolve(v);
    sizes(step);
    results(step);
    operands(step);
    step.name = step.results.empty() ? "loop" : name_of(builder_.program(), step.results.front().target);
    LoopBounds bounds(*step.loop, step.sizes);
    step.flops = host_part(flops(*step.loop, bounds));
    for (const ir::Region* r : ir::regions_in(loop_)) {
      ir::for_each_node(
          *r, [&](const ir::Node& n) { step.ordered = step.ordered || std::holds_alternative<ir::Assert>(n.op); });
    }
    step.head = head();
    step.site = builder_.new_site();
    builder_.add(loop_.range, std::move(step));
  }

 private:
  /// Host integers as polynomials, through their definitions in the program.
  void sizes(LoopStep& step) const {
    std::map<ValueId, Extent> known;
    ir::for_each_node(program_.body, [&](const ir::Node& n) {
      const auto* c = std::get_if<ir::Compute>(&n.op);
      if (c == nullptr || !is_scalar_arithmetic(*c) || c->guard || c->base || c->bodies.size() != 1) return;
      const ir::Hoist operand = [&](const Expr& e) -> std::optional<ValueId> {
        const auto* r = std::get_if<ir::Read>(&e->op);
        if (r == nullptr || !r->subscripts.empty() || !builder_.is_host(builder_.resolve(r->tensor)))
          return std::nullopt;
        return r->tensor;
      };
      if (const auto form = ir::affine_of(c->bodies[0], operand)) {
        const auto size = ir::substitute_if_small(form->constant, [&](ValueId v) {
          const auto found = known.find(v);
          return std::optional(found != known.end() ? found->second : Extent::of(builder_.resolve(v)));
        });
        if (size) known.insert_or_assign(n.results[0], *size);
      }
    });
    for (const auto& [outside, here] : step.outer) {
      if (!builder_.is_host(here) || builder_.type(here).scalar != ir::Scalar::kI64) continue;
      const auto found = known.find(outside);
      step.sizes[outside] = found != known.end() ? found->second : Extent::of(here);
    }
  }

  /// Results initialised from an operand; initial values of scalars are operands like others.
  void results(LoopStep& step) {
    for (std::size_t k = 0; k < inits_of(loop_).size(); ++k) {
      const ValueId target = loop_.results[k];
      LoopStep::Result result{target, static_cast<int>(k), -1};
      if (builder_.type(target).rank() > 0) {
        ir::Type type = builder_.type(target);
        for (Extent& e : type.shape) e = builder_.rewritten(e, loop_.range);
        builder_.program().values[static_cast<std::size_t>(target.id)].type = type;
        result.continues = static_cast<int>(step.reads.size());
        step.reads.push_back(step.outer.at(inits_of(loop_)[k]));
      }
      step.results.push_back(result);
    }
  }

  /// Read-only tensors, and scalars that are data.
  void operands(LoopStep& step) {
    std::set<ValueId> inits;
    std::set<ValueId> in_body;
    for (const ValueId v : inits_of(loop_)) inits.insert(v);
    const auto yielded = [&](const ir::Region& r) { in_body.insert(r.yields.begin(), r.yields.end()); };
    for (const ir::Region* r : ir::regions_in(loop_)) {
      yielded(*r);
      ir::for_each_node(*r, [&](const ir::Node& n) {
        for (const ValueId v : ir::operands_of(program_, n)) in_body.insert(v);
        std::ranges::for_each(ir::regions_in(n), [&](const ir::Region* inner) { yielded(*inner); });
      });
    }
    std::set<ValueId> done;
    for (const auto& [v, here] : step.outer) {
      if (builder_.is_host(here)) continue;
      const bool tensor = builder_.type(here).rank() > 0;
      if (tensor && inits.contains(v) && !in_body.contains(v)) continue;
      if (done.insert(here).second) step.reads.push_back(here);
    }
  }

  [[nodiscard]] std::string head() const {
    const auto* f = std::get_if<ir::For>(&loop_.op);
    return f == nullptr ? "while" : "for " + name_of(builder_.program(), f->body.arguments[0]);
  }

  /// Operations of one run of the node. A `while`, and loops and sums with data-dependent bounds, count as one
  /// iteration.
  Extent flops(const ir::Node& n, LoopBounds& bounds) {
    const auto region = [&](const ir::Region& r) {
      Extent sum;
      for (const ir::Node& inner : r.nodes) sum = sum + flops(inner, bounds);
      return sum;
    };
    if (const auto* c = std::get_if<ir::Compute>(&n.op)) {
      double each = c->combine || c->monoid ? 1 : 0;
      for (const Expr& e : c->bodies) each += flops_of(e);
      Extent points(1);
      for (const auto* labels : {&c->out, &c->reduce}) {
        for (const ir::Label& l : *labels) points = points * bounds.points(l).value_or(1);
      }
      return Extent(static_cast<std::int64_t>(each)) * points;
    }
    if (const auto* r = std::get_if<ir::Routine>(&n.op)) return flops(*r, bounds);
    if (const auto* f = std::get_if<ir::For>(&n.op)) {
      const Extent often = bounds.iterations(*f).value_or(Extent(1));
      bounds.enter(*f);
      const Extent body = region(f->body);
      bounds.leave();
      return often * body;
    }
    if (const auto* w = std::get_if<ir::While>(&n.op)) return region(w->condition) + region(w->body);
    if (const auto* i = std::get_if<ir::If>(&n.op)) {
      // One branch, and one comparison.
      const Extent a = region(i->then_region);
      const Extent b = region(i->else_region);
      const auto difference = (a - b).constant();
      return Extent(1) + (difference && *difference >= 0 ? a : b);
    }
    return {};
  }

  /// Operations of a factorisation of n x n elements, and of the solution for the columns behind it.
  Extent flops(const ir::Routine& r, LoopBounds& bounds) const {
    using Kind = ir::Routine::Kind;
    const auto extent = [&](ValueId v, std::size_t d) {
      const std::vector<Extent>& shape = program_.type(v).shape;
      return d < shape.size() ? bounds.points({"", Extent(0), shape[d]}).value_or(Extent(1)) : Extent(1);
    };
    const Extent n = extent(r.operands[0], 0);
    const Extent square = n * n;
    if (r.kind == Kind::kEigh) return Extent(9) * square * n;
    const Extent columns = r.kind == Kind::kSolve ? extent(r.operands[1], 1) : r.kind == Kind::kInv ? n : Extent(0);
    return Extent::quotient(Extent(2) * square * n, r.kind == Kind::kCholesky ? 6 : 3) + Extent(2) * square * columns;
  }

  /// The part that does not depend on data.
  Extent host_part(const Extent& e) const {
    return e.substitute([&](ValueId v) -> std::optional<Extent> {
      return builder_.is_host(v) ? std::nullopt : std::optional(Extent(1));
    });
  }

  ProgramBuilder& builder_;
  const ir::Program& program_;
  const ir::Node& loop_;
};

}  // namespace

void lower_serial_loop(ProgramBuilder& builder, const ir::Program& program, const ir::Node& loop) {
  LoopLowering(builder, program, loop).run();
}

}  // namespace tdsl::codegen
