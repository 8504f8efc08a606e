-- v/1, keep: first
SELECT 'added' AS _side, _id, id_7, name_8 FROM (
  SELECT id_7, name_8, `_id_id_7` AS _id FROM (
    SELECT `id_1` AS id_7, `name_6` AS name_8, `_id_id_1` AS _id_id_7 FROM (
      SELECT id_1, customer_2, id_5, name_6, CONCAT_WS('.', HEX(XXHASH64(1, `_id_id_1` IS NULL, `_id_id_1`, `_id_id_5` IS NULL, `_id_id_5`)), HEX(XXHASH64(2, `_id_id_1` IS NULL, `_id_id_1`, `_id_id_5` IS NULL, `_id_id_5`))) AS _id_id_1
      FROM (
        SELECT id AS id_1, customer AS customer_2, _id AS _id_id_1 FROM `orders@new`
      )
      JOIN (
        SELECT id AS id_5, name AS name_6, _id AS _id_id_5 FROM `customers@new`
      ) ON `customer_2` = `id_5`
    )
  )
)

-- v/1, keep: arrivals only
SELECT 'added' AS _side, `_id_id_7` AS _id, id_7, name_8 FROM (
  SELECT `id_1` AS id_7, `name_6` AS name_8, `_id_id_1` AS _id_id_7 FROM (
    SELECT id_1, customer_2, id_5, name_6, CONCAT_WS('.', HEX(XXHASH64(1, `_id_id_1` IS NULL, `_id_id_1`, `_id_id_5` IS NULL, `_id_id_5`)), HEX(XXHASH64(2, `_id_id_1` IS NULL, `_id_id_1`, `_id_id_5` IS NULL, `_id_id_5`))) AS _id_id_1 FROM (
      SELECT id_1, customer_2, id_5, name_6, _id_id_1, _id_id_5
      FROM (
        SELECT id AS id_1, customer AS customer_2, _id AS _id_id_1 FROM `orders@added`
      )
      JOIN (
        SELECT id AS id_5, name AS name_6, _id AS _id_id_5 FROM `customers@new`
      ) ON `customer_2` = `id_5`
      UNION ALL
      SELECT id_1, customer_2, id_5, name_6, _id_id_1, _id_id_5
      FROM (
        SELECT id AS id_5, name AS name_6, _id AS _id_id_5 FROM `customers@added`
      )
      JOIN (
        SELECT id AS id_1, customer AS customer_2, _id AS _id_id_1 FROM `orders@old`
      ) ON `customer_2` = `id_5`
    )
  )
)

-- v/1, keep: arrivals and departures
WITH part_1 AS (
  SELECT `id` AS id_5, `name` AS name_6, `_id` AS _id_id_5, TRUE AS _state_id_5 FROM `customers@added`
),
part_2 AS (
  SELECT `id` AS id_5, `name` AS name_6, `_id` AS _id_id_5, FALSE AS _state_id_5 FROM `customers@removed`
)
SELECT IF(`_state_id_7`, 'added', 'removed') AS _side, `_id_id_7` AS _id, id_7, name_8 FROM (
  SELECT `id_1` AS id_7, `name_6` AS name_8, `_id_id_1` AS _id_id_7, `_state_id_1` AS _state_id_7 FROM (
    SELECT id_1, customer_2, id_5, name_6, _state_id_1, CONCAT_WS('.', HEX(XXHASH64(1, `_id_id_1` IS NULL, `_id_id_1`, `_id_id_5` IS NULL, `_id_id_5`)), HEX(XXHASH64(2, `_id_id_1` IS NULL, `_id_id_1`, `_id_id_5` IS NULL, `_id_id_5`))) AS _id_id_1 FROM (
      SELECT id_1, customer_2, id_5, name_6, _id_id_1, _id_id_5, _state_id_1 FROM (
        SELECT id_1, customer_2, _id_id_1, _state_id_1, id_5, name_6, _id_id_5
        FROM (
          SELECT `id` AS id_1, `customer` AS customer_2, `_id` AS _id_id_1, TRUE AS _state_id_1 FROM `orders@added`
          UNION ALL
          SELECT `id` AS id_1, `customer` AS customer_2, `_id` AS _id_id_1, FALSE AS _state_id_1 FROM `orders@removed`
        )
        JOIN (
          SELECT `id` AS id_5, `name` AS name_6, `_id` AS _id_id_5, CAST(NULL AS BOOLEAN) AS _state_id_5 FROM `customers@kept`
          UNION ALL
          SELECT id_5, name_6, _id_id_5, _state_id_5 FROM part_1
          UNION ALL
          SELECT id_5, name_6, _id_id_5, _state_id_5 FROM part_2
        ) ON `customer_2` = `id_5` AND (`_state_id_5` IS NULL OR `_state_id_5` = `_state_id_1`)
      )
      UNION ALL
      SELECT id_1, customer_2, id_5, name_6, _id_id_1, _id_id_5, _state_id_5
      FROM (
        SELECT id_5, name_6, _id_id_5, _state_id_5 FROM part_1
        UNION ALL
        SELECT id_5, name_6, _id_id_5, _state_id_5 FROM part_2
      )
      JOIN (
        SELECT id AS id_1, customer AS customer_2, _id AS _id_id_1 FROM `orders@kept`
      ) ON `customer_2` = `id_5`
    )
  )
)
