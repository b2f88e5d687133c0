#include "node_harness.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>

#include "core/half.h"

namespace skiff::testing {
namespace {

constexpr size_t kReadableTail = 16;

size_t PageSize() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

/// Elements from the first to the last one, gaps included.
int64_t SpanOf(const TensorView& view) {
  if (view.shape.elements() == 0) return 0;
  return (view.shape.elements() / view.shape.last() - 1) * view.row_stride + view.shape.last();
}

int64_t OffsetOf(const TensorView& view, int64_t index) {
  return index / view.shape.last() * view.row_stride + index % view.shape.last();
}

void Check(Status status, const char* what) {
  if (!status.ok()) throw std::runtime_error(std::string(what) + " failed: " + StatusCodeName(status.code()));
}

/// NaN equals itself here.
bool SameBits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

template <class T>
T Take(Result<T> result, const char* what) {
  Check(result.status(), what);
  return std::move(*result);
}

}  // namespace

GuardedMemory::GuardedMemory(size_t bytes) : bytes_(bytes) {
  const size_t page = PageSize();
  const size_t usable = (bytes + kReadableTail + page - 1) / page * page;
  mapped_ = usable + page;
  base_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base_ == MAP_FAILED) throw std::bad_alloc();
  std::memset(base_, kSentinel, usable);
  mprotect(static_cast<char*>(base_) + usable, page, PROT_NONE);
  data_ = static_cast<unsigned char*>(base_) + usable - kReadableTail - bytes;
}

GuardedMemory::~GuardedMemory() {
  if (base_ != nullptr) munmap(base_, mapped_);
}

GuardedMemory::GuardedMemory(GuardedMemory&& other) noexcept
    : bytes_(other.bytes_),
      mapped_(other.mapped_),
      base_(std::exchange(other.base_, nullptr)),
      data_(other.data_) {}

double ElementOf(const TensorView& view, int64_t index) {
  const int64_t i = OffsetOf(view, index);
  switch (view.dtype) {
    case DType::kF32:
      return view.as<const float>()[i];
    case DType::kF16:
      return HalfToFloat(view.as<const uint16_t>()[i]);
    case DType::kF64:
      return view.as<const double>()[i];
    case DType::kI8:
      return view.as<const int8_t>()[i];
    case DType::kU8:
    case DType::kBool:
      return view.as<const uint8_t>()[i];
    case DType::kI32:
      return view.as<const int32_t>()[i];
    case DType::kI64:
      return static_cast<double>(view.as<const int64_t>()[i]);
    default:
      throw std::runtime_error("the harness has no elements of this dtype");
  }
}

void SetElement(const TensorView& view, int64_t index, double value) {
  const int64_t i = OffsetOf(view, index);
  switch (view.dtype) {
    case DType::kF32:
      view.as<float>()[i] = static_cast<float>(value);
      return;
    case DType::kF16:
      view.as<uint16_t>()[i] = FloatToHalf(static_cast<float>(value));
      return;
    case DType::kF64:
      view.as<double>()[i] = value;
      return;
    case DType::kI8:
      view.as<int8_t>()[i] = static_cast<int8_t>(value);
      return;
    case DType::kBool:
      view.as<uint8_t>()[i] = value != 0 ? 1 : 0;
      return;
    case DType::kU8:
      view.as<uint8_t>()[i] = static_cast<uint8_t>(value);
      return;
    case DType::kI32:
      view.as<int32_t>()[i] = static_cast<int32_t>(value);
      return;
    case DType::kI64:
      view.as<int64_t>()[i] = static_cast<int64_t>(value);
      return;
    default:
      throw std::runtime_error("the harness has no elements of this dtype");
  }
}

ContentHash HashOf(const TensorView& view) {
  ContentHash hash{0xcbf29ce484222325u, 0x9e3779b97f4a7c15u};
  const auto* bytes = view.as<const unsigned char>();
  for (int64_t i = 0; i < view.bytes(); ++i) {
    hash.low = (hash.low ^ bytes[i]) * 0x100000001b3u;
    hash.high = (hash.high ^ bytes[i]) * 0x100000001b3u + 1;
  }
  return hash;
}

std::vector<double> ElementsOf(const TensorView& view) {
  std::vector<double> elements(static_cast<size_t>(view.shape.elements()));
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = ElementOf(view, static_cast<int64_t>(i));
  return elements;
}

Node::Node(const Case& description, uint32_t seed) : case_(description) {
  for (size_t i = 0; i < case_.inputs.size(); ++i) {
    std::mt19937 random(seed * 16 + static_cast<uint32_t>(i));  // Each input's values depend on itself only.
    AddInput(case_.inputs[i], random);
  }

  std::vector<InferInput<int64_t>> inputs(inputs_.size());
  std::vector<std::vector<int64_t>> values(inputs_.size());
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!HasInput(i)) continue;
    const TensorView& view = input(i);
    inputs[i].present = true;
    inputs[i].dtype = view.dtype;
    inputs[i].rank = view.shape.rank();
    for (int axis = 0; axis < view.shape.rank(); ++axis) inputs[i].extents[axis] = view.shape[axis];
    if (case_.inputs[i].constant) inputs[i].constant = view.data;
    if (!case_.inputs[i].constant || IsFloat(view.dtype)) continue;
    for (double value : ElementsOf(view)) values[i].push_back(static_cast<int64_t>(value));
    inputs[i].values = values[i].data();
    inputs[i].value_count = static_cast<int64_t>(values[i].size());
  }
  std::vector<InferOutput<int64_t>> outputs(case_.outputs);
  char message[InferContext<int64_t>::kMessageBytes] = {};
  const OpDef* op = FindOp(case_.op);
  InferContext<int64_t> context{
      case_.op, &case_.attrs, {inputs.data(), inputs.size()}, {outputs.data(), outputs.size()}, message};
  if (!op->infer(context).ok()) throw std::runtime_error(case_.name + ": " + message);
  for (const InferOutput<int64_t>& output : outputs) {
    PlanTensor tensor;
    tensor.view = TensorView(nullptr, output.dtype, Shape(output.extents, output.rank));
    tensor.view.row_stride += case_.output_row_gap;
    outputs_.push_back(static_cast<int32_t>(tensors_.size()));
    tensors_.push_back(tensor);
  }
  node_ = {op,
           &case_.attrs,
           case_.name.c_str(),
           {inputs_.data(), inputs_.size()},
           {outputs_.data(), outputs_.size()},
           {}};
  for (int32_t i : inputs_) input_pointers_.push_back(i < 0 ? nullptr : &tensors_[static_cast<size_t>(i)]);
  for (int32_t i : outputs_) output_pointers_.push_back(&tensors_[static_cast<size_t>(i)]);
}

void Node::AddInput(const Argument& argument, std::mt19937& random) {
  if (argument.absent) {
    inputs_.push_back(-1);
    return;
  }
  PlanTensor tensor;
  tensor.view = TensorView(nullptr, argument.dtype, argument.shape);
  tensor.view.row_stride += argument.row_gap;
  memory_.emplace_back(static_cast<size_t>(SpanOf(tensor.view) * DTypeSize(argument.dtype)));
  tensor.view.data = memory_.back().data();
  tensor.constant = argument.constant;
  std::uniform_real_distribution<double> distribution(argument.low, argument.high);
  for (int64_t i = 0; i < argument.shape.elements(); ++i) {
    const auto index = static_cast<size_t>(i);
    SetElement(tensor.view, i,
               index < argument.values.size() ? argument.values[index] : distribution(random));
  }
  if (argument.constant) tensor.hash = HashOf(tensor.view);
  inputs_.push_back(static_cast<int32_t>(tensors_.size()));
  tensors_.push_back(tensor);
}

NodeTypes Node::types() const {
  return {node_.op,
          node_.attrs,
          {input_pointers_.data(), input_pointers_.size()},
          {output_pointers_.data(), output_pointers_.size()}};
}

void Node::PlaceOutputs() {
  for (int32_t index : outputs_) {
    TensorView& view = tensors_[static_cast<size_t>(index)].view;
    output_memory_.emplace_back(static_cast<size_t>(SpanOf(view) * DTypeSize(view.dtype)));
    view.data = output_memory_.back().data();
    if (case_.in_place < 0) continue;
    const TensorView& source = input(static_cast<size_t>(case_.in_place));
    std::memcpy(view.data, source.data, static_cast<size_t>(source.bytes()));
  }
}

/// Gaps between rows and the bytes behind the last one still hold the sentinel.
std::string Node::FindDamage() const {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const TensorView& view = output(i);
    const int64_t size = DTypeSize(view.dtype);
    const int64_t span = SpanOf(view) * size;
    const auto* bytes = view.as<const unsigned char>();
    for (int64_t at = 0; at < span + static_cast<int64_t>(kReadableTail); ++at) {
      const bool in_gap = at >= span || at / size % view.row_stride >= view.shape.last();
      if (in_gap && bytes[at] != GuardedMemory::kSentinel) {
        return "output " + std::to_string(i) + " was written at byte " + std::to_string(at) +
               ", outside its rows";
      }
    }
  }
  return "";
}

Node::Outcome Node::Run(ModelState& state, const DelegateSessionOptions& options) {
  Outcome outcome;
  auto session = Take(state.CreateSession(options), "CreateSession");
  auto prepared = Take(session->Prepare(this->segment()), "Prepare");
  Check(prepared->Reshape(), "Reshape");
  outcome.workspace_bytes = prepared->workspace_bytes();
  for (int round = 0; round < 2; ++round) {
    PlaceOutputs();
    TensorView original;
    if (case_.in_place >= 0) {
      original = input(static_cast<size_t>(case_.in_place));
      input(static_cast<size_t>(case_.in_place)).data = output(0).data;
    }
    Check(prepared->Bind(), "Bind");
    Check(prepared->Run({}), "Run");
    session->Idle();
    if (case_.in_place >= 0) input(static_cast<size_t>(case_.in_place)) = original;
    std::vector<std::vector<double>> results;
    for (size_t i = 0; i < outputs_.size(); ++i) results.push_back(ElementsOf(output(i)));
    if (round == 1 && !SameBits(results[0], outcome.outputs[0])) {
      outcome.damage = "a second run with other addresses gave other numbers";
    }
    outcome.outputs = std::move(results);
    if (outcome.damage.empty()) outcome.damage = FindDamage();
  }
  outcome.fell_back = prepared->FellBack(0);
  outcome.packed_bytes = state.packed_bytes().heap;
  return outcome;
}

}  // namespace skiff::testing
