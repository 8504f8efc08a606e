"""A plan as one Spark SQL statement.

Each node becomes a SELECT over its inputs; a subplan that occurs more than once becomes a named `WITH` entry. Relations keep the names
they have in the scans, so the text can be read, compared in a test without a JVM, and run on any engine that speaks Spark SQL.
"""

from __future__ import annotations

from collections import Counter

from sqlglot import exp

from slackwater.plan.nodes import (
    Aggregate,
    Column,
    Expression,
    Few,
    Filter,
    Generate,
    Join,
    Limit,
    Node,
    Output,
    Project,
    Scan,
    Union,
    Values,
    Window,
    column,
)

JOIN_WORDS = {"inner": "JOIN", "left": "LEFT JOIN", "full": "FULL JOIN", "semi": "LEFT SEMI JOIN", "anti": "LEFT ANTI JOIN"}


def render(plan: Node, prefix: str = "") -> str:
    """The statement whose rows are the plan's, with the plan's column names. `prefix` comes before the name of every relation."""
    return _Renderer(plan, prefix).statement()


def sql(expression: Expression) -> str:
    """A scalar expression as Spark SQL."""
    return expression.sql(dialect="spark", identify=False, comments=False)


def quote(name: str) -> str:
    """A name, in backticks unless it is plain."""
    return (
        name if name.isidentifier() and name.isascii() and name == name.lower() and name not in _WORDS else f"`{name.replace('`', '``')}`"
    )


# Words that cannot stand bare as a name.
_WORDS = frozenset(
    """all and anti any array as between both by case cast cross current date desc distinct else end except exists false filter for from
    full group having in inner intersect interval into is join lateral left like limit map minus natural not null of on only or order outer
    over right row rows select semi set some struct table then time timestamp to top true union unique unknown user using values when where
    window with""".split()
)


class _Renderer:
    """Renders one plan: knows which subplans are shared and what they were called."""

    def __init__(self, plan: Node, prefix: str) -> None:
        self.plan = plan
        self.prefix = prefix
        counts: Counter[Node] = Counter()
        self._count(plan, counts)
        self.shared = {node for node, count in counts.items() if count > 1 and not isinstance(node, Scan | Values)}
        self.named: dict[Node, str] = {}
        self.entries: list[str] = []

    def _count(self, node: Node, counts: Counter[Node]) -> None:
        counts[node] += 1
        if counts[node] == 1:
            for below in node.inputs:
                self._count(below, counts)

    def statement(self) -> str:
        body = self.select(self.plan)
        if not self.entries:
            return body
        return "WITH " + ",\n".join(self.entries) + "\n" + body

    def relation(self, node: Node) -> str:
        """A node as something that can stand behind FROM."""
        if node in self.shared:
            return quote(self.name_of(node))
        if isinstance(node, Scan) and node.source == node.names:
            return quote(self.prefix + node.relation)
        return "(\n" + _indent(self.select(node)) + "\n)"

    def name_of(self, node: Node) -> str:
        if node not in self.named:
            body = self.select(node)
            name = f"part_{len(self.named) + 1}"
            self.named[node] = name
            self.entries.append(f"{name} AS (\n{_indent(body)}\n)")
        return self.named[node]

    def select(self, node: Node) -> str:
        method = getattr(self, "_" + type(node).__name__.lower())
        text: str = method(node)
        return text

    def _scan(self, node: Scan) -> str:
        parts = [_named(quote(source), column.name, source) for source, column in zip(node.source, node.outputs, strict=True)]
        return f"SELECT {', '.join(parts) or '1 AS nothing'} FROM {quote(self.prefix + node.relation)}"

    def _values(self, node: Values) -> str:
        if not node.outputs:
            return "SELECT 1 AS nothing" if len(node.rows) == 1 else "SELECT 1 AS nothing WHERE false"
        if not node.rows:
            return f"SELECT {', '.join(f'CAST(NULL AS {c.type}) AS {quote(c.name)}' for c in node.outputs)} WHERE false"
        return "\nUNION ALL ".join(
            "SELECT " + ", ".join(f"{sql(value)} AS {quote(column.name)}" for value, column in zip(row, node.outputs, strict=True))
            for row in node.rows
        )

    def _filter(self, node: Filter) -> str:
        if isinstance(node.input, Join) and node.input not in self.shared:
            return f"{self._join(node.input)}\nWHERE {sql(node.condition)}"
        if isinstance(node.input, Scan):
            return f"{self._scan(node.input)}\nWHERE {sql(_as_there(node.condition, node.input))}"
        return f"SELECT {_list(node.columns)} FROM {self.relation(node.input)}\nWHERE {sql(node.condition)}"

    def _project(self, node: Project) -> str:
        source, outputs, condition = node.input, node.outputs, None
        if isinstance(source, Filter) and source not in self.shared:
            condition = source.condition
            source = source.input
        if isinstance(source, Scan):
            # A level of its own, only to rename, is work for whoever reads the statement.
            outputs = tuple(Output(output.column, _as_there(output.expression, source)) for output in outputs)
            condition = None if condition is None else _as_there(condition, source)
        listed = ", ".join(_output(output) for output in outputs) or "1 AS nothing"
        where = "" if condition is None else f"\nWHERE {sql(condition)}"
        if isinstance(source, Scan):
            return f"SELECT {listed} FROM {quote(self.prefix + source.relation)}{where}"
        if isinstance(source, Join) and source.kind not in ("semi", "anti") and source not in self.shared:
            return f"SELECT {listed}\nFROM {self._join_body(source)}{where}"
        return f"SELECT {listed} FROM {self.relation(source)}{where}"

    def _few(self, node: Few) -> str:
        return f"SELECT /*+ BROADCAST(few) */ {_list(node.columns)} FROM {self.relation(node.input)} AS few"

    def _join(self, node: Join) -> str:
        return f"SELECT {_list(node.columns)}\nFROM {self._join_body(node)}"

    def _join_body(self, node: Join) -> str:
        left = (
            self._join_body(node.left)
            if isinstance(node.left, Join) and node.left not in self.shared and node.left.kind not in ("semi", "anti")
            else self.relation(node.left)
        )
        word = JOIN_WORDS[node.kind]
        if node.condition is None:
            # An inner join without a condition says so, or an engine may take it for a slip; the others demand one.
            return (
                f"{left}\nCROSS JOIN {self.relation(node.right)}"
                if node.kind == "inner"
                else f"{left}\n{word} {self.relation(node.right)} ON true"
            )
        return f"{left}\n{word} {self.relation(node.right)} ON {sql(node.condition)}"

    def _union(self, node: Union) -> str:
        return "\nUNION ALL\n".join(self._branch(branch, node if place == 0 else None) for place, branch in enumerate(node.branches))

    def _branch(self, branch: Node, first_of: Union | None) -> str:
        """A branch of a union, which takes its names from the first one."""
        named = branch.names if first_of is None else first_of.names
        if branch.names == named and branch not in self.shared and not isinstance(branch, Limit):
            return self.select(branch)
        outputs = ", ".join(_named(quote(name), wanted, name) for name, wanted in zip(branch.names, named, strict=True))
        return f"SELECT {outputs or '1 AS nothing'} FROM {self.relation(branch)}"

    def _aggregate(self, node: Aggregate) -> str:
        outputs = [quote(key) for key in node.keys] + [_output(measure) for measure in node.measures]
        group = f"\nGROUP BY {', '.join(quote(key) for key in node.keys)}" if node.keys else ""
        return f"SELECT {', '.join(outputs)} FROM {self.relation(node.input)}{group}"

    def _window(self, node: Window) -> str:
        outputs = [quote(name) for name in node.input.names] + [_output(function) for function in node.functions]
        return f"SELECT {', '.join(outputs)} FROM {self.relation(node.input)}"

    def _limit(self, node: Limit) -> str:
        text = f"SELECT {_list(node.columns)} FROM {self.relation(node.input)}"
        if node.order:
            text += f"\nORDER BY {', '.join(sql(key) for key in node.order)}"
        if node.count is not None:
            text += f"\nLIMIT {node.count}"
        if node.offset:
            text += f"\nOFFSET {node.offset}"
        return text

    def _generate(self, node: Generate) -> str:
        outer = "OUTER " if node.outer else ""
        names = ", ".join(quote(column.name) for column in (node.position, *node.outputs))
        source = f"SELECT {_list(node.columns)} FROM {self.relation(node.input)}"
        return f"{source}\nLATERAL VIEW {outer}posexplode({sql(node.generator)}) g AS {names}"


def _as_there(expression: Expression, scan: Scan) -> Expression:
    """An expression over a scan's columns in the relation's own names."""
    there = dict(zip(scan.names, scan.source, strict=True))
    return expression.transform(lambda node: column(there[node.name]) if isinstance(node, exp.Column) else node)


def _output(output: Output) -> str:
    text = sql(output.expression)
    plain = isinstance(output.expression, exp.Column) and output.expression.name == output.name
    return quote(output.name) if plain else f"{text} AS {quote(output.name)}"


def _named(text: str, name: str, plain: str) -> str:
    return text if name == plain else f"{text} AS {quote(name)}"


def _list(columns: tuple[Column, ...]) -> str:
    return ", ".join(quote(column.name) for column in columns) or "1 AS nothing"


def _indent(text: str) -> str:
    return "\n".join("  " + line for line in text.split("\n"))
