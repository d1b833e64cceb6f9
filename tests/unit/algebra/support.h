#pragma once

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

#include "ir/algebra/check/verify.h"
#include "ir/algebra/rules/compile.h"
#include "ir/algebra/rules/paper_cost.h"
#include "ir/algebra/text/parse.h"
#include "ir/algebra/text/text.h"
#include "tests/unit/algebra/oracle/evaluate.h"
#include "tests/unit/algebra/oracle/sites.h"

namespace tdsl::tests {

namespace algebra = ir::algebra;

/// A block of small random integers, so that every sum of products is exact.
inline algebra::Block random_block(const algebra::BlockType& type, std::mt19937_64& random) {
  algebra::Block block = algebra::zero_block(type);
  std::uniform_int_distribution<int> number(-3, 3);
  for (algebra::Array& array : block) {
    for (double& x : array.elements) x = number(random);
  }
  return block;
}

/// Random blocks for every input of an expression.
inline algebra::Data random_inputs(std::span<const algebra::Expr> roots, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  algebra::Data data;
  for (const algebra::Expr& e : algebra::nodes_of(roots)) {
    if (const auto* input = algebra::as<algebra::Input>(e)) {
      algebra::Tuples tuples;
      e->type.keys.for_each([&](const algebra::Key& key) { tuples.emplace(key, random_block(e->type.block, random)); });
      data.inputs.emplace(input->name, std::move(tuples));
    }
  }
  return data;
}
inline algebra::Data random_inputs(const algebra::Expr& e, std::uint64_t seed) {
  const std::vector<algebra::Expr> roots{e};
  return random_inputs(roots, seed);
}

/// The execution of one expression on simulated sites.
struct PlanRun {
  algebra::Tuples value;
  algebra::Index paper = 0;
  algebra::Index moved = 0;
};
inline PlanRun run_plan(const algebra::Expr& e, const algebra::Data& data, const algebra::Sites& sites) {
  const std::vector<algebra::Expr> roots{e};
  const algebra::SitesRun run = algebra::run_on_sites(roots, data, sites);
  return {algebra::gathered(run.values.at(e->id)), run.paper(), run.moved()};
}

/// The papers' cost of a well-formed program.
inline algebra::Index program_cost(const std::string& text, algebra::Index sites) {
  algebra::Pool pool;
  const algebra::Program program = algebra::parse(pool, text);
  CHECK(algebra::verify(program) == std::vector<std::string>{});
  return algebra::paper_cost(program.roots(), algebra::Mesh{{sites}});
}

/// Executes a program on sites and compares each result with its value without sites. Returns the floats counted.
inline algebra::Index run_program(const std::string& text, algebra::Index sites) {
  algebra::Pool pool;
  const algebra::Program program = algebra::parse(pool, text);
  const std::vector<algebra::Expr> roots = program.roots();
  const algebra::Data data = random_inputs(roots, 7);
  const algebra::SitesRun run = algebra::run_on_sites(roots, data, {algebra::Mesh{{sites}}});
  for (const algebra::Program::Result& result : program.results) {
    CAPTURE(result.name);
    CHECK(algebra::gathered(run.values.at(result.value->id)) == algebra::evaluate(result.value, data));
  }
  CHECK(run.paper() == algebra::paper_cost(roots, algebra::Mesh{{sites}}));
  CHECK(run.moved() <= run.paper());
  return run.paper();
}

/// The matrix in blocks of rows x columns, with keys (row, column).
inline algebra::Tuples blocks_of(const std::vector<std::vector<double>>& matrix, algebra::Index rows,
                                 algebra::Index columns) {
  algebra::Tuples tuples;
  const auto height = static_cast<algebra::Index>(matrix.size());
  const auto width = static_cast<algebra::Index>(matrix[0].size());
  for (algebra::Index i = 0; i < height; i += rows) {
    for (algebra::Index j = 0; j < width; j += columns) {
      std::vector<double> elements;
      for (algebra::Index r = i; r < i + rows; ++r) {
        for (algebra::Index c = j; c < j + columns; ++c)
          elements.push_back(matrix[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)]);
      }
      tuples.emplace(algebra::Key{i / rows, j / columns},
                     algebra::Block{algebra::array_of({rows, columns}, std::move(elements))});
    }
  }
  return tuples;
}

}  // namespace tdsl::tests
