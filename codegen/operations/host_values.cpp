#include "codegen/operations/host_values.h"

#include "ir/graph/clone.h"
#include "ir/graph/computes.h"

namespace tdsl::codegen {

namespace {

using ir::match;
using ir::ValueId;

/// A fixpoint that starts with every scalar as a host value and removes those that are not: values carried by loops
/// stay host values unless something makes them data.
class Classifier {
 public:
  explicit Classifier(const ir::Program& program) : program_(program) {
    for (const ir::ValueInfo& v : program.values) host_.push_back(v.type.rank() == 0);
  }

  std::vector<bool> run() {
    do {
      changed_ = false;
      region(program_.body);
    } while (changed_);
    return host_;
  }

 private:
  [[nodiscard]] bool host(ValueId v) const { return host_[static_cast<std::size_t>(v.id)]; }
  void set_data(ValueId v) {
    if (!host(v)) return;
    host_[static_cast<std::size_t>(v.id)] = false;
    changed_ = true;
  }
  /// One value that a loop carries. `condition_argument` is invalid for For.
  struct Carried {
    ValueId argument;
    ValueId yield;
    ValueId result;
    ValueId condition_argument = {};
  };

  void region(const ir::Region& r) {
    for (const ir::Node& n : r.nodes) node(n);
  }

  void node(const ir::Node& n) {
    const auto data = [&](const auto&) {
      for (const ValueId v : n.results) set_data(v);
    };
    match(
        n.op, [](const ir::Dimension&) {}, [](const ir::Found&) {}, [](const ir::Param&) {},
        [&](const ir::Input& i) { data(i); },
        [&](const ir::Compute& c) {
          if (!is_scalar_arithmetic(c) || !reads_host_only(c)) data(c);
        },
        [&](const ir::Random& r) { data(r); }, [&](const ir::Routine& r) { data(r); },
        [&](const ir::Chain& c) { data(c); },
        [&](const ir::For& f) {
          if (f.serial && !runs_on_host(program_, n, host_)) return data(f);
          region(f.body);
          for (std::size_t k = 0; k < f.inits.size(); ++k) {
            carried(f.inits[k], {f.body.arguments[k + 1], f.body.yields[k], n.results[k], {}});
          }
        },
        [&](const ir::While& w) {
          if (w.serial && !runs_on_host(program_, n, host_)) return data(w);
          region(w.condition);
          region(w.body);
          for (std::size_t k = 0; k < w.inits.size(); ++k) {
            carried(w.inits[k], {w.body.arguments[k + 1], w.body.yields[k], n.results[k], w.condition.arguments[k]});
          }
        },
        [&](const ir::If& i) {
          region(i.then_region);
          region(i.else_region);
          for (std::size_t k = 0; k < n.results.size(); ++k) {
            if (!host(i.then_region.yields[k]) || !host(i.else_region.yields[k])) set_data(n.results[k]);
          }
        },
        [&](const ir::Choose& c) {
          for (const ir::Region& r : c.regions) region(r);
          data(c);  // the choice of a form does not affect host values
        },
        [&](const ir::Fused& f) {
          for (const ir::Node& member : f.body.nodes) {
            for (const ValueId v : member.results) set_data(v);
          }
          data(f);
        },
        [](const ir::Print&) {}, [](const ir::Assert&) {}, [](const ir::Check&) {}, [](const ir::Output&) {},
        [](const ir::Gradient&) {});
  }

  /// The variable is data if its initial or any later value is; this implies nothing about those values.
  void carried(ValueId init, const Carried& c) {
    if (!host(init) || !host(c.yield)) set_data(c.argument);
    if (!host(c.argument)) set_data(c.result);
    if (c.condition_argument.valid() && !host(c.argument)) set_data(c.condition_argument);
  }

  [[nodiscard]] bool reads_host_only(const ir::Compute& c) const {
    bool good = !c.base || host(*c.base);
    const auto visit = [&](const ir::Expr& e) {
      if (!e) return;
      ir::for_each_read(e, [&](const ir::Read& r) { good = good && host(r.tensor); });
    };
    for (const ir::Expr& body : c.bodies) visit(body);
    visit(c.guard);
    return good;
  }

  const ir::Program& program_;
  std::vector<bool> host_;
  bool changed_ = false;
};

}  // namespace

bool is_scalar_arithmetic(const ir::Compute& compute) {
  return compute.out.empty() && compute.reduce.empty() && compute.left.empty();
}

std::vector<bool> host_values(const ir::Program& program) { return Classifier(program).run(); }

namespace {

/// Calls `defined` and `mentioned` with all values that the loop and its nodes define and use.
void for_each_value(const ir::Program& program, const ir::Node& loop, const std::function<void(ValueId)>& defined,
                    const std::function<void(ValueId)>& mentioned) {
  const auto node = [&](const ir::Node& n) {
    std::ranges::for_each(n.results, defined);
    std::ranges::for_each(ir::operands_of(program, n), mentioned);
    for (const ir::Region* r : ir::regions_in(n)) {
      std::ranges::for_each(r->arguments, defined);
      std::ranges::for_each(r->yields, mentioned);
    }
  };
  node(loop);
  for (const ir::Region* r : ir::regions_in(loop)) ir::for_each_node(*r, node);
}

}  // namespace

std::set<ValueId> outer_values(const ir::Program& program, const ir::Node& loop) {
  std::set<ValueId> defined;
  std::set<ValueId> mentioned;
  for_each_value(
      program, loop, [&](ValueId v) { defined.insert(v); }, [&](ValueId v) { mentioned.insert(v); });
  std::set<ValueId> outer;
  std::ranges::set_difference(mentioned, defined, std::inserter(outer, outer.end()));
  return outer;
}

bool runs_on_host(const ir::Program& program, const ir::Node& loop, const std::vector<bool>& host) {
  for (const ValueId v : outer_values(program, loop)) {
    if (!host[static_cast<std::size_t>(v.id)]) return false;
  }
  bool arithmetic = true;
  for (const ir::Region* r : ir::regions_in(loop)) {
    ir::for_each_node(*r, [&](const ir::Node& n) {
      const auto* c = std::get_if<ir::Compute>(&n.op);
      const bool draws = std::holds_alternative<ir::Random>(n.op);
      arithmetic = arithmetic && !draws && (c == nullptr || is_scalar_arithmetic(*c));
    });
  }
  return arithmetic;
}

}  // namespace tdsl::codegen
