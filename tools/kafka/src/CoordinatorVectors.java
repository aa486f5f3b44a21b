import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.apache.kafka.common.message.ConsumerProtocolAssignmentJsonConverter;
import org.apache.kafka.common.message.ConsumerProtocolSubscriptionJsonConverter;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.coordinator.group.generated.CoordinatorRecordJsonConverters;

/**
 * Reads lines [record type, version, key, value or null], where key and value are Kafka's JSON of a coordinator record,
 * and answers each with the hexadecimal bytes that Kafka writes: `key value`, the value `-` for a tombstone.
 * Record types "subscription" and "assignment" stand for the embedded consumer protocol; their key is null. Types
 * "share-state-0" and "share-state-1" are those of `__share_group_state`.
 */
public class CoordinatorVectors {
    private static final String SHARE_STATE = "share-state-";

    public static void main(String[] arguments) throws Exception {
        ObjectMapper json = new ObjectMapper();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode row = json.readTree(line);
            short version = (short) row.get(1).asInt();
            JsonNode value = row.get(3);
            if (row.get(0).asText().startsWith(SHARE_STATE)) {
                System.out.println(shareState(row, version));
                continue;
            }
            if (row.get(0).isTextual()) {
                System.out.println("- " + hex(MessageUtil.toVersionPrefixedBytes(version, embedded(row, version))));
                continue;
            }
            short type = (short) row.get(0).asInt();
            ApiMessage key = CoordinatorRecordJsonConverters.readRecordKeyFromJson(row.get(2), type);
            String keyHex = hex(MessageUtil.toCoordinatorTypePrefixedBytes(key));
            String valueHex = value.isNull() ? "-" : hex(MessageUtil.toVersionPrefixedBytes(
                version, CoordinatorRecordJsonConverters.readRecordValueFromJson(value, type, version)));
            System.out.println(keyHex + " " + valueHex);
        }
    }

    private static String shareState(JsonNode row, short version) {
        short type = Short.parseShort(row.get(0).asText().substring(SHARE_STATE.length()));
        ApiMessage key = org.apache.kafka.coordinator.share.generated.CoordinatorRecordJsonConverters
            .readRecordKeyFromJson(row.get(2), type);
        String valueHex = row.get(3).isNull() ? "-" : hex(MessageUtil.toVersionPrefixedBytes(version,
            org.apache.kafka.coordinator.share.generated.CoordinatorRecordJsonConverters
                .readRecordValueFromJson(row.get(3), type, version)));
        return hex(MessageUtil.toCoordinatorTypePrefixedBytes(key)) + " " + valueHex;
    }

    private static Message embedded(JsonNode row, short version) {
        return row.get(0).asText().equals("subscription")
            ? ConsumerProtocolSubscriptionJsonConverter.read(row.get(3), version)
            : ConsumerProtocolAssignmentJsonConverter.read(row.get(3), version);
    }

    private static String hex(byte[] bytes) {
        return HexFormat.of().formatHex(bytes);
    }
}
