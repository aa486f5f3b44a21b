import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.reflect.Method;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.KRaftVersionRecord;
import org.apache.kafka.common.message.LeaderChangeMessage;
import org.apache.kafka.common.message.SnapshotFooterRecord;
import org.apache.kafka.common.message.SnapshotHeaderRecord;
import org.apache.kafka.common.message.VotersRecord;
import org.apache.kafka.common.metadata.MetadataRecordType;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.protocol.types.RawTaggedField;
import org.apache.kafka.common.utils.AppInfoParser;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.server.common.ApiMessageAndVersion;

/**
 * Prints samples of every metadata record and raft control record, in every version, as Kafka itself writes them:
 * one JSON object per line after a header line. A record is filled by its setters, three ways: defaults, small values
 * in every field that the version carries, and edge values (nulls, empty lists, extremes), with unknown tagged fields.
 */
public class MetadataVectors {
    private static final ObjectMapper JSON = new ObjectMapper();

    private enum Fill { DEFAULT, PLAIN, EDGE }

    public static void main(String[] arguments) throws Exception {
        Map<String, Object> header = new LinkedHashMap<>();
        header.put("kafka_version", AppInfoParser.getVersion());
        System.out.println(JSON.writeValueAsString(header));
        for (MetadataRecordType type : MetadataRecordType.values()) {
            for (short version = type.lowestSupportedVersion(); version <= type.highestSupportedVersion(); version++) {
                for (Fill fill : Fill.values()) {
                    ApiMessage record = filled(type.newMetadataRecord(), version, fill);
                    print(record, version, fill, frame(record, version), json(record, version));
                }
            }
        }
        for (ApiMessage prototype : List.of(new LeaderChangeMessage(), new SnapshotHeaderRecord(),
                new SnapshotFooterRecord(), new KRaftVersionRecord(), new VotersRecord())) {
            for (short version = 0; version <= prototype.highestSupportedVersion(); version++) {
                for (Fill fill : Fill.values()) {
                    ApiMessage record = filled(prototype.getClass().getConstructor().newInstance(), version, fill);
                    record.getClass().getMethod("setVersion", short.class).invoke(record, version);
                    ByteBuffer bytes = MessageUtil.toByteBufferAccessor(record, version).buffer();
                    print(record, version, fill, bytes, json(record, version));
                }
            }
        }
    }

    private static void print(Message record, short version, Fill fill, ByteBuffer bytes, JsonNode fields)
            throws Exception {
        byte[] raw = new byte[bytes.remaining()];
        bytes.get(raw);
        Map<String, Object> row = new LinkedHashMap<>();
        row.put("type", record.getClass().getSimpleName());
        row.put("version", version);
        row.put("fill", fill.name().toLowerCase());
        row.put("bytes", Base64.getEncoder().encodeToString(raw));
        row.put("fields", fields);
        System.out.println(JSON.writeValueAsString(row));
    }

    private static ByteBuffer frame(ApiMessage record, short version) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ApiMessageAndVersion both = new ApiMessageAndVersion(record, version);
        ByteBuffer buffer = ByteBuffer.allocate(MetadataRecordSerde.INSTANCE.recordSize(both, cache));
        MetadataRecordSerde.INSTANCE.write(both, cache, new ByteBufferAccessor(buffer));
        buffer.flip();
        return buffer;
    }

    /** The generated converter's own JSON: the names and values that Kafka's tools print. */
    private static JsonNode json(Message record, short version) throws Exception {
        Class<?> converter = Class.forName(record.getClass().getName() + "JsonConverter");
        for (Method method : converter.getMethods()) {
            if (method.getName().equals("write") && method.getParameterCount() == 2) {
                return (JsonNode) method.invoke(null, record, version);
            }
        }
        throw new IllegalStateException(converter.getName());
    }

    /** Set every field that the version can carry; Kafka refuses to write a value that it can't, so each is tried. */
    private static <T extends Message> T filled(T record, short version, Fill fill) throws Exception {
        if (fill == Fill.DEFAULT) {
            return record;
        }
        int counter = 1;
        for (Method setter : setters(record.getClass())) {
            Object before = record.getClass().getMethod(getter(setter)).invoke(record);
            Object sample = sample(setter.getGenericParameterTypes()[0], version, fill, counter++);
            boolean isNullable = fill == Fill.EDGE && !setter.getParameterTypes()[0].isPrimitive()
                && set(record, setter, null, version);
            if (!isNullable && !set(record, setter, sample, version)) {
                setter.invoke(record, before);
            }
        }
        if (fill == Fill.EDGE && record instanceof ApiMessage) {
            record.unknownTaggedFields().add(new RawTaggedField(77, new byte[] {1, 2, 3}));
            record.unknownTaggedFields().add(new RawTaggedField(300, new byte[] {}));
        }
        return record;
    }

    private static List<Method> setters(Class<?> type) {
        List<Method> setters = new ArrayList<>();
        for (Method method : type.getMethods()) {
            if (method.getName().startsWith("set") && method.getParameterCount() == 1 && !method.isBridge()
                    && method.getDeclaringClass() == type && !method.getName().matches("setNext|setPrev")) {
                setters.add(method);
            }
        }
        setters.sort((a, b) -> a.getName().compareTo(b.getName()));
        return setters;
    }

    private static String getter(Method setter) {
        String name = setter.getName().substring(3);
        return Character.toLowerCase(name.charAt(0)) + name.substring(1);
    }

    /** Whether the record can still be written with this value. */
    private static boolean set(Message record, Method setter, Object value, short version) throws Exception {
        setter.invoke(record, value);
        try {
            MessageUtil.toByteBufferAccessor(record, version);
            return true;
        } catch (RuntimeException e) {
            return false;
        }
    }

    private static Object sample(Type type, short version, Fill fill, int n) throws Exception {
        boolean edge = fill == Fill.EDGE;
        if (type == boolean.class) return !edge;
        if (type == byte.class) return edge ? Byte.MIN_VALUE : (byte) n;
        if (type == short.class) return edge ? Short.MAX_VALUE : (short) n;
        if (type == int.class) return edge ? 65535 : n;
        if (type == long.class) return edge ? Long.MIN_VALUE : 1_700_000_000_000L + n;
        if (type == double.class) return edge ? -0.1 : n + 0.5;
        if (type == String.class) return edge ? "\u00e9\uD83D\uDE00" + "x".repeat(200) : "text-" + n;
        if (type == byte[].class) return edge ? new byte[0] : new byte[] {(byte) n, (byte) 0xff};
        if (type == Uuid.class) return edge ? new Uuid(-1L, -1L) : new Uuid(n, 2L * n);
        Class<?> raw = (Class<?>) (type instanceof ParameterizedType p ? p.getRawType() : type);
        if (List.class.isAssignableFrom(raw) && type instanceof ParameterizedType list) {
            Type item = list.getActualTypeArguments()[0];
            return edge ? new ArrayList<>() : new ArrayList<>(List.of(
                sample(item, version, fill, n), sample(item, version, fill, n + 1)));
        }
        if (raw.getSimpleName().endsWith("Collection")) {
            @SuppressWarnings("unchecked")
            java.util.Collection<Object> items = (java.util.Collection<Object>) raw.getConstructor().newInstance();
            Class<?> item = Class.forName(raw.getName().replaceFirst("Collection$", ""));
            items.add(filled((Message) item.getConstructor().newInstance(), version, fill));
            return items;
        }
        if (Integer.class == raw) return edge ? -1 : n;
        return filled((Message) raw.getConstructor().newInstance(), version, fill);
    }
}
