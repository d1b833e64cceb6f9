#include "codegen/operations/releases.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "ir/graph/affine.h"
#include "ir/graph/expr_build.h"

namespace tdsl::codegen {

namespace {

/// True if removing the step only removes the value it defines. Files are still checked without InputStep.
bool removable(const Step& step) {
  if (const auto* h = std::get_if<HostStep>(&step.op)) return !ir::may_fail(h->value);
  if (const auto* f = std::get_if<FoundStep>(&step.op)) return f->name.empty();
  if (const auto* o = std::get_if<OperationStep>(&step.op)) {
    if (o->fused || o->kernel->packed_from) return true;
    if (o->epilogue && !removable({step.range, *o->epilogue})) return false;
    const ir::Compute& c = o->kernel->compute;
    return o->kernel->checked.empty() && !ir::may_fail(c.bodies.front()) && (!c.guard || !ir::may_fail(c.guard));
  }
  if (const auto* r = std::get_if<RoutineStep>(&step.op)) return ir::is_line(r->kind);  // others reject some matrices
  return std::holds_alternative<ChainStep>(step.op) || std::holds_alternative<DimensionStep>(step.op) ||
         std::holds_alternative<ParamStep>(step.op) || std::holds_alternative<RandomStep>(step.op);
}

bool remove_unused(Steps& steps, const std::set<ValueId>& used) {
  const auto unused = [&](const Step& s) {
    const std::vector<ValueId> targets = targets_of(s);
    return !targets.empty() && removable(s) &&
           std::ranges::none_of(targets, [&](ValueId v) { return used.contains(v); });
  };
  bool changed = std::erase_if(steps, unused) != 0;
  for (Step& s : steps) {
    if (auto* routine = std::get_if<RoutineStep>(&s.op)) {
      for (RoutineStep::Result& r : routine->results) r.wanted = used.contains(r.target);
    }
    auto* loop = std::get_if<LoopStep>(&s.op);
    if (loop == nullptr || loop->kernel != nullptr) continue;
    // Tensors are the loop's memory; unused scalar results are dropped.
    std::erase_if(loop->results,
                  [&](const LoopStep::Result& r) { return r.continues < 0 && !used.contains(r.target); });
  }
  for (Step& s : steps) for_each_list(s, [&](Steps& inner) { changed = remove_unused(inner, used) || changed; });
  return changed;
}

bool defines(const Step& s, ValueId v) {
  return std::ranges::any_of(targets_of(s), [&](ValueId target) { return target == v; });
}

class Releases {
 public:
  explicit Releases(const OperationProgram& program) : program_(program) {}

  /// `carried`: variables of an enclosing loop that are reassigned at the end of `steps`. `ending`: tensors of outer
  /// scopes that are dead after `steps`, a branch.
  void run(Steps& steps, const std::vector<ValueId>& carried, const std::vector<ValueId>& ending) const {
    std::map<ValueId, std::size_t> last;
    for (std::size_t k = 0; k < steps.size(); ++k) {
      for (const ValueId v : targets_of(steps[k])) {
        if (local(steps, v)) last[v] = k;
      }
      for_each_use(program_, steps[k], [&](ValueId v) {
        const bool ends = std::ranges::find(ending, v) != ending.end();
        if (ends || local(steps, v) || assigned_later(steps, k, v, carried)) last[v] = k;
      });
    }
    std::map<std::size_t, std::vector<ValueId>> after;
    for (const auto& [v, k] : last) after[k].push_back(v);
    for (std::size_t k = 0; k < steps.size(); ++k) {
      Step& s = steps[k];
      if (auto* f = std::get_if<ForStep>(&s.op)) {
        run(f->body, f->carried, {});
      } else if (auto* w = std::get_if<WhileStep>(&s.op)) {
        run(w->condition, {}, {});
        run(w->body, w->carried, {});
      } else if (auto* i = std::get_if<IfStep>(&s.op)) {
        // A tensor last used in one branch is released inside it, and at the start of the other branch.
        const std::vector<ValueId> gone = std::exchange(after[k], {});
        run(i->then_steps, {}, gone);
        run(i->else_steps, {}, gone);
      } else if (auto* c = std::get_if<ChooseStep>(&s.op)) {
        const std::vector<ValueId> gone = std::exchange(after[k], {});
        for (Steps& form : c->forms) run(form, {}, gone);
      }
    }
    std::vector<ValueId> unused;
    std::ranges::copy_if(ending, std::back_inserter(unused), [&](ValueId v) { return !last.contains(v); });
    insert(steps, unused, after);
  }

 private:
  /// A tensor defined by a step of this list.
  [[nodiscard]] bool local(const Steps& steps, ValueId v) const {
    if (program_.is_host(v)) return false;
    return std::ranges::any_of(steps, [&](const Step& s) {
      const auto* copy = std::get_if<CopyStep>(&s.op);
      return defines(s, v) && (copy == nullptr || copy->declare);
    });
  }

  /// A carried tensor whose next value is assigned after step k of the body.
  [[nodiscard]] bool assigned_later(const Steps& steps, std::size_t k, ValueId v,
                                    const std::vector<ValueId>& carried) const {
    if (program_.is_host(v) || std::ranges::find(carried, v) == carried.end()) return false;
    return std::any_of(steps.begin() + static_cast<std::ptrdiff_t>(k) + 1, steps.end(),
                       [&](const Step& s) { return std::holds_alternative<CopyStep>(s.op) && defines(s, v); });
  }

  /// A routine releases its own operands; an operand passed twice is released after it.
  static void give_away(RoutineStep& routine, std::vector<ValueId>& gone) {
    for (RoutineStep::Operand& o : routine.operands) {
      const auto same = [&](const RoutineStep::Operand& other) { return other.tensor == o.tensor; };
      if (std::ranges::count_if(routine.operands, same) == 1) o.ends = std::erase(gone, o.tensor) != 0;
    }
  }

  static void insert(Steps& steps, const std::vector<ValueId>& before,
                     const std::map<std::size_t, std::vector<ValueId>>& after) {
    Steps result;
    for (const ValueId v : before) result.push_back({{}, ReleaseStep{v}});
    for (std::size_t k = 0; k < steps.size(); ++k) {
      Step& s = steps[k];
      auto* copy = std::get_if<CopyStep>(&s.op);
      const SourceRange range = s.range;
      std::vector<ValueId> gone = after.contains(k) ? after.at(k) : std::vector<ValueId>{};
      if (copy != nullptr) {
        copy->move = std::erase(gone, copy->source) != 0;
        if (copy->declare) std::erase(gone, copy->target);
      }
      if (auto* routine = std::get_if<RoutineStep>(&s.op)) give_away(*routine, gone);
      if (std::holds_alternative<DeclareStep>(s.op)) gone.clear();
      result.push_back(std::move(s));
      for (const ValueId v : gone) result.push_back({range, ReleaseStep{v}});
    }
    steps = std::move(result);
  }

  const OperationProgram& program_;
};

}  // namespace

void drop_unused(OperationProgram& program) {
  bool changed = true;
  while (changed) {
    std::set<ValueId> used;
    for (const Step& s : program.steps) for_each_use(program, s, [&](ValueId v) { used.insert(v); });
    changed = remove_unused(program.steps, used);
  }
}

void add_releases(OperationProgram& program) { Releases(program).run(program.steps, {}, {}); }

}  // namespace tdsl::codegen
