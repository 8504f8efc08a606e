"""The relational nodes.

A node is data: frozen, checked when it is built, equal to another when it means the same. Scalar expressions are sqlglot's own.

Within one plan every column name stands for one thing: each scan and each projection gives its columns names that nothing else in
the plan has, so expressions name columns bare, joins never clash, and a subplan can be moved without renaming. Names that a user
sees are put on at the very end.

Rows are bags: equal rows count as often as they occur.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import ClassVar

from sqlglot import exp

from slackwater.errors import InternalError

Expression = exp.Expr

JOIN_KINDS = ("inner", "left", "full", "semi", "anti")


@dataclass(frozen=True)
class Column:
    """A column: its name in the plan and its type as Spark writes it, such as `decimal(12,2)`."""

    name: str
    type: str


@dataclass(frozen=True)
class Output:
    """A column and the expression that gives its value."""

    column: Column
    expression: Expression

    @property
    def name(self) -> str:
        return self.column.name


@dataclass(frozen=True)
class Node:
    """The base: inputs, columns, and how to rebuild with other inputs."""

    input_fields: ClassVar[tuple[str, ...]] = ("input",)

    @property
    def columns(self) -> tuple[Column, ...]:
        raise NotImplementedError

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return tuple(getattr(self, field) for field in self.input_fields)

    def with_inputs(self, *inputs: Node) -> Node:
        """This node over other inputs; itself when they are the same ones."""
        pairs = list(zip(inputs, self.inputs, strict=True))
        if all(new is old for new, old in pairs):
            return self
        changed = dict(zip(self.input_fields, inputs, strict=True))
        if any(new.names != old.names for new, old in pairs):
            return replace(self, **changed)
        node = object.__new__(type(self))  # what is checked when a node is built has been: that takes most of the time to build it
        vars(node).update({field.name: getattr(self, field.name) for field in fields(self)} | changed)
        return node

    def transform(self, change: Callable[[Node], Node]) -> Node:
        """Rebuild bottom-up: `change` sees each node after its inputs were changed."""
        return change(self.with_inputs(*(node.transform(change) for node in self.inputs)))

    def walk(self) -> Iterator[Node]:
        """This node and all below it, top-down."""
        left: list[Node] = [self]
        while left:
            node = left.pop()
            yield node
            left.extend(reversed(node.inputs))

    def expressions(self) -> Iterator[Expression]:
        """The scalar expressions this node itself holds."""
        for field in fields(self):
            yield from _expressions(getattr(self, field.name))

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((type(self).__name__, *(getattr(self, field.name) for field in fields(self))))

    def _check(self, condition: bool, problem: str) -> None:
        if not condition:
            raise InternalError(f"{type(self).__name__.lower()}: {problem}")

    def _check_uses(self, expressions: Iterable[Expression], *inputs: Node) -> None:
        known = {name for node in inputs for name in node.names}
        for expression in expressions:
            missing = columns_in(expression) - known
            self._check(not missing, f"uses columns its input lacks: {', '.join(sorted(missing))}")

    def _check_distinct_names(self) -> None:
        self._check(len(set(self.names)) == len(self.names), f"two columns have one name: {', '.join(self.names)}")


@dataclass(frozen=True)
class Scan(Node):
    """The rows of a named relation. `source[i]` is what the relation calls the column that the plan calls `columns[i]`."""

    input_fields: ClassVar[tuple[str, ...]] = ()
    relation: str
    source: tuple[str, ...]
    outputs: tuple[Column, ...]

    def __post_init__(self) -> None:
        self._check(len(self.source) == len(self.outputs), "one source name per column")
        self._check_distinct_names()

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.outputs

    __hash__ = Node.__hash__


@dataclass(frozen=True)
class Values(Node):
    """Rows written out in the text. `SELECT 1` reads `Values` with one row and no columns."""

    input_fields: ClassVar[tuple[str, ...]] = ()
    rows: tuple[tuple[Expression, ...], ...]
    outputs: tuple[Column, ...]

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.outputs

    __hash__ = Node.__hash__


@dataclass(frozen=True)
class Filter(Node):
    """Keep the rows for which `condition` is true."""

    input: Node
    condition: Expression

    def __post_init__(self) -> None:
        self._check_uses([self.condition], self.input)

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.input.columns

    __hash__ = Node.__hash__


@dataclass(frozen=True)
class Project(Node):
    """Compute each output from the row."""

    input: Node
    outputs: tuple[Output, ...]

    def __post_init__(self) -> None:
        self._check_uses((output.expression for output in self.outputs), self.input)
        self._check_distinct_names()

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(output.column for output in self.outputs)

    __hash__ = Node.__hash__


@dataclass(frozen=True)
class Join(Node):
    """Pairs of rows for which `condition` is true (always, when it is None).

    `left` keeps left rows without a partner, `full` those of both sides; `semi` gives left rows that have a partner, `anti` left rows
    that have none. A right join is a left join with its sides exchanged: columns are found by name, so their order does not matter.
    """

    input_fields: ClassVar[tuple[str, ...]] = ("left", "right")
    left: Node
    right: Node
    kind: str = "inner"
    condition: Expression | None = None

    def __post_init__(self) -> None:
        self._check(self.kind in JOIN_KINDS, f"unknown kind {self.kind}")
        clash = set(self.left.names) & set(self.right.names)
        self._check(not clash, f"both sides have {', '.join(sorted(clash))}")
        if self.condition is not None:
            self._check_uses([self.condition], self.left, self.right)

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.left.columns if self.kind in ("semi", "anti") else self.left.columns + self.right.columns

    __hash__ = Node.__hash__


@dataclass(frozen=True)
class Few(Node):
    """The same rows, of which there are so few that a join should carry them to the other side's."""

    input_fields: ClassVar[tuple[str, ...]] = ("input",)
    input: Node

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.input.columns

    __hash__ = Node.__hash__


@dataclass(frozen=True)
class Union(Node):
    """All rows of all branches (UNION ALL). Column i of the result is column i of every branch."""

    branches: tuple[Node, ...]
    outputs: tuple[Column, ...]

    def __post_init__(self) -> None:
        self._check(len(self.branches) > 0, "needs a branch")
        self._check(all(len(branch.names) == len(self.outputs) for branch in self.branches), "branches differ in their number of columns")
        self._check_distinct_names()

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.branches

    def with_inputs(self, *inputs: Node) -> Node:
        return self if all(a is b for a, b in zip(inputs, self.branches, strict=True)) else replace(self, branches=inputs)

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.outputs

    __hash__ = Node.__hash__


@dataclass(frozen=True)
class Aggregate(Node):
    """One row per distinct combination of `keys`; without keys always exactly one row.

    Keys are columns of the input and keep their names. Each measure is one call of an aggregate function over input columns, with its
    DISTINCT and FILTER if it has them; what is computed from several of them stands in a projection above. No measures: DISTINCT.
    """

    input: Node
    keys: tuple[str, ...]
    measures: tuple[Output, ...]

    def __post_init__(self) -> None:
        self._check(set(self.keys) <= set(self.input.names), "keys must be columns of the input")
        self._check_uses((measure.expression for measure in self.measures), self.input)
        self._check_distinct_names()

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        by_name = {column.name: column for column in self.input.columns}
        return tuple(by_name[key] for key in self.keys) + tuple(measure.column for measure in self.measures)

    __hash__ = Node.__hash__


@dataclass(frozen=True)
class Window(Node):
    """The input's columns, and window functions that all share the partition keys `keys`.

    Each function is a complete `exp.Window`: function, PARTITION BY, ORDER BY, frame.
    """

    input: Node
    keys: tuple[str, ...]
    functions: tuple[Output, ...]

    def __post_init__(self) -> None:
        self._check(set(self.keys) <= set(self.input.names), "keys must be columns of the input")
        self._check_uses((function.expression for function in self.functions), self.input)
        self._check_distinct_names()

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.input.columns + tuple(function.column for function in self.functions)

    __hash__ = Node.__hash__


@dataclass(frozen=True)
class Limit(Node):
    """The first `count` rows after `offset`, in the given order (any rows, when the order leaves a choice)."""

    input: Node
    order: tuple[exp.Ordered, ...]
    count: int | None
    offset: int = 0

    def __post_init__(self) -> None:
        self._check_uses(self.order, self.input)
        self._check(self.count is not None or self.offset > 0, "needs a count or an offset")

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.input.columns

    __hash__ = Node.__hash__


@dataclass(frozen=True)
class Generate(Node):
    """One row per element of an array or entry of a map: the input's columns, the element's `position` from 0, and its value(s).

    `outer` keeps a row whose array is NULL or empty, with NULLs. A map gives two outputs, key and value.
    """

    input: Node
    generator: Expression
    position: Column
    outputs: tuple[Column, ...]
    outer: bool = False

    def __post_init__(self) -> None:
        self._check_uses([self.generator], self.input)
        self._check(len(self.outputs) in (1, 2), "gives one column, or two for a map")
        self._check_distinct_names()

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.input.columns + (self.position,) + self.outputs

    __hash__ = Node.__hash__


def column(name: str) -> exp.Column:
    """A reference to the plan's column `name`."""
    return exp.column(exp.to_identifier(name, quoted=True))


def columns_in(expression: Expression) -> set[str]:
    """The names of the plan's columns that an expression uses. A lambda's own variables are not among them."""
    found, left = set(), [expression]  # not by `find_all`: planning a flush asks this a thousand times
    while left:
        each = left.pop()
        if isinstance(each, exp.Column):
            found.add(each.name)
        else:
            for part in each.args.values():
                if isinstance(part, list):
                    left += [one for one in part if isinstance(one, Expression)]
                elif isinstance(part, Expression):
                    left.append(part)
    return found


def conjuncts(condition: Expression | None) -> list[Expression]:
    """`a AND b AND c` as a list; nothing for None."""
    if condition is None:
        return []
    if isinstance(condition, exp.Paren):
        return conjuncts(condition.this)
    if isinstance(condition, exp.And):
        return conjuncts(condition.this) + conjuncts(condition.expression)
    return [condition]


def columns_compared(condition: Expression) -> tuple[str, str] | None:
    """The two columns, if that is all that a condition compares: it cannot fail then."""
    if not isinstance(condition, exp.EQ | exp.NullSafeEQ):
        return None
    a, b = condition.this, condition.expression
    return (a.name, b.name) if isinstance(a, exp.Column) and isinstance(b, exp.Column) else None


def conjunction(conditions: Iterable[Expression]) -> Expression | None:
    """The list joined by AND again; None for nothing."""
    listed = list(conditions)
    return exp.and_(*listed, copy=True) if listed else None


def _expressions(value: object) -> Iterator[Expression]:
    if isinstance(value, Expression):
        yield value
    elif isinstance(value, Output):
        yield value.expression
    elif isinstance(value, tuple):
        for item in value:
            yield from _expressions(item)
