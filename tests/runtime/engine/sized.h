#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "tests/runtime/engine/random.h"

// Random programs on tensors of data-dependent size. Blocks have a format of this test: a head, the stored elements
// with their subscripts, and filler bytes, so that sizes can be chosen freely.

namespace tdsl::tests::sized {

using rt::BlockPart;
using rt::BlockSink;

/// No larger than a dense block's element, so that full blocks are within their estimates too.
struct Entry {
  std::uint16_t i = 0, j = 0;
  float value = 0;
};
/// By row and column.
using Entries = std::map<std::pair<Index, Index>, double>;

struct Head {
  Index count = 0;
  std::uint32_t filler = 0, check = 0;
};

inline std::uint64_t hash_of(std::initializer_list<Index> numbers) {
  std::uint64_t h = 1469598103934665603ULL;
  for (const Index x : numbers) h = (h ^ static_cast<std::uint64_t>(x)) * 1099511628211ULL, h ^= h >> 31;
  return h;
}

/// Block sizes and their estimates.
struct Sizes {
  Index filler = 0;    ///< maximum filler bytes per block
  bool wrong = false;  ///< estimates are unrelated to actual sizes
  Index fails = 0;     ///< one of this many tasks fails
};

inline Index filler_of(const Sizes& sizes, const plan::Box& box, Index salt) {
  return sizes.filler == 0
             ? 0
             : static_cast<Index>(hash_of({box[0].lo, box[1].lo, salt}) % static_cast<std::uint64_t>(sizes.filler + 1));
}

inline void write(BlockSink& sink, const Entries& entries, Index filler) {
  Index count = 0;
  for (const auto& entry : entries) count += entry.second != 0 ? 1 : 0;
  if (count + filler == 0) return;
  std::byte* to = sink.begin(static_cast<Index>(sizeof(Head)) + count * static_cast<Index>(sizeof(Entry)) + filler);
  const Head head{count, static_cast<std::uint32_t>(filler), static_cast<std::uint32_t>(hash_of({count, filler}))};
  std::memcpy(to, &head, sizeof head);
  to += sizeof head;
  for (const auto& [at, value] : entries) {
    if (value == 0) continue;
    const Entry entry{static_cast<std::uint16_t>(at.first), static_cast<std::uint16_t>(at.second),
                      static_cast<float>(value)};
    std::memcpy(to, &entry, sizeof entry);
    to += sizeof entry;
  }
  std::memset(to, 0x5a, static_cast<std::size_t>(filler));
}

/// Reads the entries of a block, whose bytes must be as written.
inline void read(const BlockPart& part, Entries& to) {
  if (part.data == nullptr) {
    TDSL_CHECK(part.bytes == 0, "an absent block has no bytes");
    return;
  }
  Head head;
  std::memcpy(&head, part.data, sizeof head);
  TDSL_CHECK(head.check == static_cast<std::uint32_t>(hash_of({head.count, head.filler})),
             "the head of a block is whole");
  const Index entries = head.count * static_cast<Index>(sizeof(Entry));
  TDSL_CHECK(part.bytes == static_cast<Index>(sizeof head) + entries + head.filler, "a block has its size");
  for (Index k = 0; k < head.count; ++k) {
    Entry entry;
    std::memcpy(&entry, part.data + sizeof head + static_cast<std::size_t>(k) * sizeof entry, sizeof entry);
    TDSL_CHECK(
        part.box[0].lo <= entry.i && entry.i < part.box[0].hi && part.box[1].lo <= entry.j && entry.j < part.box[1].hi,
        "entries lie in their block");
    to[{entry.i, entry.j}] = entry.value;
  }
  for (Index k = part.bytes - head.filler; k < part.bytes; ++k)
    TDSL_CHECK(part.data[k] == std::byte{0x5a}, "a block is whole");
}

inline Entries read(const rt::Operand& operand) {
  Entries entries;
  for (const BlockPart& part : operand.parts) read(part, entries);
  return entries;
}

/// A value of the program: the engine's tensor and its expected contents.
struct SizedValue {
  Tensor<double> tensor;
  Dense expected;
};

class RandomSized {
 public:
  RandomSized(std::uint32_t seed, Sizes sizes, TestSession& session)
      : random_(seed), sizes_(sizes), session_(session) {}

  void record(int operations) {
    source();
    source();
    for (int k = 0; k < operations; ++k) {
      switch (draw(0, 5)) {
        case 0: source(); break;
        case 1: shifted(); break;
        case 2: transpose(); break;
        case 3: product(); break;
        case 4: update(); break;
        default: sums(); break;
      }
      if (values_.size() > 3 && draw(0, 1) == 0)
        values_.erase(values_.begin() + draw(0, static_cast<int>(values_.size()) - 1));
      if (dense_.size() > 2) dense_.erase(dense_.begin());
    }
  }
  [[nodiscard]] std::vector<SizedValue>& values() { return values_; }
  [[nodiscard]] std::vector<Value>& dense() { return dense_; }

  /// Gathers a tensor of data-dependent size on every rank.
  void collect(const Tensor<double>& tensor, std::shared_ptr<std::vector<double>> to) {
    const std::vector<Index> shape = tensor.state().desc.shape;
    to->assign(static_cast<std::size_t>(shape[0] * shape[1]), 0.0);
    plan::OpBuilder op(plan::OpClass::kControl, "collect", 910, 0);
    op.write({}, {}).replicated().read(tensor.id(), {plan::whole(), plan::whole()});
    kept_.push_back(session_.compute<bool>(op, [to, shape](const TaskArgs& t) {
      for (const auto& [at, value] : read(t.inputs[0]))
        (*to)[static_cast<std::size_t>(at.first * shape[1] + at.second)] = value;
    }));
  }

 private:
  int draw(int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(random_); }
  Index extent() { return draw(0, 9) == 0 ? 1 : draw(2, 17); }
  const SizedValue& any() { return values_[static_cast<std::size_t>(draw(0, static_cast<int>(values_.size()) - 1))]; }

  /// Records the operation that computes `d`, with estimates of its size.
  Tensor<double> compute(plan::OpBuilder& op, const Dense& d, rt::Kernel kernel) {
    double stored = 0;
    for (const double x : d.elements) stored += x != 0 ? 1 : 0;
    const double all = static_cast<double>(d.rows) * static_cast<double>(d.columns);
    plan::Estimate about{draw(0, 1) == 0 ? 0 : stored, stored, draw(0, 1) == 0 ? stored : all};
    about.expected = std::clamp(stored * draw(0, 4) / 2, about.lo, about.hi);
    if (sizes_.wrong) about = {0, static_cast<double>(draw(0, 2)), static_cast<double>(draw(2, 4))};
    op.stored({{plan::Level::kDense, plan::Level::kCompressed}, {}, true}, about);
    return session_.compute<double>(op, std::move(kernel));
  }
  void keep(Tensor<double> tensor, Dense expected) { values_.push_back({std::move(tensor), std::move(expected)}); }
  /// Writes the next block, on all ranks.
  auto writer() {
    return [sizes = sizes_, salt = static_cast<Index>(++salt_)](const TaskArgs& t, const Entries& entries) {
      const std::uint64_t chosen = hash_of({t.out_box[0].lo, t.out_box[1].lo, salt, 77});
      if (sizes.fails > 0 && chosen % static_cast<std::uint64_t>(sizes.fails) == 0) throw rt::RunError("made to fail");
      write(t.sink(), entries, filler_of(sizes, t.out_box, salt));
    };
  }

  void source() {
    const Index salt = draw(1, 99);
    const std::uint64_t one_in = std::initializer_list<std::uint64_t>{1, 3, 20, 1000}.begin()[draw(0, 3)];
    Dense d(extent(), extent());
    const auto value = [salt, one_in](Index i, Index j) {
      const std::uint64_t h = hash_of({i, j, salt});
      return h % one_in == 0 ? static_cast<double>(1 + (h >> 20) % 6) : 0.0;
    };
    for (Index i = 0; i < d.rows; ++i) {
      for (Index j = 0; j < d.columns; ++j) d(i, j) = value(i, j);
    }
    plan::OpBuilder op(plan::OpClass::kSource, "S", 1, 1);
    op.out("i", d.rows).out("j", d.columns);
    keep(compute(op, d,
                 [value, put = writer()](const TaskArgs& t) {
                   Entries entries;
                   for (Index i = t.lo(0); i < t.hi(0); ++i) {
                     for (Index j = t.lo(1); j < t.hi(1); ++j) entries[{i, j}] = value(i, j);
                   }
                   put(t, entries);
                 }),
         d);
  }

  /// Z[i, j] = X[i + a, j].
  void shifted() {
    const SizedValue x = any();
    const Index a = draw(0, static_cast<int>(std::min<Index>(3, x.expected.rows - 1)));
    Dense d(x.expected.rows - a, x.expected.columns);
    for (Index i = 0; i < d.rows; ++i) {
      for (Index j = 0; j < d.columns; ++j) d(i, j) = x.expected(i + a, j);
    }
    plan::OpBuilder op(plan::OpClass::kMap, "N", 2, 2);
    op.out("i", d.rows).out("j", d.columns).read(x.tensor.id(), {plan::at(0, a), plan::at(1)}).divisible();
    keep(compute(op, d,
                 [a, put = writer()](const TaskArgs& t) {
                   Entries entries;
                   for (const auto& [at, value] : read(t.inputs[0])) {
                     const Index i = at.first - a, j = at.second;
                     if (t.lo(0) <= i && i < t.hi(0) && t.lo(1) <= j && j < t.hi(1)) entries[{i, j}] = value;
                   }
                   put(t, entries);
                 }),
         d);
  }

  void transpose() {
    const SizedValue x = any();
    Dense d(x.expected.columns, x.expected.rows);
    for (Index i = 0; i < d.rows; ++i) {
      for (Index j = 0; j < d.columns; ++j) d(i, j) = x.expected(j, i);
    }
    plan::OpBuilder op(plan::OpClass::kMap, "T", 3, 3);
    op.out("i", d.rows).out("j", d.columns).read(x.tensor.id(), {plan::at(1), plan::at(0)});
    keep(compute(op, d,
                 [put = writer()](const TaskArgs& t) {
                   Entries entries;
                   for (const auto& [at, value] : read(t.inputs[0])) {
                     if (t.lo(0) <= at.second && at.second < t.hi(0) && t.lo(1) <= at.first && at.first < t.hi(1))
                       entries[{at.second, at.first}] = value;
                   }
                   put(t, entries);
                 }),
         d);
  }

  /// Z[i, j] = the largest X[i, k] + Y[j, k] of stored elements, panel by panel.
  void product() {
    const SizedValue x = any();
    for (const SizedValue& y : values_) {
      if (y.expected.columns != x.expected.columns) continue;
      Dense d(x.expected.rows, y.expected.rows);
      for (Index i = 0; i < d.rows; ++i) {
        for (Index j = 0; j < d.columns; ++j) {
          for (Index k = 0; k < x.expected.columns; ++k) {
            if (x.expected(i, k) != 0 && y.expected(j, k) != 0)
              d(i, j) = std::max(d(i, j), small(x.expected(i, k) + y.expected(j, k)));
          }
        }
      }
      plan::OpBuilder op(plan::OpClass::kReduce, "P", 4, 4);
      op.out("i", d.rows).out("j", d.columns).reduce("k", x.expected.columns);
      op.read(x.tensor.id(), {plan::at(0), plan::at(2)})
          .read(y.tensor.id(), {plan::at(1), plan::at(2)})
          .combine(plan::Combine::kMax);
      keep(compute(op, d,
                   [put = writer()](const TaskArgs& t) {
                     Entries entries;
                     TDSL_CHECK(!t.first || t.sink().before().data == nullptr, "a block begins with nothing");
                     read(t.sink().before(), entries);
                     const Entries b = read(t.inputs[1]);
                     for (const auto& [at, value] : read(t.inputs[0])) {
                       if (at.first < t.lo(0) || at.first >= t.hi(0) || at.second < t.lo(2) || at.second >= t.hi(2))
                         continue;
                       for (Index j = t.lo(1); j < t.hi(1); ++j) {
                         const auto other = b.find({j, at.second});
                         if (other == b.end()) continue;
                         double& most = entries[{at.first, j}];
                         most = std::max(most, small(value + other->second));
                       }
                     }
                     put(t, entries);
                   }),
           d);
      return;
    }
  }

  /// X[2 i + c, j] += 1 where it is stored, on a copy that is often the only reference.
  void update() {
    const auto place = static_cast<std::size_t>(draw(0, static_cast<int>(values_.size()) - 1));
    const SizedValue x = values_[place];
    const Index step = draw(1, 2), from = draw(0, 1);
    const Index count = (x.expected.rows - from) / step;
    const bool reads = draw(0, 1) == 0, anew = draw(0, 2) == 0;
    Dense d = x.expected;
    for (Index i = 0; i < count; ++i) {
      for (Index j = 0; j < d.columns; ++j) d(step * i + from, j) += d(step * i + from, j) != 0 ? 1 : 0;
    }
    plan::OpBuilder op(plan::OpClass::kMap, "U", 5, 5);
    op.label("i", {0, count}).label("j", {0, x.expected.columns});
    op.write({d.rows, d.columns}, {{0, step, from}, {1, 1, 0}}).base(x.tensor.id());
    if (reads) op.read(x.tensor.id(), {plan::at(0, from, step), plan::at(1)});
    Tensor<double> tensor = compute(op, d, [=, put = writer()](const TaskArgs& t) {
      const BlockPart before = t.sink().before();
      Entries entries;
      read(before, entries);
      if (reads && t.lo(0) < t.hi(0) && t.lo(1) < t.hi(1))
        TDSL_CHECK(t.inputs[0].parts.size() == 1 && read(t.inputs[0]) == entries, "the operand read is the base");
      const auto written = [&](Index i) {
        return (i - from) % step == 0 && t.lo(0) <= (i - from) / step && (i - from) / step < t.hi(0) && i >= from;
      };
      const bool any =
          std::any_of(entries.begin(), entries.end(), [&](const auto& entry) { return written(entry.first.first); });
      if (!any) return t.sink().keep();
      if (anew) {
        for (auto& [at, value] : entries) value += written(at.first) ? 1 : 0;
        return put(t, entries);
      }
      std::byte* const bytes = t.sink().change();
      Head head;
      std::memcpy(&head, bytes, sizeof head);
      for (Index k = 0; k < head.count; ++k) {
        std::byte* const at = bytes + sizeof head + static_cast<std::size_t>(k) * sizeof(Entry);
        Entry entry;
        std::memcpy(&entry, at, sizeof entry);
        entry.value += written(entry.i) ? 1.0F : 0.0F;
        std::memcpy(at, &entry, sizeof entry);
      }
    });
    if (draw(0, 2) > 0) values_.erase(values_.begin() + static_cast<std::ptrdiff_t>(place));
    keep(std::move(tensor), std::move(d));
  }

  /// A dense result, row sums, which later operations use in turn.
  void sums() {
    const SizedValue x = any();
    Dense d(x.expected.rows, 1);
    for (Index i = 0; i < d.rows; ++i) {
      for (Index j = 0; j < x.expected.columns; ++j) d(i, 0) += x.expected(i, j);
    }
    plan::OpBuilder op(plan::OpClass::kReduce, "R", 6, 6);
    op.label("i", {0, d.rows})
        .label("j", {0, x.expected.columns})
        .write({d.rows, 1}, {{0, 1, 0}, {plan::kNoLabel, 1, 0}});
    op.op().reduce.push_back({1, -1});
    op.read(x.tensor.id(), {plan::at(0), plan::at(1)}).combine(plan::Combine::kSum).divisible();
    Tensor<double> sums = session_.compute<double>(op, [](const TaskArgs& t) {
      if (t.fresh) rt::fill<double>(t.outputs[0], 0.0);
      const auto out = t.out<double, 2>();
      for (const auto& [at, value] : read(t.inputs[0])) {
        if (t.lo(0) <= at.first && at.first < t.hi(0) && t.lo(1) <= at.second && at.second < t.hi(1))
          out(at.first, 0) += value;
      }
    });
    Dense scaled = x.expected;
    for (Index i = 0; i < d.rows; ++i) {
      for (Index j = 0; j < scaled.columns; ++j)
        scaled(i, j) = scaled(i, j) == 0 ? 0 : 1 + small(scaled(i, j) + d(i, 0));
    }
    plan::OpBuilder scale(plan::OpClass::kMap, "V", 7, 7);
    scale.out("i", scaled.rows)
        .out("j", scaled.columns)
        .read(x.tensor.id(), {plan::at(0), plan::at(1)})
        .read(sums.id(), {plan::at(0), plan::fixed(0, 1)});
    keep(compute(scale, scaled,
                 [put = writer()](const TaskArgs& t) {
                   Entries entries;
                   const auto row = t.in<double, 2>(1);
                   for (const auto& [at, value] : read(t.inputs[0])) {
                     if (t.lo(0) <= at.first && at.first < t.hi(0) && t.lo(1) <= at.second && at.second < t.hi(1)) {
                       entries[at] = 1 + small(value + row(at.first, 0));
                     }
                   }
                   put(t, entries);
                 }),
         scaled);
    dense_.push_back({std::move(sums), std::move(d)});
  }

  std::mt19937 random_;
  Sizes sizes_;
  TestSession& session_;
  Index salt_ = 0;
  std::vector<SizedValue> values_;
  std::vector<Value> dense_;
  std::vector<rt::TensorHandle> kept_;
};

/// Counts must be within predictions.
inline void check_sized_counts(TestSession& session) {
  rt::EngineSink& sink = session.inside().sink;
  const std::vector<rt::SiteStatistics> counted = sink.engine().statistics();
  rt::check_counts(sink.predictions(), counted, {}, [](int line) { return rt::SourceLine{"test.tdsl", line}; });
  plan::Range entered;
  for (const auto& [site, prediction] : sink.predictions().sites()) {
    const plan::Range messages = plan::messages_of(prediction.cost);
    for (const rt::SiteStatistics& s : counted) {
      if (s.site != site) continue;
      TDSL_CHECK(messages.lo <= static_cast<double>(s.messages) && static_cast<double>(s.messages) <= messages.hi,
                 "messages are as many as predicted");
    }
    entered += prediction.bytes_from_other_nodes;
  }
  const auto came = static_cast<double>(session.inside().setup.world.total_traffic().bytes_from_other_nodes);
  TDSL_CHECK(session.inside().setup.plan_inputs.ranks_per_node <= 1 || (entered.lo <= came && came <= entered.hi),
             "as much enters a node as predicted");
}

/// The number of wrong elements. Counts are compared with predictions, unless estimates are wrong.
inline Index run_sized(std::uint32_t seed, const Sizes& sizes, RunSettings settings, RunResult* about = nullptr) {
  std::vector<Dense> expected;
  std::vector<std::shared_ptr<std::vector<double>>> found;
  settings.check_counts = settings.check_counts && !sizes.wrong;
  const auto program = [&](TestSession& session) {
    expected.clear();
    found.clear();
    session.inside().sink.enable_predictions(false);
    {
      RandomSized random(seed, sizes, session);
      const auto iterations = static_cast<Index>(1 + seed % 3);
      session.for_loop(0, iterations, 1, [&](Index) { random.record(6); });
      for (const SizedValue& value : random.values()) {
        found.push_back(tests::values<double>());
        random.collect(value.tensor, found.back());
        expected.push_back(value.expected);
      }
      for (const Value& value : random.dense()) {
        found.push_back(tests::values<double>());
        session.collect(value.tensor, found.back());
        expected.push_back(value.expected);
      }
    }
    if (!settings.check_counts) return;
    session.inside().complete();
    check_sized_counts(session);
  };
  const RunResult result = run(settings, program);
  if (about != nullptr) *about = result;
  Index wrong = 0;
  for (std::size_t k = 0; k < expected.size(); ++k) {
    for (std::size_t e = 0; e < expected[k].elements.size(); ++e)
      wrong += expected[k].elements[e] == (*found[k])[e] ? 0 : 1;
  }
  return wrong;
}

}  // namespace tdsl::tests::sized
