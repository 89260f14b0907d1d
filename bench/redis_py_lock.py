"""redis-py's own Lock, measured on request: each line of the input is a request, and answered by a
line of nanoseconds (of CLOCK_MONOTONIC, which all processes of the machine share).

    pairs COUNT   how long each acquire and release took together
    hold          when it was acquired
    wait          says "waiting" at once, and when it was acquired; then gives it back
    release       when the release began
"""

import sys
import time

import redis


def pair(lock):
    start = time.monotonic_ns()
    lock.acquire()
    lock.release()
    return time.monotonic_ns() - start


def acquired_at(lock):
    lock.acquire()
    return time.monotonic_ns()


def answers(lock, request):
    match request.split():
        case ["pairs", count]:
            yield " ".join(str(pair(lock)) for _ in range(int(count)))
        case ["hold"]:
            yield acquired_at(lock)
        case ["wait"]:
            yield "waiting"
            yield acquired_at(lock)
            lock.release()
        case ["release"]:
            start = time.monotonic_ns()
            lock.release()
            yield start


def main(port, name):
    lock = redis.Redis(port=int(port)).lock(name, timeout=30)
    for request in sys.stdin:
        for answer in answers(lock, request):
            print(answer, flush=True)


main(*sys.argv[1:])
