#pragma once

#include <array>
#include <concepts>
#include <string_view>
#include <type_traits>
#include <variant>

#include "codegen/operations/program.h"

// The members of every step, listed once. Uses, targets, nested lists, text, parser and verifier follow from the lists.
//
// `name` is the member's name in the text form; members with an empty name are printed without one. A visitor receives
//   target(x, sizes)       the value that the step defines or assigns; visited first
//   results(list)          the same for a routine or a loop
//   inner(name, x)         a value that the step defines for its parts or nested steps
//   use(name, x)           a value, an optional value, or an item of a print that the step uses
//   mention(name, x)       a value that is not a use of the step (or is one of another member), or an extent of such
//   extent(name, x)        an extent, or an optional one, whose values are used
//   expr(name, x)          an expression over host values
//   compute(name, x)       a Compute; its index variables are those of the kernel
//   nodes(name, kernel)    facts about nodes of a kernel's expressions
//   labels(name, x)        index variables with their ranges
//   property(name, x)      anything else; omitted in the text form if empty or 0
//   property(name, x, d)   omitted if it equals d
//   flag(name, x)          a bool
//   list(name, each, x)    a vector or array, each element visited by each(v, element)
//   map(name, each, x)     each entry visited by each(v, key, value)
//   pointer(name, x)       a part in braces, such as a kernel; omitted if null
//   steps(name, x)         nested steps
// No step may end with an extent in the text form: the `%` of the next step would be parsed as a remainder operator.

namespace tdsl::codegen {

template <class S, class T>
concept Of = std::same_as<std::remove_const_t<S>, T>;

/// The extents of a target that count as uses of its step.
enum class Sizes : std::uint8_t { kNone, kShape, kShapeAndTile };

/// Names of the kinds of steps in the text form, in the order of StepOp.
inline constexpr std::array kStepNames = std::to_array<std::string_view>(
    {"host",   "dimension", "found", "param",   "input",   "random",    "operation", "routine",  "chain",
     "loop",   "read",      "copy",  "gathers", "declare", "subscript", "for",       "while",    "if",
     "choose", "fence",     "print", "assert",  "check",   "output",    "release",   "time_tile"});
static_assert(kStepNames.size() == std::variant_size_v<StepOp>);

/// A visitor that ignores everything but the elements of lists.
template <class Derived>
struct StepVisitor {
  void target(const ValueId&, Sizes) {}
  template <class... X>
  void results(const X&...) {}
  template <class... X>
  void inner(const X&...) {}
  template <class... X>
  void use(const X&...) {}
  template <class... X>
  void mention(const X&...) {}
  template <class... X>
  void extent(const X&...) {}
  template <class... X>
  void expr(const X&...) {}
  template <class... X>
  void compute(const X&...) {}
  template <class... X>
  void nodes(const X&...) {}
  template <class... X>
  void labels(const X&...) {}
  template <class... X>
  void property(const X&...) {}
  template <class... X>
  void flag(const X&...) {}
  template <class... X>
  void pointer(const X&...) {}
  template <class List>
  void steps(const char*, List&) {}
  template <class Each, class List>
  void list(const char*, const Each& each, List& list) {
    for (auto& element : list) each(static_cast<Derived&>(*this), element);
  }
  template <class Each, class Map>
  void map(const char*, const Each& each, Map& map) {
    for (auto& [key, value] : map) each(static_cast<Derived&>(*this), key, value);
  }
};

inline constexpr auto kUses = [](auto& v, auto& value) { v.use("", value); };
inline constexpr auto kMentions = [](auto& v, auto& value) { v.mention("", value); };
inline constexpr auto kExtents = [](auto& v, auto& extent) { v.extent("", extent); };
inline constexpr auto kProperties = [](auto& v, auto& property) { v.property("", property); };
inline constexpr auto kReach = [](auto& v, auto& reach) {
  v.property("below", reach.below);
  v.property("above", reach.above);
};

/// The members of a recorded operation, or of several in parallel, for visitors of plan::visit_fields.
template <class V, class... Ops>
void visit_operation(V& v, Ops&... op) {
  plan::visit_fields(v, op...);
  plan::visit_sparsity(v, op.sparsity...);
  v.number("row_flops", op.flops_per_row...);
  v.number("row_product_flops", op.product_flops_per_row...);
  v.number("row_dense_flops", op.dense_flops_per_row...);
  v.flag("in_any_order", op.in_any_order...);
}

void visit_step(auto& v, Of<HostStep> auto& s) {
  v.target(s.target, Sizes::kNone);
  v.expr("", s.value);
}
void visit_step(auto& v, Of<DimensionStep> auto& s) {
  v.target(s.target, Sizes::kNone);
  v.property("", s.name);
}
void visit_step(auto& v, Of<FoundStep> auto& s) {
  v.target(s.target, Sizes::kNone);
  v.use("count", s.count);
  v.extent("estimate", s.estimate);
  v.property("", s.name);
}
void visit_step(auto& v, Of<ParamStep> auto& s) {
  v.target(s.target, Sizes::kNone);
  v.property("", s.name);
  v.property("default", s.default_value);
  v.use("computed", s.computed_default);
}
void visit_step(auto& v, Of<InputStep> auto& s) {
  v.target(s.target, Sizes::kShapeAndTile);
  v.property("", s.name);
  v.property("walks", s.visits.walks);
  v.property("nests", s.visits.nests);
  v.property("counts", s.visits.counts);
  v.property("totals", s.visits.totals);
  v.property("weights", s.visits.weights);
  v.property("decoded", s.visits.decoded);
  v.property("site", s.site);
}
void visit_step(auto& v, Of<RandomStep> auto& s) {
  v.target(s.target, Sizes::kShapeAndTile);
  v.property("", s.random.kind);
  v.property("stream", s.random.site);
  v.list("iterations", kUses, s.random.iterations);
  v.property("site", s.site);
}
void visit_step(auto& v, Of<OperationStep> auto& s) {
  v.target(s.target, Sizes::kNone);
  v.pointer("op", s.op);
  v.pointer("kernel", s.kernel);
  v.pointer("fused", s.fused);
  v.pointer("epilogue", s.epilogue);
}
void visit_step(auto& v, Of<RoutineStep> auto& s) {
  v.results(s.results);
  v.property("", s.kind);
  v.list(
      "operands",
      [](auto& to, auto& operand) {
        to.use("", operand.tensor);
        to.flag("ends", operand.ends);
      },
      s.operands);
  v.property("axis", s.axis);
  v.property("solves", s.solves);
  v.extent("count", s.count);
  v.property("scale", s.scale, ir::Routine::Scale::kNone);
  v.list("sizes", kMentions, s.sizes);
  v.property("site", s.site);
  v.property("known", s.known);
  v.property("branch", s.branch);
}
void visit_step(auto& v, Of<ChainStep> auto& s) {
  v.target(s.target, Sizes::kNone);
  v.property("", s.name);
  v.list(
      "factors",
      [](auto& to, auto& factor) {
        to.use("", factor.tensor);
        to.flag("transposed", factor.transposed);
      },
      s.factors);
  v.list("sizes", kExtents, s.sizes);
  v.list("tile", kExtents, s.tile);
  v.property("site", s.site);
}
void visit_step(auto& v, Of<LoopStep> auto& s) {
  v.results(s.results);
  v.property("", s.name);
  v.property("head", s.head);
  v.property("site", s.site);
  v.map(
      "outer",
      [](auto& to, auto& outside, auto& here) {
        to.mention("", outside);
        to.use("is", here);
      },
      s.outer);
  v.map(
      "sizes",
      [](auto& to, auto& outside, auto& size) {
        to.mention("", outside);
        to.mention("is", size);
      },
      s.sizes);
  v.list("reads", kMentions, s.reads);
  v.list("arguments", kMentions, s.arguments);
  v.extent("flops", s.flops);
  v.flag("ordered", s.ordered);
  v.pointer("kernel", s.kernel);
  v.pointer("body", s.loop);
}
void visit_step(auto& v, Of<ControlReadStep> auto& s) {
  v.target(s.target, Sizes::kNone);
  v.use("", s.tensor);
  v.property("site", s.site);
}
void visit_step(auto& v, Of<CopyStep> auto& s) {
  v.target(s.target, Sizes::kNone);
  v.use("", s.source);
  v.flag("declare", s.declare);
  v.flag("move", s.move);
}
void visit_step(auto& v, Of<GathersStep> auto& s) {
  v.extent("", s.bytes);
  v.property("", s.operand);
}
void visit_step(auto& v, Of<DeclareStep> auto& s) { v.target(s.target, Sizes::kNone); }
void visit_step(auto& v, Of<SubscriptStep> auto& s) {
  v.labels("", s.labels);
  v.list(
      "terms",
      [](auto& to, auto& term) {
        to.property("", term.label);
        to.extent("", term.coefficient);
      },
      s.subscript.terms);
  v.extent("plus", s.subscript.constant);
  v.extent("in", s.extent);
  v.property("", s.text);
}
void visit_step(auto& v, Of<ForStep> auto& s) {
  v.inner("", s.index);
  v.use("from", s.begin);
  v.use("to", s.end);
  v.property("by", s.step, std::int64_t{1});
  v.use("every", s.every);
  v.list("carried", kMentions, s.carried);
  v.property("known", s.known);
  v.steps("do", s.body);
}
void visit_step(auto& v, Of<WhileStep> auto& s) {
  v.inner("", s.iteration);
  v.list("carried", kMentions, s.carried);
  v.property("known", s.known);
  v.steps("condition", s.condition);
  v.use("test", s.condition_value);
  v.steps("do", s.body);
}
void visit_step(auto& v, Of<IfStep> auto& s) {
  v.use("", s.condition);
  v.property("known", s.known);
  v.property("site", s.site);
  v.steps("then", s.then_steps);
  v.steps("else", s.else_steps);
}
void visit_step(auto& v, Of<ChooseStep> auto& s) {
  v.property("site", s.site);
  v.list("names", kProperties, s.names);
  v.list(
      "forms", [](auto& to, auto& form) { to.steps("", form); }, s.forms);
}
void visit_step(auto&, Of<FenceStep> auto&) {}
void visit_step(auto& v, Of<PrintStep> auto& s) {
  v.list("items", kUses, s.items);
  v.property("site", s.site);
}
void visit_step(auto& v, Of<AssertStep> auto& s) {
  v.use("", s.condition);
  v.property("", s.message);
  v.property("site", s.site);
}
void visit_step(auto& v, Of<CheckStep> auto& s) {
  v.extent("", s.check.left);
  v.property("", s.check.relation);
  v.extent("", s.check.right);
  v.property("", s.check.message);
  v.use("if", s.check.guard);
}
void visit_step(auto& v, Of<OutputStep> auto& s) {
  v.property("", s.name);
  v.use("", s.value);
  v.property("site", s.site);
  v.use("record", s.record);
  v.flag("begins", s.begins);
}
void visit_step(auto& v, Of<ReleaseStep> auto& s) { v.mention("", s.value); }
void visit_step(auto& v, Of<TimeTileStep> auto& s) {
  v.target(s.target, Sizes::kNone);
  v.use("from", s.begin);
  v.use("to", s.end);
  v.list("shape", kExtents, s.shape);
  v.list("reach", kReach, s.reach);
  v.property("bytes", s.element_bytes);
  v.property("flops", s.flops);
}

/// Parts of operations.
void visit_part(auto& v, Of<ir::Rearranged> auto& part) {
  v.mention("", part.tensor);
  v.property("place", part.place);
  v.list(
      "at",
      [](auto& to, auto& subscript) {
        to.property("", subscript.label);
        to.property("by", subscript.factor, std::int64_t{1});
        to.extent("plus", subscript.offset);
        to.flag("around", subscript.around);
        to.use("index", subscript.index);
        to.extent("of", subscript.extent);
      },
      part.at);
  v.list(
      "range",
      [](auto& to, auto& range) {
        to.list("from", kExtents, range.from);
        to.list("to", kExtents, range.to);
      },
      part.range);
  v.flag("guarded", part.guarded);
}
void visit_part(auto& v, Of<ComputeKernel> auto& kernel) {
  v.property("type", kernel.type);
  v.compute("", kernel.compute);
  v.nodes("nodes", kernel);
  v.list(
      "rearranged", [](auto& to, auto& part) { visit_part(to, part); }, kernel.rearranged);
  v.map(
      "turns",
      [](auto& to, auto& value, auto& length) {
        to.mention("", value);
        to.property("of", length);
      },
      kernel.turns);
  v.mention("packed_from", kernel.packed_from);
  v.list("scattered", kMentions, kernel.scattered);
  v.flag("once", kernel.once);
  v.use("steps", kernel.steps);
  v.property("earlier", kernel.earlier);
  v.list("reach", kReach, kernel.reach);
}
void visit_part(auto& v, Of<FusedKernel> auto& kernel) {
  v.list(
      "members",
      [](auto& to, auto& member) {
        to.inner("", member.value);
        to.property("type", member.type);
        to.list("shared", kProperties, member.shared);
        to.property("place", member.range);
        to.extent("position", member.place);
        to.compute("", member.compute);
      },
      kernel.members);
  v.nodes("nodes", kernel);
}

/// Facts about a node of a kernel's expressions, by its number in `nodes_of`.
struct NodeFacts {
  int node = 0;
  std::optional<int> operand{};
  std::vector<std::optional<Extent>> checked{};
  std::vector<int> gathers{};
  bool trusted = false;
  bool bounding = false;
  friend bool operator==(const NodeFacts&, const NodeFacts&) = default;
};
void visit_part(auto& v, Of<NodeFacts> auto& facts) {
  v.property("", facts.node);
  v.property("operand", facts.operand);
  v.list("checked", kExtents, facts.checked);
  v.list("gathers", kProperties, facts.gathers);
  v.flag("trusted", facts.trusted);
  v.flag("bounding", facts.bounding);
}

/// The program without its values and steps.
void visit_part(auto& v, Of<OperationProgram> auto& program) {
  const auto tensor = [](auto& to, auto& declared) {
    to.property("", declared.name);
    to.property("type", declared.type);
    to.property("line", declared.line);
    to.flag("series", declared.series);
  };
  v.property("", program.name);
  v.list("files", kProperties, program.files);
  v.property("sites", program.sites);
  v.flag("chooses", program.chooses);
  v.list(
      "dimensions",
      [](auto& to, auto& dimension) {
        to.mention("", dimension.first);
        to.property("", dimension.second);
      },
      program.declarations.dimensions);
  v.list("found", kProperties, program.declarations.found);
  v.list(
      "params",
      [](auto& to, auto& param) {
        to.property("", param.name);
        to.property("type", param.type);
        to.property("default", param.default_text);
      },
      program.declarations.params);
  v.list("inputs", tensor, program.declarations.inputs);
  v.list("outputs", tensor, program.declarations.outputs);
  v.map(
      "titles",
      [](auto& to, auto& value, auto& title) {
        to.mention("", value);
        to.property("", title);
      },
      program.titles);
  v.map(
      "silent",
      [](auto& to, auto& file, auto& line) {
        to.property("", file);
        to.property("", line);
      },
      program.silent);
  v.list(
      "warnings",
      [](auto& to, auto& warning) {
        to.property("", warning.id);
        to.property("place", warning.range);
        to.property("", warning.message);
      },
      program.warnings);
}

}  // namespace tdsl::codegen
