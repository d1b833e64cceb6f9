#include "runtime/fft/plan.h"

#include <list>
#include <mutex>

#include "runtime/fft/roots.h"
#include "runtime/fft/transform.h"

namespace tdsl::rt::fourier {

namespace {

/// Plans kept per type.
constexpr std::size_t kKeptPlans = 16;

template <class T>
void add_root(std::vector<T>& to, Index m, Index n) {
  const Root root = unit_root(m, n);
  to.push_back(static_cast<T>(root.re));
  to.push_back(static_cast<T>(root.im));
}

Index largest_prime_factor(Index n) {
  Index largest = 1;
  for (Index p = 2; p * p <= n; ++p) {
    for (; n % p == 0; n /= p) largest = p;
  }
  return n > 1 ? n : largest;
}

/// The least length of at least `least` elements with the factors 2, 3 and 5 alone.
Index convolution_length(Index least) {
  Index best = 1;
  while (best < least) best *= 2;
  for (Index fives = 1; fives < best; fives *= 5) {
    for (Index threes = fives; threes < best; threes *= 3) {
      Index length = threes;
      while (length < least) length *= 2;
      if (length < best) best = length;
    }
  }
  return best;
}

/// The divisor of n next to its square root, at most that.
Index middle_divisor(Index n) {
  Index best = 1;
  for (Index d = 1; d * d <= n; ++d) {
    if (n % d == 0) best = d;
  }
  return best;
}

/// A plan from the list, moved to its front, or a new one.
template <class P>
std::shared_ptr<const P> kept(Index n) {
  static std::mutex mutex;
  static std::list<std::shared_ptr<const P>> plans;
  {
    const std::lock_guard lock(mutex);
    for (auto plan = plans.begin(); plan != plans.end(); ++plan) {
      if ((*plan)->n != n) continue;
      plans.splice(plans.begin(), plans, plan);
      return plans.front();
    }
  }
  auto made = std::make_shared<const P>(n);  // unlocked: it may ask for other plans
  const std::lock_guard lock(mutex);
  plans.push_front(made);
  if (plans.size() > kKeptPlans) plans.pop_back();
  return made;
}

}  // namespace

template <class T>
Stages<T>::Stages(Index length) : n(length) {
  Index rest = n;
  Index stride = 1;
  const auto add = [&](Index radix) {
    Stage stage{radix, rest, stride, roots.size(), 0};
    for (Index p = 0; p < rest / radix; ++p) {
      for (Index j = 1; j < radix; ++j) add_root(roots, j * p, rest);
    }
    stage.roots = roots.size();
    for (Index k = 0; radix > 5 && radix != 8 && k < radix; ++k) add_root(roots, k, radix);
    stages.push_back(stage);
    rest /= radix;
    stride *= radix;
  };
  // As few passes as possible: 16 is 4 * 4.
  while (rest % 8 == 0 && (rest % 16 != 0 || rest % 32 == 0)) add(8);
  while (rest % 4 == 0) add(4);
  for (Index radix = 2; rest > 1; ++radix) {
    while (rest % radix == 0) add(radix);
  }
}

template <class T>
Matrix<T>::Matrix(Index n) : rows(middle_divisor(n)), columns(n / rows), of_columns(rows), of_rows(columns) {
  const auto count = static_cast<std::size_t>(rows);
  of_groups.reserve(2 * count * static_cast<std::size_t>(plan::ceil_div(columns, kGroup)));
  for (Index j = 0; j < columns; j += kGroup) {
    for (Index i = 0; i < rows; ++i) add_root(of_groups, i * j, n);
  }
  re.reserve(count * kGroup);
  im.reserve(count * kGroup);
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < kGroup; ++j) {
      const Root root = unit_root(i * j, n);
      re.push_back(static_cast<T>(root.re));
      im.push_back(static_cast<T>(root.im));
    }
  }
}

template <class T>
Plan<T>::Plan(Index length) : n(length) {
  if (largest_prime_factor(n) <= kLargestRadix) {
    if (n > kLongestInLanes) {
      matrix = std::make_unique<const Matrix<T>>(n);
    } else {
      stages = Stages<T>(n);
    }
    return;
  }
  convolution = plan_of<T>(convolution_length(2 * n - 1));
  const Index m = convolution->n;
  window.assign(2 * static_cast<std::size_t>(m), T{});
  for (Index k = 0; k < n; ++k) {
    const Root root = unit_root(k * k % (2 * n), 2 * n);
    chirp.push_back(static_cast<T>(root.re));
    chirp.push_back(static_cast<T>(root.im));
    for (const Index at : {k, (m - k) % m}) {
      window[2 * static_cast<std::size_t>(at)] = static_cast<T>(root.re / static_cast<double>(m));
      window[2 * static_cast<std::size_t>(at) + 1] = static_cast<T>(-root.im / static_cast<double>(m));
    }
  }
  std::vector<T> line = window;
  transform_line<T>(*convolution, line.data(), window.data());
}

template <class T>
RealPlan<T>::RealPlan(Index length) : n(length), inner(plan_of<T>(n % 2 == 0 ? n / 2 : n)) {
  for (Index k = 0; n % 2 == 0 && k <= n / 4; ++k) add_root(roots, k, n);
}

template <class T>
std::shared_ptr<const Plan<T>> plan_of(Index n) {
  return kept<Plan<T>>(n);
}
template <class T>
std::shared_ptr<const RealPlan<T>> real_plan_of(Index n) {
  return kept<RealPlan<T>>(n);
}

template struct Stages<float>;
template struct Stages<double>;
template struct Matrix<float>;
template struct Matrix<double>;
template struct Plan<float>;
template struct Plan<double>;
template struct RealPlan<float>;
template struct RealPlan<double>;
template std::shared_ptr<const Plan<float>> plan_of(Index);
template std::shared_ptr<const Plan<double>> plan_of(Index);
template std::shared_ptr<const RealPlan<float>> real_plan_of(Index);
template std::shared_ptr<const RealPlan<double>> real_plan_of(Index);

}  // namespace tdsl::rt::fourier
