-- v/1, keep: first
SELECT 'added' AS _side, _id, name_7, amount_8 FROM (
  SELECT name_7, amount_8, `_id_name_7` AS _id FROM (
    SELECT `name_2` AS name_7, `amount_6` AS amount_8, `_id_id_1` AS _id_name_7 FROM (
      SELECT id_1, name_2, customer_4, amount_6, CONCAT_WS('.', HEX(XXHASH64(1, `_id_id_1` IS NULL, `_id_id_1`, `_id_customer_4` IS NULL, `_id_customer_4`)), HEX(XXHASH64(2, `_id_id_1` IS NULL, `_id_id_1`, `_id_customer_4` IS NULL, `_id_customer_4`))) AS _id_id_1
      FROM (
        SELECT id AS id_1, name AS name_2, _id AS _id_id_1 FROM `customers@new`
      )
      LEFT JOIN (
        SELECT customer AS customer_4, amount AS amount_6, _id AS _id_customer_4 FROM `orders@new`
      ) ON `customer_4` = `id_1`
    )
  )
)

-- v/1, keep: arrivals only
WITH part_1 AS (
  SELECT `customer` AS wanted_0 FROM `orders@added`
)
SELECT IF(`_state_name_7`, 'added', 'removed') AS _side, `_id_name_7` AS _id, name_7, amount_8 FROM (
  SELECT `name_2` AS name_7, `amount_6` AS amount_8, `_id_id_1` AS _id_name_7, `_state_id_1` AS _state_name_7 FROM (
    SELECT id_1, name_2, customer_4, amount_6, _id_id_1, TRUE AS _state_id_1 FROM (
      SELECT id_1, name_2, customer_4, amount_6, CONCAT_WS('.', HEX(XXHASH64(1, `_id_id_1` IS NULL, `_id_id_1`, `_id_customer_4` IS NULL, `_id_customer_4`)), HEX(XXHASH64(2, `_id_id_1` IS NULL, `_id_id_1`, `_id_customer_4` IS NULL, `_id_customer_4`))) AS _id_id_1 FROM (
        SELECT id_1, name_2, customer_4, amount_6, _id_id_1, _id_customer_4
        FROM (
          SELECT id AS id_1, name AS name_2, _id AS _id_id_1 FROM `customers@added`
        )
        JOIN (
          SELECT customer AS customer_4, amount AS amount_6, _id AS _id_customer_4 FROM `orders@new`
        ) ON `customer_4` = `id_1`
        UNION ALL
        SELECT id_1, name_2, customer_4, amount_6, _id_id_1, _id_customer_4
        FROM (
          SELECT customer AS customer_4, amount AS amount_6, _id AS _id_customer_4 FROM `orders@added`
        )
        JOIN (
          SELECT id AS id_1, name AS name_2, _id AS _id_id_1 FROM `customers@old`
        ) ON `customer_4` = `id_1`
      )
    )
    UNION ALL
    SELECT id_1, name_2, customer_4, amount_6, _id_id_1, _state_id_1 FROM (
      SELECT id_1, name_2, CAST(NULL AS BIGINT) AS customer_4, CAST(NULL AS BIGINT) AS amount_6, _state_id_1, CONCAT_WS('.', HEX(XXHASH64(1, `_id_id_1` IS NULL, `_id_id_1`, TRUE)), HEX(XXHASH64(2, `_id_id_1` IS NULL, `_id_id_1`, TRUE))) AS _id_id_1 FROM (
        SELECT id_1, name_2, _id_id_1, TRUE AS _state_id_1 FROM (
          SELECT id_1, name_2, _id_id_1
          FROM (
            SELECT id AS id_1, name AS name_2, _id AS _id_id_1 FROM `customers@added`
          )
          LEFT ANTI JOIN (
            SELECT customer_4, amount_6
            FROM (
              SELECT customer AS customer_4, amount AS amount_6 FROM `orders@new`
            )
            LEFT SEMI JOIN (
              SELECT `id` AS wanted_0 FROM `customers@added`
            ) ON `customer_4` = `wanted_0`
          ) ON `customer_4` = `id_1`
        )
        UNION ALL
        SELECT id_1, name_2, _id_id_1, FALSE AS _state_id_1 FROM (
          SELECT id_1, name_2, _id_id_1
          FROM (
            SELECT id_1, name_2, _id_id_1
            FROM (
              SELECT id AS id_1, name AS name_2, _id AS _id_id_1 FROM `customers@old`
            )
            LEFT SEMI JOIN part_1 ON `id_1` = `wanted_0`
          )
          LEFT ANTI JOIN (
            SELECT customer_4, amount_6
            FROM (
              SELECT customer AS customer_4, amount AS amount_6 FROM `orders@old`
            )
            LEFT SEMI JOIN part_1 ON `customer_4` = `wanted_0`
          ) ON `customer_4` = `id_1`
        )
      )
    )
  )
)

-- v/1, keep: arrivals and departures
WITH part_1 AS (
  SELECT `id` AS id_1, `name` AS name_2, `_id` AS _id_id_1, TRUE AS _state_id_1 FROM `customers@added`
  UNION ALL
  SELECT `id` AS id_1, `name` AS name_2, `_id` AS _id_id_1, FALSE AS _state_id_1 FROM `customers@removed`
),
part_2 AS (
  SELECT `customer` AS customer_4, `amount` AS amount_6, `_id` AS _id_customer_4, TRUE AS _state_customer_4 FROM `orders@added`
),
part_3 AS (
  SELECT `customer` AS customer_4, `amount` AS amount_6, `_id` AS _id_customer_4, FALSE AS _state_customer_4 FROM `orders@removed`
),
part_4 AS (
  SELECT `customer` AS customer_4, `amount` AS amount_6, TRUE AS _state_customer_4 FROM `orders@added`
),
part_5 AS (
  SELECT `customer` AS customer_4, `amount` AS amount_6, FALSE AS _state_customer_4 FROM `orders@removed`
),
part_6 AS (
  SELECT customer_4, amount_6, _state_customer_4 FROM part_4
  UNION ALL
  SELECT customer_4, amount_6, _state_customer_4 FROM part_5
),
part_7 AS (
  SELECT `customer_4` AS wanted_0 FROM part_6
)
SELECT IF(`_state_name_7`, 'added', 'removed') AS _side, `_id_name_7` AS _id, name_7, amount_8 FROM (
  SELECT `name_2` AS name_7, `amount_6` AS amount_8, `_id_id_1` AS _id_name_7, `_state_id_1` AS _state_name_7 FROM (
    SELECT id_1, name_2, customer_4, amount_6, _id_id_1, _state_id_1 FROM (
      SELECT id_1, name_2, customer_4, amount_6, _state_id_1, CONCAT_WS('.', HEX(XXHASH64(1, `_id_id_1` IS NULL, `_id_id_1`, `_id_customer_4` IS NULL, `_id_customer_4`)), HEX(XXHASH64(2, `_id_id_1` IS NULL, `_id_id_1`, `_id_customer_4` IS NULL, `_id_customer_4`))) AS _id_id_1 FROM (
        SELECT id_1, name_2, customer_4, amount_6, _id_id_1, _id_customer_4, _state_id_1 FROM (
          SELECT id_1, name_2, _id_id_1, _state_id_1, customer_4, amount_6, _id_customer_4
          FROM part_1
          JOIN (
            SELECT `customer` AS customer_4, `amount` AS amount_6, `_id` AS _id_customer_4, CAST(NULL AS BOOLEAN) AS _state_customer_4 FROM `orders@kept`
            UNION ALL
            SELECT customer_4, amount_6, _id_customer_4, _state_customer_4 FROM part_2
            UNION ALL
            SELECT customer_4, amount_6, _id_customer_4, _state_customer_4 FROM part_3
          ) ON `customer_4` = `id_1` AND (`_state_customer_4` IS NULL OR `_state_customer_4` = `_state_id_1`)
        )
        UNION ALL
        SELECT id_1, name_2, customer_4, amount_6, _id_id_1, _id_customer_4, _state_customer_4
        FROM (
          SELECT customer_4, amount_6, _id_customer_4, _state_customer_4 FROM part_2
          UNION ALL
          SELECT customer_4, amount_6, _id_customer_4, _state_customer_4 FROM part_3
        )
        JOIN (
          SELECT id AS id_1, name AS name_2, _id AS _id_id_1 FROM `customers@kept`
        ) ON `customer_4` = `id_1`
      )
    )
    UNION ALL
    SELECT id_1, name_2, customer_4, amount_6, _id_id_1, _state_id_1 FROM (
      SELECT id_1, name_2, CAST(NULL AS BIGINT) AS customer_4, CAST(NULL AS BIGINT) AS amount_6, _state_id_1, CONCAT_WS('.', HEX(XXHASH64(1, `_id_id_1` IS NULL, `_id_id_1`, TRUE)), HEX(XXHASH64(2, `_id_id_1` IS NULL, `_id_id_1`, TRUE))) AS _id_id_1 FROM (
        SELECT id_1, name_2, _id_id_1, _state_id_1
        FROM part_1
        LEFT ANTI JOIN (
          SELECT customer_4, amount_6, _state_customer_4
          FROM (
            SELECT `customer` AS customer_4, `amount` AS amount_6, CAST(NULL AS BOOLEAN) AS _state_customer_4 FROM `orders@kept`
            UNION ALL
            SELECT customer_4, amount_6, _state_customer_4 FROM part_4
            UNION ALL
            SELECT customer_4, amount_6, _state_customer_4 FROM part_5
          )
          LEFT SEMI JOIN (
            SELECT `id_1` AS wanted_0 FROM part_1
          ) ON `customer_4` = `wanted_0`
        ) ON `customer_4` = `id_1` AND (`_state_customer_4` IS NULL OR `_state_customer_4` = `_state_id_1`)
        UNION ALL
        SELECT id_1, name_2, _id_id_1, NOT `turn1` AS _state_id_1 FROM (
          SELECT id_1, name_2, _id_id_1, turn2, turn1
          FROM (
            SELECT id_1, name_2, _id_id_1, turn2, turn1
            FROM (
              SELECT id_1, name_2, _id_id_1, turn2, turn1 FROM (
                SELECT id_1, name_2, _id_id_1
                FROM (
                  SELECT id_1, name_2, _id_id_1
                  FROM (
                    SELECT id AS id_1, name AS name_2, _id AS _id_id_1 FROM `customers@kept`
                  )
                  LEFT SEMI JOIN part_7 ON `id_1` = `wanted_0`
                )
                LEFT ANTI JOIN (
                  SELECT customer_4, amount_6
                  FROM (
                    SELECT customer AS customer_4, amount AS amount_6 FROM `orders@kept`
                  )
                  LEFT SEMI JOIN part_7 ON `customer_4` = `wanted_0`
                ) ON `customer_4` = `id_1`
              )
              LATERAL VIEW posexplode(ARRAY(FALSE, TRUE)) g AS turn2, turn1
            )
            LEFT SEMI JOIN part_6 ON `customer_4` = `id_1` AND `_state_customer_4` = `turn1`
          )
          LEFT ANTI JOIN part_6 ON `customer_4` = `id_1` AND `_state_customer_4` <> `turn1`
        )
      )
    )
  )
)
