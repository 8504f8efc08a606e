"""What the binder must know about functions: which aggregate, which make rows, which give another answer each time they run.

Everything else about a function (its arguments, its type) is the engine's business.
"""

from __future__ import annotations

from sqlglot import exp

from slackwater.errors import Unsupported
from slackwater.plan.nodes import Expression, column


class NonDeterministic(Unsupported):
    """The construct gives another answer each time it runs, so no view can be kept equal to its query."""


# Aggregate functions that the parser leaves as plain calls.
AGGREGATE_NAMES = frozenset(
    "any every some bool_and bool_or bit_and bit_or bit_xor approx_percentile percentile percentile_approx percentile_cont "
    "percentile_disc median mode mean regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy "
    "kurtosis skewness std stddev stddev_pop stddev_samp variance var_pop var_samp corr covar_pop covar_samp collect_list "
    "collect_set array_agg listagg string_agg count_if count_min_sketch histogram_numeric hll_sketch_agg hll_union_agg "
    "bitmap_construct_agg bitmap_or_agg bitmap_and_agg max_by min_by approx_count_distinct approx_top_k try_sum try_avg "
    "schema_of_json_agg first first_value last last_value any_value".split()
)

# Functions that only have a meaning with OVER.
WINDOW_NAMES = frozenset("row_number rank dense_rank percent_rank cume_dist ntile lag lead nth_value".split())

_WINDOW_CLASSES = (exp.RowNumber, exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist, exp.Ntile, exp.Lag, exp.Lead, exp.NthValue)

# Aggregates whose answer depends on the order in which rows happen to be read.
_ORDER_DEPENDENT = (exp.First, exp.FirstValue, exp.Last, exp.LastValue, exp.AnyValue)
_ORDER_DEPENDENT_NAMES = frozenset("first first_value last last_value any_value".split())
_LISTS = frozenset("listagg string_agg".split())

_CLOCK = "its answer changes with the clock; write a literal, or compare with the clock in the query that reads the view"
_CHANCE = "its answer changes from run to run; store the random value in a column of the table instead"
_SESSION = "its answer depends on who runs it; write a literal instead"
_LAYOUT = "its answer depends on how rows are laid out in files and tasks; use a column of the table instead"

NONDETERMINISTIC_NAMES: dict[str, str] = {
    **dict.fromkeys(
        "now current_timestamp current_date curdate current_time localtimestamp localtime unix_timestamp_now getdate sysdate".split(),
        _CLOCK,
    ),
    **dict.fromkeys("rand random randn uuid shuffle randstr uniform".split(), _CHANCE),
    **dict.fromkeys(
        "current_user user session_user current_catalog current_database current_schema current_timezone version".split(), _SESSION
    ),
    **dict.fromkeys(
        "monotonically_increasing_id spark_partition_id input_file_name input_file_block_length input_file_block_start".split(), _LAYOUT
    ),
}

_CLASS_NAMES: dict[type[Expression], str] = {
    exp.CurrentTimestamp: "current_timestamp",
    exp.CurrentDate: "current_date",
    exp.CurrentDatetime: "current_timestamp",
    exp.CurrentTime: "current_time",
    exp.CurrentUser: "current_user",
    exp.CurrentCatalog: "current_catalog",
    exp.Localtimestamp: "localtimestamp",
    exp.Localtime: "localtime",
    exp.Rand: "rand",
    exp.Randn: "randn",
    exp.Uuid: "uuid",
}

GENERATORS: dict[type[Expression], str] = {exp.Explode: "explode", exp.Posexplode: "posexplode", exp.Inline: "inline"}
_OUTER_GENERATORS: dict[type[Expression], str] = {exp.ExplodeOuter: "explode", exp.PosexplodeOuter: "posexplode"}
_GENERATOR_NAMES = {"inline_outer": "inline", "explode_outer": "explode", "posexplode_outer": "posexplode"}
_OTHER_GENERATORS = frozenset("stack json_tuple variant_explode variant_explode_outer".split())

# What surrounds an aggregate call and belongs to it.
_WRAPPERS = (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)


def function_name(node: Expression) -> str:
    """The function's name in lower case; empty for what is not a call."""
    if isinstance(node, exp.Anonymous | exp.AnonymousAggFunc):
        return str(node.this).lower()
    if type(node) in _CLASS_NAMES:
        return _CLASS_NAMES[type(node)]
    if isinstance(node, exp.Func):
        return node.sql_name().lower()
    return ""


def written_name(call: Expression) -> str:
    """The function's name as Spark writes it, in lower case."""
    return call.sql(dialect="spark").split("(")[0].lower()


def is_aggregate(node: Expression) -> bool:
    """Whether this is an aggregate call, together with its FILTER and the like. An aggregate with OVER stands inside an `exp.Window`."""
    if isinstance(node, _WRAPPERS):
        return is_aggregate(node.this)
    if isinstance(node, (*_WINDOW_CLASSES, exp.Grouping, exp.GroupingId)):
        return False
    return isinstance(node, exp.AggFunc) or function_name(node) in AGGREGATE_NAMES


def is_window_only(node: Expression) -> bool:
    """Whether the function needs an OVER clause."""
    return isinstance(node, _WINDOW_CLASSES) or function_name(node) in WINDOW_NAMES


def call_of(node: Expression) -> Expression:
    """The call itself, without FILTER and the like."""
    return call_of(node.this) if isinstance(node, _WRAPPERS) else node


def order_dependent(node: Expression) -> bool:
    """Whether an aggregate call picks a row by the order of reading."""
    call = call_of(node)
    if function_name(call) in _LISTS:
        return not isinstance(node, exp.WithinGroup) and node.find(exp.WithinGroup) is None
    return isinstance(call, _ORDER_DEPENDENT) or function_name(call) in _ORDER_DEPENDENT_NAMES


def nondeterminism(node: Expression) -> tuple[str, str] | None:
    """The name of the function and why it is not deterministic, if it is not."""
    name = function_name(node)
    if name == "unix_timestamp" and not any(node.iter_expressions()):
        return name, _CLOCK
    reason = NONDETERMINISTIC_NAMES.get(name)
    return (name, reason) if reason else None


def generator_kind(node: Expression) -> tuple[str, bool] | None:
    """`explode`, `posexplode` or `inline`, and whether it is the OUTER form; None for what makes no rows."""
    if type(node) in _OUTER_GENERATORS:
        return _OUTER_GENERATORS[type(node)], True
    if type(node) in GENERATORS:
        return GENERATORS[type(node)], False
    name = function_name(node)
    if name in _GENERATOR_NAMES:
        return _GENERATOR_NAMES[name], True
    return None


def is_other_generator(node: Expression) -> bool:
    """A function that makes rows in a way the plan has no node for."""
    return function_name(node) in _OTHER_GENERATORS


def value_over_nothing(measure: Expression, name: str, type_: str) -> Expression:
    """The measure in column `name` where a missing group means an aggregate over no rows (the count bug)."""
    call = call_of(measure)
    function = function_name(call)
    if isinstance(call, exp.Count | exp.CountIf | exp.ApproxDistinct) or function in (
        "count",
        "count_if",
        "approx_count_distinct",
        "regr_count",
    ):
        return exp.Coalesce(this=column(name), expressions=[exp.Literal.number(0)])
    if isinstance(call, exp.ArrayAgg | exp.ArrayUniqueAgg) or function in ("collect_list", "collect_set", "array_agg"):
        return exp.Coalesce(this=column(name), expressions=[exp.cast(exp.Array(expressions=[]), type_, dialect="spark")])
    return column(name)
