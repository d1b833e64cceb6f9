// sparse_blocks CASE REPEATS FILE.npz: a case of `bench sparse` with runtime/sparse on blocks in memory,
// single-threaded. Prints JSON: the minimum CPU seconds per step after a warm-up, and a digest of the result.

#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "runtime/io/input_file.h"
#include "runtime/sparse/accumulator.h"
#include "runtime/sparse/output.h"
#include "runtime/sparse/row_finder.h"

namespace {

using namespace tdsl::rt::sparse;
using tdsl::rt::EntryForm;

struct Matrix {
  Index rows = 0, columns = 0;
  BlockMemory memory;
  std::vector<Part> parts;
};

Matrix read(const std::string& path) {
  const tdsl::rt::InputFile file(path);
  auto [shape, entries] = tdsl::rt::read_whole(*file.entries(), tdsl::rt::ElementType::kF64);
  const EntryForm form = entries.form();
  std::vector<std::uint32_t> at;
  std::vector<double> values;
  entries.for_each([&](const std::byte* entry) {  // CSR with sorted columns, as required by blocks
    at.push_back(static_cast<std::uint32_t>(form.coordinate(entry, 0)));
    at.push_back(static_cast<std::uint32_t>(form.coordinate(entry, 1)));
    values.push_back(form.value<double>(entry));
  });
  Matrix m{shape[0], shape[1], {}, {}};
  const Level storage[] = {Level::kDense, Level::kCompressed};
  m.memory = build(SortedEntries<double>{shape, at, values}, storage);
  Box box;
  box.rank = 2;
  box[0] = {0, m.rows};
  box[1] = {0, m.columns};
  m.parts.push_back({head_in(m.memory), box, box[0]});
  return m;
}

/// More stable than wall time on a busy machine; all competitors are single-threaded.
double processor_seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

template <class Step>
double least_seconds(int repeats, const Step& step) {
  double least = 1e30;
  for (int k = 0; k <= repeats; ++k) {
    const double start = processor_seconds();
    step();
    const double seconds = processor_seconds() - start;
    if (k > 0) least = std::min(least, seconds);
  }
  return least;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const std::string name = argv[1];
  const int repeats = std::atoi(argv[2]);
  const Matrix m = read(argv[3]);
  const Parts<double, 2> a(m.parts);
  double seconds = 0;
  double digest = 0;
  if (name == "spmv" || name == "spmv_transposed") {
    std::vector<double> x(static_cast<std::size_t>(m.columns));
    for (std::size_t k = 0; k < x.size(); ++k) x[k] = static_cast<double>(k % 17) - 8;
    std::vector<double> y(static_cast<std::size_t>(m.rows));
    seconds = least_seconds(repeats, [&] {
      if (name == "spmv") {
        const auto fetch = [&](Index j) { __builtin_prefetch(x.data() + j); };
        a.rows({0, m.rows}, [&](const Row<double>& row) {
          double total = 0;
          row.each(fetch, [&](Index j, double value) { total += value * x[static_cast<std::size_t>(j)]; });
          y[static_cast<std::size_t>(row.index())] = total;
        });
      } else {
        std::fill(y.begin(), y.end(), 0.0);
        a.rows({0, m.rows}, [&](const Row<double>& row) {
          const double factor = x[static_cast<std::size_t>(row.index())];
          row.each([&](Index j, double value) { y[static_cast<std::size_t>(j)] += value * factor; });
        });
      }
    });
    for (std::size_t k = 0; k < y.size(); ++k) digest += y[k] * static_cast<double>(k % 5);
  } else {
    RowFinder<double> other(a);
    AddedRow<double> sums;
    Output<double> out;
    BlockMemory result;
    seconds = least_seconds(repeats, [&] {
      out.begin({2, {{{0, m.rows}, {0, m.columns}}}});
      a.rows({0, m.rows}, [&](const Row<double>& row) {
        out.row(row.index());
        const auto into = sums.into(m.columns);
        row.each([&](Index k, double x) { other(k).each([&](Index j, double y) { into.add(j, x * y); }); });
        out.put_many(m.columns + AddedRow<double>::kSlack,
                     [&](std::uint32_t* columns, double* values) { return sums.drain(columns, values); });
      });
      result = build(out.entries(), std::array{Level::kDense, Level::kCompressed});
    });
    const RowEntries<double> c = out.entries();
    for (std::size_t r = 0; r < c.begins.size(); ++r) {
      for (auto k = static_cast<std::size_t>(c.begins[r]); k < static_cast<std::size_t>(c.end(r)); ++k)
        digest += c.values[k] * static_cast<double>((c.outer[r] + c.last[k]) % 5);
    }
  }
  std::printf("{\"seconds\": %.9f, \"answer\": %.17g}\n", seconds, digest);
  return 0;
}
