// The loader against files that are damaged in ways a person would recognise; random damage is tests/fuzz.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "core/error_capture.h"
#include "format/container.h"
#include "skiff/delegates.h"
#include "tests/support/tiny_models.h"

namespace skiff::testing {
namespace {

using ::testing::HasSubstr;

class Loader : public ::testing::Test {
 protected:
  StatusCode Open(const std::vector<uint8_t>& file) {
    const AlignedBytes bytes(file);
    ErrorCapture capture;
    ModelOptions options;
    options.delegates = BuiltinDelegates();
    const StatusCode code = Model::Open(bytes.span(), options).status().code();
    message_ = capture.message();
    return code;
  }

  format::FileHeader Header() const {
    format::FileHeader header;
    std::memcpy(&header, file_.data(), sizeof(header));
    return header;
  }
  void SetHeader(const format::FileHeader& header) { std::memcpy(file_.data(), &header, sizeof(header)); }

  std::vector<uint8_t> file_ = OpenedModel(kSmallNet).converted->file;
  std::string message_;
};

TEST_F(Loader, AcceptsItsOwnFile) { EXPECT_EQ(Open(file_), StatusCode::kOk) << message_; }

TEST_F(Loader, NamesWhatIsWrong) {
  EXPECT_EQ(Open({1, 2, 3}), StatusCode::kInvalidModel);
  EXPECT_THAT(message_, HasSubstr("3 bytes"));
  std::vector<uint8_t> other(1000, 'x');
  EXPECT_EQ(Open(other), StatusCode::kInvalidModel);
  EXPECT_THAT(message_, HasSubstr("skiff convert"));
  std::vector<uint8_t> cut(file_.begin(), file_.end() - 100);
  EXPECT_EQ(Open(cut), StatusCode::kInvalidModel);
  EXPECT_THAT(message_, HasSubstr("cut or changed"));
}

TEST_F(Loader, RefusesNewerVersionsWithARemedy) {
  format::FileHeader header = Header();
  header.container_version = 2;
  SetHeader(header);
  EXPECT_EQ(Open(file_), StatusCode::kUnsupported);
  EXPECT_THAT(message_, HasSubstr("update Skiff"));
}

TEST_F(Loader, ChecksTheHeadersOffsets) {
  const format::FileHeader good = Header();
  for (const uint64_t bad : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 40, ~uint64_t{0}}) {
    format::FileHeader header = good;
    header.model_size = bad;
    SetHeader(header);
    EXPECT_NE(Open(file_), StatusCode::kOk) << "model_size " << bad;
    header = good;
    header.weights_offset = bad;
    SetHeader(header);
    EXPECT_NE(Open(file_), StatusCode::kOk) << "weights_offset " << bad;
    header = good;
    header.weights_size = bad | 1;
    SetHeader(header);
    EXPECT_NE(Open(file_), StatusCode::kOk) << "weights_size " << bad;
  }
}

TEST_F(Loader, FilesThatCannotBeReadAreNamed) {
  ErrorCapture capture;
  EXPECT_EQ(Model::Open("/nonexistent/model.skiff").status().code(), StatusCode::kIo);
  EXPECT_THAT(capture.message(), HasSubstr("/nonexistent/model.skiff"));
  EXPECT_EQ(Model::Open("/").status().code(), StatusCode::kIo);
}

TEST_F(Loader, EqualWeightsAreStoredOnce) {
  const OpenedModel once(R"(graph g {
    input x: f32[1, 64]
    const w: f32[64, 64] = seed 1
    y: f32[1, 64] = FullyConnected(x, w, _)
    output y = y
  })");
  const OpenedModel twice(R"(graph g {
    input x: f32[1, 64]
    const w: f32[64, 64] = seed 1
    const v: f32[64, 64] = seed 1
    z: f32[1, 64] = FullyConnected(x, w, _)
    y: f32[1, 64] = FullyConnected(z, v, _)
    output y = y
  })");
  EXPECT_EQ(once.model->weights_bytes(), twice.model->weights_bytes());
}

/// A file of a megabyte, in which all plans share one list of outputs: each has a copy.
TEST_F(Loader, CountsOutputsForEachPlan) {
  constexpr uint32_t kOutputs = 60000;
  constexpr size_t kPlans = 60;
  flatbuffers::FlatBufferBuilder b;
  const std::vector<int64_t> extents = {1};
  const auto f32 = static_cast<uint8_t>(DType::kF32);
  const auto tensor = format::CreateTensor(b, f32, b.CreateVector(extents), 0);
  const auto tensors = b.CreateVector(std::vector{tensor});
  const auto port = format::CreatePortDirect(b, "y", f32, &extents);
  const auto ports = b.CreateVector(std::vector(kOutputs, port));
  const auto outputs = b.CreateVector(std::vector<int32_t>(kOutputs, 0));
  format::PlanBuilder plan(b);
  plan.add_tensors(tensors);
  plan.add_outputs(outputs);
  const auto made = plan.Finish();
  const auto plans = b.CreateVector(std::vector(kPlans, made));
  const auto signature = format::CreateSignature(b, b.CreateString("main"), 0, ports, plans);
  const std::vector<format::Blob> blobs = {format::Blob(0, 4, 0, 0)};
  const auto model = format::CreateModel(b, 1, b.CreateString("test"), b.CreateVector(std::vector{signature}),
                                         0, b.CreateVectorOfStructs(blobs));
  format::FinishModelBuffer(b, model);
  format::FileHeader header = Header();
  header.model_size = b.GetSize();
  header.weights_offset = format::AlignUp(header.model_offset + header.model_size);
  header.weights_size = format::kAlignment;
  header.file_size = header.weights_offset + header.weights_size + format::kAlignment;
  file_.assign(header.file_size, 0);
  SetHeader(header);
  std::memcpy(file_.data() + header.model_offset, b.GetBufferPointer(), b.GetSize());
  EXPECT_EQ(Open(file_), StatusCode::kInvalidModel);
  EXPECT_THAT(message_, HasSubstr("it has more than 2097152 references"));
}

}  // namespace
}  // namespace skiff::testing
