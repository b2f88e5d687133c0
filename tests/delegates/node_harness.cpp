#include "node_harness.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <stdexcept>

#include "core/half.h"
#include "ops/op_codes.h"
#include "ops/quantized.h"

namespace skiff::testing {
namespace {

constexpr size_t kReadableTail = 16;
/// Inputs of so many elements are there for blocks and caches.
constexpr int64_t kManyElements = 100'000;
/// Of all bytes: NaN in floats, -1 in integers.
constexpr int kPoison = 0xff;

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

bool SameBits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

template <class T>
T Take(Result<T> result, const char* what) {
  Check(result.status(), what);
  return std::move(*result);
}

/// A case has its elements whatever stands before it in the table.
uint32_t SeedOf(const std::string& name) {
  std::seed_seq sequence(name.begin(), name.end());
  uint32_t seed = 0;
  sequence.generate(&seed, &seed + 1);
  return seed;
}

/// The case's elements of an input.
std::vector<double> ListedElements(const Argument& argument, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> distribution(argument.low, argument.high);
  std::vector<double> elements(static_cast<size_t>(argument.shape.elements()));
  for (size_t i = 0; i < elements.size(); ++i)
    elements[i] = i < argument.values.size() ? argument.values[i] : distribution(random);
  return elements;
}

/// Elements of the same domain. Integers that a case lists (indices, lengths) and bools stay among
/// themselves, in other places; 0 is as good as a single integer.
std::vector<double> OtherElements(const Argument& argument, const std::vector<double>& listed,
                                  uint32_t seed) {
  std::vector<double> others = listed;
  if (!argument.others.empty()) return argument.others;
  if (argument.dtype == DType::kBool && argument.values.empty()) {
    std::fill(others.begin(), others.end(), 0.0);  // What is drawn is hardly ever 0.
  } else if (!IsFloat(argument.dtype) && !argument.values.empty()) {
    if (others.size() == 1) others[0] = argument.dtype == DType::kBool && listed[0] == 0 ? 1 : 0;
    std::rotate(others.begin(), others.begin() + (others.empty() ? 0 : 1), others.end());
  } else {
    std::mt19937 random(~seed);
    const double half = argument.low < argument.high ? argument.low : argument.low / 2;
    std::uniform_real_distribution<double> distribution(std::min(argument.low, half),
                                                        std::max(argument.high, half));
    for (double& element : others) element = distribution(random);
  }
  return others;
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
    case DType::kI16:
      return view.as<const int16_t>()[i];
    case DType::kU16:
      return view.as<const uint16_t>()[i];
    case DType::kI32:
      return view.as<const int32_t>()[i];
    case DType::kU32:
      return view.as<const uint32_t>()[i];
    case DType::kI64:
      return static_cast<double>(view.as<const int64_t>()[i]);
    default:
      throw std::runtime_error("the harness has no elements of this dtype");
  }
}

void SetElement(const TensorView& view, int64_t index, double value) {
  const int64_t i = OffsetOf(view, index);
  const auto whole = [value] { return static_cast<int64_t>(value); };  // Negative ones wrap around.
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
      view.as<uint8_t>()[i] = static_cast<uint8_t>(whole());
      return;
    case DType::kI16:
      view.as<int16_t>()[i] = static_cast<int16_t>(value);
      return;
    case DType::kU16:
      view.as<uint16_t>()[i] = static_cast<uint16_t>(whole());
      return;
    case DType::kI32:
      view.as<int32_t>()[i] = static_cast<int32_t>(value);
      return;
    case DType::kU32:
      view.as<uint32_t>()[i] = static_cast<uint32_t>(whole());
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

std::string FormText(const Form& form) {
  if (form.inputs == 0) return "as listed";
  constexpr const char* kNames[] = {"constant", "graph input", "computed"};
  std::string text = "input";
  for (size_t i = 0; i < 32; ++i) text += form.Has(i) ? " " + std::to_string(i) : "";
  return text + " as " + kNames[static_cast<size_t>(form.supply)];
}

std::vector<Form> FormsOf(const Case& description) {
  std::vector<Form> forms = {Form()};
  for (const Argument& argument : description.inputs) {
    if (argument.shape.elements() > kManyElements) return forms;
  }
  const OpDef* op = FindOp(description.op);
  uint32_t constants = 0;
  uint32_t computable = 0;
  for (size_t i = 0; i < description.inputs.size(); ++i) {
    const Argument& argument = description.inputs[i];
    if (argument.absent) continue;
    const bool in_place = description.in_place == static_cast<int>(i);
    const uint32_t bit = 1u << i;
    if (!argument.constant && !in_place && argument.row_gap == 0) forms.push_back({bit, Supply::kConstant});
    if (argument.constant) forms.push_back({bit, Supply::kInput});
    if (!op->NeedsValues(i)) forms.push_back({bit, Supply::kComputed});
    if (!argument.constant) continue;
    constants |= bit;
    if (!op->NeedsValues(i)) computable |= bit;
  }
  const auto several = [](uint32_t bits) { return (bits & (bits - 1)) != 0; };
  if (several(constants)) forms.push_back({constants, Supply::kInput});
  if (several(computable)) forms.push_back({computable, Supply::kComputed});
  return forms;
}

bool SameElements(const Node::Outcome& a, const Node::Outcome& b) {
  bool same = a.outputs.size() == b.outputs.size();
  for (size_t i = 0; same && i < a.outputs.size(); ++i) same = SameBits(a.outputs[i], b.outputs[i]);
  return same;
}

Node::Node(const Case& description, const Form& form) : case_(description) {
  const uint32_t seed = SeedOf(description.name);
  feeds_.resize(case_.inputs.size());
  for (size_t i = 0; i < case_.inputs.size(); ++i) {
    if (form.Has(i)) case_.inputs[i].constant = form.supply == Supply::kConstant;
    // Each input's values depend on itself only.
    AddInput(i, seed * 16 + static_cast<uint32_t>(i), form.Has(i) && form.supply == Supply::kComputed);
  }
  InferOutputs();
  for (const Producer& producer : producers_) {
    const bool negates = IsFloat(tensors_[static_cast<size_t>(producer.to)].view.dtype);
    nodes_.push_back({FindOp(negates ? OpCode::kNeg : OpCode::kIdentity),
                      &producer.attrs,
                      "producer",
                      {&producer.from, 1},
                      {&producer.to, 1},
                      {}});
  }
  nodes_.push_back({FindOp(case_.op),
                    &case_.attrs,
                    case_.name.c_str(),
                    {inputs_.data(), inputs_.size()},
                    {outputs_.data(), outputs_.size()},
                    {}});
  for (int32_t i : inputs_) input_pointers_.push_back(i < 0 ? nullptr : &tensors_[static_cast<size_t>(i)]);
  for (int32_t i : outputs_) output_pointers_.push_back(&tensors_[static_cast<size_t>(i)]);
}

void Node::InferOutputs() {
  const OpDef* op = FindOp(case_.op);
  std::vector<InferInput<int64_t>> inputs(inputs_.size());
  std::vector<std::vector<int64_t>> values(inputs_.size());
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!HasInput(i)) continue;
    const TensorView& view = input(i);
    inputs[i].present = true;
    inputs[i].dtype = RuleDType(view.dtype, view.quantization);
    inputs[i].rank = view.shape.rank();
    for (int axis = 0; axis < view.shape.rank(); ++axis) inputs[i].extents[axis] = view.shape[axis];
    const bool known = case_.inputs[i].constant || op->NeedsValues(i);
    if (known) inputs[i].constant = view.data;
    if (!known || IsFloat(view.dtype)) continue;
    for (double value : ElementsOf(view)) values[i].push_back(static_cast<int64_t>(value));
    inputs[i].values = values[i].data();
    inputs[i].value_count = static_cast<int64_t>(values[i].size());
  }
  std::vector<InferOutput<int64_t>> outputs(case_.outputs);
  char message[InferContext<int64_t>::kMessageBytes] = {};
  InferContext<int64_t> context{
      case_.op, &case_.attrs, {inputs.data(), inputs.size()}, {outputs.data(), outputs.size()}, message};
  if (!op->infer(context).ok()) throw std::runtime_error(case_.name + ": " + message);
  for (const InferOutput<int64_t>& output : outputs) {
    PlanTensor tensor;
    tensor.view = TensorView(nullptr, output.dtype, Shape(output.extents, output.rank));
    const bool moves = QuantizedUseOf(case_.op) == QuantizedUse::kMoves;
    if ((outputs_.empty() || moves) && case_.output_quantization != nullptr) {
      tensor.view.dtype = case_.quantized_output;
      tensor.view.quantization = case_.output_quantization;
    }
    tensor.view.row_stride += case_.output_row_gap;
    outputs_.push_back(static_cast<int32_t>(tensors_.size()));
    tensors_.push_back(tensor);
  }
}

int32_t Node::AddTensor(const TensorView& view) {
  PlanTensor tensor;
  tensor.view = view;
  memory_.emplace_back(static_cast<size_t>(SpanOf(view) * DTypeSize(view.dtype)));
  tensor.view.data = memory_.back().data();
  tensors_.push_back(tensor);
  return static_cast<int32_t>(tensors_.size() - 1);
}

/// What the codes stand for. They are kept, packed, as those of a file are.
std::vector<double> Node::Stored(const Argument& argument, const std::vector<double>& codes) {
  static std::atomic<uint64_t> held;
  const auto bits = static_cast<size_t>(DTypeBits(argument.stored));
  const size_t bytes = (codes.size() * bits + 7) / 8;
  unsigned char* const packed = memory_.emplace_back(bytes).data();
  std::fill_n(packed, bytes, uint8_t{0});
  for (size_t i = 0; i < codes.size(); ++i) {
    const auto code = static_cast<uint32_t>(static_cast<int32_t>(codes[i])) & ((1u << bits) - 1);
    unsigned char& at = packed[i * bits / 8];
    at = static_cast<unsigned char>(at | code << (i * bits % 8));
  }
  WideConstant& wide = wide_.emplace_back();
  const TensorView stored(packed, argument.stored, argument.shape, argument.stored_quantization);
  if (!wide.Reserve(stored, &held).ok()) throw std::runtime_error("no memory for a case");
  wide.Pin();
  return ElementsOf(TensorView(wide.elements(), DType::kF32, argument.shape));
}

void Node::AddInput(size_t i, uint32_t seed, bool computed) {
  const Argument& argument = case_.inputs[i];
  if (argument.absent) {
    inputs_.push_back(-1);
    return;
  }
  TensorView view(nullptr, argument.dtype, argument.shape, argument.quantization);
  view.row_stride += argument.row_gap;
  inputs_.push_back(AddTensor(view));
  Feed& feed = feeds_[i];
  feed.tensor = inputs_[i];
  feed.listed = ListedElements(argument, seed);
  if (argument.stored != DType::kInvalid) feed.listed = Stored(argument, feed.listed);
  feed.others = OtherElements(argument, feed.listed, seed);
  if (computed) {
    feed.tensor = AddTensor(TensorView(nullptr, argument.dtype, argument.shape, argument.quantization));
    feed.negated = IsFloat(argument.dtype);
    producers_.push_back({feed.tensor, inputs_[i], {}});
  }
  Write(feed, feed.listed);
  PlanTensor& tensor = tensors_[static_cast<size_t>(inputs_[i])];
  tensor.constant = argument.constant;
  if (argument.constant && argument.stored != DType::kInvalid) tensor.wide = &wide_.back();
  if (argument.constant) tensor.hash = HashOf(tensor.view);
}

void Node::Write(const Feed& feed, const std::vector<double>& elements) {
  const TensorView& view = tensors_[static_cast<size_t>(feed.tensor)].view;
  for (size_t i = 0; i < elements.size(); ++i)
    SetElement(view, static_cast<int64_t>(i), feed.negated ? -elements[i] : elements[i]);
}

bool Node::Changes(size_t i) const {
  return HasInput(i) && !case_.inputs[i].constant && !nodes_.back().op->NeedsValues(i);
}

void Node::WriteInputs(std::vector<double> Feed::*elements) {
  for (size_t i = 0; i < feeds_.size(); ++i) {
    if (Changes(i)) Write(feeds_[i], feeds_[i].*elements);
  }
}

NodeTypes Node::types() const {
  return {nodes_.back().op,
          nodes_.back().attrs,
          {input_pointers_.data(), input_pointers_.size()},
          {output_pointers_.data(), output_pointers_.size()}};
}

void Node::PlaceOutputs() {
  for (int32_t index : outputs_) {
    TensorView& view = tensors_[static_cast<size_t>(index)].view;
    output_memory_.emplace_back(static_cast<size_t>(SpanOf(view) * DTypeSize(view.dtype)));
    view.data = output_memory_.back().data();
    if (case_.in_place < 0) continue;
    const TensorView& source = in_place_input();
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

std::vector<std::vector<double>> Node::OutputElements() const {
  std::vector<std::vector<double>> elements;
  for (size_t i = 0; i < outputs_.size(); ++i) elements.push_back(ElementsOf(output(i)));
  return elements;
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
      original = in_place_input();
      in_place_input().data = output(0).data;
    }
    Check(prepared->Bind(), "Bind");
    Check(prepared->Run({}), "Run");
    session->Idle();
    if (case_.in_place >= 0) in_place_input() = original;
    std::vector<std::vector<double>> results = OutputElements();
    if (round == 1 && !SameBits(results[0], outcome.outputs[0])) {
      outcome.damage = "a second run with other addresses gave other numbers";
    }
    outcome.outputs = std::move(results);
    if (outcome.damage.empty()) outcome.damage = FindDamage();
  }
  outcome.fell_back = prepared->FellBack(static_cast<uint32_t>(nodes_.size()) - 1);
  outcome.packed_bytes = state.packed_bytes().heap;
  return outcome;
}

void Node::PoisonInputs() {
  for (size_t i = 0; i < feeds_.size(); ++i) {
    if (!Changes(i)) continue;
    const TensorView& view = tensors_[static_cast<size_t>(feeds_[i].tensor)].view;
    std::memset(view.data, kPoison, static_cast<size_t>(SpanOf(view) * DTypeSize(view.dtype)));
  }
}

void Node::PoisonComputed() {
  for (const Producer& producer : producers_) {
    const TensorView& view = tensors_[static_cast<size_t>(producer.to)].view;
    std::memset(view.data, kPoison, static_cast<size_t>(SpanOf(view) * DTypeSize(view.dtype)));
  }
}

/// But for the gaps between rows.
void Node::PoisonOutputs() {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const TensorView& view = output(i);
    const int64_t size = DTypeSize(view.dtype);
    for (int64_t at = 0; at < SpanOf(view); at += view.row_stride)
      std::memset(view.as<unsigned char>() + at * size, kPoison,
                  static_cast<size_t>(view.shape.last() * size));
  }
}

Node::Outcome Node::RunAt(const Node& fresh, PreparedSegment& prepared) {
  TakeTensorsOf(fresh);
  PoisonOutputs();
  Check(prepared.Reshape(), "Reshape");
  Check(prepared.Bind(), "Bind");
  Check(prepared.Run({}), "Run");
  Outcome outcome;
  outcome.outputs = OutputElements();
  outcome.damage = FindDamage();
  outcome.fell_back = prepared.FellBack(static_cast<uint32_t>(nodes_.size()) - 1);
  return outcome;
}

Node::Outcome Node::RunAfterOthers(ModelState& state, const DelegateSessionOptions& options) {
  Outcome outcome;
  auto session = Take(state.CreateSession(options), "CreateSession");
  auto prepared = Take(session->Prepare(this->segment()), "Prepare");
  TensorView original;
  PlaceOutputs();
  if (case_.in_place >= 0) {
    original = in_place_input();
    in_place_input().data = output(0).data;
  }
  PoisonInputs();
  PoisonComputed();
  Check(prepared->Reshape(), "Reshape");
  Check(prepared->Bind(), "Bind");
  for (std::vector<double> Feed::*elements : {&Feed::others, &Feed::listed}) {
    WriteInputs(elements);
    PoisonComputed();
    Check(prepared->Run({}), "Run");
  }
  session->Idle();
  if (case_.in_place >= 0) {
    in_place_input() = original;
    WriteInputs(&Feed::listed);
  }
  outcome.outputs = OutputElements();
  outcome.damage = FindDamage();
  outcome.fell_back = prepared->FellBack(static_cast<uint32_t>(nodes_.size()) - 1);
  return outcome;
}

}  // namespace skiff::testing
