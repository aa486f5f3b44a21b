import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.types.Password;
import org.apache.kafka.coordinator.group.GroupConfig;
import org.apache.kafka.server.config.AbstractKafkaConfig;
import org.apache.kafka.server.config.QuotaConfig;
import org.apache.kafka.server.metrics.ClientMetricsConfigs;
import org.apache.kafka.storage.internals.log.LogConfig;

/**
 * Reads lines ["resource type", "key", "value" or null] and answers each with [text of the parsed value, message]:
 * the message is null when Kafka accepts, a text when it refuses; a third entry names the class of any exception
 * that is not of Kafka's own making.
 */
public class ParseValues {
    public static void main(String[] arguments) throws Exception {
        Map<String, ConfigDef> definitions = definitions();
        JsonMapper json = JsonMapper.builder().enable(JsonWriteFeature.ESCAPE_NON_ASCII).build();
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.US_ASCII);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode row = json.readTree(line);
            ConfigDef.ConfigKey key = definitions.get(row.get(0).asText()).configKeys().get(row.get(1).asText());
            out.println(json.writeValueAsString(judge(key, row.get(2).isNull() ? null : row.get(2).asText())));
        }
        out.flush();
    }

    private static List<String> judge(ConfigDef.ConfigKey key, String value) {
        List<String> answer = new ArrayList<>();
        Map<String, String> properties = new HashMap<>();
        properties.put(key.name, value);
        try {
            ConfigDef definition = new ConfigDef();
            definition.define(key);
            Object parsed = definition.parse(properties).get(key.name);
            answer.add(parsed instanceof Password p ? p.value() : ConfigDef.convertToString(parsed, key.type));
            answer.add(null);
        } catch (RuntimeException e) {
            answer.add(null);
            answer.add(e.getMessage());
            if (!e.getClass().getName().startsWith("org.apache.kafka.")) answer.add(e.getClass().getName());
        }
        return answer;
    }

    private static Map<String, ConfigDef> definitions() throws ReflectiveOperationException {
        Field topic = LogConfig.class.getDeclaredField("CONFIG");
        topic.setAccessible(true);
        ConfigDef broker = new ConfigDef(AbstractKafkaConfig.CONFIG_DEF);
        QuotaConfig.brokerQuotaConfigs().configKeys().values().forEach(broker::define);
        return Map.of(
            "broker", broker,
            "topic", (ConfigDef) topic.get(null),
            "group", GroupConfig.CONFIG_DEF,
            "client_metrics", ClientMetricsConfigs.configDef());
    }
}
