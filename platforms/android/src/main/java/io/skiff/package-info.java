/**
 * Runs trained models from {@code .skiff} files.
 *
 * <pre>{@code
 * try (Model model = Model.open(path);
 *     Session session = Session.create(model)) {
 *   session.setInput("image", pixels);
 *   session.run();
 *   float[] scores = session.output("logits").toFloatArray();
 * }
 * }</pre>
 *
 * <p>Integers of an input or output may stand for real numbers: {@link io.skiff.TensorType#quantization()}
 * says how, and converts both ways.
 *
 * <p>Errors: what a call itself can see to be wrong (a name that the model does not have, a buffer of the
 * wrong size) is an {@link java.lang.IllegalArgumentException}; use of something closed, or of a {@link
 * io.skiff.Session} by two threads at once, is an {@link java.lang.IllegalStateException}; what the native
 * library refuses is a {@link io.skiff.SkiffException} with its status and one sentence.
 *
 * <p>Threads: a {@link io.skiff.Model} may be used by any number of threads at once. A {@link
 * io.skiff.Session} belongs to one thread at a time.
 */
package io.skiff;
