-- v/1, keep: first
SELECT 'added' AS _side, _id, name_8 FROM (
  SELECT name_8, `_id_name_8` AS _id FROM (
    SELECT `name_2` AS name_8, `_id_id_1` AS _id_name_8 FROM (
      SELECT id_1, name_2, _id_id_1
      FROM (
        SELECT id AS id_1, name AS name_2, _id AS _id_id_1 FROM `customers@new`
      )
      LEFT SEMI JOIN (
        SELECT customer AS customer_4 FROM `orders@new`
      ) ON `customer_4` = `id_1`
    )
  )
)

-- v/1, keep: arrivals only
WITH part_1 AS (
  SELECT `customer` AS wanted_0 FROM `orders@added`
)
SELECT 'added' AS _side, `_id_name_8` AS _id, name_8 FROM (
  SELECT `name_2` AS name_8, `_id_id_1` AS _id_name_8 FROM (
    SELECT id_1, name_2, _id_id_1
    FROM (
      SELECT id AS id_1, name AS name_2, _id AS _id_id_1 FROM `customers@added`
    )
    LEFT SEMI JOIN (
      SELECT customer_4
      FROM (
        SELECT customer AS customer_4 FROM `orders@new`
      )
      LEFT SEMI JOIN (
        SELECT `id` AS wanted_0 FROM `customers@added`
      ) ON `customer_4` = `wanted_0`
    ) ON `customer_4` = `id_1`
    UNION ALL
    SELECT id_1, name_2, _id_id_1
    FROM (
      SELECT id_1, name_2, _id_id_1
      FROM (
        SELECT id AS id_1, name AS name_2, _id AS _id_id_1 FROM `customers@old`
      )
      LEFT SEMI JOIN part_1 ON `id_1` = `wanted_0`
    )
    LEFT ANTI JOIN (
      SELECT customer_4
      FROM (
        SELECT customer AS customer_4 FROM `orders@old`
      )
      LEFT SEMI JOIN part_1 ON `customer_4` = `wanted_0`
    ) ON `customer_4` = `id_1`
  )
)

-- v/1, keep: arrivals and departures
WITH part_1 AS (
  SELECT `id` AS id_1, `name` AS name_2, `_id` AS _id_id_1, TRUE AS _state_id_1 FROM `customers@added`
  UNION ALL
  SELECT `id` AS id_1, `name` AS name_2, `_id` AS _id_id_1, FALSE AS _state_id_1 FROM `customers@removed`
),
part_2 AS (
  SELECT `customer` AS customer_4, TRUE AS _state_customer_4 FROM `orders@added`
),
part_3 AS (
  SELECT `customer` AS customer_4, FALSE AS _state_customer_4 FROM `orders@removed`
),
part_4 AS (
  SELECT customer_4, _state_customer_4 FROM part_2
  UNION ALL
  SELECT customer_4, _state_customer_4 FROM part_3
),
part_5 AS (
  SELECT `customer_4` AS wanted_0 FROM part_4
)
SELECT IF(`_state_name_8`, 'added', 'removed') AS _side, `_id_name_8` AS _id, name_8 FROM (
  SELECT `name_2` AS name_8, `_id_id_1` AS _id_name_8, `_state_id_1` AS _state_name_8 FROM (
    SELECT id_1, name_2, _id_id_1, _state_id_1
    FROM part_1
    LEFT SEMI JOIN (
      SELECT customer_4, _state_customer_4
      FROM (
        SELECT `customer` AS customer_4, CAST(NULL AS BOOLEAN) AS _state_customer_4 FROM `orders@kept`
        UNION ALL
        SELECT customer_4, _state_customer_4 FROM part_2
        UNION ALL
        SELECT customer_4, _state_customer_4 FROM part_3
      )
      LEFT SEMI JOIN (
        SELECT `id_1` AS wanted_0 FROM part_1
      ) ON `customer_4` = `wanted_0`
    ) ON `customer_4` = `id_1` AND (`_state_customer_4` IS NULL OR `_state_customer_4` = `_state_id_1`)
    UNION ALL
    SELECT id_1, name_2, _id_id_1, `turn1` AS _state_id_1 FROM (
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
              LEFT SEMI JOIN part_5 ON `id_1` = `wanted_0`
            )
            LEFT ANTI JOIN (
              SELECT customer_4
              FROM (
                SELECT customer AS customer_4 FROM `orders@kept`
              )
              LEFT SEMI JOIN part_5 ON `customer_4` = `wanted_0`
            ) ON `customer_4` = `id_1`
          )
          LATERAL VIEW posexplode(ARRAY(FALSE, TRUE)) g AS turn2, turn1
        )
        LEFT SEMI JOIN part_4 ON `customer_4` = `id_1` AND `_state_customer_4` = `turn1`
      )
      LEFT ANTI JOIN part_4 ON `customer_4` = `id_1` AND `_state_customer_4` <> `turn1`
    )
  )
)
