import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.List;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs Kafka's command line tools one after the other in this JVM, since starting one takes longer than most tools do.
 *
 * A line of stdin is a call: its fields are in base64, with commas between them: the class, the seconds it may take, what the
 * tool reads from its stdin, its arguments. A line of stdout is the answer: exit code, what went to stdout, what to stderr.
 * A tool that wants to leave the JVM leaves its thread instead: what it says on its way out (many tools catch everything)
 * does not count, nor does a second exit. Its shutdown hooks are run then.
 */
public class ToolServer {
    private static final int TOO_LATE = 124;

    public static void main(String[] args) throws Exception {
        PrintStream answers = System.out;
        BufferedReader calls = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = calls.readLine(); line != null; line = calls.readLine()) {
            List<String> fields = new ArrayList<>();
            for (String field : line.split(",", -1)) {
                fields.add(new String(Base64.getDecoder().decode(field), StandardCharsets.UTF_8));
            }
            answers.println(new Call(fields).answer());
            answers.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    /** Unwinds the thread of a tool that called exit. */
    private static final class Left extends Error {
    }

    private static final class Call {
        private final String tool;
        private final long milliseconds;
        private final String[] arguments;
        private final ByteArrayOutputStream out = new ByteArrayOutputStream();
        private final ByteArrayOutputStream err = new ByteArrayOutputStream();
        private final List<Runnable> hooks = Collections.synchronizedList(new ArrayList<>());
        private Integer code;
        private int errorsAtExit;

        Call(List<String> fields) {
            tool = fields.get(0);
            milliseconds = Integer.parseInt(fields.get(1)) * 1000L;
            arguments = fields.subList(3, fields.size()).toArray(new String[0]);
            System.setIn(new ByteArrayInputStream(fields.get(2).getBytes(StandardCharsets.UTF_8)));
            System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
            System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
            Exit.setExitProcedure((status, message) -> leave(status));
            Exit.setHaltProcedure((status, message) -> leave(status));
            Exit.setShutdownHookAdder((name, hook) -> hooks.add(hook));
        }

        String answer() throws InterruptedException {
            Thread thread = started(this::invoke);
            thread.join(milliseconds);
            if (thread.isAlive()) {
                end(TOO_LATE);
            }
            for (Runnable hook : List.copyOf(hooks)) {
                started(hook).join(milliseconds);
            }
            end(0);
            return code + "," + encoded(out.toByteArray(), out.size()) + "," + encoded(err.toByteArray(), errorsAtExit);
        }

        private Thread started(Runnable work) {
            Thread thread = new Thread(work, tool);
            thread.setDaemon(true);
            thread.start();
            return thread;
        }

        private void leave(int status) {
            end(status);
            throw new Left();
        }

        private synchronized void end(int status) {
            if (code == null) {
                code = status;
                errorsAtExit = err.size();
            }
        }

        private void invoke() {
            try {
                Class.forName(tool).getMethod("main", String[].class).invoke(null, (Object) arguments);
            } catch (InvocationTargetException failed) {
                failed.getCause().printStackTrace(System.err);
                end(1);
            } catch (ReflectiveOperationException wrong) {
                wrong.printStackTrace(System.err);
                end(2);
            }
        }

        private static String encoded(byte[] text, int length) {
            return Base64.getEncoder().encodeToString(java.util.Arrays.copyOf(text, length));
        }
    }
}
