import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.apache.kafka.common.metrics.JmxReporter;
import org.apache.kafka.common.metrics.KafkaMetricsContext;
import org.apache.kafka.common.metrics.MetricConfig;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.Quota;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.utils.AppInfoParser;
import org.apache.kafka.common.utils.Sanitizer;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.network.Session;
import org.apache.kafka.server.config.ClientQuotaManagerConfig;
import org.apache.kafka.server.quota.ClientQuotaManager;
import org.apache.kafka.server.quota.QuotaType;

/**
 * Prints what Kafka makes of odd names, one JSON object per line after a header line.
 * `names`: Sanitizer's three functions. `objects`: the MBeans that real quota managers register.
 */
public class SanitizerVectors {
    private static final ObjectMapper JSON =
        JsonMapper.builder().enable(JsonWriteFeature.ESCAPE_NON_ASCII).build();
    private static final String KITCHEN_SINK = "a b/c:d*\u00e9\"\n\ud83d\ude00";

    public static void main(String[] arguments) throws Exception {
        Map<String, Object> header = new LinkedHashMap<>();
        header.put("kafka_version", AppInfoParser.getVersion());
        header.put("jdk", System.getProperty("java.version"));
        print(header);
        switch (arguments[0]) {
            case "names" -> printNames();
            case "objects" -> printObjects();
            default -> throw new IllegalArgumentException(arguments[0]);
        }
    }

    private static void print(Map<String, Object> row) throws Exception {
        System.out.println(JSON.writeValueAsString(row));
    }

    private static void printNames() throws Exception {
        for (String text : names()) {
            Map<String, Object> row = new LinkedHashMap<>();
            row.put("text", text);
            row.put("sanitize", Sanitizer.sanitize(text));
            row.put("desanitize", desanitized(text));
            row.put("jmx", Sanitizer.jmxSanitize(text));
            print(row);
        }
    }

    /** The desanitised text, or null where Java throws. */
    private static String desanitized(String text) {
        try {
            return Sanitizer.desanitize(text);
        } catch (IllegalArgumentException e) {
            return null;
        }
    }

    private static Set<String> names() {
        Set<String> names = new LinkedHashSet<>(List.of("", "a", "app-1", "My.App_2", ".", "..", "-", "_", "<default>",
            "consumer-console-consumer-12345-1", "CN=Alice,OU=Kafka,O=Example, C=US", "user@EXAMPLE.COM", KITCHEN_SINK,
            "my client", "client id=1", "client-\u4e2d\u6587", "[-.\\w]+", "%", "%%", "%2", "%2g", "%g2", "a%", "a%4",
            "%41%", "%41%4", "%41%42", "%e9", "%C3%A9", "%c3%a9", "%C3", "%F0%9F%98%80", "%+5", "%-0", "%-1", "%++",
            "% 5", "%5 ", "%0x", "%\uff14\uff11", "%\uff26\uff46", "%\u0664\u0661", "%\ud83d\ude00", "%4\ud83d\ude00",
            "+", "++", "a+b", "a%2Bb", "a%20b", "%2520", "%00", "%7E~", "\\", "\\n", "\"quoted\"", "a,b", "a=b", "a?b"));
        for (int c = 0; c < 0x100; c++) {
            names.add("" + (char) c);
            names.add("x" + (char) c + "y");
            names.add(c < 0x80 ? "%4" + (char) c : "\u00e9" + (char) c);
        }
        addPlanes(names);
        addSurrogates(names);
        addEscapes(names);
        addMixtures(names, new Random(190));
        for (String name : List.copyOf(names)) {
            if (names.size() < 5000) {
                names.add(Sanitizer.sanitize(name));
            }
        }
        for (int length : new int[] {248, 249, 250, 1000}) {
            names.add("g".repeat(length));
            names.add("\u00fc".repeat(length));
        }
        return names;
    }

    private static void addPlanes(Set<String> names) {
        int[] offsets = {0x0, 0x1, 0x7f, 0x80, 0x7ff, 0x800, 0x1680, 0x2028, 0x202e, 0x3000, 0x4e2d, 0xd7ff, 0xe000,
            0xfeff, 0xff0d, 0xff11, 0xfffd, 0xfffe, 0xffff};
        for (int plane = 0; plane <= 16; plane++) {
            for (int offset : offsets) {
                String character = Character.toString((plane << 16) + offset);
                names.add(character);
                names.add("a" + character + "*b");
            }
        }
    }

    private static void addSurrogates(Set<String> names) {
        char[] highs = {'\ud800', '\ud83d', '\udbff'};
        char[] lows = {'\udc00', '\ude00', '\udfff'};
        for (char high : highs) {
            for (char low : lows) {
                for (String text : List.of("" + high, "" + low, "" + low + high, "" + high + low, "" + high + high + low,
                        "" + high + low + low, "" + high + 'x' + low, "" + high + ' ' + low, "" + low + low)) {
                    names.add(text);
                    names.add("a" + text);
                    names.add(text + "z");
                    names.add("\u00e9" + text + "%C3%A9");
                    names.add(" " + text + "\ud83d\ude00");
                }
            }
        }
    }

    /** Escapes that are not always UTF-8: every pair of the bytes that its decoders tell apart, and longer runs. */
    private static void addEscapes(Set<String> names) {
        int[] octets = {0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe2, 0xec, 0xed, 0xee,
            0xef, 0xf0, 0xf1, 0xf4, 0xf5, 0xf8, 0xff};
        for (int first : octets) {
            for (int second : octets) {
                names.add(String.format("%%%02X%%%02x", first, second));
            }
        }
        Random random = new Random(55);
        for (int i = 0; i < 1200; i++) {
            StringBuilder text = new StringBuilder();
            for (int length = 3 + random.nextInt(4); length > 0; length--) {
                text.append(String.format("%%%02X", octets[random.nextInt(octets.length)]));
            }
            names.add(text.toString());
        }
        for (int lead : new int[] {0xe0, 0xed, 0xef}) {
            for (int second = 0x80; second < 0xc0; second += 0x10) {
                names.add(String.format("%%%02X%%%02XA", lead, second));
                names.add(String.format("%%%02X%%%02X%%80b", lead, second));
            }
        }
    }

    private static void addMixtures(Set<String> names, Random random) {
        String[] pieces = {"a", "Z", "9", "-", "_", ".", "~", "*", "+", " ", "%", "%2", "%41", "\t", "\n", "\r", "\u0000", "\"",
            "\\", "?", ",", "=", ":", "/", "\u00e9", "\u20ac", "\ud83d\ude00", "\ud83d", "\ude00", "\u202e", "\ufffd", "%ED%A0%80"};
        for (int i = 0; i < 800; i++) {
            StringBuilder text = new StringBuilder();
            for (int length = 2 + random.nextInt(9); length > 0; length--) {
                text.append(pieces[random.nextInt(pieces.length)]);
            }
            names.add(text.toString());
        }
    }

    private static void printObjects() throws Exception {
        Set<String> names = new LinkedHashSet<>(List.of("", "app-1", "CN=Alice, OU=Kafka", "user@EXAMPLE.COM", KITCHEN_SINK,
            "my client", "a%20b", "\\n\"*?", "\u4e2d\u6587", "\ud83d\ude00", "tab\there", "a,b=c", "<default>"));
        for (QuotaType type : List.of(QuotaType.PRODUCE, QuotaType.FETCH, QuotaType.REQUEST, QuotaType.CONTROLLER_MUTATION)) {
            for (String user : names) {
                for (String clientId : names) {
                    if (type == QuotaType.PRODUCE || clientId.equals(KITCHEN_SINK)) {
                        printObject(type, user, clientId);
                    }
                }
            }
        }
    }

    /** Lets a quota manager with quotas on exactly the entities that are named register its metrics for one request. */
    private static void printObject(QuotaType type, String user, String clientId) throws Exception {
        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        JmxReporter reporter = new JmxReporter();
        Metrics metrics = new Metrics(
            new MetricConfig(), List.of(reporter), Time.SYSTEM, true, new KafkaMetricsContext("kafka.server"));
        ClientQuotaManager manager = new ClientQuotaManager(new ClientQuotaManagerConfig(), metrics, type, Time.SYSTEM, "");
        if (!user.isEmpty()) {
            manager.updateQuota(Optional.of(new ClientQuotaManager.UserEntity(Sanitizer.sanitize(user))),
                clientId.isEmpty() ? Optional.empty() : Optional.of(new ClientQuotaManager.ClientIdEntity(clientId)),
                Optional.of(Quota.upperBound(1000)));
        }
        Set<ObjectName> before = new HashSet<>(server.queryNames(new ObjectName("kafka.server:*"), null));
        Session session = new Session(new KafkaPrincipal("User", user), InetAddress.getLoopbackAddress());
        manager.getOrCreateQuotaSensors(session, clientId);
        Set<ObjectName> after = new HashSet<>(server.queryNames(new ObjectName("kafka.server:*"), null));
        after.removeAll(before);
        Map<String, Object> row = new LinkedHashMap<>();
        row.put("type", type.toString());
        row.put("user", user);
        row.put("client_id", clientId);
        // Without tags the name is that of the manager's own queue-size metric, which stands there already.
        row.put("name", after.isEmpty() ? before.iterator().next().toString() : after.iterator().next().toString());
        print(row);
        manager.shutdown();
        metrics.close();
    }
}
