// Makes the model and the truth for c_api_test.c, and runs its checks.
#include "tests/platforms/c/c_api_test.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <fstream>
#include <mutex>
#include <thread>
#include <vector>

#include "graph/evaluate.h"
#include "graph/text.h"
#include "skiff/skiff.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tiny_models.h"
#include "trace/function.h"
#include "trace/ops.h"
#include "trace/save.h"

namespace skiff::testing {
namespace {

/// A temporary file with these bytes.
class ModelFile {
 public:
  explicit ModelFile(Span<const uint8_t> bytes) {
    char path[] = "/tmp/skiff_c_api_XXXXXX";
    const int file = mkstemp(path);
    if (file >= 0) close(file);
    path_ = path;
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  ~ModelFile() { unlink(path_.c_str()); }
  ModelFile(const ModelFile&) = delete;
  ModelFile& operator=(const ModelFile&) = delete;

  const char* c_str() const { return path_.c_str(); }

 private:
  std::string path_;
};

class CApi : public ::testing::Test {
 protected:
  Span<const uint8_t> bytes() const { return opened_.bytes.span(); }
  const float* image() const { return static_cast<const float*>(image_.data()); }
  float* scores() { return static_cast<float*>(scores_.mutable_data()); }
  double Error() const { return Compare(scores_, expected_).difference; }

  const OpenedModel opened_{kSmallNet};
  const ModelFile path_{bytes()};
  const TensorData image_ = RandomTensor(DType::kF32, Shape{1, 16, 16, 3}, 7);
  const TensorData expected_ = Evaluate(ParseGraph(kSmallNet), {{"image", image_}}).at("scores");
  TensorData scores_{DType::kF32, Shape{1, 10}};
};

TEST_F(CApi, RunsAModel) {
  EXPECT_STREQ(RunTheModel(path_.c_str(), image(), scores()), nullptr);
  EXPECT_LE(Error(), 1e-5);
}

TEST_F(CApi, BindsAndWritesInPlace) {
  EXPECT_STREQ(BindAndWriteInPlace(bytes().data(), bytes().size(), image(), scores()), nullptr);
  EXPECT_LE(Error(), 1e-5);
}

TEST_F(CApi, TellsTheModel) { EXPECT_STREQ(QueryTheModel(path_.c_str()), nullptr); }
TEST_F(CApi, TellsPicturesAndLabels) {
  ConvertOptions options;
  options.image.emplace();
  options.image->width = options.image->height = 16;
  options.image->bgr = true;
  options.image->mean = {1, 2, 3};
  options.image->scale = {0.5f, 0.25f, 0.125f};
  options.image->fit = ImageFit::kCrop;
  options.image->filter = ImageFilter::kNearest;
  options.image->resize = 20;
  for (char label = 'a'; label <= 'j'; ++label) options.labels.emplace_back(1, label);
  const OpenedModel model(kSmallNet, options);
  const ModelFile file(model.bytes.span());
  EXPECT_STREQ(ReadTheSettings(file.c_str()), nullptr);
  EXPECT_STREQ(WritePictures(file.c_str()), nullptr);
}
TEST_F(CApi, TellsHowIntegersStandForRealNumbers) {
  const OpenedModel model(R"(graph g {
    input x: i8[4] {scale=0.5, zero_point=-3}
    input table: f32[2, 3]
    rows: i16[2, 3] {scale=[1, 0.5, 2], zero_point=[0, 10, -10], axis=1} = Quantize(table)
    y: u8[4] {scale=0.25, zero_point=100} = Requantize(x)
    plain: f32[4] = Dequantize(x)
    output rows
    output y
    output plain
  })");
  EXPECT_STREQ(TellTheQuantization(ModelFile(model.bytes.span()).c_str()), nullptr);
}
TEST_F(CApi, NamesMisuseOfModels) { EXPECT_STREQ(MisuseTheModel(path_.c_str()), nullptr); }
TEST_F(CApi, NamesMisuseOfSessions) { EXPECT_STREQ(MisuseTheSession(path_.c_str()), nullptr); }
#ifdef SKIFF_WITH_XNNPACK
TEST_F(CApi, SessionsShareThreads) {
  EXPECT_STREQ(ShareThreads(path_.c_str(), image(), scores()), nullptr);
  EXPECT_LE(Error(), 1e-5);
}
TEST_F(CApi, KeepsACache) {
  const TempFolder folder;
  EXPECT_STREQ(KeepACache(path_.c_str(), bytes().data(), bytes().size(), folder.path().c_str()), nullptr);
}
#endif
TEST_F(CApi, StructsMayGrow) { EXPECT_STREQ(GrowTheStructs(path_.c_str()), nullptr); }
TEST_F(CApi, ShapesMayChange) {
  const OpenedModel open(R"(graph g {
    symbol n: 2..8 multiple 2
    symbol m: 1..
    input x: f32[n, 3]
    input w: i32[m]
    y = Add(x, x)
    z = Add(w, w)
    output y = y
    output z = z
  })");
  EXPECT_STREQ(ChangeTheShape(ModelFile(open.bytes.span()).c_str()), nullptr);
}
TEST_F(CApi, RunsCustomOperators) {
  const CustomOperator times = {"test::Times",
                                [](void*, const CustomCall& call) {
                                  call.outputs[0].dtype = call.inputs[0].dtype;
                                  call.outputs[0].shape = call.inputs[0].shape;
                                  return OkStatus();
                                },
                                [](void*, const CustomCall&) { return Status(StatusCode::kInternal); }};
  const uint8_t three = 3;
  eager::Function<eager::Tensor(const eager::Tensor&)> function = [&](const eager::Tensor& x) {
    return eager::Custom(times, {x}, 1, {&three, 1})[0];
  };
  const AlignedBytes bytes(eager::SerializeFunctions({{"times", function.Concrete({"f32[2]"})}}));
  EXPECT_STREQ(RunACustomOperator(ModelFile(bytes.span()).c_str()), nullptr);
}
TEST_F(CApi, KeepsState) {
  eager::Variable count("count", eager::Tensor::Scalar(1.0f));
  eager::Function<eager::Tensor(const eager::Tensor&)> step = [&](const eager::Tensor& x) {
    count.AssignAdd(x);
    return count + 0.0f;
  };
  eager::Function<eager::Tensor()> reset = [&] {
    count.Assign(count * 0.0f);
    return count + 0.0f;
  };
  const std::vector<uint8_t> file =
      eager::SerializeFunctions({{"step", step.Concrete({"f32[]"})}, {"reset", reset.Concrete({})}});
  EXPECT_STREQ(KeepTheState(ModelFile({file.data(), file.size()}).c_str()), nullptr);
}
TEST_F(CApi, MessagesGoToTheSinkOrTheBuffer) { EXPECT_STREQ(SinkTheLog(), nullptr); }
TEST_F(CApi, NumbersHaveNames) { EXPECT_STREQ(NameTheNumbers(), nullptr); }
TEST_F(CApi, TellsItsVersion) { EXPECT_STREQ(skiff_version_string(), SKIFF_PROJECT_VERSION); }

TEST_F(CApi, AnotherThreadCancels) {
  SkiffModel* model = nullptr;
  ASSERT_EQ(skiff_model_open_bytes(bytes().data(), bytes().size(), &model, nullptr, 0), SKIFF_OK);
  SkiffSessionOptions options;
  skiff_session_options_init(&options, sizeof(options));
  options.backend = SKIFF_BACKEND_REFERENCE;
  SkiffSession* session = nullptr;
  ASSERT_EQ(skiff_session_create(model, &options, &session, nullptr, 0), SKIFF_OK);
  SkiffTensor input;
  ASSERT_EQ(skiff_session_input_buffer(session, 0, &input, nullptr, 0), SKIFF_OK);

  std::atomic<bool> done{false};
  std::thread canceller([&] {
    while (!done) skiff_session_cancel(session);
  });
  char message[64] = "";
  SkiffStatus status = SKIFF_OK;
  for (int i = 0; i < 100000 && status == SKIFF_OK; ++i)
    status = skiff_session_run(session, message, sizeof(message));
  done = true;
  canceller.join();
  EXPECT_EQ(status, SKIFF_CANCELLED);
  EXPECT_STREQ(message, "cancelled");
  EXPECT_EQ(skiff_session_run(session, message, sizeof(message)), SKIFF_OK);
  EXPECT_STREQ(message, "");
  skiff_session_destroy(session);
  skiff_model_close(model);
}

/// Opens, creates, runs, cancels and closes, beside others that do the same and share a pool. The scores are
/// `expected`, bit by bit, or the run was cancelled by one of the others, who find Sessions in `published`.
class ManyCalls {
 public:
  static constexpr size_t kThreads = 8;
  static constexpr int kModels = 25;
  static constexpr int kRuns = 20;  ///< Of a Session.
  struct Published {
    std::mutex mutex;
    SkiffSession* session = nullptr;
  };
  using AllPublished = std::array<Published, kThreads>;

  ManyCalls(Span<const uint8_t> bytes, const TensorData& image, const std::vector<float>& expected,
            SkiffThreadPool* pool, AllPublished& published)
      : bytes_(bytes), image_(image), expected_(expected), pool_(pool), published_(published) {}

  /// "" or what went wrong.
  std::string Repeat(size_t number) {
    std::string wrong;
    for (int i = 0; i < kModels && wrong.empty(); ++i) {
      SkiffModel* model = nullptr;
      char message[256] = "";
      if (skiff_model_open_bytes(bytes_.data(), bytes_.size(), &model, message, sizeof(message)) != SKIFF_OK)
        return message;
      wrong = RunSessions(model, number, i);
      skiff_model_close(model);
    }
    return wrong;
  }
  /// How many runs were not cancelled.
  int completed() const { return completed_; }

 private:
  std::string RunSessions(SkiffModel* model, size_t number, int i) {
    SkiffSessionOptions options;
    skiff_session_options_init(&options, sizeof(options));
    if (i % 2 == 0)
      options.thread_pool = pool_;
    else
      options.threads = 1;
    char message[256] = "";
    SkiffSession* session = nullptr;
    if (skiff_session_create(model, &options, &session, message, sizeof(message)) != SKIFF_OK) return message;
    Publish(number, session);
    std::string wrong;
    for (int run = 0; run < kRuns && wrong.empty(); ++run) {
      if (run % 5 == 4) Cancel((number + static_cast<size_t>(run)) % published_.size());
      wrong = RunOnce(session);
    }
    Publish(number, nullptr);
    skiff_session_destroy(session);
    return wrong;
  }

  std::string RunOnce(SkiffSession* session) {
    char message[256] = "";
    SkiffTensor tensor;
    if (skiff_session_input_buffer(session, 0, &tensor, message, sizeof(message)) != SKIFF_OK) return message;
    std::memcpy(tensor.data, image_.data(), image_.size_bytes());
    const SkiffStatus status = skiff_session_run(session, message, sizeof(message));
    if (status == SKIFF_CANCELLED) return "";
    if (status != SKIFF_OK || skiff_session_output(session, 0, &tensor, message, sizeof(message)) != SKIFF_OK)
      return message;
    const bool same = std::memcmp(tensor.data, expected_.data(), expected_.size() * sizeof(float)) == 0;
    ++completed_;
    return same ? "" : "the scores are not those of a run alone";
  }

  void Publish(size_t number, SkiffSession* session) {
    const std::lock_guard lock(published_[number].mutex);
    published_[number].session = session;
  }
  void Cancel(size_t number) {
    const std::lock_guard lock(published_[number].mutex);
    if (published_[number].session != nullptr) skiff_session_cancel(published_[number].session);
  }

  Span<const uint8_t> bytes_;
  const TensorData& image_;
  const std::vector<float>& expected_;
  SkiffThreadPool* pool_;
  AllPublished& published_;
  int completed_ = 0;
};

TEST_F(CApi, ManyThreadsOpenRunCancelAndClose) {
  ASSERT_STREQ(RunTheModel(path_.c_str(), image(), scores()), nullptr);
  const std::vector<float> expected(scores(), scores() + 10);
  SkiffThreadPool* pool = nullptr;
  ASSERT_EQ(skiff_thread_pool_create(2, &pool, nullptr, 0), SKIFF_OK);
  ManyCalls::AllPublished published;
  std::array<std::string, ManyCalls::kThreads> wrong;
  std::vector<ManyCalls> calls(wrong.size(), {bytes(), image_, expected, pool, published});
  std::vector<std::thread> threads;
  for (size_t i = 0; i < wrong.size(); ++i) threads.emplace_back([&, i] { wrong[i] = calls[i].Repeat(i); });
  for (std::thread& thread : threads) thread.join();
  skiff_thread_pool_destroy(pool);
  for (size_t i = 0; i < wrong.size(); ++i) {
    EXPECT_EQ(wrong[i], "");
    // A run is cancelled by at most one call, of which each thread makes one for five runs of its own.
    EXPECT_GT(calls[i].completed(), ManyCalls::kModels * ManyCalls::kRuns / 2);
  }
}

}  // namespace
}  // namespace skiff::testing
