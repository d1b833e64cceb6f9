#include <algorithm>

#include "frontend/lower/builtins.h"
#include "frontend/lower/lowering.h"
#include "frontend/sema/types.h"

namespace tdsl::frontend {

Tensor Algebra::matmul(const Tensor& first, const Tensor& second, const SourceRange& range) {
  const Tensor left = as_operand(first);
  const Tensor right = as_operand(second);
  for (const Tensor* t : {&left, &right}) {
    if (t->rank() == 0) {
      reports_.fail(DiagnosticId::kRankMismatch, t->range,
                    "@ multiplies vectors and matrices, but this is a scalar; use *");
    }
  }
  if (const std::optional<Tensor> scaled = scaling(left, right, range)) return *scaled;
  Common common = values_.common_type(left, right, range);
  // `eye(n)` takes the type of the other operand.
  const auto typed = [&](Tensor t) {
    if (t.weak != Weak::kNo && t.scalar() != common.type) t.body = converted(t.body, common.type);
    return values_.operand(t);
  };
  const Tensor a = typed(left);
  const Tensor b = typed(right);
  common.type = summed_type(common.type);
  const std::size_t a_batch = a.rank() > 2 ? a.rank() - 2 : 0;
  const std::size_t b_batch = b.rank() > 2 ? b.rank() - 2 : 0;
  const Dim& a_inner = a.shape.back();
  const Dim& b_inner = b.shape[b.rank() == 1 ? 0 : b.rank() - 2];
  shapes_.agree(a_inner, b_inner, range, "in this product");

  ComputeSpec spec;
  std::vector<Dim> shape;
  std::vector<Expr> a_subscripts;
  std::vector<Expr> b_subscripts;
  const std::size_t batch = std::max(a_batch, b_batch);
  const auto own = [&](const Tensor& t, std::size_t own_batch, std::size_t d) -> const Dim* {
    return d + own_batch < batch ? nullptr : &t.shape[d + own_batch - batch];
  };
  const auto subscript = [](const Dim& dim, const Dim& result, std::int32_t id) {
    const bool stretches = dim.extent.constant() == 1 && !(result.extent == dim.extent);
    return stretches ? ir::constant_i64(0) : ir::index_ref(id);
  };
  for (std::size_t d = 0; d < batch; ++d) {
    const Dim* of_a = own(a, a_batch, d);
    const Dim* of_b = own(b, b_batch, d);
    shape.push_back(of_a == nullptr   ? *of_b
                    : of_b == nullptr ? *of_a
                                      : shapes_.broadcast(*of_a, *of_b, range, "in this product"));
    spec.out.push_back(graph_.new_label(shape.back().extent));
    if (of_a != nullptr) a_subscripts.push_back(subscript(*of_a, shape.back(), spec.out.back()));
    if (of_b != nullptr) b_subscripts.push_back(subscript(*of_b, shape.back(), spec.out.back()));
  }
  if (a.rank() > 1) {
    shape.push_back(a.shape[a.rank() - 2]);
    spec.out.push_back(graph_.new_label(shape.back().extent));
    a_subscripts.push_back(ir::index_ref(spec.out.back()));
  }
  spec.reduce.push_back(graph_.new_label(a_inner.extent));
  a_subscripts.push_back(ir::index_ref(spec.reduce.back()));
  b_subscripts.push_back(ir::index_ref(spec.reduce.back()));
  if (b.rank() > 1) {
    shape.push_back(b.shape.back());
    spec.out.push_back(graph_.new_label(shape.back().extent));
    b_subscripts.push_back(ir::index_ref(spec.out.back()));
  }
  const Expr body = ir::binary(BinaryOp::kMul, converted(element(a, a_subscripts), common.type),
                               converted(element(b, b_subscripts), common.type), range);
  spec.name = reports_.source_text(range);
  spec.range = range;
  return reduce({Reducer::kSum, {}, Scalar::kF64}, std::move(spec), scalar_tensor(body), std::move(shape));
}

/// "ij,jk->ik": the letters of the operands and of the result. An ellipsis is the letter '.' until it is expanded.
struct EinsumText {
  std::vector<std::string> operands;
  std::string result;
};

namespace {

bool has_ellipsis(const std::string& letters) { return letters.find('.') != std::string::npos; }

/// Nullopt if the text is malformed. Without `->`, the result has the ellipsis and the letters that occur once, in
/// alphabetical order.
std::optional<EinsumText> parse_einsum(const std::string& text) {
  EinsumText e;
  e.operands.emplace_back();
  bool in_result = false;
  for (std::size_t k = 0; k < text.size(); ++k) {
    const char c = text[k];
    std::string& letters = in_result ? e.result : e.operands.back();
    if (c == ' ') continue;
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      letters += c;
    } else if (text.compare(k, 3, "...") == 0 && !has_ellipsis(letters)) {
      letters += '.';
      k += 2;
    } else if (c == ',' && !in_result) {
      e.operands.emplace_back();
    } else if (c == '-' && !in_result && k + 1 < text.size() && text[k + 1] == '>') {
      in_result = true;
      ++k;
    } else {
      return std::nullopt;
    }
  }
  if (in_result) return e;
  std::map<char, int> uses;
  for (const std::string& letters : e.operands) {
    for (const char c : letters) ++uses[c];
  }
  for (const auto& [c, count] : uses) {
    if (count == 1 || c == '.') e.result += c;
  }
  return e;
}

/// Expands an ellipsis to one letter per dimension: '0' is the last dimension, so that operands align on the right.
std::string spread(const std::string& letters, std::size_t dimensions) {
  std::string text;
  for (const char c : letters) {
    if (c != '.') {
      text += c;
      continue;
    }
    for (std::size_t d = dimensions; d-- > 0;) text += static_cast<char>('0' + d);
  }
  return text;
}

/// True if a letter is a dimension of an ellipsis, in which size 1 broadcasts.
bool is_spread(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// The operands; expands the ellipses of the text.
std::vector<Tensor> einsum_operands(Lowerer& lowerer, const ast::Call& call, EinsumText& text) {
  std::vector<Tensor> operands;
  std::size_t most = 0;  // maximum number of dimensions of an ellipsis
  for (std::size_t k = 0; k < text.operands.size(); ++k) {
    std::string& letters = text.operands[k];
    const Tensor t = lowerer.values.operand(lower(lowerer, *call.arguments[k + 1].value));
    const std::size_t named = letters.size() - (has_ellipsis(letters) ? 1 : 0);
    if (has_ellipsis(letters) ? t.rank() < named : t.rank() != named) {
      lowerer.reports.fail(
          DiagnosticId::kBadEinsum, call.arguments[k + 1].range,
          "this operand of einsum has " + counted(named, "letter") + ", but is " + lowerer.graph.text(t));
    }
    const std::size_t spread_to = t.rank() - named;
    most = std::max(most, spread_to);
    letters = spread(letters, spread_to);
    operands.push_back(t);
  }
  if (most > 0 && !has_ellipsis(text.result))
    lowerer.reports.fail(DiagnosticId::kBadEinsum, call.arguments[0].range,
                         "the result lacks the `...` of the operands");
  text.result = spread(text.result, most);
  return operands;
}

}  // namespace

Tensor call_einsum(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const auto* text = call.arguments.empty() ? nullptr : std::get_if<ast::StringLiteral>(&call.arguments[0].value->node);
  if (text == nullptr)
    lowerer.reports.fail(DiagnosticId::kBadEinsum, range, "einsum needs a string such as \"ij,jk->ik\" first");
  const SourceRange& place = call.arguments[0].range;
  auto parsed = parse_einsum(text->value);
  if (!parsed)
    lowerer.reports.fail(
        DiagnosticId::kBadEinsum, place,
        "einsum's string has letters, commas and one `->`, as in \"ij,jk->ik\" or \"...ij,jk->...ik\"");
  if (parsed->operands.size() != call.arguments.size() - 1) {
    lowerer.reports.fail(DiagnosticId::kBadEinsum, range,
                         "einsum's string names " + counted(parsed->operands.size(), "operand") + ", but " +
                             std::to_string(call.arguments.size() - 1) +
                             (call.arguments.size() == 2 ? " is given" : " are given"));
  }
  const std::vector<Tensor> operands = einsum_operands(lowerer, call, *parsed);
  std::map<char, Dim> sizes;
  std::string order;
  const auto is_one = [](const Dim& d) { return d.extent.constant() == 1; };
  for (std::size_t k = 0; k < operands.size(); ++k) {
    for (std::size_t d = 0; d < operands[k].rank(); ++d) {
      const auto [size, first] = sizes.emplace(parsed->operands[k][d], operands[k].shape[d]);
      if (first)
        order += size->first;
      else if (is_spread(size->first) && is_one(size->second))
        size->second = operands[k].shape[d];
    }
  }
  const bool sums = std::ranges::any_of(order, [&](char c) { return parsed->result.find(c) == std::string::npos; });
  std::map<char, std::int32_t> labels;
  for (const char c : order) labels[c] = lowerer.graph.new_label(sizes[c].extent);
  Tensor product;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const Tensor& t = operands[k];
    std::vector<Expr> subscripts;
    for (std::size_t d = 0; d < t.rank(); ++d) {
      const char c = parsed->operands[k][d];
      const bool stretches = is_spread(c) && is_one(t.shape[d]);
      if (!stretches)
        lowerer.shapes.agree(sizes[c], t.shape[d], call.arguments[k + 1].range,
                             is_spread(c) ? "for the `...`" : std::string("for the letter `") + c + "`");
      subscripts.push_back(stretches ? ir::constant_i64(0) : ir::index_ref(labels[c]));
    }
    Tensor factor = scalar_tensor(element(t, subscripts), t.weak);
    if (sums && ir::is_integer(t.scalar())) factor.body = converted(factor.body, summed_type(t.scalar()));
    product = k == 0 ? factor : lowerer.algebra.arithmetic(BinaryOp::kMul, product, factor, range);
  }
  ComputeSpec spec;
  std::vector<Dim> shape;
  for (const char c : parsed->result) {
    const bool repeated = std::ranges::count(parsed->result, c) > 1;
    if (!labels.contains(c) || repeated) {
      lowerer.reports.fail(
          DiagnosticId::kBadEinsum, place,
          std::string("the result's letter `") + c + (repeated ? "` occurs twice" : "` is in no operand"));
    }
    spec.out.push_back(labels[c]);
    shape.push_back(sizes[c]);
  }
  for (const char c : order) {
    if (parsed->result.find(c) == std::string::npos) spec.reduce.push_back(labels[c]);
  }
  if (spec.reduce.empty()) {
    Tensor result = product;
    result.labels = spec.out;
    result.shape = shape;
    return lowerer.algebra.fresh(result);
  }
  spec.name = lowerer.reports.source_text(range);
  spec.range = range;
  return lowerer.algebra.reduce({Reducer::kSum, {}, Scalar::kF64}, std::move(spec), product, std::move(shape));
}

}  // namespace tdsl::frontend
