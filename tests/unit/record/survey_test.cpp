#include "runtime/record/survey.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "runtime/check.h"
#include "runtime/plan/op_builder.h"

using namespace tdsl;
using namespace tdsl::record;
using plan::Region;

namespace {

/// A one-element operation at a site.
TensorHandle step(Recorder& recorder, int site, const std::vector<const TensorHandle*>& operands = {},
                  const std::string& name = "x") {
  plan::OpBuilder op(operands.empty() ? plan::OpClass::kSource : plan::OpClass::kMap, name, site, 10 * site);
  for (const TensorHandle* operand : operands) op.read(operand->id(), {});
  return recorder.record(std::move(op.op()), ElementType::kF64);
}

/// `site x weight` of all operations, in order.
std::string weights(const Region& region) {
  std::string text;
  for (const plan::RegionOp& op : region.ops) {
    const bool whole = op.weight == static_cast<double>(static_cast<Index>(op.weight));
    text += (text.empty() ? "" : " ") + std::to_string(op.op.site) + "x" +
            (whole ? std::to_string(static_cast<Index>(op.weight)) : std::to_string(op.weight).substr(0, 5));
  }
  return text;
}

bool surveys(const Region& region, int site) {
  return std::ranges::any_of(region.ops, [&](const plan::RegionOp& op) { return op.op.site == site; });
}

}  // namespace

TEST_CASE("survey: a loop is recorded for its first and a middle iteration") {
  for (const auto& [trips, wanted, iterations] :
       std::vector<std::tuple<Index, std::string, std::vector<Index>>>{{8, "1x1 2x1 2x7 3x1", {0, 4}},
                                                                       {2, "1x1 2x1 2x1 3x1", {0, 1}},
                                                                       {3, "1x1 2x1 2x2 3x1", {0, 1}},
                                                                       {1, "1x1 2x1 3x1", {0}},
                                                                       {0, "1x1 3x1", {}}}) {
    std::vector<Index> seen;
    const Region region = survey([&, count = trips](Recorder& recorder, Control& control) {
      static_cast<void>(step(recorder, 1));
      control.for_loop(Known::kStart, 0, count, 1, [&](Index i) {
        seen.push_back(i);
        static_cast<void>(step(recorder, 2));
      });
      static_cast<void>(step(recorder, 3));
    });
    CHECK(weights(region) == wanted);
    CHECK(seen == iterations);
    CHECK(region.whole);
  }
}

TEST_CASE("survey: loops downwards, by steps and with ranges from data") {
  std::vector<Index> seen;
  const Region region = survey([&](Recorder& recorder, Control& control) {
    const auto body = [&](Index i) {
      seen.push_back(i);
      static_cast<void>(step(recorder, 1));
    };
    control.for_loop(Known::kStart, 10, -1, -3, body);
    control.for_loop(Known::kLoop, 0, 5, 2, body);
    control.for_loop(Known::kData, 0, 1, 1, body);
    control.for_loop(Known::kData, 3, 1, 1, body);
  });
  CHECK(weights(region) == "1x1 1x3 1x1 1x2 1x1 1x9 1x1 1x9");
  CHECK(seen == std::vector<Index>{10, 4, 0, 2, 0, 0, 3, 3});
}

TEST_CASE("survey: weights of nested loops multiply, and deep loops are recorded once") {
  const Region two = survey([](Recorder& recorder, Control& control) {
    control.for_loop(Known::kStart, 0, 4, 1, [&](Index) {
      control.for_loop(Known::kStart, 0, 3, 1, [&](Index) { static_cast<void>(step(recorder, 1)); });
    });
  });
  CHECK(weights(two) == "1x1 1x2 1x3 1x6");
  const Region deep = survey([](Recorder& recorder, Control& control) {
    std::function<void(int)> nest = [&](int depth) {
      if (depth == 0) return static_cast<void>(step(recorder, 1));
      control.for_loop(Known::kStart, 0, 2, 1, [&](Index) { nest(depth - 1); });
    };
    nest(7);
  });
  CHECK(deep.ops.size() == 16);
  double sum = 0;
  for (const plan::RegionOp& op : deep.ops) sum += op.weight;
  CHECK(sum == 128);
}

TEST_CASE("survey: loops are recorded once when there are many records") {
  const Region region = survey([](Recorder& recorder, Control& control) {
    for (std::size_t k = 0; k < kManyRecords + 1; ++k) static_cast<void>(step(recorder, 1));
    recorder.flush();
    control.for_loop(Known::kStart, 0, 9, 1, [&](Index i) {
      CHECK(i == 4);
      static_cast<void>(step(recorder, 2));
    });
  });
  CHECK(region.ops.size() == kManyRecords + 2);
  CHECK(region.ops.back().weight == 9);
}

TEST_CASE("survey: a while loop asks once more than it runs, and a condition that is known ends it") {
  const auto loop = [](Known known, int true_times) {
    return survey([=](Recorder& recorder, Control& control) {
      int asked = 0;
      control.while_loop(
          known,
          [&] {
            static_cast<void>(step(recorder, 1));
            return asked++ < true_times;
          },
          [&](Index) { static_cast<void>(step(recorder, 2)); });
    });
  };
  CHECK(weights(loop(Known::kData, 0)) == "1x1 2x1 1x9 2x9 1x1");
  CHECK(weights(loop(Known::kStart, 100)) == "1x1 2x1 1x9 2x9 1x1");
  CHECK(weights(loop(Known::kStart, 0)) == "1x1");
  CHECK(weights(loop(Known::kStart, 1)) == "1x1 2x1 1x9");
}

TEST_CASE("survey: branches in loops over scalars are followed, and an endless loop is waited for only once") {
  // Number of Collatz steps from 27 to 1.
  Index steps = 0;
  const Region collatz = survey([&](Recorder& recorder, Control& control) {
    Index k = 27;
    steps = 0;
    control.while_loop(
        kScalars, [&] { return k != 1; },
        [&](Index) {
          control.if_else(
              Known::kLoop, 5, k % 2 == 0, [&] { k /= 2; }, [&] { k = 3 * k + 1; });
          ++steps;
        });
    static_cast<void>(step(recorder, 1));
  });
  CHECK(steps == 111);
  CHECK(collatz.whole);
  CHECK(weights(collatz) == "1x1");
  Index turns = 0;
  const Region endless = survey([&](Recorder& recorder, Control& control) {
    control.if_else(Known::kData, 1, true, [&] { static_cast<void>(step(recorder, 1)); }, {});
    control.while_loop(
        kScalars, [] { return true; }, [&](Index) { ++turns; });
    control.if_else(Known::kData, 2, true, [&] { static_cast<void>(step(recorder, 2)); }, {});
  });
  CHECK(endless.fence == "a loop over scalars runs more than 1000000 times");
  CHECK(turns == kScalarIterations + kScalarIterationsAgain);
}

TEST_CASE("survey: loops over scalars run to their end, up to a limit") {
  Index sum = 0;
  Index value = 1;
  const Region region = survey([&](Recorder&, Control& control) {
    control.for_loop(kScalars, 0, 1000, 1, [&](Index i) { sum += i; });
    control.while_loop(
        kScalars, [&] { return value < 5000; }, [&](Index) { value *= 2; });
  });
  CHECK(sum == 499500);
  CHECK(value == 8192);
  CHECK(region.whole);
  const Region endless = survey([&](Recorder& recorder, Control& control) {
    static_cast<void>(step(recorder, 1));
    control.while_loop(
        kScalars, [] { return true; }, [](Index) {});
    static_cast<void>(step(recorder, 2));
  });
  CHECK(weights(endless) == "1x1");
  CHECK(endless.fence == "a loop over scalars runs more than 1000000 times");
}

TEST_CASE("survey: a branch that is not known at start is taken both ways, in runs that are united") {
  const Region region = survey([](Recorder& recorder, Control& control) {
    static_cast<void>(step(recorder, 1));
    control.for_loop(Known::kStart, 0, 5, 1, [&](Index) {
      control.if_else(
          Known::kLoop, 9, true, [&] { static_cast<void>(step(recorder, 2)); },
          [&] { static_cast<void>(step(recorder, 3)); });
    });
    control.if_else(
        Known::kStart, 0, false, [&] { static_cast<void>(step(recorder, 4)); }, nullptr);
  });
  CHECK(weights(region) == "1x0.500 2x0.500 2x2 1x0.500 3x0.500 3x2");
  CHECK(region.ops.front().run == 0);
  CHECK(region.ops.back().run == 1);
  CHECK(region.ops.front().op.outputs.front().id != region.ops[3].op.outputs.front().id);
}

TEST_CASE("survey: nested branches are all taken, in eight runs at most") {
  const auto nested = [](int depth) {
    return survey([=](Recorder& recorder, Control& control) {
      std::function<void(int)> branch = [&](int d) {
        static_cast<void>(step(recorder, 100 + d));
        if (d < depth)
          control.if_else(
              Known::kData, d + 1, true, [&] { static_cast<void>(step(recorder, 200 + d)); }, [&] { branch(d + 1); });
      };
      branch(0);
    });
  };
  const Region seven = nested(7);
  for (int d = 0; d < 7; ++d) {
    CHECK(surveys(seven, 101 + d));
    CHECK(surveys(seven, 200 + d));
  }
  CHECK(seven.ops.back().run == kSurveyRuns - 1);  // one way per run that no earlier run took
  CHECK(seven.whole);
  const Region ten = nested(10);
  CHECK(ten.ops.back().run == kSurveyRuns - 1);
  CHECK(!ten.whole);
  CHECK(ten.fence == "after 8 runs some branches were taken one way only");
}

TEST_CASE("survey: branches on both sides, in loops and with one site in two places are all taken") {
  // As a kept record in a loop: a branch around elements in loops, whose places are found by two more.
  const Region region = survey([](Recorder& recorder, Control& control) {
    const auto at = [&](int site) { return [&recorder, site] { static_cast<void>(step(recorder, site)); }; };
    const auto branch = [&](int site, const Control::Branch& then_branch, const Control::Branch& else_branch) {
      return [&control, site, then_branch, else_branch] {
        control.if_else(Known::kData, site, true, then_branch, else_branch);
      };
    };
    const Control::Branch element = branch(4, at(21), branch(5, at(22), at(23)));
    control.for_loop(Known::kStart, 0, 3, 1, [&](Index) {
      branch(1, branch(2, at(20), branch(6, at(24), element)), branch(3, element, nullptr))();
    });
  });
  for (const int site : {20, 21, 22, 23, 24}) CHECK(surveys(region, site));
  CHECK(region.ops.back().run == 5);
  CHECK(region.whole);
}

TEST_CASE("survey: a fence and a program's error end the region, and tensors named there stay live") {
  for (const bool error : {false, true}) {
    const Region region = survey([&](Recorder& recorder, Control& control) {
      const TensorHandle x = step(recorder, 1);
      {
        const TensorHandle y = step(recorder, 2, {&x});
        recorder.flush();
      }
      recorder.flush();
      const TensorHandle z = step(recorder, 3, {&x});
      if (error) throw rt::ProgramError({"p.tdsl", 7}, "sizes differ");
      control.fence(7);
      static_cast<void>(step(recorder, 4));
    });
    CHECK(weights(region) == "1x1 2x1 3x1");
    CHECK(!region.whole);
    CHECK(region.fence == (error ? "p.tdsl:7: sizes differ" : "sizes from line 7 on come from data"));
    CHECK(region.ops[1].last_uses == std::vector{region.ops[1].op.outputs.front().id});
    CHECK(region.ops[2].last_uses.empty());
  }
}

TEST_CASE("survey: a control read gives 1 of every type") {
  const Region region = survey([](Recorder& recorder, Control& control) {
    const auto value_of = [&](ElementType type) {
      std::array<std::byte, 8> bytes{};
      CHECK(control.read(type, std::span(bytes).first(element_size(type))));
      return bytes;
    };
    const auto as = [&](auto tag, ElementType type) {
      const auto bytes = value_of(type);
      std::memcpy(&tag, bytes.data(), sizeof tag);
      return tag;
    };
    CHECK(as(false, ElementType::kBool));
    CHECK(as(std::int32_t{}, ElementType::kI32) == 1);
    CHECK(as(std::int64_t{}, ElementType::kI64) == 1);
    CHECK(as(0.0F, ElementType::kF32) == 1.0F);
    CHECK(as(0.0, ElementType::kF64) == 1.0);
    static_cast<void>(step(recorder, 1));
  });
  CHECK(region.whole);
}

TEST_CASE("region: the last use of a tensor is the last operation that mentions it, whenever its name goes") {
  const Region region = survey([](Recorder& recorder, Control& control) {
    TensorHandle x = step(recorder, 1);
    control.for_loop(Known::kStart, 0, 5, 1, [&](Index) { x = step(recorder, 2, {&x}); });
    recorder.flush();
    x.release();
  });
  REQUIRE(region.ops.size() == 3);
  CHECK(region.ops[0].last_uses.empty());
  CHECK(region.ops[1].last_uses == std::vector{region.ops[0].op.outputs.front().id});
  CHECK(region.ops[2].last_uses.size() == 2);
}

TEST_CASE("region: the hash is of everything but names and lines") {
  struct Spelling {
    std::string name = "x";
    Index trips = 5;
    Index extent = 7;
    int site = 2;
    bool swapped = false;
  };
  const auto hash = [](const Spelling& s) {
    return survey([&](Recorder& recorder, Control& control) {
             const TensorHandle a = recorder.source(s.name, ElementType::kF64, {s.extent}, {}, {1, 4});
             const TensorHandle b = recorder.source(s.name, ElementType::kF64, {s.extent}, {}, {3, 4});
             control.for_loop(Known::kStart, 0, s.trips, 1, [&](Index) {
               static_cast<void>(s.swapped ? step(recorder, s.site, {&b, &a}, s.name)
                                           : step(recorder, s.site, {&a, &b}, s.name));
             });
           })
        .hash;
  };
  const std::uint64_t plain = hash({});
  CHECK(hash({.name = "another"}) == plain);
  CHECK(hash({.trips = 6}) != plain);
  CHECK(hash({.extent = 8}) != plain);
  CHECK(hash({.site = 4}) != plain);
  CHECK(hash({.swapped = true}) != plain);
}
