"""Makes the table of a minor of which there is a probe only: the rows "never" that are the same in the tables of an older
and of a newer minor. `needs.py --check` with that minor's PyTorch says whether one is contradicted: README.md.

usage: between.py OLDER.json NEWER.json RELEASE OUTPUT.json
       between.py --operators TABLE.json    the operators that its rows were seen of, for `needs.py --only`
"""
import json
import sys


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def key(row):
    return json.dumps([row["node"], row["field"], row["wanted"], row["when"]], sort_keys=True)


def main(older, newer, release, output):
    tables = [read(older), read(newer)]
    never = [{key(row): row for row in table["rows"] if row["need"] == "never"} for table in tables]
    # The samples are those of the newer minor, the operators those of both.
    rows = [row | {"operators": [one for one in row["operators"] if one in never[0][name]["operators"]]}
            for name, row in never[1].items() if name in never[0]]
    nodes = {row["node"] for row in rows}
    attributes = {node: sorted({name for table in tables for name in table["attributes"].get(node, [])})
                  for node in sorted(nodes & (tables[0]["attributes"].keys() | tables[1]["attributes"].keys()))}
    table = {"format": 1, "torch": release, "device": "cpu", "between": [table["torch"] for table in tables],
             "attributes": attributes, "rows": rows}
    with open(output, "w", encoding="utf-8") as file:
        head = json.dumps(table, indent=1).split('"rows": [')[0]
        file.write(head + '"rows": [\n' + ",\n".join("  " + json.dumps(row) for row in rows) + "\n ]\n}\n")
    print(f"{output}: {len(rows)} rows of {len(nodes)} types of nodes")


if sys.argv[1:2] == ["--operators"] and len(sys.argv) == 3:
    print(",".join(sorted({name for row in read(sys.argv[2])["rows"] for name in row["operators"]})))
elif len(sys.argv) == 5:
    main(*sys.argv[1:])
else:
    sys.exit(__doc__)
