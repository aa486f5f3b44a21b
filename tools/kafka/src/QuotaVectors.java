import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import kafka.server.ClientRequestQuotaManager;
import org.apache.kafka.common.errors.ThrottlingQuotaExceededException;
import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.metrics.MetricConfig;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.Quota;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.utils.Sanitizer;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.Timer;
import org.apache.kafka.network.Session;
import org.apache.kafka.server.config.ClientQuotaManagerConfig;
import org.apache.kafka.server.quota.ClientQuotaEntity;
import org.apache.kafka.server.quota.ClientQuotaManager;
import org.apache.kafka.server.quota.ControllerMutationQuota;
import org.apache.kafka.server.quota.ControllerMutationQuotaManager;
import org.apache.kafka.server.quota.QuotaType;

/**
 * Reads stories, one JSON object a line: {"samples", "seconds", "steps"}. Steps are
 *   ["wait", ms], ["quota", kind, user, client id, value], where null names nothing, "<default>" the default and a null
 *   value removes, ["record", kind, user, client id, value], ["unrecord", ...], ["most", kind, user, client id] and
 *   ["mutate", strict, user, client id, [partitions, ...]].
 * Answers each with {"answers": one for each step, "metrics": what Kafka's metrics say at the end}.
 */
public class QuotaVectors {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final long START = 1_700_000_000_000L;

    /** A clock that stands still. */
    private static final class Clock implements Time {
        long now = START;

        @Override public long milliseconds() { return now; }
        @Override public long hiResClockMs() { return now; }
        @Override public long nanoseconds() { return now * 1_000_000; }
        @Override public void sleep(long ms) { now += ms; }
        @Override public void waitObject(Object object, Supplier<Boolean> condition, long deadline) { }
        @Override public Timer timer(long timeout) { return new Timer[]{null}[0]; }
    }

    private final Clock clock = new Clock();
    private final Metrics metrics = new Metrics(
        new MetricConfig().samples(2).timeWindow(30_000, TimeUnit.MILLISECONDS), List.of(), clock, true);
    private final Map<String, ClientQuotaManager> managers = new HashMap<>();

    private QuotaVectors(int samples, int seconds) {
        ClientQuotaManagerConfig config = new ClientQuotaManagerConfig(samples, seconds);
        managers.put("Produce", new ClientQuotaManager(config, metrics, QuotaType.PRODUCE, clock, ""));
        managers.put("Fetch", new ClientQuotaManager(config, metrics, QuotaType.FETCH, clock, ""));
        managers.put("Request", new ClientRequestQuotaManager(config, metrics, clock, "", Optional.empty()));
        managers.put("ControllerMutation",
            new ControllerMutationQuotaManager(config, metrics, clock, "", Optional.empty()));
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode story = JSON.readTree(line);
            System.out.println(new QuotaVectors(story.get("samples").asInt(), story.get("seconds").asInt()).tell(story));
        }
        System.exit(0);
    }

    private String tell(JsonNode story) throws Exception {
        ObjectNode told = JSON.createObjectNode();
        ArrayNode answers = told.putArray("answers");
        for (JsonNode step : story.get("steps")) {
            take(step, answers);
        }
        ArrayNode measured = told.putArray("metrics");
        for (Map.Entry<org.apache.kafka.common.MetricName, KafkaMetric> one : metrics.metrics().entrySet()) {
            if (one.getKey().tags().containsKey("client-id")) {
                ArrayNode row = measured.addArray().add(one.getKey().group()).add(one.getKey().name())
                    .add(one.getKey().tags().get("user")).add(one.getKey().tags().get("client-id"));
                row.add(((Double) one.getValue().metricValue()).toString());
            }
        }
        metrics.close();
        for (ClientQuotaManager manager : managers.values()) {
            manager.initiateShutdown();
        }
        return JSON.writer().with(com.fasterxml.jackson.core.JsonGenerator.Feature.ESCAPE_NON_ASCII)
            .writeValueAsString(told);
    }

    private void take(JsonNode step, ArrayNode answers) throws Exception {
        switch (step.get(0).asText()) {
            case "wait" -> {
                clock.sleep(step.get(1).asLong());
                answers.addNull();
            }
            case "quota" -> {
                Optional<Quota> quota = step.get(4).isNull()
                    ? Optional.empty() : Optional.of(Quota.upperBound(step.get(4).asDouble()));
                managers.get(step.get(1).asText()).updateQuota(user(step.get(2)), client(step.get(3)), quota);
                answers.addNull();
            }
            case "record" -> answers.add(managers.get(step.get(1).asText()).recordAndGetThrottleTimeMs(
                session(step.get(2)), step.get(3).asText(), step.get(4).asDouble(), clock.now));
            case "unrecord" -> {
                managers.get(step.get(1).asText()).unrecordQuotaSensor(
                    session(step.get(2)), step.get(3).asText(), step.get(4).asDouble(), clock.now);
                answers.addNull();
            }
            case "most" -> answers.add(Double.toString(managers.get(step.get(1).asText()).maxValueInQuotaWindow(
                session(step.get(2)), step.get(3).asText())));
            case "mutate" -> mutate(step, answers.addArray());
            default -> throw new IllegalArgumentException(step.toString());
        }
    }

    /** Answers which mutations were let through, and the throttle time at the end. */
    private void mutate(JsonNode step, ArrayNode answer) throws Exception {
        ControllerMutationQuotaManager manager = (ControllerMutationQuotaManager) managers.get("ControllerMutation");
        ControllerMutationQuota quota = step.get(1).asBoolean()
            ? manager.newStrictQuotaFor(session(step.get(2)), step.get(3).asText())
            : manager.newPermissiveQuotaFor(session(step.get(2)), step.get(3).asText());
        for (JsonNode partitions : step.get(4)) {
            try {
                quota.record(partitions.asDouble());
                answer.add(true);
            } catch (ThrottlingQuotaExceededException e) {
                answer.add(false);
            }
        }
        answer.add(quota.throttleTime());
    }

    private static Session session(JsonNode user) throws Exception {
        return new Session(new KafkaPrincipal("User", user.asText()), InetAddress.getByName("127.0.0.1"));
    }

    private static Optional<ClientQuotaEntity.ConfigEntity> user(JsonNode name) {
        if (name.isNull()) return Optional.empty();
        return Optional.of(name.asText().equals("<default>")
            ? ClientQuotaManager.DEFAULT_USER_ENTITY : new ClientQuotaManager.UserEntity(Sanitizer.sanitize(name.asText())));
    }

    private static Optional<ClientQuotaEntity.ConfigEntity> client(JsonNode name) {
        if (name.isNull()) return Optional.empty();
        return Optional.of(name.asText().equals("<default>")
            ? ClientQuotaManager.DEFAULT_USER_CLIENT_ID : new ClientQuotaManager.ClientIdEntity(name.asText()));
    }
}
