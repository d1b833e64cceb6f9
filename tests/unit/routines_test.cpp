#include "runtime/routines/algorithms/routine.h"

#include <doctest/doctest.h>

#include <set>

#include "codegen/lower/routine.h"
#include "codegen/operations/library_routine.h"
#include "runtime/plan/factorise.h"
#include "runtime/record/survey.h"

using namespace tdsl;
using namespace tdsl::rt;
using namespace tdsl::rt::routines;
using plan::OpClass;

namespace {

/// Stores the recorded operations; routines run in a single variant.
class RecordingCaller : public Caller, public record::Sink {
 public:
  explicit RecordingCaller(plan::Factorise form) : form_(form) {}

  TensorHandle record(plan::OpBuilder& op, ElementType type, const KernelCall& kernel) override {
    kernels.insert(kernel.name);
    return recorder.record(std::move(op.op()), type);
  }
  record::Control& control() override { return control_; }
  std::optional<double> read(const TensorHandle& scalar, record::Place place) override {
    static_cast<void>(recorder.control(scalar, place));
    return near ? 0.0 : 1.0;
  }
  bool distributes(Index bytes) const override { return plan::distributes(form_, 4, bytes); }
  bool indirect_qr(Index rows, Index columns, Index blocks) const override {
    return plan::indirect_qr(form_, 4, rows, columns, blocks);
  }
  void gathers(std::string_view, std::string_view, Index, int) override { ++gathered; }
  void segment(plan::Segment segment) override { segments.push_back(std::move(segment)); }

  [[nodiscard]] TensorHandle source(std::vector<Index> shape) {
    return recorder.source("a", ElementType::kF64, std::move(shape), {}, {1, 1});
  }
  [[nodiscard]] std::set<int> sites() const {
    std::set<int> found;
    for (const plan::Segment& s : segments) {
      for (const plan::Op& op : s.ops) found.insert(op.site);
    }
    return found;
  }

  std::vector<plan::Segment> segments;
  record::Recorder recorder{*this};
  std::set<KernelName> kernels;
  int gathered = 0;
  bool near = true;

 private:
  plan::Factorise form_;
  record::RunControl control_{recorder};
};

struct Shapes {
  Routine routine;
  std::vector<std::vector<Index>> operands;
  std::size_t results = 1;
  Index count = 3;
};

const std::vector<Shapes>& all_routines() {
  static const std::vector<Shapes> all = {
      {Routine::kCumsum, {{100}}},         {Routine::kSort, {{100}}},          {Routine::kArgsort, {{100}}},
      {Routine::kTopk, {{100}}, 2},        {Routine::kFilter, {{100}, {100}}}, {Routine::kFft, {{4096}}},
      {Routine::kIfft, {{4096}}},          {Routine::kRfft, {{8192}}},         {Routine::kIrfft, {{4097}}, 1, 8192},
      {Routine::kSolve, {{20, 20}, {20}}}, {Routine::kCholesky, {{20, 20}}},   {Routine::kLu, {{20, 12}}, 3},
      {Routine::kQr, {{20, 4}}, 2},        {Routine::kSvd, {{20, 12}}, 3},     {Routine::kEigh, {{20, 20}}, 2},
      {Routine::kEig, {{20, 20}}, 2},      {Routine::kInv, {{20, 20}}},        {Routine::kDet, {{20, 20}}},
      {Routine::kLstsq, {{20, 12}, {20}}}};
  return all;
}

Call call_of(RecordingCaller& caller, const Shapes& shapes, int first) {
  Call call{shapes.routine, {}, {}, Site(first, 7), 0, shapes.count};
  for (const std::vector<Index>& shape : shapes.operands) call.operands.push_back(caller.source(shape));
  call.results.resize(shapes.results);
  return call;
}

}  // namespace

TEST_CASE("routines: every call records at its own places, all of which are used by its forms") {
  for (const Shapes& shapes : all_routines()) {
    std::set<int> places;
    for (const plan::Factorise form :
         {plan::Factorise::kLocal, plan::Factorise::kDistributed, plan::Factorise::kIndirect}) {
      for (const bool near : {true, false}) {
        RecordingCaller caller(form);
        caller.near = near;
        Call call = call_of(caller, shapes, 100);
        record_routine(caller, call);
        for (const Result& r : call.results) CHECK(r.tensor.state().desc.id >= 0);
        CHECK(call.operands.empty());
        caller.recorder.flush();
        places.merge(caller.sites());
      }
    }
    places.erase(1);  // the operands
    const std::string_view name = name_of(shapes.routine);
    CHECK_MESSAGE(static_cast<int>(places.size()) == places_of(shapes.routine), name);
    CHECK_MESSAGE(*places.begin() == 100, name);
    CHECK_MESSAGE(*places.rbegin() == 99 + places_of(shapes.routine), name);
  }
}

TEST_CASE("routines: results that are not wanted are not recorded") {
  const auto operations = [](std::vector<bool> wanted) {
    RecordingCaller caller(plan::Factorise::kDistributed);
    Call call = call_of(caller, {Routine::kLu, {{20, 12}}, 3}, 10);
    for (std::size_t k = 0; k < wanted.size(); ++k) call.results[k].wanted = wanted[k];
    record_routine(caller, call);
    caller.recorder.flush();
    std::set<std::string> names;
    for (const plan::Segment& s : caller.segments) {
      for (const plan::Op& op : s.ops) names.insert(op.name);
    }
    return names;
  };
  CHECK(operations({true, true, true}).contains("L"));
  CHECK_FALSE(operations({true, false, true}).contains("L"));
  CHECK_FALSE(operations({true, false, false}).contains("rows_in_order"));
}

TEST_CASE("routines: the compiler and the runtime name them alike") {
  for (const Shapes& shapes : all_routines()) {
    const auto kind = static_cast<ir::Routine::Kind>(shapes.routine);
    CHECK(codegen::library_routine(kind) == shapes.routine);
    CHECK(ir::name_of(kind) == name_of(shapes.routine));
  }
}

TEST_CASE("routines: a batch is shared out with whole matrices, and one more operation for each of several results") {
  for (const Shapes& shapes : all_routines()) {
    if (is_line(shapes.routine)) continue;
    Shapes batch = shapes;
    for (std::vector<Index>& shape : batch.operands) shape.insert(shape.begin(), {7, 5});
    RecordingCaller caller(plan::Factorise::kDistributed);
    Call call = call_of(caller, batch, 10);
    record_routine(caller, call);
    caller.recorder.flush();
    std::size_t count = 0;
    for (const plan::Segment& s : caller.segments) {
      for (const plan::Op& op : s.ops) {
        if (op.site < 10) continue;  // the operands
        if (count++ > 0) continue;
        CHECK_FALSE(op.is_uncut(0));
        CHECK_FALSE(op.is_uncut(1));
        for (std::size_t d = 2; d < op.shape.size(); ++d) CHECK(op.is_uncut(d));
      }
    }
    CHECK(count == (shapes.results == 1 ? 1 : 1 + shapes.results));
    CHECK(caller.gathered == 0);
    for (const Result& r : call.results) CHECK(r.tensor.extent(1) == 5);
  }
}
