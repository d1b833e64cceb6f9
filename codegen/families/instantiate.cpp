#include "codegen/families/plan_walk.h"
#include "runtime/plan/op_builder.h"

namespace tdsl::codegen {

namespace {

using Number = std::function<std::int64_t(const Extent&)>;

std::vector<plan::Affine::Term> terms_of(const std::vector<Term>& terms, const Number& number) {
  std::vector<plan::Affine::Term> result;
  for (const Term& t : terms) result.push_back({t.label, number(t.coefficient)});
  return result;
}

void add_label(plan::OpBuilder& builder, const LabelTemplate& l, const Number& number) {
  const plan::Interval range{number(l.begin), number(l.end)};
  switch (l.kind) {
    case LabelTemplate::Kind::kOut: builder.out(l.name, range); return;
    case LabelTemplate::Kind::kPlain: builder.label(l.name, range); return;
    case LabelTemplate::Kind::kWhole: builder.out(l.name, range).uncut(); return;
    case LabelTemplate::Kind::kReduce: builder.reduce(l.name, range); return;
    case LabelTemplate::Kind::kGather: builder.gather(l.name, range.hi); return;
  }
}

}  // namespace

plan::Op instantiate(const OpTemplate& op, int line, const Number& number,
                     const std::function<const plan::TensorDesc&(ValueId)>& tensor) {
  plan::OpBuilder builder(op.op_class, op.name, op.site, line);
  for (const LabelTemplate& l : op.labels) add_label(builder, l, number);
  if (op.writes) {
    std::vector<plan::Index> shape;
    std::vector<plan::OutSubscript> out;
    for (const Extent& e : op.shape) shape.push_back(number(e));
    for (const OutTemplate& o : op.out) out.push_back({o.label, o.coefficient, number(o.constant)});
    builder.write(std::move(shape), std::move(out));
  }
  if (op.base) builder.base(tensor(*op.base).id);
  for (const AccessTemplate& a : op.reads) {
    std::vector<plan::DimAccess> dims;
    for (const DimTemplate& d : a.dims) {
      dims.push_back(
          d.whole ? plan::whole()
                  : plan::DimAccess{terms_of(d.terms, number), {number(d.lo), number(d.hi)}, false, number(d.divisor)});
    }
    builder.read(tensor(a.tensor).id, std::move(dims));
  }
  builder.combine(op.combine);
  std::vector<plan::PackedPiece> pieces;
  for (const OpTemplate::Piece& p : op.pieces) pieces.push_back({p.combine, number(p.count)});
  builder.pieces(std::move(pieces));
  if (op.flops_per_row) {
    builder.flops_per_row(number(*op.flops_per_row), number(op.product_flops_per_row));
  } else {
    builder.flops(op.flops_per_point);
  }
  std::vector<const plan::TensorDesc*> either;
  for (const ValueId v : op.visits_either) either.push_back(&tensor(v));
  if (!either.empty()) builder.visits(either);
  for (const ValueId v : op.visits) builder.visits(tensor(v));
  if (op.stored == OpTemplate::StoredResult::kLikeVisited)
    either.empty() ? builder.stored_like(tensor(op.visits.front())) : builder.stored_like(either);
  if (op.stored == OpTemplate::StoredResult::kOfPoints) builder.stored_of_points(tensor(op.visits.front()));
  for (const ValueId v : op.stored_within) builder.stored_within(tensor(v));
  std::vector<const plan::TensorDesc*> elements;
  for (const ValueId v : op.elements_of) elements.push_back(&tensor(v));
  if (!elements.empty()) builder.stored_elements_of(elements);
  std::vector<plan::PointBound> bounds;
  for (const OpTemplate::PointBound& b : op.bounds)
    bounds.push_back({b.label, b.from_below, b.row, number(b.constant)});
  if (!bounds.empty()) op.compresses ? builder.visits_within(bounds) : builder.stored_within(bounds);
  if (op.compresses) op.fills_bounds ? builder.stored_at_visited() : builder.stored_as_guessed();
  std::vector<plan::Index> tile;
  for (const Extent& e : op.tile) tile.push_back(number(e));
  if (!tile.empty()) builder.tile(std::move(tile));
  if (op.epilogue) builder.epilogue();
  if (op.divisible) builder.divisible();
  if (op.overwrites) builder.overwrites();
  return builder.op();
}

}  // namespace tdsl::codegen
