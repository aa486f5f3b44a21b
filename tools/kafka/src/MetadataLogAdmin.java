import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.ScramCredentialInfo;
import org.apache.kafka.clients.admin.ScramMechanism;
import org.apache.kafka.clients.admin.UserScramCredentialAlteration;
import org.apache.kafka.clients.admin.UserScramCredentialDeletion;
import org.apache.kafka.clients.admin.UserScramCredentialUpsertion;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Asks a running Kafka for one change of every kind that ends in its metadata log, undoing some of them.
 * Arguments: bootstrap servers. Used by record_metadata_log.py, which keeps the bytes as a test vector.
 */
public class MetadataLogAdmin {
    private static final String ODD_CLIENT_ID = "a b/c:d*\u00e9\"\n\uD83D\uDE00";

    public static void main(String[] args) throws Exception {
        Map<String, Object> settings = Map.of("bootstrap.servers", args[0]);
        try (Admin admin = Admin.create(settings)) {
            topics(admin);
            configs(admin);
            quotas(admin);
            acls(admin);
            scram(admin);
        }
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            producer.send(new ProducerRecord<>("orders", "key", "value")).get(30, TimeUnit.SECONDS);
        }
    }

    private static void topics(Admin admin) throws Exception {
        admin.createTopics(List.of(
            new NewTopic("orders", 3, (short) 1).configs(Map.of("retention.ms", "60000", "cleanup.policy", "compact")),
            new NewTopic("doomed", 2, (short) 1).configs(Map.of("retention.ms", "1")))).all().get();
        admin.createPartitions(Map.of("orders", NewPartitions.increaseTo(4))).all().get();
        admin.deleteTopics(List.of("doomed")).all().get();
    }

    private static void configs(Admin admin) throws Exception {
        set(admin, ConfigResource.Type.TOPIC, "orders", "max.message.bytes", "2000000", AlterConfigOp.OpType.SET);
        set(admin, ConfigResource.Type.TOPIC, "orders", "retention.ms", "", AlterConfigOp.OpType.DELETE);
        set(admin, ConfigResource.Type.BROKER, "", "log.cleaner.threads", "2", AlterConfigOp.OpType.SET);
        set(admin, ConfigResource.Type.BROKER, "1", "listener.name.plaintext.ssl.keystore.password", "hunter2",
            AlterConfigOp.OpType.SET);
        set(admin, ConfigResource.Type.GROUP, "g\u00e9", "consumer.session.timeout.ms", "50000", AlterConfigOp.OpType.SET);
        set(admin, ConfigResource.Type.CLIENT_METRICS, "sub", "interval.ms", "5000", AlterConfigOp.OpType.SET);
    }

    private static void set(Admin admin, ConfigResource.Type type, String name, String key, String value,
                            AlterConfigOp.OpType operation) throws Exception {
        admin.incrementalAlterConfigs(Map.of(new ConfigResource(type, name),
            List.of(new AlterConfigOp(new ConfigEntry(key, value), operation)))).all().get();
    }

    private static void quotas(Admin admin) throws Exception {
        java.util.HashMap<String, String> anyone = new java.util.HashMap<>();
        anyone.put("user", null);
        quota(admin, Map.of("client-id", ODD_CLIENT_ID), "producer_byte_rate", 1024.0);
        quota(admin, Map.of("user", "alice", "client-id", "c"), "request_percentage", 12.25);
        quota(admin, anyone, "consumer_byte_rate", 4096.0);
        quota(admin, Map.of("ip", "127.0.0.1"), "connection_creation_rate", 10.0);
        quota(admin, Map.of("user", "bob"), "consumer_byte_rate", 1.0);
        quota(admin, Map.of("user", "bob"), "consumer_byte_rate", null);
    }

    private static void quota(Admin admin, Map<String, String> entity, String key, Double value) throws Exception {
        admin.alterClientQuotas(List.of(new ClientQuotaAlteration(new ClientQuotaEntity(entity),
            List.of(new ClientQuotaAlteration.Op(key, value))))).all().get();
    }

    private static void acls(Admin admin) throws Exception {
        AclBinding kept = binding("orders", PatternType.LITERAL, "User:alice");
        AclBinding removed = binding("ord", PatternType.PREFIXED, "User:bob");
        admin.createAcls(List.of(kept, removed)).all().get();
        admin.deleteAcls(List.of(removed.toFilter())).all().get();
    }

    private static AclBinding binding(String topic, PatternType pattern, String principal) {
        return new AclBinding(new ResourcePattern(ResourceType.TOPIC, topic, pattern),
            new AccessControlEntry(principal, "*", AclOperation.READ, AclPermissionType.ALLOW));
    }

    private static void scram(Admin admin) throws Exception {
        ScramCredentialInfo info = new ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096);
        UserScramCredentialAlteration alice = new UserScramCredentialUpsertion("alice", info, "wonderland");
        UserScramCredentialAlteration bob = new UserScramCredentialUpsertion("bob", info, "builder");
        admin.alterUserScramCredentials(List.of(alice, bob)).all().get();
        admin.alterUserScramCredentials(
            List.of(new UserScramCredentialDeletion("bob", ScramMechanism.SCRAM_SHA_256))).all().get();
    }
}
