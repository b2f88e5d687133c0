// A .skiff file: opened, and used as far as that goes.
#include <cstdlib>
#include <cstring>
#include <memory>

#include "format/aligned.h"
#include "skiff/delegates.h"
#include "skiff/session.h"
#include "tests/fuzz/copy_operator.h"
#include "tests/fuzz/file_parts.h"
#include "tests/fuzz/mutate_skiff.h"
#include "tests/fuzz/targets/target.h"
#include "tests/fuzz/use_model.h"

namespace skiff::testing {

/// Files of every format version have all that a version can say; and what once was a defect.
std::vector<std::string> FuzzSeeds() {
  std::vector<std::string> seeds = FilesIn("tests/format/golden", ".skiff", SIZE_MAX);
  for (std::string& file : FilesIn("tests/fuzz/seeds", ".skiff", SIZE_MAX)) seeds.push_back(std::move(file));
  return seeds;
}

namespace {

/// What the loader checks by itself: whoever unpacks a model reads its lists, too.
bool IsAligned(const format::Plan& plan);

template <class Tables, class Check>
bool All(const flatbuffers::Vector<flatbuffers::Offset<Tables>>* tables, Check check) {
  for (uint32_t i = 0; tables != nullptr && i < tables->size(); ++i) {
    if (!check(*tables->Get(i))) return false;
  }
  return true;
}

constexpr auto kExtentsAreAligned = [](const auto& table) {
  return format::ElementsAreAligned(table.extents());
};

bool IsAligned(const format::Node& node) {
  return All(node.attrs(),
             [](const format::Attr& attr) { return format::ElementsAreAligned(attr.ints()); }) &&
         All(node.bodies(), [](const format::Plan& body) { return IsAligned(body); });
}

bool IsAligned(const format::Plan& plan) {
  return All(plan.tensors(), kExtentsAreAligned) &&
         All(plan.nodes(), [](const format::Node& node) { return IsAligned(node); });
}

bool IsAligned(const format::Model& model) {
  const auto is_aligned = [](const format::Signature& signature) {
    return All(signature.inputs(), kExtentsAreAligned) && All(signature.outputs(), kExtentsAreAligned) &&
           All(signature.plans(), [](const format::Plan& plan) { return IsAligned(plan); });
  };
  return format::ElementsAreAligned(model.blobs()) && All(model.variables(), kExtentsAreAligned) &&
         All(model.signatures(), is_aligned);
}

/// What `model` was opened from, by its path, and in ways that are refused.
void OpenOtherwise(Model& model, const uint8_t* data, size_t size) {
  const BytesAsFile file(data, size);
  ModelOptions options;
  options.delegates = BuiltinDelegates();
  if (const auto other = Model::Open(file.path().c_str(), options); other.ok()) {
    const auto variables = Variables::Create(*other.value());
    SessionOptions of_another;
    of_another.threads = 1;
    of_another.memory_limit = uint64_t{24} << 20;
    of_another.variables = variables.ok() ? variables.value().get() : nullptr;
    static_cast<void>(Session::Create(model, of_another).ok());
  }
  const CustomOperator nameless;
  options.custom_operators = {&nameless, 1};
  static_cast<void>(Model::Open(file.path().c_str(), options).ok());
  options.custom_operators = {};
  options.cache_folder = "";
  static_cast<void>(Model::Open(file.path().c_str(), options).ok());
  alignas(64) static const uint8_t kBytes[2] = {};
  static_cast<void>(Model::Open({kBytes + 1, 1}).ok());
}

bool IsWhole(const uint8_t* data, size_t size) {
  format::FileHeader header;
  if (size < sizeof(header)) return false;
  std::memcpy(&header, data, sizeof(header));
  if (header.model_offset > size || header.model_size > size - header.model_offset ||
      header.weights_offset > size || size - header.weights_offset < format::kAlignment)
    return false;
  const std::vector<uint8_t> model(data + header.model_offset,
                                   data + header.model_offset + header.model_size);
  flatbuffers::Verifier verifier(model.data(), model.size());
  return format::VerifyModelBuffer(verifier) && IsAligned(*format::GetModel(model.data()));
}

}  // namespace
}  // namespace skiff::testing

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  using namespace skiff::testing;
  std::mt19937 random(seed);
  // Bytes get to the FlatBuffers verifier, fields beyond it.
  if (random() % 8 == 0 || !IsWhole(data, size)) return LLVMFuzzerMutate(data, size, max_size);
  const Parts parts(std::vector<uint8_t>(data, data + size));
  const auto model = parts.Unpack();
  for (uint32_t changes = 1 + random() % 3; changes > 0; --changes) MutateFields(random, *model);
  const std::vector<uint8_t> file = parts.Assemble(*model);
  return Replaced(std::string(file.begin(), file.end()), data, size, max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  void* memory = nullptr;
  if (posix_memalign(&memory, 64, size) != 0) return 0;
  const std::unique_ptr<void, decltype(&std::free)> file(memory, &std::free);
  if (size > 0) std::memcpy(memory, data, size);
  skiff::ModelOptions options;
  options.delegates = skiff::BuiltinDelegates();
  options.custom_operators = {&skiff::testing::kCopyOperator, 1};
  auto model = skiff::Model::Open({static_cast<const uint8_t*>(memory), size}, options);
  if (model.ok()) skiff::testing::UseModel(**model);
  if (model.ok()) skiff::testing::OpenOtherwise(**model, data, size);
  return 0;
}
