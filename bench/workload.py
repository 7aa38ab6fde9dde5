"""Programs with known costs, for bench/overhead.py.

    workload.py work PROCESSES SECONDS FILE    a fixed amount of work, about SECONDS of CPU in all;
                                               writes the CPU time that it really took to FILE
    workload.py change PROCESSES SECONDS       that long, little work, memory that grows and shrinks
"""

import hashlib
import os
import resource
import sys
import time

LOOPS_PER_SECOND = 220  # about; what counts is that it is the same each time


def work(loops):
    """Hashes: what an interpreter's loop takes depends far more on who else uses the core."""
    block, digest = bytes(2**16), hashlib.sha256()
    for _ in range(loops * 64):
        digest.update(block)
    return digest.digest()


def change(seconds):
    """Wake up ten times a second and touch between 1 and 4 MiB."""
    end = time.monotonic() + seconds
    turn = 0
    while time.monotonic() < end:
        turn += 1
        block = bytearray((1 + turn // 20 % 4) * 2**20)
        block[::4096] = b"x" * len(block[::4096])
        time.sleep(0.1)


def in_processes(count, job):
    """Run `job` in this process and `count - 1` children; wait for all."""
    children = []
    for _ in range(count - 1):
        child = os.fork()
        if child == 0:
            job()
            os._exit(0)
        children.append(child)
    job()
    failed = sum(os.waitpid(child, 0)[1] != 0 for child in children)
    if failed:
        sys.exit(f"{failed} children failed")


def main():
    kind, processes, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    if kind == "work":
        loops = max(1, round(seconds * LOOPS_PER_SECOND / processes))
        in_processes(processes, lambda: work(loops))
        usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        total = sum(usage.ru_utime + usage.ru_stime for usage in usages)
        with open(sys.argv[4], "w", encoding="ascii") as file:
            file.write(f"{total}\n")
    else:
        in_processes(processes, lambda: change(seconds))


if __name__ == "__main__":
    main()
