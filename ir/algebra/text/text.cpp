#include "ir/algebra/text/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/text/print.h"

namespace tdsl::ir::algebra {

namespace {

/// ` by relu then scale(2)`, or nothing.
std::string by_text(const Kernels& kernels) { return kernels.empty() ? "" : " by " + kernels_text(kernels); }
std::string then_text(const Kernels& kernels) { return kernels.empty() ? "" : " then " + kernels_text(kernels); }

std::string where_text(const Predicate& where, std::size_t arity) {
  return where.always() ? "" : " where " + KeyPrinter(arity).text(where);
}

constexpr std::size_t kNoCount = static_cast<std::size_t>(-1);  // no key value is called t

OpText text_of(const Input& input) {
  std::string text = fmt::format("{} keys {}{} block {}", quoted(input.name), key_text(input.frontier),
                                 where_text(input.where, kNoCount), block_text(input.block));
  if (input.layout) text += " " + layout_text(*input.layout);
  return {"input", text};
}

OpText text_of(const Opaque& opaque) {
  std::string text =
      fmt::format("{} keys {} block {}", quoted(opaque.name), key_text(opaque.frontier), block_text(opaque.block));
  if (opaque.layout) text += " " + layout_text(*opaque.layout);
  return {"opaque", text};
}

OpText text_of(const Join& join, std::span<const Expr> operands) {
  std::string text = fmt::format("on {}, {} by {}{}", dims_text(join.left), dims_text(join.right), kernel_text(join.by),
                                 then_text(join.then));
  const std::size_t arity = operands[0]->type.keys.arity() + operands[1]->type.keys.arity() - join.left.size();
  if (!join.keys.is_identity(arity)) text += " rekey " + KeyPrinter(kNoCount).text(join.keys);
  return {"join", text};
}

OpText text_of(const Map& map, std::span<const Expr> operands) {
  const std::string keys = KeyPrinter(kNoCount).text(map.keys);
  if (map.by.empty()) return {"rekey", keys};
  const bool same = map.keys.is_identity(operands[0]->type.keys.arity());
  return {"map", (same ? "" : "rekey " + keys + " ") + "by " + kernels_text(map.by)};
}

OpText text_of(const FlatMap& f, std::span<const Expr> operands) {
  const std::size_t arity = operands[0]->type.keys.arity();
  std::string text =
      fmt::format("count {}{} keys {}", f.count, where_text(f.where, arity), KeyPrinter(arity).text(f.keys));
  if (f.slice) text += fmt::format(" slice {} size {}", f.slice->dim, f.slice->size);
  return {"flatmap", text + by_text(f.by)};
}

}  // namespace

OpText op_text(const Op& op, std::span<const Expr> operands) {
  return match(
      op, [](const Input& o) { return text_of(o); }, [&](const Join& o) { return text_of(o, operands); },
      [](const Aggregate& o) {
        return OpText{"aggregate",
                      fmt::format("keep {} by {}{}", dims_text(o.keep), kernel_text(o.by), then_text(o.then))};
      },
      [&](const Map& o) { return text_of(o, operands); },
      [](const Filter& o) {
        return OpText{"filter", "where " + KeyPrinter(kNoCount).text(o.where)};
      },
      [](const Tile& o) {
        return OpText{"tile", fmt::format("dim {} size {}", o.dim, o.size)};
      },
      [](const Concat& o) {
        return OpText{"concat", fmt::format("key {} dim {}", o.key, o.dim)};
      },
      [&](const FlatMap& o) { return text_of(o, operands); },
      [](const Redistribute& o) {
        return o.to.is_all() ? OpText{"bcast", ""} : OpText{"shuf", layout_text(o.to)};
      },
      [](const Opaque& o) { return text_of(o); });
}

std::string type_text(const RelationType& type) {
  std::string text = "keys " + key_text(type.keys.frontier());
  if (!type.keys.full())
    text += fmt::format(" ({} of them{})", type.keys.count(), type.holes_are_zero ? "" : ", the rest unknown");
  text += " block " + block_text(type.block);
  if (type.layout) text += " " + layout_text(*type.layout);
  if (type.pieces) text += fmt::format(", in up to {} pieces by {}", type.pieces->most, kernel_text(type.pieces->by));
  return text;
}

std::map<int, int> numbers_of(std::span<const Expr> nodes) {
  std::map<int, int> numbers;
  for (const Expr& e : nodes) numbers.emplace(e->id, static_cast<int>(numbers.size()));
  return numbers;
}

std::string line_text(const Expr& e, const std::map<int, int>& numbers) {
  const OpText op = op_text(e->op, e->operands);
  const bool moves = as<Redistribute>(e) != nullptr || as<Opaque>(e) != nullptr;
  const bool local = e->type.layout && as<Input>(e) == nullptr && !moves;
  std::vector<std::string> operands;
  for (const Expr& operand : e->operands) operands.push_back(fmt::format("%{}", numbers.at(operand->id)));
  std::string text = (local ? "local " : "") + op.word;
  if (!operands.empty()) text += fmt::format(" {}", fmt::join(operands, ", "));
  return op.parameters.empty() ? text : text + " " + op.parameters;
}

std::string print(const Program& program) {
  const std::vector<Expr> nodes = nodes_of(program.roots());
  const std::map<int, int> numbers = numbers_of(nodes);
  std::string text;
  for (const Expr& e : nodes) {
    const bool says_type = as<Input>(e) != nullptr || as<Opaque>(e) != nullptr;
    const std::string what = says_type ? fmt::format("{} floats", e->type.floats()) : type_text(e->type);
    text += fmt::format("%{} = {} ; {}\n", numbers.at(e->id), line_text(e, numbers), what);
  }
  for (const Program::Result& result : program.results)
    text += fmt::format("result {} %{}\n", quoted(result.name), numbers.at(result.value->id));
  return text;
}

std::string print(const Expr& e) { return print(Program{{{"", e}}}); }

}  // namespace tdsl::ir::algebra
