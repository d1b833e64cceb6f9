// Programs of a toy language are interrupted at every boundary and resumed from a manifest.

#include <doctest/doctest.h>

#include <array>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "runtime/checkpoint/path_text.h"
#include "runtime/plan/op_builder.h"
#include "runtime/record/path.h"

using namespace tdsl;
using namespace tdsl::record;
using plan::OpClass;
using plan::TensorId;

namespace {

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  std::uint64_t h = (a ^ 0x9e3779b97f4a7c15) * 0xff51afd7ed558ccd ^ b;
  h = (h ^ h >> 29) * 0xc4ceb9fe1a85ec53;
  return h ^ h >> 32;
}

/// Executes operations: the value of a tensor is a number computed from those of its operands.
struct ToySink : Sink {
  std::map<TensorId, std::uint64_t> values;
  std::vector<std::uint64_t> shown;
  std::map<int, std::uint64_t> written;
  bool replays = false;
  std::map<TensorId, plan::Op> sources;  // deferred
  std::vector<plan::Op> stores;

  void run(const plan::Op& op) {
    std::uint64_t value = static_cast<std::uint64_t>(op.site);
    for (const plan::Access& access : op.reads) value = mixed(value, values.at(access.tensor));
    if (op.op_class == OpClass::kControl) value = values.at(op.reads.front().tensor);
    if (op.op_class == OpClass::kCollect) shown.push_back(value);
    if (op.op_class == OpClass::kStore) written[op.site] = value;
    for (const plan::TensorDesc& output : op.outputs) values[output.id] = value;
  }
  void segment(plan::Segment s) override {
    for (plan::Op& op : s.ops) {
      if (!replays)
        run(op);
      else if (op.op_class == OpClass::kSource)
        sources.emplace(op.outputs.front().id, op);
      else if (op.op_class == OpClass::kStore)
        stores.push_back(op);
    }
    for (const TensorId id : s.dropped) values.erase(id), sources.erase(id);
  }
};

struct Statement {
  enum Kind { kOp, kSource, kSwap, kRead, kShow, kStore, kLocal, kFor, kWhile, kIf } kind = kOp;
  int a = 0, b = 0, site = 0;
  std::vector<Statement> body, other;
};

/// Outputs are statements at the top level, not in loops and branches.
std::vector<Statement> random_block(std::mt19937& random, int depth, int& site, bool top = false) {
  std::vector<Statement> block;
  const int count = 2 + static_cast<int>(random() % 4);
  for (int k = 0; k < count; ++k) {
    Statement s;
    s.kind = static_cast<Statement::Kind>(random() % (depth > 0 ? 10 : 7));
    if (s.kind == Statement::kStore && !top) s.kind = Statement::kOp;
    s.a = static_cast<int>(random() % 3);
    s.b = static_cast<int>(random() % 3);
    s.site = ++site;
    if (s.kind >= Statement::kFor) s.body = random_block(random, depth - 1, site);
    if (s.kind == Statement::kIf) s.other = random_block(random, depth - 1, site);
    block.push_back(std::move(s));
  }
  return block;
}

/// A running program. Loops carry three tensors, which may coincide, and scalars of several types.
class Toy {
 public:
  Toy(Recorder& recorder, PathControl& control, ToySink& sink) : recorder_(recorder), control_(control), sink_(sink) {}

  void run(const std::vector<Statement>& program) {
    for (int k = 0; k < 3; ++k)
      x_[static_cast<std::size_t>(k)] = recorder_.source("x", ElementType::kF64, {}, {}, {1000 + k, 1});
    block(program);
    for (const TensorHandle& x : x_) show(x, 2000);
  }
  [[nodiscard]] std::vector<TensorHandle>& written() { return written_; }

 private:
  TensorHandle made(int site, std::initializer_list<const TensorHandle*> operands) {
    plan::OpBuilder op(OpClass::kMap, "op", site, 1);
    for (const TensorHandle* operand : operands) op.read(operand->id(), {});
    return recorder_.record(std::move(op.op()), ElementType::kF64);
  }
  void show(const TensorHandle& x, int site) {
    const TensorState* const state = &x.state();
    recorder_.collect("show", {&state, 1}, {site, 1});
  }
  std::uint64_t read(const TensorHandle& x, int site) {
    std::uint64_t value = 0;
    const auto bytes = std::as_writable_bytes(std::span(&value, 1));
    const TensorHandle copy = recorder_.control(x, {site, 1});
    if (control_.read(ElementType::kI64, bytes)) return value;
    value = sink_.values.at(copy.id());
    control_.answered(bytes);
    return value;
  }

  void block(const std::vector<Statement>& statements) {
    std::vector<TensorHandle> locals;
    for (const Statement& s : statements) statement(s, locals);
    for (const TensorHandle& local : locals) x_[0] = made(3000, {&x_[0], &local});
  }
  void statement(const Statement& s, std::vector<TensorHandle>& locals) {
    TensorHandle& a = x_[static_cast<std::size_t>(s.a)];
    TensorHandle& b = x_[static_cast<std::size_t>(s.b)];
    switch (s.kind) {
      case Statement::kOp: a = made(s.site, {&a, &b}); break;
      case Statement::kSource:
        a = recorder_.source("s", ElementType::kF64, {}, {}, {s.site + static_cast<int>(count_) * 10000, 1});
        break;
      case Statement::kSwap: flag_ ? std::swap(a, b) : void(a = b); break;
      case Statement::kRead: real_ = static_cast<double>(read(a, s.site) % 1000) / 7, flag_ = !flag_; break;
      case Statement::kShow: show(a, s.site); break;
      case Statement::kStore:
        recorder_.store("y", a, {s.site, 1});
        written_.push_back(a);
        break;
      case Statement::kLocal: locals.push_back(s.a == 0 ? a : made(s.site, {&a})); break;
      case Statement::kFor:
        control_.for_loop({Known::kData, {x_[0], x_[1], x_[2], real_, count_, small_, flag_}}, 5,
                          5 - 2 * (s.a + static_cast<Index>(real_) % 2), -2, [&](Index i) {
                            count_ += i;
                            ++small_;
                            block(s.body);
                          });
        break;
      case Statement::kWhile:
        control_.while_loop(
            {Known::kData, {x_[0], x_[1], x_[2], real_, count_, small_, flag_}},
            [&] { return (read(a, s.site) + static_cast<std::uint64_t>(count_)) % 3 != 0 && ++count_ % 5 != 0; },
            [&](Index) { block(s.body); });
        break;
      case Statement::kIf:
        control_.if_else(
            Known::kData, s.site, static_cast<int>(real_) % 2 == 0, [&] { block(s.body); }, [&] { block(s.other); });
        break;
    }
  }

  Recorder& recorder_;
  PathControl& control_;
  ToySink& sink_;
  std::array<TensorHandle, 3> x_;
  std::vector<TensorHandle> written_;
  double real_ = 1;
  Index count_ = 0;
  std::int32_t small_ = 0;
  bool flag_ = false;
};

/// The saved state of an interrupted run.
struct Interrupted {
  std::string path;
  std::map<TensorId, std::uint64_t> saved;
  std::vector<std::uint64_t> shown;
  int boundary = 0;
};

struct Stop {};

class ToyRun : public PathWatcher {
 public:
  /// Stops at boundary `stop`, counted over all runs; -1: never.
  ToyRun(const std::vector<Statement>& program, int stop, const Interrupted* from) : stop_(stop), from_(from) {
    if (from_ != nullptr) boundary_ = from_->boundary, sink_.shown = from_->shown;
    Recorder recorder(sink_);
    recorder_ = &recorder;
    PathControl control(recorder);
    control.follow(*this);
    if (from_ != nullptr) {
      sink_.replays = true;
      rt::checkpoint::TextReader text(from_->path);
      record::Path path;
      spell(text, path);
      control.replay(std::move(path));
      CHECK(text.at_end());
    }
    Toy toy(recorder, control, sink_);
    try {
      toy.run(program);
      recorder.flush();
    } catch (const Stop&) { stopped = true; }
  }

  void at_boundary(const Path& path) override {
    if (boundary_++ != stop_) return;
    recorder_->flush();
    rt::checkpoint::TextWriter text;
    spell(text, path);
    left = {text.text(), {}, sink_.shown, boundary_};
    for (const auto& [id, state] : recorder_->named()) {
      if (!state->source || !path.records(id)) left.saved[id] = sink_.values.at(id);
    }
    throw Stop{};
  }
  void replayed() override {
    recorder_->flush();
    sink_.replays = false;
    std::size_t restored = 0;
    for (const auto& [id, state] : recorder_->named()) {
      const auto saved = from_->saved.find(id);
      if (saved != from_->saved.end()) {
        sink_.values[id] = saved->second;
        ++restored;
      } else {
        REQUIRE(sink_.sources.contains(id));
        sink_.run(sink_.sources.at(id));
      }
    }
    CHECK(restored == from_->saved.size());
    for (const plan::Op& store : sink_.stores) sink_.run(store);
  }

  Interrupted left;
  bool stopped = false;
  [[nodiscard]] const std::vector<std::uint64_t>& shown() const { return sink_.shown; }
  [[nodiscard]] const std::map<int, std::uint64_t>& written() const { return sink_.written; }
  [[nodiscard]] int boundaries() const { return boundary_; }

 private:
  int stop_;
  const Interrupted* from_;
  int boundary_ = 0;
  ToySink sink_;
  Recorder* recorder_ = nullptr;
};

}  // namespace

TEST_CASE("checkpoint: programs that are interrupted at any boundary, and again, end as if they had not been") {
  int interruptions = 0;
  for (unsigned seed = 0; seed < 120; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    int site = 0;
    const std::vector<Statement> program = random_block(random, 3, site, true);
    const ToyRun whole(program, -1, nullptr);
    const int step = 1 + whole.boundaries() / 40;
    for (int boundary = 0; boundary < whole.boundaries(); boundary += step) {
      CAPTURE(boundary);
      const ToyRun first(program, boundary, nullptr);
      REQUIRE(first.stopped);
      const int again = boundary + 1 + static_cast<int>(random() % 3);
      const ToyRun second(program, again, &first.left);
      CHECK(second.stopped == (again < whole.boundaries()));
      const std::unique_ptr<ToyRun> third =
          second.stopped ? std::make_unique<ToyRun>(program, -1, &second.left) : nullptr;
      const ToyRun& last = third ? *third : second;
      REQUIRE(last.shown() == whole.shown());
      REQUIRE(last.written() == whole.written());
      REQUIRE(last.boundaries() == whole.boundaries());
      ++interruptions;
    }
  }
  CHECK(interruptions > 500);
}
