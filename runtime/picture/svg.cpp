#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/base64.h"
#include "runtime/picture/picture.h"
#include "runtime/picture/scale.h"

namespace tdsl::rt {

namespace {

constexpr double kLeft = 70, kTop = 16, kPlot = 512, kBandPlot = 256;
constexpr double kLegend = 130, kLine = 16;
/// A picture of few rows or columns is stretched to this extent.
constexpr double kLeastExtent = 24;

std::string decimal(double x) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.2f", x);
  return text.data();
}

std::string escaped_for_xml(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '<') {
      result += "&lt;";
    } else if (c == '>') {
      result += "&gt;";
    } else if (c == '&') {
      result += "&amp;";
    } else if (static_cast<unsigned char>(c) >= 32) {
      result += c;
    }
  }
  return result;
}

std::string hexadecimal(const Colour& colour) {
  std::array<char, 8> text;
  std::snprintf(text.data(), text.size(), "#%02x%02x%02x", colour[0], colour[1], colour[2]);
  return text.data();
}

/// An SVG picture of one array.
class SvgPicture {
 public:
  SvgPicture(const Pixels& pixels, const PictureLook& look) : pixels_(pixels), look_(look), scale_(pixels, look) {
    if (pixels.is_band()) {
      width_ = kPlot;
      height_ = kBandPlot;
    } else if (pixels.width() > 0) {
      const auto across = static_cast<double>(pixels.width()), down = static_cast<double>(pixels.height());
      const double edge = kPlot / std::max(across, down);
      width_ = std::max(kLeastExtent, across * edge);
      height_ = std::max(kLeastExtent, down * edge);
    }
  }

  std::string text() {
    if (pixels_.width() > 0) {
      pixels_.is_band() ? draw_bands() : draw_image();
      draw_axes();
      if (!pixels_.is_band()) draw_legend();
    }
    const double caption_top = kTop + height_ + 2.5 * kLine;
    const double end = draw_caption(caption_top);
    const std::string size = decimal(kLeft + width_ + kLegend) + "\" height=\"" + decimal(end) + "\"";
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + size +
           " font-family=\"sans-serif\" font-size=\"12\">\n<title>" + escaped_for_xml(caption_) +
           "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n" + body_ + "</svg>\n";
  }

 private:
  void write(double x, double y, std::string_view anchor, std::string_view text) {
    body_ += "<text x=\"" + decimal(x) + "\" y=\"" + decimal(y) + "\" text-anchor=\"" + std::string(anchor) + "\">" +
             escaped_for_xml(text) + "</text>\n";
  }
  void rectangle(double x, double y, double width, double height, const Colour& colour) {
    body_ += "<rect x=\"" + decimal(x) + "\" y=\"" + decimal(y) + "\" width=\"" + decimal(width) + "\" height=\"" +
             decimal(height) + "\" fill=\"" + hexadecimal(colour) + "\"/>\n";
  }

  void draw_image() {
    body_ += "<image x=\"" + decimal(kLeft) + "\" y=\"" + decimal(kTop) + "\" width=\"" + decimal(width_) +
             "\" height=\"" + decimal(height_) +
             "\" preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" href=\"data:image/png;base64," +
             base64(png_of(image_of(pixels_, look_, 1), "")) + "\"/>\n";
  }

  [[nodiscard]] double y_of(double value) const {
    const double level = value <= 0 && scale_.least() > 0 ? 0 : scale_.level(value);
    return kTop + height_ * (1 - std::clamp(level, 0.0, 1.0));
  }
  [[nodiscard]] double x_of(std::size_t column) const {
    return kLeft + width_ * (static_cast<double>(column) + 0.5) / static_cast<double>(pixels_.width());
  }
  /// A point as `x,y `.
  [[nodiscard]] std::string point(std::size_t column, double value) const {
    return decimal(x_of(column)) + "," + decimal(y_of(value)) + " ";
  }

  /// Runs of columns with finite elements; columns with others are marked at the top.
  void draw_bands() {
    const std::vector<Column>& columns = pixels_.bands();
    const double step = width_ / static_cast<double>(columns.size());
    for (std::size_t first = 0; first < columns.size();) {
      std::size_t last = first;
      while (last < columns.size() && columns[last].least <= columns[last].most) ++last;
      if (last > first) draw_run(first, last);
      first = last + 1;
    }
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (columns[c].bad > 0) rectangle(x_of(c) - step / 2, kTop, std::max(1.0, step), 6, kBadColour);
    }
  }
  void draw_run(std::size_t first, std::size_t last) {
    const std::vector<Column>& columns = pixels_.bands();
    std::string upper, lower, line;
    for (std::size_t c = first; c < last; ++c) {
      upper += point(c, columns[c].most);
      line += point(c, columns[c].sum.mean());
    }
    for (std::size_t c = last; c-- > first;) lower += point(c, columns[c].least);
    const std::string shape =
        last - first > 1 ? "\" stroke-width=\"1.5\"/>\n" : "\" stroke-width=\"4\" stroke-linecap=\"round\"/>\n";
    body_ += "<polygon points=\"" + upper + lower + "\" fill=\"" + hexadecimal(kBandColour) + "\" stroke=\"" +
             hexadecimal(kBandColour) + "\"/>\n";
    body_ += "<polyline points=\"" + line + (last - first > 1 ? "" : line) + "\" fill=\"none\" stroke=\"" +
             hexadecimal(kLineColour) + shape;
  }

  void draw_axes() {
    body_ += "<rect x=\"" + decimal(kLeft) + "\" y=\"" + decimal(kTop) + "\" width=\"" + decimal(width_) +
             "\" height=\"" + decimal(height_) + "\" fill=\"none\" stroke=\"#444444\"/>\n";
    const double below = kTop + height_ + kLine;
    write(kLeft, below, "start", "0");
    write(kLeft + width_, below, "end", std::to_string(pixels_.columns() - 1));
    if (pixels_.is_band()) {
      write(kLeft - 6, kTop + 10, "end", scale_.text(scale_.most()));
      write(kLeft - 6, kTop + height_, "end", scale_.text(scale_.least()));
    } else if (pixels_.rows() > 1) {
      write(kLeft - 6, kTop + 10, "end", "0");
      write(kLeft - 6, kTop + height_, "end", std::to_string(pixels_.rows() - 1));
    }
  }

  void draw_legend() {
    const double x = kLeft + width_ + 16;
    if (scale_.kind() == PictureScale::Kind::kCategory) {
      double y = kTop;
      for (double value = scale_.least(); value <= scale_.most(); ++value, y += kLine) {
        rectangle(x, y, 12, 12, scale_.colour(value));
        write(x + 18, y + 11, "start", scale_.text(value));
      }
      return;
    }
    constexpr int kSteps = 32;
    const double step = std::max(height_, 4 * kLine) / kSteps;
    for (int k = 0; k < kSteps; ++k)
      rectangle(x, kTop + step * k, 14, step + 0.5, scale_.colour(scale_.value_of(1 - (k + 0.5) / kSteps)));
    write(x + 20, kTop + 11, "start", scale_.text(scale_.most()));
    write(x + 20, kTop + step * kSteps, "start", scale_.text(scale_.least()));
  }

  /// A line per part; returns where the last one ends.
  double draw_caption(double y) {
    std::string_view rest = caption_;
    while (!rest.empty()) {
      const std::size_t end = rest.find("; ");
      write(kLeft, y, "start", rest.substr(0, end));
      y += kLine;
      rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 2);
    }
    return y;
  }

  const Pixels& pixels_;
  const PictureLook& look_;
  PictureScale scale_;
  std::string caption_ = caption_of(pixels_, look_);
  double width_ = 0, height_ = 0;
  std::string body_;
};

}  // namespace

std::string svg_of(const Pixels& pixels, const PictureLook& look) { return SvgPicture(pixels, look).text(); }

}  // namespace tdsl::rt
