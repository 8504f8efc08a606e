"""The only folder that knows Spark: sessions, statements in, batches in and out."""

from slackwater.spark.engine import TAKEN, Engine
from slackwater.spark.failures import EngineLost
from slackwater.spark.start import start

__all__ = ["TAKEN", "Engine", "EngineLost", "start"]
