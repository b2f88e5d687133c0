package io.skiff;

import org.jetbrains.annotations.NotNull;
import org.jetbrains.annotations.Nullable;

/** How a {@link Model} is opened. Read during {@link Model#open} only. */
public final class ModelOptions {
  @Nullable String cacheFolder;

  /**
   * A folder that exists and is private to the application (on Android: {@code Context.getCodeCacheDir()}),
   * for files that make the next start faster. Null, the default: none. Files that are deleted or damaged are
   * made anew.
   *
   * @param folder its path
   * @return this
   */
  public @NotNull ModelOptions cacheFolder(@Nullable String folder) {
    this.cacheFolder = folder;
    return this;
  }

  /** What differs from the defaults. */
  @Override
  public @NotNull String toString() {
    return cacheFolder == null ? "the defaults" : "cacheFolder " + cacheFolder;
  }
}
