import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.metrics.JmxReporter;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.utils.AppInfoParser;
import org.apache.kafka.coordinator.group.GroupConfig;
import org.apache.kafka.coordinator.group.GroupCoordinatorConfig;
import org.apache.kafka.coordinator.share.ShareCoordinatorConfig;
import org.apache.kafka.network.SocketServer;
import org.apache.kafka.server.DynamicThreadPool;
import org.apache.kafka.server.common.Feature;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.server.config.AbstractKafkaConfig;
import org.apache.kafka.server.config.ConfigSynonym;
import org.apache.kafka.server.config.DynamicBrokerConfig;
import org.apache.kafka.server.config.DynamicConfig;
import org.apache.kafka.server.config.QuotaConfig;
import org.apache.kafka.server.config.ServerTopicConfigSynonyms;
import org.apache.kafka.server.metrics.ClientMetricsConfigs;
import org.apache.kafka.server.metrics.MetricConfigs;
import org.apache.kafka.storage.internals.log.LogCleaner;
import org.apache.kafka.storage.internals.log.LogConfig;

/**
 * Prints, as one JSON object, what Kafka's jars say about every config key: {file name: document}.
 * Nothing is typed here but the names of the classes that are asked; an unknown kind of validator is an error.
 */
public class ConfigFacts {
    /** Validators that are code and not data; each is ported by hand under this name. */
    private static final Set<String> CODE_VALIDATORS = Set.of(
        "QuorumConfig$ControllerQuorumBootstrapServersValidator",
        "QuorumConfig$ControllerQuorumVotersValidator",
        "ThrottledReplicaListValidator",
        "ShareGroupAutoOffsetResetStrategy$Validator");

    public static void main(String[] arguments) throws Exception {
        Map<String, Object> documents = new LinkedHashMap<>();
        documents.put("broker", resource("broker", broker()));
        documents.put("topic", resource("topic", topic()));
        documents.put("group", resource("group", group()));
        documents.put("client_metrics", resource("client_metrics", keys(ClientMetricsConfigs.configDef())));
        documents.put("quota", quota());
        documents.put("levels", levels());
        new ObjectMapper().writeValue(System.out, documents);
    }

    private static Map<String, Object> header() {
        Map<String, Object> document = new LinkedHashMap<>();
        document.put("kafka_version", AppInfoParser.getVersion());
        return document;
    }

    private static Map<String, Object> resource(String type, Map<String, Map<String, Object>> keys) {
        Map<String, Object> document = header();
        document.put("resource_type", type);
        document.put("keys", keys.values());
        return document;
    }

    private static Map<String, Map<String, Object>> broker() throws Exception {
        Map<String, Map<String, Object>> keys = keys(AbstractKafkaConfig.CONFIG_DEF);
        keys.putAll(keys(QuotaConfig.brokerQuotaConfigs()));
        Map<String, String> modes = DynamicBrokerConfig.dynamicConfigUpdateModes();
        Map<String, Set<String>> groups = reconfigurableGroups();
        keys.forEach((name, key) -> {
            key.put("scope", modes.getOrDefault(name, "read-only"));
            List<String> by = new ArrayList<>();
            groups.forEach((group, names) -> {
                if (names.contains(name)) by.add(group);
            });
            key.put("reconfigurable_by", by);
        });
        return keys;
    }

    /** The parts of a broker that take a new value while it runs, each with the keys it listens to. */
    private static Map<String, Set<String>> reconfigurableGroups() throws Exception {
        Map<String, Set<String>> groups = new TreeMap<>();
        groups.put("cleaner", LogCleaner.RECONFIGURABLE_CONFIGS);
        groups.put("config_providers", Set.of(AbstractConfig.CONFIG_PROVIDERS_CONFIG));
        groups.put("group_coordinator", GroupCoordinatorConfig.RECONFIGURABLE_CONFIGS);
        groups.put("listener", DynamicBrokerConfig.DynamicListenerConfig.RECONFIGURABLE_CONFIGS);
        groups.put("log", DynamicBrokerConfig.DynamicLogConfig.RECONFIGURABLE_CONFIGS);
        groups.put("metrics_reporter", Set.of(MetricConfigs.METRIC_REPORTER_CLASSES_CONFIG));
        groups.put("producer_state", names(DynamicBrokerConfig.class, "DYNAMIC_PRODUCER_STATE_MANAGER_CONFIGS"));
        groups.put("quota", DynamicBrokerConfig.DynamicQuotaConfig.RECONFIGURABLE_CONFIGS);
        groups.put("remote_log", DynamicBrokerConfig.DynamicRemoteLogConfig.RECONFIGURABLE_CONFIGS);
        groups.put("replication", DynamicBrokerConfig.DynamicReplicationConfig.RECONFIGURABLE_CONFIGS);
        groups.put("security", DynamicBrokerConfig.DYNAMIC_SECURITY_CONFIGS);
        groups.put("share_coordinator", ShareCoordinatorConfig.RECONFIGURABLE_CONFIGS);
        groups.put("socket_server", SocketServer.RECONFIGURABLE_CONFIGS);
        groups.put("thread_pool", DynamicThreadPool.RECONFIGURABLE_CONFIGS);
        Set<String> all = new TreeSet<>();
        groups.values().forEach(all::addAll);
        require(all.equals(new TreeSet<>(DynamicBrokerConfig.ALL_DYNAMIC_CONFIGS)),
            "the reconfigurable groups do not add up to ALL_DYNAMIC_CONFIGS");
        return groups;
    }

    private static Map<String, Map<String, Object>> topic() throws Exception {
        Map<String, Map<String, Object>> keys = keys((ConfigDef) field(LogConfig.class, "CONFIG"));
        keys.forEach((name, key) -> {
            List<Object> synonyms = new ArrayList<>();
            for (ConfigSynonym synonym : ServerTopicConfigSynonyms.ALL_TOPIC_CONFIG_SYNONYMS.getOrDefault(name, List.of())) {
                Map<String, Object> entry = new LinkedHashMap<>();
                entry.put("name", synonym.name());
                entry.put("conversion", conversion(synonym.converter()));
                synonyms.add(entry);
            }
            key.put("synonyms", synonyms);
        });
        return keys;
    }

    private static String conversion(Function<String, String> converter) {
        if (converter == ConfigSynonym.HOURS_TO_MILLISECONDS) return "hours_to_ms";
        if (converter == ConfigSynonym.MINUTES_TO_MILLISECONDS) return "minutes_to_ms";
        require(converter.apply("x").equals("x"), "unknown conversion between a broker and a topic key");
        return null;
    }

    private static Map<String, Map<String, Object>> group() {
        Map<String, Map<String, Object>> keys = keys(GroupConfig.CONFIG_DEF);
        keys.forEach((name, key) -> {
            List<Object> synonyms = new ArrayList<>();
            GroupConfig.brokerSynonym(name).ifPresent(synonym -> {
                Map<String, Object> entry = new LinkedHashMap<>();
                entry.put("name", synonym);
                entry.put("conversion", null);
                synonyms.add(entry);
            });
            key.put("synonyms", synonyms);
        });
        return keys;
    }

    private static Map<String, Object> quota() {
        Map<String, Object> document = header();
        document.put("resource_type", "quota");
        document.put("user", keys(QuotaConfig.scramMechanismsPlusUserAndClientQuotaConfigs()).values());
        document.put("client", keys(QuotaConfig.userAndClientQuotaConfigs()).values());
        document.put("ip", keys(QuotaConfig.ipConfigs()).values());
        return document;
    }

    /** The sets of keys by which a broker decides where a key may be changed, and the feature levels. */
    private static Map<String, Object> levels() throws Exception {
        Map<String, Object> document = header();
        Map<String, Object> sets = new TreeMap<>();
        sets.put("all_dynamic", sorted(DynamicBrokerConfig.ALL_DYNAMIC_CONFIGS));
        sets.put("non_dynamic", sorted(DynamicConfig.Broker.nonDynamicProps()));
        sets.put("dynamic_keys", sorted(DynamicConfig.Broker.names()));
        sets.put("dynamic_security", sorted(DynamicBrokerConfig.DYNAMIC_SECURITY_CONFIGS));
        sets.put("per_broker", sorted(names(DynamicBrokerConfig.class, "PER_BROKER_CONFIGS")));
        sets.put("cluster_level_listener", sorted(names(DynamicBrokerConfig.class, "CLUSTER_LEVEL_LISTENER_CONFIGS")));
        sets.put("listener_mechanism", sorted(names(DynamicBrokerConfig.class, "LISTENER_MECHANISM_CONFIGS")));
        sets.put("listener_reconfigurable", sorted(SocketServer.LISTENER_RECONFIGURABLE_CONFIGS));
        sets.put("acceptor_reconfigurable", sorted(scala.jdk.javaapi.CollectionConverters.asJava(
            kafka.network.DataPlaneAcceptor.ListenerReconfigurableConfigs())));
        sets.put("jmx_reporter", sorted(JmxReporter.RECONFIGURABLE_CONFIGS));
        sets.put("client_metrics_match", sorted(names(ClientMetricsConfigs.class, "ALLOWED_MATCH_PARAMS")));
        document.put("sets", sets);
        document.put("reconfigurable_groups", sortedValues(reconfigurableGroups()));
        document.put("listener_pattern", field(DynamicBrokerConfig.class, "LISTENER_CONFIG_REGEX").toString());
        document.put("broker_synonyms", brokerSynonyms());
        document.put("client_metrics_interval_ms", new TreeMap<>(Map.of(
            "min", field(ClientMetricsConfigs.class, "MIN_INTERVAL_MS"),
            "max", field(ClientMetricsConfigs.class, "MAX_INTERVAL_MS"))));
        document.put("features", features());
        return document;
    }

    private static Map<String, Object> brokerSynonyms() {
        Map<String, Object> families = new TreeMap<>();
        for (String name : AbstractKafkaConfig.CONFIG_DEF.names()) {
            List<String> family = DynamicBrokerConfig.brokerConfigSynonyms(name, false);
            if (!family.equals(List.of(name))) families.put(name, family);
        }
        return families;
    }

    private static Map<String, Object> features() {
        Map<String, Object> features = new TreeMap<>();
        Map<String, Object> levels = new LinkedHashMap<>();
        for (MetadataVersion version : MetadataVersion.VERSIONS) {
            levels.put(version.version(), version.featureLevel());
        }
        Map<String, Object> metadata = new LinkedHashMap<>();
        metadata.put("min", MetadataVersion.MINIMUM_VERSION.featureLevel());
        metadata.put("max", MetadataVersion.LATEST_PRODUCTION.featureLevel());
        metadata.put("levels", levels);
        metadata.put("cordoned_log_dirs_since", first(MetadataVersion::isCordonedLogDirsSupported));
        metadata.put("eligible_leader_replicas_since", first(MetadataVersion::isElrSupported));
        features.put(MetadataVersion.FEATURE_NAME, metadata);
        for (Feature feature : Feature.PRODUCTION_FEATURES) {
            Map<String, Object> entry = new LinkedHashMap<>();
            entry.put("min", feature.minimumProduction());
            entry.put("max", feature.latestProduction());
            entry.put("default", feature.defaultLevel(MetadataVersion.LATEST_PRODUCTION));
            features.put(feature.featureName(), entry);
        }
        return features;
    }

    private static Short first(java.util.function.Predicate<MetadataVersion> supports) {
        for (MetadataVersion version : MetadataVersion.VERSIONS) {
            if (supports.test(version)) return version.featureLevel();
        }
        return null;
    }

    private static Map<String, Map<String, Object>> keys(ConfigDef definition) {
        Map<String, Map<String, Object>> keys = new TreeMap<>();
        definition.configKeys().forEach((name, key) -> {
            require(key.dependents.isEmpty() && key.recommender == null, name + " has dependents or a recommender");
            Map<String, Object> facts = new LinkedHashMap<>();
            facts.put("name", name);
            facts.put("type", key.type.name());
            facts.put("default", key.hasDefault() ? ConfigDef.convertToString(key.defaultValue, key.type) : null);
            facts.put("required", !key.hasDefault());
            facts.put("validator", validator(name, key.validator));
            facts.put("sensitive", key.type.isSensitive());
            facts.put("internal", key.internalConfig);
            keys.put(name, facts);
        });
        return keys;
    }

    private static Map<String, Object> validator(String name, ConfigDef.Validator validator) {
        if (validator == null) return null;
        Map<String, Object> facts = new LinkedHashMap<>();
        Class<?> type = validator.getClass();
        if (type == ConfigDef.Range.class) {
            facts.put("kind", "range");
            facts.put("min", field(validator, "min"));
            facts.put("max", field(validator, "max"));
        } else if (type == ConfigDef.ValidString.class) {
            facts.put("kind", "in");
            facts.put("values", field(validator, "validStrings"));
            facts.put("ignore_case", false);
        } else if (type == ConfigDef.CaseInsensitiveValidString.class) {
            facts.put("kind", "in");
            facts.put("values", field(validator, "validStrings"));
            facts.put("ignore_case", true);
        } else if (type == ConfigDef.ValidList.class) {
            List<?> values = (List<?>) field(field(validator, "validString"), "validStrings");
            facts.put("kind", "list");
            facts.put("values", values.isEmpty() ? null : values);
            facts.put("empty_allowed", field(validator, "isEmptyAllowed"));
            facts.put("null_allowed", field(validator, "isNullAllowed"));
        } else if (type == ConfigDef.NonNullValidator.class) {
            facts.put("kind", "non_null");
        } else if (type == ConfigDef.NonEmptyString.class) {
            facts.put("kind", "non_empty");
        } else if (type == ConfigDef.CompositeValidator.class) {
            List<Object> parts = new ArrayList<>();
            for (Object part : (List<?>) field(validator, "validators")) parts.add(validator(name, (ConfigDef.Validator) part));
            facts.put("kind", "all");
            facts.put("of", parts);
        } else if (isGzipLevel(validator)) {
            facts.put("kind", "named");
            facts.put("name", "CompressionType.GZIP");
            facts.put("min", CompressionType.GZIP.minLevel());
            facts.put("max", CompressionType.GZIP.maxLevel());
            facts.put("or", CompressionType.GZIP.defaultLevel());
        } else {
            String simple = type.getName().substring(type.getPackageName().length() + 1);
            require(CODE_VALIDATORS.contains(simple), "unknown validator of " + name + ": " + type.getName());
            facts.put("kind", "named");
            facts.put("name", simple);
        }
        return facts;
    }

    private static boolean isGzipLevel(ConfigDef.Validator validator) {
        return validator.getClass() == ConfigDef.LambdaValidator.class
            && validator.toString().equals(CompressionType.GZIP.levelValidator().toString())
            && field(validator, "ensureValid").getClass().getName().startsWith(CompressionType.class.getName());
    }

    @SuppressWarnings("unchecked")
    private static Set<String> names(Class<?> owner, String field) {
        return (Set<String>) field(owner, field);
    }

    private static TreeSet<String> sorted(Collection<String> names) {
        return new TreeSet<>(names);
    }

    private static Map<String, Object> sortedValues(Map<String, Set<String>> groups) {
        Map<String, Object> result = new TreeMap<>();
        groups.forEach((name, members) -> result.put(name, sorted(members)));
        return result;
    }

    /** A field of an object, or a static field when the owner is a class. */
    private static Object field(Object owner, String name) {
        try {
            Class<?> type = owner instanceof Class<?> c ? c : owner.getClass();
            Field field = type.getDeclaredField(name);
            field.setAccessible(true);
            return field.get(owner instanceof Class<?> ? null : owner);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(owner + " has no field " + name, e);
        }
    }

    private static void require(boolean condition, String otherwise) {
        if (!condition) throw new IllegalStateException(otherwise);
    }
}
