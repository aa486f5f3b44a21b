import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.ScheduledFuture;
import java.util.function.Supplier;
import java.util.stream.Collectors;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.Records;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.Cleaner;
import org.apache.kafka.storage.internals.log.FetchDataInfo;
import org.apache.kafka.storage.internals.log.LogAppendInfo;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogSegment;
import org.apache.kafka.storage.internals.log.LogStartOffsetIncrementReason;
import org.apache.kafka.storage.internals.log.LogToClean;
import org.apache.kafka.storage.internals.log.ProducerStateEntry;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.RecordValidationException;
import org.apache.kafka.storage.internals.log.SkimpyOffsetMap;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.log.VerificationGuard;
import org.apache.kafka.storage.internals.utils.Throttler;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/**
 * Drives Kafka's own log of one partition with commands from stdin, one a line, tab-separated; one line answers each.
 *
 *   log     config,config...            a new log
 *   append  origin  version  now  leader epoch  hex     origin: client or coordinator; version: of transactions
 *   read    offset  bytes  isolation    isolation: 0 or 1
 *   time    timestamp
 *   delete  offset                      moves the log's start
 *   roll    now
 *   retain  now
 *   clean   now                         from the log's start to its last stable offset, the active segment apart
 *   pack    codec  records  bytes       a batch of Kafka's own making, in hex; the values are noise and then a pattern
 *   close                               prints the digests of all files
 */
public class LogOracle {
    private static final PrintStream OUT = new PrintStream(System.out, false, StandardCharsets.UTF_8);
    private static final Clock CLOCK = new Clock();
    private static Path folder;
    private static UnifiedLog log;

    public static void main(String[] arguments) throws Exception {
        BufferedReader reader = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = reader.readLine(); line != null; line = reader.readLine()) {
            String[] words = line.split("\t", -1);
            OUT.println(answer(words).replace("\n", " "));
        }
        OUT.flush();
        System.exit(0);
    }

    private static String answer(String[] words) throws Exception {
        try {
            return switch (words[0]) {
                case "log" -> open(words[1]);
                case "append" -> append(words);
                case "read" -> read(Long.parseLong(words[1]), Integer.parseInt(words[2]), words[3].equals("1"));
                case "time" -> time(Long.parseLong(words[1]));
                case "delete" -> delete(Long.parseLong(words[1]));
                case "roll" -> roll(Long.parseLong(words[1]));
                case "retain" -> retain(Long.parseLong(words[1]));
                case "clean" -> clean(Long.parseLong(words[1]));
                case "pack" -> pack(words[1], Integer.parseInt(words[2]), Integer.parseInt(words[3]));
                case "close" -> close();
                default -> throw new IllegalArgumentException(words[0]);
            };
        } catch (RecordValidationException e) {
            String records = e.recordErrors().stream()
                .map(error -> error.batchIndex + ":" + error.message).collect(Collectors.joining("|"));
            return "error\t" + Errors.forException(e.invalidException()).code() + "\t"
                + e.invalidException().getMessage() + "\t" + records;
        } catch (RuntimeException e) {
            return "error\t" + Errors.forException(e).code() + "\t" + e.getMessage() + "\t";
        }
    }

    private static String open(String configs) throws IOException {
        folder = Files.createTempDirectory("log-oracle").resolve("t-0");
        Properties properties = new Properties();
        for (String config : configs.split(";")) {
            if (!config.isEmpty()) {
                properties.setProperty(config.substring(0, config.indexOf('=')), config.substring(config.indexOf('=') + 1));
            }
        }
        log = UnifiedLog.create(folder.toFile(), new LogConfig(properties), 0, 0, new Nobody(), new BrokerTopicStats(), CLOCK,
            900_000, new ProducerStateManagerConfig(86_400_000, false), 600_000, new LogDirFailureChannel(1), true,
            Optional.of(new Uuid(1, 2)));
        return "log";
    }

    private static String append(String[] words) {
        AppendOrigin origin = words[1].equals("client") ? AppendOrigin.CLIENT : AppendOrigin.COORDINATOR;
        CLOCK.now = Long.parseLong(words[3]);
        MemoryRecords records = MemoryRecords.readableRecords(ByteBuffer.wrap(HexFormat.of().parseHex(words[5])));
        LogAppendInfo info = log.appendAsLeader(records, Integer.parseInt(words[4]), origin,
            org.apache.kafka.server.common.RequestLocal.noCaching(), VerificationGuard.SENTINEL, Short.parseShort(words[2]));
        if (info.validBytes() <= 0) {
            return "nothing";
        }
        advance();
        return "ok\t" + info.firstOffset() + "\t" + info.lastOffset() + "\t" + info.logAppendTime() + "\t" + state();
    }

    private static void advance() {
        try {
            log.updateHighWatermark(log.logEndOffset());
        } catch (IOException e) {
            throw new RuntimeException(e);
        }
    }

    private static String state() {
        Map<Long, ProducerStateEntry> producers = new TreeMap<>(log.activeProducersWithLastSequence().keySet().stream()
            .collect(Collectors.toMap(id -> id, id -> log.producerStateManager().activeProducers().get(id))));
        String entries = producers.values().stream().map(entry -> entry.producerId() + ":" + entry.producerEpoch() + ":"
            + entry.lastDataOffset() + ":" + entry.coordinatorEpoch() + ":" + entry.lastTimestamp() + ":"
            + entry.currentTxnFirstOffset().orElse(-1)).collect(Collectors.joining(","));
        return log.logStartOffset() + "\t" + log.logEndOffset() + "\t" + log.lastStableOffset() + "\t"
            + bases() + "\t" + entries;
    }

    private static String bases() {
        return log.logSegments().stream().map(s -> Long.toString(s.baseOffset())).collect(Collectors.joining(","));
    }

    private static String read(long offset, int bytes, boolean committed) throws Exception {
        FetchIsolation isolation = committed ? FetchIsolation.TXN_COMMITTED : FetchIsolation.HIGH_WATERMARK;
        FetchDataInfo found = log.read(offset, bytes, isolation, true);
        Records records = found.records;
        ByteBuffer data = ByteBuffer.allocate(records.sizeInBytes());
        if (records instanceof FileRecords file) {
            file.readInto(data, 0);
        } else {
            data = ((MemoryRecords) records).buffer();
        }
        byte[] bytesFound = Utils.toArray(data);
        String aborted = found.abortedTransactions.map(list -> list.stream()
            .map(each -> each.producerId() + ":" + each.firstOffset()).collect(Collectors.joining(","))).orElse("none");
        return "read\t" + bytesFound.length + "\t" + digest(bytesFound) + "\t" + aborted;
    }

    private static String time(long timestamp) {
        return log.fetchOffsetByTimestamp(timestamp, Optional.empty()).timestampAndOffsetOpt()
            .map(found -> "time\t" + found.offset + "\t" + found.timestamp + "\t" + found.leaderEpoch.orElse(-1))
            .orElse("time\tnone");
    }

    private static String delete(long offset) {
        log.maybeIncrementLogStartOffset(offset, LogStartOffsetIncrementReason.ClientRecordDeletion);
        return "delete\t" + state();
    }

    private static String roll(long now) throws IOException {
        CLOCK.now = now;
        if (log.activeSegment().size() > 0) {
            log.roll();
        }
        return "roll\t" + state();
    }

    private static String retain(long now) throws IOException {
        CLOCK.now = now;
        log.deleteOldSegments();
        return "retain\t" + state();
    }

    private static String clean(long now) throws Exception {
        CLOCK.now = now;
        long uncleanable = Math.min(log.lastStableOffset(), log.activeSegment().baseOffset());
        Cleaner cleaner = new Cleaner(0, new SkimpyOffsetMap(1 << 20), 1 << 20, 1 << 20, 0.9,
            new Throttler(Double.MAX_VALUE, 300, "t", "bytes", CLOCK), CLOCK, partition -> { });
        long end = cleaner.doClean(new LogToClean(log, log.logStartOffset(), uncleanable, false), now).getKey();
        List<String> digests = new ArrayList<>();
        for (LogSegment segment : log.logSegments()) {
            digests.add(segment.baseOffset() + ":" + segment.size() + ":"
                + digest(Files.readAllBytes(segment.log().file().toPath())));
        }
        return "clean\t" + end + "\t" + String.join(",", digests);
    }

    private static String pack(String codec, int count, int size) {
        SimpleRecord[] records = new SimpleRecord[count];
        long noise = 1;
        for (int index = 0; index < count; index++) {
            byte[] value = new byte[size];
            for (int at = 0; at < size; at++) {
                noise = (noise * 1103515245L + 12345L) & 0x7fffffffL;
                value[at] = (byte) (at < size / 8 ? noise >> 16 : at % 7);
            }
            records[index] = new SimpleRecord(CLOCK.now + index, ("key" + index).getBytes(StandardCharsets.UTF_8), value);
        }
        Compression compression = Compression.of(CompressionType.forName(codec)).build();
        MemoryRecords packed = MemoryRecords.withRecords(compression, records);
        return "pack\t" + HexFormat.of().formatHex(Utils.toArray(packed.buffer()));
    }

    private static String close() throws Exception {
        log.flush(true);
        log.close();
        File[] files = folder.toFile().listFiles();
        Arrays.sort(files, Comparator.comparing(File::getName));
        List<String> digests = new ArrayList<>();
        for (File file : files) {
            if (!file.getName().endsWith(".deleted")) {
                byte[] data = Files.readAllBytes(file.toPath());
                digests.add(file.getName() + ":" + data.length + ":" + digest(data));
            }
        }
        Utils.delete(folder.getParent().toFile());
        return "close\t" + String.join(",", digests);
    }

    private static String digest(byte[] data) throws Exception {
        return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(data), 0, 8);
    }

    private static class Clock implements Time {
        long now = 1_700_000_000_000L;

        public long milliseconds() {
            return now;
        }

        public long nanoseconds() {
            return now * 1_000_000;
        }

        public void sleep(long ms) {
            now += ms;
        }

        public void waitObject(Object obj, Supplier<Boolean> condition, long deadlineMs) {
            throw new UnsupportedOperationException();
        }
    }

    /** Runs what is due at once, and nothing that comes later or again. */
    private static class Nobody implements Scheduler {
        public void startup() {
        }

        public void shutdown() {
        }

        public ScheduledFuture<?> schedule(String name, Runnable task, long delayMs, long periodMs) {
            if (delayMs == 0 && periodMs < 0) {
                task.run();
            }
            return new Never();
        }

        public void resizeThreadPool(int newSize) {
        }
    }

    private static class Never extends java.util.concurrent.FutureTask<Void> implements ScheduledFuture<Void> {
        Never() {
            super(() -> null);
        }

        public long getDelay(java.util.concurrent.TimeUnit unit) {
            return 0;
        }

        public int compareTo(java.util.concurrent.Delayed other) {
            return 0;
        }
    }
}
