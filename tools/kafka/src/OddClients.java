import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * `OddClients BOOTSTRAP TOPIC`: reads a JSON list of client ids, and under each of them produces its own name and
 * consumes it in a group; prints how many did.
 */
public class OddClients {
    public static void main(String[] arguments) throws Exception {
        JsonNode names = new ObjectMapper().readTree(System.in);
        ExecutorService pool = Executors.newFixedThreadPool(8);
        List<Future<Void>> stories = new ArrayList<>();
        for (JsonNode name : names) {
            String group = "java-" + stories.size();
            stories.add(pool.submit(() -> {
                produce(arguments[0], arguments[1], name.asText());
                consume(arguments[0], arguments[1], name.asText(), group);
                return null;
            }));
        }
        for (Future<Void> story : stories) {
            story.get();
        }
        System.out.println(stories.size());
        System.exit(0);
    }

    private static void produce(String bootstrap, String topic, String name) throws Exception {
        Map<String, Object> settings = Map.of("bootstrap.servers", bootstrap, "client.id", name);
        try (KafkaProducer<String, String> producer =
                 new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            producer.send(new ProducerRecord<>(topic, name)).get();
        }
    }

    private static void consume(String bootstrap, String topic, String name, String group) {
        Map<String, Object> settings = Map.of(
            "bootstrap.servers", bootstrap, "client.id", name, "group.id", group, "auto.offset.reset", "earliest");
        long deadline = System.currentTimeMillis() + 30_000;
        try (KafkaConsumer<String, String> consumer =
                 new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(topic));
            while (System.currentTimeMillis() < deadline) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(100))) {
                    if (record.value().equals(name)) {
                        consumer.commitSync();
                        return;
                    }
                }
            }
        }
        throw new IllegalStateException("nothing came back for " + name);
    }
}
