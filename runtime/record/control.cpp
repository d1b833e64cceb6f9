#include "runtime/record/control.h"

#include <algorithm>
#include <cstdint>

#include "runtime/exact.h"

namespace tdsl::record {

void RunControl::iterate(Loop loop, const std::function<void()>& body) {
  if (depth_ == 0 && loop.records) ++iteration_;
  ++depth_;
  body();
  --depth_;
  recorder_.flush();
}

void RunControl::expect_iterations(const Loop& loop, Index left) {
  if (depth_ == 0 && loop.records) last_iteration_ = left > 0 ? iteration_ + left : 0;
}

Index RunControl::iterations_left(Index i, Index end, Index step) {
  const std::uint64_t from = static_cast<std::uint64_t>(step > 0 ? i : end),
                      to = static_cast<std::uint64_t>(step > 0 ? end : i);
  const std::uint64_t stride = step > 0 ? static_cast<std::uint64_t>(step) : 0 - static_cast<std::uint64_t>(step);
  return static_cast<Index>((to - from - 1) / stride + 1);
}

void RunControl::for_loop(Loop loop, Index begin, Index end, Index step, const Body& body) {
  for (Index i = begin; step > 0 ? i < end : i > end; i = rt::advanced(i, step)) {
    expect_iterations(loop, iterations_left(i, end, step));
    iterate(loop, [&] { body(i); });
  }
}

void RunControl::while_loop(Loop loop, const Condition& condition, const Body& body) {
  for (Index iteration = 0; condition(); ++iteration) {
    expect_iterations(loop, 0);
    iterate(loop, [&] { body(iteration); });
  }
}

void RunControl::if_else(Known, int, bool condition, const Branch& then_branch, const Branch& else_branch) {
  if (condition) {
    then_branch();
  } else if (else_branch) {
    else_branch();
  }
}

std::size_t Forms::form(int site, std::size_t forms) const {
  const auto decided = at.find(site);
  return std::min(static_cast<std::size_t>(decided == at.end() ? otherwise : decided->second), forms - 1);
}

void RunControl::choose(int site, std::span<const Branch> forms) { forms[forms_.form(site, forms.size())](); }

bool RunControl::read(ElementType, std::span<std::byte>) { return false; }

}  // namespace tdsl::record
