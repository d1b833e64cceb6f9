#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "runtime/app/session/tile_entries.h"
#include "tests/runtime/simulated_world.h"

// Redistribution of entries to the owners of their tiles, on simulated ranks with arbitrary message schedules.

namespace tdsl::tests {

namespace {

using plan::Distribution;
using plan::Index;
using plan::Tiling;

struct Listed {
  Index i, j;
  double value;
  friend bool operator==(const Listed&, const Listed&) = default;
};

std::vector<Listed> random_file(std::mt19937& random, Index rows, Index columns, int count) {
  std::vector<Listed> file;
  for (int k = 0; k < count; ++k)
    file.push_back(
        {static_cast<Index>(random() % rows), static_cast<Index>(random() % columns), static_cast<double>(k)});
  return file;
}

rt::Entries share_of(const std::vector<Listed>& file, int rank, int ranks) {
  rt::Entries share({2, rt::ElementType::kF64, false});
  const auto bound = [&](int r) { return file.size() * static_cast<std::size_t>(r) / static_cast<std::size_t>(ranks); };
  for (std::size_t k = bound(rank); k < bound(rank + 1); ++k)
    share.append(std::array{file[k].i, file[k].j}, file[k].value);
  return share;
}

/// One of each kind of distribution, copies included.
std::vector<Distribution> distributions(std::mt19937& random, int ranks, Index rows, Index columns) {
  const std::vector<Tiling> tilings = {Tiling::near_equal(rows, 4), Tiling::fixed(columns, 3)};
  std::vector<Distribution> list = {Distribution::single(ranks, tilings, ranks - 1),
                                    Distribution::replicated(ranks, tilings)};
  plan::GridDim whole;
  plan::GridDim cut;
  cut.axes = {{ranks, 1}};
  list.push_back(Distribution::grid(ranks, tilings, {whole, cut}));
  if (ranks % 2 == 0) {
    plan::GridDim half;
    half.axes = {{ranks / 2, 1}};
    list.push_back(Distribution::grid(ranks, tilings, {half, whole}, 0, {{2, ranks / 2}}));
  }
  std::vector<std::int32_t> owners(static_cast<std::size_t>(tilings[0].tiles() * tilings[1].tiles()));
  for (std::int32_t& owner : owners) owner = static_cast<std::int32_t>(random() % static_cast<unsigned>(ranks));
  list.push_back(Distribution::table(ranks, tilings, owners));
  return list;
}

/// Number of errors on a rank.
int check_tiles(const rt::TileEntries& tiles, const std::vector<Listed>& file, const Distribution& where, int rank) {
  int wrong = 0;
  where.for_each_owned(rank, [&](const plan::Coord& tile) {
    const plan::Box box = where.box(tile);
    std::vector<Listed> expected, found;
    for (const Listed& entry : file) {
      if (entry.i >= box[0].lo && entry.i < box[0].hi && entry.j >= box[1].lo && entry.j < box[1].hi)
        expected.push_back(entry);
    }
    const std::span<const std::byte> bytes = tiles.entries_of(box);
    const rt::EntryForm form = tiles.form();
    for (std::size_t at = 0; at < bytes.size(); at += form.bytes()) {
      const std::byte* const entry = bytes.data() + at;
      found.push_back({form.coordinate(entry, 0), form.coordinate(entry, 1), form.value<double>(entry)});
    }
    wrong += found == expected ? 0 : 1;
  });
  return wrong;
}

}  // namespace

TEST_CASE("tile entries: every owner has its tiles' entries in file order, whatever the network does") {
  std::mt19937 random(17);
#ifdef __SANITIZE_ADDRESS__
  constexpr int kFiles = 7;
#else
  constexpr int kFiles = 24;
#endif
  for (int k = 0; k < kFiles; ++k) {
    const int ranks = 1 + k % 7;
    CAPTURE(ranks);
    const Index rows = 1 + static_cast<Index>(random() % 12), columns = 1 + static_cast<Index>(random() % 12);
    // Some files are large enough for several messages per pair of ranks.
    const std::vector<Listed> file =
        random_file(random, rows, columns, k % 6 == 5 ? 150'000 : static_cast<int>(random() % 60));
    for (const Distribution& where : distributions(random, ranks, rows, columns)) {
      Simulation simulation(ranks, static_cast<std::uint64_t>(k) + 1);
      std::vector<int> wrong(static_cast<std::size_t>(ranks), -1);
      simulation.run([&](rt::World& world) {
        rt::Store store;
        rt::Engine engine(
            world, store,
            [](plan::TensorId) -> const plan::PlacedTensor& { throw std::logic_error("no tensor is looked up"); }, {});
        engine.run([&] {
          const rt::TileEntries tiles(engine, world.rank(), where, share_of(file, world.rank(), world.size()));
          wrong[static_cast<std::size_t>(world.rank())] = check_tiles(tiles, file, where, world.rank());
          engine.finish();
        });
      });
      CHECK(wrong == std::vector<int>(static_cast<std::size_t>(ranks), 0));
    }
  }
}

}  // namespace tdsl::tests
