#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <utility>

#include "runtime/engine/engine_state.h"
#include "runtime/engine/messages/wire.h"
#include "runtime/kernels/copy.h"
#include "runtime/message_id.h"

namespace tdsl::rt {

namespace {

constexpr int kMessagesPerPoll = 64;
/// Seconds between polls within kernels.
constexpr double kPollInKernel = 1e-3;

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

struct Shape {
  std::array<std::int64_t, plan::kMaxRank> extents{};
  std::array<std::int64_t, plan::kMaxRank> strides{};
  std::size_t rank = 0;

  explicit Shape(const Operand& operand) : strides(operand.stride), rank(static_cast<std::size_t>(operand.box.rank)) {
    for (std::size_t d = 0; d < rank; ++d) extents[d] = operand.box.dim[d].size();
  }
};

std::vector<std::byte> packed(const PostPack& pack) {
  std::vector<wire::PackEntry> head;
  for (const PostPack::Entry& entry : pack.entries) head.push_back({entry.slot, entry.sized_bytes});
  std::vector<std::byte> bytes = wire::encode_pack_head(head);
  std::size_t end = bytes.size();
  bytes.resize(end + static_cast<std::size_t>(pack.bytes));
  for (const PostPack::Entry& entry : pack.entries) {
    if (entry.box.box.empty()) continue;
    if (entry.packing.to.rows != nullptr) entry.packing.run();
    copy_box(entry.box, row_major(bytes.data() + end, entry.box.box), entry.box.box, entry.element_bytes);
    end += static_cast<std::size_t>(entry.box.box.volume() * entry.element_bytes);
  }
  return bytes;
}

}  // namespace

void Engine::State::post(Transport& access, const Posting& posting) {
  std::visit(Overloaded{[&](const PostReceive& p) {
                          const std::int64_t extent = p.piece->buffer->bytes(), stride = 1;
                          access.irecv(p.source, p.slot,
                                       MutableBox{p.piece->buffer->data(), 1, {&extent, 1}, {&stride, 1}}, p.site,
                                       p.cookie);
                        },
                        [&](const PostSend& p) {
                          delays.pause();
                          if (p.packing.to.rows != nullptr) p.packing.run();
                          const Shape shape(p.box);
                          access.isend(p.request.rank, static_cast<int>(p.request.slot),
                                       ConstBox{p.box.data, p.element_bytes, std::span(shape.extents).first(shape.rank),
                                                std::span(shape.strides).first(shape.rank)},
                                       p.request.site, p.cookie);
                        },
                        [&](const PostPack& p) {
                          delays.pause();
                          access.send_control(p.target, wire::kPack, packed(p), p.site, p.bytes);
                        },
                        [&](const PostControl& p) {
                          delays.pause();
                          const double start = thread_trace != nullptr ? context.now() : 0;
                          access.send_control(p.target, p.tag, p.bytes);
                          if (thread_trace != nullptr) tracer.control(p, start);
                        },
                        [&](const PostBarrier&) { access.ibarrier(InFlight::kBarrierCookie); }},
             posting);
}

bool Engine::State::poll() {
  bool moved = polls.includes_disk && take_disk();
  if (context.single()) return moved;
  do {
    auto access = context.world.try_access();
    if (!access) return moved;
    moved = poll_once(*access) || moved;
    // Threads that enqueued postings in the meantime could not get the MPI token.
  } while (outbox.filled());
  return moved;
}

/// Called by a kernel, without the lock.
void Engine::State::poll_in_kernel() noexcept {
  const double before = polls.last;
  const double time = context.now();
  if (time - before < kPollInKernel) return;
  try {
    poll();
    const Lock lock(context.mutex);
    ++profile.silence.polls;
    profile.note_silence(time - before);
    ready.offer(false);
    ready.offer_any();
  } catch (...) { failure.fail(std::current_exception()); }
}

/// Called by a thread of the disk, without the lock.
void Engine::State::on_disk_completion(int thread) noexcept {
  const TraceScope traced(context.options.trace != nullptr ? &context.options.trace->of_disk(thread) : nullptr);
  try {
    take_disk();
    poll();
    const Lock lock(context.mutex);
    ready.offer_any();
  } catch (...) { failure.fail(std::current_exception()); }
}

bool Engine::State::take_disk() {
  std::vector<DiskCompletion> done;
  const Lock lock(context.mutex);
  if (context.options.disk->test_some(done) == 0) return false;
  for (const DiskCompletion& completion : done) {
    const DiskTransfer transfer = disk.take(completion.cookie);
    if (failure.failed()) continue;
    if (thread_trace != nullptr) tracer.transfer(transfer, completion);
    if (!completion.error.empty()) {
      const bool in_file = transfer.tensor->read_file != nullptr;
      throw RunError(with_id("`" + transfer.tensor->placed.desc.name + "`, " +
                                 (in_file ? "which stays in its file: " : "of which blocks are on disk: ") +
                                 completion.error,
                             "spill"));
    }
    end_transfer(transfer);
  }
  if (failure.failed()) return true;
  admit();
  ready.wake_all();
  return true;
}

void Engine::State::end_transfer(const DiskTransfer& transfer) {
  TensorInstance& tensor = *transfer.tensor;
  switch (transfer.kind) {
    case DiskTransfer::Kind::kWrite: disk.end_write(transfer); break;
    case DiskTransfer::Kind::kLoad:
      --context.tensors.block(tensor, transfer.block).transfers;
      ready.arrive(*transfer.piece);
      break;
    case DiskTransfer::Kind::kServe: return answers.answer(transfer);  // counted in `sends` since the request
  }
  context.tensors.free_if_unheld(tensor, transfer.block);
}

bool Engine::State::poll_once(Transport& access) {
  std::vector<Posting> postings;
  {
    const Lock lock(context.mutex);
    polls.last = context.now();
    postings = outbox.take();
  }
  for (const Posting& posting : postings) post(access, posting);
  std::vector<Completion> completions;
  access.test_some(completions);
  std::vector<ControlMessage> messages;
  for (int i = 0; i < kMessagesPerPoll; ++i) {
    std::optional<ControlMessage> message = access.receive_control();
    if (!message) break;
    messages.push_back(std::move(*message));
  }
  const std::size_t backlog = access.pending_control();
  const bool drained = polls.backlog.exchange(backlog) > backlog;
  if (postings.empty() && completions.empty() && messages.empty()) {
    if (drained) {  // an exchange may wait for it
      const Lock lock(context.mutex);
      ready.wake_all();
    }
    return false;
  }
  // A message that throws drops the messages after it; failures and verdicts must not be among them.
  std::ranges::stable_partition(
      messages, [](const ControlMessage& m) { return m.tag == wire::kAbort || m.tag == wire::kFailure; });
  Lock lock(context.mutex);
  for (const Posting& posting : postings) {
    const auto* const pack = std::get_if<PostPack>(&posting);
    if (pack == nullptr) continue;
    for (const PostPack::Entry& entry : pack->entries) take_completion({entry.cookie, false});
  }
  postings.clear();  // under the lock: they may hold the last reference to a piece
  for (const Completion& completion : completions) take_completion(completion);
  for (const ControlMessage& message : messages) take_message(message);
  admit();
  if (failure.failed()) {
    ready.wake_all();
  } else {
    ready.tell_program();  // the caller offers the tasks
  }
  const std::vector<Notices::Action> due = notices.take_due();
  if (failure.failed() && notices.settled()) failure.end();
  lock.unlock();
  call_due(due);
  return true;
}

void Engine::State::take_completion(const Completion& completion) {
  if (completion.cookie == InFlight::kBarrierCookie) {
    in_flight.barrier_over = true;
    return;
  }
  InFlight::Message flight = in_flight.take(completion.cookie);
  if (completion.received) {
    in_flight.slots.give_back(flight.source, flight.slot);
    arrive(*flight.piece);
    return;
  }
  if (flight.sent) tracer.sent(*flight.sent);
  if (flight.relay != nullptr) return relays.end_send(*flight.relay);
  if (flight.served) disk.end_serve(std::move(flight.buffer));
  Block& block = flight.tensor->blocks.at(flight.block);
  --block.sends;
  if (block.away && !flight.served) disk.end_send_of_away();
  context.tensors.free_if_unheld(*flight.tensor, flight.block);
}

void Engine::State::arrive(RemotePiece& piece) {
  if (thread_trace != nullptr && piece.source != context.me) tracer.received(piece);
  ready.arrive(piece);
  if (piece.rows != nullptr) profile.sites.at(piece.site).bytes_by_lists += bytes_of(piece.buffer);
  if (piece.relay == nullptr) return;
  for (const Request& request : std::exchange(piece.relay->waiting, {})) answers.forward(*piece.relay, request);
}

void Engine::State::take_pack(const ControlMessage& message) {
  std::span<const std::byte> bytes = message.bytes;
  for (const wire::PackEntry& entry : wire::decode_pack_head(bytes)) {
    const std::shared_ptr<RemotePiece> piece = in_flight.take_piece(entry.slot);
    if (entry.bytes >= 0) sized.settle(*piece, entry.bytes);
    const auto size = static_cast<std::size_t>(bytes_of(piece->buffer));
    TDSL_CHECK(size <= bytes.size(), "a pack holds the boxes it names");
    if (size > 0) std::memcpy(piece->buffer->data(), bytes.data(), size);
    bytes = bytes.subspan(size);
    arrive(*piece);
  }
  TDSL_CHECK(bytes.empty(), "a pack has only the boxes it names");
}

void Engine::State::take_message(const ControlMessage& message) {
  switch (message.tag) {
    case wire::kRequests:
      for (const Request& request : wire::decode_requests(message.bytes, message.source)) answers.take(request);
      return;
    case wire::kPack: return take_pack(message);
    case wire::kSizes:
      for (const wire::Size& size : wire::decode_sizes(message.bytes)) sized.take_size(size);
      return;
    case wire::kGo:
      for (const wire::Go& go : wire::decode_goes(message.bytes)) sized.take_go(go);
      return;
    case wire::kLeases:
      for (const wire::Lease& lease : wire::decode_leases(message.bytes)) {
        const std::shared_ptr<RemotePiece> piece = leases.take(message.source, lease);
        arrive(*piece);
      }
      return;
    case wire::kReturns:
      for (const Index number : wire::decode_returns(message.bytes))
        take_completion({static_cast<std::uint64_t>(number), false});
      return;
    case wire::kList: return lists.take(message);
    case wire::kExchange: return exchanges.take_message(message);
    case wire::kShare: return exchanges.take_shared(message);
    case wire::kBoundary: return send_boundary(outbox, boundaries.take(decode_boundary(message)));
    case wire::kNotice: return notices.take_message(message);
    case wire::kNoted: return notices.take_end();
    case wire::kPulse: return watching.take_pulse(message);
    case wire::kAsk: return watching.take_ask(status(), message);
    case wire::kStatus: return watching.take_status(message);
    case wire::kFailure:
    case wire::kAbort:
    case wire::kLeave: return failure.take(message);
    default: TDSL_CHECK(false, "a control message has a known tag");
  }
}

void Engine::State::call_due(const std::vector<Notices::Action>& due) {
  if (due.empty()) return;
  std::exception_ptr error;
  for (const Notices::Action& action : due) {
    try {
      action();
    } catch (...) {
      if (error == nullptr) error = std::current_exception();
    }
  }
  {
    const Lock lock(context.mutex);
    notices.called(due.size());
    ready.wake_all();
  }
  if (error != nullptr && !failure.failed()) std::rethrow_exception(error);
}

}  // namespace tdsl::rt
