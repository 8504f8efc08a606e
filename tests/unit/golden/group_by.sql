-- v/1, aggregate: first
SELECT 'added' AS _side, _id, region_3, sum_amount_5_count, sum_amount_5_sum, count_6_count, _n FROM (
  SELECT region_3, sum_amount_5_count, sum_amount_5_sum, count_6_count, _n, CONCAT_WS('.', HEX(XXHASH64(1, `region_3` IS NULL, `region_3`)), HEX(XXHASH64(2, `region_3` IS NULL, `region_3`))) AS _id FROM (
    SELECT region_3, COUNT(`amount_4`) AS sum_amount_5_count, SUM(`amount_4`) AS sum_amount_5_sum, COUNT(*) AS count_6_count, COUNT(*) AS _n FROM (
      SELECT region AS region_3, amount AS amount_4 FROM `orders@new`
    )
    GROUP BY region_3
  )
)

-- v/1, aggregate: arrivals only
SELECT IF(`arrives`, 'added', 'removed') AS _side, IF(`arrives`, `new__id`, `old__id`) AS _id, IF(`arrives`, `new_region_3`, `old_region_3`) AS region_3, IF(`arrives`, `new_sum_amount_5_count`, `old_sum_amount_5_count`) AS sum_amount_5_count, IF(`arrives`, `new_sum_amount_5_sum`, `old_sum_amount_5_sum`) AS sum_amount_5_sum, IF(`arrives`, `new_count_6_count`, `old_count_6_count`) AS count_6_count, IF(`arrives`, `new__n`, `old__n`) AS _n FROM (
  SELECT new__id, old__id, new_region_3, new_sum_amount_5_count, new_sum_amount_5_sum, new_count_6_count, new__n, old_region_3, old_sum_amount_5_count, old_sum_amount_5_sum, old_count_6_count, old__n, leaves, comes, turn, arrives FROM (
    SELECT new__id, old__id, new_region_3, new_sum_amount_5_count, new_sum_amount_5_sum, new_count_6_count, new__n, old_region_3, old_sum_amount_5_count, old_sum_amount_5_sum, old_count_6_count, old__n, `is_old` AND NOT ((`is_old` AND `is_new`) AND `new_region_3` IS NOT DISTINCT FROM `old_region_3` AND `new_sum_amount_5_count` IS NOT DISTINCT FROM `old_sum_amount_5_count` AND `new_sum_amount_5_sum` IS NOT DISTINCT FROM `old_sum_amount_5_sum` AND `new_count_6_count` IS NOT DISTINCT FROM `old_count_6_count` AND `new__n` IS NOT DISTINCT FROM `old__n`) AS leaves, `is_new` AND NOT ((`is_old` AND `is_new`) AND `new_region_3` IS NOT DISTINCT FROM `old_region_3` AND `new_sum_amount_5_count` IS NOT DISTINCT FROM `old_sum_amount_5_count` AND `new_sum_amount_5_sum` IS NOT DISTINCT FROM `old_sum_amount_5_sum` AND `new_count_6_count` IS NOT DISTINCT FROM `old_count_6_count` AND `new__n` IS NOT DISTINCT FROM `old__n`) AS comes FROM (
      SELECT NOT `old__id` IS NULL AS is_old, CAST(COALESCE(`old__n`, CAST(0 AS BIGINT)) + COALESCE(`_n`, CAST(0 AS BIGINT)) AS BIGINT) > 0 AS is_new, `_id` AS new__id, old__id, `region_3` AS new_region_3, CAST(COALESCE(`old_sum_amount_5_count`, CAST(0 AS BIGINT)) + COALESCE(`sum_amount_5_count`, CAST(0 AS BIGINT)) AS BIGINT) AS new_sum_amount_5_count, CAST(COALESCE(`old_sum_amount_5_sum`, CAST(0 AS BIGINT)) + COALESCE(`sum_amount_5_sum`, CAST(0 AS BIGINT)) AS BIGINT) AS new_sum_amount_5_sum, CAST(COALESCE(`old_count_6_count`, CAST(0 AS BIGINT)) + COALESCE(`count_6_count`, CAST(0 AS BIGINT)) AS BIGINT) AS new_count_6_count, CAST(COALESCE(`old__n`, CAST(0 AS BIGINT)) + COALESCE(`_n`, CAST(0 AS BIGINT)) AS BIGINT) AS new__n, old_region_3, old_sum_amount_5_count, old_sum_amount_5_sum, old_count_6_count, old__n
      FROM (
        SELECT region_3, sum_amount_5_count, sum_amount_5_sum, count_6_count, _n, CONCAT_WS('.', HEX(XXHASH64(1, `region_3` IS NULL, `region_3`)), HEX(XXHASH64(2, `region_3` IS NULL, `region_3`))) AS _id FROM (
          SELECT region_3, COUNT(`amount_4`) AS sum_amount_5_count, SUM(`amount_4`) AS sum_amount_5_sum, COUNT(*) AS count_6_count, COUNT(*) AS _n FROM (
            SELECT region AS region_3, amount AS amount_4 FROM `orders@added`
          )
          GROUP BY region_3
        )
      )
      LEFT JOIN (
        SELECT `_id` AS old__id, `region_3` AS old_region_3, `sum_amount_5_count` AS old_sum_amount_5_count, `sum_amount_5_sum` AS old_sum_amount_5_sum, `count_6_count` AS old_count_6_count, `_n` AS old__n FROM `v/1@own`
      ) ON `_id` = `old__id`
    )
  )
  LATERAL VIEW posexplode(ARRAY(FALSE, TRUE)) g AS turn, arrives
)
WHERE IF(`arrives`, `comes`, `leaves`)

-- v/1, aggregate: arrivals and departures
SELECT IF(`arrives`, 'added', 'removed') AS _side, IF(`arrives`, `new__id`, `old__id`) AS _id, IF(`arrives`, `new_region_3`, `old_region_3`) AS region_3, IF(`arrives`, `new_sum_amount_5_count`, `old_sum_amount_5_count`) AS sum_amount_5_count, IF(`arrives`, `new_sum_amount_5_sum`, `old_sum_amount_5_sum`) AS sum_amount_5_sum, IF(`arrives`, `new_count_6_count`, `old_count_6_count`) AS count_6_count, IF(`arrives`, `new__n`, `old__n`) AS _n FROM (
  SELECT new__id, old__id, new_region_3, new_sum_amount_5_count, new_sum_amount_5_sum, new_count_6_count, new__n, old_region_3, old_sum_amount_5_count, old_sum_amount_5_sum, old_count_6_count, old__n, leaves, comes, turn, arrives FROM (
    SELECT new__id, old__id, new_region_3, new_sum_amount_5_count, new_sum_amount_5_sum, new_count_6_count, new__n, old_region_3, old_sum_amount_5_count, old_sum_amount_5_sum, old_count_6_count, old__n, `is_old` AND NOT ((`is_old` AND `is_new`) AND `new_region_3` IS NOT DISTINCT FROM `old_region_3` AND `new_sum_amount_5_count` IS NOT DISTINCT FROM `old_sum_amount_5_count` AND `new_sum_amount_5_sum` IS NOT DISTINCT FROM `old_sum_amount_5_sum` AND `new_count_6_count` IS NOT DISTINCT FROM `old_count_6_count` AND `new__n` IS NOT DISTINCT FROM `old__n`) AS leaves, `is_new` AND NOT ((`is_old` AND `is_new`) AND `new_region_3` IS NOT DISTINCT FROM `old_region_3` AND `new_sum_amount_5_count` IS NOT DISTINCT FROM `old_sum_amount_5_count` AND `new_sum_amount_5_sum` IS NOT DISTINCT FROM `old_sum_amount_5_sum` AND `new_count_6_count` IS NOT DISTINCT FROM `old_count_6_count` AND `new__n` IS NOT DISTINCT FROM `old__n`) AS comes FROM (
      SELECT NOT `old__id` IS NULL AS is_old, CAST(COALESCE(`old__n`, CAST(0 AS BIGINT)) + COALESCE(`_n`, CAST(0 AS BIGINT)) AS BIGINT) > 0 AS is_new, `_id` AS new__id, old__id, `region_3` AS new_region_3, CAST(COALESCE(`old_sum_amount_5_count`, CAST(0 AS BIGINT)) + COALESCE(`sum_amount_5_count`, CAST(0 AS BIGINT)) AS BIGINT) AS new_sum_amount_5_count, CAST(COALESCE(`old_sum_amount_5_sum`, CAST(0 AS BIGINT)) + COALESCE(`sum_amount_5_sum`, CAST(0 AS BIGINT)) AS BIGINT) AS new_sum_amount_5_sum, CAST(COALESCE(`old_count_6_count`, CAST(0 AS BIGINT)) + COALESCE(`count_6_count`, CAST(0 AS BIGINT)) AS BIGINT) AS new_count_6_count, CAST(COALESCE(`old__n`, CAST(0 AS BIGINT)) + COALESCE(`_n`, CAST(0 AS BIGINT)) AS BIGINT) AS new__n, old_region_3, old_sum_amount_5_count, old_sum_amount_5_sum, old_count_6_count, old__n
      FROM (
        SELECT region_3, sum_amount_5_count, sum_amount_5_sum, count_6_count, _n, CONCAT_WS('.', HEX(XXHASH64(1, `region_3` IS NULL, `region_3`)), HEX(XXHASH64(2, `region_3` IS NULL, `region_3`))) AS _id FROM (
          SELECT region_3, SUM(IF(NOT (`amount_4`) IS NULL, `_w`, 0)) AS sum_amount_5_count, SUM(IF(`_w` > 0, CAST(`amount_4` AS BIGINT), -(CAST(`amount_4` AS BIGINT)))) AS sum_amount_5_sum, SUM(`_w`) AS count_6_count, SUM(`_w`) AS _n FROM (
            SELECT region_3, amount_4, IF(`_state_region_3`, 1, -1) AS _w FROM (
              SELECT `region` AS region_3, `amount` AS amount_4, TRUE AS _state_region_3 FROM `orders@added`
              UNION ALL
              SELECT `region` AS region_3, `amount` AS amount_4, FALSE AS _state_region_3 FROM `orders@removed`
            )
          )
          GROUP BY region_3
        )
      )
      LEFT JOIN (
        SELECT `_id` AS old__id, `region_3` AS old_region_3, `sum_amount_5_count` AS old_sum_amount_5_count, `sum_amount_5_sum` AS old_sum_amount_5_sum, `count_6_count` AS old_count_6_count, `_n` AS old__n FROM `v/1@own`
      ) ON `_id` = `old__id`
    )
  )
  LATERAL VIEW posexplode(ARRAY(FALSE, TRUE)) g AS turn, arrives
)
WHERE IF(`arrives`, `comes`, `leaves`)
