#include "codegen/relations/imposed_relations.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <vector>

#include "codegen/relations/layouts.h"
#include "codegen/relations/relations.h"
#include "ir/algebra/rules/matching.h"
#include "ir/algebra/text/parse.h"
#include "ir/algebra/text/text.h"
#include "runtime/plan/region/asked_layouts.h"

namespace tdsl::codegen {

namespace {

using algebra::Matching;
using Relation = algebra::Expr;

/// The file's text with everything before its last line `mesh ..` blank, and that line.
struct PlanPart {
  std::string text;
  std::string mesh;
  std::size_t mesh_line = 0;  ///< 0: there is none
};

PlanPart plan_part(std::string_view text) {
  PlanPart part;
  part.text = text;
  std::size_t number = 0;
  std::size_t end_of_mesh = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    ++number;
    if (line.starts_with("mesh ")) {
      part.mesh = line.substr(0, line.find(';'));
      part.mesh_line = number;
      end_of_mesh = end;
    }
    at = end + 1;
  }
  for (std::size_t k = 0; k < end_of_mesh; ++k) {
    if (part.text[k] != '\n') part.text[k] = ' ';
  }
  return part;
}

[[noreturn]] void fail(std::size_t line, const std::string& message) {
  throw std::runtime_error(fmt::format("line {}: {}", line, message));
}

/// Decisions of sites from a plan that matches the program's relations.
class Decisions {
 public:
  Decisions(const plan::Region& region, const Relations& relations, const Matching& matching)
      : region_(region), relations_(relations), matching_(matching) {
    for (const RelationStep& step : relations.steps) enter_owner(step);
    for (const auto& [tensor, value] : relations.tensors) values_.insert(matching.unmerged(value)->id);
    for (std::size_t k = 0; k < region.ops.size(); ++k) enter_sources(k);
    for (const RelationStep& step : relations.steps) decide(step);
  }

  [[nodiscard]] const std::map<int, plan::Decision>& at() const { return at_; }
  [[nodiscard]] std::size_t line(int site) const { return lines_.at(site); }

 private:
  /// `slots`: per key dimension; the layout of `count` slots.
  plan::Layout planned(const Relation& p, const std::vector<std::size_t>& slots, std::size_t count) const {
    const algebra::Layout& layout = *p->type.layout;
    if (!layout.loose_axes().empty()) fail(matching_.line(p), "the sites of its tuples are unknown (loose)");
    plan::Layout result;
    result.cut.resize(count);
    bool one_site = false, copies = false;
    for (int axis = 0; axis < layout.axes(); ++axis) copies = copies || layout.is_copied(axis);
    for (const algebra::Cut& cut : layout.cuts()) {
      one_site = one_site || cut.dims.empty();
      if (cut.dims.empty()) continue;
      plan::Axes& axes = result.cut[slots[static_cast<std::size_t>(cut.dims.front())]];
      for (const int axis : cut.axes) axes.push_back(static_cast<std::int8_t>(axis));
    }
    if (one_site && copies) fail(matching_.line(p), "copies along one axis and one site along another are no plan");
    result.repeated = copies;
    return result;
  }

  void enter_sources(std::size_t k) {
    const plan::Op& op = region_.ops[k].op;
    if (op.op_class != plan::OpClass::kLoad && op.op_class != plan::OpClass::kSource) return;
    const auto found = relations_.tensors.find(op.outputs[0].id);
    if (found == relations_.tensors.end()) return;
    const Relation p = matching_.computed(found->second);
    if (!p || plan::is_fixed(op)) return;
    plan::Decision decision = decision_of(op);
    decision.work = text_of(planned(p, first_slots(op.shape.size()), op.shape.size()), plan::slot_names(op));
    record(op, p, std::move(decision), found->second);
  }

  void enter_owner(const RelationStep& step) {
    if (!step.value) return;
    const Relation value = matching_.unmerged(step.value);
    for (const Relation& node : algebra::nodes_of(std::span(&value, 1))) owner_.emplace(node->id, step.op);
  }

  void decide(const RelationStep& step) {
    const plan::Op& op = region_.ops[step.op].op;
    const Relation first = !step.value ? Relation() : matching_.computed(step.sum ? step.sum : step.value);
    if (!first || plan::is_fixed(op)) return;
    const std::size_t rank = op.shape.size(), slots = rank + op.reduce.size();
    if (!step.opaque.empty() && !first->type.layout->loose_axes().empty()) return;  // it finds its own place
    plan::Decision decision = decision_of(op);
    const Relation work = step.sum ? summed(step, first) : first;
    const plan::Layout layout = planned(work, step.sum ? step.slots : first_slots(rank), slots);
    decision.work = text_of(layout, plan::slot_names(op));
    Relation combined = step.sum ? matching_.combined(step.sum) : Relation();
    const bool in_parts = std::any_of(layout.cut.begin() + static_cast<std::ptrdiff_t>(rank), layout.cut.end(),
                                      [](const plan::Axes& axes) { return !axes.empty(); });
    if (!combined && in_parts && work != first->operands[0]) combined = first;
    if (combined) decision.result = text_of(planned(combined, first_slots(rank), rank), plan::result_names(op));
    record(op, first, std::move(decision), step.value);
  }

  /// What an aggregation adds up, where the operation computes it: moving it before (Table 1) means moving sums.
  Relation summed(const RelationStep& step, const Relation& sum) const {
    const Relation& wanted = step.sum->operands[0];
    const bool read = values_.contains(matching_.unmerged(wanted)->id);
    return read || algebra::as<algebra::Redistribute>(sum->operands[0]) == nullptr ? sum->operands[0]
                                                                                   : matching_.computed(wanted);
  }

  static plan::Decision decision_of(const plan::Op& op) {
    plan::Decision decision;
    decision.kind = name_of(op.op_class);
    decision.name = op.name;
    return decision;
  }

  void record(const plan::Op& op, const Relation& p, plan::Decision decision, const Relation& value) {
    for (const Relation& move : matching_.moves(value)) {
      std::set<int> sites;
      for (const Relation& reader : matching_.readers(move)) {
        if (const auto owner = owner_.find(reader->id); owner != owner_.end())
          sites.insert(region_.ops[owner->second].op.site);
      }
      if (sites.size() < 2 || !decision.copy.empty()) continue;
      const std::size_t rank = op.shape.size();
      decision.copy = text_of(planned(move, first_slots(rank), rank), plan::result_names(op));
      decision.readers.assign(sites.begin(), sites.end());
    }
    const auto [known, fresh] = at_.emplace(op.site, decision);
    lines_.emplace(op.site, matching_.line(p));
    if (!fresh && known->second != decision)
      fail(matching_.line(p), fmt::format("{} is placed differently in line {}, but is one operation of a loop",
                                          op.name, lines_.at(op.site)));
  }

  const plan::Region& region_;
  const Relations& relations_;
  const Matching& matching_;
  std::map<int, std::size_t> owner_;  ///< operations, by node of the program
  std::set<int> values_;              ///< nodes of the program that are tensors
  std::map<int, plan::Decision> at_;
  std::map<int, std::size_t> lines_;
};

/// Throws at the first node that no run could execute.
void check_sites(const algebra::ProgramText& given, const plan::Mesh& mesh) {
  for (const Relation& e : algebra::nodes_of(given.program.roots())) {
    const std::size_t line = given.lines.at(e->id);
    if (!e->type.layout) fail(line, "it lies on no sites: inputs need a layout");
    if (static_cast<std::size_t>(e->type.layout->axes()) != std::max<std::size_t>(mesh.axes.size(), 1))
      fail(line,
           fmt::format("its layout `{}` is none of a mesh of {} axes", layout_text(*e->type.layout), mesh.axes.size()));
    if (!e->problems.empty()) fail(line, e->problems.front());
  }
  for (const algebra::Program::Result& result : given.program.results) {
    if (result.value->type.pieces)
      fail(given.lines.at(result.value->id), fmt::format("\"{}\" is in pieces: they are not aggregated", result.name));
  }
}

algebra::ProgramText parsed(algebra::Pool& pool, const std::string& text) {
  try {
    return algebra::parse_with_lines(pool, text);
  } catch (const std::runtime_error& error) { throw std::runtime_error(fmt::format("line {}", error.what())); }
}

}  // namespace

bool is_relations(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string_view::npos || line[first] == ';') continue;
    return line[first] == '%' || line.starts_with("mesh ");
  }
  return false;
}

plan::PlanFile plan_of_relations(const plan::Region& region, const Bodies& bodies, const plan::PlanFile& file,
                                 const std::string& program, plan::Index ranks) {
  const PlanPart part = plan_part(file.text);
  if (part.mesh_line == 0) throw std::runtime_error("line 1: there is no line `mesh a:..` before the plan");
  plan::PlanValue plan;
  plan.program = program;
  plan.region = region.hash;
  plan.ranks = ranks;
  plan.schedule = "algebra";
  plan.mesh = plan::parse_mesh_line(part.mesh, part.mesh_line);
  if (plan.mesh.ranks() != ranks)
    fail(part.mesh_line, fmt::format("it is a plan for {} ranks, not for {}", plan.mesh.ranks(), ranks));
  const Relations relations = relations_of(region, bodies, {});
  const algebra::ProgramText given = parsed(*relations.pool, part.text);
  check_sites(given, plan.mesh);
  std::vector<Relation> values;
  for (const RelationStep& step : relations.steps) {
    for (const Relation& e : {step.value, step.sum}) {
      if (e) values.push_back(e);
    }
  }
  for (const auto& [tensor, value] : relations.tensors) values.push_back(value);
  const Matching matching(*relations.pool, relations.program, values, given, relations.generated);
  const Decisions decisions(region, relations, matching);
  plan.at = decisions.at();
  plan::PlanFile result{file.path, plan::print(plan), {part.mesh_line, part.mesh_line, part.mesh_line}};
  for (const auto& [site, decision] : plan.at) result.lines.push_back(decisions.line(site));
  return result;
}

}  // namespace tdsl::codegen
