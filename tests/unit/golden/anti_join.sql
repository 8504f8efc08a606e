-- v/1, keep: first
SELECT 'added' AS _side, _id, name_8 FROM (
  SELECT name_8, `_id_name_8` AS _id FROM (
    SELECT `name_2` AS name_8, `_id_id_1` AS _id_name_8 FROM (
      SELECT id_1, name_2, _id_id_1
      FROM (
        SELECT id AS id_1, name AS name_2, _id AS _id_id_1 FROM `customers@new`
      )
      LEFT ANTI JOIN (
        SELECT customer AS customer_4 FROM `orders@new`
      ) ON `customer_4` = `id_1`
    )
  )
)

-- v/1, keep: arrivals only
WITH part_1 AS (
  SELECT id_1, name_2, _id_id_1
  FROM (
    SELECT id AS id_1, name AS name_2, _id AS _id_id_1 FROM `customers@old`
  )
  LEFT SEMI JOIN (
    SELECT customer AS customer_4 FROM `orders@added`
  ) ON `customer_4` = `id_1`
)
SELECT _side, _id, name_8 FROM (
  SELECT 'added' AS _side, `_id_name_8` AS _id, name_8 FROM (
    SELECT `name_2` AS name_8, `_id_id_1` AS _id_name_8 FROM (
      SELECT id_1, name_2, _id_id_1
      FROM (
        SELECT id AS id_1, name AS name_2, _id AS _id_id_1 FROM `customers@added`
      )
      LEFT ANTI JOIN (
        SELECT customer_4
        FROM (
          SELECT customer AS customer_4 FROM `orders@new`
        )
        LEFT SEMI JOIN (
          SELECT `id_1` AS wanted_0 FROM (
            SELECT id AS id_1, name AS name_2, _id AS _id_id_1 FROM `customers@added`
          )
        ) ON `customer_4` = `wanted_0`
      ) ON `customer_4` = `id_1`
    )
  )
)
UNION ALL
SELECT _side, _id, name_8 FROM (
  SELECT 'removed' AS _side, `_id_name_8` AS _id, name_8 FROM (
    SELECT `name_2` AS name_8, `_id_id_1` AS _id_name_8 FROM (
      SELECT id_1, name_2, _id_id_1
      FROM part_1
      LEFT ANTI JOIN (
        SELECT customer_4
        FROM (
          SELECT customer AS customer_4 FROM `orders@old`
        )
        LEFT SEMI JOIN (
          SELECT `id_1` AS wanted_0 FROM part_1
        ) ON `customer_4` = `wanted_0`
      ) ON `customer_4` = `id_1`
    )
  )
)

-- v/1, keep: arrivals and departures
WITH part_1 AS (
  SELECT id_1, name_2, _id_id_1
  FROM (
    SELECT id AS id_1, name AS name_2, _id AS _id_id_1 FROM `customers@kept`
  )
  LEFT SEMI JOIN (
    SELECT customer AS customer_4 FROM `orders@removed`
  ) ON `customer_4` = `id_1`
),
part_2 AS (
  SELECT id_1, name_2, _id_id_1
  FROM (
    SELECT id AS id_1, name AS name_2, _id AS _id_id_1 FROM `customers@kept`
  )
  LEFT SEMI JOIN (
    SELECT customer AS customer_4 FROM `orders@added`
  ) ON `customer_4` = `id_1`
)
SELECT _side, _id, name_8 FROM (
  SELECT 'added' AS _side, `_id_name_8` AS _id, name_8 FROM (
    SELECT `name_2` AS name_8, `_id_id_1` AS _id_name_8 FROM (
      SELECT id_1, name_2, _id_id_1 FROM (
        SELECT id_1, name_2, _id_id_1
        FROM (
          SELECT id AS id_1, name AS name_2, _id AS _id_id_1 FROM `customers@added`
        )
        LEFT ANTI JOIN (
          SELECT customer_4
          FROM (
            SELECT customer AS customer_4 FROM `orders@new`
          )
          LEFT SEMI JOIN (
            SELECT `id_1` AS wanted_0 FROM (
              SELECT id AS id_1, name AS name_2, _id AS _id_id_1 FROM `customers@added`
            )
          ) ON `customer_4` = `wanted_0`
        ) ON `customer_4` = `id_1`
      )
      UNION ALL
      SELECT id_1, name_2, _id_id_1 FROM (
        SELECT id_1, name_2, _id_id_1
        FROM part_1
        LEFT ANTI JOIN (
          SELECT customer_4
          FROM (
            SELECT customer AS customer_4 FROM `orders@new`
          )
          LEFT SEMI JOIN (
            SELECT `id_1` AS wanted_0 FROM part_1
          ) ON `customer_4` = `wanted_0`
        ) ON `customer_4` = `id_1`
      )
    )
  )
)
UNION ALL
SELECT _side, _id, name_8 FROM (
  SELECT 'removed' AS _side, `_id_name_8` AS _id, name_8 FROM (
    SELECT `name_2` AS name_8, `_id_id_1` AS _id_name_8 FROM (
      SELECT id_1, name_2, _id_id_1 FROM (
        SELECT id_1, name_2, _id_id_1
        FROM (
          SELECT id AS id_1, name AS name_2, _id AS _id_id_1 FROM `customers@removed`
        )
        LEFT ANTI JOIN (
          SELECT customer_4
          FROM (
            SELECT customer AS customer_4 FROM `orders@old`
          )
          LEFT SEMI JOIN (
            SELECT `id_1` AS wanted_0 FROM (
              SELECT id AS id_1, name AS name_2, _id AS _id_id_1 FROM `customers@removed`
            )
          ) ON `customer_4` = `wanted_0`
        ) ON `customer_4` = `id_1`
      )
      UNION ALL
      SELECT id_1, name_2, _id_id_1 FROM (
        SELECT id_1, name_2, _id_id_1
        FROM part_2
        LEFT ANTI JOIN (
          SELECT customer_4
          FROM (
            SELECT customer AS customer_4 FROM `orders@old`
          )
          LEFT SEMI JOIN (
            SELECT `id_1` AS wanted_0 FROM part_2
          ) ON `customer_4` = `wanted_0`
        ) ON `customer_4` = `id_1`
      )
    )
  )
)
