"""Random cases: schemas, views over every operator, rows with NULLs and duplicates, changes and schedules.

Each case is a case file that nobody wrote. It is run like one, and after every read the view must be what the same engine computes from
scratch. A case that fails is made smaller until nothing can be left out, and printed as a case file.

    tables.py   schemas, rows, and changes
    queries.py  queries: FROM, joins, shapes of SELECT, set operations, limits, named queries
    scalars.py  expressions and conditions
    trial.py    running one case
    shrink.py   making a failing case small
    campaign.py many cases, and a report
"""
