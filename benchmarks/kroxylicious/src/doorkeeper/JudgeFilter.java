package doorkeeper;

import io.kroxylicious.proxy.filter.FilterContext;
import io.kroxylicious.proxy.filter.RequestFilter;
import io.kroxylicious.proxy.filter.RequestFilterResult;
import java.util.concurrent.CompletionStage;
import org.apache.kafka.common.message.FetchRequestData;
import org.apache.kafka.common.message.HeartbeatRequestData;
import org.apache.kafka.common.message.JoinGroupRequestData;
import org.apache.kafka.common.message.OffsetCommitRequestData;
import org.apache.kafka.common.message.ProduceRequestData;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;

/** Judges what Doorkeeper's gateway judges in the requests of the benchmark: lengths of identifiers, all of them lawful. */
final class JudgeFilter implements RequestFilter {
    private static final int LIMIT = 249;

    @Override
    public CompletionStage<RequestFilterResult> onRequest(
            ApiKeys key, RequestHeaderData header, ApiMessage body, FilterContext context) {
        if (!lawful(header.clientId()) || !lawful(identifier(body))) {
            return context.requestFilterResultBuilder().withCloseConnection().completed();
        }
        return context.forwardRequest(header, body);
    }

    private static String identifier(ApiMessage body) {
        return switch (body.apiKey()) {
            case 0 -> ((ProduceRequestData) body).transactionalId();
            case 1 -> ((FetchRequestData) body).rackId();
            case 8 -> ((OffsetCommitRequestData) body).groupId();
            case 11 -> ((JoinGroupRequestData) body).groupId();
            case 12 -> ((HeartbeatRequestData) body).groupId();
            default -> null;
        };
    }

    private static boolean lawful(String identifier) {
        return identifier == null || identifier.length() <= LIMIT;
    }
}
