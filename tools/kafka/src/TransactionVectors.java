import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.coordinator.transaction.generated.CoordinatorRecordJsonConverters;

/**
 * Reads lines [record type, version, key, value or null], where key and value are Kafka's JSON of a record of
 * `__transaction_state`, and answers each with the hexadecimal bytes that Kafka writes: `key value`, the value `-` for a
 * tombstone.
 */
public class TransactionVectors {
    public static void main(String[] arguments) throws Exception {
        ObjectMapper json = new ObjectMapper();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode row = json.readTree(line);
            short type = (short) row.get(0).asInt();
            short version = (short) row.get(1).asInt();
            JsonNode value = row.get(3);
            ApiMessage key = CoordinatorRecordJsonConverters.readRecordKeyFromJson(row.get(2), type);
            String valueHex = value.isNull() ? "-" : hex(MessageUtil.toVersionPrefixedBytes(
                version, CoordinatorRecordJsonConverters.readRecordValueFromJson(value, type, version)));
            System.out.println(hex(MessageUtil.toCoordinatorTypePrefixedBytes(key)) + " " + valueHex);
        }
    }

    private static String hex(byte[] bytes) {
        return HexFormat.of().formatHex(bytes);
    }
}
