#include <algorithm>
#include <string>

#include "tests/runtime/allocations.h"
#include "tests/runtime/simulated_world.h"
#include "tests/runtime/stored_programs.h"

// Compressed tensors of rank one and above two, and huge ones, end to end.

namespace tdsl::tests {

namespace {

/// A file with a tensor of rank R, and its contents.
template <std::size_t R>
struct TensorFile {
  std::string path;
  std::array<Index, R> shape{};
  std::map<std::array<Index, R>, double> elements;  ///< nonzero elements
};

/// Small integers in any order, with duplicates and zeros.
template <std::size_t R>
TensorFile<R> random_tensor(const TemporaryFolder& folder, std::mt19937& random, const std::string& extension,
                            const std::array<Index, R>& shape, Index entries) {
  TensorFile<R> file{folder / ("A" + extension), shape, {}};
  std::string text = "# tdsl shape";
  for (const Index extent : shape) text += " " + std::to_string(extent);
  text += "\n";
  for (Index k = 0; k < entries; ++k) {
    std::array<Index, R> at{};
    for (std::size_t d = 0; d < R; ++d) {
      at[d] = static_cast<Index>(random() % static_cast<std::uint64_t>(shape[d]));
      text += std::to_string(at[d] + 1) + " ";
    }
    const auto value = static_cast<double>(static_cast<Index>(random() % 7) - 2);
    text += std::to_string(value) + "\n";
    file.elements[at] += value;
  }
  std::erase_if(file.elements, [](const auto& element) { return element.second == 0; });
  if (extension == ".tns") {
    (void)folder.write("A.tns", text);
    return file;
  }
  const std::vector<Index> extents(shape.begin(), shape.end()), zero(R, 0);
  std::vector<Index> strides(R, 1);
  for (std::size_t d = R - 1; d > 0; --d) strides[d - 1] = strides[d] * shape[d];
  std::vector<double> dense(static_cast<std::size_t>(strides[0] * shape[0]), 0);
  for (const auto& [at, value] : file.elements) {
    Index offset = 0;
    for (std::size_t d = 0; d < R; ++d) offset += at[d] * strides[d];
    dense[static_cast<std::size_t>(offset)] = value;
  }
  rt::NpyWriter writer = rt::NpyWriter::create(file.path, rt::ElementType::kF64, extents);
  writer.write_box<double>(zero, extents, dense.data(), strides);
  writer.commit();
  return file;
}

template <std::size_t R>
void declare_tensor(RunSettings& settings, const TensorFile<R>& file) {
  settings.declare = [path = file.path](rt::ProgramInfo& info, rt::AppOptions& options) {
    if constexpr (R == 1) info.input("A", "f64[sparse n]", rt::ElementType::kF64, {""}, 1, {true});
    if constexpr (R == 2) info.input("A", "f64[n, sparse m]", rt::ElementType::kF64, {"", ""}, 1, {false, true});
    if constexpr (R == 3)
      info.input("A", "f64[n, m, sparse l]", rt::ElementType::kF64, {"", "", ""}, 1, {false, false, true});
    if constexpr (R == 5)
      info.input("A", "f64[a, b, c, d, sparse e]", rt::ElementType::kF64, {"", "", "", "", ""}, 1,
                 {false, false, false, false, true});
    options.inputs["A"] = path;
  };
}

template <std::size_t R, std::size_t... D>
Tensor<double> load(TestSession& session, const std::array<Index, R>& shape, std::index_sequence<D...>) {
  return session.stored_input<double>("A", {shape[D]...}, 10, 1);
}

/// Calls `f(subscripts, value)` below a node of level l - 1.
template <std::size_t R, class F>
void below(const rt::sparse::Node<double>& node, std::size_t l, std::array<Index, R>& at, const F& f) {
  at[l - 1] = node.index();
  if (l + 1 < R) return node.walk([&](const auto& next) { below<R>(next, l + 1, at, f); });
  node.each([&](Index last, double value) {
    at[l] = last;
    f(at, value);
  });
}

template <std::size_t R, class F>
void for_each_stored(const TaskArgs& t, plan::Interval rows, const F& f) {
  const auto A = rt::stored_in<double, static_cast<int>(R)>(t, 0);
  std::array<Index, R> at{};
  if constexpr (R == 1) {
    A.each(rows, [&](Index i, double value) {
      at[0] = i;
      f(at, value);
    });
  } else {
    A.walk(rows, [&](const auto& node) { below<R>(node, 1, at, f); });
  }
}

template <std::size_t R>
std::vector<plan::DimAccess> by_rows() {
  std::vector<plan::DimAccess> dims(R, plan::whole());
  dims[0] = plan::at(0);
  return dims;
}

/// P = A * w along the first dimension, with the pattern of A.
template <std::size_t R>
Tensor<double> weighted(TestSession& session, const Tensor<double>& a) {
  plan::OpBuilder op(plan::OpClass::kMap, "P", 13, 4);
  for (std::size_t d = 0; d < R; ++d) {
    op.out("i" + std::to_string(d), a.extent(static_cast<int>(d)));
    if (d > 0) op.uncut();
  }
  op.read(a.id(), by_rows<R>()).flops(1).visits(a.desc()).stored_like(a.desc());
  return session.compute<double>(op, [](const TaskArgs& t) {
    rt::StoredTile<double> P(t);
    for_each_stored<R>(t, {t.lo(0), t.hi(0)}, [&](const std::array<Index, R>& at, double value) {
      for (std::size_t d = 0; d + 1 < R; ++d) P.at(d, at[d]);
      P.put(at[R - 1], value * stored::weight(at[0]));
    });
    P.finish();
  });
}

/// Row sums: a compressed vector of the nonzero ones.
template <std::size_t R>
Tensor<double> row_sums(TestSession& session, const Tensor<double>& a) {
  plan::OpBuilder op(plan::OpClass::kMap, "s", 14, 5);
  op.out("i", a.extent(0));
  op.read(a.id(), by_rows<R>()).flops(1).visits(a.desc()).stored_like(a.desc());
  return session.compute<double>(op, [](const TaskArgs& t) {
    rt::StoredTile<double> s(t);
    Index row = -1;
    double total = 0;
    for_each_stored<R>(t, {t.lo(0), t.hi(0)}, [&](const std::array<Index, R>& at, double value) {
      if (at[0] != row && row >= 0) s.put(row, total);
      total = at[0] == row ? total + value : value;
      row = at[0];
    });
    if (row >= 0) s.put(row, total);
    s.finish();
  });
}

/// The sum of all elements.
template <std::size_t R>
Tensor<double> total(TestSession& session, const Tensor<double>& a, int site) {
  plan::OpBuilder op(plan::OpClass::kReduce, "t", site, 6);
  op.reduce("i", a.extent(0)).combine(plan::Combine::kSum).read(a.id(), by_rows<R>()).flops(1).visits(a.desc());
  return session.compute<double>(op, [](const TaskArgs& t) {
    if (t.fresh) rt::fill(t.outputs[0], 0.0);
    auto& sum = *reinterpret_cast<double*>(t.outputs[0].data);
    for_each_stored<R>(t, {t.lo(0), t.hi(0)}, [&](const std::array<Index, R>&, double value) { sum += value; });
  });
}

template <std::size_t R>
struct Totals {
  double all = 0, weighted = 0;
  explicit Totals(const TensorFile<R>& file) {
    for (const auto& [at, value] : file.elements) {
      all += value;
      weighted += value * stored::weight(at[0]);
    }
  }
};

/// Bit set of wrong totals and files. The files' texts are added to `texts`.
template <std::size_t R>
int run_tensor(const TensorFile<R>& file, RunSettings settings, const TemporaryFolder* folder = nullptr,
               std::vector<std::string>* texts = nullptr, RunResult* result = nullptr) {
  declare_tensor(settings, file);
  const std::vector<std::string> names = {"P.tns", "P.npy", "s.tns"};
  if (folder != nullptr) {
    const auto read = settings.declare;
    settings.declare = [&, read](rt::ProgramInfo& info, rt::AppOptions& options) {
      read(info, options);
      for (const std::string& name : names) {
        info.output(name.c_str(), name[0] == 'P' ? "f64[sparse]" : "f64[n]", 6);
        options.outputs[name] = *folder / name;
      }
    };
  }
  const auto t = values<double>(), u = values<double>(), v = values<double>();
  const RunResult done = run(settings, [&](TestSession& session) {
    const Tensor<double> a = load(session, file.shape, std::make_index_sequence<R>());
    session.collect(total<R>(session, a, 20), t, 900);
    const Tensor<double> p = weighted<R>(session, a), s = row_sums<R>(session, a);
    session.collect(total<R>(session, p, 21), u, 901);
    session.collect(total<1>(session, s, 22), v, 902);
    if (folder == nullptr) return;
    session.output(names[0], p, 30, 6);
    session.output(names[1], p, 31, 6);
    session.output(names[2], s, 32, 6);
  });
  if (result != nullptr) *result = done;
  if (texts != nullptr) {
    for (const std::string& name : names) texts->push_back(folder->read(name));
  }
  const Totals<R> expected(file);
  return (t->front() != expected.all ? 1 : 0) + (u->front() != expected.weighted ? 2 : 0) +
         (v->front() != expected.all ? 4 : 0);
}

template <std::size_t R>
std::string tns_text(const TensorFile<R>& file) {
  std::string text = "# tdsl shape";
  for (const Index extent : file.shape) text += " " + std::to_string(extent);
  text += "\n";
  for (const auto& [at, value] : file.elements) {
    const double here = value * stored::weight(at[0]);
    if (here == 0) continue;
    for (const Index x : at) text += std::to_string(x + 1) + " ";
    text += std::to_string(static_cast<Index>(here)) + "\n";
  }
  return text;
}

template <std::size_t R>
void check_rank(std::uint32_t seed, const std::array<Index, R>& shape, Index entries) {
  CAPTURE(R);
  CAPTURE(seed);
  std::mt19937 random(seed);
  const TemporaryFolder folder;
  const TensorFile<R> file = random_tensor<R>(folder, random, seed % 2 == 0 ? ".tns" : ".npy", shape, entries);
  std::vector<std::string> first;
  for (const int ranks : {1, 2, 5}) {
    CAPTURE(ranks);
    Simulation simulation(ranks, seed);
    std::vector<std::string> texts;
    int wrong = 0;
    simulation.run([&](rt::World& world) {
      RunSettings settings;
      settings.world = &world;
      if (seed % 3 == 0) settings.tile = {2};
      settings.plan_seed = seed % 4 == 1 && ranks > 1 ? seed : 0;
      wrong |= run_tensor<R>(file, settings, &folder);
    });
    for (const char* name : {"P.tns", "P.npy", "s.tns"}) texts.push_back(folder.read(name));
    CHECK(wrong == 0);
    if (first.empty()) first = texts;
    CHECK(texts == first);
  }
  CHECK(first[0] == tns_text(file));
  std::vector<double> elements;
  const rt::NpyReader dense(folder / "P.npy");
  const std::vector<Index> extents(shape.begin(), shape.end()), zero(R, 0);
  std::vector<Index> strides(R, 1);
  for (std::size_t d = R - 1; d > 0; --d) strides[d - 1] = strides[d] * shape[d];
  elements.resize(static_cast<std::size_t>(strides[0] * shape[0]));
  dense.read_box<double>(zero, extents, elements.data(), strides);
  for (const auto& [at, value] : file.elements) {
    Index offset = 0;
    for (std::size_t d = 0; d < R; ++d) offset += at[d] * strides[d];
    CHECK(elements[static_cast<std::size_t>(offset)] == value * stored::weight(at[0]));
  }
}

}  // namespace

TEST_CASE("stored ranks: tensors of one, three and five dimensions, read, walked, made and written") {
  if (rt::World(rt::read_environment()).size() > 1) return;
  for (std::uint32_t seed = 1; seed <= 8; ++seed) {
    const Index n = 1 + static_cast<Index>(seed) * 7 % 23;
    check_rank<1>(seed, {n * 10}, seed % 3 == 2 ? 20 * n : n);
    check_rank<3>(seed, {n, 5, 4}, seed % 3 == 2 ? 20 * n : n);
    check_rank<5>(seed, {4, n, 1, 3, 2}, seed % 3 == 2 ? 20 * n : n);
  }
}

TEST_CASE("stored ranks: three thousand million along a dimension, and nothing of that size in memory") {
  if (rt::World(rt::read_environment()).size() > 1) return;
  constexpr Index kFar = 3'000'000'000;
  constexpr Index kEntries = 20'000;
  const auto check = [&]<std::size_t R>(const std::array<Index, R>& shape) {
    for (const int ranks : {1, 2, 3}) {
      CAPTURE(R);
      CAPTURE(ranks);
      std::mt19937 random(11);
      const TemporaryFolder folder;
      const TensorFile<R> file = random_tensor<R>(folder, random, ".tns", shape, kEntries);
      Simulation simulation(ranks, 4);
      (void)take_largest_allocation();
      int wrong = 0;
      Index buffer = 0, peak = 0;
      simulation.run([&](rt::World& world) {
        RunSettings settings;
        settings.world = &world;
        RunResult result;
        wrong |= run_tensor<R>(file, settings, nullptr, nullptr, &result);
        buffer = std::max(buffer, result.largest_buffer);
        peak = std::max(peak, result.peak_bytes);
      });
      CHECK(wrong == 0);
      CHECK(buffer > 0);
      CHECK(buffer < 64 * kEntries);
      CHECK(peak < 1000 * kEntries);
      CHECK(take_largest_allocation() < std::size_t{16} << 20);
    }
  };
  check(std::array<Index, 1>{kFar});
  check(std::array<Index, 2>{kFar, kFar});
  check(std::array<Index, 3>{kFar, 50, 4'000'000});
  check(std::array<Index, 2>{3 * kFar, 1000});
}

}  // namespace tdsl::tests
