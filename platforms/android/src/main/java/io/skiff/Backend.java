package io.skiff;

/** Who computes the operators. */
public enum Backend {
  /** Each part of the model by the delegate that the converter chose. */
  PLANNED(0),
  /** Every operator by its reference kernel: slow, and the truth. */
  REFERENCE(1);

  private final int number;

  Backend(int number) {
    this.number = number;
  }

  int number() {
    return number;
  }
}
