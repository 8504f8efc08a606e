"""Text becomes statements, and what is not a statement is refused with its place."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TypeVar

import numpy
import pandas
import pytest
import sqlglot

from slackwater.errors import QueryError, SlackwaterError, Unsupported
from slackwater.sql.kinds import (
    Copy,
    CreateTable,
    CreateView,
    Delete,
    Describe,
    Drop,
    Explain,
    Insert,
    Merge,
    Refresh,
    Select,
    Show,
    Statement,
    Update,
)
from slackwater.sql.pieces import SHORT
from slackwater.sql.statements import is_complete, parse, relations_in, rename_relations, split, substitute

S = TypeVar("S", bound=Statement)


def read(text: str, kind: type[S]) -> S:
    statement = parse(text)
    assert isinstance(statement, kind)
    return statement


def refusal(text: str) -> SlackwaterError:
    with pytest.raises(SlackwaterError) as caught:
        parse(text)
    return caught.value


def marked(error: SlackwaterError) -> str:
    """The part of the text the error points at."""
    assert error.text is not None and error.place is not None
    return error.text[error.place.start : error.place.end]


# Scripts


def test_a_script_is_cut_at_its_semicolons() -> None:
    pieces = split("SELECT 1;\n  SELECT 2 ;; SELECT 3")
    assert pieces == ["SELECT 1", "SELECT 2", "SELECT 3"]
    assert [piece.start for piece in pieces] == [0, 12, 24]


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT 'a;b'",
        'SELECT "a;b"',
        "SELECT `a;b`",
        "SELECT 1 -- a;b\n + 2",
        "SELECT 1 /* a;b */",
        "SELECT 1 /* a /* ; */ ; */",
        r"SELECT 'it\'s; fine'",
        "SELECT 'it''s; fine'",
        r"SELECT r'\d;\'",
        "SELECT `a``;b`",
    ],
)
def test_a_semicolon_in_quotes_or_comments_cuts_nothing(statement: str) -> None:
    assert split(f"{statement}; SELECT 2") == [statement, "SELECT 2"]


def test_a_comment_alone_is_no_statement() -> None:
    assert split("-- nothing\n; /* nothing */ ;") == []
    assert split("-- first\nSELECT 1") == ["SELECT 1"]


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("SELECT 1;", True),
        ("SELECT 1", False),
        ("SELECT 1; -- done", True),
        ("SELECT ';", False),
        ("", True),
        ("SELECT 1; SELECT", False),
        ("/* ;", False),
    ],
)
def test_a_statement_is_complete_with_its_semicolon(text: str, complete: bool) -> None:
    assert is_complete(text) is complete


@pytest.mark.parametrize("text", ["SELECT 'a", f"SELECT 1 {' ' * SHORT} 'a"], ids=["short", "long"])
def test_a_string_that_is_not_closed_is_told_every_time(text: str) -> None:
    for _ in range(2):
        with pytest.raises(QueryError, match="this string is not closed"):
            split(text)


@pytest.mark.parametrize("text", ["SELECT 'abc", 'SELECT "abc', "SELECT `abc", "SELECT 1 /* abc"])
def test_what_is_not_closed_is_named(text: str) -> None:
    assert "not closed" in refusal(text).message


def test_two_statements_at_once_are_refused() -> None:
    error = refusal("SELECT 1; SELECT 2")
    assert marked(error) == "SELECT 2"
    assert isinstance(parse("SELECT 1;"), Select)


def test_nothing_is_refused() -> None:
    assert refusal("  -- hm\n").message == "there is no statement"


# CREATE TABLE


def test_a_table_has_columns_and_a_key() -> None:
    table = read("CREATE TABLE orders (id BIGINT, region STRING NOT NULL, amount DECIMAL(12, 2), PRIMARY KEY (id))", CreateTable)
    assert table.name == "orders"
    assert [(c.name, c.type, c.nullable) for c in table.columns] == [
        ("id", "bigint", False),
        ("region", "string", False),
        ("amount", "decimal(12,2)", True),
    ]
    assert table.primary_key == ("id",)
    assert table.query is None and not table.or_replace and not table.if_not_exists
    assert table.text[table.name.place.start : table.name.place.end] == "orders"


def test_a_key_may_stand_beside_its_column() -> None:
    table = read("create table if not exists t (a int primary key, b int null comment 'b; c')", CreateTable)
    assert table.primary_key == ("a",) and table.if_not_exists
    assert [c.nullable for c in table.columns] == [False, True]


def test_a_key_may_have_several_columns_and_a_name() -> None:
    table = read("CREATE OR REPLACE TABLE t (a int, b int, c int, CONSTRAINT pk PRIMARY KEY (b, a))", CreateTable)
    assert table.primary_key == ("b", "a") and table.or_replace
    assert [c.nullable for c in table.columns] == [False, False, True]


@pytest.mark.parametrize(
    ("written", "type_"),
    [
        ("INTEGER", "int"),
        ("long", "bigint"),
        ("short", "smallint"),
        ("BYTE", "tinyint"),
        ("real", "float"),
        ("DOUBLE PRECISION", "double"),
        ("double", "double"),
        ("decimal", "decimal(10,0)"),
        ("numeric(5)", "decimal(5,0)"),
        ("varchar(20)", "string"),
        ("CHAR(1)", "string"),
        ("timestamp_ltz", "timestamp"),
        ("TIMESTAMP_NTZ", "timestamp_ntz"),
        ("array< int >", "array<int>"),
        ("ARRAY<ARRAY<STRING>>", "array<array<string>>"),
        ("map<string, array<date>>", "map<string,array<date>>"),
        ("STRUCT<a: INT, b: STRUCT<c: BOOLEAN>>", "struct<a:int,b:struct<c:boolean>>"),
        ("struct<`a b`: int>", "struct<`a b`:int>"),
        ("struct<a int>", "struct<a:int>"),
    ],
)
def test_types_are_written_as_spark_writes_them(written: str, type_: str) -> None:
    table = read(f"CREATE TABLE t (a {written} NOT NULL, b int)", CreateTable)
    assert [(c.name, c.type) for c in table.columns] == [("a", type_), ("b", "int")]
    assert not table.columns[0].nullable


def test_a_table_takes_options() -> None:
    table = read("CREATE TABLE t (a int) WITH (append_only = TRUE, comment = 'a, b', size = 1.5)", CreateTable)
    assert table.options == {"append_only": "true", "comment": "a, b", "size": "1.5"}


def test_a_table_takes_its_rows_from_a_query() -> None:
    table = read("CREATE TABLE t AS SELECT 1 AS a", CreateTable)
    assert table.columns == () and table.query == "SELECT 1 AS a"
    keyed = read("CREATE TABLE t (PRIMARY KEY (a)) AS WITH x AS (SELECT 1 AS a) SELECT * FROM x", CreateTable)
    assert keyed.primary_key == ("a",) and keyed.columns == ()
    assert read("CREATE TABLE t AS TABLE `my orders`", CreateTable).query == "SELECT * FROM `my orders`"


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("CREATE TABLE t (a text)", 'type "text" does not exist', "text"),
        ("CREATE TABLE t (a strin)", 'type "strin" does not exist', "strin"),
        ("CREATE TABLE t (a decimal(50,2))", "a decimal has 1 to 38 digits", "decimal(50,2)"),
        ("CREATE TABLE t (a array<int)", "expected > in the type", ")"),
        ("CREATE TABLE t (a int, A int)", 'column "A" is given twice', "A"),
        ("CREATE TABLE t (a int, PRIMARY KEY (b))", 'column "b" of the primary key does not exist', "b"),
        ("CREATE TABLE t (a int PRIMARY KEY, b int PRIMARY KEY)", "a table has one primary key", "b"),
        ("CREATE TABLE t", "expected the columns", " "),
        ("CREATE TABLE (a int)", "expected the name of the table", "("),
        ("CREATE TABLE t (a int", "expected )", " "),
        ("CREATE TABLE t (a int) nonsense", "expected the end of the statement", "nonsense"),
        ("CREATE TABLE s.t (a int)", "a warehouse has one namespace", "s.t"),
        ("CREATE TABL t (a int)", "expected TABLE, STREAM, SAMPLE or MATERIALIZED VIEW", "TABL"),
        ("CREATE TABLE t (a int) WITH (x = )", "expected a value", ")"),
        ("CREATE TABLE t (a int) WITH (x = 1, X = 2)", 'option "X" is given twice', "X"),
    ],
)
def test_a_wrong_table_is_refused_at_its_place(text: str, message: str, place: str) -> None:
    error = refusal(text)
    assert isinstance(error, QueryError)
    assert message in error.message
    assert marked(error) == place.strip()


@pytest.mark.parametrize(
    ("text", "construct"),
    [
        ("CREATE TABLE t (a int DEFAULT 1)", "DEFAULT"),
        ("CREATE TABLE t (a int, UNIQUE (a))", "UNIQUE"),
        ("CREATE TABLE t (a int, FOREIGN KEY (a) REFERENCES u)", "FOREIGN"),
        ("CREATE TABLE t (a int) USING parquet", "USING"),
        ("CREATE TABLE t (a int) PARTITIONED BY (a)", "PARTITIONED"),
        ("CREATE TEMP VIEW v AS SELECT 1", "TEMP"),
        ("CREATE INDEX i ON t (a)", "INDEX"),
        ("INSERT OVERWRITE t SELECT 1", "OVERWRITE"),
        ("INSERT INTO t BY NAME SELECT 1", "BY"),
        ("UPDATE t SET a = 1 FROM u", "FROM"),
        ("UPDATE t SET a.b = 1", "a."),
        ("DELETE FROM t USING u", "USING"),
        ("MERGE INTO t USING s AS x(a) ON t.a = x.a WHEN MATCHED THEN DELETE", "("),
        ("COPY t TO 'x.csv'", "TO"),
        ("COPY t FROM 'x' FORMAT orc", "orc"),
        ("DROP TABLE t CASCADE", "CASCADE"),
        ("EXPLAIN FORMATTED SELECT 1", "FORMATTED"),
        ("TRUNCATE TABLE t", "TRUNCATE"),
        ("ALTER TABLE t ADD COLUMN b int", "ALTER"),
    ],
)
def test_what_is_sound_but_not_ours_names_what_works(text: str, construct: str) -> None:
    error = refusal(text)
    assert isinstance(error, Unsupported)
    assert marked(error) == construct
    assert error.hint


@pytest.mark.parametrize("word", ["outer", "INNER", "lateral", "cross"])
@pytest.mark.parametrize("rest", ["TABLE {} (id INT)", "MATERIALIZED VIEW {} AS SELECT 1 AS a"])
def test_a_word_that_no_query_could_read_is_no_name_without_quotes(rest: str, word: str) -> None:
    error = refusal(f"CREATE {rest.format(word)}")
    assert "is a word of SQL" in error.message and f"`{word}`" in (error.hint or "") and marked(error) == word
    assert getattr(parse(f"CREATE {rest.format(f'`{word}`')}"), "name", None) == word


# Changes


def test_rows_are_inserted() -> None:
    insert = read("INSERT INTO t VALUES (1, 'a;b'), (2, NULL);", Insert)
    assert (insert.table, insert.columns, insert.query, insert.or_replace) == ("t", None, "VALUES (1, 'a;b'), (2, NULL)", False)


def test_rows_are_inserted_from_a_query() -> None:
    assert read("INSERT INTO TABLE t (a, `b c`) SELECT x, y FROM u", Insert).columns == ("a", "b c")
    assert read("INSERT INTO t (SELECT * FROM u)", Insert).query == "(SELECT * FROM u)"
    assert read("INSERT INTO t TABLE u", Insert).query == "SELECT * FROM u"
    assert read("INSERT OR REPLACE INTO t WITH x AS (SELECT 1) SELECT * FROM x", Insert).or_replace


def test_rows_are_updated() -> None:
    update = read("UPDATE t SET a = a + 1", Update)
    assert (update.table, update.alias, update.assignments, update.where) == ("t", None, (("a", "a + 1"),), None)
    text = "UPDATE t AS x SET a = CASE WHEN b THEN (SELECT max(q) FROM r WHERE z) END, x.b = f(b, 1) WHERE a IN (SELECT c FROM d)"
    longer = read(text, Update)
    assert longer.alias == "x"
    assert longer.assignments == (("a", "CASE WHEN b THEN (SELECT max(q) FROM r WHERE z) END"), ("b", "f(b, 1)"))
    assert longer.where == "a IN (SELECT c FROM d)"
    assert text[longer.where.start :] == longer.where


def test_rows_are_deleted() -> None:
    assert read("DELETE FROM t", Delete).where is None
    delete = read("DELETE FROM t x WHERE x.a > 1", Delete)
    assert (delete.table, delete.alias, delete.where) == ("t", "x", "x.a > 1")


def test_a_merge_has_clauses() -> None:
    merge = read(
        """MERGE INTO t AS a USING (SELECT * FROM s WHERE d) b ON a.id = b.id AND CASE WHEN a.x THEN true END
           WHEN MATCHED AND b.gone THEN DELETE
           WHEN MATCHED THEN UPDATE SET a.n = b.n + 1, m = 2
           WHEN NOT MATCHED BY TARGET THEN INSERT (id, n) VALUES (b.id, f(b.n, 2))
           WHEN NOT MATCHED BY SOURCE AND a.old THEN UPDATE SET n = 0""",
        Merge,
    )
    assert (merge.target, merge.target_alias, merge.source, merge.source_alias) == ("t", "a", "(SELECT * FROM s WHERE d)", "b")
    assert merge.on == "a.id = b.id AND CASE WHEN a.x THEN true END"
    gone, changed, new, old = merge.clauses
    assert (gone.kind, gone.condition, gone.action) == ("matched", "b.gone", "delete")
    assert (changed.kind, changed.condition, changed.assignments) == ("matched", None, (("n", "b.n + 1"), ("m", "2")))
    assert (new.kind, new.action, new.columns, new.values) == ("not_matched", "insert", ("id", "n"), ("b.id", "f(b.n, 2)"))
    assert (old.kind, old.condition, old.action, old.assignments) == ("not_matched_by_source", "a.old", "update", (("n", "0"),))


def test_a_merge_may_take_all_columns() -> None:
    merge = read("MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *", Merge)
    assert merge.source == "s" and merge.source_alias is None
    assert [(c.action, c.star) for c in merge.clauses] == [("update", True), ("insert", True)]


def test_a_file_is_copied() -> None:
    copy = read("COPY t (a, b) FROM '/data/x.csv.gz' WITH (header = true, delimiter = ';')", Copy)
    assert (copy.table, copy.columns, copy.path, copy.format) == ("t", ("a", "b"), "/data/x.csv.gz", "csv")
    assert copy.options == {"header": "true", "delimiter": ";"}
    assert read("COPY INTO t FROM 'dir' FORMAT Parquet", Copy).format == "parquet"
    assert read("COPY t FROM 'dir' WITH (format = 'json')", Copy).format == "json"
    assert read("COPY t FROM 'x.jsonl'", Copy).format == "json"
    assert read(r"COPY t FROM 'a\'b.json'", Copy).path == "a'b.json"


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("INSERT t VALUES (1)", "expected INTO", "t"),
        ("INSERT INTO t", "expected VALUES or a query", ""),
        ("INSERT INTO t (a, a) VALUES (1, 2)", 'column "a" is given twice', "a"),
        ("INSERT INTO t VALUES (1, ", "syntax error", ","),
        ("UPDATE t SET a = 1, a = 2", 'column "a" is set twice', "a"),
        ("UPDATE t SET a = 1 b", 'syntax error at "b"', "b"),
        ("UPDATE t SET a = 1 + , b = 2", "something is missing", "+"),
        ("UPDATE t SET a", "expected =", ""),
        ("UPDATE t WHERE a", "expected SET", "WHERE"),
        ("UPDATE t SET a = 1 WHERE", "expected an expression", ""),
        ("UPDATE t SET a = SELECT 1", "expected an expression", "SELECT 1"),
        ("DELETE t WHERE a", "expected FROM", "t"),
        ("DELETE FROM t WHERE a = 1 )", "expected the end", ")"),
        ("MERGE INTO t USING s ON t.a = s.a", "expected WHEN MATCHED", ""),
        ("MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN INSERT *", "expected UPDATE or DELETE", "INSERT"),
        ("MERGE INTO t USING s ON t.a = s.a WHEN NOT MATCHED THEN DELETE", "expected INSERT", "DELETE"),
        ("MERGE INTO t USING s ON true WHEN NOT MATCHED THEN INSERT (a, b) VALUES (1)", "lists 2 columns, but 1 values", "(1)"),
        ("MERGE INTO t USING s ON true WHEN MATCHED THEN DELETE WHEN MATCHED THEN DELETE", "never applies", "WHEN MATCHED THEN DELETE"),
        ("MERGE INTO t USING (SELECT FROM) s ON true WHEN MATCHED THEN DELETE", "syntax error", "FROM"),
        ("COPY t FROM x", "expected the file's path in quotes", "x"),
        ("COPY t FROM 'x'", "does not tell the file's format", "'x'"),
    ],
)
def test_a_wrong_change_is_refused_at_its_place(text: str, message: str, place: str) -> None:
    error = refusal(text)
    assert message in error.message
    assert marked(error) == place


# Views and questions


def test_a_view_keeps_its_query() -> None:
    text = "CREATE OR REPLACE MATERIALIZED VIEW v (a, b) WITH (refresh = 'strict') AS WITH x AS (SELECT 1, 2) SELECT * FROM x"
    view = read(text, CreateView)
    assert (view.name, view.columns, view.options) == ("v", ("a", "b"), {"refresh": "strict"})
    assert view.query == "WITH x AS (SELECT 1, 2) SELECT * FROM x" and text[view.query.start :] == view.query
    assert view.or_replace and not view.if_not_exists
    plain = read("create materialized view if not exists v as select 1;", CreateView)
    assert plain.columns is None and plain.options == {} and plain.if_not_exists and plain.query == "select 1"


def test_the_place_of_a_mistake_in_a_view_refers_to_the_whole_statement() -> None:
    error = refusal("CREATE MATERIALIZED VIEW v AS\nSELECT a\nFROM t\nWHERE a b c")
    assert marked(error) == "b"
    assert str(error) == 'syntax error at "b"\n  WHERE a b c\n          ^'


def test_things_are_dropped() -> None:
    assert read("DROP TABLE t", Drop) == Drop("DROP TABLE t", "table", parse("DROP TABLE t").name, False)  # type: ignore[attr-defined]
    drop = read("DROP MATERIALIZED VIEW IF EXISTS v", Drop)
    assert (drop.kind, drop.name, drop.if_exists) == ("view", "v", True)
    assert read("DROP VIEW v", Drop).kind == "view"


def test_views_are_refreshed() -> None:
    assert read("REFRESH VIEW v", Refresh).name == "v"
    assert read("REFRESH MATERIALIZED VIEW v", Refresh).name == "v"
    assert read("REFRESH ALL", Refresh).name is None
    assert "expected VIEW" in refusal("REFRESH v").message


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 1",
        "WITH a AS (SELECT 1) SELECT * FROM a",
        "VALUES (1, 2)",
        "FROM t SELECT a",
        "(SELECT 1) UNION SELECT 2",
        "SELECT a, count(*) FROM t GROUP BY ALL HAVING count(*) > 1 ORDER BY ALL LIMIT 3",
    ],
)
def test_a_query_is_kept_as_it_is(query: str) -> None:
    assert read(f"  -- why\n {query} ;", Select).query == query


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("SELECT a FROM t WHERE", "WHERE"),
        ("SELECT a b c FROM t", "c"),
        ("SELECT (a FROM t", "FROM"),
        ("SELECT a,\n  b +\nFROM t", "FROM"),
        ("(1 + 2)", "(1 + 2)"),
        ("WITH a AS (SELECT 1) DELETE FROM t", "WITH a AS (SELECT 1) DELETE FROM t"),
        ("SELEC a", "SELEC"),
        ("CRAETE TABLE t", "CRAETE"),
        ("123", "123"),
    ],
)
def test_a_syntax_error_has_its_place(text: str, place: str) -> None:
    error = refusal(text)
    assert isinstance(error, QueryError)
    assert marked(error) == place
    assert "\x1b" not in str(error) and "<class" not in str(error)


@pytest.mark.parametrize(
    ("word", "meant"), [("SELEC", "select"), ("CRAETE", "create"), ("INSRT", "insert"), ("refersh", "refresh"), ("EXPLIAN", "explain")]
)
def test_a_misspelt_first_word_is_guessed(word: str, meant: str) -> None:
    assert refusal(f"{word} x").hint == f'did you mean "{meant}"?'


def test_things_are_shown_and_described() -> None:
    assert [read(f"SHOW {what}", Show).what for what in ("TABLES", "views", "PATHS", "MATERIALIZED VIEWS")] == [
        "tables",
        "views",
        "paths",
        "views",
    ]
    assert refusal("SHOW TABELS").hint == 'did you mean "tables"?'
    assert read("DESCRIBE TABLE t", Describe).name == "t"
    assert read("DESC `a b`", Describe).name == "a b"
    history = read("DESCRIBE HISTORY v", Describe)
    assert history.history and history.name == "v"
    assert read("DESCRIBE HISTORY", Describe).name is None


def test_things_are_explained() -> None:
    view = read("EXPLAIN DELTA VIEW totals", Explain)
    assert (view.what, view.view, view.query) == ("delta", "totals", None)
    assert read("EXPLAIN VIEW v", Explain).what == "plan"
    query = read("EXPLAIN PATHS SELECT 1", Explain)
    assert (query.what, query.view, query.query) == ("paths", None, "SELECT 1")
    assert [read(f"EXPLAIN {what} SELECT 1", Explain).what for what in ("", "PLAN", "SPARK")] == ["plan", "plan", "spark"]
    preview = read("EXPLAIN CREATE MATERIALIZED VIEW v WITH (refresh = 'strict') AS SELECT 1", Explain)
    assert preview.query == "SELECT 1" and preview.view is None
    assert preview.create is not None and preview.create.options == {"refresh": "strict"}
    assert refusal("EXPLAIN DELT SELECT 1").hint == 'did you mean "delta"?'
    assert "only views and queries" in refusal("EXPLAIN CREATE TABLE t AS SELECT 1").message


# Parameters


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, "NULL"),
        (True, "true"),
        (7, "7"),
        (-7, "(-7)"),
        (1.5, "1.5D"),
        (-0.0, "(-0.0D)"),
        (1e30, "1e+30D"),
        (float("nan"), "CAST('NaN' AS DOUBLE)"),
        (float("-inf"), "CAST('-Infinity' AS DOUBLE)"),
        (Decimal("12.50"), "CAST('12.50' AS DECIMAL(4,2))"),
        (Decimal("0.05"), "CAST('0.05' AS DECIMAL(2,2))"),
        (Decimal("1E+3"), "CAST('1000' AS DECIMAL(4,0))"),
        ("it's", r"'it\'s'"),
        ("a\\b", r"'a\\b'"),
        (b"\x00\xff", "X'00FF'"),
        (date(2024, 2, 29), "DATE '2024-02-29'"),
        (datetime(2024, 2, 29, 12, 30, 0, 5), "TIMESTAMP '2024-02-29 12:30:00.000005'"),
        (datetime(2024, 2, 29, tzinfo=UTC), "TIMESTAMP '2024-02-29 00:00:00+00:00'"),
        ([1, None], "array(1, NULL)"),
        (numpy.int64(3), "3"),
        (numpy.float64(0.5), "0.5D"),
        (pandas.NaT, "NULL"),
    ],
)
def test_a_value_becomes_a_literal_that_can_be_parsed(value: object, written: str) -> None:
    text = substitute("SELECT ?", [value])
    assert text == f"SELECT {written}"
    sqlglot.parse_one(text, dialect="spark")


def test_positions_and_names() -> None:
    assert substitute("a = ? AND b = ?", [1, "x"]) == "a = 1 AND b = 'x'"
    assert substitute("a = :a AND b = :b OR c = :a", {"a": 1, "b": 2}) == "a = 1 AND b = 2 OR c = 1"
    assert substitute("a-?", [-1]) == "a-(-1)"


def test_a_list_fills_an_in() -> None:
    assert substitute("a IN (?) AND b NOT IN ( :x )".replace(":x", "?"), [[1, 2], ["x"]]) == "a IN (1, 2) AND b NOT IN ( 'x' )"
    assert substitute("VALUES (?)", [[1, 2]]) == "VALUES (array(1, 2))"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT '?', ':a'",
        "SELECT 1 -- ? :a",
        "SELECT /* ? :a */ 1",
        "SELECT `?:a`",
        "SELECT v:a.b",
        "SELECT CAST(x AS struct<a:int>)",
        "SELECT a::int",
        "SELECT f():a",
    ],
)
def test_what_looks_like_a_parameter_but_is_none(text: str) -> None:
    assert substitute(text) == text


@pytest.mark.parametrize(
    ("text", "params", "message", "place"),
    [
        ("a = ? AND b = ?", [1], "the statement has 2 parameters, but 1 value was given", "?"),
        ("a = ?", None, "the statement has 1 parameter, but no values were given", "?"),
        ("a = :x", None, 'parameter ":x" has no value', ":x"),
        ("a = :x", [1], 'parameter ":x" has no value', ":x"),
        ("a = :regoin", {"region": 1}, 'parameter ":regoin" has no value', ":regoin"),
        ("a = ?", {"x": 1}, "parameter ? has no name", "?"),
        ("a = ?", [object()], "a value of type object cannot be a parameter", "?"),
        ("a = ?", [Decimal("NaN")], "a decimal has no NaN", "?"),
        ("a IN (?)", [[]], "an empty list", "?"),
    ],
)
def test_parameters_that_do_not_fit_are_refused_at_their_place(text: str, params: object, message: str, place: str) -> None:
    with pytest.raises(QueryError) as caught:
        substitute(text, params)  # type: ignore[arg-type]
    assert message in caught.value.message
    assert marked(caught.value) == place


def test_values_without_a_place_are_refused() -> None:
    with pytest.raises(QueryError, match="1 parameter, but 2 values were given"):
        substitute("a = ?", [1, 2])
    with pytest.raises(QueryError, match='does not use the parameter "b"'):
        substitute("a = :a", {"a": 1, "b": 2})
    with pytest.raises(QueryError, match="a list or a dict, not str"):
        substitute("a = ?", "x")


# Relations


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("SELECT 1", []),
        ("SELECT * FROM a, b x JOIN c ON true", ["a", "b", "c"]),
        ("SELECT (SELECT max(x) FROM b) FROM a WHERE x IN (SELECT y FROM c) HAVING EXISTS (SELECT 1 FROM d)", ["b", "a", "c", "d"]),
        ("WITH a AS (SELECT * FROM b) SELECT * FROM a, c", ["b", "c"]),
        ("WITH a AS (SELECT * FROM a) SELECT * FROM a", ["a"]),
        ("WITH A AS (SELECT 1), b AS (SELECT * FROM a) SELECT * FROM B, `a`", []),
        ("WITH b AS (SELECT * FROM a), a AS (SELECT 1) SELECT * FROM a", ["a"]),
        ("SELECT * FROM (WITH a AS (SELECT * FROM a) SELECT * FROM a) x, a", ["a", "a"]),
        ("WITH a AS (SELECT 1) SELECT * FROM (WITH b AS (SELECT * FROM a) SELECT * FROM b, c) x, b", ["c", "b"]),
        ("WITH a AS (SELECT 1) SELECT 1 WHERE 1 IN (SELECT * FROM a) UNION SELECT * FROM a EXCEPT SELECT * FROM b", ["b"]),
        ("WITH RECURSIVE r AS (SELECT 1 UNION ALL SELECT n + 1 FROM r JOIN t) SELECT * FROM r", ["t"]),
        ("SELECT * FROM range(5), VALUES (1) AS v(x), explode(array(1))", []),
        ("SELECT /*+ BROADCAST(a) */ * FROM a", ["a"]),
        ("SELECT * FROM a LATERAL VIEW explode(x) y AS z", ["a"]),
        ("SELECT * FROM a JOIN LATERAL (SELECT * FROM b WHERE b.x = a.x) c", ["a", "b"]),
        ("FROM a |> JOIN b ON true |> WHERE x > 1", ["a", "b"]),
        ("SELECT explode_outer((SELECT max(x) FROM a))", ["a"]),
        ("a IN (SELECT x FROM t) AND b > (SELECT max(y) FROM u)", ["t", "u"]),
        ("CASE WHEN EXISTS (SELECT 1 FROM t) THEN 1 END", ["t"]),
        ("a + 1", []),
        ("SELECT * FROM date, `group`, user, format", ["date", "group", "user", "format"]),
    ],
)
def test_the_relations_of_a_query_are_those_no_with_clause_defines(query: str, names: list[str]) -> None:
    relations = relations_in(query)
    assert [relation.name for relation in relations] == names
    for relation in relations:
        assert query[relation.place.start : relation.place.end].strip("`") == relation.name


def test_a_relation_knows_its_alias() -> None:
    assert [r.has_alias for r in relations_in("SELECT * FROM a, b x, c AS y (p, q), d TABLESAMPLE (5 ROWS) z")] == [False, True, True, True]


@pytest.mark.parametrize(
    ("query", "renamed"),
    [
        ("SELECT orders.id FROM orders", "SELECT orders.id FROM `orders@5` AS `orders`"),
        ("SELECT o.id FROM Orders  o -- all", "SELECT o.id FROM `Orders@5`  o -- all"),
        ("SELECT * FROM `my orders`", "SELECT * FROM `my orders@5` AS `my orders`"),
        ("SELECT * FROM a JOIN b USING (id)", "SELECT * FROM `a@5` AS `a` JOIN `b@5` AS `b` USING (id)"),
        ("WITH a AS (SELECT * FROM a) SELECT * FROM a", "WITH a AS (SELECT * FROM `a@5` AS `a`) SELECT * FROM a"),
        ("SELECT * FROM a TABLESAMPLE (5 ROWS)", "SELECT * FROM (`a@5` AS `a`) TABLESAMPLE (5 ROWS)"),
        ("SELECT * FROM a PIVOT (sum(x) FOR y IN (1))", "SELECT * FROM `a@5` AS `a` PIVOT (sum(x) FOR y IN (1))"),
        ("x IN (SELECT y FROM a)", "x IN (SELECT y FROM `a@5` AS `a`)"),
        ("SELECT * FROM keep", "SELECT * FROM keep"),
        ("SELECT 'a' FROM a -- a", "SELECT 'a' FROM `a@5` AS `a` -- a"),
        ("SELECT 'ä€😀' FROM a", "SELECT 'ä€😀' FROM `a@5` AS `a`"),
    ],
)
def test_relations_are_exchanged_and_nothing_else(query: str, renamed: str) -> None:
    assert rename_relations(query, lambda found: None if found.name == "keep" else f"{found.name}@5") == renamed
    sqlglot.parse_one(renamed, dialect="spark")


@pytest.mark.parametrize(("query", "place"), [("SELECT * FROM db.t", "db.t"), ("SELECT * FROM csv.`x.csv`", "csv.`x.csv`")])
def test_a_qualified_name_is_refused(query: str, place: str) -> None:
    with pytest.raises(QueryError, match="one namespace") as caught:
        relations_in(query)
    assert marked(caught.value) == place


def test_time_travel_is_refused() -> None:
    with pytest.raises(Unsupported, match="time travel"):
        relations_in("SELECT * FROM t VERSION AS OF 5")
