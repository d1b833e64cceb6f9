#include <doctest/doctest.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "runtime/base/number_format.h"

using namespace tdsl::rt;

namespace {

template <class T>
std::string summary(const std::vector<std::int64_t>& shape, const std::vector<T>& elements) {
  const std::string text = format_summary<T>("x", shape, elements);
  return text.substr(text.find('\n') + 1);
}

/// The elements that a summary shows of an array whose element at flat index k is k.
template <class T>
std::vector<T> counting(const std::vector<std::int64_t>& shape) {
  std::vector<T> elements{0};
  const auto indices = summary_indices(shape);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    std::vector<T> longer;
    for (const T base : elements) {
      for (const std::int64_t i : indices[d]) { longer.push_back(base * static_cast<T>(shape[d]) + static_cast<T>(i)); }
    }
    elements = std::move(longer);
  }
  return elements;
}

}  // namespace

TEST_CASE("scalars are written as Python writes them") {
  CHECK(format_scalar(0.1) == "0.1");
  CHECK(format_scalar(1.0) == "1.0");
  CHECK(format_scalar(-0.0) == "-0.0");
  CHECK(format_scalar(1e-5) == "1e-05");
  CHECK(format_scalar(1.5e-5) == "1.5e-05");
  CHECK(format_scalar(0.0001) == "0.0001");
  CHECK(format_scalar(1e15) == "1000000000000000.0");
  CHECK(format_scalar(1e16) == "1e+16");
  CHECK(format_scalar(123456.789) == "123456.789");
  CHECK(format_scalar(1.7976931348623157e308) == "1.7976931348623157e+308");
  CHECK(format_scalar(5e-324) == "5e-324");
  CHECK(format_scalar(0.1F) == "0.1");
  CHECK(format_scalar(1.0F / 3) == "0.33333334");
  CHECK(format_scalar(std::numeric_limits<double>::infinity()) == "inf");
  CHECK(format_scalar(-std::numeric_limits<float>::infinity()) == "-inf");
  CHECK(format_scalar(std::numeric_limits<double>::quiet_NaN()) == "nan");
  CHECK(format_scalar(std::numeric_limits<std::int64_t>::min()) == "-9223372036854775808");
  CHECK(format_scalar(std::int32_t{-7}) == "-7");
  CHECK(format_scalar(true) == "true");
  CHECK(format_scalar(false) == "false");
}

TEST_CASE("every float reads back") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t bits = random();
    double x = 0;
    std::memcpy(&x, &bits, sizeof x);
    if (std::isnan(x)) { continue; }
    const std::string text = format_scalar(x);
    double back = 0;
    std::from_chars(text.data(), text.data() + text.size(), back);
    REQUIRE(back == x);
  }
}

TEST_CASE("types and sizes") {
  CHECK(format_type(ElementType::kF64, std::vector<std::int64_t>{4, 5}) == "f64[4, 5]");
  CHECK(format_type(ElementType::kBool, std::vector<std::int64_t>{}) == "bool");
  CHECK(format_bytes(1) == "1 byte");
  CHECK(format_bytes(1000) == "1000 bytes");
  CHECK(format_bytes(1536) == "1.5 KiB");
  CHECK(format_bytes(std::int64_t{3} << 30) == "3.0 GiB");
}

TEST_CASE("small arrays are printed as NumPy prints them") {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(summary<double>({3}, {1, 2.5, -3}) == "[ 1.   2.5 -3. ]");
  CHECK(summary<double>({3}, {1e-5, 1, 1e10}) == "[1.e-05 1.e+00 1.e+10]");
  CHECK(summary<double>({3}, {nan, 1.5, -inf}) == "[ nan  1.5 -inf]");
  CHECK(summary<double>({2}, {nan, inf}) == "[nan inf]");
  CHECK(summary<double>({2}, {0.0, -0.0}) == "[ 0. -0.]");
  CHECK(summary<double>({2}, {1e100, 1e-5}) == "[1.e+100 1.e-005]");
  CHECK(summary<float>({2}, {0.1F, 1.0F / 3}) == "[0.1        0.33333334]");
  CHECK(summary<float>({2}, {7.186461e-07F, 2.3817872e-06F}) == "[7.1864611e-07 2.3817872e-06]");
  CHECK(summary<std::int32_t>({2, 2}, {1, -20, 3, 4}) == "[[  1 -20]\n [  3   4]]");
  CHECK(summary<std::int64_t>({1, 1, 2}, {1, 2}) == "[[[1 2]]]");
  CHECK(summary<double>({0, 3}, {}) == "[]");
  CHECK(summary<double>({30}, counting<double>({30})) ==
        "[ 0.  1.  2.  3.  4.  5.  6.  7.  8.  9. 10. 11. 12. 13. 14. 15. 16. 17.\n"
        " 18. 19. 20. 21. 22. 23. 24. 25. 26. 27. 28. 29.]");
  const std::vector<std::int64_t> shape{2};
  const std::array<bool, 2> bools{true, false};
  CHECK(format_summary<bool>("b", shape, bools) == "b: bool[2]\n[ true false]");
  CHECK(format_summary<double>("s", {}, std::vector<double>{0.5}) == "s: f64 = 0.5");
}

TEST_CASE("large arrays are summarised as NumPy does") {
  CHECK(summary<double>({40, 50}, counting<double>({40, 50})) ==
        "[[0.000e+00 1.000e+00 2.000e+00 ... 4.700e+01 4.800e+01 4.900e+01]\n"
        " [5.000e+01 5.100e+01 5.200e+01 ... 9.700e+01 9.800e+01 9.900e+01]\n"
        " [1.000e+02 1.010e+02 1.020e+02 ... 1.470e+02 1.480e+02 1.490e+02]\n"
        " ...\n"
        " [1.850e+03 1.851e+03 1.852e+03 ... 1.897e+03 1.898e+03 1.899e+03]\n"
        " [1.900e+03 1.901e+03 1.902e+03 ... 1.947e+03 1.948e+03 1.949e+03]\n"
        " [1.950e+03 1.951e+03 1.952e+03 ... 1.997e+03 1.998e+03 1.999e+03]]");
  CHECK(summary<std::int64_t>({2, 3, 300}, counting<std::int64_t>({2, 3, 300})) ==
        "[[[   0    1    2 ...  297  298  299]\n  [ 300  301  302 ...  597  598  599]\n"
        "  [ 600  601  602 ...  897  898  899]]\n\n [[ 900  901  902 ... 1197 1198 1199]\n"
        "  [1200 1201 1202 ... 1497 1498 1499]\n  [1500 1501 1502 ... 1797 1798 1799]]]");
  CHECK(summary_indices(std::vector<std::int64_t>{1000}).front().size() == 1000);
  CHECK(summary_indices(std::vector<std::int64_t>{1001}).front() == std::vector<std::int64_t>{0, 1, 2, 998, 999, 1000});
  CHECK(summary_indices(std::vector<std::int64_t>{1'000'000'000'000, 1'000'000'000'000, 6}).back().size() == 6);
}
