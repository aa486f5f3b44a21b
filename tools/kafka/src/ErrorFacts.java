import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.protocol.Errors;

/** Prints every error code of Kafka's protocol, one JSON object a line: number, name, exception class, retriable, message. */
public class ErrorFacts {
    public static void main(String[] args) {
        for (Errors error : Errors.values()) {
            if (error == Errors.NONE) {
                continue;
            }
            System.out.printf("{\"code\": %d, \"name\": \"%s\", \"exception\": \"%s\", \"retriable\": %b, \"message\": \"%s\"}%n",
                error.code(), error.name(), error.exception().getClass().getSimpleName(),
                error.exception() instanceof RetriableException, error.message().replace("\\", "\\\\").replace("\"", "\\\""));
        }
    }
}
