import java.time.Duration;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Transactions of Kafka's own producer, one after the other, until stdin ends: for tests that kill the brokers meanwhile.
 *
 * Arguments: servers, topic, group, partitions, records. Each transaction writes so many records to every partition and commits an
 * offset of the group; each third is aborted. A line of stdout says what became of one: committed, aborted or unknown.
 */
public class TransactionalLoad {
    private static final int ABORT_EACH = 3;

    private final String servers;
    private final String topic;
    private final String group;
    private final int partitions;
    private final int records;
    private KafkaProducer<String, String> producer;

    private TransactionalLoad(String[] args) {
        servers = args[0];
        topic = args[1];
        group = args[2];
        partitions = Integer.parseInt(args[3]);
        records = Integer.parseInt(args[4]);
        producer = begin();
    }

    public static void main(String[] args) throws Exception {
        AtomicBoolean stopped = new AtomicBoolean();
        Thread watcher = new Thread(() -> {
            try {
                while (System.in.read() >= 0) {
                    continue;
                }
            } catch (java.io.IOException gone) {
                // As good as an end.
            }
            stopped.set(true);
        });
        watcher.setDaemon(true);
        watcher.start();
        TransactionalLoad load = new TransactionalLoad(args);
        for (int number = 0; !stopped.get(); number++) {
            System.out.println(load.transact(number) + " " + number);
        }
        load.producer.close(Duration.ofSeconds(5));
    }

    private KafkaProducer<String, String> begin() {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", servers);
        properties.put("transactional.id", topic);
        properties.put("reconnect.backoff.ms", "10");
        properties.put("reconnect.backoff.max.ms", "100");
        properties.put("retry.backoff.ms", "20");
        properties.put("retry.backoff.max.ms", "100");
        KafkaProducer<String, String> made =
            new KafkaProducer<>(properties, new StringSerializer(), new StringSerializer());
        insist(made::initTransactions);
        return made;
    }

    private static void insist(Runnable call) {
        while (true) {
            try {
                call.run();
                return;
            } catch (TimeoutException again) {
                // The same call goes on where it was.
            }
        }
    }

    private String transact(int number) {
        boolean ending = false;
        try {
            producer.beginTransaction();
            for (int partition = 0; partition < partitions; partition++) {
                for (int record = 0; record < records; record++) {
                    producer.send(new ProducerRecord<>(topic, partition, null, number + ":" + record));
                }
            }
            producer.sendOffsetsToTransaction(
                Map.of(new TopicPartition(topic, 0), new OffsetAndMetadata(number + 1)), new ConsumerGroupMetadata(group));
            if (number % ABORT_EACH != ABORT_EACH - 1) {
                ending = true;
                insist(producer::commitTransaction);
                return "committed";
            }
            producer.flush();
        } catch (KafkaException error) {
            return giveUp(ending ? "unknown" : "aborted");
        }
        try {
            insist(producer::abortTransaction);
            return "aborted";
        } catch (KafkaException error) {
            return giveUp("aborted");
        }
    }

    /** Let a new producer abort what is left. */
    private String giveUp(String outcome) {
        producer.close(Duration.ZERO);
        producer = begin();
        return outcome;
    }
}
