import io.skiff.Model;
import io.skiff.Session;

/** Opens the model named on the command line, and runs it once on zeros. */
public final class Main {
  public static void main(String[] arguments) {
    try (Model model = Model.open(arguments[0]); Session session = Session.create(model)) {
      session.inputBuffer(session.signature().inputs().get(0).name());
      session.run();
      String output = session.signature().outputs().get(0).name();
      System.out.println(output + ": " + session.output(output).data().asFloatBuffer().get(0));
    }
  }
}
