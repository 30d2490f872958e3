"""Time and memory of the ten queries of docs/queries.md over the Parquet files of many ranks, by DuckDB and by Spark on this
machine, and how both grow with the number of ranks. The recordings are synthetic, one for each rank.

    scripts/build analyzer tapelens_capi tapelens-synthetic-ranks
    python bench/queries.py [--ranks 64,256,1024] [--events 100000] [--engines duckdb,spark]

Spark needs the package pyspark and Java 17. Seconds are processor seconds of all threads, as other programs change them
little; "elapsed" is by the clock. The exponent is that of ranks**exponent between the fewest and the most ranks; at most 1
is linear. Of Spark, seconds and memory are those of its Java process, which takes what --spark-memory permits.
"""

import argparse
import json
import math
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent


def queries():
    """The titles and texts of the page's numbered queries."""
    text = (HERE.parent / "docs/queries.md").read_text(encoding="utf-8")
    return re.findall(r"^## (\d+\. .*?)\n```sql\n(.*?);\n```", text, re.M | re.S)


def by_duckdb(args):
    """The engine, functions that return the rows of a query, and the processor seconds and the peak MiB so far."""
    import duckdb

    connection = duckdb.connect(config={"threads": args.threads})

    def used():
        return time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    return connection, lambda sql: connection.sql(sql).fetchall(), used


def by_spark(args):
    from pyspark.sql import SparkSession

    session = (SparkSession.builder.master(f"local[{args.threads}]").config("spark.driver.memory", args.spark_memory)
               .config("spark.sql.shuffle.partitions", args.threads).config("spark.ui.enabled", "false")
               .config("spark.ui.showConsoleProgress", "false").config("spark.log.level", "ERROR").getOrCreate())
    java = pathlib.Path(f"/proc/{session.sparkContext._gateway.proc.pid}")

    def used():
        fields = (java / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        highest = re.search(r"VmHWM:\s+(\d+) kB", (java / "status").read_text(encoding="utf-8"))
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), int(highest[1]) / 1024

    return session, lambda sql: session.sql(sql).collect(), used


ENGINES = {"duckdb": by_duckdb, "spark": by_spark}


def run_engine(args):
    """Prints the cost of the views and of each query, and its rows, as JSON. Each engine has a separate process."""
    sys.path.insert(0, str(args.package))
    from tapelens.parquet import create_views

    engine, rows, used = ENGINES[args.run](args)
    out = {"rows": [], "seconds": [], "elapsed": []}

    def timed(work):
        begin, before = time.monotonic(), used()[0]
        result = work()
        out["seconds"].append(used()[0] - before)
        out["elapsed"].append(time.monotonic() - begin)
        return result

    timed(lambda: create_views(engine, args.folder))
    for _, sql in queries():
        out["rows"].append(len(timed(lambda sql=sql: rows(sql))))
    print(json.dumps({**out, "mib": used()[1]}))


def measured(command, **options):
    """The seconds by the clock and of processors, and the peak memory in MiB, of a command that must succeed."""
    begin = time.monotonic()
    process = subprocess.Popen(command, **options)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{command[0]} ended with {process.returncode}")
    return time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def size(folder):
    files = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    return f"{len(files):,} files, {sum(files) / 2**20:,.1f} MiB"


def written(args, most, base):
    """Makes and exports the recordings of all ranks. Returns the folder of tables."""
    job, parquet = base / "job", base / "parquet"
    subprocess.run([args.binaries / "tapelens-synthetic-ranks", job, str(most), str(args.events)], check=True,
                   stdout=subprocess.DEVNULL)
    recordings = sorted(map(str, job.glob("*.tapelens")))
    print(f"recordings  {size(job)}", flush=True)
    elapsed, seconds, mib = measured([sys.executable, "-m", "tapelens.parquet", *recordings, "-o", parquet], stdout=subprocess.DEVNULL,
                            env={**os.environ, "PYTHONPATH": str(args.package)})
    print(f"Parquet     {size(parquet)}, written in {elapsed:.0f} s ({seconds:.1f} s of a processor) with {mib:,.0f} MiB of memory", flush=True)
    shutil.rmtree(job)
    return parquet


def first_ranks(parquet, count, base):
    """A folder with the files of the first ranks, as links."""
    folder = base / f"parquet-{count}"
    for table in filter(pathlib.Path.is_dir, parquet.iterdir()):
        (folder / table.name).mkdir(parents=True)
        for rank in range(count):
            file = f"{table.name}-rank{rank}.parquet"
            os.link(table / file, folder / table.name / file)
    shutil.copy(parquet / "views.sql", folder)
    return folder


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binaries", type=pathlib.Path, default=HERE.parent / "build/analyzer/bin")
    parser.add_argument("--package", type=pathlib.Path, help="default: that of the binaries")
    parser.add_argument("--ranks", default="64,256,1024")
    parser.add_argument("--events", type=int, default=100_000, help="of each rank")
    parser.add_argument("--engines", default="duckdb,spark")
    parser.add_argument("--threads", type=int, default=2, help="of each engine")
    parser.add_argument("--spark-memory", default="4g", help="the most memory of Spark's heap")
    parser.add_argument("--parquet", type=pathlib.Path, help="a folder of tables from an earlier run with --keep")
    parser.add_argument("--keep", type=pathlib.Path, help="leave the tables in this folder")
    parser.add_argument("--run", choices=ENGINES, help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.package = (args.package or args.binaries.parent / "lib/tapelens/python").absolute()
    if args.run:
        return run_engine(args)
    counts = sorted(int(count) for count in args.ranks.split(","))
    found = {}
    if args.keep:
        args.keep.mkdir(parents=True)
    near = (args.parquet or args.keep or pathlib.Path(tempfile.gettempdir(), "tables")).absolute().parent  # for links
    with tempfile.TemporaryDirectory(prefix="tapelens-bench-", dir=near) as folder:
        base = pathlib.Path(folder)
        parquet = args.parquet or written(args, counts[-1], args.keep or base)
        for count in counts:
            ranks = first_ranks(parquet, count, base)
            for engine in args.engines.split(","):
                done = subprocess.run([sys.executable, __file__, "--run", engine, "--folder", ranks, "--threads", str(args.threads),
                                       "--spark-memory", args.spark_memory, "--package", args.package],
                                      check=True, stdout=subprocess.PIPE, text=True)
                found[engine, count] = one = json.loads(done.stdout.splitlines()[-1])
                print(f"{engine}, {count:,} ranks: {sum(one['seconds']):.1f} s of a processor, {sum(one['elapsed']):.1f} s elapsed, "
                      f"{one['mib']:,.0f} MiB of memory", file=sys.stderr, flush=True)
    for engine in args.engines.split(","):
        print(f"\n{engine}, seconds{'':<52}" + "".join(f"{count:>8,}" for count in counts) + "  exponent")
        ran = [found[engine, count] for count in counts]

        def line(title, values):
            growth = math.log(values[-1] / values[0]) / math.log(counts[-1] / counts[0]) if len(counts) > 1 else math.nan
            print(f"  {title:<{len(engine) + 59}}" + "".join(f"{value:8.2f}" for value in values) + f"{growth:10.2f}")

        for index, title in enumerate(["the views", *(title for title, _ in queries())]):
            line(title, [one["seconds"][index] for one in ran])
        line("all of them", [sum(one["seconds"]) for one in ran])
        line("all of them, elapsed", [sum(one["elapsed"]) for one in ran])
        print(f"  {'memory in MiB':<{len(engine) + 59}}" + "".join(f"{one['mib']:8,.0f}" for one in ran), flush=True)
    if len({tuple(one["rows"]) for (_, count), one in found.items() if count == counts[-1]}) > 1:
        raise SystemExit("the engines have different numbers of rows: "
                         + str({engine: one["rows"] for (engine, count), one in found.items() if count == counts[-1]}))


if __name__ == "__main__":
    main()
