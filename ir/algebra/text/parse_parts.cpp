#include "ir/algebra/text/parse_parts.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>

namespace tdsl::ir::algebra {

namespace {

/// Integers over key values; `t` is value number `arity`.
class KeyParser {
 public:
  KeyParser(TextCursor& cursor, std::optional<std::size_t> arity) : cursor_(cursor), arity_(arity) {}

  Extent sum() {
    Extent e = cursor_.accept("-") ? Extent() - product() : product();
    for (;;) {
      if (cursor_.accept("+")) {
        e = e + product();
      } else if (cursor_.accept("-")) {
        e = e - product();
      } else {
        return e;
      }
    }
  }

  KeyFunction function() {
    KeyFunction f;
    cursor_.expect("[");
    if (cursor_.accept("]")) return f;
    do { f.values.push_back(sum()); } while (cursor_.accept(","));
    cursor_.expect("]");
    return f;
  }

  Predicate predicate() {
    std::vector<Comparison> all;
    if (cursor_.accept("true")) return Predicate();
    do { all.push_back(comparison()); } while (cursor_.accept("and"));
    return Predicate(std::move(all));
  }

 private:
  Extent product() {
    Extent e = factor();
    for (;;) {
      if (cursor_.accept("*")) {
        e = e * factor();
      } else if (cursor_.accept("/")) {
        e = Extent::quotient(e, factor());
      } else if (cursor_.accept("mod")) {
        e = Extent::remainder(e, factor());
      } else {
        return e;
      }
    }
  }

  Extent factor() {
    if (cursor_.accept("(")) {
      Extent e = sum();
      cursor_.expect(")");
      return e;
    }
    if (!cursor_.at_word()) return static_cast<Index>(cursor_.natural());
    const std::string word = cursor_.word();
    if (word == "t" && arity_) return key_value(static_cast<int>(*arity_));
    int dim = -1;
    const auto [end, error] = std::from_chars(word.data() + 1, word.data() + word.size(), dim);
    if (word[0] != 'k' || error != std::errc() || end != word.data() + word.size() || dim < 0)
      cursor_.fail(fmt::format("expected a key value k0, k1, .., not `{}`", word));
    return key_value(dim);
  }

  Comparison comparison() {
    using Relation = Comparison::Relation;
    Extent left = sum();
    const auto with = [&](Relation relation) { return Comparison{relation, left, sum()}; };
    const auto swapped = [&](Relation relation) { return Comparison{relation, sum(), left}; };
    if (cursor_.accept("==")) return with(Relation::kEqual);
    if (cursor_.accept("!=")) return with(Relation::kNotEqual);
    if (cursor_.accept("<=")) return with(Relation::kAtMost);
    if (cursor_.accept(">=")) return swapped(Relation::kAtMost);
    if (cursor_.accept("<")) return with(Relation::kLess);
    if (cursor_.accept(">")) return swapped(Relation::kLess);
    cursor_.fail("expected a comparison");
  }

  TextCursor& cursor_;
  std::optional<std::size_t> arity_;
};

}  // namespace

int PartParser::small() {
  const Index value = cursor_.integer();
  if (value < 0 || value > std::numeric_limits<int>::max()) cursor_.fail("expected a position");
  return static_cast<int>(value);
}

std::vector<Index> PartParser::extents() {
  std::vector<Index> values;
  cursor_.expect("[");
  if (cursor_.accept("]")) return values;
  do {
    values.push_back(cursor_.integer());
    if (values.back() < 0) cursor_.fail("extents are not negative");
  } while (cursor_.accept(","));
  cursor_.expect("]");
  return values;
}

Dims PartParser::dims() {
  Dims dims;
  cursor_.expect("[");
  if (cursor_.accept("]")) return dims;
  do { dims.push_back(small()); } while (cursor_.accept(","));
  cursor_.expect("]");
  return dims;
}

double PartParser::number() {
  const Literal literal = cursor_.literal();
  if (const auto* integer = std::get_if<std::int64_t>(&literal)) return static_cast<double>(*integer);
  if (const auto* real = std::get_if<double>(&literal)) return *real;
  cursor_.fail("expected a number");
}

Kernel PartParser::kernel() {
  Kernel k;
  k.kind = named_kind(cursor_, Kernel::Kind::kCall, "kernel");
  using Kind = Kernel::Kind;
  if (k.kind == Kind::kScale || k.kind == Kind::kShift) {
    cursor_.expect("(");
    k.number = number();
    cursor_.expect(")");
  } else if (k.kind == Kind::kSum || k.kind == Kind::kItem) {
    cursor_.expect("(");
    k.position = small();
    cursor_.expect(")");
  } else if (k.kind == Kind::kEinsum || k.kind == Kind::kCall) {
    cursor_.expect("(");
    k.text = cursor_.string();
    while (cursor_.accept(",")) k.result.push_back(extents());
    cursor_.expect(")");
  }
  return k;
}

Kernels PartParser::kernels(std::string_view word) {
  Kernels all;
  while (cursor_.accept(all.empty() ? word : "then")) all.push_back(kernel());
  return all;
}

std::vector<int> PartParser::axes(int count) {
  std::vector<int> axes;
  for (const char c : cursor_.word()) {
    if (c < 'a' || c >= 'a' + count) cursor_.fail(fmt::format("the mesh has no axis {}", c));
    axes.push_back(c - 'a');
  }
  return axes;
}

std::optional<Layout> PartParser::layout() {
  if (cursor_.accept("all")) return Layout::all();
  if (cursor_.accept("part")) return Layout::part(dims());
  if (cursor_.accept("loose")) return Layout::loose();
  if (!cursor_.accept("mesh")) return std::nullopt;
  const int count = static_cast<int>(cursor_.word().size());
  std::vector<Cut> cuts;
  while (cursor_.accept("part")) {
    Cut cut;
    cursor_.expect("[");
    while (!cursor_.accept(":")) {
      cut.dims.push_back(small());
      cursor_.accept(",");
    }
    cut.axes = axes(count);
    cursor_.expect("]");
    cuts.push_back(std::move(cut));
  }
  return Layout(count, std::move(cuts), cursor_.accept("loose") ? axes(count) : std::vector<int>{});
}

Predicate PartParser::where(std::optional<std::size_t> arity) {
  return cursor_.accept("where") ? predicate(arity) : Predicate();
}

KeyFunction PartParser::key_function(std::optional<std::size_t> arity) { return KeyParser(cursor_, arity).function(); }

Predicate PartParser::predicate(std::optional<std::size_t> arity) { return KeyParser(cursor_, arity).predicate(); }

}  // namespace tdsl::ir::algebra
