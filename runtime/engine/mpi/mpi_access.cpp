#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "runtime/check.h"
#include "runtime/engine/mpi/mpi_box.h"
#include "runtime/engine/mpi/mpi_state.h"
#include "runtime/engine/mpi/mpi_world.h"

namespace tdsl::rt {

void MpiLink::finish_request(std::size_t index, const tdsl_mpi_status& status, std::vector<Completion>& done) {
  const PendingPiece& piece = pieces[index];
  PendingOperation& operation = operations[piece.operation];
  if (operation.received) {
    if (status.bytes != piece.bytes) {
      wrong_size = std::to_string(piece.bytes) + " bytes expected, " + std::to_string(status.bytes) +
                   " received from rank " + std::to_string(status.source);
    }
    count_received(status.source, piece.statement, status.bytes);
  }
  if (--operation.pieces == 0) {
    done.push_back({operation.cookie, operation.received});
    free_operations.push_back(piece.operation);
  }
}

void MpiLink::drop_sent_control() {
  if (outgoing.empty()) return;
  for (OutgoingControl& message : outgoing) {
    int finished_flag = 0;
    check_mpi(mpi().test(&message.request, &finished_flag), "MPI_Test");
  }
  std::erase_if(outgoing, [null = mpi().request_null](const OutgoingControl& m) { return m.request == null; });
}

namespace {

std::int64_t bytes_of(const BoxPiece& piece, std::int64_t element_bytes) {
  std::int64_t bytes = element_bytes;
  for (const std::int64_t extent : piece.extents) { bytes *= extent; }
  return bytes;
}

/// Bytes from the box's base to the piece's first element.
std::int64_t offset_of(const BoxPiece& piece, std::span<const std::int64_t> strides, std::int64_t element_bytes) {
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < strides.size(); ++d) { offset += piece.offset[d] * strides[d] * element_bytes; }
  return offset;
}

}  // namespace

void MpiLink::isend(int rank, int tag, const ConstBox& box, StatementId statement, std::uint64_t cookie) {
  MpiLink& s = *this;
  s.check_peer(rank, tag);
  const std::vector<BoxPiece> pieces = cut_box(box.extents, box.element_bytes, World::kPieceBytes);
  const std::size_t operation = s.begin_operation(cookie, false, pieces.size());
  for (const BoxPiece& piece : pieces) {
    const BoxType type(piece.extents, box.strides, box.element_bytes);
    const std::byte* from = box.base + offset_of(piece, box.strides, box.element_bytes);
    MpiHandle request = 0;
    check_mpi(mpi().isend(from, type.count(), type.type(), rank, tag, s.data, &request), "MPI_Isend");
    s.add_request(request, {operation, -1, statement});
    const std::int64_t bytes = bytes_of(piece, box.element_bytes);
    s.count(statement, [bytes](Traffic& t) {
      t.bytes_sent += bytes;
      ++t.messages_sent;
    });
  }
}

void MpiLink::irecv(int rank, int tag, const MutableBox& box, StatementId statement, std::uint64_t cookie) {
  MpiLink& s = *this;
  s.check_peer(rank, tag);
  const std::vector<BoxPiece> pieces = cut_box(box.extents, box.element_bytes, World::kPieceBytes);
  const std::size_t operation = s.begin_operation(cookie, true, pieces.size());
  for (const BoxPiece& piece : pieces) {
    const BoxType type(piece.extents, box.strides, box.element_bytes);
    std::byte* to = box.base + offset_of(piece, box.strides, box.element_bytes);
    MpiHandle request = 0;
    check_mpi(mpi().irecv(to, type.count(), type.type(), rank, tag, s.data, &request), "MPI_Irecv");
    s.add_request(request, {operation, bytes_of(piece, box.element_bytes), statement});
  }
}

std::size_t MpiLink::test_some(std::vector<Completion>& done) {
  MpiLink& s = *this;
  const std::size_t before = done.size();
  done.insert(done.end(), s.finished.begin(), s.finished.end());
  s.finished.clear();
  if (s.requests.empty()) { return done.size() - before; }
  s.indices.resize(s.requests.size());
  s.statuses.resize(s.requests.size());
  int count = 0;
  check_mpi(mpi().testsome(static_cast<int>(s.requests.size()), s.requests.data(), &count, s.indices.data(),
                           s.statuses.data()),
            "MPI_Testsome");
  if (count == 0) { return done.size() - before; }
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    s.finish_request(static_cast<std::size_t>(s.indices[i]), s.statuses[i], done);
  }
  // Thrown last, so that no other completion is lost.
  const std::string wrong_size = std::exchange(s.wrong_size, {});
  // The order is preserved, so that MPI tests the oldest requests first.
  std::size_t kept = 0;
  const MpiHandle null = mpi().request_null;
  for (std::size_t i = 0; i < s.requests.size(); ++i) {
    if (s.requests[i] != null) {
      s.requests[kept] = s.requests[i];
      s.pieces[kept] = s.pieces[i];
      ++kept;
    }
  }
  s.requests.resize(kept);
  s.pieces.resize(kept);
  TDSL_CHECK(wrong_size.empty(), "a message has the announced size: " + wrong_size);
  return done.size() - before;
}

namespace {

/// Trailer of a control message with payload, which is marked by a bit in its MPI tag.
struct PayloadNote {
  std::int64_t statement = kNoStatement;
  std::int64_t payload = 0;
};
constexpr int kPayloadBit = World::kControlTags;

}  // namespace

void MpiLink::send_control(int rank, int tag, std::span<const std::byte> bytes, StatementId statement,
                           std::int64_t payload) {
  MpiLink& s = *this;
  TDSL_CHECK(0 <= rank && rank < s.size && 0 <= tag && tag < World::kControlTags,
             "a control message has a destination");
  TDSL_CHECK(static_cast<std::int64_t>(bytes.size()) <= World::kPieceBytes, "a control message is at most 1 GiB");
  if (rank == s.rank) {  // not counted as traffic
    s.to_self.push_back({rank, tag, {bytes.begin(), bytes.end()}});
    return;
  }
  s.drop_sent_control();
  OutgoingControl& message = s.outgoing.emplace_back();
  message.bytes.assign(bytes.begin(), bytes.end());
  if (payload > 0) {
    const PayloadNote note{statement, payload};
    const auto view = std::as_bytes(std::span(&note, 1));
    message.bytes.insert(message.bytes.end(), view.begin(), view.end());
    tag |= kPayloadBit;
  }
  const auto length = static_cast<std::int64_t>(message.bytes.size());
  check_mpi(mpi().isend(message.bytes.data(), length, mpi().byte_type, rank, tag, s.control, &message.request),
            "MPI_Isend");
  s.count(statement, [=](Traffic& t) {
    t.control_bytes_sent += length - payload;
    t.bytes_sent += payload;
    ++(payload > 0 ? t.messages_sent : t.control_messages_sent);
  });
}

std::optional<ControlMessage> MpiLink::receive_control() {
  MpiLink& s = *this;
  if (!s.to_self.empty()) {
    ControlMessage message = std::move(s.to_self.front());
    s.to_self.pop_front();
    return message;
  }
  if (!s.has_mpi) { return std::nullopt; }
  s.drop_sent_control();
  int arrived = 0;
  MpiHandle handle = 0;
  tdsl_mpi_status status{};
  check_mpi(mpi().improbe(s.control, &arrived, &handle, &status), "MPI_Improbe");
  if (arrived == 0) { return std::nullopt; }
  const std::int64_t length = status.bytes;
  ControlMessage message{status.source, status.tag, std::vector<std::byte>(static_cast<std::size_t>(length))};
  check_mpi(mpi().mrecv(message.bytes.data(), length, &handle), "MPI_Mrecv");
  PayloadNote note;
  if ((message.tag & kPayloadBit) != 0) {
    TDSL_CHECK(message.bytes.size() >= sizeof note, "a control message with payload says how much");
    std::memcpy(&note, message.bytes.data() + message.bytes.size() - sizeof note, sizeof note);
    message.bytes.resize(message.bytes.size() - sizeof note);
    message.tag &= ~kPayloadBit;
  }
  const auto statement = static_cast<StatementId>(note.statement);
  if (note.payload > 0) s.count_received(message.source, statement, note.payload);
  s.count(statement, [&](Traffic& t) {
    t.control_bytes_received += length - note.payload;
    t.control_messages_received += note.payload > 0 ? 0 : 1;
  });
  return message;
}

std::size_t MpiLink::pending_control() {
  drop_sent_control();
  return outgoing.size();
}

void MpiLink::ibarrier(std::uint64_t cookie) {
  MpiLink& s = *this;
  if (!s.has_mpi) {
    s.finished.push_back({cookie, false});
    return;
  }
  MpiHandle request = 0;
  check_mpi(mpi().ibarrier(s.data, &request), "MPI_Ibarrier");
  s.add_request(request, {s.begin_operation(cookie, false, 1), -1, kNoStatement});
}

/// For collectives outside the engine: polls, since other ranks may have stopped.
void MpiLink::wait(MpiHandle request, const char* what) {
  constexpr int kPolls = 2000;
  constexpr std::chrono::microseconds kNap{50};
  for (int polls = 0;; ++polls) {
    int done = 0;
    check_mpi(mpi().test(&request, &done), what);
    if (done != 0) return;
    if (while_waiting.call != nullptr) while_waiting.call(while_waiting.argument);
    if (polls < kPolls) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kNap);
    }
  }
}

void MpiLink::barrier() {
  if (!has_mpi) return;
  MpiHandle request = 0;
  check_mpi(mpi().ibarrier(control, &request), "MPI_Ibarrier");
  wait(request, "MPI_Ibarrier");
}

void MpiLink::broadcast(std::vector<std::byte>& bytes, int root) {
  MpiLink& s = *this;
  if (!s.has_mpi) { return; }
  auto length = static_cast<std::int64_t>(bytes.size());
  MpiHandle request = 0;
  check_mpi(mpi().ibcast(&length, sizeof length, root, s.control, &request), "MPI_Ibcast");
  wait(request, "MPI_Ibcast");
  TDSL_CHECK(length <= World::kPieceBytes, "a broadcast is at most 1 GiB");
  bytes.resize(static_cast<std::size_t>(length));
  check_mpi(mpi().ibcast(bytes.data(), length, root, s.control, &request), "MPI_Ibcast");
  wait(request, "MPI_Ibcast");
}

std::vector<std::vector<std::byte>> MpiLink::all_gather(std::span<const std::byte> bytes) {
  MpiLink& s = *this;
  if (!s.has_mpi) { return {std::vector<std::byte>(bytes.begin(), bytes.end())}; }
  const auto ranks = static_cast<std::size_t>(s.size);
  TDSL_CHECK(static_cast<std::int64_t>(bytes.size()) <= World::kPieceBytes, "a gathered piece is at most 1 GiB");
  const int length = static_cast<int>(bytes.size());
  std::vector<int> lengths(ranks), offsets(ranks);
  MpiHandle request = 0;
  check_mpi(mpi().iallgather(&length, sizeof length, lengths.data(), s.control, &request), "MPI_Iallgather");
  wait(request, "MPI_Iallgather");
  std::int64_t total = 0;
  for (std::size_t r = 0; r < ranks; ++r) {
    offsets[r] = static_cast<int>(total);
    total += lengths[r];
    TDSL_CHECK(total <= World::kPieceBytes, "an all_gather is at most 1 GiB");
  }
  std::vector<std::byte> all(static_cast<std::size_t>(total));
  check_mpi(mpi().iallgatherv(bytes.data(), length, all.data(), lengths.data(), offsets.data(), s.control, &request),
            "MPI_Iallgatherv");
  wait(request, "MPI_Iallgatherv");
  std::vector<std::vector<std::byte>> result;
  for (std::size_t r = 0; r < ranks; ++r) {
    const auto first = all.begin() + offsets[r];
    result.emplace_back(first, first + lengths[r]);
  }
  return result;
}

}  // namespace tdsl::rt
