#include "codegen/walk/knowledge.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "codegen/operations/library_routine.h"
#include "ir/graph/computes.h"
#include "runtime/routines/algorithms/routine.h"

namespace tdsl::codegen {

namespace {

using ir::match;
using record::Known;

/// How late a host value becomes known. 0: at start. 1, 2, …: it changes with the loop at that depth. Then:
constexpr int kLost = 1000;       ///< result of a loop that a survey cuts short
constexpr int kData = kLost + 1;  ///< computed from data

// Note [Levels of host values] The pass is an abstract interpretation: it visits the steps in order and tracks the
// level of every host variable. A loop body is visited until the levels at its beginning are stable. Variables that
// outlive a branch are as late as its condition. The results of a loop that computes scalars alone are as late as its
// inputs, because a survey runs it to its end; surveys stop other loops after two iterations, so their results are
// lost.

/// True if a step, or one inside it, records an operation.
bool records(const OperationProgram& program, const Step& s);
bool records(const OperationProgram& program, const Steps& steps) {
  return std::ranges::any_of(steps, [&](const Step& s) { return records(program, s); });
}
bool records(const OperationProgram& program, const Step& s) {
  return match(
      s.op, [](const HostStep&) { return false; }, [](const DimensionStep&) { return false; },
      [](const FoundStep&) { return false; }, [](const ParamStep&) { return false; },
      [](const InputStep&) { return true; }, [](const RandomStep&) { return true; },
      [](const OperationStep&) { return true; }, [](const ChainStep&) { return true; },
      [](const RoutineStep&) { return true; }, [](const LoopStep&) { return true; },
      [](const ControlReadStep&) { return true; }, [](const CopyStep&) { return false; },
      [](const GathersStep&) { return false; }, [](const DeclareStep&) { return false; },
      [](const SubscriptStep&) { return false; }, [&](const ForStep& f) { return records(program, f.body); },
      [&](const WhileStep& w) { return records(program, w.condition) || records(program, w.body); },
      [&](const IfStep& i) { return records(program, i.then_steps) || records(program, i.else_steps); },
      [&](const ChooseStep& c) {
        return std::ranges::any_of(c.forms, [&](const Steps& form) { return records(program, form); });
      },
      [](const FenceStep&) { return false; }, [](const PrintStep&) { return true; },
      [&](const AssertStep& a) { return !program.is_host(a.condition); }, [](const CheckStep&) { return false; },
      [](const OutputStep& o) { return !o.begins; }, [](const ReleaseStep&) { return false; },
      [](const TimeTileStep&) { return false; });
}

/// Host variables of outer scopes that are assigned inside the step.
std::set<ValueId> assigned_in(const OperationProgram& program, const Step& step) {
  std::set<ValueId> assigned;
  std::set<ValueId> own;
  const std::function<void(const Steps&)> look = [&](const Steps& steps) {
    for (const Step& s : steps) {
      const auto* copy = std::get_if<CopyStep>(&s.op);
      if (copy != nullptr && program.is_host(copy->target)) (copy->declare ? own : assigned).insert(copy->target);
      if (const auto* declared = std::get_if<DeclareStep>(&s.op)) own.insert(declared->target);
      for_each_list(s, look);
    }
  };
  for_each_list(step, look);
  for (const ValueId v : own) assigned.erase(v);
  return assigned;
}

class Knowledge {
 public:
  explicit Knowledge(OperationProgram& program) : program_(program), level_(program.values.size(), 0) {}

  void run() {
    steps(program_.steps);
    fences(program_.steps, false);
  }

 private:
  int& level(ValueId v) { return level_[static_cast<std::size_t>(v.id)]; }
  [[nodiscard]] int level(ValueId v) const { return level_[static_cast<std::size_t>(v.id)]; }
  int level(const Extent& e) const {
    int latest = 0;
    for (const ValueId v : e.values()) latest = std::max(latest, level(v));
    return latest;
  }
  int level(const Expr& e) const {
    int latest = 0;
    ir::for_each_read(e, [&](const ir::Read& r) { latest = std::max(latest, level(r.tensor)); });
    return latest;
  }
  static Known known(int level) { return level == 0 ? Known::kStart : level == kData ? Known::kData : Known::kLoop; }

  void steps(Steps& list) {
    for (Step& s : list) step(s);
  }

  void step(Step& s) {
    if (marking_ && extents_level(s) >= kLost) late_.insert(&s);
    match(
        s.op, [&](HostStep& h) { level(h.target) = level(h.value); }, [&](DimensionStep& d) { level(d.target) = 0; },
        [&](FoundStep& f) { level(f.target) = level(f.count); },
        [&](ParamStep& p) { level(p.target) = p.computed_default ? level(*p.computed_default) : 0; }, [](InputStep&) {},
        [](RandomStep&) {}, [](OperationStep&) {}, [&](RoutineStep& r) { routine(r); }, [](ChainStep&) {},
        [](LoopStep&) {}, [&](ControlReadStep& c) { level(c.target) = kData; },
        [&](CopyStep& c) {
          if (program_.is_host(c.target)) level(c.target) = level(c.source);
        },
        [](GathersStep&) {}, [](DeclareStep&) {}, [](SubscriptStep&) {}, [&](ForStep& f) { for_loop(s, f); },
        [&](WhileStep& w) { while_loop(s, w); }, [&](IfStep& i) { branch(s, i); },
        [&](ChooseStep& c) {
          for (Steps& form : c.forms) steps(form);
        },
        [](FenceStep&) {}, [](PrintStep&) {}, [](AssertStep&) {}, [](CheckStep&) {}, [](OutputStep&) {},
        [](ReleaseStep&) {}, [&](TimeTileStep& t) { level(t.target) = std::max(level(t.begin), level(t.end)); });
  }

  /// Level of the extents of operations that the step itself records.
  [[nodiscard]] int extents_level(const Step& s) const {
    int latest = 0;
    const auto see = [&](const Extent& e) { latest = std::max(latest, level(e)); };
    const auto see_shape = [&](ValueId v) {
      for (const Extent& e : program_.type(v).shape) see(e);
    };
    if (const auto* input = std::get_if<InputStep>(&s.op)) see_shape(input->target);
    if (const auto* random = std::get_if<RandomStep>(&s.op)) see_shape(random->target);
    if (const auto* loop = std::get_if<LoopStep>(&s.op)) {
      for (const LoopStep::Result& r : loop->results) see_shape(r.target);
    }
    if (const auto* routine = std::get_if<RoutineStep>(&s.op)) latest = std::max(latest, sizes_level(*routine));
    if (const auto* operation = std::get_if<OperationStep>(&s.op)) {
      for (const SymbolicLabel& l : operation->op->labels) see(l.range.hi - l.range.lo);
      for (const Extent& e : operation->op->shape) see(e);
    }
    if (const auto* chain = std::get_if<ChainStep>(&s.op)) {
      for (const Extent& e : chain->sizes) see(e);
    }
    return latest;
  }

  [[nodiscard]] int sizes_level(const RoutineStep& r) const {
    int latest = level(r.count);
    for (const ValueId v : r.sizes) latest = std::max(latest, program_.is_host(v) ? level(v) : kData);
    return latest;
  }

  void routine(RoutineStep& r) {
    if (!marking_) return;
    r.known = known(sizes_level(r));
    // Branches on data are internal to the routine.
    const bool on_data = r.kind == ir::Routine::Kind::kQr;
    if (r.known == Known::kStart && !on_data) return;
    r.branch = program_.sites + 1;
    program_.sites += rt::routines::branches_of(library_routine(r.kind));
  }

  void for_loop(Step& s, ForStep& f) {
    const int range = std::max(level(f.begin), level(f.end));
    const int first = level(f.begin);
    const bool does_record = records(program_, f.body);
    loop(s, does_record, [&] {
      level(f.index) = std::max(depth_, first);
      steps(f.body);
      return range;
    });
    if (!marking_) return;
    f.known = does_record ? record::Loop(range >= kLost ? Known::kData : known(range)) : record::kScalars;
  }

  void while_loop(Step& s, WhileStep& w) {
    const bool does_record = records(program_, w.condition) || records(program_, w.body);
    int condition = 0;
    loop(s, does_record, [&] {
      level(w.iteration) = depth_;
      steps(w.condition);
      condition = level(w.condition_value);
      steps(w.body);
      return condition == kData ? kData : 0;
    });
    if (!marking_) return;
    w.known = does_record ? record::Loop(condition == kData ? Known::kData : Known::kStart) : record::kScalars;
  }

  /// `pass` visits the loop once and returns the level of its trip count.
  void loop(const Step& s, bool does_record, const std::function<int()>& pass) {
    const std::set<ValueId> assigned = assigned_in(program_, s);
    int outside = 0;
    const auto see = [&](ValueId v) {
      if (program_.is_host(v) && (level(v) <= depth_ || level(v) >= kLost)) outside = std::max(outside, level(v));
    };
    for_each_use(program_, s, see);
    for (const ValueId v : assigned) see(v);
    ++depth_;
    for (const ValueId v : assigned) level(v) = std::max(level(v), depth_);
    const bool marking = std::exchange(marking_, false);
    int times = 0;
    std::vector<int> before;
    do {
      before = level_;
      times = pass();
      for (std::size_t k = 0; k < level_.size(); ++k) level_[k] = std::max(level_[k], before[k]);
    } while (level_ != before);
    marking_ = marking;
    if (marking_) static_cast<void>(pass());
    level_ = before;
    --depth_;
    for (const ValueId v : assigned) {
      if (level(v) >= kLost) continue;
      level(v) = times == kData ? kData : does_record ? kLost : std::max(outside, times);
    }
  }

  void branch(const Step& s, IfStep& i) {
    const int condition = level(i.condition);
    if (marking_) {
      i.known = known(condition);
      if (i.known != Known::kStart) i.site = ++program_.sites;
    }
    const std::vector<int> before = level_;
    steps(i.then_steps);
    const std::vector<int> then_levels = std::exchange(level_, before);
    steps(i.else_steps);
    for (std::size_t k = 0; k < level_.size(); ++k) level_[k] = std::max(level_[k], then_levels[k]);
    for (const ValueId v : assigned_in(program_, s)) level(v) = std::max(level(v), condition);
  }

  /// Inserts fences before late steps; returns whether every path through the list has passed one.
  bool fences(Steps& list, bool fenced) {
    Steps result;
    for (Step& s : list) {
      if (late_.contains(&s) && !fenced) {
        result.push_back({s.range, FenceStep{}});
        fenced = true;
      }
      if (auto* f = std::get_if<ForStep>(&s.op)) static_cast<void>(fences(f->body, fenced));
      if (auto* w = std::get_if<WhileStep>(&s.op)) {
        const bool condition_fenced = fences(w->condition, fenced);
        static_cast<void>(fences(w->body, condition_fenced));
        fenced = condition_fenced;
      }
      if (auto* i = std::get_if<IfStep>(&s.op)) {
        const bool then_fenced = fences(i->then_steps, fenced);
        fenced = fences(i->else_steps, fenced) && then_fenced;
      }
      if (auto* c = std::get_if<ChooseStep>(&s.op)) {
        bool all = true;
        for (Steps& form : c->forms) all = fences(form, fenced) && all;
        fenced = all;
      }
      result.push_back(std::move(s));
    }
    list = std::move(result);
    return fenced;
  }

  OperationProgram& program_;
  std::vector<int> level_;  ///< by value, at the current step
  int depth_ = 0;
  bool marking_ = true;
  std::set<const Step*> late_;  ///< steps with late extents
};

}  // namespace

void mark_knowledge(OperationProgram& program) { Knowledge(program).run(); }

}  // namespace tdsl::codegen
