#include "codegen/loops/compute_nest.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "codegen/operations/describe.h"
#include "ir/graph/expr_build.h"

namespace tdsl::codegen {

Expr StatementNest::of_nest(const Expr& e) {
  return nest::with_parts(
      e, [this](const Expr& inner) { return part(inner); }, true);
}

Extent StatementNest::of_nest(const Extent& e) {
  return e.substitute([this](ValueId v) -> std::optional<Extent> { return size(v); });
}

std::vector<Extent> StatementNest::of_nest(std::vector<Extent> shape) {
  for (Extent& e : shape) e = of_nest(e);
  return shape;
}

void StatementNest::append(Body body) { std::ranges::move(body, std::back_inserter(*body_)); }

void StatementNest::assign(ValueId local, Expr value, bool changes) {
  if (!declared_.insert(local).second) return add(nest::Store{{local, {}}, std::move(value)});
  if (changes) return add(nest::Var{local, std::move(value)});
  add(nest::Let{local, std::move(value)});
}

void StatementNest::change(Place to, const std::optional<ir::Monoid>& with, Expr value) {
  if (with) return add(nest::Update{std::move(to), *with, std::move(value)});
  add(nest::Store{std::move(to), std::move(value)});
}

nest::Named StatementNest::in_parts(Expr value) {
  return nest::named(nest_, std::move(value), [this](const ir::Select& s) { return takes_both(s); });
}

Expr StatementNest::named(Expr value) {
  nest::Named made = in_parts(std::move(value));
  for (nest::Let& let : made.lets) add(std::move(let));
  return std::move(made.value);
}

ComputeNest::ComputeNest(const NestRequest& request) : request_(request), program_(request.program) {
  nest_.name = request.name;
  nest_.place = request.place;
}

nest::Variable& ComputeNest::capture(ValueId v) {
  captures_[v] = added({Role::kCapture,
                        program_.is_host(v) ? request_.value_name(v) : title_of(program_, v),
                        {program_.type(v).scalar, {}, {}}});
  captured_.resize(nest_.variables.size());
  captured_.back() = v;
  return nest_.variables.back();
}

bool ComputeNest::is_dimension(ValueId v, ValueId tensor) const {
  const std::vector<Extent>& shape = program_.type(tensor).shape;
  return std::ranges::find(shape, Extent::of(v)) != shape.end();
}

nest::Variable ComputeNest::operand_variable(ValueId tensor, int number) {
  const ir::Type& type = program_.type(tensor);
  return {Role::kOperand, title_of(program_, tensor), {type.scalar, of_nest(type.shape), type.format}, number};
}

nest::Bound ComputeNest::bound(std::size_t dimension, Extent extent, const Expr& subscript, ValueId tensor,
                               const ir::SourceRange& place) const {
  return {static_cast<int>(dimension), std::move(extent),
          describe(program_, subscript, label_names_) + "` of `" + name_of(program_, tensor), place};
}

void ComputeNest::loops(std::span<const int> labels, bool vectors, const std::function<void()>& inner) {
  if (labels.empty()) return inner();
  const int label = labels.front();
  nest::For loop;
  Body around = collected([&] { loop = enter(label); });
  loop.body = collected([&] { loops(labels.subspan(1), vectors, inner); });
  if (vectors && labels.size() == 1 && vectorises(label, loop.body)) loop.order = nest::Order::kSimd;
  const bool bounded = !around.empty();
  around.push_back({std::move(loop), place_});
  append(in_tiles(label, bounded ? with_range(std::move(around)) : std::move(around)));
  leave(label);
}

void ComputeNest::accumulate(ValueId total, std::span<const int> labels, const std::function<void()>& point) {
  if (!line(total, labels)) loops(labels, false, point);
}

nest::BlockedReduction ComputeNest::blocked_reduction(const ir::Compute& compute, const Blocking& blocks, Place to) {
  const auto index = [this](int label) { return ir::bare_label(of_nest(ir::index_ref(label))); };
  nest::BlockedReduction s{std::move(to), index(blocks.row), index(blocks.column), {}, {}, {}, *compute.monoid, {}, {},
                           blocks.numbers};
  for (const int l : blocks.reduce) s.along.push_back(index(l));
  std::map<const ir::ExprNode*, Expr> values;
  const auto add_values = [&](const Blocking::Values& given, const char* name, std::vector<nest::Let>& lets) {
    for (const std::vector<Expr>& places : given) {
      const ValueId value = local(name, places.front()->type);
      lets.push_back({value, of_nest(places.front())});
      for (const Expr& e : places) values[e.id()] = local_read(value);
    }
  };
  add_values(blocks.x, "x", s.x);
  add_values(blocks.y, "y", s.y);
  const auto of_values = [&](const Expr& e) {
    return nest::with_parts(
        e,
        [&](const Expr& inner) {
          const auto found = values.find(inner.id());
          return found != values.end() ? found->second : part(inner);
        },
        true);
  };
  s.value = of_values(compute.bodies.front());
  if (blocks.guard) s.guard = of_values(blocks.guard);
  if (blocks.points) s.points = of_nest(blocks.points);
  return s;
}

std::vector<int> numbered(std::size_t first, std::size_t count) {
  std::vector<int> labels(count);
  std::iota(labels.begin(), labels.end(), static_cast<int>(first));
  return labels;
}

}  // namespace tdsl::codegen
