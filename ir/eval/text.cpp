#include "ir/eval/text.h"

#include "ir/eval/elements.h"
#include "runtime/base/number_format.h"

namespace tdsl::ir::eval {

namespace {

std::string element_text(const Array& a, std::size_t position) {
  return rt::visit_element_type(a.type, [&](auto tag) {
    return rt::format_scalar(cpp_value<typename decltype(tag)::type>(element(a, position)));
  });
}

/// Arrays above this many elements show only the ends of each dimension, as the executables do.
constexpr std::int64_t kFullElements = 1000;
constexpr std::int64_t kEdge = 3;

void append(const Array& a, std::size_t dimension, std::size_t position, std::string& text) {
  if (dimension == a.shape.size()) {
    text += element_text(a, position);
    return;
  }
  std::size_t stride = 1;
  for (std::size_t d = dimension + 1; d < a.shape.size(); ++d) stride *= static_cast<std::size_t>(a.shape[d]);
  const std::int64_t extent = a.shape[dimension];
  const bool cut = a.size() > kFullElements && extent > 2 * kEdge;
  text += '[';
  for (std::int64_t k = 0; k < extent; ++k) {
    if (cut && k == kEdge) {
      k = extent - kEdge;
      text += " ...";
    }
    if (k > 0) text += ' ';
    append(a, dimension + 1, position + static_cast<std::size_t>(k) * stride, text);
  }
  text += ']';
}

}  // namespace

std::string text_of(const Array& array) {
  if (array.size() == 0) return "[]";
  std::string text;
  append(array, 0, 0, text);
  return text;
}

}  // namespace tdsl::ir::eval
