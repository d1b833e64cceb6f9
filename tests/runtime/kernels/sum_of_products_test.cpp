#include "runtime/kernels/product/sum_of_products.h"

#include <doctest/doctest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "runtime/kernels/copy.h"
#include "runtime/plan/op_builder.h"

namespace tdsl::tests {

namespace {

using plan::Index;
using plan::Interval;

/// A tensor of small integers, so that every summation order gives the same value.
template <class T>
struct Elements {
  std::vector<T> values;
  rt::Operand operand;

  Elements(std::mt19937& random, const plan::Box& box) : values(static_cast<std::size_t>(box.volume())) {
    for (T& x : values) x = static_cast<T>(static_cast<int>(random() % 9) - 4);
    operand = rt::row_major(reinterpret_cast<std::byte*>(values.data()), box);
  }
};

/// `ijk,jr,kr->ir` on a task in the middle of the label space: blocks do not start at the first element.
template <class T>
void check_products(const std::string& text, std::mt19937& random, bool fresh) {
  const std::size_t arrow = text.find("->");
  const std::string result = text.substr(arrow + 2);
  std::string letters = result;
  std::vector<std::string> factors{""};
  for (const char c : text.substr(0, arrow)) {
    if (c == ',') {
      factors.emplace_back();
      continue;
    }
    factors.back() += c;
    if (letters.find(c) == std::string::npos) letters += c;
  }
  const bool sums = letters.size() > result.size();
  plan::OpBuilder op(sums ? plan::OpClass::kReduce : plan::OpClass::kMap, "P", 1, 1);
  std::vector<Interval> labels;
  for (std::size_t l = 0; l < letters.size(); ++l) {
    const Index lo = static_cast<Index>(random() % 3);
    labels.push_back({lo, lo + 1 + static_cast<Index>(random() % 19)});
    l < result.size() ? op.out(letters.substr(l, 1), 40) : op.reduce(letters.substr(l, 1), 40);
  }
  const auto box_of = [&](const std::string& of) {
    plan::Box box;
    box.rank = static_cast<int>(of.size());
    for (std::size_t d = 0; d < of.size(); ++d) box.dim[d] = labels[letters.find(of[d])];
    return box;
  };
  std::vector<Elements<T>> data;
  std::vector<rt::Operand> inputs;
  for (const std::string& f : factors) {
    std::vector<plan::DimAccess> dims;
    for (const char c : f) dims.push_back(plan::at(static_cast<int>(letters.find(c))));
    op.read(static_cast<Index>(inputs.size()), std::move(dims));
    data.emplace_back(random, box_of(f));
    inputs.push_back(data.back().operand);
    inputs.back().data = reinterpret_cast<std::byte*>(data.back().values.data());
  }
  Elements<T> out(random, box_of(result));
  std::vector<T> expected = out.values;
  std::vector<Index> v;
  for (const Interval& l : labels) v.push_back(l.lo);
  if (fresh || !sums) std::fill(expected.begin(), expected.end(), T{0});
  const auto element = [&](const rt::Operand& operand, const std::string& of) {
    Index offset = 0;
    for (std::size_t d = 0; d < of.size(); ++d)
      offset += operand.stride[d] * (v[letters.find(of[d])] - operand.box.dim[d].lo);
    return static_cast<std::size_t>(offset);
  };
  while (true) {
    T product = 1;
    for (std::size_t k = 0; k < factors.size(); ++k) product *= data[k].values[element(inputs[k], factors[k])];
    expected[element(out.operand, result)] += product;
    std::size_t l = labels.size();
    while (l > 0 && ++v[l - 1] == labels[l - 1].hi) {
      v[l - 1] = labels[l - 1].lo;
      --l;
    }
    if (l == 0) break;
  }
  rt::TaskArgs args;
  args.labels = labels;
  args.inputs = inputs;
  args.outputs = std::span(&out.operand, 1);
  args.out_box = out.operand.box;
  args.fresh = fresh;
  rt::sum_of_products_kernel(op.op(), std::is_same_v<T, float> ? rt::ElementType::kF32 : rt::ElementType::kF64)(args);
  CHECK_MESSAGE(out.values == expected, text);
}

}  // namespace

TEST_CASE("sums of products: the kernel agrees with a naive evaluation of the labels") {
  std::mt19937 random(11);
  for (const char* text : {"ik,jk->ijk", "jq,kq->kjq", "i,j->ji", "ij,ij->ji", "ijk,ijk->", "bik,bik->bi", "bij,bj->ib",
                           "ijk->ik", "kij->", "ji->i", "ijk,jr,kr->ir", "ir,jr,kr->ijk", "ki,k,kj->ij", "i,ij,j->",
                           "ij,ij,ij->i", "ijkl,ja,kb,lc->iabc", "ab,bc,ca,ad->d", "bij,bjk,bk->bik"}) {
    for (int round = 0; round < 12; ++round) {
      check_products<double>(text, random, round % 3 != 0);
      check_products<float>(text, random, round % 3 != 0);
    }
  }
}

}  // namespace tdsl::tests
