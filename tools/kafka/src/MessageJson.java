import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.network.RequestConvertToJson;

/**
 * Reads lines `key version request|response hex`, the bytes of a body without header, and answers each with the JSON
 * that Kafka's request log shows of it, or `!` and why not.
 */
public class MessageJson {
    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        ObjectMapper json = new ObjectMapper();
        json.enable(com.fasterxml.jackson.core.JsonGenerator.Feature.ESCAPE_NON_ASCII);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] parts = line.split(" ", -1);
            ApiKeys key = ApiKeys.forId(Integer.parseInt(parts[0]));
            short version = Short.parseShort(parts[1]);
            ByteBufferAccessor body = new ByteBufferAccessor(ByteBuffer.wrap(HexFormat.of().parseHex(parts[3])));
            String answer;
            try {
                answer = json.writeValueAsString(parts[2].equals("request")
                    ? RequestConvertToJson.request(AbstractRequest.parseRequest(key, version, body).request)
                    : RequestConvertToJson.response(AbstractResponse.parseResponse(key, body, version), version));
            } catch (Exception e) {
                answer = "!" + e.getClass().getSimpleName() + " " + e.getMessage();
            }
            System.out.println(answer);
        }
    }
}
