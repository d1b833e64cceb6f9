#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/base/base64.h"
#include "runtime/check.h"
#include "runtime/message_id.h"
#include "runtime/picture/picture.h"

// Pictures do not depend on the cuts of an array or on the order of its blocks.

namespace tdsl::tests {

namespace {

using rt::Colour;
using rt::ElementType;
using rt::PictureSlice;
using rt::PictureSource;
using rt::Pixels;
using Extents = std::vector<std::int64_t>;

std::int64_t elements_in(const Extents& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

template <class T>
struct Drawn {
  using Stored = std::conditional_t<std::is_same_v<T, bool>, unsigned char, T>;  // vector<bool> has no elements
  Extents shape;
  std::vector<Stored> elements;

  [[nodiscard]] Extents strides() const {
    Extents all(shape.size(), 1);
    for (std::size_t d = shape.size(); d-- > 1;) all[d - 1] = all[d] * shape[d];
    return all;
  }
  void add_box(Pixels& pixels, const Extents& lo, const Extents& hi) const {
    const Extents steps = strides();
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < lo.size(); ++d) offset += lo[d] * steps[d];
    pixels.add_box(lo, hi, reinterpret_cast<const T*>(elements.data()) + offset, steps);
  }
};

template <class T>
Drawn<T> random_picture(const Extents& shape, std::mt19937& random) {
  Drawn<T> array{shape, {}};
  for (std::int64_t k = elements_in(shape); k > 0; --k) {
    const double x = std::ldexp(static_cast<double>(random() % 2001) - 1000, static_cast<int>(random() % 60) - 30);
    if constexpr (std::is_floating_point_v<T>) {
      const auto kind = random() % 500;
      array.elements.push_back(kind == 0   ? std::numeric_limits<T>::quiet_NaN()
                               : kind == 1 ? -std::numeric_limits<T>::infinity()
                               : kind < 20 ? T(-0.0)
                                           : static_cast<T>(x));
    } else if constexpr (std::is_same_v<T, bool>) {
      array.elements.push_back(random() % 20 == 0);
    } else {
      array.elements.push_back(static_cast<T>(static_cast<std::int64_t>(random() % 41) - 20));
    }
  }
  return array;
}

/// Boxes that cover the shape, cut at random, in random order.
std::vector<std::pair<Extents, Extents>> random_boxes(const Extents& shape, std::mt19937& random) {
  std::vector<std::pair<Extents, Extents>> boxes{{Extents(shape.size(), 0), shape}};
  for (int cuts = 0; cuts < 40; ++cuts) {
    auto& [lo, hi] = boxes[random() % boxes.size()];
    const std::size_t d = random() % shape.size();
    if (hi[d] - lo[d] < 2) continue;
    const std::int64_t at = lo[d] + 1 + static_cast<std::int64_t>(random() % static_cast<unsigned>(hi[d] - lo[d] - 1));
    std::pair<Extents, Extents> rest{lo, hi};
    rest.first[d] = at;
    hi[d] = at;
    boxes.push_back(std::move(rest));
  }
  std::ranges::shuffle(boxes, random);
  return boxes;
}

PictureSource drawn_source(ElementType type, const Extents& shape, PictureSlice slice = {}) {
  if (slice.at.empty()) slice.at.resize(shape.size());
  return {"u", type, shape, std::move(slice), false};
}

/// Blocks on ranks, in any order, give the pixels of the whole array.
template <class T>
void check_cuts(const Extents& shape, const PictureSlice& slice, std::int64_t edge, unsigned seed) {
  std::mt19937 random(seed);
  const Drawn<T> array = random_picture<T>(shape, random);
  const PictureSource source = drawn_source(rt::element_type_of<T>, shape, slice);
  Pixels whole(source, edge);
  array.add_box(whole, Extents(shape.size(), 0), shape);
  for (const int ranks : {1, 3, 7}) {
    std::vector<std::unique_ptr<Pixels>> parts;
    for (int r = 0; r < ranks; ++r) parts.push_back(std::make_unique<Pixels>(source, edge));
    for (const auto& [lo, hi] : random_boxes(shape, random))
      array.add_box(*parts[random() % static_cast<unsigned>(ranks)], lo, hi);
    std::ranges::shuffle(parts, random);
    for (int r = 1; r < ranks; ++r) {
      const std::vector<std::byte> bytes = parts[static_cast<std::size_t>(r)]->bytes();
      std::span<const std::byte> rest = bytes;
      parts[0]->add_bytes(rest);
      CHECK(rest.empty());
    }
    CHECK(parts[0]->bytes() == whole.bytes());
    CHECK(rt::png_of(*parts[0]) == rt::png_of(whole));
    CHECK(rt::svg_of(*parts[0]) == rt::svg_of(whole));
  }
}

std::string error_of_request(const std::string& text) {
  try {
    const rt::PictureRequest request = rt::parse_picture(text, "--picture");
    static_cast<void>(rt::slice_of(request.slice, 3, request.name, "--picture"));
  } catch (const rt::RunError& error) { return rt::without_id(error.what()); }
  return "";
}

template <class T>
void fill_pixels(Pixels& pixels, std::initializer_list<T> elements) {
  Drawn<T>{pixels.source().shape, {elements.begin(), elements.end()}}.add_box(
      pixels, Extents(pixels.source().shape.size(), 0), pixels.source().shape);
}

}  // namespace

TEST_CASE("picture: cuts and order have no effect") {
  const PictureSlice all2{{std::nullopt, std::nullopt}}, column{{std::nullopt, 4}};
  const PictureSlice face{{std::nullopt, 2, std::nullopt}}, line{{1, std::nullopt, 3}};
  unsigned seed = 1;
  for (const std::int64_t edge : {std::int64_t{8}, std::int64_t{64}}) {
    check_cuts<double>({1}, {{std::nullopt}}, edge, seed++);
    check_cuts<double>({1000}, {{std::nullopt}}, edge, seed++);
    check_cuts<float>({129}, {{std::nullopt}}, edge, seed++);
    check_cuts<std::int64_t>({300}, {{std::nullopt}}, edge, seed++);
    check_cuts<double>({40, 70}, all2, edge, seed++);
    check_cuts<float>({70, 3}, all2, edge, seed++);
    check_cuts<std::int32_t>({65, 65}, all2, edge, seed++);
    check_cuts<bool>({33, 20}, all2, edge, seed++);
    check_cuts<double>({90, 9}, column, edge, seed++);
    check_cuts<double>({20, 5, 30}, face, edge, seed++);
    check_cuts<std::int64_t>({4, 50, 6}, line, edge, seed++);
  }
}

TEST_CASE("picture: sums without an order") {
  std::mt19937 random(3);
  for (int turn = 0; turn < 200; ++turn) {
    std::vector<double> values;
    double exact = 0, largest = 0;
    for (int k = 0; k < 50; ++k) {
      const double x =
          std::ldexp(static_cast<double>(random() % 2000) - 1000, static_cast<int>(random() % 20) * turn / 10);
      values.push_back(x);
      exact += x;
      largest = std::max(largest, std::fabs(x));
    }
    rt::OrderlessSum all, one, other;
    for (const double x : values) all.add(x);
    std::ranges::shuffle(values, random);
    for (std::size_t k = 0; k < values.size(); ++k) (k % 3 == 0 ? one : other).add(values[k]);
    one.add(other);
    CHECK(one.mean() == all.mean());
    CHECK(std::fabs(all.mean() - exact / 50) <= std::ldexp(largest, -29));
  }
  rt::OrderlessSum ends;
  ends.add(std::numeric_limits<double>::max());
  ends.add(-std::numeric_limits<double>::max());
  ends.add(5e-324);
  CHECK(ends.mean() == 0);
}

TEST_CASE("picture: pixels and captions") {
  Pixels matrix(drawn_source(ElementType::kF64, {2, 2}));
  fill_pixels<double>(matrix, {0, 1, 2, std::numeric_limits<double>::quiet_NaN()});
  const rt::Image image = rt::image_of(matrix, {}, 1);
  CHECK(image.pixels == std::vector<Colour>{{68, 1, 84}, {33, 145, 140}, {253, 231, 37}, rt::kBadColour});
  CHECK(rt::caption_of(matrix) == "u: f64[2, 2]; 0.0 to 2.0; 1 nan");

  Pixels both(drawn_source(ElementType::kF64, {1, 3}));
  fill_pixels<double>(both, {-4, 0, 2});
  CHECK(rt::image_of(both, {}, 1).pixels[1] == Colour{247, 247, 247});
  Pixels coarse(drawn_source(ElementType::kF32, {4, 4}), 2);
  fill_pixels<float>(coarse, {1, -3, 0, 0, 2, 2, 0, 0, 5, 5, -7, 7, 5, 5, 1, 1});
  CHECK(coarse.value(0, 0) == -3);
  CHECK(coarse.value(0, 1) == 0);
  CHECK(coarse.value(1, 1) == 7);
  CHECK(rt::caption_of(coarse) ==
        "u: f32[4, 4]; -7.0 to 7.0; a pixel shows the largest magnitude of up to 2 x 2 elements");

  Pixels flags(drawn_source(ElementType::kBool, {3}));
  fill_pixels<bool>(flags, {true, false, true});
  CHECK(rt::caption_of(flags) == "u: bool[3]; 2 of 3 true");
  Pixels empty(drawn_source(ElementType::kF64, {0, 5}));
  CHECK(rt::caption_of(empty) == "u: f64[0, 5]; empty");
  CHECK(rt::png_of(empty).starts_with("\x89PNG"));

  PictureSource sparse = drawn_source(ElementType::kF64, {1000000, 1000000});
  sparse.stored = true;
  Pixels stored(sparse);
  stored.add_stored(Extents{999999, 0}, 2.5);
  stored.add_stored(Extents{999998, 1}, -1);
  stored.add_stored(Extents{5, 5}, 0);
  CHECK(stored.count(511, 0) == 2);
  CHECK(rt::caption_of(stored) ==
        "u: f64[1000000, 1000000]; 2 of 1000000000000 elements stored; -1.0 to 2.5; "
        "colour: number of stored elements in a pixel of 1954 x 1954, logarithmic");
}

TEST_CASE("picture: requests") {
  const rt::PictureRequest request = rt::parse_picture("u[:, -1, 3]=a=b.svg", "--picture");
  CHECK(request.name == "u");
  CHECK(request.file == "a=b.svg");
  CHECK(request.slice->at == std::vector<std::optional<std::int64_t>>{std::nullopt, -1, 3});
  CHECK(rt::within(*request.slice, Extents{2, 4, 5}, "--picture").text() == "[:, 3, 3]");
  CHECK(error_of_request("u[:, :, 0]=u.png") == "");
  CHECK(error_of_request("u=u.png") == "--picture: `u` has 3 dimensions; show two of them, for example u[:, :, 0]");
  CHECK(error_of_request("u[:, 1]") == "--picture: `u` has 3 dimensions, the slice has 2");
  CHECK(error_of_request("u[1, 2, 3]") ==
        "--picture: a picture shows one or two dimensions, the slice [1, 2, 3] of `u` shows 0");
  CHECK(error_of_request("u[:, x, 1]") == "--picture: `[:, x, 1]` is not a slice such as [:, :, 3]");
  CHECK(error_of_request("u[:, :, 1") == "--picture: `u[:, :, 1` lacks a `]`");
  CHECK(error_of_request("=u.png") == "--picture: `=u.png` has not the form NAME or NAME=FILE");
  CHECK(error_of_request("u[:, :, 1]=u.jpg") == "--picture: `u.jpg` is not a .png or .svg file");
  CHECK_THROWS_AS(static_cast<void>(rt::within(*request.slice, Extents{2, 4, 3}, "--picture")), rt::RunError);
}

}  // namespace tdsl::tests
