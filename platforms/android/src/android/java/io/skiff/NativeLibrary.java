package io.skiff;

/** Where libskiff_jni comes from: on Android out of the application's own package. */
final class NativeLibrary {
  private NativeLibrary() {}

  static void load() {
    System.loadLibrary("skiff_jni");
  }
}
