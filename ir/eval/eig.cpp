#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "ir/eval/elements.h"
#include "ir/eval/factors.h"

namespace tdsl::ir::eval {

namespace {

/// The eigenvalues in the language's order (rt::routines::sort_spectrum): by real part, and by imaginary part among
/// those whose real parts follow each other closely. `groups`: the number of the group of each place.
struct OrderOfValues {
  std::vector<std::int64_t> places;
  std::vector<std::int64_t> groups;
  bool certain = true;
};
OrderOfValues order_of_values(const Spectrum& f, const std::vector<double>& radii, double epsilon) {
  OrderOfValues order;
  order.places.resize(f.values.size());
  std::iota(order.places.begin(), order.places.end(), std::int64_t{0});
  const auto value = [&](std::int64_t k) { return f.values[static_cast<std::size_t>(k)]; };
  const auto radius = [&](std::int64_t k) { return radii[static_cast<std::size_t>(k)]; };
  std::ranges::stable_sort(order.places, {}, [&](std::int64_t k) { return value(k).real(); });
  double largest = 0;
  for (const Number& w : f.values) largest = std::max(largest, std::abs(w));
  const double close = std::sqrt(epsilon) * largest;
  for (std::size_t first = 0; first < order.places.size();) {
    std::size_t end = first + 1;
    for (; end < order.places.size(); ++end) {
      const std::int64_t a = order.places[end - 1], b = order.places[end];
      const double apart = value(b).real() - value(a).real();
      if (!(std::fabs(apart - close) > radius(a) + radius(b)) && close > 0) order.certain = false;
      if (!(apart < close || apart == 0)) break;
    }
    const auto begin = order.places.begin();
    std::stable_sort(begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(end),
                     [&](std::int64_t a, std::int64_t b) { return value(a).imag() < value(b).imag(); });
    order.groups.resize(end, static_cast<std::int64_t>(first));
    first = end;
  }
  return order;
}

}  // namespace

void evaluate_eig(const MatrixPlace& place, const Array& operand, const std::vector<std::shared_ptr<Array>>& results) {
  const Operand<Number> a = operand_of<Number>(operand);
  if (!a.finite) place.stop("the matrix has elements that are not finite");
  const Spectrum f = spectrum_of(a.matrix);
  if (!f.converged) place.stop("no convergence");
  const double e = a.backward();
  const std::size_t n = f.values.size();
  std::vector<double> radii;
  for (const double condition : f.conditions) radii.push_back(e * condition);
  const OrderOfValues order = order_of_values(f, radii, a.epsilon);
  for (std::size_t number = 0; number < n; ++number) {
    const std::int64_t j = order.places[number];
    const auto at = static_cast<std::size_t>(j);
    double bound = radii[at];
    double turned = 0;
    for (std::size_t k = 0; k < n; ++k) {
      if (k == at) continue;
      const double gap = std::abs(f.values[k] - f.values[at]);
      turned +=
          radii[k] > 0 ? (gap > 4 * (radii[k] + radii[at]) ? radii[k] / (gap - 2 * (radii[k] + radii[at])) : kOpen) : 0;
    }
    // Values whose order is open may change places.
    for (std::size_t other = 0; other < n; ++other) {
      const auto k = static_cast<std::size_t>(order.places[other]);
      const Number apart = f.values[k] - f.values[at];
      const bool open = order.groups[other] == order.groups[number] ? std::fabs(apart.imag()) <= radii[k] + radii[at]
                                                                    : std::fabs(apart.real()) <= radii[k] + radii[at];
      if (k == at || !open) continue;
      bound = std::max(bound, std::abs(apart) + radii[k]);
      turned = kOpen;
    }
    if (!order.certain) bound = turned = kOpen;
    put(*results[0], number, f.values[at], bound + a.epsilon * std::abs(f.values[at]));
    const double spread = turned < 0.25 ? 4 * turned : kOpen;
    const Phase<Number> phase = phase_of_column(f.vectors, j, a.epsilon, spread);
    for (std::int64_t i = 0; i < f.vectors.rows; ++i)
      put(*results[1], static_cast<std::size_t>(i) * n + number, times(phase.factor, f.vectors(i, j)),
          spread + phase.error);
  }
}

}  // namespace tdsl::ir::eval
