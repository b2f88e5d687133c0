package io.skiff;

import java.util.Collections;
import java.util.List;
import org.jetbrains.annotations.NotNull;

/** A named entry point of a model, with its inputs and outputs. Immutable. */
public final class Signature {
  private final String name;
  private final List<TensorType> inputs;
  private final List<TensorType> outputs;

  Signature(String name, List<TensorType> inputs, List<TensorType> outputs) {
    this.name = name;
    this.inputs = Collections.unmodifiableList(inputs);
    this.outputs = Collections.unmodifiableList(outputs);
  }

  /**
   * As the file has it.
   *
   * @return the name
   */
  public @NotNull String name() {
    return name;
  }

  /**
   * In the order of the file.
   *
   * @return the inputs
   */
  public @NotNull List<@NotNull TensorType> inputs() {
    return inputs;
  }

  /**
   * In the order of the file.
   *
   * @return the outputs
   */
  public @NotNull List<@NotNull TensorType> outputs() {
    return outputs;
  }

  /**
   * An input by its name.
   *
   * @param name as the file has it
   * @return the input
   * @throws IllegalArgumentException when there is no input of this name
   */
  public @NotNull TensorType input(@NotNull String name) {
    return inputs.get(inputIndex(name));
  }

  /**
   * An output by its name.
   *
   * @param name as the file has it
   * @return the output
   * @throws IllegalArgumentException when there is no output of this name
   */
  public @NotNull TensorType output(@NotNull String name) {
    return outputs.get(outputIndex(name));
  }

  int inputIndex(String name) {
    return index(inputs, name, "input");
  }

  int outputIndex(String name) {
    return index(outputs, name, "output");
  }

  /** {@code "main(image: f32[1, 3, 32, 32]) -> (logits: f32[1, 36])"}. */
  @Override
  public @NotNull String toString() {
    return name + list(inputs) + " -> " + list(outputs);
  }

  private static String list(List<TensorType> types) {
    String brackets = types.toString();
    return "(" + brackets.substring(1, brackets.length() - 1) + ")";
  }

  private static int index(List<TensorType> types, String name, String what) {
    if (name == null)
      throw Arguments.isNull("name", "the name of an " + what + "; the signature has " + types);
    for (int i = 0; i < types.size(); ++i) {
      if (types.get(i).name().equals(name))
        return i;
    }
    throw new IllegalArgumentException("the signature has no " + what + " '" + name + "'; it has " + types);
  }
}
