#include "runtime/record/survey.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <limits>
#include <utility>

#include "runtime/check.h"

namespace tdsl::record {

void SurveySink::segment(plan::Segment segment) {
  for (plan::Op& op : segment.ops) {
    const std::size_t number = region_.ops.size();
    for (const plan::TensorDesc& output : op.outputs) last_[output.id] = number;
    for (const plan::Access& access : op.reads) last_[access.tensor] = number;
    if (op.base >= 0) last_[op.base] = number;
    region_.ops.push_back({std::move(op), weight_, run_, {}});
  }
  for (const plan::TensorId id : segment.dropped) {
    const auto found = last_.find(id);
    if (found != last_.end()) region_.ops[found->second].last_uses.push_back(id);
  }
}

void SurveyControl::weighted(double weight, const std::function<void()>& pass) {
  recorder_.flush();
  const double outer = sink_.weight();
  sink_.set_weight(outer * weight);
  ++depth_;
  pass();
  recorder_.flush();
  --depth_;
  sink_.set_weight(outer);
}

namespace {

/// Trip count for any bounds: differences of these may exceed 64 bits.
Index trip_count(Index begin, Index end, Index step) {
  __extension__ using Wide = __int128;
  const Wide distance = step > 0 ? Wide{end} - begin : Wide{begin} - end;
  const Wide stride = step > 0 ? Wide{step} : -Wide{step};
  const Wide trips = distance <= 0 ? 0 : (distance - 1) / stride + 1;
  return static_cast<Index>(std::min<Wide>(trips, std::numeric_limits<Index>::max()));
}

}  // namespace

void SurveyControl::follow_scalars(const std::function<bool(Index)>& turn) {
  ++scalar_loops_;
  for (Index k = 0; turn(k); ++k) {}
  --scalar_loops_;
}

void SurveyControl::for_loop(Loop loop, Index begin, Index end, Index step, const Body& body) {
  const Index trips = trip_count(begin, end, step);
  if (!loop.records) {
    if (trips > scalar_limit_) throw SurveyOver{"a loop over scalars runs " + std::to_string(trips) + " times", true};
    return follow_scalars([&](Index k) {
      if (k < trips) body(begin + k * step);
      return k < trips;
    });
  }
  if (loop.range == Known::kData) sink_.guess();
  const Index expected = loop.range == Known::kData ? unknown_trips_ : trips;
  if (expected == 0) return;
  const Index middle = begin + trips / 2 * step;
  if (expected == 1) {
    weighted(1, [&] { body(begin); });
  } else if (once()) {
    weighted(static_cast<double>(expected), [&] { body(middle); });
  } else {
    weighted(1, [&] { body(begin); });
    weighted(static_cast<double>(expected - 1), [&] { body(middle); });
  }
}

void SurveyControl::while_loop(Loop loop, const Condition& condition, const Body& body) {
  if (!loop.records) {
    return follow_scalars([&](Index k) {
      if (!condition()) return false;
      if (k == scalar_limit_)
        throw SurveyOver{"a loop over scalars runs more than " + std::to_string(k) + " times", true};
      body(k);
      return true;
    });
  }
  sink_.guess();
  // A data-dependent condition is no help here; another one may end the loop.
  bool runs = true;
  const auto ask = [&] { runs = condition() || loop.range == Known::kData; };
  const auto iterate = [&](double weight, Index iteration) {
    weighted(weight, [&] {
      ask();
      if (runs) body(iteration);
    });
  };
  if (once()) {
    iterate(static_cast<double>(unknown_trips_), 0);
  } else {
    iterate(1, 0);
    if (runs && unknown_trips_ > 1) iterate(static_cast<double>(unknown_trips_ - 1), 1);
  }
  if (runs) weighted(1, ask);
}

bool Branches::leads_to_open(const BranchVisits& branch, bool way) const {
  return std::ranges::any_of(branch.inside[way], [this](int site) { return at_.at(site).open(); });
}

bool Branches::next_way(int site) const {
  const auto found = at_.find(site);
  if (found == at_.end()) return true;
  const BranchVisits& branch = found->second;
  if (!branch.open()) {
    const bool then_side = leads_to_open(branch, true);
    if (then_side != leads_to_open(branch, false)) return then_side;
  }
  return branch.visits[1] <= branch.visits[0];
}

bool Branches::any_open() const {
  return std::ranges::any_of(at_, [](const auto& branch) { return branch.second.open(); });
}

void SurveyControl::if_else(Known known, int site, bool condition, const Branch& then_branch,
                            const Branch& else_branch) {
  bool taken = condition;
  // A loop over scalars records nothing, and with branches fixed to one way it may never end.
  const bool guessed = known != Known::kStart && scalar_loops_ == 0;
  if (guessed) {
    const auto [way, first] = ways_.try_emplace(site);
    if (first) {
      way->second = branches_.next_way(site);
      ++branches_[site].visits[way->second];
    }
    taken = way->second;
    for (const auto& [outer, side] : around_) branches_[outer].inside[side].insert(site);
    around_.emplace_back(site, taken);
  }
  if (taken) {
    then_branch();
  } else if (else_branch) {
    else_branch();
  }
  if (guessed) around_.pop_back();
}

void SurveyControl::choose(int site, std::span<const Branch> forms) {
  recorder_.flush();
  plan::Region& region = sink_.region();
  const std::size_t first = region.ops.size();
  const std::size_t form = forms_.form(site, forms.size());
  forms[form]();
  recorder_.flush();
  double flops = 0;
  for (std::size_t k = first; k < region.ops.size(); ++k)
    flops += region.ops[k].weight * plan::flops_of(region.ops[k].op);
  region.choices.push_back({site, static_cast<int>(form), static_cast<int>(forms.size()), sink_.weight(), flops});
}

void SurveyControl::fence(int line) {
  throw SurveyOver{"sizes from line " + std::to_string(rt::line_in(line)) + " on come from data"};
}

namespace {

/// One run of the program. Returns why it ended early, if it did.
SurveyOver run_once(const Recording& program, plan::Region& region, int run, Branches& branches, const Forms& forms,
                    Index scalar_limit, Index unknown_trips) {
  SurveySink sink(region, run);
  // Tensors of different runs are different tensors.
  Recorder recorder(sink, plan::TensorId{run} << 32);
  SurveyControl control(recorder, sink, branches, forms, scalar_limit, unknown_trips);
  SurveyOver end;
  try {
    program(recorder, control);
  } catch (const SurveyOver& over) { end = over; } catch (const std::exception& error) {
    end.reason = error.what();
  }
  // Tensors with names at the end of a region stay alive: unwinding does not end lifetimes.
  if (!end.reason.empty()) recorder.forget_drops();
  recorder.flush();
  return end;
}

}  // namespace

bool SurveyControl::read(ElementType type, std::span<std::byte> value) {
  rt::visit_element_type(type, [&](auto tag) {
    const typename decltype(tag)::type one{1};
    std::memcpy(value.data(), &one, sizeof one);
  });
  return true;
}

plan::Region survey(const Recording& program, const Forms& forms, Index unknown_trips) {
  plan::Region region;
  Branches branches;
  int runs = 0;
  Index scalar_limit = kScalarIterations;
  do {
    const SurveyOver end = run_once(program, region, runs++, branches, forms, scalar_limit, unknown_trips);
    if (region.fence.empty()) region.fence = end.reason;
    if (end.long_loop) scalar_limit = kScalarIterationsAgain;
  } while (runs < kSurveyRuns && branches.any_open());
  if (region.fence.empty() && branches.any_open())
    region.fence = "after " + std::to_string(runs) + " runs some branches were taken one way only";
  for (plan::RegionOp& op : region.ops) {
    op.weight /= runs;
    std::sort(op.last_uses.begin(), op.last_uses.end());
  }
  for (plan::RegionChoice& choice : region.choices) choice.weight /= runs, choice.flops /= runs;
  region.whole = region.fence.empty();
  region.hash = hash_of(region);
  return region;
}

}  // namespace tdsl::record
