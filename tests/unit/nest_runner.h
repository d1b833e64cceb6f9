#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "codegen/loops/build_nest.h"
#include "codegen/nest/facts.h"
#include "codegen/nest/interior.h"
#include "codegen/nest/interpret.h"
#include "codegen/nest/text.h"
#include "codegen/nest/verify.h"
#include "codegen/operations/describe.h"
#include "codegen/walk/host_evaluator.h"
#include "ir/eval/eval.h"

// Executes programs with every operation as its nest.

namespace tdsl::tests {

inline std::string nest_lines(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& s : sentences) text += s + "\n";
  return text;
}

/// Counts the constructs of tested nests.
struct NestParts {
  int rows = 0, products = 0, lines_checked = 0, views = 0, positions = 0, draws = 0, resized = 0, whiles = 0, kept = 0,
      routines = 0;
  int stored_rows = 0, stored_columns = 0, puts = 0, sums = 0, ahead = 0, unions = 0, intersections = 0;
  int nests = 0, vectors = 0, lines = 0, blocks = 0, checks = 0, bounded = 0, narrowed = 0, scattered = 0, names = 0,
      interiors = 0, sides = 0, row_blocks = 0, row_products = 0;

  void count(const nest::Nest& n) {
    ++nests;
    views +=
        std::ranges::any_of(n.variables, [](const nest::Variable& v) { return v.role == nest::Variable::Role::kView; })
            ? 1
            : 0;
    bounded += std::ranges::any_of(n.variables, [](const nest::Variable& v) { return !v.bounds.empty(); }) ? 1 : 0;
    nest::for_each_statement(n.body, [this, &n](const nest::Statement& s) {
      const auto* f = std::get_if<nest::For>(&s.op);
      const auto* i = std::get_if<nest::If>(&s.op);
      interiors += f != nullptr && f->parts && f->parts->inside ? 1 : 0;
      sides += f != nullptr && f->parts && !f->parts->sides.empty() ? 1 : 0;
      if (const auto* stored = f == nullptr ? nullptr : std::get_if<nest::Stored>(&f->over)) {
        ++(stored->fibres.front().outer.empty() ? stored_rows : stored_columns);
        ahead += stored->ahead.empty() ? 0 : 1;
        const bool several = stored->fibres.size() > 1 && stored->fibres.front().outer.empty();
        unions += several && stored->merge == ir::Merge::kUnion ? 1 : 0;
        intersections += several && stored->merge == ir::Merge::kIntersection ? 1 : 0;
      }
      const auto* w = std::get_if<nest::Store>(&s.op);
      puts += w != nullptr && n.variable(w->to.variable).type.is_compressed() ? 1 : 0;
      const auto* u = std::get_if<nest::Update>(&s.op);
      sums += u != nullptr && n.variable(u->to.variable).type.is_compressed() ? 1 : 0;
      vectors += f != nullptr && f->order == nest::Order::kSimd ? 1 : 0;
      scattered += i != nullptr && std::holds_alternative<nest::IsMine>(i->condition) ? 1 : 0;
      lines += std::holds_alternative<nest::LineReduction>(s.op) ? 1 : 0;
      blocks += std::holds_alternative<nest::BlockedReduction>(s.op) ? 1 : 0;
      checks += std::holds_alternative<nest::Check>(s.op) ? 1 : 0;
      narrowed += std::holds_alternative<nest::Narrow>(s.op) ? 1 : 0;
      names += std::holds_alternative<nest::Let>(s.op) ? 1 : 0;
      rows += std::holds_alternative<nest::RowReduction>(s.op) ? 1 : 0;
      row_blocks += f != nullptr && std::holds_alternative<nest::Blocks>(f->over) ? 1 : 0;
      row_products += std::holds_alternative<nest::RowProducts>(s.op) ? 1 : 0;
      products += std::holds_alternative<nest::AddProducts>(s.op) ? 1 : 0;
      lines_checked += std::holds_alternative<nest::CheckLine>(s.op) ? 1 : 0;
      positions += std::holds_alternative<nest::Offer>(s.op) ? 1 : 0;
      draws += std::holds_alternative<nest::Draw>(s.op) ? 1 : 0;
      resized += std::holds_alternative<nest::Resize>(s.op) ? 1 : 0;
      whiles += std::holds_alternative<nest::While>(s.op) ? 1 : 0;
      routines += std::holds_alternative<nest::SmallRoutine>(s.op) ? 1 : 0;
      kept += std::holds_alternative<nest::Keep>(s.op) || std::holds_alternative<nest::Copy>(s.op) ? 1 : 0;
    });
  }
};

/// Whether both are valid results of the program.
inline bool nest_agrees(const ir::Array& a, const ir::Array& b) {
  if (a.shape != b.shape || a.floats.size() != b.floats.size()) return false;
  for (std::size_t k = 0; k < a.floats.size(); ++k) {
    const double x = a.floats[k], y = b.floats[k];
    if (!a.imaginary.empty() && a.imaginary[k] != b.imaginary[k]) return false;
    const double bound = (a.bounds.empty() ? 0 : a.bounds[k]) + (b.bounds.empty() ? 0 : b.bounds[k]);
    if (!(x == y || (std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= bound || std::isinf(bound))) return false;
  }
  return true;
}

/// Runs a program without loops, with every operation as its nest.
class NestRunner {
 public:
  NestRunner(const codegen::OperationProgram& program, const ir::EvalOptions& options, NestParts& parts)
      : program_(program), options_(options), parts_(parts), host_(program) {}

  /// The single output; empty if an operation has no nest.
  std::optional<ir::Array> run() {
    steps(program_.steps);
    return complete_ ? output_ : std::nullopt;
  }

 private:
  void steps(const codegen::Steps& list) {
    for (const codegen::Step& s : list) step(s);
  }
  void step(const codegen::Step& s) {
    if (const auto* d = std::get_if<codegen::DimensionStep>(&s.op))
      host_.set(d->target, options_.dimensions.at(d->name));
    if (const auto* i = std::get_if<codegen::InputStep>(&s.op))
      arrays_[i->target] = options_.input(i->name, program_.type(i->target).scalar);
    if (const auto* h = std::get_if<codegen::HostStep>(&s.op)) host_.set(h->target, *host_.evaluate(h->value, s.range));
    if (const auto* l = std::get_if<codegen::LoopStep>(&s.op)) loop(*l);
    if (const auto* c = std::get_if<codegen::CopyStep>(&s.op)) arrays_[c->target] = arrays_.at(c->source);
    if (const auto* i = std::get_if<codegen::IfStep>(&s.op))
      steps(std::get<bool>(*host_.get(i->condition)) ? i->then_steps : i->else_steps);
    if (const auto* o = std::get_if<codegen::OutputStep>(&s.op)) output_ = arrays_.at(o->value);
    if (const auto* o = std::get_if<codegen::OperationStep>(&s.op)) {
      complete_ = complete_ && (o->fused || !o->kernel->compute.bodies.empty());
      if (complete_ && o->epilogue) {
        codegen::OperationStep product = *o;
        product.target = o->epilogue->op->reads.front().tensor;
        operation(product);
        operation(*o->epilogue);
      } else if (complete_) {
        operation(*o);
      }
    }
  }
  void operation(const codegen::OperationStep& o) {
    const codegen::BuiltNest built = codegen::build_nest(
        {program_, "kernel", {}, [this](ir::ValueId v) { return codegen::name_of(program_, v); }}, o);
    const std::string text = nest::print(built.nest);
    INFO(text);
    CHECK(nest::verify(built.nest).empty());
    CHECK(nest::print(nest::parse(text)) == text);
    nest::Nest split = built.nest;
    nest::split_interiors(split);
    const std::string split_text = nest::print(split);
    INFO(split_text);
    CHECK(nest::verify(split).empty());
    CHECK(nest::print(nest::parse(split_text)) == split_text);
    parts_.count(split);
    nest::Inputs inputs;
    for (std::size_t k = 0; k < built.captured.size(); ++k)
      inputs.captures[{static_cast<std::int32_t>(k)}] = *host_.get(built.captured[k]);
    for (std::size_t k = 0; k < o.op->reads.size(); ++k) {
      const auto number = static_cast<int>(k);
      inputs.operands[number] = arrays_.at(o.op->reads[k].tensor);
      if (!program_.type(o.op->reads[k].tensor).is_compressed()) continue;
      // Zeros are stored at random.
      for (std::int64_t at = 0; at < inputs.operands[number].size(); ++at)
        inputs.stored[number].push_back((at + static_cast<std::int64_t>(options_.seed)) % 3 == 0);
    }
    if (o.op->has_base()) inputs.base = arrays_.at(o.op->base);
    const ir::Array whole = nest::interpret(nest::parse(text), inputs);
    arrays_[o.target] = nest::interpret(nest::parse(split_text), inputs);
    CHECK(nest_agrees(whole, arrays_[o.target]));
  }

  void loop(const codegen::LoopStep& l) {
    const codegen::BuiltNest built =
        codegen::build_nest({program_, "loop", {}, [this](ir::ValueId v) { return codegen::name_of(program_, v); }}, l);
    const std::string text = nest::print(built.nest);
    INFO(text);
    CHECK(nest_lines(nest::verify(built.nest)) == "");
    CHECK(nest::print(nest::parse(text)) == text);
    parts_.count(built.nest);
    nest::Inputs inputs;
    inputs.seed = options_.seed;
    for (std::size_t k = 0; k < built.nest.variables.size(); ++k) {
      if (built.nest.variables[k].role != nest::Variable::Role::kCapture) continue;
      const auto known = host_.get(built.captured[k]);
      inputs.captures[{static_cast<std::int32_t>(k)}] = known ? *known : ir::Literal(std::int64_t{0});
    }
    for (std::size_t k = 0; k < l.reads.size(); ++k) inputs.operands[static_cast<int>(k)] = arrays_.at(l.reads[k]);
    for (std::size_t k = 0; k < l.results.size(); ++k) {
      if (l.results[k].continues >= 0)
        inputs.bases[static_cast<int>(k)] = arrays_.at(l.reads[static_cast<std::size_t>(l.results[k].continues)]);
    }
    std::map<int, ir::Array> results = nest::interpret_task(nest::parse(text), inputs);
    for (std::size_t k = 0; k < l.results.size(); ++k) {
      const auto number = static_cast<int>(k);
      arrays_[l.results[k].target] = results.contains(number) ? results.at(number) : inputs.bases.at(number);
    }
  }

  const codegen::OperationProgram& program_;
  const ir::EvalOptions& options_;
  NestParts& parts_;
  codegen::HostEvaluator host_;
  std::map<ir::ValueId, ir::Array> arrays_;
  std::optional<ir::Array> output_;
  bool complete_ = true;
};

}  // namespace tdsl::tests
