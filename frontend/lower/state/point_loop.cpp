#include <tuple>
#include <utility>

#include "frontend/lower/state/graph.h"
#include "ir/graph/check.h"

// Function bodies that run statement by statement at every point of some index variables: see PointLoop.
namespace tdsl::frontend {

ValueId GraphBuilder::wait(PointLoop loop, std::vector<std::int32_t> labels, const std::string& name,
                           ir::SourceRange range) {
  Waiting w;
  w.spec.type = program_.type(loop.result);
  w.spec.type.shape.assign(labels.size(), ir::Extent());
  w.spec.name = name;
  w.spec.range = range;
  w.spec.out = labels;
  w.value = program_.new_value(w.spec.type, name, range);
  w.loop = std::make_shared<PointLoop>(std::move(loop));
  free_labels_.emplace(w.value, std::move(labels));
  waiting_.push_back(w);
  pending_.insert(w.value);
  return w.value;
}

GraphBuilder::SeparateRegion::SeparateRegion(GraphBuilder& graph, ir::Region& region)
    : graph_(graph), outer_(std::exchange(graph.waiting_, {})) {
  graph_.push_region(region);
}

GraphBuilder::SeparateRegion::~SeparateRegion() {
  graph_.pop_region();
  graph_.waiting_ = std::move(outer_);
}

ValueId GraphBuilder::emit_scalar(const Expr& e, const std::string& name, const ir::SourceRange& range,
                                  const LabelMap& numbers) {
  ComputeSpec spec;
  spec.body = e;
  spec.type = {e->type, {}, {}};
  return emit(compute_of(spec, numbers), spec.type, name, range);
}

void GraphBuilder::emit_point_loop(const Waiting& w) {
  const std::vector<std::int32_t>& labels = w.spec.out;
  ComputeSpec empty;
  empty.type = program_.type(w.value);
  empty.name = w.spec.name;
  empty.range = w.spec.range;
  std::vector<std::pair<ValueId, ValueId>> bounds;
  LabelMap numbers;
  for (std::size_t d = 0; d < labels.size(); ++d) {
    const LabelInfo info = label(labels[d]);
    const ValueId begin = emit_scalar(expr_of(program_, info.begin), info.name + "_begin", w.spec.range);
    bounds.emplace_back(begin, emit_scalar(expr_of(program_, info.end), info.name + "_end", w.spec.range));
    numbers.emplace(labels[d], ir::read(Scalar::kI64, w.loop->positions.at(labels[d]), {}));
    empty.out.push_back(new_label(length(labels[d])));
  }
  const bool truth = empty.type.scalar == Scalar::kBool;
  empty.body = truth ? ir::constant(Scalar::kBool, false) : ir::cast(empty.type.scalar, ir::constant_i64(0));
  const ValueId last = emit_point_level(w, numbers, bounds, 0, emit(empty));
  // The outermost loop's result is the value that readers use already.
  std::vector<ir::Node>& nodes = regions_.back()->nodes;
  TDSL_CHECK(nodes.back().results == std::vector<ValueId>{last}, "the loop was emitted last");
  nodes.back().results = {w.value};
}

ValueId GraphBuilder::emit_point_level(const Waiting& w, const LabelMap& numbers,
                                       const std::vector<std::pair<ValueId, ValueId>>& bounds, std::size_t level,
                                       ValueId tensor) {
  if (level == bounds.size()) return emit_point(w, numbers, tensor);
  ir::For loop;
  std::tie(loop.begin, loop.end) = bounds[level];
  loop.inits = {tensor};
  const ValueId inside = program_.new_value(program_.type(tensor), w.spec.name, w.spec.range);
  loop.body.arguments = {w.loop->positions.at(w.spec.out[level]), inside};
  push_region(loop.body);
  loop.body.yields = {emit_point_level(w, numbers, bounds, level + 1, inside)};
  pop_region();
  return emit(std::move(loop), program_.type(tensor), w.spec.name, w.spec.range);
}

ValueId GraphBuilder::emit_point(const Waiting& w, const LabelMap& numbers, ValueId tensor) {
  const auto run = [&]() {
    for (const auto& [value, parameter] : w.loop->parameters)
      emit_results(compute_of(parameter, numbers), {value}, parameter.range);
    auto& nodes = regions_.back()->nodes;
    nodes.insert(nodes.end(), w.loop->body.nodes.begin(), w.loop->body.nodes.end());
    ComputeSpec store;
    for (const std::int32_t id : w.spec.out)
      store.left.push_back(sub(numbers.at(id), expr_of(program_, label(id).begin)));
    store.base = tensor;
    store.body = ir::read(w.spec.type.scalar, w.loop->result, {});
    store.type = program_.type(tensor);
    store.storage_given = true;
    store.name = w.spec.name;
    store.range = w.spec.range;
    return emit(store);
  };
  if (!w.loop->guard) return run();
  ir::If branch;
  branch.condition = emit_scalar(w.loop->guard, "guard", w.spec.range, numbers);
  push_region(branch.then_region);
  branch.then_region.yields = {run()};
  pop_region();
  branch.else_region.yields = {tensor};
  return emit(std::move(branch), program_.type(tensor), w.spec.name, w.spec.range);
}

}  // namespace tdsl::frontend
