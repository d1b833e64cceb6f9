#include "codegen/relations/kernel.h"

#include <algorithm>
#include <functional>
#include <set>

#include "ir/graph/check.h"

namespace tdsl::codegen {

using ir::algebra::Kernel;
using ir::algebra::Kernels;
using Kind = Kernel::Kind;

bool BlockWork::reduces() const { return combine != plan::Combine::kNone; }

namespace {

Kernel simple(Kind kind) {
  Kernel kernel;
  kernel.kind = kind;
  return kernel;
}
Kernel with_number(Kind kind, double number) {
  Kernel kernel = simple(kind);
  kernel.number = number;
  return kernel;
}

std::optional<int> operand_of(const Expr& e) {
  const auto* r = std::get_if<ir::Read>(&e->op);
  return r == nullptr ? std::nullopt : std::optional(r->tensor.id);
}
std::optional<double> number_of(const Expr& e) {
  const auto* c = std::get_if<ir::Constant>(&e->op);
  if (c == nullptr || !ir::is_real(e->type)) return std::nullopt;
  return std::get<double>(c->value);
}

/// A product of reads and numbers.
struct Product {
  std::vector<int> operands;
  double factor = 1;
};
bool collect_factors(const Expr& e, Product& product) {
  if (const auto operand = operand_of(e)) {
    product.operands.push_back(*operand);
    return true;
  }
  if (const auto number = number_of(e)) {
    product.factor *= *number;
    return true;
  }
  const auto* b = std::get_if<ir::Binary>(&e->op);
  return b != nullptr && b->op == ir::BinaryOp::kMul && collect_factors(b->left, product) &&
         collect_factors(b->right, product);
}

/// A letter for every label: its name, if that is a single, unique letter.
std::string letters_of(const std::vector<std::string>& names) {
  std::string letters;
  std::set<char> used;
  for (const std::string& name : names) {
    char letter = name.size() == 1 && name[0] >= 'a' && name[0] <= 'z' ? name[0] : '\0';
    if (used.contains(letter)) letter = '\0';
    letters += letter;
    used.insert(letter);
  }
  for (char& letter : letters) {
    if (letter != '\0') continue;
    letter = 'a';
    while (used.contains(letter)) ++letter;
    used.insert(letter);
  }
  return letters;
}

Kernel einsum(const BlockWork& work) {
  const std::string letters = letters_of(work.names);
  const auto spelled = [&](const LabelList& list) {
    std::string text;
    for (const int l : list) text += letters[static_cast<std::size_t>(l)];
    return text;
  };
  Kernel kernel = simple(Kind::kEinsum);
  for (const LabelList& operand : work.operands) kernel.text += (kernel.text.empty() ? "" : ",") + spelled(operand);
  kernel.text += "->" + spelled(work.result);
  return kernel;
}

Kernel product_of_matrices(const BlockWork& work) {
  const LabelList& a = work.operands[0];
  const LabelList& b = work.operands[1];
  const LabelList& c = work.result;
  if (a.size() != 2 || b.size() != 2 || c.size() != 2) return einsum(work);
  if (a[0] == c[0] && a[1] == b[0] && b[1] == c[1]) return simple(Kind::kMatmul);
  if (a[1] == c[0] && a[0] == b[0] && b[1] == c[1]) return simple(Kind::kMatmulTn);
  if (a[0] == c[0] && a[1] == b[1] && b[0] == c[1]) return simple(Kind::kMatmulNt);
  return einsum(work);
}

std::optional<Kernels> products(const Expr& e, const BlockWork& work) {
  Product product;
  if (!collect_factors(e, product) || product.operands.size() != work.operands.size()) return std::nullopt;
  for (std::size_t k = 0; k < product.operands.size(); ++k) {
    if (product.operands[k] != static_cast<int>(k)) return std::nullopt;
  }
  if (work.reduces() && work.combine != plan::Combine::kSum) return std::nullopt;
  const bool plain = std::ranges::all_of(work.operands, [&](const LabelList& list) { return list == work.result; });
  Kernels kernels;
  if (work.operands.size() == 1) {
    if (!plain) kernels = {work.result.size() == 2 && !work.reduces() ? simple(Kind::kTranspose) : einsum(work)};
  } else if (work.operands.size() == 2) {
    kernels = {plain ? simple(Kind::kMul) : work.reduces() ? product_of_matrices(work) : einsum(work)};
  } else {
    kernels = {einsum(work)};
  }
  if (product.factor != 1) kernels.push_back(with_number(Kind::kScale, product.factor));
  return kernels;
}

std::optional<Kind> zip_of(ir::BinaryOp op) {
  switch (op) {
    case ir::BinaryOp::kAdd: return Kind::kAdd;
    case ir::BinaryOp::kSub: return Kind::kSub;
    case ir::BinaryOp::kMin: return Kind::kMin;
    case ir::BinaryOp::kMax: return Kind::kMax;
    default: return std::nullopt;
  }
}

/// For one or two arrays that have the result's labels.
std::optional<Kernels> element_wise(const Expr& e, const BlockWork& work) {
  if (work.reduces() || !std::ranges::all_of(work.operands, [&](const LabelList& list) { return list == work.result; }))
    return std::nullopt;
  if (const auto* u = std::get_if<ir::Unary>(&e->op)) {
    if (u->op == ir::UnaryOp::kNeg && operand_of(u->operand)) return Kernels{simple(Kind::kNeg)};
    return std::nullopt;
  }
  const auto* b = std::get_if<ir::Binary>(&e->op);
  if (b == nullptr) return std::nullopt;
  const auto left = operand_of(b->left), right = operand_of(b->right);
  if (left && right && work.operands.size() == 2 && *left == 0 && *right == 1) {
    const auto zip = zip_of(b->op);
    return zip ? std::optional(Kernels{simple(*zip)}) : std::nullopt;
  }
  const auto number = left ? number_of(b->right) : number_of(b->left);
  if (left.has_value() == right.has_value() || !number || work.operands.size() != 1) return std::nullopt;
  if (b->op == ir::BinaryOp::kAdd) return Kernels{with_number(Kind::kShift, *number)};
  if (b->op == ir::BinaryOp::kSub && left) return Kernels{with_number(Kind::kShift, -*number)};
  if (b->op == ir::BinaryOp::kMax && *number == 0) return Kernels{simple(Kind::kRelu)};
  return std::nullopt;
}

}  // namespace

std::optional<Kernels> kernels_of(const Body& body, const BlockWork& work) {
  const ir::Compute& compute = body.compute;
  if (compute.guard || compute.base || !ir::is_real(body.type) || work.operands.empty()) return std::nullopt;
  if (!std::ranges::all_of(body.operands, ir::is_real)) return std::nullopt;
  if (auto kernels = products(compute.bodies.front(), work)) return kernels;
  return element_wise(compute.bodies.front(), work);
}

Kernel meeting(plan::Combine combine) {
  switch (combine) {
    case plan::Combine::kSum: return simple(Kind::kAdd);
    case plan::Combine::kProd: return simple(Kind::kMul);
    case plan::Combine::kMin:
    case plan::Combine::kAll: return simple(Kind::kMin);
    case plan::Combine::kMax:
    case plan::Combine::kAny: return simple(Kind::kMax);
    case plan::Combine::kNone: break;
  }
  TDSL_CHECK(false, "partial results meet");
  return {};
}

}  // namespace tdsl::codegen
