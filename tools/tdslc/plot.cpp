#include <fmt/format.h>
#include <langinfo.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/app/run/run_files.h"
#include "runtime/base/number_format.h"
#include "runtime/io/file_kind.h"
#include "runtime/io/input_file.h"
#include "runtime/io/text_file.h"
#include "runtime/kernels/scalar_math.h"
#include "runtime/picture/picture.h"
#include "tools/tdslc/commands.h"
#include "tools/tdslc/front.h"

namespace tdsl::tools {

namespace {

using rt::ElementType;
using rt::Extents;

/// Characters across and pixels down on a terminal.
constexpr std::int64_t kTerminalEdge = 80;
/// Elements in memory at a time.
constexpr std::int64_t kPanel = 1 << 17;

constexpr std::string_view kPlot = "plot";

/// Files of entries are drawn as such; tables are read as arrays.
bool is_sparse_file(const std::string& path) {
  return rt::holds_entries(path) && rt::readable_kind(path) != rt::FileKind::kCsv;
}

std::vector<std::int64_t> strides_of(const Extents& lo, const Extents& hi) {
  std::vector<std::int64_t> strides(lo.size(), 1);
  for (std::size_t d = lo.size(); d-- > 1;) strides[d - 1] = strides[d] * (hi[d] - lo[d]);
  return strides;
}

/// An array of a file, or a whole table in memory.
class PlottedArray {
 public:
  explicit PlottedArray(const std::string& path) : file_(path) {
    if (file_.dense() != nullptr) {
      type_ = file_.dense()->type();
      shape_ = file_.dense()->shape();
      return;
    }
    file_.require_type(ElementType::kF64, path);
    shape_ = rt::read_dense<double>(file_, [this](const Extents& shape) {
      std::int64_t count = 1;
      for (const std::int64_t extent : shape) count *= extent;
      table_.resize(static_cast<std::size_t>(count));
      return table_.data();
    });
  }

  [[nodiscard]] ElementType type() const { return type_; }
  [[nodiscard]] const Extents& shape() const { return shape_; }

  /// Reads a box in C order.
  template <rt::Element T>
  void read(const Extents& lo, const Extents& hi, T* to) const {
    const std::vector<std::int64_t> strides = strides_of(lo, hi);
    if (file_.dense() != nullptr) return file_.dense()->read_box<T>(lo, hi, to, strides);
    const std::vector<std::int64_t> steps = strides_of(Extents(shape_.size(), 0), shape_);
    Extents at = lo;
    for (T* next = to;; ++next) {
      std::int64_t offset = 0;
      for (std::size_t d = 0; d < at.size(); ++d) offset += at[d] * steps[d];
      *next = static_cast<T>(table_[static_cast<std::size_t>(offset)]);
      std::size_t d = at.size();
      for (; d > 0 && ++at[d - 1] == hi[d - 1]; --d) at[d - 1] = lo[d - 1];
      if (d == 0) return;
    }
  }

 private:
  rt::InputFile file_;
  ElementType type_ = ElementType::kF64;
  Extents shape_;
  std::vector<double> table_;
};

/// Calls `f(lo, hi)` with boxes of at most kPanel elements that cover the slice.
void for_each_panel(const rt::PictureSlice& slice, const Extents& shape,
                    const std::function<void(const Extents&, const Extents&)>& f) {
  Extents lo(shape.size(), 0), hi = shape;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (slice.at[d]) {
      lo[d] = *slice.at[d];
      hi[d] = lo[d] + 1;
    }
    if (shape[d] == 0) return;
  }
  const std::vector<std::size_t> shown = slice.shown();
  const std::size_t column = shown.back(), row = shown.front();
  const std::int64_t across = std::min(shape[column], kPanel), down = std::max<std::int64_t>(1, kPanel / across);
  const bool matrix = shown.size() == 2;
  for (std::int64_t i = 0; i < (matrix ? shape[row] : 1); i += down) {
    if (matrix) {
      lo[row] = i;
      hi[row] = std::min(shape[row], i + down);
    }
    for (std::int64_t j = 0; j < shape[column]; j += across) {
      lo[column] = j;
      hi[column] = std::min(shape[column], j + across);
      f(lo, hi);
    }
  }
}

std::size_t volume(const Extents& lo, const Extents& hi) {
  std::int64_t count = 1;
  for (std::size_t d = 0; d < lo.size(); ++d) count *= hi[d] - lo[d];
  return static_cast<std::size_t>(count);
}

/// The picture.
struct Plot {
  rt::PictureSource source;
  std::function<void(rt::Pixels&, std::string& note)> draw;  ///< once
};

/// A complex number's absolute value, else the number.
template <class T>
double shown(T x) {
  if constexpr (rt::kIsComplex<T>) {
    return static_cast<double>(rt::scalar::abs(x));
  } else {
    return static_cast<double>(x);
  }
}

Plot plot_of_array(const CommandLine& line, const std::optional<rt::PictureSlice>& slice) {
  const auto array = std::make_shared<PlottedArray>(line.program);
  Plot plot{{line.program, array->type(), array->shape(), {}, false}, {}};
  plot.source.slice =
      rt::within(rt::slice_of(slice, array->shape().size(), line.program, kPlot), array->shape(), kPlot);
  plot.draw = [array](rt::Pixels& pixels, std::string&) {
    rt::visit_element_type(array->type(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      const auto panel = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(kPanel));
      for_each_panel(pixels.source().slice, array->shape(), [&](const Extents& lo, const Extents& hi) {
        array->read<T>(lo, hi, panel.get());
        if constexpr (rt::kIsComplex<T> || rt::kIsHalf<T>) {
          std::vector<double> sizes(volume(lo, hi));
          for (std::size_t k = 0; k < sizes.size(); ++k) sizes[k] = shown(panel[k]);
          pixels.add_box(lo, hi, static_cast<const double*>(sizes.data()), strides_of(lo, hi));
        } else {
          pixels.add_box(lo, hi, static_cast<const T*>(panel.get()), strides_of(lo, hi));
        }
      });
    });
  };
  return plot;
}

Plot plot_of_entries(const CommandLine& line, const std::optional<rt::PictureSlice>& slice) {
  const rt::InputFile file(line.program);
  file.require_type(ElementType::kF64, line.program);
  auto [shape, entries] = rt::read_whole(*file.entries(), ElementType::kF64);
  Plot plot{{line.program, ElementType::kF64, shape, {}, true}, {}};
  plot.source.slice = rt::within(rt::slice_of(slice, shape.size(), line.program, kPlot), shape, kPlot);
  const auto all = std::make_shared<rt::Entries>(std::move(entries));
  plot.draw = [all](rt::Pixels& pixels, std::string&) {
    const rt::EntryForm form = all->form();
    Extents at(static_cast<std::size_t>(form.rank));
    all->for_each([&](const std::byte* entry) {
      for (int d = 0; d < form.rank; ++d) at[static_cast<std::size_t>(d)] = form.coordinate(entry, d);
      pixels.add_stored(at, form.value<double>(entry));
    });
  };
  return plot;
}

/// The largest difference of two arrays, and where it first is; nan is larger than any.
struct Largest {
  double difference = -1;
  Extents at;
  double one = 0, other = 0;
};

std::string text_of_largest(const Largest& largest) {
  if (largest.at.empty()) return "no elements";
  if (largest.difference == 0) return "equal";
  std::string at;
  for (const std::int64_t x : largest.at) at += (at.empty() ? "" : ", ") + std::to_string(x);
  return fmt::format("largest difference {} at [{}]: {} and {}", rt::format_scalar(largest.difference), at,
                     rt::format_scalar(largest.one), rt::format_scalar(largest.other));
}

template <class T>
rt::Complex<double> complex_of(T x) {
  if constexpr (rt::kIsHalf<T>) {
    return static_cast<double>(x);
  } else {
    return rt::Complex<double>(x);
  }
}

/// Differences of elements as f64, of complex numbers their absolute values; equal infinities and nan in both places
/// differ by 0.
template <class A, class B>
void subtract(const Extents& lo, const Extents& hi, const A* one, const B* other, double* to, Largest& largest) {
  const std::size_t count = volume(lo, hi);
  const std::vector<std::int64_t> strides = strides_of(lo, hi);
  for (std::size_t k = 0; k < count; ++k) {
    const double a = shown(one[k]), b = shown(other[k]);
    if constexpr (rt::kIsComplex<A> || rt::kIsComplex<B>) {
      const double gap = shown(complex_of(one[k]) - complex_of(other[k]));
      to[k] = a == b && !std::isfinite(a) ? 0 : gap;
    } else if constexpr (std::is_integral_v<A> && std::is_integral_v<B>) {
      to[k] = static_cast<double>(static_cast<__int128>(one[k]) - other[k]);
    } else {
      to[k] = a == b || (std::isnan(a) && std::isnan(b)) ? 0 : a - b;
    }
    const double size = std::isnan(to[k]) ? std::numeric_limits<double>::infinity() : std::fabs(to[k]);
    if (size <= largest.difference) continue;
    largest = {size, lo, a, b};
    for (std::size_t d = 0; d < lo.size(); ++d)
      largest.at[d] += static_cast<std::int64_t>(k) / strides[d] % (hi[d] - lo[d]);
  }
}

template <class A, class B>
void draw_difference(const PlottedArray& one, const PlottedArray& other, rt::Pixels& pixels, Largest& largest) {
  constexpr auto kCount = static_cast<std::size_t>(kPanel);
  const auto a = std::make_unique_for_overwrite<A[]>(kCount);
  const auto b = std::make_unique_for_overwrite<B[]>(kCount);
  const auto difference = std::make_unique_for_overwrite<double[]>(kCount);
  for_each_panel(pixels.source().slice, one.shape(), [&](const Extents& lo, const Extents& hi) {
    one.read<A>(lo, hi, a.get());
    other.read<B>(lo, hi, b.get());
    subtract(lo, hi, a.get(), b.get(), difference.get(), largest);
    pixels.add_box(lo, hi, static_cast<const double*>(difference.get()), strides_of(lo, hi));
  });
}

Plot plot_of_difference(const CommandLine& line, const std::optional<rt::PictureSlice>& slice) {
  for (const std::string& path : {line.program, line.against}) {
    if (is_sparse_file(path)) throw UsageError(fmt::format("plot --against: {} is sparse; not supported", path));
  }
  const auto one = std::make_shared<PlottedArray>(line.program), other = std::make_shared<PlottedArray>(line.against);
  if (one->shape() != other->shape())
    throw UsageError(fmt::format("plot --against: {} is {}, {} is {}", line.program,
                                 rt::format_type(one->type(), one->shape()), line.against,
                                 rt::format_type(other->type(), other->shape())));
  Plot plot{{line.program + " - " + line.against, ElementType::kF64, one->shape(), {}, false}, {}};
  plot.source.slice = rt::within(rt::slice_of(slice, one->shape().size(), line.program, kPlot), one->shape(), kPlot);
  plot.draw = [one, other](rt::Pixels& pixels, std::string& note) {
    Largest largest;
    rt::visit_element_type(one->type(), [&](auto tag) {
      rt::visit_element_type(other->type(), [&](auto other_tag) {
        draw_difference<typename decltype(tag)::type, typename decltype(other_tag)::type>(*one, *other, pixels,
                                                                                          largest);
      });
    });
    note = text_of_largest(largest);
  };
  return plot;
}

/// True if the terminal shows UTF-8.
bool shows_utf8() {
  std::setlocale(LC_CTYPE, "");
  return std::string_view(nl_langinfo(CODESET)) == "UTF-8";
}

}  // namespace

int plot(const CommandLine& line) {
  std::optional<rt::PictureSlice> slice;
  try {
    if (!line.slice.empty()) slice = rt::parse_slice(line.slice, kPlot);
    const bool svg = !line.output.empty() && rt::is_svg(line.output, "-o");
    rt::RunFiles files(rt::read_environment());
    for (const std::string& path : {line.program, line.against}) {
      if (!path.empty()) files.keep(rt::file_behind(path), "the array to draw");
    }
    if (!line.output.empty()) files.write_text("-o", line.output);
    const Plot plot = !line.against.empty()          ? plot_of_difference(line, slice)
                      : is_sparse_file(line.program) ? plot_of_entries(line, slice)
                                                     : plot_of_array(line, slice);
    const bool terminal = line.output.empty() && ::isatty(STDOUT_FILENO) != 0;
    rt::Pixels pixels(plot.source, terminal ? kTerminalEdge : rt::Pixels::kEdge);
    rt::PictureLook look{line.logarithmic, {}};
    plot.draw(pixels, look.note);
    if (terminal)
      fmt::print("{}", shows_utf8() ? rt::half_blocks_of(rt::image_of(pixels, look, kTerminalEdge))
                                    : rt::characters_of(pixels, look, kTerminalEdge));
    fmt::print("{}\n", rt::caption_of(pixels, look));
    if (!line.output.empty())
      rt::write_text_file(line.output, svg ? rt::svg_of(pixels, look) : rt::png_of(pixels, look));
  } catch (const rt::RunError& error) { throw UsageError(error.what()); }
  return 0;
}

}  // namespace tdsl::tools
