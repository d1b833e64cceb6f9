#include "codegen/relations/relations.h"
#include "codegen/lower/program.h"
#include "codegen/relations/imposed_relations.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>
#include <random>

#include "frontend/frontend.h"
#include "ir/algebra/block.h"
#include "ir/algebra/check/verify.h"
#include "ir/algebra/text/parse.h"
#include "ir/algebra/text/text.h"
#include "ir/eval/eval.h"
#include "passes/pipeline.h"
#include "runtime/plan/region/plan_price.h"
#include "tests/unit/algebra/oracle/sites.h"
#include "tests/unit/plan/target_regions.h"

// Programs and their plans as tensor relations: values agree with the evaluator, traffic with the planner's
// predictions.

namespace tdsl::tests::program_relations {

namespace algebra = ir::algebra;
using namespace regions;
using codegen::Relations;
using codegen::RelationStep;

namespace {

/// A program's text with the sizes of its dimensions, and everything derived from it.
struct Compiled {
  ir::Program graph;
  codegen::OperationProgram operations;
  codegen::Bodies bodies;
  plan::Region region;
};

Compiled compiled(const std::string& text, const std::map<std::string, std::int64_t>& sizes) {
  frontend::SourceManager sources;
  frontend::DiagnosticSink sink;
  frontend::CompileOptions options;
  options.library_directory = TDSL_SOURCE_DIR "/stdlib";
  const auto program = frontend::compile(sources, sources.add("test.tdsl", text), sink, options);
  INFO(frontend::render_all(sink, sources));
  REQUIRE(program.has_value());
  Compiled made;
  made.graph = *program;
  passes::PassContext context;
  passes::PipelineOptions pipeline;
  pipeline.disabled = {"compose_reads", "epilogues", "fuse_rows", "fusion", "merge_rows", "shared_maps"};
  made.operations = codegen::lower(passes::run_pipeline(*program, pipeline, context));
  codegen::WalkRequest request;
  request.dimensions = sizes;
  made.region = codegen::survey_with_bodies(made.operations, request, made.bodies);
  return made;
}

/// The plan with the fewest bytes.
plan::PlanValue plan_for(const plan::Region& region, plan::Index ranks) {
  return plan::search(region, bytes_only(ranks, 2), {}).plan;
}

/// Random inputs (multiples of 1/2), and the evaluator's results.
struct Evaluated {
  std::map<std::string, ir::Array> inputs;
  ir::EvalResult result;
};

Evaluated evaluated(const ir::Program& program, const std::map<std::string, std::int64_t>& sizes) {
  Evaluated found;
  std::mt19937_64 random(11);
  for (const ir::Node& node : program.body.nodes) {
    const auto* input = std::get_if<ir::Input>(&node.op);
    if (input == nullptr) continue;
    const ir::Type& type = program.type(node.results[0]);
    ir::Array array;
    array.type = type.scalar;
    std::int64_t count = 1;
    for (const ir::Extent& e : type.shape) {
      array.shape.push_back(e.evaluate([&](ir::ValueId v) { return sizes.at(program.info(v).name); }));
      count *= array.shape.back();
    }
    for (std::int64_t k = 0; k < count; ++k)
      array.floats.push_back(static_cast<double>(static_cast<std::int64_t>(random() % 17) - 8) / 2);
    found.inputs.emplace(input->name, std::move(array));
  }
  ir::EvalOptions options;
  options.dimensions = sizes;
  options.input = [&](const std::string& name, ir::Scalar) { return found.inputs.at(name); };
  options.print = [](const std::string&) {};
  found.result = ir::evaluate(program, options);
  REQUIRE_FALSE(found.result.error.has_value());
  return found;
}

algebra::Data data_for(const Relations& relations, const std::map<std::string, ir::Array>& inputs) {
  algebra::Data data{relations.inputs, relations.calls};
  for (const algebra::Expr& e : algebra::nodes_of(relations.program.roots())) {
    const auto* input = algebra::as<algebra::Input>(e);
    if (input == nullptr || !inputs.contains(input->name)) continue;
    const ir::Array& array = inputs.at(input->name);
    data.inputs.emplace(input->name,
                        algebra::tuples_of({algebra::array_of(array.shape, array.floats)}, input->frontier));
  }
  return data;
}

void check_values(const algebra::Tuples& tuples, const algebra::Expr& e, const ir::Array& expected) {
  const algebra::Array found = algebra::whole_of(tuples, e->type.keys.frontier(), e->type.block).at(0);
  CHECK(found.bounds == expected.shape);
  for (std::size_t k = 0; k < found.elements.size(); ++k) {
    const double wanted = expected.floats.empty() ? static_cast<double>(expected.integers[k]) : expected.floats[k];
    const bool equal =
        found.elements[k] == wanted || std::abs(found.elements[k] - wanted) <= 1e-12 * std::max(1.0, std::abs(wanted));
    CHECK_MESSAGE(equal, "element " << k << ": " << found.elements[k] << " instead of " << wanted);
  }
}

/// Compares execution without sites and on simulated ones with the evaluator. Returns the floats moved.
algebra::Index check_program(const std::string& text, const std::map<std::string, std::int64_t>& sizes,
                             const std::vector<plan::Index>& ranks) {
  INFO(text);
  const Compiled program = compiled(text, sizes);
  const Evaluated expected = evaluated(program.graph, sizes);
  algebra::Index moved = 0;
  for (const plan::Index p : ranks) {
    INFO(p << " ranks");
    const plan::PlanValue plan = plan_for(program.region, p);
    INFO(plan::print(plan));
    const Relations logical = codegen::relations_of(program.region, program.bodies, {&plan, 1, false});
    const Relations physical = codegen::relations_of(program.region, program.bodies, {&plan});
    INFO(algebra::print(physical.program));
    CHECK(physical.padded.empty());
    CHECK(algebra::verify(logical.program) == std::vector<std::string>{});
    REQUIRE(algebra::verify(physical.program) == std::vector<std::string>{});
    const algebra::Data data = data_for(physical, expected.inputs);
    const std::vector<algebra::Expr> roots = physical.program.roots();
    const algebra::SitesRun run = algebra::run_on_sites(roots, data, {physical.mesh, 0, true});
    int compared = 0;
    for (std::size_t k = 0; k < physical.program.results.size(); ++k) {
      const auto& [name, value] = physical.program.results[k];
      const auto output = expected.result.outputs.find(name);
      if (output == expected.result.outputs.end()) continue;
      ++compared;
      INFO("result " << name);
      const algebra::Expr without_sites = logical.program.results[k].value;
      check_values(algebra::gathered(run.values.at(value->id)), value, output->second);
      check_values(algebra::evaluate(without_sites, data_for(logical, expected.inputs)), without_sites, output->second);
    }
    CHECK(compared == static_cast<int>(expected.result.outputs.size()));
    moved += run.moved();
  }
  return moved;
}

/// Bytes received by each rank according to the relations.
std::vector<double> received(const plan::Region& region, const Relations& relations) {
  std::vector<double> bytes(static_cast<std::size_t>(relations.mesh.sites()));
  for (const RelationStep& step : relations.steps) {
    const std::vector<algebra::Index> arrived = relations.arrivals(step);
    for (std::size_t site = 0; site < bytes.size(); ++site) {
      bytes[site] += static_cast<double>(arrived[site] * step.element_bytes) * region.ops[step.op].weight;
    }
  }
  return bytes;
}

void check_bytes(const std::string& name, const plan::Region& region, plan::Index ranks) {
  INFO(name << " on " << ranks << " ranks");
  const plan::PlanInputs inputs = bytes_only(ranks, 2);
  const auto plan = std::make_shared<const plan::PlanValue>(plan::search(region, inputs, {}).plan);
  INFO(plan::print(*plan));
  const plan::PlanPrice price = plan::price_of(region, inputs, plan);
  const Relations relations = codegen::relations_of(region, {}, {plan.get()});
  INFO(algebra::print(relations.program));
  CHECK(relations.padded.empty());
  CHECK(algebra::verify(relations.program) == std::vector<std::string>{});
  const std::vector<double> bytes = received(region, relations);
  CHECK(std::accumulate(bytes.begin(), bytes.end(), 0.0) ==
        doctest::Approx(price.mean_received * static_cast<double>(ranks)));
  CHECK(*std::ranges::max_element(bytes) == doctest::Approx(price.bytes_received));
}

}  // namespace

TEST_CASE("relations: programs and their plans compute the evaluator's values") {
  const std::vector<plan::Index> ranks{2, 4, 6};
  algebra::Index moved = 0;
  moved +=
      check_program("input A: f64[n, m];\ninput B: f64[m, k];\nlet C[i, l] = sum[j](A[i, j] * B[j, l]);\noutput C;\n",
                    {{"n", 12}, {"m", 24}, {"k", 12}}, ranks);
  moved += check_program(
      "input A: f64[n, m];\ninput B: f64[n, m];\ninput v: f64[m];\noutput S = A + B;\noutput T = A' @ (A - B);\noutput "
      "w = A @ v;\noutput G = A @ A';\n",
      {{"n", 12}, {"m", 24}}, ranks);
  moved += check_program(
      "input A: f64[n, m];\noutput E[i, j] = exp(0.1 * A[i, j]) + f64(i) - A[i, j];\noutput R = max(A, 0.0);\noutput Q "
      "= 2.0 * A';\n",
      {{"n", 12}, {"m", 24}}, ranks);
  moved += check_program(
      "input A: f64[n, m];\noutput top[i] = max[j](A[i, j]);\noutput place[i] = argmin[j](A[i, j]);\noutput s[j] = "
      "sum[i](f64(i) * A[i, j]);\n"
      "output total = sum(A * A);\noutput c[i] = sum[j](if A[i, j] > 0.0 then A[i, j] else 0.0);\n",
      {{"n", 12}, {"m", 24}}, ranks);
  moved += check_program(
      "input X: f64[n, n];\ninput Y: f64[n, n];\nlet S = X + Y;\noutput d = diag(S);\noutput e = diag(X) * diag(Y);\n"
      "output t = trace(Y);\n",
      {{"n", 12}}, ranks);
  // Extents not divisible by the shares are cut into single elements.
  moved += check_program(
      "input A: f64[n, m];\ninput v: f64[m];\nvar x[i] = sum[j](A[i, j] * v[j]);\nx[i] += sum[j](A[i, j]);\noutput "
      "x;\n",
      {{"n", 7}, {"m", 5}}, {2, 4});
  CHECK(moved > 1000);
}

TEST_CASE("relations: a Compute outside of the algebra is an opaque operator, with a reason") {
  const std::map<std::string, std::int64_t> sizes{{"n", 12}, {"m", 24}};
  const Compiled program = compiled(
      "input A: f64[n, m];\ninput v: f64[n];\ninput p: i64[n];\noutput s = sort(v);\noutput d = v[1:n] - v[0:n - "
      "1];\noutput g[i] = A[p[i], 0];\n"
      "output t[i] = 2.0 * s[i];\n",
      sizes);
  std::map<std::string, std::string> reasons;
  const plan::PlanValue plan = plan_for(program.region, 4);
  const Relations relations = codegen::relations_of(program.region, program.bodies, {&plan});
  for (const RelationStep& step : relations.steps) reasons[program.region.ops[step.op].op.name] = step.opaque;
  CHECK(reasons.at("s") == "a dimension of the result is computed as a whole");
  CHECK(reasons.at("d") == "subscripts are no plain indices over whole dimensions");
  CHECK(reasons.at("g") == "subscripts come from data");
  CHECK(reasons.at("t").empty());
  CHECK(algebra::verify(relations.program) == std::vector<std::string>{});
  const std::string text = algebra::print(relations.program);
  for (const char* name : {"\"map s\"", "\"map d\"", "\"reduce g\""})
    CHECK_MESSAGE(text.find(name) != std::string::npos, name << " in\n" << text);
  algebra::Pool pool;
  CHECK(algebra::print(algebra::parse(pool, text)) == text);
}

TEST_CASE("relations: the page's example") {
  const Compiled program = compiled("input A: f64[n, m];\ninput B: f64[m, k];\noutput C = max(A @ B, 0.0);\n",
                                    {{"n", 1000}, {"m", 600000}, {"k", 1000}});
  const plan::PlanValue plan = plan_for(program.region, 4);
  std::ifstream file(TDSL_SOURCE_DIR "/ir/algebra/README.md");
  std::string page, line;
  while (std::getline(file, line)) page += line.starts_with("    ") ? line.substr(4) + "\n" : "";
  for (const bool sites : {false, true}) {
    const std::string text =
        algebra::print(codegen::relations_of(program.region, program.bodies, {&plan, 1, sites}).program);
    CHECK_MESSAGE(page.find(text) != std::string::npos, text);
  }
}

TEST_CASE("relations: a plan moves the predicted bytes") {
  for (const plan::Index ranks : {2, 4, 6, 8}) {
    check_bytes("newton", newton(24000, 48, 5), ranks);
    check_bytes("nearest", nearest(12000, 240), ranks);
    check_bytes("sum and gram", sum_and_gram(24000, 48), ranks);
    check_bytes("skewed chain", chain(960, 96, 9600), ranks);
    check_bytes("network", network_step(240, 240, 2400, 48), ranks);
    check_bytes("mttkrp", mttkrp(96, 24), ranks);
    check_bytes("transformer", transformer(288, 144, 12, 48, 576), ranks);
  }
}

namespace {

/// The plan's text as tensor relations, as `explain --stage=algebra` prints it.
std::string printed(const Compiled& program, const plan::PlanValue& plan) {
  const Relations physical = codegen::relations_of(program.region, program.bodies, {&plan});
  return "; a comment\n" + plan::mesh_line(plan.mesh) + "\n" + algebra::print(physical.program);
}

/// The message for a plan of relations; empty if it is translated.
std::string refused(const Compiled& program, const std::string& text, plan::Index ranks) {
  try {
    (void)codegen::plan_of_relations(program.region, program.bodies, {"p.ia", text}, "p", ranks);
  } catch (const std::runtime_error& error) { return error.what(); }
  return {};
}

std::string with(std::string text, const std::string& old, const std::string& now) {
  const std::size_t at = text.find(old);
  REQUIRE_MESSAGE(at != std::string::npos, old << " is not in\n" << text);
  return text.replace(at, old.size(), now);
}

void check_round_trip(const std::string& text, const std::map<std::string, std::int64_t>& sizes) {
  INFO(text);
  const Compiled program = compiled(text, sizes);
  for (const plan::Index ranks : {2, 4, 6, 8}) {
    const plan::PlanInputs inputs = bytes_only(ranks, 2);
    const plan::PlanValue plan = plan_for(program.region, ranks);
    const std::string relations = printed(program, plan);
    INFO(plan::print(plan) << relations);
    CHECK(codegen::is_relations(relations));
    const plan::PlanFile file =
        codegen::plan_of_relations(program.region, program.bodies, {"p.ia", relations}, "p", ranks);
    INFO(file.text);
    const plan::PlanValue again = plan::parse_plan(file.text);
    for (const auto& [site, decision] : again.at) {
      CHECK(decision.work == plan.at.at(site).work);
      CHECK(decision.result == plan.at.at(site).result);
    }
    CHECK(again.at.size() == plan.at.size());
    const auto price = [&](const plan::PlanValue& value) {
      return plan::price_of(program.region, inputs, std::make_shared<const plan::PlanValue>(value)).bytes_received;
    };
    CHECK(price(again) <= price(plan));  // a shared move becomes a kept copy
  }
}

const char* const kProduct = "input A: f64[n, m];\ninput B: f64[m, k];\noutput C = max(A @ B, 0.0);\n";

}  // namespace

TEST_CASE("relations: a plan printed as relations is read back as the same decisions") {
  check_round_trip(kProduct, {{"n", 960}, {"m", 96000}, {"k", 480}});
  check_round_trip(kProduct, {{"n", 9600}, {"m", 96}, {"k", 4800}});
  check_round_trip(
      "input A: f64[n, m];\ninput v: f64[m];\nlet S = A * 2.0;\noutput w = S @ v;\noutput G = S' @ A;\noutput t = "
      "sum(S);\n",
      {{"n", 9600}, {"m", 48}});
  check_round_trip(
      "input X: f64[n, n];\ninput Y: f64[n, n];\nlet S = X + Y;\noutput d = diag(S);\noutput t = sum(S);\n",
      {{"n", 960}});
}

TEST_CASE("relations: plans that merge maps into other operators are read") {
  const Compiled program = compiled(kProduct, {{"n", 960}, {"m", 96}, {"k", 480}});
  const std::string text =
      "mesh a:4/1\n%0 = input \"A\" keys [4, 4] block [240, 24] part [0]\n%1 = input \"B\" keys [4, 1] block [24, 480] "
      "part [0]\n%2 = bcast %1\n%3 = local join %0, %2 on [1], [0] by matmul\n%4 = local aggregate %3 keep [0, 2] by "
      "add then relu\nresult \"C\" %4\n";
  const plan::PlanFile file = codegen::plan_of_relations(program.region, program.bodies, {"p.ia", text}, "p", 4);
  const plan::PlanValue plan = plan::parse_plan(file.text);
  REQUIRE(plan.at.size() == 4);
  for (const auto& [site, decision] : plan.at) CHECK(decision.work.find(":a") != std::string::npos);
  CHECK(file.lines.back() == 6);
  // R1-4, as printed in the paper, would be another program.
  CHECK(refused(program, with(text, "by matmul", "by matmul then relu"), 4) ==
        "line 5: the program has `join on [1], [0] by matmul` here, not `map by relu`");
}

TEST_CASE("relations: joined blocks that are moved before their sum are added up where they are joined") {
  const Compiled program = compiled(kProduct, {{"n", 960}, {"m", 96}, {"k", 480}});
  const std::string text =
      "mesh a:4/1\n%0 = input \"A\" keys [4, 4] block [240, 24] part [1]\n%1 = input \"B\" keys [4, 1] block [24, 480] "
      "part [0]\n%2 = local join %0, %1 on [1], [0] by matmul\n%3 = shuf %2 part [0]\n%4 = local aggregate %3 keep "
      "[0, 2] by add then relu\nresult \"C\" %4\n";
  const plan::PlanFile file = codegen::plan_of_relations(program.region, program.bodies, {"p.ia", text}, "p", 4);
  INFO(file.text);
  std::string sums;
  for (const auto& [site, decision] : plan::parse_plan(file.text).at)
    sums += decision.result.empty() ? "" : decision.work + " -> " + decision.result;
  CHECK(sums == "k:a -> i:a");
}

TEST_CASE("relations: a plan that is none of the program is refused, with its line") {
  const Compiled program = compiled(kProduct, {{"n", 960}, {"m", 960}, {"k", 960}});
  const plan::PlanValue plan = plan_for(program.region, 4);
  const std::string text = printed(program, plan);
  INFO(text);
  CHECK(refused(program, text, 4).empty());
  CHECK(refused(program, text, 6) == "line 2: it is a plan for 4 ranks, not for 6");
  CHECK(refused(program, with(text, "mesh a", "; mesh a"), 4) ==
        "line 1: there is no line `mesh a:..` before the plan");
  CHECK(refused(program, with(text, "\"A\"", "\"E\""), 4).starts_with("line 3: the program has `input \"A\""));
  CHECK(refused(program, with(text, "by matmul", "by matmul_nt"), 4).starts_with("line "));
  CHECK(refused(program, with(text, "result \"C\"", "result \"D\""), 4).ends_with(": there is no result \"C\""));
  CHECK(refused(program, with(text, "= input", "= inptu"), 4) == "line 3:11: no operator is called `inptu`");
  const std::string unplaced =
      "mesh a:4/1\n%0 = input \"A\" keys [1, 1] block [960, 960]\n%1 = input \"B\" keys [1, 1] block [960, 960]\n"
      "%2 = join %0, %1 on [1], [0] by matmul\n%3 = aggregate %2 keep [0, 2] by add\n%4 = map %3 by relu\nresult "
      "\"C\" %4\n";
  CHECK(refused(program, unplaced, 4) == "line 2: it lies on no sites: inputs need a layout");
  // Blocks of A and B that are joined lie on different sites.
  const std::string apart =
      "mesh a:4/1\n%0 = input \"A\" keys [4, 4] block [240, 240] part [0]\n%1 = input \"B\" keys [4, 4] block [240, "
      "240] part [1]\n%2 = join %0, %1 on [1], [0] by matmul\nresult \"C\" %2\n";
  CHECK(refused(program, apart, 4) ==
        "line 4: joined blocks may lie on different sites: left part [0], right part [1]");
}

}  // namespace tdsl::tests::program_relations
