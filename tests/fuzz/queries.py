"""Random queries over every operator that is maintained incrementally.

What a query leaves open, two runs may answer differently, so nothing is left open: a LIMIT orders by every output column, a row number by
every column in scope, collected values are sorted. Every output column has a name of its own, c1, c2, ...
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from tests.cases import Table
from tests.fuzz.scalars import LITERALS, NUMBERS, Field, Scalars, Scope, family

JOINS = {
    "JOIN": 8, "LEFT JOIN": 5, "RIGHT JOIN": 2, "FULL JOIN": 3, "LEFT SEMI JOIN": 3, "LEFT ANTI JOIN": 3, "CROSS JOIN": 1,
}  # fmt: skip
SHAPES = {"project": 7, "aggregate": 9, "distinct": 2, "window": 3, "subselect": 2}
SET_OPERATIONS = ("UNION ALL", "UNION", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL")
# What Sail itself computes wrongly is not drawn there; docs/sail.md has an example of each.
WRONG_ON_SAIL = ("INTERSECT ALL", "ROLLUP", "CUBE", "GROUPING SETS with ()")
SORTABLE = tuple(type_ for type_ in LITERALS if type_ != "array")


@dataclass(frozen=True)
class Query:
    """A query's text and the names and families of its columns."""

    text: str
    columns: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Relation:
    """Something that can stand behind FROM."""

    name: str
    columns: tuple[tuple[str, str], ...]


def relation_of(table: Table) -> Relation:
    return Relation(table.name, tuple((name, family(type_)) for name, type_ in table.columns))


class Queries:
    """Draws queries over relations."""

    def __init__(self, random: Random, relations: Sequence[Relation], engine: str) -> None:
        self.random = random
        self.avoided = WRONG_ON_SAIL if engine == "sail" else ()
        self.relations = list(relations)
        self.scalars = Scalars(random, engine)
        self.aliases = 0

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def alias(self) -> str:
        self.aliases += 1
        return f"x{self.aliases}"

    # Whole queries.

    def query(self, depth: int = 2) -> Query:
        """Any query; `depth` is how many levels of nesting it may still have."""
        roll = self.random.random()
        if roll < 0.12:
            return self.set_operation(depth - 1)
        if roll < 0.22:
            return self.limited(depth)
        if roll < 0.29 and depth > 0:
            return self.with_named(depth - 1)
        return self.select(depth)

    def select(self, depth: int) -> Query:
        source, scope = self.sources(depth)
        where = self.where(scope, depth)
        shape = self.random.choices(list(SHAPES), list(SHAPES.values()))[0]
        make = {
            "project": self.project,
            "aggregate": self.aggregate,
            "distinct": self.distinct,
            "window": self.window,
            "subselect": self.subselect,
        }
        return make[shape](f"FROM {source}{where}", scope)

    def set_operation(self, depth: int) -> Query:
        types = [
            self.random.choice([type_ for type_ in LITERALS if type_ not in ("array", "decimal")]) for _ in range(self.random.randint(1, 3))
        ]
        left, right = self.shaped(types, depth), self.shaped(types, depth)
        operation = self.random.choice([each for each in SET_OPERATIONS if each not in self.avoided])
        return Query(f"{left.text}\n{operation}\n{right.text}", left.columns)

    def shaped(self, types: Sequence[str], depth: int) -> Query:
        """A query with columns of these families."""
        source, scope = self.sources(depth)
        columns = tuple((f"c{at}", type_) for at, type_ in enumerate(types, 1))
        outputs = ", ".join(f"{self.scalars.of(type_, scope)} AS {name}" for name, type_ in columns)
        return Query(f"SELECT {outputs} FROM {source}{self.where(scope, 0)}", columns)

    def limited(self, depth: int) -> Query:
        inner = self.select(depth)
        if any(type_ == "array" for _, type_ in inner.columns):
            return inner
        order = ", ".join(
            f"{name} {self.random.choice(['ASC', 'DESC', 'ASC NULLS LAST', 'DESC NULLS FIRST'])}" for name, _ in inner.columns
        )
        offset = f" OFFSET {self.random.randint(1, 2)}" if self.chance(0.2) else ""
        return Query(f"{inner.text}\nORDER BY {order} LIMIT {self.random.randint(1, 5)}{offset}", inner.columns)

    def with_named(self, depth: int) -> Query:
        """A named query, read once or twice below."""
        inner = self.query(depth)
        name = f"q{self.alias()}"
        self.relations.append(Relation(name, inner.columns))
        left, right = self.alias(), self.alias()
        scope = [Field(f"{left}.{column}", type_) for column, type_ in inner.columns]
        source = f"{name} {left}"
        other = [Field(f"{right}.{column}", type_) for column, type_ in inner.columns]
        condition = self.scalars.join_condition(scope, other)
        if condition is not None and self.chance(0.6):
            source += f" JOIN {name} {right} ON {condition}"
            scope += other
        body = (self.aggregate if self.chance(0.4) else self.project)(f"FROM {source}", scope)
        self.relations.pop()
        return Query(f"WITH {name} AS (\n{inner.text}\n)\n{body.text}", body.columns)

    # FROM.

    def source(self, depth: int) -> tuple[str, list[Field]]:
        alias = self.alias()
        if depth > 0 and self.chance(0.25):
            inner = self.query(depth - 1)
            return f"(\n{inner.text}\n) {alias}", [Field(f"{alias}.{name}", type_) for name, type_ in inner.columns]
        relation = self.random.choice(self.relations)
        return f"{relation.name} {alias}", [Field(f"{alias}.{name}", type_) for name, type_ in relation.columns]

    def sources(self, depth: int) -> tuple[str, list[Field]]:
        """One to three inputs, joined, and perhaps the elements of an array."""
        text, scope = self.source(depth)
        for _ in range(self.random.choices([0, 1, 2], [5, 4, 1])[0]):
            text, scope = self.joined(text, scope, depth)
        array = self.scalars.pick(scope, "array")
        if array is not None and self.chance(0.5):
            alias = self.alias()
            text += f" LATERAL VIEW {self.random.choice(['', 'OUTER '])}explode({array.text}) {alias} AS e"
            scope = [*scope, Field(f"{alias}.e", "int")]
        return text, scope

    def joined(self, text: str, scope: list[Field], depth: int) -> tuple[str, list[Field]]:
        kind = self.random.choices(list(JOINS), list(JOINS.values()))[0]
        right, other = self.source(depth - 1)
        condition = None if kind == "CROSS JOIN" else self.scalars.join_condition(scope, other)
        if condition is None:
            return f"{text} CROSS JOIN {right}", scope + other
        return f"{text} {kind} {right} ON {condition}", scope if "SEMI" in kind or "ANTI" in kind else scope + other

    # WHERE.

    def where(self, scope: Scope, depth: int) -> str:
        tests = [self.scalars.condition(scope)] if self.chance(0.45) else []
        if depth > 0 and self.chance(0.3):
            tests.append(self.subquery_test(scope))
        return f"\nWHERE {' AND '.join(tests)}" if tests else ""

    def subquery_test(self, scope: Scope) -> str:
        """EXISTS, IN, or a comparison with one number."""
        relation, alias = self.random.choice(self.relations), self.alias()
        inner = [Field(f"{alias}.{name}", type_) for name, type_ in relation.columns]
        pair = self.scalars.matched(scope, inner)
        if pair is None:
            return f"EXISTS (SELECT 1 FROM {relation.name} {alias} WHERE {self.scalars.condition(inner, 0)})"
        outer, own = pair
        test = f" AND {self.scalars.condition(inner, 0)}" if self.chance(0.4) else ""
        roll = self.random.random()
        if roll < 0.4:
            return f"{self.random.choice(['', 'NOT '])}EXISTS (SELECT 1 FROM {relation.name} {alias} WHERE {own.text} = {outer.text}{test})"
        if roll < 0.7:
            where = f" WHERE {test.removeprefix(' AND ')}" if test else ""
            return f"{outer.text} {self.random.choice(['IN', 'NOT IN'])} (SELECT {own.text} FROM {relation.name} {alias}{where})"
        return self.scalar_test(scope, relation, alias, inner)

    def scalar_test(self, scope: Scope, relation: Relation, alias: str, inner: list[Field]) -> str:
        number, compared = self.scalars.pick(inner, "int", "bigint"), self.scalars.pick(scope, "int", "bigint")
        if number is None or compared is None:
            return f"EXISTS (SELECT 1 FROM {relation.name} {alias})"
        function = self.random.choice(
            [f"max({number.text})", f"min({number.text})", f"avg({number.text})", "count(*)", f"sum({number.text})"]
        )
        pair = self.scalars.matched(scope, inner)
        where = f" WHERE {pair[1].text} = {pair[0].text}" if pair is not None and self.chance(0.6) else ""
        return f"{compared.text} {self.random.choice(['<', '>=', '='])} (SELECT {function} FROM {relation.name} {alias}{where})"

    # SELECT.

    def project(self, rest: str, scope: Scope) -> Query:
        return self.outputs("SELECT", rest, scope)

    def distinct(self, rest: str, scope: Scope) -> Query:
        return self.outputs("SELECT DISTINCT", rest, scope)

    def outputs(self, word: str, rest: str, scope: Scope) -> Query:
        columns = []
        texts = []
        for at in range(1, self.random.randint(1, 4) + 1):
            type_ = self.random.choice(scope).type
            columns.append((f"c{at}", type_))
            texts.append(f"{self.scalars.of(type_, scope)} AS c{at}")
        return Query(f"{word} {', '.join(texts)}\n{rest}", tuple(columns))

    def subselect(self, rest: str, scope: Scope) -> Query:
        """A projection with a scalar subquery beside a column."""
        relation, alias = self.random.choice(self.relations), self.alias()
        inner = [Field(f"{alias}.{name}", type_) for name, type_ in relation.columns]
        shown, pair = self.random.choice(scope), self.scalars.matched(scope, inner)
        number = self.scalars.pick(inner, "int", "bigint")
        function = self.random.choice(["count(*)", f"max({number.text})", f"sum({number.text})"]) if number is not None else "count(*)"
        where = f" WHERE {pair[1].text} = {pair[0].text}" if pair is not None and self.chance(0.7) else ""
        text = f"SELECT {shown.text} AS c1, (SELECT {function} FROM {relation.name} {alias}{where}) AS c2\n{rest}"
        return Query(text, (("c1", shown.type), ("c2", "bigint" if "max" not in function or number is None else number.type)))

    def aggregate(self, rest: str, scope: Scope) -> Query:
        keys = self.random.sample(list(scope), min(len(scope), self.random.choice([0, 1, 1, 1, 2, 2])))
        measures = [self.measure(scope) for _ in range(self.random.randint(1, 3))]
        columns = [(f"c{at}", type_) for at, type_ in enumerate([key.type for key in keys] + [type_ for _, type_ in measures], 1)]
        texts = [key.text for key in keys] + [text for text, _ in measures]
        outputs = ", ".join(f"{text} AS {name}" for text, (name, _) in zip(texts, columns, strict=True))
        having = f"\nHAVING {self.having(scope)}" if self.chance(0.25) else ""
        return Query(f"SELECT {outputs}\n{rest}{self.grouping([key.text for key in keys])}{having}", tuple(columns))

    def grouping(self, keys: list[str]) -> str:
        if not keys:
            return ""
        listed = ", ".join(keys)
        if self.chance(0.83):
            return f"\nGROUP BY {listed}"
        sets = f"({listed}), ({keys[0]})"
        forms = {
            "ROLLUP": f"ROLLUP ({listed})",
            "CUBE": f"CUBE ({listed})",
            "GROUPING SETS with ()": f"GROUPING SETS ({sets}, ())",
            "GROUPING SETS": f"GROUPING SETS ({sets})",
        }
        return f"\nGROUP BY {self.random.choice([text for name, text in forms.items() if name not in self.avoided])}"

    def having(self, scope: Scope) -> str:
        number = self.scalars.pick(scope, "int", "bigint")
        if number is None or self.chance(0.5):
            return f"count(*) {self.random.choice(['>', '<=', '='])} {self.random.randint(1, 2)}"
        return f"{self.random.choice(['max', 'min', 'sum'])}({number.text}) {self.random.choice(['>', '<='])} {self.random.randint(0, 3)}"

    def measure(self, scope: Scope) -> tuple[str, str]:
        """An aggregate and its family."""
        anything = self.random.choice(scope)
        number = self.scalars.pick(scope, *NUMBERS)
        sortable = self.scalars.pick(scope, *SORTABLE)
        forms = [("count(*)", "bigint"), (f"count({anything.text})", "bigint")]
        if sortable is not None:
            forms += [(f"{name}({sortable.text})", sortable.type) for name in ("min", "max")]
            forms += [
                (f"count(DISTINCT {sortable.text})", "bigint"),
                (f"count(DISTINCT {sortable.text}) FILTER (WHERE {self.scalars.condition(scope, 0)})", "bigint"),
            ]
            forms += [(f"sort_array(collect_list({sortable.text}))", "listed"), (f"sort_array(collect_set({sortable.text}))", "listed")]
        if number is not None:
            forms += self.sums(number, scope)
        whole = self.scalars.pick(scope, "int")
        if whole is not None:
            forms += [(f"{name}({whole.text})", "int") for name in ("bit_and", "bit_or", "bit_xor")]
        truth = self.scalars.pick(scope, "boolean")
        if truth is not None:
            forms += [(f"bool_and({truth.text})", "boolean"), (f"bool_or({truth.text})", "boolean"), (f"count_if({truth.text})", "bigint")]
        text, type_ = self.random.choice(forms)
        # An array of anything can be shown, but not used further.
        return (f"CAST({text} AS STRING)", "string") if type_ == "listed" else (text, type_)

    def sums(self, number: Field, scope: Scope) -> list[tuple[str, str]]:
        total = {"int": "bigint", "bigint": "bigint", "decimal": "decimal", "double": "double"}[number.type]
        forms = [(f"sum({number.text})", total)] * 3
        forms += [(f"sum({number.text}) FILTER (WHERE {self.scalars.condition(scope, 0)})", total), (f"sum(DISTINCT {number.text})", total)]
        if number.type != "decimal":
            forms += [(f"{name}({number.text})", "double") for name in ("avg", "avg", "stddev", "var_pop", "median")]
            forms += [(f"percentile({number.text}, 0.25)", "double"), (f"corr({number.text}, {number.text} + 1)", "double")]
        return forms

    def window(self, rest: str, scope: Scope) -> Query:
        keys = self.random.sample(list(scope), self.random.choice([1, 1, 2]) if len(scope) > 1 else 1)
        sortable = [field for field in scope if field.type in SORTABLE]
        if not sortable:
            return self.project(rest, scope)
        # Arrays take no part in the order, so rows that differ only in one would not be interchangeable.
        shown = self.random.sample(sortable, min(len(sortable), 2))
        functions = [self.windowed(keys, sortable) for _ in range(self.random.choice([1, 1, 2]))]
        texts = [field.text for field in shown] + [text for text, _ in functions]
        types = [field.type for field in shown] + [type_ for _, type_ in functions]
        columns = tuple((f"c{at}", type_) for at, type_ in enumerate(types, 1))
        outputs = ", ".join(f"{text} AS {name}" for text, (name, _) in zip(texts, columns, strict=True))
        return Query(f"SELECT {outputs}\n{rest}", columns)

    def windowed(self, keys: list[Field], sortable: list[Field]) -> tuple[str, str]:
        """A window function. Where the order decides, it is total: equal rows are interchangeable."""
        partition = f"PARTITION BY {', '.join(key.text for key in keys)}"
        first = self.random.choice(sortable)
        others = [field.text for field in sortable if field != first]
        total = f"{partition} ORDER BY {', '.join([first.text + self.random.choice(['', ' DESC']), *others])}"
        number = self.scalars.pick(sortable, "int", "bigint")
        forms = [
            (f"row_number() OVER ({total})", "int"),
            (f"rank() OVER ({partition} ORDER BY {first.text} DESC)", "int"),
            (f"dense_rank() OVER ({partition} ORDER BY {first.text})", "int"),
            (f"count(*) OVER ({partition})", "bigint"),
            (f"lag({first.text}) OVER ({total})", first.type),
            (f"lead({first.text}) OVER ({total})", first.type),
            (f"max({first.text}) OVER ({partition})", first.type),
            (f"ntile(2) OVER ({total})", "int"),
        ]
        if number is not None:
            forms += [
                (f"sum({number.text}) OVER ({partition})", "bigint"),
                (f"sum({number.text}) OVER ({partition} ORDER BY {first.text})", "bigint"),
                (f"sum({number.text}) OVER ({total} ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)", "bigint"),
            ]
        return self.random.choice(forms)
