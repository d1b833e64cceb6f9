#include "codegen/nest/verify_stored.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "codegen/nest/facts.h"

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

  [[nodiscard]] bool exists(ValueId v) const { return v.valid() && static_cast<std::size_t>(v.id) < nest_.variables.size(); }
  [[nodiscard]] bool has_index(int k) const { return k >= 0 && k < static_cast<int>(nest_.indices.size()); }

  void variable(int k, const Variable& v) {
    if (!v.compressed) return;
    const bool tensor = v.role == Role::kOperand || v.role == Role::kResult;
    if (!tensor || v.type.rank() != 2 || nest_.form != Form::kKernel) problem("%{} is compressed, and no matrix of a kernel", k);
    if (v.continued) problem("%{} is compressed, and has values before", k);
  }

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
    if (const auto* u = std::get_if<Update>(&s.op)) return other_write(u->to.variable);
    if (const auto* l = std::get_if<Start>(&s.op)) {
      other_write(l->from.variable);
      return first_values(l->from.variable);
    }
    if (const auto* f = std::get_if<Fill>(&s.op)) return other_write(f->result);
    if (const auto* b = std::get_if<BlockedReduction>(&s.op)) return other_write(b->to.variable);
  }

  // --- Loops

  struct Open {
    const For* loop;
    std::optional<int> operand;  ///< number of what is walked
    bool column = false;
  };

  void loop(const For& f) {
    Open open{&f, std::nullopt};
    if (const auto* rows = std::get_if<StoredRows>(&f.over)) {
      open.operand = walked(f, rows->operand);
      if (around(open.operand, false) != nullptr) problem("rows of %{} run already", rows->operand.id);
    }
    if (const auto* row = std::get_if<StoredRow>(&f.over)) {
      open.operand = walked(f, row->operand);
      open.column = true;
      if (around(open.operand, false) == nullptr) problem("a row of %{} runs outside of its rows", row->operand.id);
      if (around(open.operand, true) != nullptr) problem("a row of %{} runs already", row->operand.id);
    }
    loops_.push_back(open);
    if (const auto* row = std::get_if<StoredRow>(&f.over)) std::ranges::for_each(row->ahead, [this](const Place& p) { ahead(p); });
    body(f.body);
    loops_.pop_back();
  }

  /// The operand's number.
  std::optional<int> walked(const For& f, ValueId v) {
    const std::string index = has_index(f.index) ? nest_.index(f.index).name : "?";
    if (f.order != Order::kSerial || f.parts) problem("the loop over {} visits stored elements, and is not serial", index);
    if (exists(v) && nest_.variable(v).role == Role::kOperand && nest_.variable(v).compressed) return nest_.variable(v).number;
    problem("the loop over {} walks %{}, which is no compressed operand", index, v.id);
    return std::nullopt;
  }
  [[nodiscard]] const Open* around(std::optional<int> operand, bool column) const {
    const auto found = std::ranges::find_if(loops_, [&](const Open& open) { return open.operand && open.operand == operand && open.column == column; });
    return found == loops_.end() ? nullptr : &*found;
  }

  void ahead(const Place& p) {
    if (!exists(p.variable)) return problem("there is no %{} to be fetched ahead", p.variable.id);
    const Variable& v = nest_.variable(p.variable);
    const bool tensor = (v.role == Role::kOperand || v.role == Role::kResult) && !v.compressed && v.bounds.empty();
    if (!tensor || v.type.rank() != p.subscripts.size()) return problem("%{} has no elements that are fetched ahead", p.variable.id);
    bool moves = false;
    for (const Expr& s : p.subscripts) {
      const auto* label = s ? std::get_if<ir::IndexRef>(&s->op) : nullptr;
      const bool runs = label != nullptr && std::ranges::any_of(loops_, [&](const Open& open) { return open.loop->index == label->label; });
      const bool constant = s && std::holds_alternative<ir::Constant>(s->op);
      if (!runs && !constant) problem("%{} is fetched ahead at a subscript that is no running index", p.variable.id);
      moves = moves || (runs && label->label == loops_.back().loop->index);
    }
    if (!moves) problem("%{} is fetched ahead, and does not move with the loop", p.variable.id);
  }

  // --- Results

  void store(const Place& to) {
    if (!exists(to.variable)) return;
    if (!nest_.variable(to.variable).compressed) return first_values(to.variable);
    if (!put_.insert(to.variable).second) problem("%{} is compressed, and stored in several places", to.variable.id);
    const Open* column = loops_.empty() ? nullptr : &loops_.back();
    const Open* row = column == nullptr ? nullptr : around(column->operand, false);
    const auto is_index = [&](std::size_t d, const Open& open) {
      const auto* label = d < to.subscripts.size() && to.subscripts[d] ? std::get_if<ir::IndexRef>(&to.subscripts[d]->op) : nullptr;
      return label != nullptr && label->label == open.loop->index;
    };
    const bool walked = column != nullptr && column->column && row != nullptr && is_index(0, *row) && is_index(1, *column);
    if (!walked) problem("%{} is compressed, and not stored at the element where a row is", to.variable.id);
    if (!row_of_put_in_order(row)) problem("%{} is compressed, and its rows run several times", to.variable.id);
  }
  /// Whether nothing runs around the rows: they ascend once.
  [[nodiscard]] bool row_of_put_in_order(const Open* row) const { return row == nullptr || row == loops_.data(); }

  void other_write(ValueId v) {
    if (exists(v) && nest_.variable(v).compressed) problem("%{} is compressed, and written other than by a store", v.id);
  }
  /// Elements that are not visited have a value, too.
  void first_values(ValueId v) {
    const bool walks = std::ranges::any_of(loops_, [](const Open& open) { return open.operand.has_value(); });
    if (!walks || !exists(v) || nest_.variable(v).role != Role::kResult || nest_.variable(v).continued || filled_.contains(v)) return;
    problem("%{} is written where stored elements are visited, and has no first values", v.id);
  }

  const Nest& nest_;
  std::vector<Open> loops_;
  std::set<ValueId> filled_;
  std::set<ValueId> put_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> verify_stored(const Nest& nest) { return StoredVerifier(nest).run(); }

}  // namespace tdsl::nest
