"""Samples of tables and streams: drawn by a query, or kept up to date."""

from __future__ import annotations

import math
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import slackwater
from slackwater import Session
from slackwater.errors import QueryError, SlackwaterError, Unsupported
from slackwater.run import drawn
from slackwater.spark import Engine


@pytest.fixture
def db(sail_db: Session) -> Session:
    sail_db.sql("CREATE TABLE orders (id INT, region STRING, amount INT, PRIMARY KEY (id))")
    for first in range(0, 1000, 250):
        sail_db.insert("orders", [(n, "EU" if n % 4 else "US", n) for n in range(first, first + 250)])
    return sail_db


def ids(db: Session, query: str) -> list[int]:
    return sorted(row[0] for row in db.sql(query))


TAKEN = "SELECT id FROM orders TABLESAMPLE RESERVOIR (50 ROWS)"


def test_a_query_takes_a_sample_of_a_table(db: Session) -> None:
    first, second = ids(db, TAKEN), ids(db, TAKEN)
    assert len(set(first)) == len(set(second)) == 50
    assert first != second and set(first) <= set(range(1000))
    assert len(ids(db, "SELECT id FROM orders TABLESAMPLE RESERVOIR (5000 ROWS)")) == 1000


def test_with_a_seed_it_is_the_same_also_after_folding_and_removals_that_were_folded(db: Session) -> None:
    seeded = f"{TAKEN} REPEATABLE (7)"
    before = ids(db, seeded)
    assert ids(db, seeded) == before != ids(db, f"{TAKEN} REPEATABLE (8)")
    db.sql("VACUUM")
    assert ids(db, seeded) == before
    db.sql("DELETE FROM orders WHERE id % 3 = 0")
    after = ids(db, seeded)
    assert not [n for n in after if n % 3 == 0]
    db.sql("VACUUM")
    assert ids(db, seeded) == after


def test_a_sample_stands_wherever_a_relation_does(db: Session) -> None:
    db.sql("CREATE TABLE regions (region STRING, name STRING)")
    db.insert("regions", [("EU", "Europe"), ("US", "America")])
    joined = """
        SELECT r.name, count(*) AS n, count(DISTINCT o.id) AS orders
        FROM orders TABLESAMPLE RESERVOIR (100 ROWS) AS o JOIN regions AS r ON o.region = r.region GROUP BY r.name"""
    found = {name: (n, orders) for name, n, orders in db.sql(joined)}
    assert sum(n for n, _ in found.values()) == 100 and set(found) == {"Europe", "America"}
    assert list(db.sql("SELECT count(*) FROM orders WHERE id IN (SELECT id FROM orders TABLESAMPLE RESERVOIR (5 ROWS))")) == [(5,)]
    assert ids(db, "SELECT orders.id FROM orders TABLESAMPLE RESERVOIR (3 ROWS) WHERE orders.amount >= 0")  # its own name goes on
    of_query = "SELECT id, amount FROM (SELECT id, amount FROM orders WHERE region = 'US') TABLESAMPLE RESERVOIR (20 ROWS) AS us"
    rows = list(db.sql(of_query))
    assert len(rows) == 20 and all(n % 4 == 0 for n, _ in rows)
    db.sql("CREATE MATERIALIZED VIEW totals AS SELECT region, sum(amount) AS amount FROM orders GROUP BY region")
    assert len(list(db.sql("SELECT totals.region FROM totals TABLESAMPLE RESERVOIR (1 ROWS)"))) == 1
    db.sql("CREATE TABLE some AS SELECT * FROM orders TABLESAMPLE RESERVOIR (10 ROWS) REPEATABLE (3)")
    assert ids(db, "SELECT id FROM some") == ids(db, "SELECT id FROM orders TABLESAMPLE RESERVOIR (10 ROWS) REPEATABLE (3)")


def test_every_row_of_a_table_is_as_likely(db: Session) -> None:
    """Also where rows have left, and files are of different sizes."""
    db.insert("orders", [(2000, "EU", 0)])
    db.sql("DELETE FROM orders WHERE id % 2 = 0 AND id < 2000")
    counts = Counter(n for seed in range(400) for n in ids(db, f"{TAKEN} REPEATABLE ({seed})"))
    chance = 50 / 501
    assert set(counts) <= {n for n in range(1000) if n % 2} | {2000}
    assert all(abs(counts[n] - 400 * chance) < 6 * math.sqrt(400 * chance) for n in [*range(1, 1000, 2), 2000])


OF_QUERY = "SELECT id FROM (SELECT id FROM orders WHERE id % 50 = 7) TABLESAMPLE RESERVOIR (5 ROWS)"


def test_every_row_of_a_query_is_as_likely(db: Session) -> None:
    samples = [ids(db, OF_QUERY) for _ in range(200)]
    assert all(len(set(sample)) == 5 for sample in samples)
    counts = Counter(n for sample in samples for n in sample)
    assert set(counts) <= set(range(7, 1000, 50))
    assert all(abs(counts[n] - 50) < 6 * math.sqrt(50 * 0.75) for n in range(7, 1000, 50))


def test_many_rows_of_a_query_are_as_likely(db: Session) -> None:
    """By their mean: the first rows that Sail gives in an order by chance are not."""
    db.sql("CREATE TABLE many (id INT)")
    db.insert("many", pa.table({"id": pa.array(range(1_000_000), pa.int32())}))
    for _ in range(5):
        taken = ids(db, "SELECT id FROM (SELECT id FROM many WHERE id % 2 = 0) TABLESAMPLE RESERVOIR (2000 ROWS)")
        assert len(set(taken)) == 2000 and abs(sum(taken) / 2000 - 500_000) < 6 * 1_000_000 / math.sqrt(12 * 2000)


def test_where_too_few_rows_pass_more_are_drawn(db: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    for enough in ("ENOUGH", "ENOUGH_HERE"):
        monkeypatch.setattr(drawn, enough, 1)
    monkeypatch.setattr(drawn, "LEAST", 0)
    asked: list[str] = []
    arrow = Engine.arrow

    def counted(engine: Engine, text: str, *more: Any, **named: Any) -> pa.Table:
        asked.append(text)
        return arrow(engine, text, *more, **named)

    monkeypatch.setattr(Engine, "arrow", counted)
    assert len(ids(db, OF_QUERY)) == 5  # of the five first in a thousand, one in fifty would pass
    assert sum(drawn.KEY in text for text in asked) > 1
    assert len(ids(db, OF_QUERY.replace("% 50 = 7", "= 3"))) == 1
    assert ids(db, OF_QUERY.replace("id % 50 = 7", "id < 0")) == []


OF_WITH = "WITH us AS (SELECT id FROM orders WHERE region = 'US') SELECT id FROM us TABLESAMPLE RESERVOIR (20 ROWS) WHERE us.id >= 0"


def test_what_sail_cannot_draw_is_refused(db: Session) -> None:
    with pytest.raises(Unsupported, match="Sail repeats no sample of what a query computes"):
        ids(db, f"{OF_QUERY} REPEATABLE (7)")
    with pytest.raises(Unsupported, match="Sail takes no sample of what a WITH clause has named"):
        ids(db, OF_WITH)


def test_weights_scale_what_is_estimated(db: Session) -> None:
    query = "SELECT sum(_weight), max(_population), count(*) FROM orders TABLESAMPLE RESERVOIR (50 ROWS)"
    assert list(db.sql(query)) == [(pytest.approx(1000.0), 1000, 50)]
    estimates = [next(iter(db.sql(f"SELECT sum(amount * _weight) FROM orders TABLESAMPLE RESERVOIR (50 ROWS) REPEATABLE ({seed})")))[0]
                 for seed in range(60)]  # fmt: skip
    assert sum(estimates) / 60 == pytest.approx(sum(range(1000)), rel=0.05)
    db.sql("CREATE SAMPLE few ON orders SIZE 20")
    assert list(db.sql("SELECT sum(_weight), count(*) FROM few")) == [(pytest.approx(1000.0), 20)]
    assert list(db.sql("SELECT * FROM few").columns) == ["id", "region", "amount"]


def test_a_kept_sample_follows_its_table(db: Session) -> None:
    message = db.sql("CREATE SAMPLE some ON orders SIZE 100 WITH (seed = 5)").message
    assert message == "sample some created: 100 of 1000 rows"
    luck = random.Random(4)
    there, next_id = set(range(1000)), 1000
    for number in range(25):
        act = luck.random()
        if act < 0.5:
            count = luck.choice([1, 30, 300])
            db.insert("orders", [(n, "EU", n) for n in range(next_id, next_id + count)])
            there |= set(range(next_id, next_id + count))
            next_id += count
        elif act < 0.8:
            modulus = luck.choice([2, 3, 7])
            db.sql(f"DELETE FROM orders WHERE id % {modulus} = 1")
            there -= {n for n in there if n % modulus == 1}
        else:
            db.sql("UPDATE orders SET amount = amount + 1 WHERE id % 5 = 2")
        if luck.random() < 0.3:
            db.sql("VACUUM")
        if number % 3 == 0:
            rows = list(db.sql("SELECT some.id, some.amount, orders.amount FROM some JOIN orders ON some.id = orders.id"))
            assert len({row[0] for row in rows}) == len(rows) == min(100, len(there))
            assert all(own == now for _, own, now in rows)  # as they are now
            assert list(db.sql("SHOW SAMPLES"))[0][:5] == ("some", "orders", len(rows), 100, len(there))
    db.sql("DELETE FROM orders WHERE id >= 0")
    assert list(db.sql("SELECT * FROM some")) == []
    db.insert("orders", [(n, "EU", n) for n in range(10)])
    assert ids(db, "SELECT id FROM some") == list(range(10))


def test_a_kept_sample_is_uniform_after_it_has_grown_and_lost_rows(db: Session) -> None:
    for number in range(60):
        db.sql(f"CREATE SAMPLE s{number} ON orders SIZE 40 WITH (seed = {number})")
    db.insert("orders", [(n, "EU", n) for n in range(1000, 1500)])
    ids(db, "SELECT id FROM s0")  # one has seen less at a time than the others
    db.sql("DELETE FROM orders WHERE id % 2 = 0")
    db.insert("orders", [(n, "EU", n) for n in range(3001, 3501, 2)])
    counts = Counter(n for number in range(60) for n in ids(db, f"SELECT id FROM s{number}"))
    assert sum(counts.values()) == 60 * 40
    for group in (range(1, 1000, 2), range(1001, 1500, 2), range(3001, 3501, 2)):
        expected = 2400 * len(group) / 1000
        assert abs(sum(counts[n] for n in group) - expected) < 5 * math.sqrt(expected)


def test_a_sample_of_a_stream_is_of_all_that_ever_came(sail_db: Session) -> None:
    sail_db.sql("CREATE STREAM used (part INT) WITH (capacity = '100 rows', quiet = '0 seconds')")
    sail_db.insert("used", [(-1,)] * 10)
    assert "that come to used from now on" in sail_db.sql("CREATE SAMPLE some ON used SIZE 200").message
    for first in range(0, 4000, 40):
        sail_db.insert("used", [(n,) for n in range(first, first + 40)])
    parts = [row[0] for row in sail_db.sql("SELECT part FROM some")]
    assert len(set(parts)) == 200 and min(parts) >= 0
    assert 60 < sum(part < 2000 for part in parts) < 140
    assert list(sail_db.sql("SHOW SAMPLES")) == [("some", "used", 200, 200, 4000, "up to date")]
    assert list(sail_db.sql("SHOW STREAMS"))[0][1] < 300  # the ring did not wait for somebody to read
    few = list(sail_db.sql("SELECT part FROM used TABLESAMPLE RESERVOIR (5 ROWS)"))
    assert len(few) == 5 and all(part >= 3000 for (part,) in few)


def test_views_read_samples(db: Session) -> None:
    db.sql("CREATE SAMPLE some ON orders SIZE 100")
    db.sql("CREATE MATERIALIZED VIEW by_region AS SELECT region, count(*) AS n, max(id) AS last FROM some GROUP BY region")
    for number in range(5):
        db.insert("orders", [(n, "ASIA", n) for n in range(1000 + 500 * number, 1500 + 500 * number)])
        rows = list(db.sql("SELECT * FROM by_region"))
        assert sum(n for _, n, _ in rows) == 100
        assert sorted(rows) == sorted(db.sql("SELECT region, count(*) AS n, max(id) AS last FROM some GROUP BY region"))
    assert sorted(db.recompute("by_region")) == sorted(rows)
    with pytest.raises(QueryError, match='"some" is read by view "by_region"'):
        db.sql("DROP SAMPLE some")


def test_a_sample_outlives_its_session(tmp_path: Path, sail_db: Session) -> None:
    with slackwater.connect(tmp_path / "other", engine=sail_db.spark) as first:
        first.sql("CREATE TABLE t (id INT)")
        first.insert("t", [(n,) for n in range(500)])
        first.sql("CREATE SAMPLE s ON t SIZE 30")
        before = ids(first, "SELECT id FROM s")
    with slackwater.connect(tmp_path / "other", engine=sail_db.spark) as again:
        assert ids(again, "SELECT id FROM s") == before
        again.insert("t", [(n,) for n in range(500, 100_000)])
        after = ids(again, "SELECT id FROM s")
        assert len(after) == 30 and max(after) >= 500
        assert [row[1:] for row in again.sql("DESCRIBE s") if row[0] == "sample"][:5] == [
            ("rows", "30"), ("version", "2"), ("of", "t"), ("size", "30"), next(r[1:] for r in again.sql("DESCRIBE s") if r[1] == "seed"),
        ]  # fmt: skip
        assert again.sql("DROP SAMPLE s").message == "sample s dropped"
        again.sql("DROP TABLE t")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("CREATE SAMPLE s ON orders SIZE 0", "a sample of no rows"),
        ("CREATE SAMPLE s ON orders SIZE 99999999", "too large"),
        ("CREATE SAMPLE s ON orders SIZE many", "expected a number of rows"),
        ("CREATE SAMPLE s ON nothing SIZE 5", '"nothing" does not exist'),
        ("CREATE SAMPLE s ON totals SIZE 5", '"totals" is a view'),
        ("CREATE SAMPLE orders ON orders SIZE 5", 'there is already a table called "orders"'),
        ("CREATE SAMPLE s ON orders SIZE 5 WITH (seed = 'x')", "'x' is no seed"),
        ("CREATE SAMPLE s ON orders SIZE 5 WITH (sead = 7)", 'unknown option "sead"'),
        ("SELECT * FROM orders TABLESAMPLE RESERVOIR (0 ROWS)", "a sample of no rows"),
        ("SELECT * FROM orders TABLESAMPLE RESERVOIR (5 PERCENT)", "expected ROWS"),
        ("SELECT * FROM orders o TABLESAMPLE RESERVOIR (5 ROWS)", "nothing that could be sampled"),
        ("SELECT nope FROM orders TABLESAMPLE RESERVOIR (5 ROWS)", "nope"),
        ("INSERT INTO kept VALUES (1, 'EU', 1)", '"kept" is a sample'),
        ("DELETE FROM kept WHERE id = 1", '"kept" is a sample'),
        ("DROP TABLE kept", '"kept" is a sample'),
        ("DROP TABLE orders", 'is read by view "totals"'),
        ("CREATE SAMPLE s ON kept SIZE 5", '"kept" is a sample'),
    ],
)
def test_nonsense_is_refused_and_nothing_else_is_affected(db: Session, text: str, told: str) -> None:
    db.sql("CREATE MATERIALIZED VIEW totals AS SELECT region, sum(amount) AS amount FROM orders GROUP BY region")
    db.sql("CREATE SAMPLE kept ON orders SIZE 5")
    with pytest.raises(SlackwaterError, match=told):
        list(db.sql(text))
    assert len(list(db.sql("SELECT * FROM kept"))) == 5 and len(list(db.sql("SELECT * FROM totals"))) == 2


def test_a_table_is_not_dropped_below_its_samples(db: Session) -> None:
    db.sql("CREATE SAMPLE kept ON orders SIZE 5")
    with pytest.raises(QueryError, match='"orders" is sampled by "kept"'):
        db.sql("DROP TABLE orders")


def test_a_view_takes_no_sample_of_its_own(db: Session) -> None:
    text = "CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM orders TABLESAMPLE RESERVOIR (5 ROWS)"
    with pytest.raises(Unsupported, match="takes other rows each time") as refused:
        db.sql(text)
    assert refused.value.hint is not None and "CREATE SAMPLE" in refused.value.hint
    assert refused.value.place is not None and text[refused.value.place.start :].startswith("TABLESAMPLE")
