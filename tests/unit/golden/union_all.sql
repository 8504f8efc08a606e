-- v/1, keep: first
SELECT 'added' AS _side, _id, id_9 FROM (
  SELECT id_9, `_id_id_9` AS _id FROM (
    SELECT `id_5` AS id_9, CONCAT_WS('.', HEX(XXHASH64(1, 0 IS NULL, 0, `_id_id_5` IS NULL, `_id_id_5`)), HEX(XXHASH64(2, 0 IS NULL, 0, `_id_id_5` IS NULL, `_id_id_5`))) AS _id_id_9 FROM (
      SELECT `id` AS id_5, `_id` AS _id_id_5 FROM `orders@new`
    )
    UNION ALL
    SELECT `id_8` AS id_9, CONCAT_WS('.', HEX(XXHASH64(1, 1 IS NULL, 1, `_id_id_8` IS NULL, `_id_id_8`)), HEX(XXHASH64(2, 1 IS NULL, 1, `_id_id_8` IS NULL, `_id_id_8`))) AS _id_id_9 FROM (
      SELECT `id` AS id_8, `_id` AS _id_id_8 FROM `customers@new`
    )
  )
)

-- v/1, keep: arrivals only
SELECT 'added' AS _side, `_id_id_9` AS _id, id_9 FROM (
  SELECT `id_5` AS id_9, CONCAT_WS('.', HEX(XXHASH64(1, 0 IS NULL, 0, `_id_id_5` IS NULL, `_id_id_5`)), HEX(XXHASH64(2, 0 IS NULL, 0, `_id_id_5` IS NULL, `_id_id_5`))) AS _id_id_9 FROM (
    SELECT `id` AS id_5, `_id` AS _id_id_5 FROM `orders@added`
  )
  UNION ALL
  SELECT `id_8` AS id_9, CONCAT_WS('.', HEX(XXHASH64(1, 1 IS NULL, 1, `_id_id_8` IS NULL, `_id_id_8`)), HEX(XXHASH64(2, 1 IS NULL, 1, `_id_id_8` IS NULL, `_id_id_8`))) AS _id_id_9 FROM (
    SELECT `id` AS id_8, `_id` AS _id_id_8 FROM `customers@added`
  )
)

-- v/1, keep: arrivals and departures
SELECT IF(`_state_id_9`, 'added', 'removed') AS _side, `_id_id_9` AS _id, id_9 FROM (
  SELECT `id_5` AS id_9, CONCAT_WS('.', HEX(XXHASH64(1, 0 IS NULL, 0, `_id_id_5` IS NULL, `_id_id_5`)), HEX(XXHASH64(2, 0 IS NULL, 0, `_id_id_5` IS NULL, `_id_id_5`))) AS _id_id_9, `_state_id_5` AS _state_id_9 FROM (
    SELECT `id_1` AS id_5, `_id_id_1` AS _id_id_5, `_state_id_1` AS _state_id_5 FROM (
      SELECT `id` AS id_1, `_id` AS _id_id_1, TRUE AS _state_id_1 FROM `orders@added`
      UNION ALL
      SELECT `id` AS id_1, `_id` AS _id_id_1, FALSE AS _state_id_1 FROM `orders@removed`
    )
  )
  UNION ALL
  SELECT `id_8` AS id_9, CONCAT_WS('.', HEX(XXHASH64(1, 1 IS NULL, 1, `_id_id_8` IS NULL, `_id_id_8`)), HEX(XXHASH64(2, 1 IS NULL, 1, `_id_id_8` IS NULL, `_id_id_8`))) AS _id_id_9, `_state_id_8` AS _state_id_9 FROM (
    SELECT `id_6` AS id_8, `_id_id_6` AS _id_id_8, `_state_id_6` AS _state_id_8 FROM (
      SELECT `id` AS id_6, `_id` AS _id_id_6, TRUE AS _state_id_6 FROM `customers@added`
      UNION ALL
      SELECT `id` AS id_6, `_id` AS _id_id_6, FALSE AS _state_id_6 FROM `customers@removed`
    )
  )
)
