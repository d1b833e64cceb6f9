#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "ir/algebra/rules/rebuild.h"
#include "tests/unit/algebra/support.h"

namespace tdsl::tests {

/// Random expressions over a few inputs with few, small tuples, and random plans for them.
class RandomAlgebra {
 public:
  RandomAlgebra(algebra::Pool& pool, std::uint64_t seed) : pool_(pool), random_(seed) {}

  /// A well-formed expression without sites, of about `operators` operators.
  algebra::Expr expression(int operators) {
    std::vector<algebra::Expr> made;
    for (int k = 0; k < 3; ++k) made.push_back(input(k));
    algebra::Expr last = made.front();
    int tries = 0;
    for (int k = 0; k < operators && tries < 200; ++tries) {
      // The last result is used more often, so that expressions are deep.
      const algebra::Expr operand = number(0, 2) > 0 ? last : pick(made);
      try {
        const algebra::Expr e = grown(operand, pick(made));
        if (e->type.keys.count() == 0 && number(0, 9) > 0) continue;
        if (!verify(e).empty() || e->type.keys.count() > 60 || e->type.floats() > 600 || e->type.keys.arity() > 4)
          continue;
        made.push_back(e);
        last = e;
        ++k;
      } catch (const algebra::AlgebraError&) {
        // The operands do not fit the operator.
      }
    }
    return last;
  }

  /// The expression on sites: inputs have arbitrary layouts; operands are moved at random where that is correct,
  /// otherwise by Table 1.
  algebra::Expr plan(const algebra::Expr& e, int axes = 1) {
    return rebuild(e, [&](const algebra::Node& node, std::vector<algebra::Expr> operands) {
      if (const auto* input = std::get_if<algebra::Input>(&node.op)) {
        algebra::Input there = *input;
        there.layout = layout(input->frontier.size(), axes, true);
        return pool_.input(std::move(there));
      }
      for (int tries = 0; tries < 8; ++tries) {
        std::vector<algebra::Expr> moved;
        for (const algebra::Expr& operand : operands) moved.push_back(maybe_moved(operand, axes));
        if (const algebra::Expr e = pool_.make(node.op, std::move(moved)); e->sound) return e;
      }
      for (algebra::Expr& operand : operands) operand = whole(operand);
      return pool_.make(node.op, std::move(operands));
    });
  }

  /// Unchanged, or with its pieces combined.
  algebra::Expr whole(const algebra::Expr& e) {
    const algebra::Expr everywhere = pool_.bcast(e);
    if (!e->type.pieces) return everywhere;
    return pool_.aggregate(everywhere, algebra::all_dims(e->type.keys.arity()), e->type.pieces->by);
  }

  algebra::Layout layout(std::size_t arity, int axes, bool with_loose) {
    std::vector<algebra::Cut> cuts;
    std::vector<int> loose;
    for (int axis = 0; axis < axes; ++axis) {
      const int way = number(0, with_loose ? 5 : 4);
      if (way == 5) {
        loose.push_back(axis);
      } else if (way > 0 && !cuts.empty() && number(0, 3) == 0) {
        cuts.back().axes.push_back(axis);
      } else if (way > 0) {
        cuts.push_back({{axis}, some_dims(arity)});
      }
    }
    return {axes, std::move(cuts), std::move(loose)};
  }

  int number(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); }

 private:
  template <class T>
  T pick(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(number(0, static_cast<int>(from.size()) - 1))];
  }

  algebra::Dims some_dims(std::size_t arity) {
    algebra::Dims dims = algebra::all_dims(arity);
    std::ranges::shuffle(dims, random_);
    dims.resize(static_cast<std::size_t>(number(0, static_cast<int>(arity))));
    return dims;
  }

  algebra::Expr input(int k) {
    algebra::Input input;
    input.name = std::string(1, static_cast<char>('A' + k));
    const int arity = number(0, 3) == 0 ? 1 : 2;
    for (int d = 0; d < arity; ++d) input.frontier.push_back(number(1, 3));
    const int rank = number(1, 4) == 1 ? 1 : 2;
    input.block = {algebra::Bounds(static_cast<std::size_t>(rank), 2)};
    if (arity == 2 && number(0, 3) == 0) input.where = predicate(2);
    return pool_.input(std::move(input));
  }

  algebra::Predicate predicate(std::size_t arity) {
    using Relation = algebra::Comparison::Relation;
    const auto dim = [&] { return algebra::key_value(number(0, static_cast<int>(arity) - 1)); };
    const ir::Extent right = number(0, 1) == 0 ? dim() : ir::Extent(number(0, 2));
    return algebra::Predicate({{static_cast<Relation>(number(0, 3)), dim(), right}});
  }

  algebra::Kernel map_kernel() {
    using Kind = algebra::Kernel::Kind;
    algebra::Kernel kernel;
    kernel.kind = pick<Kind>({Kind::kRelu, Kind::kReluGrad, Kind::kNeg, Kind::kScale, Kind::kShift, Kind::kTranspose,
                              Kind::kDiag, Kind::kSum});
    if (kernel.kind == Kind::kScale || kernel.kind == Kind::kShift) kernel.number = number(-2, 2);
    return kernel;
  }
  algebra::Kernels map_kernels() {
    algebra::Kernels kernels;
    for (int k = number(0, 2); k > 0; --k) kernels.push_back(map_kernel());
    return kernels;
  }

  algebra::KeyFunction key_function(std::size_t arity) {
    algebra::Dims dims = algebra::all_dims(arity);
    std::ranges::shuffle(dims, random_);
    if (!dims.empty() && number(0, 3) == 0) dims.pop_back();  // unique after a filter only
    algebra::KeyFunction f = algebra::KeyFunction::select(dims);
    if (!f.values.empty() && number(0, 3) == 0) f.values[0] = f.values[0] + ir::Extent(number(0, 2));
    if (f.values.size() == 2 && number(0, 3) == 0) f.values = {ir::Extent(3) * f.values[0] + f.values[1]};
    return f;
  }

  algebra::Expr joined(const algebra::Expr& left, const algebra::Expr& right) {
    using Kind = algebra::Kernel::Kind;
    const auto limit = std::min(left->type.keys.arity(), right->type.keys.arity());
    algebra::Dims l = some_dims(left->type.keys.arity());
    algebra::Dims r = some_dims(right->type.keys.arity());
    const std::size_t count = std::min({l.size(), r.size(), limit});
    l.resize(count);
    r.resize(count);
    algebra::Kernel by;
    by.kind = pick<Kind>(
        {Kind::kAdd, Kind::kSub, Kind::kMul, Kind::kMin, Kind::kMax, Kind::kMatmul, Kind::kMatmulTn, Kind::kMatmulNt});
    algebra::Kernels then;
    if (number(0, 5) == 0) then.push_back(map_kernel());
    return pool_.join(left, right, std::move(l), std::move(r), std::move(by), std::move(then));
  }

  algebra::Expr grown(const algebra::Expr& e, const algebra::Expr& other) {
    using Kind = algebra::Kernel::Kind;
    const std::size_t arity = e->type.keys.arity();
    switch (number(-2, 9)) {
      case -2:
      case -1:
      case 0:
      case 1: return joined(e, other);
      case 2:
      case 3: {
        algebra::Kernel by;
        by.kind = pick<Kind>({Kind::kAdd, Kind::kAdd, Kind::kMin, Kind::kMax});
        return pool_.aggregate(e, some_dims(arity), by, number(0, 2) == 0 ? map_kernels() : algebra::Kernels{});
      }
      case 4: return pool_.map(e, {map_kernel()});
      case 5: return pool_.make(algebra::Map{key_function(arity), map_kernels()}, {e});
      case 6: return pool_.filter(e, arity == 0 ? algebra::Predicate() : predicate(arity));
      case 7: return pool_.make(algebra::Tile{0, number(1, 2)}, {e});
      case 8: return pool_.make(algebra::Concat{number(0, std::max(0, static_cast<int>(arity) - 1)), 0}, {e});
      default: {
        algebra::KeyFunction keys = algebra::KeyFunction::identity(arity + 1);
        std::ranges::shuffle(keys.values, random_);
        return pool_.make(algebra::FlatMap{number(1, 2), predicate(arity + 1), std::move(keys), {}, map_kernels()},
                          {e});
      }
    }
  }

  algebra::Expr maybe_moved(const algebra::Expr& e, int axes) {
    algebra::Expr operand = e;
    if (e->type.pieces && number(0, 2) == 0) operand = whole(e);
    switch (number(0, 4)) {
      case 0: return pool_.bcast(operand);
      case 1:
      case 2: return pool_.redistribute(operand, layout(operand->type.keys.arity(), axes, false));
      default: return operand;
    }
  }

  algebra::Pool& pool_;
  std::mt19937_64 random_;
};

}  // namespace tdsl::tests
