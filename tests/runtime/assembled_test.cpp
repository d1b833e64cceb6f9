#include "runtime/kernels/assembled.h"

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "tests/runtime/simulated_world.h"
#include "tests/runtime/stored_programs.h"

// Compressed tensors assembled from points with computed positions: the same bits on any number of ranks.

namespace tdsl::tests {

namespace {

/// A block with its own memory, which begins as the block before.
class PanelSink : public rt::BlockSink {
 public:
  explicit PanelSink(plan::Box box) : box_(box) {}
  [[nodiscard]] rt::BlockPart before() const override {
    return {box_, memory_.get(), memory_ ? rt::sparse::head_in(memory_)->bytes : 0};
  }
  [[nodiscard]] std::byte* begin(Index bytes) override {
    next_ = rt::sparse::block_memory(bytes);
    return next_.get();
  }
  void holds(Index /*elements*/) override {}
  void keep() override {}
  [[nodiscard]] std::byte* change() override { return nullptr; }
  void end_panel() {
    if (next_) memory_ = std::move(next_);
  }
  [[nodiscard]] const rt::sparse::BlockHead* block() const { return memory_ ? rt::sparse::head_in(memory_) : nullptr; }

 private:
  plan::Box box_;
  rt::sparse::BlockMemory memory_, next_;
};

struct PointEntry {
  Index row, column;
  double value;
};
std::vector<PointEntry> random_entries(std::mt19937& random, Index rows, Index columns, Index count) {
  std::vector<PointEntry> entries;
  const auto draw = [&](Index n) { return static_cast<Index>(random() % static_cast<std::uint64_t>(n)); };
  // Sums depend on the order of such values.
  for (Index k = 0; k < count; ++k)
    entries.push_back({draw(rows), draw(columns), 0.1 * static_cast<double>(draw(100) - 50)});
  return entries;
}

/// Values combined with 0, one after the other.
std::map<std::pair<Index, Index>, double> combined_in_order(const std::vector<PointEntry>& entries) {
  std::map<std::pair<Index, Index>, double> result;
  for (const PointEntry& e : entries) result[{e.row, e.column}] += e.value;
  std::erase_if(result, [](const auto& element) { return element.second == 0; });
  return result;
}

std::map<std::pair<Index, Index>, double> elements_of(const rt::sparse::BlockHead* block, const plan::Box& box) {
  std::map<std::pair<Index, Index>, double> found;
  if (block == nullptr) return found;
  rt::sparse::Parts<double, 2>(std::vector{rt::sparse::Part{block, box, box[0]}}).rows(box[0], [&](const auto& row) {
    row.each([&](Index j, double value) {
      if (value != 0) found[{row.index(), j}] = value;
    });
  });
  return found;
}

template <class T, class F>
Tensor<T> source(TestSession& session, const std::string& name, Index extent, int site, F value) {
  plan::OpBuilder op(plan::OpClass::kSource, name, site, 1);
  op.out("e", extent);
  return session.compute<T>(op, [value](const TaskArgs& t) {
    const auto out = t.out<T, 1>();
    for (Index e = t.lo(0); e < t.hi(0); ++e) out(e) = value(e);
  });
}

/// K[row[e], column[e]] += value[e], as a dense matrix.
std::vector<double> run_assembly(const std::shared_ptr<const std::vector<PointEntry>>& entries, Index rows,
                                 Index columns, const RunSettings& settings) {
  const auto dense = std::make_shared<std::vector<double>>();
  const auto count = static_cast<Index>(entries->size());
  (void)run(settings, [&](TestSession& session) {
    const auto at = [entries](Index e) { return (*entries)[static_cast<std::size_t>(e)]; };
    const auto row = source<Index>(session, "row", count, 1, [at](Index e) { return at(e).row; });
    const auto column = source<Index>(session, "column", count, 2, [at](Index e) { return at(e).column; });
    const auto value = source<double>(session, "value", count, 3, [at](Index e) { return at(e).value; });
    plan::OpBuilder op(plan::OpClass::kReduce, "K", 10, 2);
    op.reduce("e", count)
        .write({rows, columns}, {{plan::kAnyLabel, 1, 0}, {plan::kAnyLabel, 1, 0}})
        .read(row.id(), {plan::at(0)})
        .read(column.id(), {plan::at(0)})
        .read(value.id(), {plan::at(0)})
        .combine(plan::Combine::kSum)
        .flops(1)
        .stored_assembled();
    const Tensor<double> K = session.compute<double>(op, [](const TaskArgs& t) {
      const auto row = t.in<Index, 1>(0);
      const auto column = t.in<Index, 1>(1);
      const auto value = t.in<double, 1>(2);
      rt::AssembledTile<double> K(t);
      for (Index e = t.lo(0); e < t.hi(0); ++e) {
        const Index i = row(e), j = column(e);
        if (t.out_box[0].lo <= i && i < t.out_box[0].hi && t.out_box[1].lo <= j && j < t.out_box[1].hi)
          K.put({i, j}, value(e));
      }
      K.finish(plan::Combine::kSum);
    });
    plan::OpBuilder copy(plan::OpClass::kMap, "D", 11, 3);
    copy.out("i", rows).out("j", columns).uncut();
    copy.read(K.id(), {plan::at(0), plan::whole()}).flops(1).visits(K.desc());
    const Tensor<double> D = session.compute<double>(copy, [](const TaskArgs& t) {
      const auto K = rt::stored_in<double, 2>(t, 0);
      const auto D = t.out_from<double, 2>(0.0);
      K.rows({t.lo(0), t.hi(0)},
             [&](const auto& row) { row.each([&](Index j, double value) { D(row.index(), j) = value; }); });
    });
    session.collect(D, dense, 900);
  });
  return *dense;
}

}  // namespace

TEST_CASE("assembled: panels and parts combine in the order of the points") {
  std::mt19937 random(3);
  for (int k = 0; k < 40; ++k) {
    const Index rows = k % 4 == 0 ? 100000 : 1 + static_cast<Index>(random() % 20), columns = 1 + k % 7;
    const std::vector<PointEntry> entries = random_entries(random, rows, columns, k % 5 == 0 ? 0 : 60);
    plan::Box tile;
    tile.rank = 2;
    tile[0] = {10, 10 + rows};
    tile[1] = {5, 5 + columns};
    rt::Operand output;
    output.box = tile;
    const std::vector<rt::Operand> outputs = {output};
    PanelSink sink(tile);
    rt::BlockSink* const sinks[] = {&sink};
    for (std::size_t panel = 0; panel < 3; ++panel) {
      TaskArgs t;
      t.outputs = outputs;
      t.out_box = tile;
      t.sinks = sinks;
      t.first = panel == 0;
      t.last = panel == 2;
      rt::AssembledTile<double> made(t);
      for (std::size_t e = panel * entries.size() / 3; e < (panel + 1) * entries.size() / 3; ++e)
        made.put({entries[e].row + 10, entries[e].column + 5}, entries[e].value);
      made.finish(plan::Combine::kSum);
      sink.end_panel();
    }
    std::map<std::pair<Index, Index>, double> expected;
    for (const auto& [at, value] : combined_in_order(entries)) expected[{at.first + 10, at.second + 5}] = value;
    CHECK(elements_of(sink.block(), tile) == expected);
  }
}

TEST_CASE("assembled: the same bits on any number of ranks, and bytes as predicted") {
  if (rt::World(rt::read_environment()).size() > 1) return;
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const Index rows = 1 + static_cast<Index>(random() % 60), columns = 1 + static_cast<Index>(random() % 60);
    const auto entries = std::make_shared<const std::vector<PointEntry>>(
        random_entries(random, rows, columns, std::vector<Index>{0, 1, 50, 3000}[seed % 4]));
    std::vector<double> expected(static_cast<std::size_t>(rows * columns), 0);
    for (const auto& [at, value] : combined_in_order(*entries))
      expected[static_cast<std::size_t>(at.first * columns + at.second)] = value;
    for (const int ranks : {1, 2, 3, 5}) {
      CAPTURE(ranks);
      Simulation simulation(ranks, seed);
      bool same = true;
      simulation.run([&](rt::World& world) {
        RunSettings settings;
        settings.world = &world;
        if (seed % 3 == 0) settings.tile = {7};
        settings.plan_seed = seed % 4 == 1 && ranks > 1 ? seed : 0;
        same = run_assembly(entries, rows, columns, settings) == expected && same;
      });
      CHECK(same);
    }
  }
}

}  // namespace tdsl::tests
