/// Takes .skiff files apart and puts damaged ones together.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/error_capture.h"
#include "format/container.h"
#include "model_generated.h"
#include "skiff/delegates.h"
#include "tests/support/tiny_models.h"

namespace skiff::testing {

/// A file taken apart: the FlatBuffer part, and the weights behind it.
struct Parts {
  std::vector<uint8_t> flatbuffer;
  std::vector<uint8_t> weights;

  explicit Parts(const std::vector<uint8_t>& file) {
    format::FileHeader header;
    std::memcpy(&header, file.data(), sizeof(header));
    flatbuffer.assign(file.begin() + static_cast<long>(header.model_offset),
                      file.begin() + static_cast<long>(header.model_offset + header.model_size));
    weights.assign(file.begin() + static_cast<long>(header.weights_offset), file.end());
  }

  std::unique_ptr<format::ModelT> Unpack() const { return format::UnPackModel(flatbuffer.data()); }

  std::vector<uint8_t> Assemble(const uint8_t* model, size_t model_size) const {
    format::FileHeader header = {};
    std::memcpy(header.magic, format::kMagic, sizeof(header.magic));
    header.container_version = 1;
    header.model_offset = sizeof(header);
    header.model_size = model_size;
    header.weights_offset = format::AlignUp(sizeof(header) + model_size);
    header.weights_size = weights.size() - format::kAlignment;
    header.file_size = header.weights_offset + weights.size();
    std::vector<uint8_t> file(header.file_size);
    std::memcpy(file.data(), &header, sizeof(header));
    std::memcpy(file.data() + sizeof(header), model, model_size);
    std::memcpy(file.data() + header.weights_offset, weights.data(), weights.size());
    return file;
  }

  std::vector<uint8_t> Assemble(const format::ModelT& model) const {
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(format::Model::Pack(builder, &model), format::ModelIdentifier());
    return Assemble(builder.GetBufferPointer(), builder.GetSize());
  }
};

using PlanDamage = std::function<void(format::ModelT&, format::PlanT&)>;

/// The file of a graph in the text form, its first plan damaged.
inline std::vector<uint8_t> Damaged(const std::string& graph, const PlanDamage& damage) {
  const Parts parts(OpenedModel(graph).converted->file);
  const std::unique_ptr<format::ModelT> model = parts.Unpack();
  damage(*model, *model->signatures[0]->plans[0]);
  return parts.Assemble(*model);
}

/// A damaged loop may never end.
inline Status RunForAWhile(Session& session) {
  std::mutex mutex;
  std::condition_variable ended;
  bool over = false;
  std::thread watch([&] {
    std::unique_lock<std::mutex> lock(mutex);
    // Run() takes back a cancellation that comes before it begins.
    while (!ended.wait_for(lock, std::chrono::milliseconds(20), [&] { return over; })) session.Cancel();
  });
  const Status status = session.Run();
  {
    const std::lock_guard<std::mutex> lock(mutex);
    over = true;
  }
  ended.notify_one();
  watch.join();
  return status;
}

/// Opens a file and runs it on every backend; the error's text, or "".
inline std::string OpenAndRun(const std::vector<uint8_t>& file, bool keep_intermediates = false) {
  const AlignedBytes bytes(file);
  ErrorCapture capture;
  ModelOptions options;
  options.delegates = BuiltinDelegates();
  Result<std::unique_ptr<Model>> model = Model::Open(bytes.span(), options);
  if (!model.ok()) return capture.message();
  for (const Backend backend : {Backend::kReference, Backend::kPlanned}) {
    SessionOptions session_options;
    session_options.backend = backend;
    session_options.threads = 1;
    session_options.memory_limit = uint64_t{64} << 20;
    session_options.keep_intermediates = keep_intermediates;
    Result<std::unique_ptr<Session>> session = Session::Create(**model, session_options);
    if (!session.ok()) return capture.message();
    for (size_t i = 0; i < (*session)->signature().inputs.size(); ++i) {
      Result<TensorView> input = (*session)->InputBuffer(static_cast<int>(i));
      if (!input.ok()) return capture.message();
      // Small reals and, as integers, the index 1 or 0: a Gather of an undamaged file stays in range.
      const TensorView& view = input.value();
      std::memset(view.data, 0, static_cast<size_t>(view.bytes()));
      for (int64_t j = 0; j < view.bytes(); j += 8) view.as<uint8_t>()[j] = 1;
    }
    if (const Status status = RunForAWhile(**session); !status.ok())
      return status.code() == StatusCode::kCancelled ? "an endless loop was cancelled" : capture.message();
  }
  return "";
}

}  // namespace skiff::testing
