"""Warehouses whose processes are killed, over and over, and what is there afterwards.

A process of its own works on a warehouse: it changes tables, refreshes views, folds, vacuums and backs up. It and all of its group are
killed with SIGKILL, at a chosen call or at a random instant. The next process opens what is left, and must find every change that was
acknowledged exactly once, a change that was begun whole or not at all, views that equal what is computed from scratch, no file that nobody
needs, and the backup of one moment.

    model.py    the tables and views, and what they must show, in plain Python
    work.py     random statements, and what each does to the model
    points.py   calls at which a process can be killed
    worker.py   the process that is killed
    process.py  starting, asking and killing it
    verdict.py  comparing what is there with what may be
    trial.py    one warehouse and its kills
    shared.py   the same with two processes and a store in PostgreSQL
    campaign.py many of them, and a report
"""
