import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.config.ConfigResource.Type;

/** Sends the four changes that Kafka's controllers judge otherwise than brokers; prints one line for each. */
public final class ControllerChanges {
    public static void main(String[] arguments) throws Exception {
        String topic = arguments[1];
        try (Admin admin = Admin.create(Map.of(
                "bootstrap.controllers", arguments[0], "client.id", "java-admin", "default.api.timeout.ms", "30000"))) {
            change(admin, "null", Type.TOPIC, topic, List.of(set("retention.ms", null)));
            change(admin, "duplicate", Type.TOPIC, topic, List.of(set("retention.ms", "1000"), set("retention.ms", "2000")));
            change(admin, "unknown", Type.UNKNOWN, "x", List.of(set("retention.ms", "1")));
            change(admin, "invalid", Type.BROKER, "1", List.of(set("log.cleaner.threads", "many")));
            change(admin, "lawful", Type.BROKER, "1", List.of(set("log.cleaner.threads", "2")));
        }
    }

    private static AlterConfigOp set(String name, String value) {
        return new AlterConfigOp(new ConfigEntry(name, value), AlterConfigOp.OpType.SET);
    }

    private static void change(Admin admin, String name, Type type, String resource, List<AlterConfigOp> operations)
            throws InterruptedException {
        String outcome = "NONE";
        try {
            admin.incrementalAlterConfigs(Map.of(new ConfigResource(type, resource), operations)).all().get();
        } catch (ExecutionException failure) {
            outcome = failure.getCause().getClass().getSimpleName();
        }
        System.out.println(name + " " + outcome);
    }
}
