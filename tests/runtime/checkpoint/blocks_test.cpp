// Checkpoint blocks are read with other layouts.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/app/checkpoint/checkpoints.h"
#include "runtime/app/session/stored_blocks.h"
#include "runtime/checkpoint/folder.h"
#include "runtime/kernels/copy.h"
#include "runtime/sparse/elements.h"
#include "tests/runtime/sparse/random.h"
#include "tests/runtime/temporary_folder.h"

using namespace tdsl;
using namespace tdsl::tests;
namespace checkpoint = rt::checkpoint;
using checkpoint::Folder;
using checkpoint::LiveTensor;
using plan::Box;
using plan::Distribution;

namespace {

Box matrix_box(plan::Interval rows, plan::Interval columns) {
  Box box;
  box.rank = 2;
  box[0] = rows;
  box[1] = columns;
  return box;
}

LiveTensor saved_matrix(plan::TensorId id, Index rows, Index columns, bool sized, Distribution where) {
  LiveTensor live;
  live.known.desc.id = id;
  live.known.desc.name = "A";
  live.known.desc.element = {8, "f64"};
  live.known.desc.shape = {rows, columns};
  if (sized) live.known.desc.storage = plan::compressed_rows();
  live.known.type = rt::ElementType::kF64;
  live.saved = std::move(where);
  return live;
}

NaiveMatrix<double> without_stored_zeros(NaiveMatrix<double> m) {
  std::erase_if(m, [](const auto& e) { return e.second == 0; });
  return m;
}

/// `ranks` in a grid with the given number of columns; tiles are distributed cyclically.
Distribution tiles_of(Index rows, Index columns, Index ranks, Index row_tiles, Index column_tiles) {
  return Distribution::grid(
      ranks, {plan::Tiling::near_equal(rows, row_tiles), plan::Tiling::near_equal(columns, column_tiles)},
      {{{{ranks, 1}}, 1}, {}});
}

/// Receives the blocks of a kernel under test.
class ArrivedBlock : public rt::BlockSink {
 public:
  [[nodiscard]] rt::BlockPart before() const override { return {}; }
  [[nodiscard]] std::byte* begin(Index bytes) override { return (memory = rt::sparse::block_memory(bytes)).get(); }
  void holds(Index elements) override { held = elements; }
  void keep() override {}
  [[nodiscard]] std::byte* change() override { return nullptr; }
  rt::sparse::BlockMemory memory;
  Index held = 0;
};

/// Writes a checkpoint of one tensor: `write(file, box)` writes the block of a tile.
template <class Write>
std::shared_ptr<const rt::StoredBlocks> written(const tests::TemporaryFolder& place, LiveTensor live,
                                                const Write& write) {
  const std::string path = Folder(place / "ck").base(5);
  std::filesystem::create_directories(path);
  live.base = 5;
  checkpoint::Manifest manifest;
  manifest.bases.push_back({5, {}});
  for (Index rank = 0; rank < live.saved.ranks(); ++rank) {
    checkpoint::RankFileWriter file(Folder::rank_file(path, static_cast<std::size_t>(rank)));
    live.saved.for_each_owned(rank, [&](const plan::Coord& tile) { write(file, live.saved.box(tile)); });
    manifest.bases.back().files.push_back(file.finish());
  }
  manifest.tensors.push_back(std::move(live));
  return std::make_shared<const rt::StoredBlocks>(place / "ck/ck-000009", std::move(manifest));
}

/// Reads this box with the kernel.
void read_box(const rt::StoredBlocks& blocks, rt::Operand& out, rt::BlockSink* sink) {
  rt::TaskArgs t;
  t.outputs = {&out, 1};
  t.out_box = out.box;
  t.sinks = {&sink, 1};
  blocks.kernel(blocks.manifest().tensors.front())(t);
}

}  // namespace

TEST_CASE("checkpoint: a dense box is read from the blocks that meet it") {
  std::mt19937_64 random(4);
  for (const auto& [rows, columns, ranks, row_tiles, column_tiles] : {std::array<Index, 5>{40, 30, 3, 7, 2},
                                                                      {1, 200, 2, 1, 9},
                                                                      {60, 40'000, 20, 20, 1},
                                                                      {30'000, 30, 2, 3, 1},
                                                                      {300, 20'000, 1, 1, 1}}) {
    const tests::TemporaryFolder place;
    const auto value = [columns = columns](Index i, Index j) { return static_cast<double>(i * columns + j); };
    const auto blocks =
        written(place, saved_matrix(3, rows, columns, false, tiles_of(rows, columns, ranks, row_tiles, column_tiles)),
                [&](checkpoint::RankFileWriter& file, const Box& box) {
                  std::vector<double> elements;
                  for (Index i = box[0].lo; i < box[0].hi; ++i) {
                    for (Index j = box[1].lo; j < box[1].hi; ++j) elements.push_back(value(i, j));
                  }
                  file.write(3, box, std::as_bytes(std::span(elements)));
                });
    for (int k = 0; k < 12; ++k) {
      const auto part = [&](Index extent) {
        const auto lo = static_cast<Index>(random() % static_cast<std::uint64_t>(extent));
        return plan::Interval{lo, lo + 1 + static_cast<Index>(random() % static_cast<std::uint64_t>(extent - lo))};
      };
      Box box = k == 0 ? matrix_box({0, rows}, {0, columns}) : matrix_box(part(rows), part(columns));
      if (k == 1) box[1] = {columns / 2, columns / 2 + 1};  // a column
      std::vector<double> memory(static_cast<std::size_t>(box.volume()), -1);
      rt::Operand out = rt::row_major(reinterpret_cast<std::byte*>(memory.data()), box);
      read_box(*blocks, out, nullptr);
      std::size_t at = 0;
      bool same = true;
      for (Index i = box[0].lo; i < box[0].hi; ++i) {
        for (Index j = box[1].lo; j < box[1].hi; ++j) same = same && memory[at++] == value(i, j);
      }
      CHECK(same);
    }
  }
}

TEST_CASE("checkpoint: a compressed box is read from the blocks that meet it") {
  std::mt19937_64 random(8);
  for (const double density : {0.004, 0.3, 0.7}) {
    const tests::TemporaryFolder place;
    const Index rows = 400, columns = 500;
    const NaiveMatrix<double> naive = without_stored_zeros(random_matrix<double>(random, rows, columns, density).naive);
    const auto blocks = written(
        place, saved_matrix(4, rows, columns, true, tiles_of(rows, columns, 3, 5, 2)),
        [&](checkpoint::RankFileWriter& file, const Box& box) {
          const rt::sparse::BlockMemory block =
              block_of(naive, box, {random() % 2 == 0 ? Level::kDense : Level::kCompressed, Level::kCompressed}, false);
          const auto* const head = rt::sparse::head_in(block);
          file.write(
              4, box,
              {reinterpret_cast<const std::byte*>(head), head == nullptr ? 0 : static_cast<std::size_t>(head->bytes)});
        });
    for (const Box& box : {matrix_box({0, rows}, {0, columns}), matrix_box({80, 160}, {250, 500}),
                           matrix_box({33, 34}, {0, columns}), matrix_box({70, 395}, {100, 260})}) {
      ArrivedBlock arrived;
      rt::Operand out;
      out.box = box;
      read_box(*blocks, out, &arrived);
      NaiveMatrix<double> found, wanted;
      if (arrived.memory != nullptr) {
        const std::vector<rt::sparse::Part> parts{{rt::sparse::head_in(arrived.memory), box, box[0]}};
        rt::sparse::Elements<double>(parts).each(box[0], [&](std::span<const Index> at, double v) {
          if (v != 0) found[{at[0], at[1]}] = v;
        });
      }
      for (const auto& [at, v] : naive) {
        if (at.first >= box[0].lo && at.first < box[0].hi && at.second >= box[1].lo && at.second < box[1].hi)
          wanted[at] = v;
      }
      CHECK(found == wanted);
      if (arrived.memory != nullptr)
        CHECK(arrived.held <= static_cast<Index>(rt::sparse::head_in(arrived.memory)->stored()));
    }
  }
}

TEST_CASE(
    "checkpoint: a tensor that is nowhere is saved in tiles of a mebibyte, whichever of its dimensions are long") {
  struct Case {
    std::vector<Index> shape;
    std::vector<bool> uncut;
    Index ranks, largest, on_all_ranks;
  };
  constexpr Index kMebibyte = 1 << 20;
  for (const Case& c : {Case{{8, 4096, 4096}, {}, 2, kMebibyte, 1}, Case{{1 << 24}, {}, 3, kMebibyte, 1},
                        Case{{1, 1, 5000000}, {}, 4, kMebibyte, 1}, Case{{3, 700001}, {false, true}, 2, 8 * 700001, 1},
                        Case{{7, 900000}, {true, false}, 2, kMebibyte, 1}, Case{{60, 3}, {}, 4, 8 * 3 * 15, 1},
                        Case{{5, 6}, {true, true}, 2, 8 * 30, 0}, Case{{}, {}, 3, 8, 0}}) {
    CAPTURE(c.shape);
    plan::TensorDesc tensor;
    tensor.element = {8, "f64"};
    tensor.shape = c.shape;
    tensor.uncut = c.uncut;
    const Distribution tiles = rt::saved_tiles(tensor, c.ranks);
    Index largest = 0, elements = 0;
    for (Index rank = 0; rank < c.ranks; ++rank) {
      if (c.on_all_ranks != 0) CHECK(tiles.owned_tiles(rank) > 0);
      tiles.for_each_owned(rank, [&](const plan::Coord& tile) {
        largest = std::max(largest, 8 * tiles.box(tile).volume());
        elements += tiles.box(tile).volume();
      });
    }
    CHECK(elements == tensor.elements());
    CHECK(largest <= c.largest);
    CHECK((largest > c.largest / 2 || largest == 8 * tensor.elements()));
  }
}

TEST_CASE("checkpoint: what lasts goes to a base once, and the base lasts as long as a checkpoint refers to it") {
  const tests::TemporaryFolder place;
  const Folder folder(place / "ck");
  folder.prepare();
  rt::CheckpointBases bases;
  std::vector<std::int64_t> written_to;  // by checkpoint: where tensor 2 is written, -1: not written
  const auto save = [&](std::int64_t number, const std::vector<plan::TensorId>& named, plan::TensorId next,
                        bool succeeds = true) {
    bases.at_boundary(next);
    checkpoint::Manifest manifest;
    manifest.number = number;
    manifest.path.frames.resize(2);
    bool with_base = false;
    for (const plan::TensorId id : named) {
      LiveTensor live = saved_matrix(
          id, 4, 4, false, Distribution::single(1, {plan::Tiling::fixed(4, 4), plan::Tiling::fixed(4, 4)}, 0));
      const bool writes = bases.assign(live, number);
      if (id == 2) written_to.push_back(writes ? live.base : -1);
      with_base = with_base || (writes && live.base == number);
      manifest.tensors.push_back(std::move(live));
    }
    folder.begin(number, "a", with_base);
    bases.list(manifest, {{number, 7}});
    if (!succeeds) return folder.give_up(number, "a");
    folder.commit(number, "a", checkpoint::print(manifest), with_base);
    bases.take(manifest);
    folder.prune(2, "a", "");
  };
  const auto has_base = [&](std::int64_t number) { return std::filesystem::exists(folder.base(number)); };
  save(1, {1, 2, 5}, 6);         // no tensor has survived an iteration yet
  save(2, {1, 2, 7}, 8, false);  // the disk is full
  save(3, {1, 2, 9}, 10);
  save(4, {1, 2, 9, 11}, 12);
  CHECK(written_to == std::vector<std::int64_t>{0, 2, 3, -1});
  CHECK_FALSE(has_base(2));
  CHECK((has_base(3) && has_base(4)));
  {
    rt::CheckpointBases later;  // of a resumed run
    later.goes_on(checkpoint::parse_manifest(place.read("ck/ck-000004/manifest")));
    std::swap(bases, later);
  }
  save(5, {2, 13}, 14);
  save(6, {2, 15}, 16);
  CHECK(written_to.back() == -1);
  CHECK((has_base(3) && !has_base(4)));
  save(7, {17}, 18);
  save(8, {19}, 20);
  CHECK_FALSE(has_base(3));
  CHECK(folder.numbers() == std::vector<std::int64_t>{7, 8});
}
