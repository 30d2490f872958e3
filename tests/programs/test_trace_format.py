"""The lists of docs/trace-format.md are those of the headers in trace/."""

import re

import pytest

import tables
import trace_format


def page():
    return trace_format.PAGE.read_text(encoding="utf-8")


def cells(line):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def test_the_page_has_the_lists_of_the_headers():
    assert trace_format.with_lists(page()) == page(), "scripts/docs docs/trace-format.md writes them"


def test_each_declaration_is_in_its_list():
    record, schema = trace_format.header("record.h"), trace_format.header("schema.h")
    kinds = record[record.index("enum class RecordKind"):]
    numbers = re.findall(r"^  \w+ = (\d+),", kinds[:kinds.index("};")], re.MULTILINE)
    assert [cells(line)[0] for line in trace_format.record_list()[2:]] == numbers and len(numbers) > 40
    columns = re.findall(r"\bOf<(?:Plain|Delta)<(\d+), \"(\w+)\"", schema)
    listed = [cells(line)[1].split() for line in trace_format.table_list()[2:]]
    assert sorted(column for column in listed if column) == sorted(map(list, columns)) and len(columns) > 150
    assert sorted(number for number, _ in tables.numbers().values()) == sorted(number for number, *_ in trace_format.tables())


def test_each_older_version_says_what_it_lacks():
    major, minor, oldest = trace_format.spool_version()
    rows = page().split("| version | lacks, with all that newer versions lack |\n| --- | --- |\n")[1].split("\n\n")[0].splitlines()
    assert [cells(row)[0] for row in rows] == [f"{major}.{version}" for version in range(minor - 1, oldest - 1, -1)]
    assert all(cells(row)[1] for row in rows)


@pytest.mark.parametrize(("name", "before", "more", "row"), [
    ("record.h", "struct NodeReleaseRecord {", """
// A thing that happened.
struct ThingRecord {  // id: string, its name; flags: ThingFlags; uint32_t part[count]
                      // follow
  RecordHeader header;
  uint64_t ticks;
  PoolNumbers pool;   // of its own
  uint32_t count;
  ThingKind kind;     // of the thing
  uint8_t reserved[3];
};
""", "| 200 | thing | → string: its name | ThingFlags | u64 ticks, u32 pool.graph, u32 pool.user, u32 count, u8 kind (ThingKind; of the thing), "
     "u8[3] 0; u32 part[count] follow | a thing. A thing that happened. |"),
    ("schema.h", "template <template <class> class Of>\nstruct Saves {", """
// Things, one row each.
template <template <class> class Of>
struct Things {
  static constexpr Table kTable = Table::things;
  static constexpr const char* kName = "things";
  using Id = NoId;
  Of<Delta<0, "time", Time>> time;
  Of<Plain<3, "name", StringId>>
      name;  // what it is
};

""", "| 200 things | | | | Things, one row each. |\n| | 0 time | u64 | delta | time |\n| | 3 name | u32 | plain | → strings; what it is |")])
def test_a_new_declaration_appears(monkeypatch, name, before, more, row):
    if name == "record.h":
        more = [(before, more + before), ("  variable = 68,", "  thing = 200,  // a thing\n  variable = 68,"),
                ("    case RecordKind::held:", "    case RecordKind::thing:\n      return fixed<ThingRecord>();\n    case RecordKind::held:")]
    else:
        more = [(before, more + before), ("  variables = 72,", "  things = 200,\n  variables = 72,")]
    text = trace_format.header(name)
    for old, new in more:
        assert text.count(old) == 1
        text = text.replace(old, new)
    read = trace_format.header
    monkeypatch.setattr(trace_format, "header", lambda path: text if path == name else read(path))
    listed = trace_format.record_list() if name == "record.h" else trace_format.table_list()
    assert row in "\n".join(listed)


def test_a_line_that_is_not_understood_is_an_error(monkeypatch):
    read = trace_format.header
    monkeypatch.setattr(trace_format, "header", lambda path: read(path).replace("  using Id = SaveId;", "  using Id = SaveId;\n  int odd = f(1);"))
    with pytest.raises(AssertionError):
        trace_format.table_list()
