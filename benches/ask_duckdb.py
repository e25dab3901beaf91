"""DuckDB, as a child of the history bench: loads a file of transactions, then answers questions line by line.

    python3 -m pip install duckdb && python3 ask_duckdb.py TRANSACTIONS.csv

In:  `column key from to`, tab-separated. Out: `count cents nanoseconds`: the answer, and how long the statement took by
the clock of this process, so that the way between the two processes is not counted.
"""

import sys
import time

import duckdb

QUESTION = "SELECT count(*), coalesce(sum(cents), 0) FROM t WHERE {} = ? AND micros BETWEEN ? AND ?"


def main(transactions: str) -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (source VARCHAR, destination VARCHAR, micros BIGINT, cents BIGINT)")
    connection.execute(f"COPY t FROM '{transactions}' (HEADER false)")
    print(duckdb.__version__, connection.execute("SELECT count(*) FROM t").fetchone()[0], flush=True)
    for line in sys.stdin:
        column, key, since, until = line.rstrip("\n").split("\t")
        statement = QUESTION.format({"source": "source", "destination": "destination"}[column])
        started = time.perf_counter_ns()
        count, cents = connection.execute(statement, [key, int(since), int(until)]).fetchone()
        print(count, cents, time.perf_counter_ns() - started, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
