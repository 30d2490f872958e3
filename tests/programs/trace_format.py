"""The lists of docs/trace-format.md, read from the headers that declare them: the kinds of records (trace/record.h), the
tables (trace/schema.h), the enumerations (both, and trace/types.h) and the losses (trace/types.h). scripts/docs writes
them into the page.

The descriptions are the comments of the headers. In record.h `id: ...; flags: ...` at a struct, its header or a kind
says what these two fields of the record's header mean there."""

import functools
import re

import harness

PAGE = harness.ROOT / "docs/trace-format.md"
LIST = re.compile(r"(<!-- scripts/docs writes this list: (\w+) -->\n).*?(<!-- end of the list -->\n)", re.DOTALL)
NUMBERS = {"uint8_t": "u8", "uint16_t": "u16", "uint32_t": "u32", "uint64_t": "u64", "int64_t": "i64"}


def header(name):
    return (harness.ROOT / "trace" / name).read_text(encoding="utf-8")


@functools.cache
def cpp_names():
    """The structs of record.h, and the enumerations."""
    return re.findall(r"^(?:struct|enum class|enum) (\w+)\b.*\{", header("record.h") + header("types.h"), re.MULTILINE)


def one(pattern, text):
    """The groups of the only match."""
    found = re.findall(pattern, text, re.MULTILINE)
    assert len(found) == 1, f"{len(found)} places match {pattern}"
    return found[0]


def sentences(*parts):
    """The parts as one text for a cell; each but the last ends with a period."""
    parts = [part.strip() for part in parts if part.strip()]
    text = " ".join(part if part.endswith(".") or at == len(parts) else part + "." for at, part in enumerate(parts, 1))
    text = re.sub(r"\b(u?int\d+_t)\b", lambda match: NUMBERS[match[1]], text)
    text = re.sub(rf"(?<!`)\b({'|'.join(cpp_names())})\b(?!`)", r"`\1`", text)
    return text.replace("|", "\\|").replace("UINT64_MAX", "2⁶⁴-1").replace("2^64-1", "2⁶⁴-1")


def blocks(text, word):
    """(comment above, declaration, comment behind its brace, [(code, comment)]) of each struct or enum of a header, the
    lines of a comment joined. A comment above members of an enumeration is of a group of them, and left out."""
    above, found, block = [], [], None
    for line in text.splitlines():
        match = re.fullmatch(r"(\s*)(.*?)\s*(?://\s?(.*))?", line)
        space, code, comment = len(match[1]), match[2], match[3]
        if block is None:
            if re.match(rf"{word} \w+", code) and "{" in code:
                declaration, _, rest = code.partition("{")
                block = [" ".join(above), declaration.strip(), comment or "", []]
                inside, last = [], None
                if "}" in rest:  # on one line
                    block[3] = [(part.strip(), "") for part in rest[:rest.index("}")].split(",") if part.strip()]
                    block[0] = " ".join(part for part in (block[0], block[2]) if part)
                    block[2] = ""
                    found.append(tuple(block))
                    block = None
            if not code.startswith("template <"):
                above = [*above, comment] if not code and comment is not None else []
        elif code.startswith("}"):
            found.append(tuple(block))
            block = None
            above = []
        elif not code and comment is None:
            inside, last = [], None
        elif not code and space > 2:  # goes on behind the line before
            if block[3] and last is not None:
                block[3][-1] = (block[3][-1][0], block[3][-1][1] + " " + comment)
            else:
                block[2] += " " + comment
        elif not code:
            inside.append(comment)
        else:
            inside = [] if word.startswith("enum") else inside
            if last is not None and not last.endswith((";", ",")):  # the declaration goes on
                code = f"{block[3].pop()[0]} {code}"
            block[3].append((code, " ".join([*inside, *([comment] if comment else [])])))
            inside, last = [], code
    return found


# ---- records


def kinds():
    """{kind: (number, comment)}"""
    members = next(members for _, declaration, _, members in blocks(header("record.h"), "enum class") if "RecordKind" in declaration)
    out = {}
    for code, comment in members:
        name, number = re.fullmatch(r"(\w+) = (\d+),", code).groups()
        out[name] = (int(number), comment)
    return out


def structs_of_kinds():
    """{kind: (struct, type of the elements of its tail)}, from the switch over the shapes."""
    out, waiting = {}, []
    text = header("record.h")
    for line in text[text.index("constexpr RecordShape declared_shape"):].splitlines():
        if match := re.fullmatch(r"\s+case RecordKind::(\w+):", line):
            waiting.append(match[1])
        elif match := re.fullmatch(r"\s+return \w+<(\w+)(?:, (&?[\w:]+))?>\(.*\);", line):
            tail = match[2] if match[2] and not match[2].startswith("&") else ""
            out.update((kind, (match[1], tail)) for kind in waiting)
            waiting = []
        elif line.startswith("}"):
            return out
    raise AssertionError("record.h: the switch over the kinds does not end")


def clauses(*comments):
    """(meaning of id, of flags, the rest) of comments with `id: ...; flags: ...`."""
    said = {"id": "", "flags": "", "": ""}
    for comment in comments:
        for clause in filter(None, comment.split("; ")):
            match = re.match(r"(id|flags): (.*)", clause)
            key, text = match.groups() if match else ("", clause)
            said[key] = f"{said[key]}; {text}" if said[key] else text
    return said["id"], said["flags"], said[""]


def reference(text):
    """A meaning that begins with the kind of record that an id names: "string, the path" -> "→ string: the path"."""
    match = re.match(r"(string|frame|stack|layout|module)\b(?:[,:] (.*))?$", text)
    return text if match is None else f"→ {match[1]}" + (f": {match[2]}" if match[2] else "")


def field(code, comment, structs):
    """The fields of one line of a struct."""
    kind, names = re.fullmatch(r"([\w:]+) ([^;]+);", code).groups()
    if kind == "RecordHeader":
        return []
    out = []
    for name in names.split(", "):
        name, array = re.fullmatch(r"(\w+)(\[\d+\])?", name).groups()
        if kind in structs:
            out += [re.sub(r"^(\S+) ", rf"\1 {name}.", part) for line in structs[kind][2] for part in field(*line, structs)]
            continue
        meaning = "" if name == "ticks" and not comment else reference(comment)
        where = "" if not meaning else f" {meaning}" if meaning.startswith("→ ") and ":" not in meaning else f" ({meaning})"
        if kind not in NUMBERS:
            where = f" ({kind}{'; ' + comment if comment else ''})"
        number = NUMBERS.get(kind, "u8")
        out.append(f"{number}{array or ''} " + ("0" if name in ("reserved", "padding") and not comment else name + where))
    return out


def row(*cells):
    return "".join(f"| {cell} " if str(cell) else "| " for cell in cells) + "|"


def record_list():
    all_structs = {declaration.split()[1]: (above, behind, members) for above, declaration, behind, members in blocks(header("record.h"), "struct")}
    owner = structs_of_kinds()
    rows = ["| kind | name | id | flags | fields from offset 8 | |", "| ---: | --- | --- | --- | --- | --- |"]
    for kind, (number, comment) in kinds().items():
        struct, tail = owner[kind]
        above, behind, members = all_structs[struct]
        of_header = " ".join(comment for code, comment in members if code.startswith("RecordHeader"))
        own = clauses(comment)
        shared = clauses(behind, of_header)
        fields = [part for line in members for part in field(*line, all_structs)]
        behind_it = shared[2]
        if tail in all_structs:
            behind_it += ": {" + ", ".join(part for line in all_structs[tail][2] for part in field(*line, all_structs)) + "}"
        cells = [reference(own[0] or shared[0]), own[1] or shared[1]]
        text = "; ".join(part for part in (", ".join(fields), behind_it) if part)
        rows.append(row(number, kind, *map(sentences, (*cells, text)), sentences(own[2], above)))
    return rows


# ---- enumerations


def enumeration_list():
    rows = ["| enumeration | value | name | |", "| --- | ---: | --- | --- |"]
    for text in (header("record.h"), header("types.h")):
        for above, declaration, behind, members in blocks(text, "enum"):
            name = re.fullmatch(r"enum (?:class )?(\w+)(?: : \w+)?", declaration)[1]
            if name in ("RecordKind", "Loss"):
                continue
            place, about = f"`{name}`", sentences(above, behind)
            if about and len(members) > 1:
                rows.append(row(place, "", "", about))
                place = about = ""
            for code, comment in members:
                value_name, value = re.fullmatch(r"(\w+) = (\d+),?", code).groups()
                rows.append(row(place, value, f"`{value_name}`", sentences(comment, about)))
                place = about = ""
    return rows


def loss_list():
    rows = ["| number | name | counted items |", "| ---: | --- | --- |"]
    members = next(members for _, declaration, _, members in blocks(header("types.h"), "enum class") if "Loss" in declaration)
    for code, comment in members:
        name, number = re.fullmatch(r"(\w+) = (\d+),", code).groups()
        rows.append(row(number, name, sentences(comment)))
    return rows


# ---- tables


def tables():
    """[(number, name, comment, id, [(number, name, value type, transform, comment)])]"""
    text = header("schema.h")
    numbers = {name: int(number) for name, number in re.findall(r"^  (\w+) = (\d+),", text, re.MULTILINE)}
    out = []
    for above, _, _, members in blocks(text[text.index("namespace table {"):text.index("}  // namespace table")], "struct"):
        table = name = key = None
        columns = []
        for code, comment in members:
            if match := re.fullmatch(r"static constexpr Table kTable = Table::(\w+);", code):
                table = match[1]
            elif match := re.fullmatch(r'static constexpr const char\* kName = "(\w+)";', code):
                name = match[1]
            elif match := re.fullmatch(r"using Id = (\w+);", code):
                key = match[1]
            else:
                match = re.fullmatch(r'Of<(Plain|Delta)<(\d+), "(\w+)", (\w+)>> \w+;', code)
                assert match, f"schema.h: not the declaration of a column: {code}"
                how, number, column, value = match.groups()
                columns.append((int(number), column, value, how.lower(), comment))
        out.append((numbers[table], name, above, key, sorted(columns)))
    return sorted(out)


def table_list():
    of_id = {key: name for _, name, _, key, _ in tables() if key != "NoId"}
    ids = {"DeviceId": "u8", "ThreadId": "u16"}
    rows = ["| table | column | type | transform | |", "| --- | --- | --- | --- | --- |"]
    for number, name, about, _, columns in tables():
        place = f"{number} {name}"
        if about:
            rows.append(row(place, "", "", "", sentences(about)))
            place = ""
        for column, column_name, value, how, comment in columns:
            if value in of_id:
                kind, meaning = ids.get(value, "u32"), f"→ {of_id[value]}" + (f"; {comment}" if comment else "")
            elif value in ("Time", "Bytes"):
                kind, meaning = "u64", comment or value.lower()
            elif value in NUMBERS:
                kind, meaning = NUMBERS[value], comment
            else:
                kind, meaning = "u8", value + (f"; {comment}" if comment else "")
            rows.append(row(place, f"{column} {column_name}", kind, how, sentences(meaning)))
            place = ""
    return rows


def spool_version():
    """(major, minor, the oldest minor that is read)"""
    return tuple(map(int, one(r"kSpoolMajor = (\d+), kSpoolMinor = (\d+), kOldestSpoolMinor = (\d+);", header("record.h"))))


def version_list():
    major, minor, oldest = spool_version()
    return [f"The current version is {major}.{minor}, and versions {major}.{oldest} to {major}.{minor} can be read:"]


LISTS = {"version": version_list, "records": record_list, "enumerations": enumeration_list, "tables": table_list, "losses": loss_list}


def with_lists(text):
    """The text of docs/trace-format.md with its generated lists."""
    assert sorted(match[2] for match in LIST.finditer(text)) == sorted(LISTS), "each list has its place in the page"
    return LIST.sub(lambda match: match[1] + "\n" + "\n".join(LISTS[match[2]]()) + "\n\n" + match[3], text)
