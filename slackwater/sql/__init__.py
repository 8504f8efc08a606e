"""Text -> statement -> plan."""

from slackwater.sql.parameters import substitute
from slackwater.sql.pieces import Piece, is_complete, split
from slackwater.sql.relations import relations_in, rename_relations
from slackwater.sql.statements import parse

__all__ = ["Piece", "is_complete", "parse", "relations_in", "rename_relations", "split", "substitute"]
