#include "runtime/checkpoint/path_text.h"

#include <map>
#include <memory>
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

template <class T, class F>
void write_list(TextWriter& out, const std::vector<T>& list, const F& one) {
  out.number(static_cast<Index>(list.size()));
  for (const T& item : list) one(item);
}

template <class F>
auto read_list(TextReader& in, const F& one) -> std::vector<decltype(one())> {
  std::vector<decltype(one())> list;
  for (std::size_t k = in.count(); k > 0; --k) list.push_back(one());
  return list;
}

void write_numbers(TextWriter& out, const std::vector<Index>& list) {
  write_list(out, list, [&](Index x) { out.number(x); });
}
std::vector<Index> read_numbers(TextReader& in) {
  return read_list(in, [&] { return in.number(); });
}

void write_tiling(TextWriter& out, const Tiling& t) {
  if (t.ends() != nullptr) {
    out.word("cut");
    return write_numbers(out, *t.ends());
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
  if (kind == "cut") return Tiling::at(read_numbers(in));
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
  write_list(out, axes, [&](const GridAxis& a) { out.number(a.size).number(a.stride); });
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

void write(TextWriter& out, const Distribution& where) {
  out.word(where.by_axes() ? "grid" : where.columns() ? "columns" : "table").number(where.ranks());
  write_list(out, where.tilings(), [&](const Tiling& t) { write_tiling(out, t); });
  if (where.by_axes()) {
    out.number(where.home());
    write_axes(out, where.repeat());
    write_list(out, where.grid_dims(), [&](const GridDim& d) {
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

void write(TextWriter& out, const record::KnownTensor& tensor) {
  const plan::TensorDesc& d = tensor.desc;
  out.number(d.id).word(element_name(tensor.type)).string(d.name);
  write_numbers(out, d.shape);
  write_numbers(out, d.tile);
  write_list(out, d.uncut, [&](bool uncut) { out.number(uncut ? 1 : 0); });
  write_list(out, d.storage.levels, [&](plan::Level level) { out.number(level == plan::Level::kCompressed ? 1 : 0); });
  write_list(out, d.storage.order, [&](int dimension) { out.number(dimension); });
  out.number(d.storage.values ? 1 : 0).real(d.stored.lo).real(d.stored.expected).real(d.stored.hi);
  out.number(d.rows == nullptr ? -1 : d.rows->rows);
  if (d.rows != nullptr) write_numbers(out, d.rows->before);
  out.line();
}

record::KnownTensor read_tensor(TextReader& in) {
  record::KnownTensor tensor;
  plan::TensorDesc& d = tensor.desc;
  d.id = in.number();
  const auto type = element_type_named(in.word());
  if (!type) in.fail("an unknown element type");
  tensor.type = *type;
  d.element = {static_cast<Index>(element_size(*type)), element_name(*type).data()};
  d.name = in.string();
  d.shape = read_numbers(in);
  if (d.shape.size() > static_cast<std::size_t>(plan::kMaxRank)) in.fail("too many dimensions");
  d.tile = read_numbers(in);
  d.uncut = read_list(in, [&] { return in.number() != 0; });
  d.storage.levels = read_list(in, [&] { return in.number() != 0 ? plan::Level::kCompressed : plan::Level::kDense; });
  d.storage.order = read_list(in, [&] { return static_cast<int>(in.number()); });
  d.storage.values = in.number() != 0;
  d.stored.lo = in.real();
  d.stored.expected = in.real();
  d.stored.hi = in.real();
  const Index rows = in.number();
  if (rows >= 0) d.rows = std::make_shared<const plan::RowCounts>(plan::RowCounts{rows, read_numbers(in)});
  return tensor;
}

namespace {

/// Values of variables: each tensor is described once.
class PathWriter {
 public:
  explicit PathWriter(TextWriter& out) : out_(out) {}

  void write(const record::Path& path) {
    for (const record::PathFrame& frame : path.frames) {
      note(frame.carried);
      for (const record::PathEvent& event : frame.events) note(event.carried);
    }
    out_.word("known").number(static_cast<Index>(tensors_.size())).line();
    for (const auto& [id, tensor] : tensors_) checkpoint::write(out_, *tensor);
    out_.word("frames").number(static_cast<Index>(path.frames.size())).line();
    for (const record::PathFrame& frame : path.frames) {
      out_.word("frame").number(frame.index);
      numbers(frame.begin);
      numbers(frame.top);
      values(frame.carried);
      out_.number(static_cast<Index>(frame.events.size())).line();
      for (const record::PathEvent& event : frame.events) this->event(event);
    }
  }

 private:
  void note(const std::vector<record::CarriedValue>& values) {
    for (const record::CarriedValue& value : values) {
      if (value.tensor != nullptr) tensors_.emplace(value.tensor->desc.id, value.tensor);
    }
  }
  void numbers(const record::Recorder::Numbers& numbers) { out_.number(numbers.tensor).number(numbers.record); }
  void values(const std::vector<record::CarriedValue>& values) {
    write_list(out_, values, [this](const record::CarriedValue& value) {
      value.tensor != nullptr ? out_.word("t").number(value.tensor->desc.id) : out_.word("s").bits(value.bits);
    });
  }
  void event(const record::PathEvent& event) {
    if (!event.is_loop) {
      out_.word("read").bits(event.bits).line();
      return;
    }
    out_.word("loop");
    numbers(event.begin);
    numbers(event.end);
    values(event.carried);
    out_.line();
  }

  TextWriter& out_;
  std::map<plan::TensorId, std::shared_ptr<const record::KnownTensor>> tensors_;
};

class PathReader {
 public:
  explicit PathReader(TextReader& in) : in_(in) {}

  record::Path read() {
    in_.expect("known");
    for (std::size_t k = in_.count(); k > 0; --k) {
      auto tensor = std::make_shared<const record::KnownTensor>(read_tensor(in_));
      tensors_.emplace(tensor->desc.id, tensor);
    }
    record::Path path;
    in_.expect("frames");
    path.frames.resize(in_.count());
    if (path.frames.size() < 2) in_.fail("path has fewer than two frames");
    for (record::PathFrame& frame : path.frames) {
      in_.expect("frame");
      frame.index = in_.number();
      frame.begin = numbers();
      frame.top = numbers();
      frame.carried = values();
      for (std::size_t k = in_.count(); k > 0; --k) frame.events.push_back(event());
    }
    return path;
  }

 private:
  record::Recorder::Numbers numbers() {
    const Index tensor = in_.number();
    return {tensor, in_.number()};
  }
  std::vector<record::CarriedValue> values() {
    return read_list(in_, [this] {
      record::CarriedValue value;
      if (in_.next_is("s")) {
        value.bits = in_.bits();
        return value;
      }
      in_.expect("t");
      const auto found = tensors_.find(in_.number());
      if (found == tensors_.end()) in_.fail("a variable holds a tensor that is not described");
      value.tensor = found->second;
      return value;
    });
  }
  record::PathEvent event() {
    record::PathEvent event;
    if (in_.next_is("read")) {
      event.bits = in_.bits();
      return event;
    }
    in_.expect("loop");
    event.is_loop = true;
    event.begin = numbers();
    event.end = numbers();
    event.carried = values();
    return event;
  }

  TextReader& in_;
  std::map<plan::TensorId, std::shared_ptr<const record::KnownTensor>> tensors_;
};

}  // namespace

void write(TextWriter& out, const record::Path& path) { PathWriter(out).write(path); }
record::Path read_path(TextReader& in) { return PathReader(in).read(); }

}  // namespace tdsl::rt::checkpoint
