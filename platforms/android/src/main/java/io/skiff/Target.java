package io.skiff;

/** What a plan of the file is made for. */
public enum Target {
  /** What every device has. */
  CPU(0),
  /** The GPU, where the device has Vulkan. */
  VULKAN(1);

  private final int number;

  Target(int number) {
    this.number = number;
  }

  int number() {
    return number;
  }

  static Target of(int number) {
    return number == VULKAN.number ? VULKAN : CPU;
  }
}
