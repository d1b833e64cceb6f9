#pragma once

#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "runtime/io/npy/npy.h"
#include "runtime/kernels/stored.h"
#include "tests/runtime/engine/harness.h"
#include "tests/runtime/engine/random.h"
#include "tests/runtime/temporary_folder.h"

// Programs over a compressed matrix from a file, with kernels as emitted.

namespace tdsl::tests {

/// A file with a matrix, and its contents.
struct StoredFile {
  std::string path;
  Index rows = 0;
  Index columns = 0;
  std::map<std::pair<Index, Index>, double> elements;  ///< nonzero elements
  [[nodiscard]] double at(Index i, Index j) const {
    const auto found = elements.find({i, j});
    return found == elements.end() ? 0 : found->second;
  }
};

/// Small integers, so that sums are exact in any order. Entries are unordered, with duplicates and zeros.
inline StoredFile random_stored(const TemporaryFolder& folder, std::mt19937& random, const std::string& extension,
                                Index rows, Index columns, Index entries) {
  StoredFile file{folder / ("A" + extension), rows, columns, {}};
  const auto draw = [&random](Index n) { return static_cast<Index>(random() % static_cast<std::uint64_t>(n)); };
  std::string text = extension == ".mtx" ? "%%MatrixMarket matrix coordinate real general\n" + std::to_string(rows) +
                                               " " + std::to_string(columns) + " " + std::to_string(entries) + "\n"
                                         : "";
  for (Index k = 0; k < entries; ++k) {
    const bool corner = k == 0 && extension == ".tns";  // its shape follows from its entries
    const Index i = corner ? rows - 1 : draw(4) == 0 ? draw(std::min<Index>(rows, 2)) : draw(rows);
    const Index j = corner ? columns - 1 : draw(columns);
    const auto value = static_cast<double>(draw(7) - 2);
    text += std::to_string(i + 1) + " " + std::to_string(j + 1) + " " + std::to_string(value) + "\n";
    file.elements[{i, j}] += value;
  }
  std::erase_if(file.elements, [](const auto& element) { return element.second == 0; });
  if (extension != ".npy") {
    (void)folder.write("A" + extension, text);
    return file;
  }
  std::vector<double> dense(static_cast<std::size_t>(rows * columns), 0);
  for (const auto& [at, value] : file.elements) dense[static_cast<std::size_t>(at.first * columns + at.second)] = value;
  const std::vector<Index> shape = {rows, columns}, zero = {0, 0}, strides = {columns, 1};
  rt::NpyWriter writer = rt::NpyWriter::create(file.path, rt::ElementType::kF64, shape);
  writer.write_box<double>(zero, shape, dense.data(), strides);
  writer.commit();
  return file;
}

/// Declares the matrix as the program's input A.
inline void declare(RunSettings& settings, const StoredFile& file) {
  settings.declare = [path = file.path](rt::ProgramInfo& info, rt::AppOptions& options) {
    info.input("A", "f64[n, sparse m]", rt::ElementType::kF64, {"n", "m"}, 1, {false, true});
    options.inputs["A"] = path;
  };
}

/// A vector with the value at every index.
inline Tensor<double> vector_of(TestSession& session, const std::string& name, Index extent, int site,
                                double (*value)(Index)) {
  plan::OpBuilder op(plan::OpClass::kSource, name, site, 1);
  op.out("i", extent);
  return session.compute<double>(op, [value](const TaskArgs& t) {
    const auto out = t.out<double, 1>();
    for (Index i = t.lo(0); i < t.hi(0); ++i) out(i) = value(i);
  });
}

namespace stored {

inline double weight(Index i) { return static_cast<double>(i % 5 - 2); }

/// y[i] = sum[j](A[i, j] * x[j])
inline Tensor<double> product(TestSession& session, const Tensor<double>& a, const Tensor<double>& x) {
  plan::OpBuilder op(plan::OpClass::kReduce, "y", 11, 2);
  op.out("i", a.extent(0))
      .label("j", {0, a.extent(1)})
      .read(a.id(), {plan::at(0), plan::walked(1)})
      .read(x.id(), {plan::at(1)})
      .flops(2)
      .visits(a.desc());
  return session.compute<double>(op, [](const TaskArgs& t) {
    const auto A = rt::stored_in<double, 2>(t, 0);
    const auto x = t.in<double, 1>(1);
    const auto y = t.out<double, 1>();
    if (t.fresh) rt::fill(t.outputs[0], 0.0);
    A.rows({t.lo(0), t.hi(0)}, [&](const auto& row) {
      double total = 0.0;
      row.each([&](Index j, double value) { total += value * x(j); });
      y(row.index()) = total;
    });
  });
}

/// z[j] = sum[i](A[i, j] * w[i])
inline Tensor<double> transposed_product(TestSession& session, const Tensor<double>& a, const Tensor<double>& w) {
  plan::OpBuilder op(plan::OpClass::kReduce, "z", 12, 3);
  op.out("j", a.extent(1)).uncut().reduce("i", a.extent(0)).combine(plan::Combine::kSum);
  op.read(a.id(), {plan::at(1), plan::whole()}).read(w.id(), {plan::at(1)}).flops(2).visits(a.desc());
  return session.compute<double>(op, [](const TaskArgs& t) {
    const auto A = rt::stored_in<double, 2>(t, 0);
    const auto w = t.in<double, 1>(1);
    const auto z = t.out<double, 1>();
    if (t.fresh) rt::fill(t.outputs[0], 0.0);
    A.rows({t.lo(1), t.hi(1)}, [&](const auto& row) {
      row.each([&](const auto j, const double value) { z(j) += value * w(row.index()); });
    });
  });
}

/// P[i, j] = A[i, j] * w[i], with the pattern of A.
inline Tensor<double> scaled(TestSession& session, const Tensor<double>& a, const Tensor<double>& w) {
  plan::OpBuilder op(plan::OpClass::kMap, "P", 13, 4);
  op.out("i", a.extent(0)).out("j", a.extent(1)).uncut();
  op.read(a.id(), {plan::at(0), plan::whole()})
      .read(w.id(), {plan::at(0)})
      .flops(1)
      .visits(a.desc())
      .stored_like(a.desc());
  return session.compute<double>(op, [](const TaskArgs& t) {
    const auto A = rt::stored_in<double, 2>(t, 0);
    const auto w = t.in<double, 1>(1);
    rt::StoredTile<double> P(t);
    A.rows({t.lo(0), t.hi(0)}, [&](const auto& row) {
      P.row(row.index());
      row.each([&](Index j, double value) { P.put(j, value * w(row.index())); });
    });
    P.finish();
  });
}

/// D[i, j] = dense(P[i, j]) + A[i, j], with random access to A.
inline Tensor<double> dense_sum(TestSession& session, const Tensor<double>& p, const Tensor<double>& a) {
  plan::OpBuilder op(plan::OpClass::kMap, "D", 14, 5);
  op.out("i", a.extent(0)).out("j", a.extent(1)).uncut();
  op.read(p.id(), {plan::at(0), plan::whole()}).read(a.id(), {plan::at(0), plan::whole()}).flops(1);
  return session.compute<double>(op, [](const TaskArgs& t) {
    const auto P = rt::stored_in<double, 2>(t, 0);
    const auto A = rt::stored_in<double, 2>(t, 1);
    const auto D = t.out<double, 2>();
    for (Index i = t.lo(0); i < t.hi(0); ++i) {
      for (Index j = t.lo(1); j < t.hi(1); ++j) D(i, j) = P.locate(i, j) + A.locate(i, j);
    }
  });
}

/// A run's results and their error.
struct Outcome {
  RunResult run;
  double stored = 0;  ///< as known to the planner
  int wrong = 0;
};

/// Runs all of the programs, on every rank.
inline Outcome run_all(const StoredFile& file, RunSettings settings, bool dense = true) {
  declare(settings, file);
  const auto y = values<double>(), z = values<double>(), s = values<double>(), d = values<double>();
  Outcome outcome;
  outcome.run = run(settings, [&](TestSession& session) {
    const Tensor<double> a = session.stored_input<double>("A", {file.rows, file.columns}, 10, 1);
    outcome.stored = a.desc().stored.expected;
    const Tensor<double> x = vector_of(session, "x", file.columns, 1, weight),
                         w = vector_of(session, "w", file.rows, 2, weight);
    session.collect(product(session, a, x), y);
    session.collect(transposed_product(session, a, w), z);
    const Tensor<double> p = scaled(session, a, w);
    session.collect(product(session, p, x), s);
    if (dense) session.collect(dense_sum(session, p, a), d);
  });
  std::vector<double> expected_y(static_cast<std::size_t>(file.rows), 0),
      expected_z(static_cast<std::size_t>(file.columns), 0), expected_s = expected_y;
  for (const auto& [at, value] : file.elements) {
    expected_y[static_cast<std::size_t>(at.first)] += value * weight(at.second);
    expected_z[static_cast<std::size_t>(at.second)] += value * weight(at.first);
    expected_s[static_cast<std::size_t>(at.first)] += value * weight(at.first) * weight(at.second);
  }
  outcome.wrong += (*y != expected_y ? 1 : 0) + (*z != expected_z ? 2 : 0) + (*s != expected_s ? 4 : 0);
  for (Index i = 0; dense && i < file.rows; ++i) {
    for (Index j = 0; j < file.columns; ++j) {
      if ((*d)[static_cast<std::size_t>(i * file.columns + j)] != file.at(i, j) * (weight(i) + 1)) outcome.wrong |= 8;
    }
  }
  return outcome;
}

}  // namespace stored

}  // namespace tdsl::tests
