#include "runtime/plan/steps/tree.h"
#include "tests/runtime/engine/harness.h"

// Small boxes of a batch are packed into one message.

namespace tdsl::tests {

namespace {

constexpr int kAgain = 31;

/// Every rank reads a whole matrix that is already complete: statistics of the receiving site.
rt::SiteStatistics take_all(Index n, Index tile) {
  const auto found = values<double>();
  const RunResult result = run({1, {tile}}, [&](TestSession& session) {
    Tensor<double> x =
        matrix<double>(session, "X", n, n, [n](Index i, Index j) { return static_cast<double>(i * n + j); });
    plan::OpBuilder use(plan::OpClass::kMap, "U", 30, 30);
    use.out("i", n).out("j", n).read(x.id(), {plan::at(0), plan::at(1)});
    Tensor<bool> used = session.compute<bool>(use, [](const TaskArgs& a) { rt::fill<bool>(a.outputs[0], true); });
    session.inside().recorder.flush();
    session.inside().sink.engine().finish();
    session.collect(x, found, kAgain);
  });
  Index wrong = 0;
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j)
      wrong += (*found)[static_cast<std::size_t>(i * n + j)] == static_cast<double>(i * n + j) ? 0 : 1;
  }
  CHECK(wrong == 0);
  for (const rt::SiteStatistics& site : result.sites) {
    if (site.site == kAgain) return site;
  }
  return {};
}

}  // namespace

TEST_CASE("engine: small boxes share messages") {
  const Index ranks = rt::World(rt::read_environment()).size();
  const rt::SiteStatistics all = take_all(24, 1);
  const Index boxes = all.bytes_received / static_cast<Index>(sizeof(double));
  // One message per owner: its boxes were complete when the batch of requests arrived.
  CHECK(boxes >= (ranks - 1) * 24 * 24 / (2 * ranks));
  if (ranks <= plan::kLeastTree) {
    CHECK(all.messages == ranks - 1);
  } else {  // relays in a tree reply when they have the boxes
    CHECK(all.messages <= boxes);
  }
}

TEST_CASE("engine: boxes that are not small have messages of their own") {
  const Index tile = 40;  // 12,800 bytes
  const rt::SiteStatistics all = take_all(3 * tile, tile);
  CHECK(all.messages == all.bytes_received / (tile * tile * static_cast<Index>(sizeof(double))));
}

}  // namespace tdsl::tests
