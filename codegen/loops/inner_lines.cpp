#include "codegen/loops/inner_lines.h"

#include <algorithm>

namespace tdsl::codegen {

namespace {

SourcePlace place_of(const SourceRange& range) { return {range.file, range.line}; }

/// True if one range covers the other, for expressions that span several lines.
bool covers(const SourceRange& range, const SourceRange& part) {
  return range.file == part.file && range.line <= part.line && part.line <= std::max(range.line, range.end_line);
}

class InnerLines {
 public:
  std::map<SourcePlace, std::set<SourcePlace>> lines;

  void visit(const Steps& list) {
    for (const Step& s : list) {
      if (const auto* o = std::get_if<OperationStep>(&s.op)) operation(s.range, *o);
      if (const auto* l = std::get_if<LoopStep>(&s.op)) loop(s.range, *l);
      for_each_list(s, [this](const Steps& inner) { visit(inner); });
    }
  }

 private:
  void add(const SourceRange& operation, const SourceRange& inner) {
    if (operation.known() && inner.known() && place_of(operation) != place_of(inner))
      lines[place_of(operation)].insert(place_of(inner));
  }

  /// For a `result` without reduction the whole expression belongs to its line, even if parts come from a function
  /// elsewhere.
  void values(const SourceRange& place, const ir::Compute& compute, bool result) {
    for (const Expr& body : compute.bodies) {
      ir::for_each_node(body, [&](const ir::ExprNode& e) {
        const bool computes = std::holds_alternative<ir::Unary>(e.op) || std::holds_alternative<ir::Binary>(e.op) ||
                              std::holds_alternative<ir::Select>(e.op) || std::holds_alternative<ir::Apply>(e.op);
        if (!computes || !ir::is_float(e.type) || (result && covers(place, e.range))) return;
        if (result && !compute.monoid && covers(body->range, e.range)) return;
        add(place, e.range);
      });
    }
  }

  void operation(const SourceRange& place, const OperationStep& o) {
    if (o.kernel != nullptr) values(place, o.kernel->compute, true);
    if (o.epilogue != nullptr) operation(place, *o.epilogue);
    if (o.fused == nullptr) return;
    for (const FusedKernel::Member& m : o.fused->members) {
      if (ir::is_float(m.type)) add(place, m.range);
      values(place, m.compute, false);
    }
  }

  void loop(const SourceRange& place, const LoopStep& l) {
    if (l.loop == nullptr) return;
    const auto visit = [&](const ir::Node& n) {
      if (const auto* c = std::get_if<ir::Compute>(&n.op)) values(place, *c, false);
    };
    if (const auto* f = std::get_if<ir::For>(&l.loop->op)) ir::for_each_node(f->body, visit);
    if (const auto* w = std::get_if<ir::While>(&l.loop->op)) ir::for_each_node(w->body, visit);
  }
};

}  // namespace

std::map<SourcePlace, std::set<SourcePlace>> inner_lines(const OperationProgram& program) {
  InnerLines found;
  found.visit(program.steps);
  return std::move(found.lines);
}

}  // namespace tdsl::codegen
