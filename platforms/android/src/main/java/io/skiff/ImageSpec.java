package io.skiff;

import java.util.Arrays;
import org.jetbrains.annotations.NotNull;

/**
 * How a picture becomes an input: brought to {@link #width()} x {@link #height()}, its channels put in order,
 * then (value - mean) * scale on values of 0 to 255. {@link Session#setImage} does it. Immutable.
 */
public final class ImageSpec {
  /**
   * Numbers that the native library fills: width, height, channels, whether blue is first, and channels
   * last.
   */
  static final int SIZES = 5;
  /** Means, then scales. */
  static final int MOST_CHANNELS = 4;

  private final int[] sizes;
  private final float[] values;

  ImageSpec(int[] sizes, float[] values) {
    this.sizes = sizes;
    this.values = values;
  }

  /**
   * In pixels.
   *
   * @return the width
   */
  public int width() {
    return sizes[0];
  }

  /**
   * In pixels.
   *
   * @return the height
   */
  public int height() {
    return sizes[1];
  }

  /**
   * 1 to 4.
   *
   * @return how many channels there are
   */
  public int channels() {
    return sizes[2];
  }

  /**
   * True: blue, green, red. False: red, green, blue.
   *
   * @return the order of the channels
   */
  public boolean blueFirst() {
    return sizes[3] != 0;
  }

  /**
   * True: the input's shape is [1, height, width, channels]. False: [1, channels, height, width].
   *
   * @return the order of the axes
   */
  public boolean channelsLast() {
    return sizes[4] != 0;
  }

  /**
   * Of a channel, in the input's order.
   *
   * @param channel 0 and up
   * @return what is subtracted
   */
  public float mean(int channel) {
    return values[check(channel)];
  }

  /**
   * Of a channel, in the input's order.
   *
   * @param channel 0 and up
   * @return what is multiplied by
   */
  public float scale(int channel) {
    return values[MOST_CHANNELS + check(channel)];
  }

  private int check(int channel) {
    if (channel < 0 || channel >= channels())
      throw new IllegalArgumentException(
          "there is no channel " + channel + "; the picture has " + channels());
    return channel;
  }

  @Override
  public @NotNull String toString() {
    return width() + "x" + height() + "x" + channels()
        + (channels() < 3     ? ""
                : blueFirst() ? ", blue first"
                              : ", red first")
        + (channelsLast() ? ", channels last" : ", channels first") + ", mean "
        + Arrays.toString(Arrays.copyOf(values, channels())) + ", scale "
        + Arrays.toString(Arrays.copyOfRange(values, MOST_CHANNELS, MOST_CHANNELS + channels()));
  }
}
