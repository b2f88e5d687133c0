#include "tests/fuzz/mutate_skiff.h"

#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "skiff/tensor.h"

namespace skiff::testing {
namespace {

int64_t Unusual(std::mt19937& random, int64_t value) {
  const auto bits = static_cast<uint64_t>(value);  // Neighbours of the ends wrap.
  const int64_t choices[] = {0,
                             1,
                             -1,
                             -2,
                             2,
                             3,
                             7,
                             8,
                             9,
                             static_cast<int64_t>(bits + 1),
                             static_cast<int64_t>(bits - 1),
                             static_cast<int64_t>(bits * 2),
                             static_cast<int64_t>(0 - bits),
                             127,
                             255,
                             65535,
                             int64_t{1} << 31,
                             int64_t{1} << 40,
                             INT64_MAX,
                             INT64_MIN};
  return choices[random() % std::size(choices)];
}

template <class T>
void MutateVector(std::mt19937& random, std::vector<T>& values) {
  const uint32_t action = random() % 8;
  if (values.empty() || action == 0) {
    values.push_back(static_cast<T>(Unusual(random, 1)));
  } else if (action == 1) {
    values.erase(values.begin() + static_cast<long>(random() % values.size()));
  } else {
    T& value = values[random() % values.size()];
    value = static_cast<T>(Unusual(random, static_cast<int64_t>(value)));
  }
}

template <class T>
T* Pick(std::mt19937& random, std::vector<std::unique_ptr<T>>& items) {
  return items.empty() ? nullptr : items[random() % items.size()].get();
}

void MutateNode(std::mt19937& random, format::NodeT& node) {
  switch (random() % 5) {
    case 0:
      node.op = static_cast<uint16_t>(random() % 2 == 0 ? random() % 163 : random());
      break;
    case 1:
      MutateVector(random, node.inputs);
      break;
    case 2:
      MutateVector(random, node.outputs);
      break;
    case 3: {
      auto attr = std::make_unique<format::AttrT>();
      attr->tag = static_cast<uint8_t>(1 + random() % 7);
      attr->ints = {Unusual(random, 2), Unusual(random, 2)};
      node.attrs.push_back(std::move(attr));
      break;
    }
    default:
      if (format::AttrT* attr = Pick(random, node.attrs)) {
        if (random() % 4 == 0) attr->tag = static_cast<uint8_t>(random());
        MutateVector(random, attr->ints);
      }
  }
}

void MutateTensor(std::mt19937& random, format::TensorT& tensor) {
  switch (random() % 10) {
    case 0:
      tensor.dtype = static_cast<uint8_t>(random() % (kDTypeCount + 1));
      break;
    case 1:
      MutateVector(random, tensor.extents);
      break;
    case 2:
      tensor.blob = static_cast<int32_t>(Unusual(random, tensor.blob));
      break;
    case 3:
      tensor.offset = static_cast<uint64_t>(
          random() % 2 == 0 ? Unusual(random, static_cast<int64_t>(tensor.offset)) : (random() % 64) * 64);
      break;
    case 4:
      tensor.view_of = static_cast<int32_t>(Unusual(random, tensor.view_of));
      break;
    case 8:
      tensor.buffer =
          static_cast<int32_t>(random() % 2 == 0 ? random() % 16 : Unusual(random, tensor.buffer));
      break;
    case 5:
      tensor.quantization =
          static_cast<int32_t>(random() % 2 == 0 ? random() % 8 : Unusual(random, tensor.quantization));
      break;
    case 6:
      tensor.stored = static_cast<uint8_t>(random() % (kDTypeCount + 1));
      break;
    case 7:
      tensor.stored_quantization = static_cast<int32_t>(
          random() % 2 == 0 ? random() % 8 : Unusual(random, tensor.stored_quantization));
      break;
    default:
      tensor.row_stride = Unusual(random, tensor.extents.empty() ? 1 : tensor.extents.back());
      break;
  }
}

void MutateQuantization(std::mt19937& random, format::QuantizationT& quantization) {
  switch (random() % 6) {
    case 0: {
      constexpr float kScales[] = {0, -1, 1e-38f, 3e38f, 0.25f, std::numeric_limits<float>::quiet_NaN()};
      quantization.scale = kScales[random() % std::size(kScales)];
      break;
    }
    case 1:
      quantization.zero_point = static_cast<int32_t>(Unusual(random, quantization.zero_point));
      break;
    case 2:
      quantization.axis =
          static_cast<int32_t>(random() % 2 == 0 ? random() % 4 : Unusual(random, quantization.axis));
      break;
    case 3:
      quantization.block = Unusual(random, quantization.block);
      break;
    case 4:
      quantization.scales =
          static_cast<int32_t>(random() % 2 == 0 ? random() % 10 : Unusual(random, quantization.scales));
      break;
    default:
      quantization.zero_points =
          static_cast<int32_t>(random() % 2 == 0 ? random() % 10 : Unusual(random, quantization.zero_points));
      break;
  }
}

/// The plan, or one of a body in it.
format::PlanT& SomePlan(std::mt19937& random, format::PlanT& plan) {
  for (const auto& node : plan.nodes) {
    if (!node->bodies.empty() && random() % 2 == 0)
      return SomePlan(random, *node->bodies[random() % node->bodies.size()]);
  }
  return plan;
}

void MutateImage(std::mt19937& random, format::ImageT& image) {
  uint32_t* const sizes[] = {&image.width, &image.height, &image.resize};
  uint8_t* const choices[] = {&image.fit, &image.filter, &image.fill};
  constexpr float kFactors[] = {0, -1, 1e-38f, 3e38f, 0.25f, std::numeric_limits<float>::quiet_NaN()};
  switch (random() % 5) {
    case 0: {
      uint32_t& size = *sizes[random() % std::size(sizes)];
      size = static_cast<uint32_t>(Unusual(random, size));
      break;
    }
    case 1:
      *choices[random() % std::size(choices)] = static_cast<uint8_t>(random() % 5);
      break;
    case 2: {
      std::vector<float>& factors = random() % 2 == 0 ? image.mean : image.scale;
      if (factors.empty() || random() % 4 == 0) {
        factors.resize(random() % 6);
      } else {
        factors[random() % factors.size()] = kFactors[random() % std::size(kFactors)];
      }
      break;
    }
    case 3:
      image.bgr = !image.bgr;
      break;
    default:
      image.nhwc = !image.nhwc;
  }
}

void MutatePort(std::mt19937& random, format::PortT& port) {
  switch (random() % 8) {
    case 6:
      if (port.image != nullptr) MutateImage(random, *port.image);
      break;
    case 7:
      port.labels.resize(random() % 5, "label");
      break;
    case 0:
      port.dtype = static_cast<uint8_t>(random() % (kDTypeCount + 1));
      break;
    case 1:
      port.variable = static_cast<int32_t>(random() % 4) - 1;
      break;
    case 2:
      port.quantization = static_cast<int32_t>(random() % 8) - 1;
      break;
    default:
      MutateVector(random, port.extents);
  }
}

void MutateSymbol(std::mt19937& random, format::ModelT& model) {
  format::SymbolT* symbol = Pick(random, model.symbols);
  if (symbol == nullptr || random() % 8 == 0) {
    model.symbols.push_back(std::make_unique<format::SymbolT>());
    symbol = model.symbols.back().get();
    symbol->name = "added";
    symbol->max = INT64_MAX;
    return;
  }
  int64_t& value = random() % 3 == 0 ? symbol->min : random() % 2 == 0 ? symbol->max : symbol->multiple;
  value = Unusual(random, value);
}

void MutateRange(std::mt19937& random, format::PlanT& plan) {
  if (plan.ranges.empty() || random() % 4 == 0) {
    plan.ranges.push_back(std::make_unique<format::RangeT>());
    plan.ranges.back()->symbol = random() % 3;
    plan.ranges.back()->max = Unusual(random, 8);
    return;
  }
  format::RangeT& range = *Pick(random, plan.ranges);
  int64_t& end = random() % 2 == 0 ? range.min : range.max;
  end = Unusual(random, end);
}

void MutateVariable(std::mt19937& random, format::ModelT& model) {
  format::VariableT* variable = Pick(random, model.variables);
  if (variable == nullptr) return;
  if (random() % 3 == 0) {
    variable->blob = random() % 8;
  } else {
    MutateVector(random, variable->extents);
  }
}

/// What plans say of shapes, and what belongs to all of them.
void MutateAround(std::mt19937& random, format::ModelT& model, format::SignatureT& signature,
                  format::PlanT& plan) {
  switch (random() % 8) {
    case 0:
      plan.kind = static_cast<format::BucketKind>(random() % 4);
      break;
    case 1:
      plan.shape_node_count = random() % static_cast<uint32_t>(plan.nodes.size() + 2);
      break;
    case 2:
      plan.inputs_outside = !plan.inputs_outside;
      break;
    case 3:
      if (plan.nodes.size() > 1)
        std::swap(plan.nodes[random() % plan.nodes.size()], plan.nodes[random() % plan.nodes.size()]);
      break;
    case 4:
      MutateSymbol(random, model);
      break;
    case 5:
      MutateRange(random, plan);
      break;
    case 6:
      MutateVariable(random, model);
      break;
    default:
      if (auto* port = Pick(random, random() % 3 == 0 ? signature.outputs : signature.inputs))
        MutatePort(random, *port);
  }
}

}  // namespace

void MutateFields(std::mt19937& random, format::ModelT& model) {
  format::SignatureT* const chosen = Pick(random, model.signatures);
  if (chosen == nullptr || chosen->plans.empty()) return;
  format::SignatureT& signature = *chosen;
  format::PlanT& plan = SomePlan(random, *Pick(random, signature.plans));
  if (!model.quantizations.empty() && random() % 4 == 0)
    return MutateQuantization(random, *Pick(random, model.quantizations));
  if (random() % 4 == 0) return MutateAround(random, model, signature, plan);
  switch (random() % 10) {
    case 0:
    case 1:
    case 2:
      if (auto* node = Pick(random, plan.nodes)) MutateNode(random, *node);
      break;
    case 3:
    case 4:
    case 5:
      if (auto* tensor = Pick(random, plan.tensors)) MutateTensor(random, *tensor);
      break;
    case 6: {
      if (plan.segments.empty()) break;
      format::Segment& segment = plan.segments[random() % plan.segments.size()];
      segment = format::Segment(static_cast<uint8_t>(random() % 5), segment.begin() + random() % 2,
                                segment.end() - random() % 2);
      break;
    }
    case 7:
      MutateVector(random, random() % 2 == 0 ? plan.inputs : plan.outputs);
      break;
    case 8:
      plan.arena_bytes = static_cast<uint64_t>(Unusual(random, static_cast<int64_t>(plan.arena_bytes)));
      break;
    default: {
      if (model.blobs.empty()) break;
      format::Blob& blob = model.blobs[random() % model.blobs.size()];
      blob = format::Blob(static_cast<uint64_t>(Unusual(random, static_cast<int64_t>(blob.offset()))),
                          static_cast<uint64_t>(Unusual(random, static_cast<int64_t>(blob.size()))),
                          blob.hash_low(), blob.hash_high());
    }
  }
}

}  // namespace skiff::testing
