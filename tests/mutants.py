"""Break each change rule once, on purpose, and see that the case files notice.

A mutant is a piece of the source that is replaced by another, in a copy of the package. Each names the case files that should notice it;
they run on Sail under the schedules `lazy` and `eager`, with their blocks as the only judge. A mutant that no case notices survives, and
that is a hole in the suite. A mutant whose piece of source no longer occurs exactly once must be brought up to date.

    python -m tests.mutants                 all of them
    python -m tests.mutants semi limit      those whose name or file has one of the words
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Mutant:
    """What is broken, where, how, and which cases (by the start of their names) should notice."""

    name: str
    file: str
    old: str
    new: str
    cases: tuple[str, ...]


def mutant(name: str, file: str, old: str, new: str, *cases: str) -> Mutant:
    return Mutant(name, file, old, new, cases)


MUTANTS = (
    # Groups that are not kept.
    mutant(
        "a left join restricts what it keeps",
        "rewrite/restrict_groups.py",
        'ours = _few(node.right, b) if node.kind == "inner" else None',
        "ours = _few(node.right, b)",
        "join/groups_that_a_left_join_keeps",
    ),
    mutant(
        "groups are restricted by rows as they were",
        "delta/semi_join.py",
        "return together([left and _met(node, left, derive), right and _turned(node, right, named, derive)], node.names)",
        "return together([left and _met(node, left, derive)], node.names)",
        "subquery/only_groups_of_few",
    ),
    # Partners that are grouped before they are joined.
    mutant(
        "a row without partners has no count",
        "rewrite/group_before_join.py",
        "if isinstance(inner.expression, exp.Count) else value",
        "if inner is None else value",
        "aggregate/partners_of_a_key",
    ),
    mutant(
        "partners are grouped whatever the groups are",
        "rewrite/group_before_join.py",
        "or not _is_unique(join.left, set(groups), keys)",
        "",
        "aggregate/partners_of_no_key",
    ),
    # Conditions of alternatives.
    mutant(
        "what one alternative lists is asked of all",
        "rewrite/push_filters.py",
        "[*values, *(value for other in others for value in other[name])]",
        "values",
        "join/inner_listed_alternatives",
    ),
    # Rows that have left.
    mutant(
        "rows that have left are read",
        "spark/engine.py",
        '.where(f"{GONE} IS NULL")',
        "",
        "aggregate/unread_steps_pile_up",
        "view",
    ),
    # Folds.
    mutant(
        "a fold keeps rows that have left",
        "trace/files.py",
        "[like, rows if left is None else left.remaining(rows)]",
        "[like, rows]",
        "aggregate/unread_steps_pile_up",
    ),
    # Sources and what is read of them.
    mutant(
        "a source never loses rows",
        "delta/scan.py",
        "(REMOVED, moved.removed, exp.false())",
        "(REMOVED, False, exp.false())",
        "filter/duplicates",
    ),
    mutant(
        "a source never gains rows",
        "delta/scan.py",
        "(ADDED, moved.added, exp.true())",
        "(ADDED, False, exp.true())",
        "filter/ordinary",
    ),
    mutant(
        "what came and went counts as come",
        "trace/trace.py",
        "return self._reading(old, new, new)",
        "return self._reading(old, new, old)",
        "filter/insert_and_delete",
    ),
    mutant("what came and went counts as gone", "trace/trace.py", "came = tuple(", "came = () and tuple(", "aggregate/unread_sums"),
    mutant(
        "kept rows include those that left",
        "trace/trace.py",
        "return self._reading(0, old, new)",
        "return self._reading(0, old, old)",
        "join/inner_both",
    ),
    mutant(
        "identities forget where a NULL stood",
        "delta/rows.py",
        "[exp.Is(this=part.copy(), expression=exp.null()), part.copy()]",
        "[part.copy()]",
        "aggregate/null_in_two_keys",
        "distinct/nulls_beside",
    ),
    mutant(
        "a union forgets the branch", "delta/union.py", "exp.Literal.number(number)", "exp.Literal.number(0)", "setop/union_all_same_row"
    ),
    mutant(
        "a union forgets a branch",
        "delta/union.py",
        "for number, c in enumerate(below)]",
        "for number, c in enumerate(below[:1])]",
        "setop/union_all",
    ),
    mutant("explode forgets positions", "delta/generate.py", ", column(node.position.name))", ")", "explode/semi_join"),
    mutant(
        "explode takes departures for arrivals",
        "delta/generate.py",
        "rows=_exploded(node, below.rows))",
        "rows=_exploded(node, below.rows), arrives=True)",
        "explode/lateral_view",
    ),
    # One row in, one row out.
    mutant(
        "a filter takes departures for arrivals",
        "delta/filter.py",
        "rows=_filtered(node, below.rows))",
        "rows=_filtered(node, below.rows), arrives=True)",
        "filter/ordinary",
    ),
    mutant(
        "a filter lets all in",
        "delta/filter.py",
        "return below and replace(below, rows=_filtered(node, below.rows))",
        "return below",
        "filter/ordinary",
    ),
    mutant(
        "a projection takes departures for arrivals",
        "delta/project.py",
        "rows=_projected(node, below.rows))",
        "rows=_projected(node, below.rows), arrives=True)",
        "project/loses",
    ),
    mutant(
        "a kept path writes no removals",
        "delta/keep.py",
        "delta.told(exp.Literal.string(ADDED), exp.Literal.string(REMOVED))",
        "exp.Literal.string(ADDED)",
        "filter/duplicates",
    ),
    # Inner joins.
    mutant(
        "rows meet that were never there together",
        "delta/inner_join.py",
        "exp.EQ(this=other.copy(), expression=moved.copy())",
        "exp.true()",
        "join/inner_both",
    ),
    mutant(
        "what arrives meets the old rows",
        "delta/inner_join.py",
        "NEW if so_far.arrives is not False else OLD",
        "OLD if so_far.arrives is not False else NEW",
        "join/inner_both",
    ),
    mutant(
        "pairs of two arrivals come twice",
        "delta/inner_join.py",
        "derive.at(below, KEPT, named)",
        "derive.at(below, NEW, named)",
        "join/inner_both",
        "join/self",
    ),
    mutant(
        "pairs with what left come again",
        "delta/inner_join.py",
        "derive.at(below, KEPT, named)",
        "derive.at(below, OLD, named)",
        "join/inner_both",
        "join/self",
    ),
    mutant(
        "only the last input's change is joined",
        "delta/inner_join.py",
        "so_far and _met(",
        "None and _met(",
        "join/inner_ordinary",
        "join/inner_three",
    ),
    mutant(
        "only the first input's change is joined",
        "delta/inner_join.py",
        "moved and _from(",
        "None and _from(",
        "join/inner_ordinary",
    ),
    mutant(
        "a join's identity forgets an input",
        "delta/inner_join.py",
        "for id in ids)))",
        "for id in ids[:1])))",
        "join/inner_duplicates",
        "join/inner_both",
    ),
    # Semi and anti joins.
    mutant(
        "a second partner brings a row again",
        "delta/semi_join.py",
        'alone = replace(touched, plan=Join(touched.plan, others, "anti", node.condition))',
        "alone = touched",
        "join/semi",
        "join/anti",
    ),
    mutant(
        "a partner that moves the other way is overlooked",
        "delta/semi_join.py",
        'Join(with_one, right.rows.plan, "anti", conjunction([*conditions, exp.NEQ(this=moved.copy(), expression=column(turn))]))',
        "with_one",
        "join/semi",
        "join/anti",
    ),
    mutant(
        "an anti join takes arrivals for departures",
        "delta/semi_join.py",
        'gains = node.kind == "semi"',
        "gains = True",
        "join/anti",
    ),
    mutant(
        "new left rows meet old partners",
        "delta/semi_join.py",
        "OLD if left.arrives is False else NEW",
        "OLD",
        "join/semi_both",
        "join/anti_both",
    ),
    mutant(
        "leaving left rows meet new partners",
        "delta/semi_join.py",
        "((True, NEW), (False, OLD))",
        "((True, NEW), (False, NEW))",
        "join/anti_inequality_both",
    ),
    mutant(
        "a row that gained its partner counts as kept",
        "delta/semi_join.py",
        "return first if before == after else _join(first, after, node)",
        "return first",
        "subquery/exists_with_inequality",
    ),
    # Outer joins.
    mutant(
        "no padded rows move",
        "delta/outer_join.py",
        "together([pairs, *(c and replace(c, rows=_padded(node, c.rows)) for c in alone)], node.names)",
        "together([pairs], node.names)",
        "join/left_ordinary",
    ),
    mutant(
        "padded rows only arrive",
        "delta/outer_join.py",
        "replace(c, rows=_padded(node, c.rows))",
        "replace(c, rows=_padded(node, c.rows), arrives=True)",
        "join/left_ordinary",
    ),
    mutant(
        "a full join keeps only left rows",
        "delta/outer_join.py",
        'if node.kind == "full" else [left]',
        "if False else [left]",
        "join/full_ordinary",
    ),
    mutant(
        "a padded row and a pair look alike",
        "delta/outer_join.py",
        "(column(rows.id), None) if is_left else (None, column(rows.id))",
        "(column(rows.id), None)",
        "join/full",
    ),
    mutant(
        "a row that was padded counts as kept",
        "delta/outer_join.py",
        "if part == KEPT:",
        "if False:",
        "join/small_left",
    ),
    # Aggregates.
    mutant(
        "what leaves is added",
        "delta/aggregate.py",
        "delta.told(exp.Literal.number(1), exp.Literal.number(-1))",
        "exp.Literal.number(1)",
        "aggregate/group_vanishes",
    ),
    mutant(
        "min and max survive departures",
        "delta/aggregate.py",
        "(delta.arrives is True or reach <= {ADDS})",
        "True",
        "aggregate/max_deleted",
    ),
    mutant(
        "groups never vanish", "delta/aggregate.py", "if node.keys else exp.true()", "if False else exp.true()", "aggregate/group_vanishes"
    ),
    mutant(
        "NULLs are counted",
        "delta/aggregate.py",
        "exp.If(this=there, true=weight,",
        "exp.If(this=exp.true(), true=weight,",
        "aggregate/bool",
    ),
    mutant(
        "a new group has no old value to add to",
        "delta/aggregate.py",
        'exp.func("coalesce", column(OLD_PREFIX + name), zero)',
        "column(OLD_PREFIX + name)",
        "aggregate/group_vanishes",
    ),
    mutant(
        "the smaller of two maxima wins",
        "delta/aggregate.py",
        "exp.Least if isinstance(function, exp.Min) else exp.Greatest",
        "exp.Least",
        "aggregate/having_without",
    ),
    mutant(
        "groups that lost rows are not recomputed",
        "delta/aggregate.py",
        "touched_keys(delta.rows.plan",
        "touched_keys((delta.side(True) or delta.rows).plan",
        "aggregate/count_distinct",
        "aggregate/max_deleted",
    ),
    mutant(
        "old values of other groups are taken back",
        "delta/aggregate.py",
        "old = _of_groups(own, touched)",
        "pass",
        "aggregate/count_distinct",
    ),
    mutant("a sum of nothing is zero", "delta/partials.py", "return _unless_empty(count, total)", "return total", "aggregate/null_group."),
    mutant(
        "one true is enough for bool_and",
        "delta/partials.py",
        "exp.EQ(this=true, expression=count.copy())",
        "exp.GT(this=true, expression=exp.Literal.number(0))",
        "aggregate/bool",
    ),
    mutant(
        "sums of DOUBLE are subtracted",
        "delta/partials.py",
        'GROWS if measure.column.type == "double"',
        'ADDS if measure.column.type == "double"',
        "aggregate/double_sums_alone",
    ),
    mutant(
        "distinct values are counted like others",
        "delta/partials.py",
        "return RECOMPUTES if isinstance(function.this, exp.Distinct)",
        "return ADDS if isinstance(function.this, exp.Distinct)",
        "aggregate/count_distinct",
    ),
    mutant(
        "FILTER is forgotten",
        "delta/partials.py",
        "return argument.copy() if passes is None else",
        "return argument.copy() if True else",
        "aggregate/filtered",
    ),
    # The change between old and new rows.
    mutant(
        "vanished rows stay", "delta/difference.py", 'before, "full",', 'before, "left",', "aggregate/count_distinct", "limit/duplicates"
    ),
    mutant(
        "changed rows keep their old values",
        "delta/difference.py",
        "conjunction([both, *same])",
        "conjunction([both])",
        "aggregate/null_group",
    ),
    mutant(
        "the NULL group is not touched",
        "delta/touched.py",
        "equal: type[exp.Binary] = exp.NullSafeEQ",
        "equal: type[exp.Binary] = exp.EQ",
        "aggregate/null_group",
    ),
    mutant(
        "keys are pushed below the padding of an outer join",
        "delta/touched.py",
        '<= set(plan.right.names) and plan.kind == "inner"',
        "<= set(plan.right.names)",
        "aggregate/recompute_by_right",
    ),
    # Windows and limits.
    mutant(
        "partitions that lost rows are not recomputed",
        "delta/window.py",
        "touched_keys(delta.rows.plan",
        "touched_keys((delta.side(True) or delta.rows).plan",
        "window/row_number",
        "window/running",
        "window/whole",
    ),
    mutant(
        "old rows of other partitions are taken back",
        "delta/window.py",
        "old = Rows(restrict(own.plan, node.keys, touched), own.id)",
        "pass",
        "window/row_number",
    ),
    mutant(
        "a limit looks at the old rows",
        "delta/limit.py",
        "rows = derive.at(node.input, NEW)",
        'rows = derive.at(node.input, "old")',
        "limit/ordinary",
    ),
    mutant("a limit forgets its offset", "delta/limit.py", "node.count, node.offset)", "node.count, 0)", "limit/offset"),
    # What need not be read.
    mutant("NULL finds no partner", "delta/spans.py", "self.nulls and other.nulls", "False", "join/far_keys"),
    mutant(
        "a file without a NULL in its first rows has none",
        "trace/spans.py",
        "Spans(((first, last),), known.null_count > 0)",
        "Spans(((first, last),))",
        "join/far_keys",
    ),
    mutant(
        "keys are where the first ones are",
        "trace/spans.py",
        "[*cuts, len(found) - 1]",
        "[*cuts, 0 if not cuts else cuts[-1] + 1]",
        "join/far_keys",
        "join/inner_",
    ),
    mutant(
        "rows that stayed are nowhere",
        "run/net.py",
        "Reading((*kept.files, *written[KEPT])",
        "Reading(kept.files",
        "join/update_of",
    ),
    mutant("rows stay as often as they came", "run/net.py", "stayed = np.minimum(came, left)", "stayed = came", "join/update_of"),
    mutant(
        "fetched rows are what was there",
        "run/gather.py",
        "((NEW, self.added), (OLD, self.removed))",
        "((NEW, self.removed), (OLD, self.removed))",
        "join/self_",
        "join/far_keys",
    ),
    mutant(
        "keys of the first place only are fetched",
        "run/reads.py",
        "keys = functools.reduce(operator.or_, (cast(Spans, each[column]) for _, each in wanted))",
        "keys = cast(Spans, wanted[0][1][column])",
        "join/two_partners",
    ),
    mutant(
        "rows that have left are fetched",
        "trace/files.py",
        "yield rows if left is None else left.remaining(rows)",
        "yield rows",
        "join/",
    ),
    mutant(
        "what left by its number is there", "trace/left.py", "rows.filter(pa.array(~has_left)) if has_left.any() else rows", "rows", "join/"
    ),
    mutant("values in common are those of one", "delta/spans.py", "_either(mine, others)", "mine", "join/"),
    # What is the same before and after.
    mutant(
        "outer joins only grow when their inputs do",
        "delta/derive.py",
        "return not any(outer(below) for below in node.walk())",
        "return True",
        "subquery/count_bug_with",
    ),
)


@dataclass(frozen=True)
class Fate:
    """How a mutant ended: noticed by a case, survived, or no longer fitting the source."""

    mutant: Mutant
    word: str
    by: str
    seconds: float


def intact(mutants: Sequence[Mutant]) -> Mutant:
    """No mutant at all, with the cases of all of them: what fails without a mutant notices none."""
    return Mutant(
        "none: the package as it is", mutants[0].file, mutants[0].old, mutants[0].old, tuple(sorted({c for m in mutants for c in m.cases}))
    )


def try_out(mutant: Mutant) -> Fate:
    """Run a mutant's cases over a broken copy of the package."""
    began = time.time()
    source = (ROOT / "slackwater" / mutant.file).read_text()
    if source.count(mutant.old) != 1:
        return Fate(mutant, "outdated", f"its piece of source occurs {source.count(mutant.old)} times", 0.0)
    with tempfile.TemporaryDirectory(prefix="slackwater-mutant-") as folder:
        shutil.copytree(ROOT / "slackwater", Path(folder) / "slackwater", ignore=shutil.ignore_patterns("__pycache__"))
        (Path(folder) / "slackwater" / mutant.file).write_text(source.replace(mutant.old, mutant.new))
        (Path(folder) / "tests").symlink_to(ROOT / "tests", target_is_directory=True)
        command = [sys.executable, "-m", "tests.mutants", "--notice", *mutant.cases]
        environment = {**os.environ, "PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)
    said = (done.stdout.strip().splitlines() or done.stderr.strip().splitlines()[-1:] or ["nothing"])[-1]
    word = {0: "SURVIVED", 1: "noticed"}.get(done.returncode, "outdated")
    return Fate(mutant, word, said, time.time() - began)


def notice(prefixes: Sequence[str]) -> int:
    """Run the named cases until one fails. 1: noticed, 0: not, 2: there was nothing to run, or the copy was not used."""
    import slackwater
    import tests.as_if_many  # noqa: F401
    from tests.batch import open_engine
    from tests.cases import FOLDER, all_cases
    from tests.runner import run_case

    if prefixes and Path.cwd() not in Path(slackwater.__file__).parents:
        print(f"slackwater was imported from {slackwater.__file__}")
        return 2
    chosen = [
        case
        for case in all_cases()
        if case.path and str(case.path.relative_to(FOLDER)).startswith(tuple(prefixes)) and case.allowed("sail")
    ]
    if not chosen:
        print(f"no case starts with {' or '.join(prefixes)}")
        return 2
    with open_engine("sail") as spark:
        for case in chosen:
            for schedule in ("lazy", "eager"):
                with (
                    tempfile.TemporaryDirectory() as folder,
                    slackwater.connect(Path(folder) / "w", engine=spark, schedule=schedule, choose="incremental", folding="refresh") as db,
                ):
                    try:
                        run_case(case, db, "sail", judge=False)
                    except Exception as error:
                        assert case.path is not None
                        name = case.path.relative_to(FOLDER).with_suffix("")
                        print(f"{name}: {' '.join(str(error).split(chr(10))[1:3])[:120]}")
                        return 1
    print(f"{len(chosen)} cases saw nothing")
    return 0


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.mutants", description="break each change rule once")
    options.add_argument("--notice", nargs="+", metavar="CASES", help="run these cases and say whether one fails (used for each mutant)")
    options.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options.add_argument("words", nargs="*", help="only mutants whose name or file has one of these words")
    chosen = options.parse_args()
    if chosen.notice:
        return notice(chosen.notice)
    mutants = [each for each in MUTANTS if not chosen.words or any(word in f"{each.name} {each.file}" for word in chosen.words)]
    whole = try_out(intact(mutants))
    if whole.word != "SURVIVED":
        print(f"a case fails without a mutant: {whole.by}")
        return 1
    bad = 0
    with ThreadPoolExecutor(chosen.jobs) as pool:
        for fate in pool.map(try_out, mutants):
            bad += fate.word != "noticed"
            print(f"{fate.word:9} {fate.mutant.file:21} {fate.mutant.name:52} {fate.seconds:4.0f} s  {fate.by}", flush=True)
    print(f"{len(mutants)} mutants, {len(mutants) - bad} noticed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
