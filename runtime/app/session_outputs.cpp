#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "runtime/app/number_format.h"
#include "runtime/app/session_impl.h"
#include "runtime/kernels/copy.h"

namespace tdsl::rt {

namespace {

/// Maximal runs of consecutive numbers.
std::vector<Interval> runs_of(const std::vector<Index>& numbers) {
  std::vector<Interval> runs;
  for (const Index n : numbers) {
    if (!runs.empty() && runs.back().hi == n) {
      ++runs.back().hi;
    } else {
      runs.push_back({n, n + 1});
    }
  }
  return runs;
}

/// Calls f(choice) for every combination of one run per dimension; last dimension fastest.
template <class F>
void for_each_corner(const std::vector<std::vector<Interval>>& runs, F&& f) {
  std::vector<std::size_t> choice(runs.size(), 0);
  for (const std::vector<Interval>& list : runs) {
    if (list.empty()) return;
  }
  while (true) {
    f(choice);
    std::size_t d = runs.size();
    while (d > 0 && ++choice[d - 1] == runs[d - 1].size()) choice[--d] = 0;
    if (d == 0) return;
  }
}

/// `[[1.0 2.0] [3.0 4.0]]` on one line; the middle of a large tensor is left out.
template <class T>
void append_elements(const std::vector<std::vector<Index>>& indices, std::size_t dimension, const T*& elements, std::string& text) {
  if (dimension == indices.size()) {
    text += format_scalar(*elements++);
    return;
  }
  text += '[';
  const std::vector<Index>& along = indices[dimension];
  for (std::size_t x = 0; x < along.size(); ++x) {
    if (x > 0) text += along[x] == along[x - 1] + 1 ? " " : " ... ";
    append_elements(indices, dimension + 1, elements, text);
  }
  text += ']';
}

std::string item_text(const SummaryReads& reads, const detail::TensorState& tensor, const TaskArgs& args) {
  return visit_element_type(tensor.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const std::unique_ptr<T[]> elements = reads.gather<T>(args);
    const T* next = elements.get();
    std::string text;
    append_elements(summary_indices(tensor.desc.shape), 0, next, text);
    return text;
  });
}

template <class T>
void write_tile(const NpyWriter& writer, const TaskArgs& args) {
  const Operand& in = args.inputs[0];
  const auto rank = static_cast<std::size_t>(in.box.rank);
  std::array<Index, plan::kMaxRank> lo{};
  std::array<Index, plan::kMaxRank> hi{};
  for (std::size_t d = 0; d < rank; ++d) {
    lo[d] = in.box.dim[d].lo;
    hi[d] = in.box.dim[d].hi;
  }
  writer.write_box(std::span(lo).first(rank), std::span(hi).first(rank), reinterpret_cast<const T*>(in.data), std::span(in.stride).first(rank));
}

}  // namespace

void write_text(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return;
  throw RunError(std::string("cannot write to standard output: ") + std::strerror(errno));
}

SummaryReads::SummaryReads(std::vector<Index> shape) : shape_(std::move(shape)) {
  for (const std::vector<Index>& indices : summary_indices(shape_)) runs_.push_back(runs_of(indices));
}

void SummaryReads::add_to(plan::OpBuilder& op, plan::TensorId tensor) {
  first_input_ = static_cast<int>(op.op().reads.size());
  for_each_corner(runs_, [&](const std::vector<std::size_t>& choice) {
    std::vector<plan::DimAccess> dims;
    for (std::size_t d = 0; d < choice.size(); ++d) dims.push_back(plan::fixed(runs_[d][choice[d]].lo, runs_[d][choice[d]].hi));
    op.read(tensor, std::move(dims));
  });
}

Index SummaryReads::count() const {
  Index count = 1;
  for (const std::vector<Interval>& list : runs_) {
    Index along = 0;
    for (const Interval& run : list) along += run.size();
    count *= along;
  }
  return count;
}

template <Element T>
std::unique_ptr<T[]> SummaryReads::gather(const TaskArgs& args) const {
  auto elements = std::make_unique<T[]>(static_cast<std::size_t>(count()));
  Box all;
  all.rank = static_cast<int>(runs_.size());
  for (std::size_t d = 0; d < runs_.size(); ++d) {
    for (const Interval& run : runs_[d]) all.dim[d].hi += run.size();
  }
  const Operand whole = row_major(reinterpret_cast<std::byte*>(elements.get()), all);
  auto input = static_cast<std::size_t>(first_input_);
  for_each_corner(runs_, [&](const std::vector<std::size_t>& choice) {
    const Operand& from = args.inputs[input++];
    Operand to = whole;
    to.box = from.box;
    for (std::size_t d = 0; d < choice.size(); ++d) {
      Index before = 0;
      for (std::size_t r = 0; r < choice[d]; ++r) before += runs_[d][r].size();
      to.data += before * whole.stride[d] * static_cast<Index>(sizeof(T));
    }
    copy_box(from, to, from.box, sizeof(T));
  });
  return elements;
}

void Session::output(std::string_view name, const TensorHandle& value, int site, int line) {
  if (impl_->setup.options.outputs.contains(std::string(name))) {
    impl_->store(name, value.state(), site, line);
  } else {
    impl_->summarise(name, value.state(), site, line);
  }
  impl_->flush();
}

void Session::Impl::store(std::string_view name, const detail::TensorState& value, int site, int line) {
  const std::vector<Index>& shape = value.desc.shape;
  const std::string& path = setup.options.outputs.at(std::string(name));
  std::shared_ptr<NpyWriter> writer;
  if (setup.world.rank() == 0) {
    try {
      writer = std::make_shared<NpyWriter>(NpyWriter::create(path, value.type, shape, setup.unfinished));
    } catch (const RunError& error) {
      throw RunError(at(line), error.what(), error.code());
    }
  }
  if (setup.options.dry_run) return;  // the file could be made; the writer removes it
  const std::string token = engine.share(writer ? writer->token() : std::string());
  if (!writer) writer = std::make_shared<NpyWriter>(NpyWriter::open(token));
  files.push_back(writer);
  plan::OpBuilder op(plan::OpClass::kStore, name, site, line);
  std::vector<plan::DimAccess> dims;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    op.out("i" + std::to_string(d), shape[d]);
    dims.push_back(plan::at(static_cast<int>(d)));
  }
  op.read(value.desc.id, std::move(dims), name).flops(0);
  enter_effect(op.op(), [writer, type = value.type](const TaskArgs& args) {
    visit_element_type(type, [&](auto tag) { write_tile<typename decltype(tag)::type>(*writer, args); });
  });
}

void Session::Impl::summarise(std::string_view name, const detail::TensorState& value, int site, int line) {
  plan::OpBuilder op(plan::OpClass::kCollect, name, site, line);
  op.write({}, {}).on_rank(0).flops(0);
  SummaryReads reads(value.desc.shape);
  reads.add_to(op, value.desc.id);
  enter_effect(op.op(), [reads, name = std::string(name), type = value.type, shape = value.desc.shape](const TaskArgs& args) {
    visit_element_type(type, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const std::unique_ptr<T[]> elements = reads.gather<T>(args);
      write_text(format_summary<T>(name, shape, std::span<const T>(elements.get(), static_cast<std::size_t>(reads.count()))) + "\n");
    });
  });
}

std::string PrintItem::text() const {
  switch (kind_) {
    case Kind::kText:
      return value_.text;
    case Kind::kBool:
      return format_scalar(value_.b);
    case Kind::kI32:
      return format_scalar(value_.i32);
    case Kind::kI64:
      return format_scalar(value_.i64);
    case Kind::kF32:
      return format_scalar(value_.f32);
    case Kind::kF64:
      return format_scalar(value_.f64);
    case Kind::kTensor:
      break;
  }
  return {};
}

void Session::print(std::initializer_list<PrintItem> items, int site, int line) {
  struct Part {
    std::string text;
    bool computed = false;
    SummaryReads reads;
    detail::TensorState tensor;  // a description, not a handle: it must not keep the tensor
  };
  plan::OpBuilder op(plan::OpClass::kCollect, "print", site, line);
  op.write({}, {}).on_rank(0).flops(0);
  std::vector<Part> parts;
  for (const PrintItem& item : items) {
    Part& part = parts.emplace_back();
    part.text = item.text();
    const detail::TensorState* tensor = item.tensor();
    if (tensor == nullptr) continue;
    part.computed = true;
    part.tensor.desc = tensor->desc;
    part.tensor.type = tensor->type;
    part.reads = SummaryReads(part.tensor.desc.shape);
    part.reads.add_to(op, part.tensor.desc.id);
  }
  impl_->enter_effect(op.op(), [parts = std::move(parts)](const TaskArgs& args) {
    std::string text;
    for (const Part& part : parts) {
      if (&part != &parts.front()) text += ' ';
      text += part.computed ? item_text(part.reads, part.tensor, args) : part.text;
    }
    write_text(text + "\n");
  });
  impl_->flush();
}

void Session::check(int line, const Tensor<bool>& condition, std::string_view message, int site) {
  plan::OpBuilder op(plan::OpClass::kCollect, "assert", site, line);
  op.write({}, {}).on_rank(0).read(condition.id(), {}).flops(0);
  impl_->enter_effect(op.op(), [place = impl_->at(line), text = std::string(message)](const TaskArgs& args) {
    if (!*reinterpret_cast<const bool*>(args.inputs[0].data)) throw RunError(place, text);
  });
  impl_->flush();
}

void Session::Impl::commit_outputs() {
  if (files.empty()) return;
  std::string error;
  const auto attempt = [&error](const auto& action) {
    if (!error.empty()) return;
    try {
      action();
    } catch (const RunError& e) {
      error = e.what();
    }
  };
  const auto agree = [&] {
    for (const std::vector<std::byte>& text : setup.world.access().all_gather(std::as_bytes(std::span(error)))) {
      if (!text.empty()) throw RunError(std::string(reinterpret_cast<const char*>(text.data()), text.size()));
    }
  };
  for (const auto& file : files) attempt([&] { file->sync(); });
  agree();
  for (const auto& file : files) {
    if (setup.world.rank() == 0) attempt([&] { file->commit(); });
  }
  agree();
  for (const auto& file : files) {
    if (setup.world.rank() != 0) file->release();
  }
}

}  // namespace tdsl::rt
