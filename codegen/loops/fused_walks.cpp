#include <algorithm>
#include <iterator>
#include <utility>

#include "codegen/loops/fused_nest_builder.h"
#include "codegen/nest/facts.h"
#include "codegen/operations/describe.h"
#include "codegen/operations/vector_forms.h"
#include "ir/analysis/by_value.h"
#include "ir/graph/check.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"

namespace tdsl::codegen {

// Note [Walks]
// Members that visit stored elements and follow each other are a walk: one loop over the rows of the matrix. In it,
// members that do not need each other's sums share a loop over the elements of the row:
//
//     u[i] = sum[j](X[i, j] * v[j])            for i over stored %X[*] {
//     y[j] = sum[i](X[i, j] * u[i])              var u = 0.0
//                                                for j over stored %X[i, *] { u combine sum = … }
//                                                for j over stored %X[i, *] { y[j] combine sum = mul(%X[i, j], u) }
//                                              }
//
// A value per element is a local of that loop, computed in each loop whose members read it. A value per row that only
// the walk reads is a local, too. Rows that are not visited have the identity in other values.

namespace {

/// Subscripted index variables: of the row, then of the column.
int row_label(const FusedKernel::Member& m) { return m.compute.iteration->driver().labels[0]; }
int column_label(const FusedKernel::Member& m) { return m.compute.iteration->driver().labels[1]; }

bool reads_value(const FusedKernel::Member& m, ValueId v) {
  bool found = false;
  ir::for_each_read(m.compute, [&](const ir::Read& r) { found = found || r.tensor == v; });
  return found;
}

/// Most operands that are prefetched.
constexpr std::size_t kMostAhead = 2;

/// The float locals outside of a loop over elements to which its body adds, for partial sums. None if the body has
/// loops or branches, since it is compiled once for every partial sum.
std::vector<ValueId> light_sums(const nest::Nest& nest, const nest::Body& body) {
  std::vector<ValueId> inside, sums;
  for (const nest::Statement& s : body) {
    if (const auto* v = std::get_if<nest::Var>(&s.op)) inside.push_back(v->local);
    const auto* u = std::get_if<nest::Update>(&s.op);
    const bool simple = u != nullptr || std::holds_alternative<nest::Let>(s.op) ||
                        std::holds_alternative<nest::Var>(s.op) || std::holds_alternative<nest::Store>(s.op);
    if (!simple) return {};
    if (u == nullptr) continue;
    const ValueId v = u->to.variable;
    const nest::Variable& to = nest.variable(v);
    if (to.role != nest::Variable::Role::kLocal || to.type.rank() > 0 || std::ranges::find(inside, v) != inside.end())
      continue;
    if (u->with.kind != ir::Monoid::Kind::kSum || !ir::is_real(to.type.scalar)) return {};
    if (std::ranges::find(sums, v) == sums.end()) sums.push_back(v);
  }
  return sums;
}

}  // namespace

std::vector<FusedNestBuilder::Members> FusedNestBuilder::in_walks() const {
  std::vector<Members> parts;
  for (const Member& m : fused_.members) {
    if (parts.empty() || !m.walks() || !parts.back().front()->walks()) parts.emplace_back();
    parts.back().push_back(&m);
  }
  return parts;
}

bool FusedNestBuilder::is_coded() const {
  const auto& visits = op_.sparsity.visits;
  return !visits.empty() && program_.type(visits.front().front()).is_coded();
}

bool FusedNestBuilder::runs_by_value(const Members& walk, const nest::For& rows) const {
  const auto alone = [this](const Member* m) {
    return ir::by_value(m->compute, [this](ValueId v) -> const ir::Type& { return program_.type(v); }) !=
           ir::ByValue::kNone;
  };
  return is_coded() && std::ranges::all_of(walk, alone) && nest::passes_by_value(rows);
}

bool FusedNestBuilder::is_stored(const Member& m) const {
  if (!m.walks() || is_result(m)) return true;
  if (m.is_element()) return false;
  if (is_coded()) return true;
  if (m.compute.out.size() > 1) return true;
  for (const Members& part : in_walks()) {
    const bool own = std::ranges::find(part, &m) != part.end();
    if (!own && std::ranges::any_of(part, [&](const Member* other) { return needs_value(*other, m.value); }))
      return true;
  }
  return false;
}

int FusedNestBuilder::walk_index(const Member& m, int label) {
  const bool row = label == row_label(m);
  std::optional<int>& index = row ? row_index_ : column_index_;
  if (index) return *index;
  if (row && !in_blocks_) return *(index = block_);
  const ir::Label& l = m.label(label);
  nest::Index made{l.name.empty() ? "k" : l.name, true, of_nest(l.begin), of_nest(l.end)};
  made.whole = !row;
  made.block = row ? block_ : -1;
  index = shared_index(std::move(made), row_index_ ? std::vector{*row_index_} : std::vector<int>{});
  return *index;
}

ValueId FusedNestBuilder::walked(const ir::StoredOperand& operand) const {
  for (std::size_t k = 0; k < op_.reads.size(); ++k) {
    const SymbolicAccess& a = op_.reads[k];
    if (a.tensor == operand.tensor && a.dims[0].terms.size() == 1 && a.dims[1].whole) return operands_[k];
  }
  throw ir::InternalError("a compressed operand of a nest is read");
}

const FusedKernel::Member* FusedNestBuilder::element_member(ValueId v) const {
  const auto found = std::ranges::find_if(fused_.members, [&](const Member& m) { return m.value == v; });
  return found != fused_.members.end() && found->is_element() ? &*found : nullptr;
}

void FusedNestBuilder::add_elements(const Member& m, Members& needed) const {
  ir::for_each_read(m.compute, [&](const ir::Read& r) {
    const Member* element = element_member(r.tensor);
    if (element == nullptr || std::ranges::find(needed, element) != needed.end()) return;
    add_elements(*element, needed);
    needed.push_back(element);
  });
}

bool FusedNestBuilder::needs_value(const Member& m, ValueId v) const {
  Members inside{&m};
  add_elements(m, inside);
  return std::ranges::any_of(inside, [v](const Member* member) { return reads_value(*member, v); });
}

void FusedNestBuilder::walk(const Members& all) {
  Members walk;
  std::ranges::copy_if(all, std::back_inserter(walk), [](const Member* m) { return !m->is_element(); });
  if (walk.empty()) return;
  Members needed;
  for (const Member* m : walk) add_elements(*m, needed);
  std::vector<ValueId> matrices;
  for (const Members& list : {walk, needed}) {
    for (const Member* m : list) add_matrices(*m, matrices);
  }
  std::vector<const Member*> sums;
  for (const Member* m : walk) {
    if (m->closes() && m->compute.out.empty()) {
      labels_ = indices_of(*m);
      const ValueId total = row_values_[m->value] = local("total", m->type);
      add(nest::Start{total, element(*m), {}});
      sums.push_back(m);
    } else if (!is_result(*m) && is_stored(*m)) {
      add(nest::FillRows{whole(*m), block_, identity(*m)});
    }
  }
  const int row = walk_index(*walk.front(), row_label(*walk.front()));
  Body body = collected([&] {
    for (const Members& list : {needed, walk}) {
      for (const Member* m : list) add_row_values(*m);
    }
    for (auto from = walk.begin(); from != walk.end();) {
      auto to = from;
      const auto needs = [&](const Member* before) { return needs_value(**to, before->value); };
      while (to != walk.end() && std::none_of(from, to, needs)) ++to;
      pass(Members(from, to), matrices);
      from = to;
    }
  });
  nest::For rows{row, stored_level(matrices, {}), nest::Order::kSerial, std::move(body)};
  if (runs_by_value(walk, rows)) {
    std::get<nest::Stored>(rows.over).by = ir::ByValue::kPasses;
    coded_ = matrices.front();
  }
  add(std::move(rows));
  for (const Member* m : sums) {
    labels_ = indices_of(*m);
    add(nest::Store{element(*m), local_read(row_values_.at(m->value))});
  }
  row_values_.clear();
  row_elements_.clear();
}

void FusedNestBuilder::add_row_values(const Member& m) {
  labels_ = indices_of(m);
  ir::for_each_node(m.compute.bodies[0], [&](const ir::ExprNode& n) {
    const auto operand = fused_.operand.find(&n);
    if (operand == fused_.operand.end() || row_elements_.contains(operand->second)) return;
    const auto& r = std::get<ir::Read>(n.op);
    if (r.subscripts.size() > 1 || (r.subscripts.size() == 1 && !ir::is_label(r.subscripts[0], row_label(m)))) return;
    const ValueId value = local(title_of(program_, r.tensor), n.type);
    std::vector<Expr> subscripts;
    for (const Expr& s : r.subscripts) subscripts.push_back(of_nest(s));
    add(nest::Let{
        value, ir::read(n.type, operands_[static_cast<std::size_t>(operand->second)], std::move(subscripts), n.range)});
    row_elements_[operand->second] = value;
  });
}

void FusedNestBuilder::add_matrices(const Member& m, std::vector<ValueId>& matrices) const {
  for (const ir::StoredOperand& operand : m.compute.iteration->operands) {
    if (element_member(operand.tensor) != nullptr) continue;
    const ValueId v = walked(operand);
    if (std::ranges::find(matrices, v) == matrices.end()) {
      const bool driver = operand.tensor == op_.sparsity.visits.front().front();
      matrices.insert(driver ? matrices.begin() : matrices.end(), v);
    }
  }
}

nest::Stored FusedNestBuilder::stored_level(const std::vector<ValueId>& matrices, const std::vector<int>& outer) const {
  nest::Stored over;
  for (const ValueId v : matrices) over.fibres.push_back({v, outer});
  if (matrices.size() > 1) over.merge = ir::Merge::kFirst;
  return over;
}

void FusedNestBuilder::pass(const Members& members, const std::vector<ValueId>& matrices) {
  Members needed;
  for (const Member* m : members) add_elements(*m, needed);
  const int row = walk_index(*members.front(), row_label(*members.front()));
  const int column = walk_index(*members.front(), column_label(*members.front()));
  std::vector<const Member*> rows;
  for (const Member* m : members) {
    if (m->closes() || m->compute.out.size() > 1) continue;
    const ValueId total = row_values_[m->value] = local("total", m->type);
    add(nest::Var{total, identity(*m)});
    rows.push_back(m);
  }
  nest::Stored over = stored_level(matrices, {row});
  Body body = collected([&] {
    for (const Member* m : needed) at_element(*m);
    for (const Member* m : members) at_element(*m);
  });
  if (matrices.size() == 1) {
    over.ahead = ahead(members, needed);
    over.sums = light_sums(nest_, body);
  }
  add(nest::For{column, std::move(over), nest::Order::kSerial, std::move(body)});
  for (const Member* m : needed) row_values_.erase(m->value);
  for (const Member* m : rows) {
    labels_ = indices_of(*m);
    if (is_stored(*m)) add(nest::Store{element(*m), local_read(row_values_.at(m->value))});
  }
}

void FusedNestBuilder::at_element(const Member& m) {
  compute_ = &m.compute;
  labels_ = indices_of(m);
  std::vector<int> out, labels;
  for (int l = 0; l < m.label_count(); ++l) {
    if (l == row_label(m) || l == column_label(m)) continue;
    (l < static_cast<int>(m.compute.out.size()) ? out : labels).push_back(l);
  }
  const bool arithmetic = !labels.empty() || !out.empty() || library_calls(m.compute.bodies[0]) > 0;
  if (arithmetic) widest_ = rt::SimdLevel::kAvx512;
  if (m.is_element()) {
    const ValueId value = local("element", m.type);
    add(nest::Var{value, m.compute.monoid ? identity(m) : ir::zero_of(m.type)});
    row_values_[m.value] = value;
  }
  where(m.compute.guard ? of_nest(m.compute.guard) : Expr(), [&] {
    const auto scalar = row_values_.find(m.value);
    if (scalar == row_values_.end()) {
      const bool vectors = !out.empty();
      labels.insert(labels.end(), out.begin(), out.end());
      return loops(labels, vectors, [&] { change(element(m), m.compute.monoid, named(of_nest(m.compute.bodies[0]))); });
    }
    if (!labels.empty()) return accumulate(scalar->second, labels, [] {});
    change({scalar->second, {}}, m.compute.monoid, named(of_nest(m.compute.bodies[0])));
  });
}

std::vector<nest::Place> FusedNestBuilder::ahead(const Members& members, const Members& needed) {
  std::vector<nest::Place> places;
  std::vector<int> numbers;
  for (const Members& list : {needed, members}) {
    for (const Member* m : list) {
      labels_ = indices_of(*m);
      ir::for_each_node(m->compute.bodies[0], [&](const ir::ExprNode& n) {
        const auto* r = std::get_if<ir::Read>(&n.op);
        const auto operand = fused_.operand.find(&n);
        if (operand == fused_.operand.end() || program_.type(r->tensor).is_compressed() || r->subscripts.empty() ||
            r->subscripts.size() > 2 || !ir::is_label(r->subscripts[0], column_label(*m)) ||
            (r->subscripts.size() == 2 && ir::bare_label(r->subscripts[1]) < 0) ||
            (r->subscripts.size() == 2 && ir::is_label(r->subscripts[1], row_label(*m))) ||
            std::ranges::find(numbers, operand->second) != numbers.end())
          return;
        numbers.push_back(operand->second);
        std::vector<Expr> subscripts;
        for (const Expr& s : r->subscripts) subscripts.push_back(of_nest(s));
        places.push_back({operands_[static_cast<std::size_t>(operand->second)], std::move(subscripts)});
      });
      const bool column = m->closes() && m->compute.out.size() == 1 && column_label(*m) == 0;
      if (column && is_result(*m)) places.push_back(element(*m));
    }
  }
  if (places.size() > kMostAhead) places.clear();
  return places;
}

}  // namespace tdsl::codegen
