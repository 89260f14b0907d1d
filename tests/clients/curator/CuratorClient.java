import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * Takes locks by Curator's InterProcessMutex and InterProcessReadWriteLock, for tests that share
 * them with it.
 *
 * Works --rounds times under the lock on an unguarded counter, a file in --folder, so that two
 * holders at one time show: `lock` and `write` count it up in two steps, `read` finds it changed
 * under its eyes. Or, with --wait-one, takes the lock once and holds it until a line comes on
 * standard input.
 */
public final class CuratorClient {
    private static final BufferedReader INPUT =
        new BufferedReader(new InputStreamReader(System.in));

    private final Map<String, String> options;

    private CuratorClient(Map<String, String> options) {
        this.options = options;
    }

    public static void main(String[] words) {
        try {
            new CuratorClient(optionsIn(Arrays.asList(words))).work();
            System.exit(0);
        } catch (Throwable failure) {
            System.err.println("CuratorClient: " + failure);
            System.exit(1);
        }
    }

    private static Map<String, String> optionsIn(List<String> words) {
        Map<String, String> found = new HashMap<>();
        String last = "";
        for (String word : words) {
            if (word.startsWith("--")) {
                last = word.substring(2);
                found.put(last, "");
            } else {
                found.put(last, word);
            }
        }
        return found;
    }

    private void work() throws Exception {
        InterProcessLock lock = lockOn(connect());
        if (options.containsKey("wait-one")) {
            holdUntilTold(lock);
            return;
        }
        if (options.containsKey("at-a-line")) {
            say("ready");
            awaitLine();
        }
        runRounds(lock);
    }

    private CuratorFramework connect() throws InterruptedException {
        int session = Integer.parseInt(options.getOrDefault("session", "10000"));
        CuratorFramework client = CuratorFrameworkFactory.newClient(
            options.get("connect"), session, session, new ExponentialBackoffRetry(100, 3));
        client.start();
        client.blockUntilConnected();
        return client;
    }

    private InterProcessLock lockOn(CuratorFramework client) {
        String path = "/" + options.get("name");
        switch (options.getOrDefault("kind", "lock")) {
            case "read":
                return new InterProcessReadWriteLock(client, path).readLock();
            case "write":
                return new InterProcessReadWriteLock(client, path).writeLock();
            default:
                return new InterProcessMutex(client, path);
        }
    }

    private void holdUntilTold(InterProcessLock lock) throws Exception {
        long started = System.nanoTime();
        say("waiting");
        lock.acquire();
        say("held " + (System.nanoTime() - started) / 1_000_000);
        awaitLine();
        lock.release();
        say("released");
    }

    private void runRounds(InterProcessLock lock) throws Exception {
        int rounds = Integer.parseInt(options.getOrDefault("rounds", "1"));
        boolean onlyReads = "read".equals(options.get("kind"));
        for (int i = 0; i < rounds; ++i) {
            lock.acquire();
            try {
                if (onlyReads) {
                    lookTwice();
                } else {
                    countUp();
                }
                mark();
            } finally {
                lock.release();
            }
        }
        say("done " + rounds);
    }

    private void countUp() throws IOException {
        int before = Integer.parseInt(count());
        Files.writeString(file("counter"), Integer.toString(before + 1));
    }

    private void lookTwice() throws IOException {
        String before = count();
        Thread.yield();
        if (!before.equals(count())) {
            throw new IllegalStateException("it was changed while it was read-locked");
        }
    }

    private String count() throws IOException {
        return Files.readString(file("counter"));
    }

    private void mark() throws IOException {
        if (options.containsKey("mark")) {
            Files.writeString(file("journal"), options.get("mark"), StandardOpenOption.APPEND);
        }
    }

    private Path file(String name) {
        return Path.of(options.get("folder"), name);
    }

    private static void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    private static void awaitLine() throws IOException {
        INPUT.readLine();
    }
}
