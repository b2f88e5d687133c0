package io.skiff;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/**
 * Where libskiff_jni comes from: java.library.path, or else a jar of the class path. The machine loads
 * libraries from files only, so that of a jar is written to a folder that nobody else can write to, and
 * deleted as soon as it is loaded.
 */
final class NativeLibrary {
  private static final String NAME = "skiff_jni";

  private NativeLibrary() {}

  static void load() {
    UnsatisfiedLinkError notInPath;
    try {
      System.loadLibrary(NAME);
      return;
    } catch (UnsatisfiedLinkError e) {
      notInPath = e;
    }
    String platform = platform(System.getProperty("os.name"), System.getProperty("os.arch"));
    String resource = "natives/" + platform + "/" + System.mapLibraryName(NAME);
    try (InputStream library = NativeLibrary.class.getResourceAsStream(resource)) {
      if (library == null)
        throw failure("no jar of the class path has io/skiff/" + resource + ". Add skiff-natives-" + platform
                + ".jar to the class path, or give the library's folder by -Djava.library.path",
            notInPath, notInPath);
      loadCopy(library, System.mapLibraryName(NAME));
    } catch (IOException | UnsatisfiedLinkError e) {
      if (e == notInPath || e.getCause() == notInPath)
        throw(UnsatisfiedLinkError) e;
      throw failure("io/skiff/" + resource + " could not be loaded through a file in "
              + System.getProperty("java.io.tmpdir") + " (" + e
              + "). Where programs may not be loaded from there, "
              + "name another folder by -Djava.io.tmpdir, or the library's by -Djava.library.path",
          notInPath, e);
    }
  }

  private static UnsatisfiedLinkError failure(String what, UnsatisfiedLinkError notInPath, Throwable cause) {
    UnsatisfiedLinkError failure = new UnsatisfiedLinkError(
        "Skiff's native library was not found: " + notInPath.getMessage() + "; and " + what);
    failure.initCause(cause);
    return failure;
  }

  /** {@code "linux-x86_64"}: as the jars are named. */
  static String platform(String system, String cpu) {
    String os = system.startsWith("Windows") ? "windows" : system.startsWith("Mac") ? "macos" : system;
    String architecture = cpu;
    if (cpu.equals("amd64"))
      architecture = "x86_64";
    else if (cpu.equals("arm64"))
      architecture = "aarch64";
    else if (cpu.equals("arm"))
      architecture = "armv7";
    return os.toLowerCase(Locale.ROOT) + "-" + architecture;
  }

  /** The folder is the user's alone from its beginning. */
  private static void loadCopy(InputStream library, String name) throws IOException {
    Path folder = Files.createTempDirectory("skiff");
    try {
      Path copy = folder.resolve(name);
      try {
        Files.copy(library, copy);
        System.load(copy.toAbsolutePath().toString());
      } finally {
        Files.deleteIfExists(copy);
      }
    } finally {
      Files.deleteIfExists(folder);
    }
  }
}
