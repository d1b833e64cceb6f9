#include "codegen/nest/verify_stored.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "codegen/nest/facts.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"

namespace tdsl::nest {

namespace {

using Role = Variable::Role;

class StoredVerifier {
 public:
  explicit StoredVerifier(const Nest& nest) : nest_(nest) {}

  std::vector<std::string> run() {
    for (std::size_t k = 0; k < nest_.variables.size(); ++k) variable(static_cast<int>(k), nest_.variables[k]);
    for_each_statement(nest_.fresh, [this](const Statement& s) {
      if (const auto* f = std::get_if<Fill>(&s.op)) filled_.insert(f->result);
    });
    body(nest_.fresh);
    body(nest_.body);
    return std::move(problems_);
  }

 private:
  template <class... Args>
  void problem(fmt::format_string<Args...> format, Args&&... args) {
    problems_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  [[nodiscard]] bool exists(ValueId v) const {
    return v.valid() && static_cast<std::size_t>(v.id) < nest_.variables.size();
  }
  [[nodiscard]] bool has_index(int k) const { return k >= 0 && k < static_cast<int>(nest_.indices.size()); }

  void variable(int k, const Variable& v) {
    if (v.assembled && (v.role != Role::kResult || !v.type.is_compressed() || v.type.rank() < 2))
      problem("%{} is assembled, and no compressed result of at least two dimensions", k);
    if (!v.type.is_compressed()) return;
    const bool tensor = (v.role == Role::kOperand && (nest_.form == Form::kKernel || nest_.form == Form::kRows)) ||
                        (v.role == Role::kResult && nest_.form == Form::kKernel);
    if (!tensor) problem("%{} is compressed, and no tensor of a kernel", k);
    if (v.continued) problem("%{} is compressed, and has values before", k);
  }
  [[nodiscard]] bool is_assembled(ValueId v) const { return nest_.variable(v).assembled; }

  void body(const Body& statements) {
    for (const Statement& s : statements) statement(s);
  }

  void statement(const Statement& s) {
    if (const auto* f = std::get_if<For>(&s.op)) return loop(*f);
    if (const auto* branch = std::get_if<If>(&s.op)) {
      body(branch->body);
      return body(branch->otherwise);
    }
    if (const auto* w = std::get_if<Store>(&s.op)) return store(w->to);
    if (const auto* u = std::get_if<Update>(&s.op)) return update(*u);
    if (const auto* l = std::get_if<Start>(&s.op)) {
      other_write(l->from.variable);
      return first_values(l->from.variable);
    }
    if (const auto* f = std::get_if<Fill>(&s.op)) return other_write(f->result);
    if (const auto* b = std::get_if<BlockedReduction>(&s.op)) return other_write(b->to.variable);
  }

  // --- Loops

  void loop(const For& f) {
    const auto* stored = std::get_if<Stored>(&f.over);
    if (stored != nullptr) {
      if (f.order != Order::kSerial || f.parts)
        problem("the loop over {} visits stored elements, and is not serial", name(f.index));
      if (stored->fibres.empty()) problem("the loop over {} walks nothing", name(f.index));
      for (const Fibre& fibre : stored->fibres) walked(f, fibre);
      part(f, *stored);
      together(f, *stored);
      if (!stored->sums.empty()) sums(f, *stored);
      if (stored->by != ir::ByValue::kNone) by_value(f, *stored);
    }
    loops_.push_back(&f);
    if (stored != nullptr) std::ranges::for_each(stored->ahead, [this](const Place& p) { ahead(p); });
    body(f.body);
    loops_.pop_back();
  }
  [[nodiscard]] std::string name(int index) const { return has_index(index) ? nest_.index(index).name : "?"; }

  void walked(const For& f, const Fibre& fibre) {
    const bool stored = exists(fibre.operand) && nest_.variable(fibre.operand).role == Role::kOperand &&
                        nest_.variable(fibre.operand).type.is_compressed();
    if (!stored)
      return problem("the loop over {} walks %{}, which is no compressed operand", name(f.index), fibre.operand.id);
    if (fibre.outer.size() >= nest_.variable(fibre.operand).type.rank())
      return problem("the loop over {} walks a level that %{} does not have", name(f.index), fibre.operand.id);
    for (const int index : fibre.outer) {
      if (!runs(index))
        problem("the loop over {} walks %{} at {}, which does not run around it", name(f.index), fibre.operand.id,
                name(index));
    }
  }
  /// A part of a row is found by search.
  void part(const For& f, const Stored& stored) {
    if (!stored.within.begin && !stored.within.end) return;
    const bool row = stored.fibres.size() == 1 && stored.fibres.front().outer.size() == 1 &&
                     exists(stored.fibres.front().operand) &&
                     nest_.variable(stored.fibres.front().operand).type.rank() == 2;
    if (!row) problem("the loop over {} walks a part of a level that is no row of a matrix", name(f.index));
    if (!stored.ahead.empty()) problem("the loop over {} walks a part of a row, and fetches ahead", name(f.index));
  }
  /// The loop over the rows of a matrix contains one over the elements of its row, before which only locals are
  /// defined. With weights the innermost statement adds a product to a result.
  void by_value(const For& f, const Stored& stored) {
    const Fibre& rows = stored.fibres.front();
    const bool matrix = stored.fibres.size() == 1 && rows.outer.empty() && exists(rows.operand) &&
                        nest_.variable(rows.operand).type.rank() == 2;
    if (stored.by == ir::ByValue::kPasses) {
      if (!matrix || !passes_by_value(f))
        problem("the loop over {} runs by passes, which are not those over the elements of a row", name(f.index));
      return;
    }
    const For* const elements = loop_over_elements(f);
    if (!matrix || elements == nullptr)
      return problem("the loop over {} runs by value, and not over the rows and elements of a matrix", name(f.index));
    const bool adds = elements->body.size() == 1 && std::holds_alternative<Update>(elements->body.front().op);
    if (stored.by == ir::ByValue::kWeights && !adds)
      problem("the loop over {} runs by weights, and does not add products", name(f.index));
  }
  /// Float locals to which the body of a loop over a row adds, and that it reads nowhere.
  void sums(const For& f, const Stored& stored) {
    const Fibre& row = stored.fibres.front();
    const bool matrix = stored.fibres.size() == 1 && row.outer.size() == 1 && exists(row.operand) &&
                        nest_.variable(row.operand).type.rank() == 2 && !stored.within.begin && !stored.within.end;
    if (!matrix) problem("the loop over {} adds up sums in lanes, and walks no row of one matrix", name(f.index));
    for (const ValueId v : stored.sums) {
      if (!exists(v) || nest_.variable(v).role != Role::kLocal || !ir::is_float(nest_.variable(v).type.scalar) ||
          nest_.variable(v).type.rank() != 0 || !only_added(f.body, v))
        problem("%{} is added up in lanes, and not a float local to which the loop adds", v.id);
    }
  }
  [[nodiscard]] static bool only_added(const Body& body, ValueId v) {
    bool adds = false, others = false;
    for_each_statement(body, [&](const Statement& s) {
      const auto* u = std::get_if<Update>(&s.op);
      const bool added = u != nullptr && u->to.variable == v;
      adds = adds || added;
      others = others || (added && u->with.kind != ir::Monoid::Kind::kSum) || (!added && writes(s, v));
      for_each_expr(s, [&](const Expr& e) {
        ir::for_each_read(e, [&](const ir::Read& r) { others = others || r.tensor == v; });
      });
    });
    return adds && !others;
  }
  /// True if the statement gives the local another value.
  [[nodiscard]] static bool writes(const Statement& s, ValueId v) {
    if (const auto* w = std::get_if<Store>(&s.op)) return w->to.variable == v;
    if (const auto* l = std::get_if<LineReduction>(&s.op)) return l->local == v;
    if (const auto* l = std::get_if<RowReduction>(&s.op)) return l->local == v;
    return false;
  }
  /// Several operands are co-iterated over all levels.
  void together(const For& f, const Stored& stored) {
    const auto lies_below = [&](const For& open, const Stored& above) {
      return std::ranges::equal(above.fibres, stored.fibres, [&](const Fibre& a, const Fibre& b) {
        const std::size_t level = a.outer.size();
        return a.operand == b.operand && level < b.outer.size() && b.outer[level] == open.index &&
               std::equal(a.outer.begin(), a.outer.end(), b.outer.begin());
      });
    };
    bool begun = std::ranges::all_of(stored.fibres, [](const Fibre& fibre) { return fibre.outer.empty(); });
    for (const For* open : loops_) {
      const auto* above = std::get_if<Stored>(&open->over);
      if (above == nullptr) continue;
      const bool same = above->merge == stored.merge && lies_below(*open, *above);
      const bool meets = std::ranges::any_of(above->fibres, [&](const Fibre& a) {
        return std::ranges::any_of(stored.fibres, [&](const Fibre& b) { return a.operand == b.operand; });
      });
      begun = begun || (same && above->fibres.front().outer.size() + 1 == stored.fibres.front().outer.size());
      if (above->fibres.size() > 1 && meets && !same)
        problem("the loop over {} does not iterate all operands of the outer loop", name(f.index));
    }
    if (stored.fibres.size() < 2) return;
    if (!begun)
      problem("the loop over {} walks several operands whose levels above are not walked together", name(f.index));
    if (!stored.ahead.empty()) problem("the loop over {} walks several operands, and fetches ahead", name(f.index));
  }
  [[nodiscard]] bool runs(int index) const {
    return std::ranges::any_of(loops_, [&](const For* open) { return open->index == index; });
  }

  void ahead(const Place& p) {
    if (!exists(p.variable)) return problem("there is no %{} to be fetched ahead", p.variable.id);
    const Variable& v = nest_.variable(p.variable);
    const bool tensor =
        (v.role == Role::kOperand || (v.role == Role::kResult && !v.type.is_compressed())) && v.bounds.empty();
    if (!tensor || p.subscripts.size() != (v.type.is_compressed() ? 1 : v.type.rank()))
      return problem("%{} has no elements that are fetched ahead", p.variable.id);
    bool moves = false;
    for (const Expr& s : p.subscripts) {
      const auto* label = s ? std::get_if<ir::IndexRef>(&s->op) : nullptr;
      const bool running = label != nullptr && runs(label->label);
      const bool constant = s && std::holds_alternative<ir::Constant>(s->op);
      const bool row =
          label != nullptr && p.subscripts.size() > 1 && &s == &p.subscripts.back() && has_index(label->label);
      if (!running && !constant && !row)
        problem("%{} is fetched ahead at a subscript that is no running index", p.variable.id);
      moves = moves || (running && label->label == loops_.back()->index);
    }
    if (!moves) problem("%{} is fetched ahead, and does not move with the loop", p.variable.id);
  }

  // --- Results

  void store(const Place& to) {
    if (!exists(to.variable)) return;
    if (!nest_.variable(to.variable).type.is_compressed()) return first_values(to.variable);
    once(to.variable);
    if (is_assembled(to.variable)) return;
    bool in_order = loops_.size() == to.subscripts.size();
    for (std::size_t d = 0; d < loops_.size(); ++d) in_order = in_order && is_index(to, d, *loops_[d]);
    if (!in_order) problem("%{} is compressed, and not stored in loops over its levels", to.variable.id);
  }
  void update(const Update& u) {
    const ValueId v = u.to.variable;
    if (!exists(v) || !nest_.variable(v).type.is_compressed()) return;
    once(v);
    if (is_assembled(v)) {
      if (u.with.kind == ir::Monoid::Kind::kUser || ir::locates(u.with))
        problem("%{} is assembled by an operator that the runtime does not have", v.id);
      return;
    }
    if (u.with.kind != ir::Monoid::Kind::kSum && u.with.kind != ir::Monoid::Kind::kAny)
      problem("%{} is compressed, and combined by what does not begin with 0", v.id);
    const bool column =
        loops_.size() > 1 && std::ranges::any_of(loops_.begin() + 1, loops_.end(),
                                                 [&](const For* open) { return is_index(u.to, 1, *open); });
    if (!column || !is_index(u.to, 0, *loops_[0]))
      problem("%{} is compressed, and not updated in a loop over its rows", v.id);
  }
  void once(ValueId v) {
    if (!put_.insert(v).second) problem("%{} is compressed, and written in several places", v.id);
  }
  [[nodiscard]] static bool is_index(const Place& to, std::size_t d, const For& f) {
    return d < to.subscripts.size() && to.subscripts[d] && ir::is_label(to.subscripts[d], f.index);
  }

  void other_write(ValueId v) {
    if (exists(v) && nest_.variable(v).type.is_compressed())
      problem("%{} is compressed, and written other than by its elements", v.id);
  }
  /// Unvisited elements need a value too.
  void first_values(ValueId v) {
    const bool walks =
        std::ranges::any_of(loops_, [](const For* open) { return std::holds_alternative<Stored>(open->over); });
    if (!walks || !exists(v) || nest_.variable(v).role != Role::kResult || nest_.variable(v).continued ||
        filled_.contains(v))
      return;
    problem("%{} is written where stored elements are visited, and has no first values", v.id);
  }

  const Nest& nest_;
  std::vector<const For*> loops_;  ///< outermost first
  std::set<ValueId> filled_;
  std::set<ValueId> put_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> verify_stored(const Nest& nest) { return StoredVerifier(nest).run(); }

}  // namespace tdsl::nest
