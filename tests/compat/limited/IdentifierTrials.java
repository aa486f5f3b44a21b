import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * What becomes of Kafka's own producers and consumers that carry one given identifier.
 *
 * A line of stdin is an attempt: servers, trial, value, topic, group, seconds, with tabs between them. A line of stdout is the
 * answer: whether it worked, and in base64 what was seen.
 */
public class IdentifierTrials {
    private static final String NEWER = ", newer protocol";

    public static void main(String[] args) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String said = attempt(line.split("\t", -1));
            String encoded = Base64.getEncoder().encodeToString(said.getBytes(StandardCharsets.UTF_8));
            System.out.println(said.isEmpty() + "\t" + encoded);
            System.out.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    private static String attempt(String[] words) {
        Properties config = new Properties();
        String milliseconds = Integer.parseInt(words[5]) * 1000 + "";
        config.put("bootstrap.servers", words[0]);
        // Else it is made of the group's, the instance's or the transactional id, and longer than these.
        config.put("client.id", "trial");
        config.put("request.timeout.ms", milliseconds);
        try {
            if (words[1].equals("rebalance")) {
                return rebalance(words, config);
            }
            boolean produces = List.of("producer client id", "transactional id", "topic name").contains(words[1]);
            return produces ? produce(words, config, milliseconds) : consume(words, config, milliseconds);
        } catch (ExecutionException error) {
            return shown(error.getCause());
        } catch (Exception error) {
            return shown(error);
        }
    }

    private static String shown(Throwable error) {
        return error.getClass().getSimpleName() + ": " + error.getMessage();
    }

    private static String produce(String[] words, Properties config, String milliseconds) throws Exception {
        config.put("max.block.ms", milliseconds);
        config.put("delivery.timeout.ms", milliseconds);
        config.put("linger.ms", "0");
        boolean transactional = words[1].equals("transactional id");
        if (transactional) {
            config.put("transactional.id", words[2]);
        } else if (words[1].equals("producer client id")) {
            config.put("client.id", words[2]);
        }
        String topic = words[1].equals("topic name") ? words[2] : words[3];
        KafkaProducer<String, String> producer = new KafkaProducer<>(config, new StringSerializer(), new StringSerializer());
        try {
            if (transactional) {
                producer.initTransactions();
                producer.beginTransaction();
            }
            producer.send(new ProducerRecord<>(topic, "1")).get(Integer.parseInt(words[5]) + 2, TimeUnit.SECONDS);
            if (transactional) {
                producer.commitTransaction();
            }
            return "";
        } finally {
            producer.close(Duration.ofSeconds(1));
        }
    }

    private static String rebalance(String[] words, Properties config) {
        config.put("group.id", words[4]);
        config.put("heartbeat.interval.ms", "200");
        long deadline = System.nanoTime() + Integer.parseInt(words[5]) * 1_000_000_000L;
        var first = new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer());
        var second = new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer());
        try {
            first.subscribe(List.of(words[3]));
            boolean alone = settled(List.of(first), 2, deadline);
            second.subscribe(List.of(words[3]));
            boolean together = settled(List.of(first, second), 1, deadline);
            second.close();
            boolean again = settled(List.of(first), 2, deadline);
            return alone && together && again ? "" : alone + ", " + together + ", " + again;
        } finally {
            second.close();
            first.close();
        }
    }

    private static boolean settled(List<KafkaConsumer<String, String>> members, int share, long deadline) {
        while (System.nanoTime() < deadline) {
            members.forEach(member -> member.poll(Duration.ofMillis(100)));
            if (members.stream().allMatch(member -> member.assignment().size() == share)) {
                return true;
            }
        }
        return false;
    }

    private static String consume(String[] words, Properties config, String milliseconds) {
        config.put("default.api.timeout.ms", milliseconds);
        config.put("group.id", words[4]);
        config.put("auto.offset.reset", "earliest");
        config.put("enable.auto.commit", "false");
        if (words[1].endsWith(NEWER)) {
            config.put("group.protocol", "consumer");
        }
        switch (words[1].replace(NEWER, "")) {
            case "consumer client id" -> config.put("client.id", words[2]);
            case "group id" -> config.put("group.id", words[2]);
            case "group instance id" -> config.put("group.instance.id", words[2]);
            default -> config.put("client.rack", words[2]);
        }
        KafkaConsumer<String, String> consumer = new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer());
        try {
            consumer.subscribe(List.of(words[3]));
            long deadline = System.nanoTime() + Integer.parseInt(words[5]) * 1_000_000_000L;
            while (System.nanoTime() < deadline) {
                ConsumerRecords<String, String> records = consumer.poll(Duration.ofMillis(200));
                if (!records.isEmpty()) {
                    consumer.commitSync();
                    return "";
                }
            }
            return "no record, no error";
        } finally {
            consumer.close(org.apache.kafka.clients.consumer.CloseOptions.timeout(Duration.ofSeconds(1)));
        }
    }
}
