#include "codegen/print/variables.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string>

#include "codegen/nest/increments.h"

namespace tdsl::codegen {

namespace {

/// True if the step may assign an existing variable.
bool may_assign(const Step& s) {
  return std::holds_alternative<OperationStep>(s.op) || std::holds_alternative<HostStep>(s.op) ||
         std::holds_alternative<LoopStep>(s.op) || std::holds_alternative<RoutineStep>(s.op) ||
         std::holds_alternative<ChainStep>(s.op) || std::holds_alternative<DeclareStep>(s.op) ||
         std::holds_alternative<CopyStep>(s.op) || std::holds_alternative<InputStep>(s.op) ||
         std::holds_alternative<RandomStep>(s.op);
}

/// True if the step evaluates its operands before it assigns its target.
bool assigns_last(const Step& s) {
  return std::holds_alternative<OperationStep>(s.op) || std::holds_alternative<HostStep>(s.op);
}

void add_steps(const Step& step, std::set<const Step*>& all) {
  all.insert(&step);
  for_each_list(step, [&](const Steps& inner) {
    for (const Step& s : inner) add_steps(s, all);
  });
}

bool contains(const std::vector<ValueId>& list, ValueId v) { return std::ranges::find(list, v) != list.end(); }

/// Adds the values used other than as loop bounds.
void find_uses(const OperationProgram& program, const Steps& steps, std::set<ValueId>& used) {
  for (const Step& s : steps) {
    if (const auto* f = std::get_if<ForStep>(&s.op)) {
      find_uses(program, f->body, used);
    } else if (const auto* w = std::get_if<WhileStep>(&s.op)) {
      find_uses(program, w->condition, used);
      find_uses(program, w->body, used);
      used.insert(w->condition_value);
    } else if (const auto* i = std::get_if<IfStep>(&s.op)) {
      find_uses(program, i->then_steps, used);
      find_uses(program, i->else_steps, used);
      used.insert(i->condition);
    } else {
      for_each_use(program, s, [&](ValueId v) { used.insert(v); });
    }
  }
}

}  // namespace

std::map<ValueId, std::int64_t> plain_bounds(const OperationProgram& program) {
  std::set<ValueId> used;
  find_uses(program, program.steps, used);
  std::set<const Step*> all;
  for (const Step& s : program.steps) add_steps(s, all);
  std::map<ValueId, std::int64_t> bounds;
  for (const Step* s : all) {
    const auto* h = std::get_if<HostStep>(&s->op);
    if (h == nullptr || used.contains(h->target)) continue;
    const std::string& name = program.info(h->target).name;
    const bool named = !name.empty() && std::isalpha(static_cast<unsigned char>(name.front())) != 0;
    const auto* constant = std::get_if<ir::Constant>(&h->value->op);
    if (constant == nullptr || named) continue;
    if (const auto* number = std::get_if<std::int64_t>(&constant->value)) bounds[h->target] = *number;
  }
  return bounds;
}

Variables::Variables(const OperationProgram& program) : program_(program) {
  find_definitions(program.steps);
  connect(program.steps);
  choose_names();
}

ValueId Variables::home(ValueId v) const {
  const auto found = parent_.find(v);
  return found == parent_.end() ? v : names_.at(found->second);
}

std::vector<ValueId> Variables::members(ValueId v) const {
  const auto found = parent_.find(v);
  return found == parent_.end() ? std::vector<ValueId>{v} : members_.at(found->second);
}

void Variables::find_definitions(const Steps& steps) {
  for (const Step& s : steps) {
    for (const ValueId v : targets_of(s)) definers_[v].push_back(&s);
    if (const auto* c = std::get_if<CopyStep>(&s.op); c != nullptr && !c->declare) assigned_.insert(c->target);
    for_each_list(s, [this](const Steps& inner) { find_definitions(inner); });
  }
}

void Variables::connect(const Steps& steps) {
  for (std::size_t k = 0; k < steps.size(); ++k) {
    if (const auto* copy = std::get_if<CopyStep>(&steps[k].op)) connect(steps, k, *copy);
  }
  for (const Step& s : steps) for_each_list(s, [this](const Steps& inner) { connect(inner); });
}

void Variables::connect(const Steps& steps, std::size_t copy_at, const CopyStep& copy) {
  const bool host = program_.is_host(copy.target);
  const std::vector<ValueId> sources = members(copy.source), targets = members(copy.target);
  if ((!host && !copy.move) || contains(targets, copy.source) || has_other_uses(steps, copy)) return;
  const auto end = steps.begin() + static_cast<std::ptrdiff_t>(copy_at);
  const auto first = std::find_if(steps.begin(), end, [&](const Step& s) {
    return std::ranges::any_of(targets_of(s), [&](ValueId v) { return contains(sources, v); });
  });
  if (first == end || !may_assign(*first)) return;
  auto behind = first;
  if (assigns_last(*first)) {
    // The assignment releases the previous tensor of the variable.
    do ++behind;
    while (behind != end && std::holds_alternative<ReleaseStep>(behind->op));
  }
  if (std::any_of(behind, end, [&](const Step& s) { return mentions(s, targets); })) return;
  if (host && std::any_of(end + 1, steps.end(), [&](const Step& s) { return mentions(s, sources); })) return;
  std::set<const Step*> inside;
  std::for_each(first, end, [&](const Step& s) { add_steps(s, inside); });
  const auto defined_inside = [&](ValueId v) {
    return std::ranges::all_of(definers_[v], [&](const Step* s) { return inside.contains(s); });
  };
  if (!std::ranges::all_of(sources, defined_inside)) return;
  std::vector<ValueId> all = targets;
  all.insert(all.end(), sources.begin(), sources.end());
  for (const ValueId v : all) parent_[v] = all.front();
  members_.erase(sources.front());
  members_[all.front()] = std::move(all);
}

bool Variables::has_other_uses(const Steps& steps, const CopyStep& copy) const {
  const std::string& name = program_.info(copy.source).name;
  if (!copy.declare || assigned_.contains(copy.source) || name.empty() || name == program_.info(copy.target).name)
    return false;
  return std::ranges::count_if(steps, [&](const Step& s) {
           bool used = false;
           for_each_use(program_, s, [&](ValueId v) { used = used || v == copy.source; });
           return used;
         }) > 1;
}

bool Variables::mentions(const Step& step, const std::vector<ValueId>& values) const {
  bool found = false;
  const auto look = [&](ValueId v) { found = found || contains(values, v); };
  for_each_use(program_, step, look);
  std::ranges::for_each(targets_of(step), look);
  if (const auto* release = std::get_if<ReleaseStep>(&step.op)) look(release->value);
  for_each_list(step, [&](const Steps& inner) {
    found = found || std::ranges::any_of(inner, [&](const Step& s) { return mentions(s, values); });
  });
  return found;
}

void Variables::choose_names() {
  for (const auto& [first, all] : members_) {
    const auto named = [&](const auto& good) {
      const auto found =
          std::ranges::find_if(all, [&](ValueId v) { return !program_.info(v).name.empty() && good(v); });
      return found == all.end() ? std::optional<ValueId>() : std::optional(*found);
    };
    const auto target = named([this](ValueId v) { return assigned_.contains(v); });
    const auto any = named([](ValueId) { return true; });
    names_[first] = target ? *target : any.value_or(first);
  }
}

bool Variables::counts(ValueId v) const {
  if (program_.type(v).scalar != ir::Scalar::kI64) return false;
  const std::vector<ValueId> all = members(v);
  const auto is_member = [&](ValueId other) { return contains(all, other); };
  const auto is_small_step = [&](const Step* s) {
    if (const auto* h = std::get_if<HostStep>(&s->op))
      return small_constant(h->value).has_value() || increment_of(h->value, is_member).has_value();
    const auto* c = std::get_if<CopyStep>(&s->op);
    if (c == nullptr) return false;
    if (is_member(c->source)) return true;
    const auto found = definers_.find(c->source);
    if (found == definers_.end() || found->second.size() != 1) return false;
    const auto* h = std::get_if<HostStep>(&found->second.front()->op);
    return h != nullptr && small_constant(h->value).has_value();
  };
  return std::ranges::all_of(all, [&](ValueId member) {
    const auto found = definers_.find(member);
    return found != definers_.end() && std::ranges::all_of(found->second, is_small_step);
  });
}

}  // namespace tdsl::codegen
