#include "codegen/nest/facts.h"

#include <algorithm>
#include <array>
#include <limits>

#include "codegen/nest/increments.h"
#include "codegen/operations/vector_forms.h"
#include "ir/graph/affine.h"
#include "ir/graph/expr_build.h"

namespace tdsl::nest {

using ir::match;

namespace {

void each_of(const Place& place, const std::function<void(const Expr&)>& f) {
  std::ranges::for_each(place.subscripts, f);
}
void each_of(const std::vector<Let>& lets, const std::function<void(const Expr&)>& f) {
  for (const Let& let : lets) f(let.value);
}

bool mentions(const Place& place, int index) {
  return std::ranges::any_of(place.subscripts, [&](const Expr& s) { return ir::mentions_label(s, index); });
}

/// A constant divisor for which division neither fails nor overflows.
bool divides_safely(const ir::Binary& b) {
  const auto* c = std::get_if<ir::Constant>(&b.right->op);
  const auto* value = c == nullptr ? nullptr : std::get_if<std::int64_t>(&c->value);
  return (b.op == ir::BinaryOp::kDiv || b.op == ir::BinaryOp::kRem) && value != nullptr && *value != 0 && *value != -1;
}

/// True if an element of a compressed operand is read at the index; inside a loop over that operand, this is a search.
bool looks_up(const Nest& nest, int index, const Expr& e) {
  bool found = false;
  ir::for_each_node(e, [&](const ir::ExprNode& n) {
    const auto* r = std::get_if<ir::Read>(&n.op);
    if (r == nullptr || !nest.variable(r->tensor).type.is_compressed()) return;
    found = found || std::ranges::any_of(r->subscripts, [&](const Expr& s) { return ir::mentions_label(s, index); });
  });
  return found;
}

bool stops(const Nest& nest, const ir::ExprNode& node) {
  if (const auto* r = std::get_if<ir::Read>(&node.op)) return !nest.variable(r->tensor).bounds.empty();
  const auto* b = std::get_if<ir::Binary>(&node.op);
  return codegen::may_fail(node) && (b == nullptr || !divides_safely(*b));
}

const std::string kOfTask = "a statement of a task";

/// Why a statement prevents vectorisation of the enclosing loop.
std::string obstacle(int index, const Statement& s) {
  const auto carried = [&](const Place& to) {
    return mentions(to, index) ? std::string() : std::string("an element that all iterations write");
  };
  return match(
      s.op, [](const For&) { return std::string("a loop"); }, [](const Let&) { return std::string(); },
      [](const Start&) { return std::string("a local that changes"); },
      [](const Narrow&) { return std::string("the bound of a loop"); },
      [](const Check&) { return std::string("a check"); }, [&](const Store& w) { return carried(w.to); },
      [&](const Update& u) {
        return u.with.kind == ir::Monoid::Kind::kUser ? std::string("a reduction of the user's") : carried(u.to);
      },
      [](const If& i) {
        return std::string(std::holds_alternative<IsMine>(i.condition) ? "an element that is looked up" : "");
      },
      [](const LineReduction&) { return std::string("a reduction"); },
      [](const BlockedReduction&) { return std::string("a reduction"); },
      [](const Fill&) { return std::string("a fill"); }, [](const Var&) { return std::string("a local that changes"); },
      [](const Count&) { return std::string("a loop"); }, [](const While&) { return std::string("a loop"); },
      [](const Require&) { return std::string("what may stop the run"); },
      [](const Return&) { return std::string("a result"); }, [](const Copy&) { return kOfTask; },
      [](const Keep&) { return kOfTask; }, [](const Resize&) { return kOfTask; },
      [](const CheckLine&) { return kOfTask; }, [](const RowReduction&) { return kOfTask; },
      [](const AddProducts&) { return kOfTask; }, [](const Locate&) { return kOfTask; },
      [](const Offer&) { return kOfTask; }, [](const Draw&) { return kOfTask; },
      [](const RequireSizes&) { return kOfTask; }, [](const SmallRoutine&) { return kOfTask; },
      [](const RowProducts&) { return kOfTask; }, [](const FillRows&) { return kOfTask; },
      [](const Mirror&) { return kOfTask; });
}

}  // namespace

Expr expanded(const Definitions& definitions, const Expr& e) {
  return ir::rewrite(e, [&](const Expr& part) {
    const auto* r = std::get_if<ir::Read>(&part->op);
    const auto found = r == nullptr ? definitions.end() : definitions.find(r->tensor);
    return found == definitions.end() ? part : expanded(definitions, found->second);
  });
}

void for_each_statement(const Body& body, const std::function<void(const Statement&)>& f) {
  for (const Statement& s : body) {
    f(s);
    if (const auto* loop = std::get_if<For>(&s.op)) for_each_statement(loop->body, f);
    if (const auto* branch = std::get_if<If>(&s.op))
      for_each_statement(branch->body, f), for_each_statement(branch->otherwise, f);
    if (const auto* count = std::get_if<Count>(&s.op)) for_each_statement(count->body, f);
    if (const auto* loop = std::get_if<While>(&s.op))
      for_each_statement(loop->before, f), for_each_statement(loop->body, f);
  }
}

void for_each_expr(const Statement& statement, const std::function<void(const Expr&)>& f) {
  const auto some = [&](const Expr& e) {
    if (e) f(e);
  };
  const auto bounds = [&](const std::optional<Parts>& parts) {
    if (!parts) return;
    for (const Side& side : parts->sides) f(side.until ? side.until : side.condition);
    std::ranges::for_each(parts->from, f);
    std::ranges::for_each(parts->to, f);
    some(parts->where);
  };
  match(
      statement.op, [&](const For& s) { bounds(s.parts); }, [&](const Let& s) { f(s.value); },
      [&](const Start& s) {
        each_of(s.from, f);
        some(s.fresh);
      },
      [&](const Narrow& s) { f(s.value); }, [&](const Check& s) { f(s.value); },
      [&](const Store& s) {
        each_of(s.to, f);
        f(s.value);
      },
      [&](const Update& s) {
        each_of(s.to, f);
        f(s.value);
      },
      [&](const If& s) {
        if (const auto* condition = std::get_if<Expr>(&s.condition)) f(*condition);
        if (const auto* within = std::get_if<Within>(&s.condition)) f(within->value);
      },
      [&](const LineReduction& s) {
        bounds(s.parts);
        some(s.mask);
        each_of(s.lets, f);
        f(s.value);
      },
      [&](const BlockedReduction& s) {
        each_of(s.to, f);
        some(s.points);
        each_of(s.x, f);
        each_of(s.y, f);
        f(s.value);
        some(s.guard);
      },
      [&](const Fill& s) { f(s.value); }, [&](const Var& s) { some(s.value); },
      [&](const Count& s) {
        f(s.begin);
        f(s.end);
      },
      [&](const While& s) { f(s.condition); }, [&](const Require& s) { f(s.condition); },
      [&](const Return& s) { f(s.value); }, [](const Copy&) {}, [](const Keep&) {}, [](const Resize&) {},
      [](const CheckLine&) {},
      [&](const RowReduction& s) {
        each_of(s.lets, f);
        f(s.value);
      },
      [&](const AddProducts& s) {
        each_of(s.to, f);
        f(s.scale);
        f(s.value);
      },
      [](const Locate&) {}, [&](const Offer& s) { f(s.value); },
      [&](const Draw& s) { std::ranges::for_each(s.iterations, f); }, [&](const RequireSizes& s) { some(s.guard); },
      [](const SmallRoutine&) {},
      [&](const RowProducts& s) {
        for (const Place* place : {&s.to, &s.x, &s.y}) each_of(*place, f);
      },
      [&](const FillRows& s) {
        each_of(s.to, f);
        f(s.value);
      },
      [](const Mirror&) {});
}

const For* loop_over_elements(const For& rows) {
  const auto* over = std::get_if<Stored>(&rows.over);
  if (over == nullptr) return nullptr;
  for (const Statement& s : rows.body) {
    if (std::holds_alternative<Let>(s.op) || std::holds_alternative<Var>(s.op)) continue;
    const auto* inner = std::get_if<For>(&s.op);
    const auto* elements = inner == nullptr ? nullptr : std::get_if<Stored>(&inner->over);
    const Fibre row{over->fibres.front().operand, {rows.index}};
    return elements != nullptr && elements->fibres == std::vector{row} ? inner : nullptr;
  }
  return nullptr;
}

const Statement* store_of(const For& rows, ValueId local) {
  for (const Statement& s : rows.body) {
    const auto* store = std::get_if<Store>(&s.op);
    const auto* read = store == nullptr ? nullptr : std::get_if<ir::Read>(&store->value->op);
    if (read != nullptr && read->tensor == local) return &s;
  }
  return nullptr;
}

const Update* update_in(const Statement& s) {
  if (const auto* u = std::get_if<Update>(&s.op)) return u;
  const auto* i = std::get_if<If>(&s.op);
  const bool one =
      i != nullptr && std::holds_alternative<Expr>(i->condition) && i->body.size() == 1 && i->otherwise.empty();
  return one ? update_in(i->body.front()) : nullptr;
}

bool passes_by_value(const For& rows) {
  const auto* over = std::get_if<Stored>(&rows.over);
  if (over == nullptr || over->fibres.size() != 1) return false;
  const std::vector<Fibre> row{Fibre{over->fibres.front().operand, {rows.index}}};
  bool any = false;
  for (const Statement& s : rows.body) {
    if (std::holds_alternative<Let>(s.op)) continue;
    if (const auto* var = std::get_if<Var>(&s.op)) {
      if (!var->value || store_of(rows, var->local) == nullptr) return false;
    } else if (const auto* elements = std::get_if<For>(&s.op)) {
      const auto* inner = std::get_if<Stored>(&elements->over);
      const bool plain = inner != nullptr && inner->fibres == row && !inner->within.begin && !inner->within.end;
      if (!plain || !std::ranges::all_of(elements->body, update_in)) return false;
      any = true;
    } else if (!std::holds_alternative<Store>(s.op)) {
      return false;
    }
  }
  return any;
}

std::set<ValueId> values_read(const Nest& nest) {
  std::set<ValueId> values;
  for_each_statement(nest.body, [&](const Statement& s) {
    for_each_expr(s, [&](const Expr& e) {
      ir::for_each_node(e, [&](const ir::ExprNode& n) {
        if (const auto* r = std::get_if<ir::Read>(&n.op)) values.insert(r->tensor);
      });
    });
  });
  return values;
}

bool may_stop(const Nest& nest, const Expr& e) {
  bool found = false;
  ir::for_each_node(e, [&](const ir::ExprNode& n) { found = found || stops(nest, n); });
  return found;
}

std::string not_simd(const Nest& nest, int index, const Body& body) {
  std::string reason;
  for_each_statement(body, [&](const Statement& s) {
    if (reason.empty()) reason = obstacle(index, s);
    for_each_expr(s, [&](const Expr& e) {
      if (reason.empty() && may_stop(nest, e)) reason = "what may stop the run";
      if (reason.empty() && looks_up(nest, index, e)) reason = "a lookup of an element";
    });
  });
  return reason;
}

Definitions definitions_of(const Nest& nest) {
  Definitions result;
  const auto define = [&](const Let& let) { result[let.local] = let.value; };
  for_each_statement(nest.body, [&](const Statement& s) {
    if (const auto* let = std::get_if<Let>(&s.op)) define(*let);
    if (const auto* line = std::get_if<LineReduction>(&s.op)) std::ranges::for_each(line->lets, define);
    if (const auto* row = std::get_if<RowReduction>(&s.op)) std::ranges::for_each(row->lets, define);
    if (const auto* blocked = std::get_if<BlockedReduction>(&s.op)) {
      std::ranges::for_each(blocked->x, define);
      std::ranges::for_each(blocked->y, define);
    }
  });
  return result;
}

bool is_half_plane(const Expr& condition, int row, int column) {
  constexpr std::int64_t kLargestSlope = 1 << 10;
  using enum ir::BinaryOp;
  const auto* b = std::get_if<ir::Binary>(&condition->op);
  if (b == nullptr || (b->op != kLt && b->op != kLe && b->op != kGt && b->op != kGe)) return false;
  if (b->left->type != ir::Scalar::kI64 || b->right->type != ir::Scalar::kI64) return false;
  const auto left = ir::polynomial_of(b->left), right = ir::polynomial_of(b->right);
  if (!left || !right) return false;
  const Extent difference = *left - *right;
  return std::ranges::all_of(std::array{row, column}, [&](int label) {
    const ValueId v = ir::label_value(label);
    if (!ir::mentions(difference, v)) return true;
    const auto form = ir::linear_in(difference, v);
    return form && form->coefficient <= kLargestSlope && form->coefficient >= -kLargestSlope;
  });
}

bool takes_both(const Nest& nest, const Definitions& definitions, const ir::Select& select) {
  const bool bounded = std::ranges::any_of(nest.variables, [](const Variable& v) { return !v.bounds.empty(); });
  bool computed = false;
  for_each_statement(nest.body, [&](const Statement& s) {
    const auto* check = std::get_if<Check>(&s.op);
    computed = computed || (check != nullptr && nest.index(check->index).of_task);
  });
  if (bounded || computed) return false;
  const ir::Select whole{select.condition, expanded(definitions, select.when_true),
                         expanded(definitions, select.when_false)};
  const auto shape = [&](ValueId v) {
    const Variable& variable = nest.variable(v);
    return variable.role == Variable::Role::kOperand ? &variable.type.shape : nullptr;
  };
  return codegen::computes_both(whole, shape, [&](std::int32_t label, const Extent& extent) {
    const Index& index = nest.index(label);
    return index.of_task && index.begin == Extent(0) && index.end == extent;
  });
}

std::set<ValueId> counters_of(const Nest& nest) {
  std::set<ValueId> counters, others;
  const auto assigned = [&](ValueId v, const Expr& value) {
    const Variable& variable = nest.variable(v);
    const bool local = variable.role == Variable::Role::kLocal && variable.type.rank() == 0;
    const auto is_variable = [v](ValueId read) { return read == v; };
    const bool counts = local && variable.type.scalar == ir::Scalar::kI64 && value &&
                        (codegen::small_constant(value) || codegen::increment_of(value, is_variable));
    (counts ? counters : others).insert(v);
  };
  for_each_statement(nest.body, [&](const Statement& s) {
    if (const auto* var = std::get_if<Var>(&s.op)) assigned(var->local, var->value);
    if (const auto* let = std::get_if<Let>(&s.op)) assigned(let->local, let->value);
    if (const auto* store = std::get_if<Store>(&s.op)) assigned(store->to.variable, store->value);
    if (const auto* update = std::get_if<Update>(&s.op)) others.insert(update->to.variable);
    if (const auto* start = std::get_if<Start>(&s.op)) others.insert(start->local);
    if (const auto* count = std::get_if<Count>(&s.op)) others.insert(count->local);
    if (const auto* row = std::get_if<RowReduction>(&s.op)) others.insert(row->local);
    if (const auto* line = std::get_if<LineReduction>(&s.op)) others.insert(line->local);
  });
  for (const ValueId v : others) counters.erase(v);
  return counters;
}

IndexArithmetic::IndexArithmetic(const Nest& nest) : definitions_(definitions_of(nest)) {
  const auto add = [this](int index, const Extent& begin) {
    if (const auto first = begin.constant(); first && *first >= 0) begins_.emplace(index, *first);
  };
  for (std::size_t k = 0; k < nest.indices.size(); ++k) {
    if (nest.indices[k].of_task) add(static_cast<int>(k), nest.indices[k].begin);
  }
  for_each_statement(nest.body, [&](const Statement& s) {
    if (const auto* f = std::get_if<For>(&s.op)) {
      if (const auto* over = std::get_if<Range>(&f->over)) add(f->index, over->begin);
    }
    const auto* r = std::get_if<RowReduction>(&s.op);
    const auto* over = r == nullptr ? nullptr : std::get_if<Range>(&r->over);
    if (over != nullptr) add(r->index, over->begin);
  });
}

auto IndexArithmetic::range_of(const ir::ExprNode& e) const -> std::optional<Values> {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min(),
                         kGreatest = std::numeric_limits<std::int64_t>::max();
  if (e.type != ir::Scalar::kI64) return std::nullopt;
  if (const auto* c = std::get_if<ir::Constant>(&e.op)) {
    const std::int64_t value = std::get<std::int64_t>(c->value);
    return Values{value, value};
  }
  if (const auto* i = std::get_if<ir::IndexRef>(&e.op)) {
    const auto begin = begins_.find(i->label);
    return begin == begins_.end() ? std::nullopt : std::optional(Values{begin->second, kGreatest - 1});
  }
  if (const auto* r = std::get_if<ir::Read>(&e.op)) {
    const auto known = definitions_.find(r->tensor);
    return known == definitions_.end() ? std::nullopt : range_of(*known->second);
  }
  if (const auto* c = std::get_if<ir::Cast>(&e.op))
    return c->operand->type == ir::Scalar::kBool ? std::optional(Values{0, 1}) : std::nullopt;
  if (const auto* s = std::get_if<ir::Select>(&e.op)) {
    const auto one = range_of(*s->when_true), other = range_of(*s->when_false);
    if (!one || !other) return std::nullopt;
    return Values{std::min(one->least, other->least), std::max(one->greatest, other->greatest)};
  }
  const auto* b = std::get_if<ir::Binary>(&e.op);
  if (b == nullptr || (b->op != ir::BinaryOp::kAdd && b->op != ir::BinaryOp::kSub)) return std::nullopt;
  const auto left = range_of(*b->left), right = range_of(*b->right);
  if (!left || !right) return std::nullopt;
  const bool add = b->op == ir::BinaryOp::kAdd;
  const Wide least = add ? Wide{left->least} + right->least : Wide{left->least} - right->greatest;
  const Wide greatest = add ? Wide{left->greatest} + right->greatest : Wide{left->greatest} - right->least;
  if (least < kLeast || greatest > kGreatest) return std::nullopt;
  return Values{static_cast<std::int64_t>(least), static_cast<std::int64_t>(greatest)};
}

}  // namespace tdsl::nest
