#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/graph/affine.h"
#include "ir/graph/computes.h"
#include "ir/graph/extent_facts.h"
#include "passes/loops/loop_forms.h"
#include "passes/schedule/ranges.h"
#include "passes/schedule/rebuild.h"
#include "tests/unit/passes/nest_writer.h"
#include "tests/unit/passes/scop_writer.h"
#include "tests/unit/passes/support.h"

// Loop nests as statements: dependences against all pairs of instances, and nests rebuilt from their parts.

namespace {

using namespace tdsl;
using passes::Dependence;
using passes::Scop;
using passes::ScopAccess;
using passes::ScopStatement;

passes::Resolve resolver(const passes::KnownScalars& scalars) {
  return [&scalars](const ir::Extent& e) { return scalars.resolved(e); };
}

passes::KnownScalars scalars_of(const ir::Program& program) {
  passes::KnownScalars scalars;
  ir::for_each_node(program.body, [&](const ir::Node& n) { scalars.note(n); });
  return scalars;
}

/// The first loop of the program.
std::size_t first_loop(const ir::Program& program) {
  const auto found =
      std::ranges::find_if(program.body.nodes, [](const ir::Node& n) { return std::holds_alternative<ir::For>(n.op); });
  REQUIRE(found != program.body.nodes.end());
  return static_cast<std::size_t>(found - program.body.nodes.begin());
}

std::optional<Scop> scop_of(const ir::Program& program, passes::NoScop& why) {
  const std::vector<int> counts = passes::use_counts(program);
  const auto used = [&](ir::ValueId v) { return counts[static_cast<std::size_t>(v.id)] > 0; };
  return passes::extract(program, program.body.nodes[first_loop(program)], used, why);
}

/// Changes a Scop or its dependences, for planted faults.
using Fault = std::function<void(Scop&, std::vector<Dependence>&)>;

struct Distributed {
  ir::Program program;
  std::string schedule;
  bool accumulates = false;  ///< updates by an associative operator may have changed places
};

/// The program with its first loop distributed, whatever that is good for: with reads of current versions and of those
/// before. Nothing if it is no Scop.
std::vector<Distributed> distributed(const ir::Program& source, const Fault& fault = {}) {
  ir::Program program = source;
  passes::NoScop why;
  auto scop = scop_of(program, why);
  const passes::KnownScalars scalars = scalars_of(program);
  if (!scop) return {};
  passes::measure(*scop, resolver(scalars));
  if (!passes::widen_arrays(*scop, resolver(scalars))) return {};
  passes::IntegerSets sets(passes::PassOptions().set_operations);
  passes::privatise(program, *scop, resolver(scalars), sets);
  std::vector<Dependence> none;
  if (fault) fault(*scop, none);
  auto dependences = passes::dependences(*scop, resolver(scalars), sets);
  if (!dependences) return {};
  if (fault) fault(*scop, *dependences);
  const auto steps = passes::distributed(*scop, *dependences);
  REQUIRE(steps.has_value());
  const bool accumulates =
      std::ranges::any_of(scop->statements, [](const ScopStatement& s) { return s.accumulation.has_value(); });
  std::vector<Distributed> results;
  for (const auto version : {passes::ReadVersion::kCurrent, passes::ReadVersion::kBefore}) {
    ir::Program changed = program;
    passes::ValueMap renames;
    const std::vector<ir::Node> nodes =
        passes::rebuilt(changed, *scop, *steps, ir::ExtentFacts(program), version, renames);
    const auto at = static_cast<std::ptrdiff_t>(first_loop(changed));
    changed.body.nodes.erase(changed.body.nodes.begin() + at);
    changed.body.nodes.insert(changed.body.nodes.begin() + at, nodes.begin(), nodes.end());
    passes::rename_everywhere(changed, renames);
    results.push_back({std::move(changed), passes::text_of(*steps), accumulates});
  }
  return results;
}

std::string schedule_of(const ir::Program& program) {
  const auto results = distributed(program);
  return results.empty() ? "" : results[0].schedule;
}

/// Values of sizes, indices and labels.
struct Point {
  std::map<ir::ValueId, std::int64_t> values;
  std::vector<std::int64_t> labels;
};

/// Nothing if data determines the value.
std::optional<std::int64_t> value_of(const ir::Expr& e, const Point& at) {
  if (const auto* c = std::get_if<ir::Constant>(&e->op)) {
    const auto* number = std::get_if<std::int64_t>(&c->value);
    return number == nullptr ? std::nullopt : std::optional(*number);
  }
  if (const auto* l = std::get_if<ir::IndexRef>(&e->op)) return at.labels[static_cast<std::size_t>(l->label)];
  if (const auto* r = std::get_if<ir::Read>(&e->op)) {
    const auto found = at.values.find(r->tensor);
    return found == at.values.end() ? std::nullopt : std::optional(found->second);
  }
  const auto* b = std::get_if<ir::Binary>(&e->op);
  if (b == nullptr) return std::nullopt;
  const auto x = value_of(b->left, at);
  const auto y = value_of(b->right, at);
  if (!x || !y) return std::nullopt;
  switch (b->op) {
    case ir::BinaryOp::kAdd: return *x + *y;
    case ir::BinaryOp::kSub: return *x - *y;
    case ir::BinaryOp::kMul: return *x * *y;
    case ir::BinaryOp::kMin: return std::min(*x, *y);
    case ir::BinaryOp::kMax: return std::max(*x, *y);
    case ir::BinaryOp::kLt: return *x < *y ? 1 : 0;
    default: return std::nullopt;
  }
}

/// An instance of a statement, with the elements of one access; a subscript that data determines is `none`.
struct Touch {
  std::size_t statement;
  std::vector<std::int64_t> indices;
  const ScopAccess* access;
  std::vector<std::optional<std::int64_t>> element;
};

/// All accesses of all instances in program order. Must outlive them.
class Enumeration {
 public:
  Enumeration(const Scop& scop, std::map<ir::ValueId, std::int64_t> sizes) : scop_(scop), sizes_(std::move(sizes)) {
    for (const ScopStatement& s : scop.statements) accesses_.push_back(passes::accesses_of(scop, s));
  }

  std::vector<Touch> run() {
    for (std::size_t s = 0; s < scop_.statements.size(); ++s) {
      Point point{sizes_, {}};
      loops(s, 0, point, {});
    }
    return std::move(touches_);
  }

 private:
  void loops(std::size_t s, std::size_t depth, Point& point, std::vector<std::int64_t> indices) {
    const ScopStatement& statement = scop_.statements[s];
    if (depth == statement.loops.size()) return elements(s, point, indices);
    const passes::ScopLoop& loop = scop_.loops[statement.loops[depth]];
    const std::int64_t begin = value_of(loop.begin, point).value();
    const std::int64_t end = value_of(loop.end, point).value();
    for (std::int64_t i = begin; loop.step > 0 ? i < end : i > end; i += loop.step) {
      point.values[loop.index] = i;
      indices.push_back(i);
      loops(s, depth + 1, point, indices);
      indices.pop_back();
    }
    point.values.erase(loop.index);
  }

  void elements(std::size_t s, const Point& point, const std::vector<std::int64_t>& indices) {
    const std::vector<ir::Label> labels = ir::all_labels(scop_.statements[s].compute);
    const ir::Expr guard = scop_.statements[s].compute.guard;
    for (const ScopAccess& a : accesses_[s]) {
      std::set<std::vector<std::optional<std::int64_t>>> seen;
      Point at = point;
      at.labels.assign(labels.size(), 0);
      const auto visit = [&](const auto& self, std::size_t l) -> void {
        if (l == labels.size()) {
          if (a.guarded && guard && value_of(guard, at) == 0) return;
          std::vector<std::optional<std::int64_t>> element;
          for (const ir::Expr& e : a.at) element.push_back(value_of(e, at));
          if (seen.insert(element).second) touches_.push_back({s, indices, &a, element});
          return;
        }
        const auto value = [&](ir::ValueId v) { return at.values.at(v); };
        for (std::int64_t i = labels[l].begin.evaluate(value); i < labels[l].end.evaluate(value); ++i) {
          at.labels[l] = i;
          self(self, l + 1);
        }
      };
      visit(visit, 0);
    }
  }

  const Scop& scop_;
  std::map<ir::ValueId, std::int64_t> sizes_;
  std::vector<std::vector<ScopAccess>> accesses_;
  std::vector<Touch> touches_;
};

bool may_meet(const Touch& a, const Touch& b) {
  if (a.access->array != b.access->array || (!a.access->write && !b.access->write)) return false;
  for (std::size_t d = 0; d < a.element.size(); ++d) {
    if (a.element[d] && b.element[d] && *a.element[d] != *b.element[d]) return false;
  }
  return true;
}

/// The text of the first pair of instances, `a` before `b`, that no dependence keeps in order; empty if there is none.
std::string lost_pair(const Scop& scop, const std::vector<Dependence>& known, const std::vector<Touch>& touches) {
  std::set<std::string> keys;
  for (const Dependence& d : known) {
    const std::string key =
        std::to_string(d.from) + ">" + std::to_string(d.to) + "@" + (d.loop ? std::to_string(*d.loop) : "-");
    keys.insert(key + " read");
    if (!d.reads_first) keys.insert(key + " write");
  }
  for (const Touch& a : touches) {
    for (const Touch& b : touches) {
      if (!may_meet(a, b)) continue;
      const ScopStatement& s = scop.statements[a.statement];
      const ScopStatement& t = scop.statements[b.statement];
      const bool free = a.access->combined && b.access->combined && s.accumulation && t.accumulation &&
                        ir::equal(*s.accumulation->combine, *t.accumulation->combine);
      if (free) continue;
      const std::size_t common = passes::common_loops(s, t);
      std::size_t level = 0;
      while (level < common && a.indices[level] == b.indices[level]) ++level;
      if (level == common) {
        if (a.statement >= b.statement) continue;
      } else {
        const bool up = scop.loops[s.loops[level]].step > 0;
        if (up ? a.indices[level] > b.indices[level] : a.indices[level] < b.indices[level]) continue;
      }
      const std::string key = std::to_string(a.statement) + ">" + std::to_string(b.statement) + "@" +
                              (level < common ? std::to_string(s.loops[level]) : "-") +
                              (a.access->write ? " write" : " read");
      if (!keys.contains(key)) return key;
    }
  }
  return "";
}

std::uint64_t nests_to_distribute() {
  const char* asked = std::getenv("TDSL_RANDOM_NESTS");
  return asked == nullptr ? 60 : std::stoull(asked);
}

/// A nest over an n x n matrix A and a vector s: `body` updates %10 "A" to the value it yields.
ir::Program matrix_nest(const std::string& body) {
  return ir::parse(
      "program \"t\"\n%0:i64 \"n\" = dimension \"n\"\n%1:f64[%0, %0] \"A\" = input \"A\"\n%2:i64 = compute [] (0)\n"
      "%3:i64 = compute [] (1)\n"
      "%4:f64[%0, %0] \"A\" = for %3..%0 by 1 with (%1) do (%5:i64 \"i\", %6:f64[%0, %0] \"A\") {\n"
      "  %7:f64[%0, %0] \"A\" = for %3..%0 by 1 with (%6) do (%8:i64 \"j\", %10:f64[%0, %0] \"A\") {\n" +
      body + "  }\n  yield %7\n}\noutput \"A\" %4\n");
}

}  // namespace

TEST_CASE("schedule: dependences include all pairs of instances, at sizes 0 to 5") {
  if (!passes::IntegerSets::available()) return;
  const std::vector<std::string> bodies = {
      "%11:f64[%0, %0] \"A\" = compute [] (%10[%8, %5]) left [%5, %8] base %10\nyield %11\n",
      "%11:f64[%0, %0] \"A\" = compute [] (add(%10[sub(%5, 1), %8], %10[%5, sub(%8, 1)])) left [%5, %8] base %10\n"
      "yield %11\n",
      "%11:f64[%0, %0] \"A\" = compute [k in 0..%5] (%10[k, %8]) left [%8, k] base %10\nyield %11\n",
      "%11:f64[%0, %0] \"A\" = compute [] (0.5) where lt(%8, %5) left [%5, %8] base %10\n"
      "%12:f64[%0, %0] \"A\" = compute [] (%11[%8, %5]) left [sub(%8, 1), %5] base %11 combine sum\nyield %12\n"};
  for (const std::string& body : bodies) {
    const ir::Program program = matrix_nest(body);
    INFO(body);
    passes::NoScop why;
    const auto scop = scop_of(program, why);
    REQUIRE_MESSAGE(scop.has_value(), why.reason);
    const passes::KnownScalars scalars = scalars_of(program);
    passes::IntegerSets sets(passes::PassOptions().set_operations);
    const auto found = passes::dependences(*scop, resolver(scalars), sets);
    REQUIRE(found.has_value());
    for (std::int64_t n = 0; n <= 5; ++n) {
      Enumeration all(*scop, {{ir::ValueId{0}, n}, {ir::ValueId{2}, 0}, {ir::ValueId{3}, 1}});
      const std::vector<Touch> touches = all.run();
      CHECK(lost_pair(*scop, *found, touches) == "");
    }
  }
}

TEST_CASE("schedule: statements that depend on each other share the loops that carry it") {
  if (!passes::IntegerSets::available()) return;
  // A transposed copy into the other triangle: nothing is carried.
  CHECK(schedule_of(matrix_nest("%11:f64[%0, %0] \"A\" = compute [] (0.5) where lt(%5, %8) left [%5, %8] base %10\n"
                                "%12:f64[%0, %0] \"A\" = compute [] (%11[%5, %8]) where lt(%5, %8) left [%8, %5] base "
                                "%11\nyield %12\n")) == "for 0 { for 1 { S0 } }; for 0 { for 1 { S1 } }");
  // Carried by j alone: i goes inside.
  CHECK(schedule_of(matrix_nest("%11:f64[%0, %0] \"A\" = compute [] (%10[%5, sub(%8, 1)]) left [%5, %8] base %10\n"
                                "yield %11\n")) == "for 1 { for 0 { S0 } }");
  CHECK(schedule_of(matrix_nest(
            "%11:f64[%0, %0] \"A\" = compute [] (add(%10[sub(%5, 1), %8], %10[%5, sub(%8, 1)])) left [%5, %8] "
            "base %10\nyield %11\n")) == "for 0 { for 1 { S0 } }");
}

TEST_CASE("schedule: a nest that needs an older version of a variable is no Scop") {
  passes::NoScop why;
  // Reads the matrix as it was before the update.
  CHECK(!scop_of(matrix_nest("%11:f64[%0, %0] \"A\" = compute [] (0.5) left [%5, %8] base %10\n"
                             "%12:f64[%0, %0] \"A\" = compute [] (%10[%5, %8]) left [%8, %5] base %11\nyield %12\n"),
                 why));
  CHECK(why.reason == "it needs an older version of a variable");
}

TEST_CASE("schedule: a statement that reads what later iterations overwrite reads the version before") {
  if (!passes::IntegerSets::available()) return;
  const ir::Program source = matrix_nest(
      "%11:f64[%0, %0] \"A\" = compute [] sum[k in %5..%0] (mul(%10[%5, k], %10[k, %8])) left [sub(%5, 1), %8] base "
      "%10\nyield %11\n");
  const auto results = distributed(source);
  CHECK(results.size() == 2);
  for (const Distributed& result : results) {
    CHECK(result.schedule == "for 0 { for 1 { S0 } }");
    tests::check_verified(result.program);
    tests::check_same_meaning(source, result.program);
  }
}

TEST_CASE("schedule: random loop nests, distributed, keep their meaning") {
  if (!passes::IntegerSets::available()) return;
  int scops = 0;
  int changed = 0;
  for (std::uint64_t seed = 0; seed < 2 * nests_to_distribute(); ++seed) {
    const ir::Program source =
        ir::parse(seed % 2 == 0 ? tests::NestWriter(seed / 2).program() : tests::ScopWriter(seed / 2).program());
    const tests::RandomInputs inputs(source, seed);
    const ir::EvalResult expected = ir::evaluate(source, inputs.options());
    for (const Distributed& result : distributed(source)) {
      ++scops;
      changed += std::ranges::count(result.schedule, ';') > 0 ? 1 : 0;
      INFO("nest " << seed << ": " << result.schedule << "\n--- before\n"
                   << ir::print(source) << "--- after\n"
                   << ir::print(result.program));
      tests::check_verified(result.program);
      const auto rounding = result.accumulates ? tests::Rounding::kAllowed : tests::Rounding::kNone;
      REQUIRE(tests::difference(expected, ir::evaluate(result.program, inputs.options()), rounding) == "");
    }
  }
  MESSAGE(scops << " schedules of nests, " << changed << " in several parts");
  CHECK(changed > 0);
}

namespace {

/// True if the fault changes the results of a random nest.
bool is_found(const Fault& fault) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const ir::Program source = ir::parse(tests::ScopWriter(seed).program());
    const std::vector<Distributed> results = distributed(source, fault);
    if (results.empty() || !ir::verify(results[0].program).empty()) continue;
    const tests::RandomInputs inputs(source, 0);
    const ir::EvalResult expected = ir::evaluate(source, inputs.options());
    if (tests::difference(expected, ir::evaluate(results[0].program, inputs.options())) != "") return true;
  }
  return false;
}

}  // namespace

TEST_CASE("schedule: random nests find planted faults") {
  if (!passes::IntegerSets::available()) return;
  // A variable that an iteration reads before it writes gets copies.
  CHECK(is_found([](Scop& scop, std::vector<Dependence>&) {
    for (const ScopStatement& s : scop.statements) {
      passes::ScopArray& a = scop.arrays[s.array];
      if (a.init && !a.live && a.expanded.empty() && scop.loops[s.loops[0]].values) a.expanded = {s.loops[0]};
    }
  }));
  // A loop ends an iteration too early.
  CHECK(is_found([](Scop& scop, std::vector<Dependence>& found) {
    if (!found.empty()) scop.loops[0].end = passes::difference(scop.loops[0].end, ir::Extent(scop.loops[0].step));
  }));
  // A dependence is lost.
  CHECK(is_found([](Scop&, std::vector<Dependence>& found) {
    if (!found.empty()) found.erase(found.begin() + static_cast<std::ptrdiff_t>(found.size() / 2));
  }));
  // Statements are in another order.
  CHECK(is_found([](Scop&, std::vector<Dependence>& found) {
    for (Dependence& d : found) std::swap(d.from, d.to);
  }));
}
