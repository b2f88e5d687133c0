package io.skiff;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.awt.image.BufferedImage;
import java.io.File;
import java.lang.reflect.Array;
import java.lang.reflect.Executable;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import org.junit.Test;

/** What a developer is told who passes null. */
public class NullTest {
  /** Where null means something: {@code @Nullable}, which is not there to be reflected on. */
  private static final Set<String> NULLABLE = new HashSet<>(
      Arrays.asList("ModelOptions.cacheFolder", "Quantization.equals", "SessionOptions.signature",
          "SessionOptions.threadPool", "SessionOptions.variablesOf", "Skiff.setLogSink"));

  /** Arguments and receivers by their types; of the other types null will do. */
  private final Map<Class<?>, Object> objects = new HashMap<>();
  private final List<String> silent = new ArrayList<>();
  private int places;

  /** Each parameter of each public method in turn: none can be forgotten. */
  @Test
  public void everyArgumentIsNamedWithWhatItTakes() throws Exception {
    try (Model model = Model.open(TestModels.SMALL); Session session = Session.create(model)) {
      TensorType input = session.signature().inputs().get(0);
      session.inputBuffer(input.name(), extents(input));
      session.run();
      Tensor output = session.output(session.signature().outputs().get(0).name());
      objects.put(String.class, input.name());
      for (Object object : new Object[] {model, session, output, input, session.signature(),
               new ModelOptions(), new SessionOptions(), ByteBuffer.allocateDirect(16),
               Pixels.argb(new int[1], 1, 1), Pixels.Format.RGB8, Target.CPU, Backend.PLANNED,
               new BufferedImage(1, 1, BufferedImage.TYPE_INT_RGB)})
        objects.put(object instanceof ByteBuffer ? ByteBuffer.class : object.getClass(), object);
      for (Class<?> type : publicClasses()) {
        for (Method method : type.getDeclaredMethods()) tryNulls(type, method);
        for (Executable constructor : type.getConstructors())
          assertEquals(constructor.toString(), 0, references(constructor).size());
      }
    }
    assertEquals(Collections.emptyList(), silent);
    assertTrue(places + " places", places >= 50);
  }

  private void tryNulls(Class<?> type, Method method) throws IllegalAccessException {
    String name = type.getSimpleName() + "." + method.getName();
    boolean ofEnum = type.isEnum() && method.getName().equals("valueOf");
    if (!Modifier.isPublic(method.getModifiers()) || method.isSynthetic() || ofEnum
        || NULLABLE.contains(name))
      return;
    Class<?>[] parameters = method.getParameterTypes();
    for (int at : references(method)) {
      Object[] arguments = new Object[parameters.length];
      for (int i = 0; i < parameters.length; ++i) arguments[i] = i == at ? null : argument(parameters[i]);
      ++places;
      String said = "nothing";
      try {
        method.invoke(objects.get(type), arguments);
      } catch (InvocationTargetException e) {
        said = e.getCause().toString();
      }
      if (!said.matches("(?s)java.lang.NullPointerException: [a-z]+ is null: expected .*"))
        silent.add(method + ", argument " + at + ": " + said);
    }
  }

  private static List<Integer> references(Executable method) {
    List<Integer> places = new ArrayList<>();
    for (int i = 0; i < method.getParameterTypes().length; ++i) {
      if (!method.getParameterTypes()[i].isPrimitive())
        places.add(i);
    }
    return places;
  }

  private Object argument(Class<?> type) {
    if (type.isArray())
      return Array.newInstance(type.getComponentType(), 0);
    if (type == boolean.class)
      return false;
    if (type.isPrimitive())
      return Array.get(Array.newInstance(type, 1), 0);
    return objects.get(type);
  }

  private static long[] extents(TensorType type) {
    long[] shape = type.shape();
    for (int i = 0; i < shape.length; ++i) shape[i] = Math.max(shape[i], 1);
    return shape;
  }

  private static List<Class<?>> publicClasses() throws Exception {
    List<Class<?>> classes = new ArrayList<>();
    File jar = new File(Model.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    try (JarFile file = new JarFile(jar)) {
      for (JarEntry entry : Collections.list(file.entries())) {
        String name = entry.getName();
        if (!name.endsWith(".class") || name.endsWith("-info.class"))
          continue;
        Class<?> type = Class.forName(
            name.replace('/', '.').replaceAll("\\.class$", ""), true, Model.class.getClassLoader());
        if (Modifier.isPublic(type.getModifiers()) && !type.isInterface())
          classes.add(type);
      }
    }
    return classes;
  }

  @Test
  public void theSentenceSaysWhichTensor() {
    try (Model model = Model.open(TestModels.SMALL); Session session = Session.create(model)) {
      TensorType input = session.signature().inputs().get(0);
      assertSays("data is null: expected an array with the elements of " + input,
          () -> session.setInput(input.name(), (float[]) null));
      assertSays("name is null: expected the name of an input; the signature has [" + input + "]",
          () -> session.signature().input(null));
      assertSays("path is null: expected the path of a .skiff file", () -> Model.open((String) null));
    }
  }

  private static void assertSays(String sentence, Runnable call) {
    try {
      call.run();
    } catch (NullPointerException e) {
      assertEquals(sentence, e.getMessage());
      return;
    }
    throw new AssertionError("nothing was thrown; expected: " + sentence);
  }
}
