import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * Curator's own InterProcessMutex, measured on request: each line of the input is a request, and
 * answered by a line of numbers.
 *
 *     pairs COUNT                      how many nanoseconds each acquire and release took together
 *     contend THREADS MILLISECONDS     how often the lock was held in a second, by so many threads
 *                                      with a client each
 */
public final class CuratorLock {
    private final String servers;
    private final List<InterProcessMutex> mutexes = new ArrayList<>();

    private CuratorLock(String servers) {
        this.servers = servers;
    }

    public static void main(String[] words) throws Exception {
        CuratorLock lock = new CuratorLock(words[0]);
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String request = input.readLine(); request != null; request = input.readLine()) {
            System.out.println(lock.answer(request.split(" ")));
            System.out.flush();
        }
        System.exit(0);
    }

    private String answer(String[] request) throws Exception {
        if (request[0].equals("pairs")) {
            return pairs(Integer.parseInt(request[1]));
        }
        return contend(Integer.parseInt(request[1]), Long.parseLong(request[2]));
    }

    private String pairs(int count) throws Exception {
        InterProcessMutex mutex = mutexOf(0);
        StringBuilder times = new StringBuilder();
        for (int i = 0; i < count; ++i) {
            long start = System.nanoTime();
            pair(mutex);
            times.append(System.nanoTime() - start).append(' ');
        }
        return times.toString();
    }

    private String contend(int threadCount, long milliseconds) throws Exception {
        CyclicBarrier begin = new CyclicBarrier(threadCount + 1);
        AtomicLong end = new AtomicLong();
        AtomicLong holds = new AtomicLong();
        List<Thread> threads = new ArrayList<>();
        for (int number = 0; number < threadCount; ++number) {
            InterProcessMutex mutex = mutexOf(number);
            Thread thread = new Thread(() -> holds.addAndGet(repeat(mutex, begin, end)));
            threads.add(thread);
            thread.start();
        }
        long start = System.nanoTime();
        end.set(start + milliseconds * 1_000_000);
        begin.await();
        for (Thread thread : threads) {
            thread.join();
        }
        return Long.toString(holds.get() * 1_000_000_000 / (System.nanoTime() - start));
    }

    private static long repeat(InterProcessMutex mutex, CyclicBarrier begin, AtomicLong end) {
        try {
            begin.await();
            long holds = 0;
            for (; System.nanoTime() < end.get(); ++holds) {
                pair(mutex);
            }
            return holds;
        } catch (Exception failure) {
            throw new IllegalStateException(failure);
        }
    }

    private static void pair(InterProcessMutex mutex) throws Exception {
        mutex.acquire();
        mutex.release();
    }

    private InterProcessMutex mutexOf(int number) throws InterruptedException {
        while (mutexes.size() <= number) {
            CuratorFramework client = CuratorFrameworkFactory.newClient(
                servers, 40_000, 10_000, new ExponentialBackoffRetry(100, 3));
            client.start();
            client.blockUntilConnected();
            mutexes.add(new InterProcessMutex(client, "/curator/lock"));
        }
        return mutexes.get(number);
    }
}
