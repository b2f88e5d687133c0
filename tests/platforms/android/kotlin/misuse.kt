// Each line that ends in "refused" must not compile: Kotlin reads from the Java API what may be null, and what may not.
import io.skiff.*

fun misuse(model: Model, session: Session, type: TensorType, pixels: Pixels) {
    model.metadata("key").length // refused
    model.metadata(null) // refused
    Model.open(null as String?) // refused
    type.symbol(0).name() // refused
    type.quantization().scale() // refused
    type.image().width() // refused
    session.setImage(null, pixels) // refused
    session["x"] = "text" // refused
    session.run("x" to null) // refused
    session.output("y").quantization().scale() // refused

    val length: Int? = model.metadata("key")?.length
    val name: String = session.output("y").name()
    SessionOptions().threadPool(null).variablesOf(null).signature(null)
    println("$length $name")
}
