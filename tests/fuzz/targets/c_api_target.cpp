// The C API: bytes are a sequence of calls with their arguments, within what its header allows.
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "skiff/skiff.h"
#include "tests/fuzz/targets/target.h"

namespace skiff::testing {
namespace {

constexpr size_t kMostCalls = 64;
constexpr int64_t kMostElements = 1 << 14;

/// What the caller has for inputs: enough for every tensor that is passed, and 16 bytes.
constexpr size_t kDataBytes = kMostElements * 8 + 16;

/// Files at addresses as the header wants them.
struct File {
  explicit File(const std::string& bytes) : size(bytes.size()) {
    void* memory = nullptr;
    if (posix_memalign(&memory, 64, size) != 0) std::abort();
    data.reset(std::memcpy(memory, bytes.data(), size));
  }
  std::unique_ptr<void, decltype(&std::free)> data{nullptr, std::free};
  size_t size;
};

const std::vector<File>& Files() {
  static const std::vector<File> files = [] {
    std::vector<File> made;
    for (const std::string& bytes : FilesIn("tests/format/golden", ".skiff", SIZE_MAX))
      made.emplace_back(bytes);
    return made;
  }();
  return files;
}

class Program {
 public:
  Program(const uint8_t* data, size_t size) : bytes_(data, data + size), data_(new uint64_t[kDataBytes / 8]) {
    std::memset(data_.get(), 0, kDataBytes);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() {
    CloseModel();
    skiff_thread_pool_destroy(pool_);
  }

  void Run() {
    using Call = void (Program::*)();
    constexpr Call kCalls[] = {&Program::Open,      &Program::CloseModel, &Program::Create,
                               &Program::Destroy,   &Program::SetInput,   &Program::BindInput,
                               &Program::Buffer,    &Program::RunSession, &Program::RunSession,
                               &Program::Output,    &Program::Variable,   &Program::AskModel,
                               &Program::AskSession};
    for (size_t calls = 0; calls < kMostCalls && at_ < bytes_.size(); ++calls)
      (this->*kCalls[Next() % std::size(kCalls)])();
  }

 private:
  uint8_t Next() { return at_ < bytes_.size() ? bytes_[at_++] : 0; }
  /// Mostly indices that are there.
  int32_t Index() {
    const uint8_t byte = Next();
    return byte < 250 ? byte % 6 : byte == 250 ? INT32_MAX : byte == 251 ? INT32_MIN : -1;
  }
  char* message() { return message_.data(); }
  size_t MessageSize() { return Next() % message_.size(); }
  SkiffSession*& session() { return sessions_[Next() % sessions_.size()]; }

  void Open() {
    if (model_ != nullptr) return;
    const File& file = Files()[Next() % Files().size()];
    SkiffModelOptions options;
    skiff_model_options_init(&options, sizeof(options));
    static_cast<void>(
        skiff_model_open_bytes_with(file.data.get(), file.size, &options, &model_, message(), MessageSize()));
  }
  void CloseModel() {
    // The second may share the first one's variables.
    for (size_t i = sessions_.size(); i > 0; --i) DestroySession(sessions_[i - 1]);
    skiff_model_close(model_);
    model_ = nullptr;
  }
  static void DestroySession(SkiffSession*& session) {
    skiff_session_destroy(session);
    session = nullptr;
  }
  void Create() {
    const size_t slot = Next() % sessions_.size();
    if (sessions_[slot] != nullptr) return;
    SkiffSessionOptions options;
    skiff_session_options_init(&options, sizeof(options));
    options.backend = Next() % 3;
    options.threads = Next() % 4 == 0 ? Index() : 1;
    if (options.threads > 4) options.threads = 2;
    options.kept_shapes = Index();
    options.loop_limit = Next();
    options.memory_limit = Next() % 4 == 0 ? Next() * uint64_t{1000} : uint64_t{16} << 20;
    if (slot == 1 && Next() % 2 == 0) options.variables_of = sessions_[0];
    if (Next() % 8 == 0) {
      if (pool_ == nullptr)
        static_cast<void>(skiff_thread_pool_create(Next() % 3, &pool_, message(), MessageSize()));
      options.thread_pool = pool_;
    }
    static_cast<void>(skiff_session_create(model_, &options, &sessions_[slot], message(), MessageSize()));
  }
  void Destroy() {
    DestroySession(sessions_[1]);
    if (Next() % 2 == 0) DestroySession(sessions_[0]);
  }

  /// A tensor over the caller's data: one that these hold, or one that no model may accept.
  SkiffTensor Tensor(int32_t index) {
    SkiffTensor tensor = {};
    if (skiff_model_input_type(model_, 0, index, &tensor, message(), MessageSize()) != SKIFF_OK ||
        Next() % 4 == 0) {
      tensor.dtype = Next() % 16;
      tensor.rank = Next() % 10;
    }
    int64_t elements = 1;
    for (int32_t axis = 0; axis < SKIFF_MAX_RANK; ++axis) {
      int64_t& extent = tensor.extents[axis];
      const uint8_t byte = Next();
      if (byte >= 250) {
        extent = byte == 250 ? INT64_MAX : byte == 251 ? INT64_MIN : -1;
        continue;
      }
      if (extent <= 0 || byte < 16) extent = byte % 9;
      if (axis < tensor.rank) elements *= extent;
      if (elements > kMostElements) elements = extent = 0;
    }
    tensor.data = data_.get();
    return tensor;
  }
  void SetInput() {
    const int32_t index = Index();
    const SkiffTensor tensor = Tensor(index);
    static_cast<void>(skiff_session_set_input(session(), index, &tensor, message(), MessageSize()));
  }
  void BindInput() {
    const int32_t index = Index();
    const SkiffTensor tensor = Tensor(index);
    static_cast<void>(skiff_session_bind_input(session(), index, &tensor, message(), MessageSize()));
  }
  void Buffer() {
    const int32_t index = Index();
    const SkiffTensor wanted = Tensor(index);
    SkiffTensor tensor = {};
    SkiffSession* const of = session();
    const SkiffStatus status =
        Next() % 2 == 0 ? skiff_session_input_buffer(of, index, &tensor, message(), MessageSize())
                        : skiff_session_input_buffer_of_shape(of, index, wanted.extents, wanted.rank, &tensor,
                                                              message(), MessageSize());
    if (status == SKIFF_OK) Fill(tensor, 0);
  }
  void RunSession() {
    SkiffSession* const of = session();
    if (Next() % 8 == 0) skiff_session_cancel(of);
    static_cast<void>(skiff_session_run(of, message(), MessageSize()));
  }
  void Output() {
    SkiffTensor tensor = {};
    if (skiff_session_output(session(), Index(), &tensor, message(), MessageSize()) == SKIFF_OK) Read(tensor);
  }
  void Variable() {
    SkiffTensor tensor = {};
    SkiffSession* const of = session();
    if (skiff_session_variable(of, Index(), &tensor, message(), MessageSize()) == SKIFF_OK) Fill(tensor, 1);
    if (Next() % 4 == 0) skiff_session_reset_variables(of);
  }
  void AskModel() {
    const int32_t signature = Index() % 2;
    const int32_t index = Index();
    SkiffTensor type;
    int64_t range[3];
    SkiffImageSpec image;
    SkiffQuantization quantization;
    static_cast<void>(skiff_model_signature_name(model_, signature));
    static_cast<void>(skiff_model_input_name(model_, signature, index));
    static_cast<void>(skiff_model_output_name(model_, signature, index));
    static_cast<void>(skiff_model_output_type(model_, signature, index, &type, message(), MessageSize()));
    static_cast<void>(skiff_model_input_symbol(model_, signature, index, Index()));
    static_cast<void>(skiff_model_symbol_name(model_, index));
    static_cast<void>(
        skiff_model_symbol_range(model_, index, &range[0], &range[1], &range[2], message(), MessageSize()));
    static_cast<void>(
        skiff_model_input_image(model_, signature, index, &image, Next() % (sizeof(image) + 1)));
    static_cast<void>(skiff_model_input_quantization(model_, signature, index, &quantization,
                                                     Next() % (sizeof(quantization) + 1)));
    static_cast<void>(skiff_model_output_label(model_, signature, index, Index()));
    static_cast<void>(skiff_model_variable_name(model_, index));
    static_cast<void>(skiff_model_metadata(model_, "labels"));
  }
  void AskSession() {
    SkiffSession* const of = session();
    SkiffMemoryUsage usage;
    skiff_session_memory_usage(of, &usage, Next() % (sizeof(usage) + 1));
    static_cast<void>(skiff_session_find_input(of, skiff_model_input_name(model_, 0, Index())));
    static_cast<void>(skiff_session_target(of));
    static_cast<void>(skiff_model_save_cache(model_, message(), MessageSize()));
  }

  static size_t Bytes(const SkiffTensor& tensor) {
    int64_t bytes = skiff_dtype_size(tensor.dtype);
    for (int32_t axis = 0; axis < tensor.rank; ++axis) bytes *= tensor.extents[axis];
    return static_cast<size_t>(bytes);
  }
  static void Fill(const SkiffTensor& tensor, int value) {
    if (Bytes(tensor) > 0) std::memset(tensor.data, value, Bytes(tensor));
  }
  void Read(const SkiffTensor& tensor) {
    for (size_t i = 0; i < Bytes(tensor); ++i) sum_ = sum_ + static_cast<const uint8_t*>(tensor.data)[i];
  }

  const std::vector<uint8_t> bytes_;
  size_t at_ = 0;
  std::unique_ptr<uint64_t[]> data_;
  std::array<char, 64> message_ = {};
  SkiffModel* model_ = nullptr;
  std::array<SkiffSession*, 2> sessions_ = {};
  SkiffThreadPool* pool_ = nullptr;
  volatile uint8_t sum_ = 0;
};

}  // namespace

/// Programs that open a file, make a session, feed, run and read it.
std::vector<std::string> FuzzSeeds() {
  std::vector<std::string> seeds;
  for (char file = 0; file < 4; ++file) {
    std::string program = {0, file, 60, 2, 0, 0, 1, 1, 0, 60, 1};
    for (int i = 0; i < 6; ++i)
      program += std::string({6, static_cast<char>(i), 60, 1}) + std::string(12, '\20');
    program += std::string({7, 0, 1, 60, 9, 0, 0, 60, 11, 0, 0, 0, 12, 0, 1});
    seeds.push_back(program);
  }
  return seeds;
}

}  // namespace skiff::testing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  skiff::testing::Program(data, size).Run();
  return 0;
}
