/// Operators of the application's own, which a model file names and this build of Skiff does not have: their
/// shape rule and their kernel, registered by name where a model is opened (ModelOptions::custom_operators).
///
/// The results of both functions depend on what a call shows them, and on nothing else: equal calls may be
/// made once, or at conversion. They are called by one thread at a time per Session, and by several at once
/// where Sessions run at once. An error is told with Fail() (skiff/log.h), whose sentence Skiff completes by
/// the node and the operator.
#pragma once

#include "skiff/span.h"
#include "skiff/tensor.h"

namespace skiff {

/// Inputs and outputs of one node.
struct CustomCall {
  /// The node's attributes, as the source file had them: of TensorFlow Lite its custom options, byte for
  /// byte; of ONNX a FlexBuffers map from names to values; of a traced function what it passed.
  Span<const uint8_t> options;
  /// An absent one has dtype kInvalid.
  Span<const TensorView> inputs;
  Span<TensorView> outputs;
};

struct CustomOperator {
  /// A node has no more inputs, or outputs.
  static constexpr int kMaxOperands = 32;

  /// As in the source file: "Mish" of TensorFlow Lite, "acme::Mish" of ONNX's domain acme.
  const char* name = "";
  /// The shape rule: sets dtype and shape of each output. Of inputs `data` is null but where the elements are
  /// constant; of a quantised one, and for a quantised result, dtype is kF32: the numbers that its integers
  /// stand for. Called for each new shape of a Session, and by the converter, where a dimension is open for a
  /// few sizes that its contract allows.
  Status (*infer)(void* user, const CustomCall& call) = nullptr;
  /// The kernel: computes the outputs, which have the shapes of the rule. Tensors are dense and row-major;
  /// outputs overlap nothing. Not called where all outputs are empty.
  Status (*run)(void* user, const CustomCall& call) = nullptr;
  void* user = nullptr;  ///< Handed to both; outlives the Model.
};

}  // namespace skiff
