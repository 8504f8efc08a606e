"""Values on which engines agree: which expressions, of which types, and how they are written so that what may overflow fails.

Every rule gives an expression as Sail is to see it, and its type. `agreed.py` says why, and walks the plans that they stand in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import reduce

from sqlglot import exp

from slackwater.plan.nodes import Expression

DIGITS = 38  # that a decimal has at most
KEPT = 6  # digits behind the point that Spark keeps of a product, however long it is
NEGATED = 34  # digits of a decimal that Spark keeps when it turns its sign
SHORT = 18  # of a decimal that all engines hash alike
ADDED = 10  # digits that a sum has more than what is summed
WHOLE = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}  # digits
NOTHING = "void"  # the type of NULL
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)$")
_PLAIN = frozenset((*WHOLE, "boolean", "string", "date"))

Types = Mapping[str, str]


class Told(str):
    """A type that was told, by a relation or by a cast: the engine's own, not one that holds at least as many digits."""


class Differs(Exception):
    """What engines may see differently."""


def expression(node: Expression, types: Types) -> tuple[Expression, str]:
    """A scalar expression and its type."""
    rule = _SCALARS.get(type(node))
    if rule is None or _said(node) - _UNDERSTOOD.get(type(node), _OPERANDS):
        raise Differs(type(node).__name__)
    told, type_ = rule(node, types)
    return told, type_


def _said(node: Expression) -> set[str]:
    """What a node says, by the names that sqlglot has for it: that a LIKE is negated, for one."""
    return {name for name, value in node.args.items() if value not in (None, False, [])}


def condition(node: Expression, types: Types) -> Expression:
    told, type_ = expression(node, types)
    if type_ not in ("boolean", NOTHING):
        raise Differs(f"{type_} as a condition")
    return told


def _column(node: exp.Column, types: Types) -> tuple[Expression, str]:
    return node.copy(), types[node.name]


def _literal(node: exp.Literal, types: Types) -> tuple[Expression, str]:
    if node.is_string:
        return node.copy(), "string"
    whole, _, fraction = node.name.partition(".")
    if not (whole + fraction).isdigit() or "." in node.name and not fraction:
        raise Differs(f"the number {node.name}")
    if not fraction:
        type_ = "int" if int(whole) < 2**31 else "bigint"
        return node.copy(), type_ if int(whole) < 2**63 else _decimal(len(whole), 0)
    return node.copy(), _decimal(len(whole.lstrip("0")), len(fraction))


def _logical(node: Expression, types: Types) -> tuple[Expression, str]:
    return _with(node, **{name: condition(node.args[name], types) for name in _said(node)}), "boolean"


def _compared(node: Expression, types: Types) -> tuple[Expression, str]:
    told = [expression(each, types) for each in (node.this, node.expression)]
    a, b = _side_by_side(*told)
    return _with(node, this=a, expression=b), "boolean"


def _side_by_side(left: tuple[Expression, str], right: tuple[Expression, str]) -> tuple[Expression, Expression]:
    """Two values as they are compared. Of decimals that have too little room beside each other, each must do with what there is."""
    (a, type_a), (b, type_b) = left, right
    if not (_DECIMAL.match(type_a) and _DECIMAL.match(type_b)):
        common([type_a, type_b])
        return a, b
    scale = max(_digits(type_a)[1], _digits(type_b)[1])
    fits = _decimal(DIGITS - scale, scale)
    a, b = (
        _watched(each, exp.Abs(this=_as_double(each)), fits) if _digits(type_)[0] > DIGITS - scale else each
        for each, type_ in (left, right)
    )
    return a, b


def _is(node: exp.Is, types: Types) -> tuple[Expression, str]:
    if not isinstance(node.expression, exp.Null):
        raise Differs("IS TRUE")
    return exp.Is(this=expression(node.this, types)[0], expression=exp.null()), "boolean"


def _in(node: exp.In, types: Types) -> tuple[Expression, str]:
    if not node.expressions or any(not isinstance(each, exp.Literal | exp.Cast | exp.Neg) for each in node.expressions):
        raise Differs("IN with other things than literals")
    told, *listed = [expression(each, types) for each in (node.this, *node.expressions)]
    common([type_ for _, type_ in (told, *listed)])
    return _with(node, this=told[0], expressions=[each for each, _ in listed]), "boolean"


def _between(node: exp.Between, types: Types) -> tuple[Expression, str]:
    this, low, high = (expression(node.args[name], types) for name in ("this", "low", "high"))
    common([this[1], low[1], high[1]])
    return _with(node, this=this[0], low=low[0], high=high[0]), "boolean"


def _like(node: exp.Like, types: Types) -> tuple[Expression, str]:
    this, type_ = expression(node.this, types)
    pattern = node.expression
    if type_ != "string" or not isinstance(pattern, exp.Literal) or not pattern.is_string or "\\" in pattern.name:
        raise Differs("LIKE with a pattern that is not plain")
    return _with(node, this=this), "boolean"


def _case(node: exp.Case, types: Types) -> tuple[Expression, str]:
    if any(_said(each) - {"this", "true"} for each in node.args["ifs"]):
        raise Differs("CASE")
    branches = [(condition(each.this, types), expression(each.args["true"], types)) for each in node.args["ifs"]]
    default = expression(node.args["default"], types) if node.args.get("default") is not None else None
    type_ = common([found for _, (_, found) in branches] + ([default[1]] if default else []))
    ifs = [exp.If(this=condition, true=value) for condition, (value, _) in branches]
    return exp.Case(ifs=ifs, default=default[0] if default else None), type_


def _if(node: exp.If, types: Types) -> tuple[Expression, str]:
    true, false = (expression(node.args.get(side) or exp.null(), types) for side in ("true", "false"))
    return exp.If(this=condition(node.this, types), true=true[0], false=false[0]), common([true[1], false[1]])


def _first(node: exp.Coalesce | exp.Least | exp.Greatest, types: Types) -> tuple[Expression, str]:
    told = [expression(each, types) for each in (node.this, *node.expressions)]
    first, *others = (each for each, _ in told)
    return _with(node, this=first, expressions=others), common([type_ for _, type_ in told])


def _cast(node: exp.Cast, types: Types) -> tuple[Expression, str]:
    to = known(node.to.sql(dialect="spark").lower().replace(" ", ""))
    if to == "date" and isinstance(node.this, exp.Literal) and re.fullmatch(r"\d{4}-\d{2}-\d{2}", node.this.name):
        return node.copy(), to
    this, type_ = expression(node.this, types)
    as_text = to == "string" and type_ in WHOLE
    if not as_text and not _is_checked(type_, to) and common([to, type_]) != to:
        raise Differs(f"a cast from {type_} to {to}")
    is_wider = _is_checked(type_, to) and all(there >= here for here, there in zip(_digits(type_), _digits(to), strict=True))
    return (_checked(this, to) if _is_checked(type_, to) and not is_wider else exp.cast(this, to, dialect="spark")), Told(to)


def _is_checked(type_: str, to: str) -> bool:
    """Whether it is a cast of decimals: it rounds half up, or fails because there is no room for all digits before the point."""
    return _DECIMAL.match(type_) is not None and _DECIMAL.match(to) is not None


def _negative(node: exp.Neg, types: Types) -> tuple[Expression, str]:
    this, type_ = expression(node.this, types)
    if isinstance(this, exp.Literal):
        if this.name in (str(2**31), str(2**63)):
            raise Differs("the smallest whole number, which is no negative of a largest one")
        return node.copy(), type_
    if type_ in WHOLE:
        return _checked(exp.Neg(this=_as_decimal(this)), type_), type_
    if sum(_digits(type_)) > NEGATED:
        raise Differs("the negative of a decimal that Spark rounds")
    return exp.Neg(this=exp.paren(this)), type_


def _sum_or_difference(node: exp.Add | exp.Sub, types: Types) -> tuple[Expression, str]:
    if isinstance(node.expression, exp.Interval):
        return _moved(node, types)
    return _added(type(node), *(expression(each, types) for each in (node.this, node.expression)))


def _moved(node: exp.Add | exp.Sub, types: Types) -> tuple[Expression, str]:
    """A date by some days, months or years."""
    this, type_ = expression(node.this, types)
    by = node.expression
    unit = by.args.get("unit")
    is_plain = isinstance(by.this, exp.Literal) and isinstance(unit, exp.Var) and not _said(by) - {"this", "unit"}
    if type_ != "date" or not is_plain or unit.name.upper() not in ("DAY", "MONTH", "YEAR"):
        raise Differs("an interval")
    return type(node)(this=this, expression=by.copy()), type_


def _added(kind: type[exp.Add | exp.Sub], left: tuple[Expression, str], right: tuple[Expression, str]) -> tuple[Expression, str]:
    (a, type_a), (b, type_b) = left, right
    if type_a in WHOLE and type_b in WHOLE:
        type_ = max(type_a, type_b, key=lambda each: WHOLE[each])
        return _checked(kind(this=_as_decimal(a), expression=_as_decimal(b)), type_), type_
    (whole_a, scale_a), (whole_b, scale_b) = _digits(type_a), _digits(type_b)
    whole, scale = max(whole_a, whole_b) + 1, max(scale_a, scale_b)
    total = exp.paren(kind(this=exp.paren(a), expression=exp.paren(b)))
    if whole + scale <= DIGITS:
        return total, _decimal(whole, scale)
    if scale > KEPT:
        raise Differs("a sum of decimals that may lose digits")
    longest, about = _decimal(DIGITS - scale, scale), exp.Abs(this=exp.paren(kind(this=_as_double(a), expression=_as_double(b))))
    return _watched(total, about, longest), longest


def _product(node: exp.Mul, types: Types) -> tuple[Expression, str]:
    (a, type_a), (b, type_b) = (expression(each, types) for each in (node.this, node.expression))
    if type_a in WHOLE and type_b in WHOLE:
        type_ = max(type_a, type_b, key=lambda each: WHOLE[each])
        return _checked(exp.Mul(this=_as_decimal(a, 19), expression=_as_decimal(b, 19)), type_), type_
    (whole_a, scale_a), (whole_b, scale_b) = _digits(type_a), _digits(type_b)
    whole, scale = whole_a + whole_b + 1, scale_a + scale_b
    if whole + scale <= DIGITS:
        return exp.paren(exp.Mul(this=exp.paren(a), expression=exp.paren(b))), _decimal(whole, scale)
    (a, needed_a), (b, needed_b) = _without_zeros(a, scale_a), _without_zeros(b, scale_b)
    kept = max(DIGITS - whole, min(scale, KEPT))
    if needed_a + needed_b > kept:
        raise Differs("a product that may lose digits")
    longest, about = _decimal(DIGITS - kept, kept), exp.Mul(this=_as_double(a), expression=_as_double(b))
    return _watched(exp.paren(exp.Mul(this=exp.paren(a), expression=exp.paren(b))), exp.Abs(this=exp.paren(about)), longest), longest


def _quotient(node: exp.Div, types: Types) -> tuple[Expression, str]:
    """A decimal by another, to the digits that Spark gives.

    Sail cuts a quotient off four places behind the last of what is divided. With enough places there, the first that is cut off decides as
    it does for Spark, which rounds half up; it does so to 39 places before, which changes nothing if none of them can be a half by then.
    """
    (a, type_a), (b, type_b) = (expression(each, types) for each in (node.this, node.expression))
    if not (isinstance(type_a, Told) and isinstance(type_b, Told)) or type_a in WHOLE and type_b in WHOLE:
        raise Differs("a quotient")
    (whole_a, scale_a), (whole_b, scale_b) = _divided(type_a), _divided(type_b)
    scale = max(KEPT, scale_a + whole_b + scale_b + 1)
    whole = whole_a + scale_b
    if whole + scale > DIGITS:
        scale = max(DIGITS - whole, KEPT)
        whole = DIGITS - scale
    if whole_b + scale_b + scale > DIGITS:
        raise Differs("a quotient of many digits")
    places = max(scale_a, scale - 3)
    dividend = exp.cast(exp.paren(a), f"decimal({DIGITS},{places})", dialect="spark")
    divisor = exp.cast(exp.paren(b), _decimal(whole_b, scale_b), dialect="spark")
    type_ = Told(_decimal(whole, scale))
    return _checked(_with(node, this=dividend, expression=divisor), type_), type_


def _divided(type_: str) -> tuple[int, int]:
    """The digits of what is divided. Spark takes a BIGINT for a decimal of 20 digits then."""
    return (20, 0) if type_ == "bigint" else _digits(type_)


def _without_zeros(value: Expression, scale: int) -> tuple[Expression, int]:
    """A number, written without the zeros behind the last digit that counts, and how many digits it has behind the point."""
    if not isinstance(value, exp.Literal) or "." not in value.name:
        return value, scale
    short = value.name.rstrip("0").rstrip(".")
    return exp.Literal.number(short), len(short.partition(".")[2])


def _part_of_string(node: exp.Substring, types: Types) -> tuple[Expression, str]:
    this, type_ = expression(node.this, types)
    start, length = node.args.get("start"), node.args.get("length")
    if type_ != "string" or not _is_place(start, 1) or not _is_place(length, 0):
        raise Differs("substring with a place that is computed")
    return _with(node, this=this), type_


def _is_place(number: Expression | None, least: int) -> bool:
    return isinstance(number, exp.Literal) and number.name.isdigit() and not number.is_string and least <= int(number.name) < 2**31


def _part_of_date(node: Expression, types: Types) -> tuple[Expression, str]:
    this, type_ = expression(node.this, types)
    if type_ != "date":
        raise Differs(f"a part of a {type_}")
    return _with(node, this=this), "int"


def _as_date(node: exp.TsOrDsToDate, types: Types) -> tuple[Expression, str]:
    """How sqlglot reads the argument of year(...)."""
    this, type_ = expression(node.this, types)
    if type_ != "date":
        raise Differs(f"a {type_} for a date")
    return _with(node, this=this), type_


def _extract(node: exp.Extract, types: Types) -> tuple[Expression, str]:
    this, type_ = expression(node.expression, types)
    if type_ != "date" or node.this.name.upper() not in ("YEAR", "MONTH", "DAY"):
        raise Differs("extract")
    return exp.Extract(this=node.this.copy(), expression=this), "int"


def _named(node: exp.Anonymous, types: Types) -> tuple[Expression, str]:
    """What identities are made of."""
    function = node.name.lower()
    told = [expression(each, types) for each in node.expressions]
    if function == "xxhash64" and all(_hashed_alike(type_) for _, type_ in told):
        type_ = "bigint"
    elif (function == "hex" and told[0][1] == "bigint") or (function == "concat_ws" and all(type_ == "string" for _, type_ in told)):
        type_ = "string"
    else:
        raise Differs(function)
    return exp.Anonymous(this=node.this, expressions=[each for each, _ in told]), type_


def _hashed_alike(type_: str) -> bool:
    decimal = _DECIMAL.match(type_)
    return decimal is None or int(decimal[1]) <= SHORT


_SCALARS: Mapping[type[Expression], Callable[..., tuple[Expression, str]]] = {
    exp.Column: _column,
    exp.Literal: _literal,
    exp.Boolean: lambda node, types: (node.copy(), "boolean"),
    exp.Null: lambda node, types: (node.copy(), NOTHING),
    exp.Paren: lambda node, types: ((told := expression(node.this, types)) and exp.paren(told[0]), told[1]),
    **dict.fromkeys((exp.And, exp.Or, exp.Not), _logical),
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ), _compared),
    exp.Is: _is,
    exp.In: _in,
    exp.Between: _between,
    exp.Like: _like,
    exp.Case: _case,
    exp.If: _if,
    **dict.fromkeys((exp.Coalesce, exp.Least, exp.Greatest), _first),
    **dict.fromkeys((exp.Cast, exp.TryCast), _cast),
    exp.Neg: _negative,
    **dict.fromkeys((exp.Add, exp.Sub), _sum_or_difference),
    exp.Mul: _product,
    exp.Div: _quotient,
    exp.Substring: _part_of_string,
    **dict.fromkeys((exp.Year, exp.Month, exp.Day, exp.DayOfMonth), _part_of_date),
    exp.Extract: _extract,
    exp.TsOrDsToDate: _as_date,
    exp.Anonymous: _named,
}


# What each may say; the others have operands only.
_OPERANDS = frozenset(("this", "expression"))
_UNDERSTOOD: Mapping[type[Expression], frozenset[str]] = {
    exp.Column: frozenset(("this",)),
    exp.Literal: frozenset(("this", "is_string")),
    exp.In: frozenset(("this", "expressions", "negate")),
    exp.Between: frozenset(("this", "low", "high", "negate")),
    exp.Like: frozenset(("this", "expression", "negate")),
    exp.Case: frozenset(("ifs", "default")),
    exp.If: frozenset(("this", "true", "false")),
    **dict.fromkeys((exp.Coalesce, exp.Least, exp.Greatest), frozenset(("this", "expressions", "ignore_nulls"))),
    **dict.fromkeys((exp.Cast, exp.TryCast), frozenset(("this", "to"))),
    exp.Div: frozenset(("this", "expression", "typed", "safe")),
    exp.Substring: frozenset(("this", "start", "length")),
    exp.Anonymous: frozenset(("this", "expressions")),
    exp.Count: frozenset(("this", "big_int")),
}


def measure(node: Expression, types: Types) -> tuple[Expression, str]:
    """A call of an aggregate function, and its type."""
    if _said(node) - _UNDERSTOOD.get(type(node), _OPERANDS):
        raise Differs(type(node).__name__)
    if isinstance(node, exp.Count):
        if isinstance(node.this, exp.Star):
            return node.copy(), "bigint"
        if isinstance(node.this, exp.Distinct) and len(node.this.expressions) == 1:
            told, _ = expression(node.this.expressions[0], types)
            return exp.Count(this=exp.Distinct(expressions=[told])), "bigint"
        return exp.Count(this=expression(node.this, types)[0]), "bigint"
    if isinstance(node, exp.Min | exp.Max):
        told, type_ = expression(node.this, types)
        return type(node)(this=told), type_
    if isinstance(node, exp.Sum):
        return _summed(*expression(node.this, types))
    raise Differs(type(node).__name__)


def _summed(value: Expression, type_: str) -> tuple[Expression, str]:
    if type_ in WHOLE:
        return _checked(exp.Sum(this=_as_decimal(value)), "bigint"), "bigint"
    whole, scale = _digits(type_)
    total = exp.Sum(this=value)
    if whole + scale + ADDED <= DIGITS:
        return total, _decimal(whole + ADDED, scale)
    longest = _decimal(DIGITS - scale, scale)
    return _watched(total, exp.Sum(this=exp.Abs(this=_as_double(value))), longest), longest


def _watched(total: Expression, about: Expression, type_: str) -> Expression:
    """A decimal that fails where it might have too many digits, told by about how large it is."""
    whole, _ = _digits(type_)
    most = exp.cast(exp.Literal.string(f"9e{whole - 1}"), "double")
    # It is the first that is asked: NULL is not too large.
    failure = exp.cast(exp.Anonymous(this="raise_error", expressions=[exp.Literal.string("too many digits")]), type_, dialect="spark")
    return exp.Case(ifs=[exp.If(this=exp.GTE(this=about, expression=most), true=failure)], default=total)


def _checked(total: Expression, type_: str) -> Expression:
    """A number that was computed with more digits. The cast fails if it is too large.

    Bare, it would not be made where the number is compared: Sail compares what is cast instead.
    """
    return exp.func("coalesce", exp.cast(exp.paren(total), type_, dialect="spark"), exp.null())


def _as_decimal(value: Expression, digits: int = 20) -> Expression:
    return exp.cast(exp.paren(value.copy()), f"decimal({digits},0)", dialect="spark")


def _as_double(value: Expression) -> Expression:
    return exp.cast(exp.paren(value.copy()), "double")


def known(type_: str) -> str:
    if type_ not in _PLAIN and not _DECIMAL.match(type_):
        raise Differs(f"a column of type {type_}")
    return type_


def common(types: Sequence[str]) -> str:
    """The type that all of these have in common, without a digit lost and without a guess."""
    return reduce(_wider, types)


def _wider(a: str, b: str) -> str:
    if a == b or b == NOTHING:
        return a
    if a == NOTHING:
        return b
    if a in WHOLE and b in WHOLE:
        return max(a, b, key=lambda each: WHOLE[each])
    (whole_a, scale_a), (whole_b, scale_b) = _digits(a), _digits(b)
    whole, scale = max(whole_a, whole_b), max(scale_a, scale_b)
    if whole + scale > DIGITS:
        raise Differs(f"{a} beside {b}")
    return _decimal(whole, scale)


def _digits(type_: str) -> tuple[int, int]:
    """How many digits before and after the point an exact number has."""
    if type_ in WHOLE:
        return WHOLE[type_], 0
    decimal = _DECIMAL.match(type_)
    if decimal is None:
        raise Differs(f"{type_} among numbers")
    return int(decimal[1]) - int(decimal[2]), int(decimal[2])


def _decimal(whole: int, scale: int) -> str:
    return f"decimal({max(1, whole + scale)},{scale})"


def _with(node: Expression, **parts: Expression | list[Expression]) -> Expression:
    """The same with other parts."""
    changed = node.copy()
    for name, part in parts.items():
        changed.set(name, part)
    return changed
