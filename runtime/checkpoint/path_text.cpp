#include "runtime/checkpoint/path_text.h"

#include <map>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/check.h"

namespace tdsl::rt::checkpoint {

using plan::Distribution;
using plan::GridAxis;
using plan::GridDim;
using plan::Index;
using plan::Tiling;

namespace {

template <class F>
auto read_list(TextReader& in, const F& one) -> std::vector<decltype(one())> {
  std::vector<decltype(one())> list;
  for (std::size_t k = in.count(); k > 0; --k) list.push_back(one());
  return list;
}

template <class Text, class List>
void numbers(Text& text, List& all) {
  list(text, all, [&](auto& x) { text.number(x); });
}

void write_tiling(TextWriter& out, const Tiling& t) {
  if (t.ends() != nullptr) {
    out.word("cut");
    return numbers(out, *t.ends());
  }
  if (t == Tiling::near_equal(t.extent(), t.tiles(), t.unit())) {
    out.word("near").number(t.extent()).number(t.tiles()).number(t.unit());
    return;
  }
  const Index edge = t.tiles() > 0 ? t.tile(0).size() : 1;
  out.word("fixed").number(t.extent()).number(edge);
}

Tiling read_tiling(TextReader& in) {
  const std::string_view kind = in.word();
  if (kind == "cut") return Tiling::at(read_list(in, [&] { return in.number(); }));
  const Index extent = in.number();
  const Index tiles = in.number();
  if (extent < 0 || tiles < 0) in.fail("negative extent");
  if (kind == "fixed") return Tiling::fixed(extent, tiles);
  if (kind != "near") in.fail("tiles of an unknown kind");
  const Index unit = in.number();
  if (unit < 1) in.fail("a unit below 1");
  return Tiling::near_equal(extent, tiles, unit);
}

void write_axes(TextWriter& out, const std::vector<GridAxis>& axes) {
  list(out, axes, [&](const GridAxis& a) { out.number(a.size).number(a.stride); });
}
std::vector<GridAxis> read_axes(TextReader& in) {
  return read_list(in, [&] {
    GridAxis a;
    a.size = in.number();
    a.stride = in.number();
    if (a.size < 1 || a.stride < 1) in.fail("axis of size or stride below 1");
    return a;
  });
}

}  // namespace

void spell(TextWriter& out, const Distribution& where) {
  out.word(where.by_axes() ? "grid" : where.columns() ? "columns" : "table").number(where.ranks());
  list(out, where.tilings(), [&](const Tiling& t) { write_tiling(out, t); });
  if (where.by_axes()) {
    out.number(where.home());
    write_axes(out, where.repeat());
    list(out, where.grid_dims(), [&](const GridDim& d) {
      out.number(d.q);
      write_axes(out, d.axes);
    });
  } else if (where.columns()) {
    out.number(where.columns()->count).number(where.columns()->row_dim).number(where.columns()->column_dim);
  } else {
    const Index tiles = where.owners().size();
    out.number(tiles);
    for (Index t = 0; t < tiles; ++t) out.number(where.owners().owner(t));
  }
}

namespace {

Distribution read_distribution(TextReader& in) {
  const std::string_view kind = in.word();
  const Index ranks = in.number();
  if (ranks < 1) in.fail("no ranks");
  std::vector<Tiling> tilings = read_list(in, [&] { return read_tiling(in); });
  if (kind == "grid") {
    const Index home = in.number();
    std::vector<GridAxis> repeat = read_axes(in);
    std::vector<GridDim> dims = read_list(in, [&] {
      GridDim d;
      d.q = in.number();
      d.axes = read_axes(in);
      if (d.q < 1) in.fail("grid block size (q) below 1");
      return d;
    });
    return Distribution::grid(ranks, std::move(tilings), std::move(dims), home, std::move(repeat));
  }
  if (kind == "columns") {
    plan::RankColumns columns{ranks, in.number()};
    if (columns.count < 1 || columns.count > ranks) in.fail("more columns than ranks");
    columns.row_dim = static_cast<int>(in.number());
    columns.column_dim = static_cast<int>(in.number());
    return Distribution::in_columns(std::move(tilings), columns);
  }
  if (kind != "table") in.fail("a distribution of an unknown kind");
  std::vector<std::int32_t> owners = read_list(in, [&] { return static_cast<std::int32_t>(in.number()); });
  return Distribution::table(ranks, std::move(tilings), std::move(owners));
}

void spell_element(TextWriter& out, const record::KnownTensor& tensor) { out.word(element_name(tensor.type)); }
void spell_element(TextReader& in, record::KnownTensor& tensor) {
  const auto type = element_type_named(in.word());
  if (!type) in.fail("an unknown element type");
  tensor.type = *type;
  tensor.desc.element = {static_cast<Index>(element_size(*type)), element_name(*type).data()};
}

/// `text`: a writer, or a reader that fills the tensor.
template <class Text, class Tensor>
void name_parts(Text& text, Tensor& tensor) {
  constexpr bool kReads = !std::is_const_v<Tensor>;
  auto& d = tensor.desc;
  text.number(d.id);
  spell_element(text, tensor);
  text.string(d.name);
  numbers(text, d.shape);
  if constexpr (kReads) {
    if (d.shape.size() > static_cast<std::size_t>(plan::kMaxRank)) text.fail("too many dimensions");
  }
  numbers(text, d.tile);
  std::vector<Index> uncut(d.uncut.begin(), d.uncut.end());
  numbers(text, uncut);
  list(text, d.storage.levels, [&](auto& level) {
    bool compressed = level == plan::Level::kCompressed;
    text.number(compressed);
    if constexpr (kReads) level = compressed ? plan::Level::kCompressed : plan::Level::kDense;
  });
  numbers(text, d.storage.order);
  text.number(d.storage.values).real(d.stored.lo).real(d.stored.expected).real(d.stored.hi);
  plan::RowCounts counts = d.rows == nullptr ? plan::RowCounts{-1, {}} : *d.rows;
  text.number(counts.rows);
  if (counts.rows >= 0) {
    numbers(text, counts.before);
    text.number(counts.fullest_column);
  }
  text.line();
  if constexpr (kReads) {
    d.uncut.assign(uncut.begin(), uncut.end());
    if (counts.rows >= 0) d.rows = std::make_shared<const plan::RowCounts>(std::move(counts));
  }
}

/// The tensors of a path's variables: each is described once.
using Known = std::map<plan::TensorId, std::shared_ptr<const record::KnownTensor>>;

void spell(TextWriter& out, const Known& known) {
  out.word("known").number(static_cast<Index>(known.size())).line();
  for (const auto& [id, tensor] : known) checkpoint::spell(out, *tensor);
}
void spell(TextReader& in, Known& known) {
  in.expect("known");
  for (std::size_t k = in.count(); k > 0; --k) {
    const auto tensor = std::make_shared<record::KnownTensor>();
    checkpoint::spell(in, *tensor);
    known.emplace(tensor->desc.id, tensor);
  }
}

void spell(TextWriter& out, const record::CarriedValue& value, const Known&) {
  value.tensor != nullptr ? out.word("t").number(value.tensor->desc.id) : out.word("s").bits(value.bits);
}
void spell(TextReader& in, record::CarriedValue& value, const Known& known) {
  if (in.next_is("s")) {
    value.bits = in.bits();
    return;
  }
  in.expect("t");
  const auto found = known.find(in.number());
  if (found == known.end()) in.fail("a variable holds a tensor that is not described");
  value.tensor = found->second;
}

template <class Text, class Frames>
void spell_frames(Text& text, Frames& frames, const Known& known) {
  const auto place = [&](auto& numbers) { text.number(numbers.tensor).number(numbers.record); };
  const auto values = [&](auto& carried) { list(text, carried, [&](auto& value) { spell(text, value, known); }); };
  const auto event = [&](auto& event) {
    either(text, "loop", "read", event.is_loop);
    if (!event.is_loop) {
      text.bits(event.bits).line();
      return;
    }
    place(event.begin);
    place(event.end);
    values(event.carried);
    text.line();
  };
  const auto frame = [&](auto& frame) {
    text.word("frame").number(frame.index);
    place(frame.begin);
    place(frame.top);
    values(frame.carried);
    list(text, frame.events, event, true);
  };
  text.word("frames");
  list(text, frames, frame, true);
}

}  // namespace

void spell(TextReader& in, Distribution& where) { where = read_distribution(in); }

void spell(TextWriter& out, const record::KnownTensor& tensor) { name_parts(out, tensor); }
void spell(TextReader& in, record::KnownTensor& tensor) { name_parts(in, tensor); }

void spell(TextWriter& out, const record::Path& path) {
  Known known;
  const auto note = [&](const std::vector<record::CarriedValue>& values) {
    for (const record::CarriedValue& value : values) {
      if (value.tensor != nullptr) known.emplace(value.tensor->desc.id, value.tensor);
    }
  };
  for (const record::PathFrame& frame : path.frames) {
    note(frame.carried);
    for (const record::PathEvent& event : frame.events) note(event.carried);
  }
  spell(out, known);
  spell_frames(out, path.frames, known);
}

void spell(TextReader& in, record::Path& path) {
  Known known;
  spell(in, known);
  spell_frames(in, path.frames, known);
  if (path.frames.size() < 2) in.fail("path has fewer than two frames");
}

}  // namespace tdsl::rt::checkpoint
