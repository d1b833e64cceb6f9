#include <fcntl.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "runtime/disk/spill_file.h"
#include "runtime/io/npy/npy.h"
#include "tests/runtime/engine/random.h"
#include "tests/runtime/simulated_disk.h"
#include "tests/runtime/temporary_folder.h"

namespace {

/// Injected errors of system calls; 0: the real call.
std::atomic<int> sync_error = 0, reserve_error = 0;
std::atomic<int> pages_dropped = 0, reservations = 0;

long answer(const std::atomic<int>& error, long number, long fd, long a, long b, long c) {
  if (error == 0) return ::syscall(number, fd, a, b, c);
  errno = error;
  return -1;
}

}  // namespace

// Overrides the C library's function, for the whole executable.
extern "C" int sync_file_range(int fd, off64_t offset, off64_t bytes, unsigned flags) {
  return static_cast<int>(answer(sync_error, SYS_sync_file_range, fd, offset, bytes, flags));
}
extern "C" int fallocate(int fd, int mode, off_t offset, off_t bytes) {
  ++reservations;
  return static_cast<int>(answer(reserve_error, SYS_fallocate, fd, mode, offset, bytes));
}
extern "C" int posix_fadvise(int fd, off_t offset, off_t bytes, int advice) noexcept {
  ++pages_dropped;
  return ::syscall(SYS_fadvise64, fd, offset, bytes, advice) == 0 ? 0 : errno;
}

namespace tdsl::tests {

namespace {

plan::Box box_between(std::vector<std::pair<Index, Index>> bounds) {
  plan::Box box;
  box.rank = static_cast<int>(bounds.size());
  for (int d = 0; d < box.rank; ++d)
    box[d] = {bounds[static_cast<std::size_t>(d)].first, bounds[static_cast<std::size_t>(d)].second};
  return box;
}

/// Random storage locations, including the disk for all or most sites; equal on all ranks.
std::map<int, plan::Housing> random_homes(std::uint32_t seed) {
  std::mt19937 random(seed);
  std::map<int, plan::Housing> homes;
  for (const int site : {1, 10, 11, 12, 13, 14, 15, 16}) {
    if (random() % 4 > 0) homes[site] = {plan::Home::kDisk, static_cast<Index>(random() % 3 == 0 ? random() % 3 : 0)};
  }
  return homes;
}

/// A program's results, and its disk use.
struct Spilled {
  Index wrong = 0;
  Index written = 0, read = 0;
  Index requests = 0;
  Index peak_bytes = 0;
  Index needed_memory = 0;
};

/// Reserved for peers: two blocks of these programs.
constexpr Index kReserve = 2 * 17 * 17 * 8;

Spilled simulate_disk(int ranks, std::uint32_t seed, std::uint64_t schedule, const RunSettings& settings,
                      Index failing = 0, Index memory = 0) {
  Simulation simulation(ranks, schedule);
  Spilled sum;
  simulation.run([&](rt::World& world) {
    const auto made = std::make_shared<SimulatedDisk>(simulation, schedule + static_cast<std::uint64_t>(world.rank()),
                                                      world.rank() == ranks - 1 ? failing : 0);
    SimulatedDisk& disk = *made;
    RunSettings mine = settings;
    mine.beside = made;
    mine.world = &world;
    mine.adjust = [&](rt::RunSetup& setup) {
      settings.adjust(setup);
      setup.plan_inputs.homes = random_homes(seed);
      setup.engine_options.disk = &disk;
      if (memory == 0) return;
      setup.plan_inputs.memory = memory;
      setup.engine_options.memory_bytes = memory + kReserve;
      setup.engine_options.serve_reserve = kReserve;
    };
    RunResult about;
    sum.wrong += run_random(seed, mine, &about);
    CHECK(disk.extents().used_bytes() == 0);
    sum.written += disk.traffic().written;
    sum.read += disk.traffic().read;
    if (world.rank() == ranks - 1) sum.requests = disk.traffic().requests;
    sum.peak_bytes = std::max(sum.peak_bytes, about.peak_bytes);
    sum.needed_memory = std::max(sum.needed_memory, about.needed_memory);
  });
  return sum;
}

/// The same with little memory: a plan within less memory reports its need, and the plan found for that may need
/// slightly more.
Spilled simulate_disk_in_little_memory(int ranks, std::uint32_t seed, std::uint64_t schedule,
                                       const RunSettings& settings) {
  Index memory = 1;
  while (true) {
    Spilled result = simulate_disk(ranks, seed, schedule, settings, 0, memory);
    if (result.needed_memory <= memory) {
      result.needed_memory = memory;
      return result;
    }
    memory = std::max(result.needed_memory, memory + memory / 4);
  }
}

}  // namespace

TEST_CASE("disk: boxes are runs of bytes") {
  if (rt::World(rt::read_environment()).size() > 1) return;
  const rt::DiskBox all{4096, 8, box_between({{2, 6}, {0, 5}, {1, 4}}), box_between({{2, 6}, {0, 5}, {1, 4}})};
  std::vector<std::vector<Index>> runs;
  const auto note = [&](Index offset, Index bytes, Index place) { runs.push_back({offset, bytes, place}); };
  rt::for_each_run(all, note);
  CHECK(runs == std::vector<std::vector<Index>>{{4096, 480, 0}});
  runs.clear();
  rt::DiskBox part = all;
  part.part = box_between({{3, 5}, {2, 4}, {1, 4}});
  rt::for_each_run(part, note);
  CHECK(runs == std::vector<std::vector<Index>>{{4096 + 8 * (15 + 6), 48, 0}, {4096 + 8 * (30 + 6), 48, 48}});
  runs.clear();
  part.part = box_between({{2, 3}, {0, 2}, {2, 3}});
  rt::for_each_run(part, note);
  CHECK(runs == std::vector<std::vector<Index>>{{4104, 8, 0}, {4128, 8, 8}});
}

TEST_CASE("disk: extents are used again") {
  if (rt::World(rt::read_environment()).size() > 1) return;
  rt::DiskSpace extents;
  rt::ExtentRef a = extents.take(5000);
  rt::ExtentRef b = extents.take(1);
  rt::ExtentRef c = extents.take(4096);
  CHECK(b->offset() == 8192);
  CHECK(extents.end() == 16384);
  a.reset();
  const rt::ExtentRef d = extents.take(4096);
  CHECK(d->offset() == 0);
  b.reset();  // merges with the rest of a
  const rt::ExtentRef e = extents.take(8192);
  CHECK(e->offset() == 4096);
  c.reset();
  const rt::ExtentRef f = extents.take(20000);
  CHECK(f->offset() == 12288);
  CHECK(extents.used_bytes() == extents.end());
  // After random operations the free space is a single gap.
  std::mt19937 random(7);
  {
    std::vector<rt::ExtentRef> many;
    for (int k = 0; k < 1000; ++k) {
      if (!many.empty() && random() % 2 == 0)
        many.erase(many.begin() + static_cast<std::ptrdiff_t>(random() % many.size()));
      many.push_back(extents.take(static_cast<Index>(random() % 100000)));
    }
  }
  const Index end = extents.end();
  const rt::ExtentRef rest = extents.take(end - extents.used_bytes());
  CHECK(extents.end() == end);
}

TEST_CASE("disk: blocks read back as written") {
  if (rt::World(rt::read_environment()).size() > 1) return;
  const TemporaryFolder folder;
  rt::SpillFile file(folder / "", 1 << 20, true);
  CHECK(std::filesystem::is_empty(folder / ""));  // it is unnamed
  std::mt19937 random(11);
  rt::Store store;
  const auto wait_for = [&file](std::size_t requests) {
    std::vector<rt::DiskCompletion> done;
    while (done.size() < requests) static_cast<void>(file.test_some(done));
    for (const rt::DiskCompletion& completion : done) CHECK(completion.error == "");
  };
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    const Index columns = 1 + static_cast<Index>(random() % (round % 3 == 0 ? 4000 : 60));
    const Index rows = 1 + static_cast<Index>(random() % 300);
    const plan::Box whole = box_between({{5, 5 + rows}, {7, 7 + columns}});
    const rt::BufferRef block = store.allocate(whole.volume() * 4);
    auto* const values = reinterpret_cast<std::uint32_t*>(block->data());
    for (Index k = 0; k < whole.volume(); ++k) values[k] = static_cast<std::uint32_t>(random());
    const rt::ExtentRef extent = file.extents().take(block->bytes());
    const rt::ExtentRef other = file.extents().take(static_cast<Index>(random() % 10000));
    file.write(extent->offset(), std::span(block->data(), static_cast<std::size_t>(block->bytes())), 1);
    wait_for(1);
    plan::Box part = whole;
    for (int d = 0; d < 2 && round % 4 > 0; ++d) {
      part[d].lo += static_cast<Index>(random()) % part[d].size();
      part[d].hi -= static_cast<Index>(random()) % part[d].size();
    }
    const rt::BufferRef found = store.allocate(part.volume() * 4);
    file.read({extent->offset(), 4, whole, part}, found->data(), 2);
    wait_for(1);
    Index wrong = 0;
    const auto* next = reinterpret_cast<const std::uint32_t*>(found->data());
    for (Index i = part[0].lo; i < part[0].hi; ++i) {
      for (Index j = part[1].lo; j < part[1].hi; ++j) wrong += *next++ != values[(i - 5) * columns + j - 7];
    }
    CHECK(wrong == 0);
  }
  CHECK(file.extents().used_bytes() == 0);
  // An impossible size is rejected immediately.
  CHECK_THROWS_AS(rt::SpillFile(folder / "", Index{1} << 58, true), rt::RunError);
  CHECK_THROWS_AS(rt::SpillFile(folder / "missing", 0, true), rt::RunError);
}

TEST_CASE("disk: pages are dropped from the cache once they are on disk, not before") {
  if (rt::World(rt::read_environment()).size() > 1) return;
  const TemporaryFolder folder;
  const std::vector<std::byte> block(5000, std::byte{7});
  // The error of the write, and the number of cache drops after the write and after the read.
  struct Outcome {
    std::string error;
    int written = 0, read = 0;
  };
  const auto outcome = [&](int error) {
    rt::SpillFile file(folder / "", 1 << 20, true, 1, true);
    CHECK_FALSE(file.direct());
    std::vector<rt::DiskCompletion> done;
    const auto wait = [&] {
      done.clear();
      while (done.empty()) static_cast<void>(file.test_some(done));
      return done.front().error;
    };
    Outcome found;
    const rt::ExtentRef extent = file.extents().take(static_cast<Index>(block.size()));
    sync_error = error;
    pages_dropped = 0;
    file.write(extent->offset(), block, 1);
    found.error = wait();
    found.written = pages_dropped;
    sync_error = 0;
    std::vector<std::byte> back(block.size());
    const plan::Box whole = box_between({{0, static_cast<Index>(block.size())}});
    file.read({extent->offset(), 1, whole, whole}, back.data(), 2);
    CHECK(wait() == "");
    CHECK(back == block);
    found.read = pages_dropped;
    return found;
  };
  const Outcome good = outcome(0);
  CHECK(good.error == "");
  CHECK(good.written == 1);
  CHECK(good.read == 2);
  for (const int error : {EIO, ENOSPC}) {
    const Outcome failed = outcome(error);
    CHECK(failed.error ==
          "cannot write a block in `" + (folder / "") + "` (--spill): " + std::strerror(error) + " [spill]");
    CHECK(failed.written == 0);
  }
  for (const int error : {ENOSYS, ESPIPE, EINVAL}) {
    const Outcome unknown = outcome(error);
    CHECK(unknown.error == "");
    CHECK(unknown.read == 0);
  }
}

TEST_CASE("disk: without reservations, the free space must suffice for all ranks of a node") {
  if (rt::World(rt::read_environment()).size() > 1) return;
  const TemporaryFolder folder;
  struct statvfs about {};
  REQUIRE(::statvfs((folder / "").c_str(), &about) == 0);
  const Index free = static_cast<Index>(about.f_bavail) * static_cast<Index>(about.f_frsize);
  reserve_error = EOPNOTSUPP;
  const rt::SpillFile one(folder / "", free / 2, true);
  const std::string refused = run_error_of([&] { static_cast<void>(rt::SpillFile(folder / "", free / 2, true, 4)); });
  reserve_error = 0;
  CHECK(refused.find("that each of 4 ranks of a node keeps on disk in `") != std::string::npos);
  // Too much for the ranks together: the total is reported too.
  const std::string each =
      run_error_of([&] { static_cast<void>(rt::SpillFile(folder / "", Index{1} << 60, true, 2)); });
  CHECK(each.find("the 1.0 EiB that each of 2 ranks of a node keeps") != std::string::npos);
  CHECK(each.find(", 2.0 EiB in all, which has ") != std::string::npos);
}

TEST_CASE("disk: what there is no room for takes nothing from other programs") {
  if (rt::World(rt::read_environment()).size() > 1) return;
  const TemporaryFolder folder;
  struct statvfs about {};
  REQUIRE(::statvfs((folder / "").c_str(), &about) == 0);
  reservations = 0;
  const std::string refused = run_error_of([&] {
    static_cast<void>(
        rt::SpillFile(folder / "", 2 * static_cast<Index>(about.f_blocks) * static_cast<Index>(about.f_frsize), true));
  });
  CHECK(refused.find("there is no room for the ") != std::string::npos);
  CHECK(refused.find(", which has 0 bytes free") == std::string::npos);
  CHECK(reservations == 0);
}

TEST_CASE("disk: random programs with random homes in simulation") {
  if (rt::World(rt::read_environment()).size() > 1) return;
  // TDSL_TEST_SIMULATIONS=FIRST:LAST selects other seeds.
  std::uint32_t first = 1;
  std::uint32_t last = 40;
  if (const char* range = std::getenv("TDSL_TEST_SIMULATIONS")) std::sscanf(range, "%u:%u", &first, &last);
  Index written = 0, failed = 0;
  for (std::uint32_t seed = first; seed <= last; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed + 5000000);
    RunSettings settings;
    const int ranks = std::array{1, 2, 3, 4, 6, 9}[random() % 6];
    const std::vector<std::vector<Index>> tiles{{}, {1}, {3}, {4, 7}, {100}};
    settings.tile = tiles[random() % tiles.size()];
    settings.small_box = random() % 2 == 0 ? 100 : 8192;
    settings.plan_seed = ranks > 1 && random() % 2 == 0 ? seed : 0;
    CAPTURE(ranks);
    try {
      const Spilled free = simulate_disk(ranks, seed, seed, settings);
      CHECK(free.wrong == 0);
      written += free.written;
      if (settings.tile != std::vector<Index>{1}) {  // thousands of sequential steps
        const Spilled tight = simulate_disk_in_little_memory(ranks, seed, seed + 1, settings);
        CHECK(tight.wrong == 0);
        CHECK(tight.peak_bytes <= tight.needed_memory + kReserve);
      }
      if (free.requests == 0) continue;
      const Index failing = 1 + static_cast<Index>(random()) % free.requests;
      try {
        static_cast<void>(simulate_disk(ranks, seed, seed, settings, failing));
      } catch (const rt::RunError& error) {
        ++failed;
        CHECK(std::string(error.what()).find("the disk is broken") != std::string::npos);
      }
    } catch (const std::exception& error) { FAIL_CHECK(std::string(error.what())); }
  }
  CHECK(written > 0);
  CHECK(failed > 0);
}

TEST_CASE("disk: random programs with blocks in a file") {
  const TemporaryFolder folder;
  Index written = 0;
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    rt::SpillFile file(folder / "", 1 << 20, true);
    RunSettings settings;
    settings.threads = 1 + static_cast<int>(seed % 3);
    settings.tile = seed % 2 == 0 ? std::vector<Index>{3} : std::vector<Index>{};
    settings.adjust = [&](rt::RunSetup& setup) {
      setup.plan_inputs.homes = random_homes(seed);
      setup.engine_options.disk = &file;
    };
    CHECK(run_random(seed, settings) == 0);
    CHECK(file.extents().used_bytes() == 0);
    written += file.traffic().written;
  }
  CHECK(written > 0);
}

TEST_CASE("disk: an input stays in its file") {
  if (rt::World(rt::read_environment()).size() > 1) return;
  const TemporaryFolder folder;
  const std::string path = folder / "A.npy";
  constexpr Index kRows = 23, kColumns = 40;
  rt::NpyWriter writer = rt::NpyWriter::create(path, rt::ElementType::kF32, std::array<Index, 2>{kRows, kColumns});
  std::vector<float> elements(kRows * kColumns);
  for (std::size_t k = 0; k < elements.size(); ++k) elements[k] = static_cast<float>(k % 11);
  writer.write_box<float>(std::array<Index, 2>{0, 0}, std::array<Index, 2>{kRows, kColumns}, elements.data(),
                          std::array<Index, 2>{kColumns, 1});
  writer.commit();
  // A A' with elements wider than the file's.
  const auto product = [&](rt::World* world, rt::Disk* disk, Index resident) {
    auto found = values<double>();
    RunSettings settings;
    settings.world = world;
    settings.tile = {5, 7};
    settings.declare = [&](rt::ProgramInfo& info, rt::AppOptions& options) {
      info.input("A", "f64[n, m]", rt::ElementType::kF64, {"", ""}, 1);
      options.inputs["A"] = path;
    };
    settings.adjust = [&](rt::RunSetup& setup) {
      setup.engine_options.disk = disk;
      if (disk != nullptr) setup.plan_inputs.homes[10] = {plan::Home::kFile, resident};
    };
    static_cast<void>(run(settings, [&](TestSession& session) {
      const Tensor<double> a = session.input<double>("A", {kRows, kColumns}, 10, 1);
      plan::OpBuilder op(plan::OpClass::kContraction, "P", 12, 12);
      op.out("i", kRows)
          .out("j", kRows)
          .reduce("k", kColumns)
          .read(a.id(), {plan::at(0), plan::at(2)})
          .read(a.id(), {plan::at(1), plan::at(2)});
      op.combine(plan::Combine::kSum).flops(2);
      session.collect(session.contraction<double>(op), found);
    }));
    return *found;
  };
  const std::vector<double> expected = product(nullptr, nullptr, 0);
  rt::SpillFile file("", 0, false);
  CHECK(product(nullptr, &file, 0) == expected);
  const Index loaded = file.traffic().loaded;
  CHECK(loaded >= kRows * kColumns * 8);
  CHECK(product(nullptr, &file, 2) == expected);
  CHECK(file.traffic().loaded < 2 * loaded);
  for (const int ranks : {1, 3, 4}) {
    Simulation simulation(ranks, static_cast<std::uint64_t>(ranks));
    simulation.run([&](rt::World& world) {
      SimulatedDisk disk(simulation, static_cast<std::uint64_t>(world.rank()));
      CHECK(product(&world, &disk, 1) == expected);
      CHECK(disk.traffic().written == 0);
    });
  }
}

}  // namespace tdsl::tests
