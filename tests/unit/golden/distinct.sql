-- v/1, aggregate: first
SELECT 'added' AS _side, _id, region_5, _n FROM (
  SELECT region_5, _n, CONCAT_WS('.', HEX(XXHASH64(1, `region_5` IS NULL, `region_5`)), HEX(XXHASH64(2, `region_5` IS NULL, `region_5`))) AS _id FROM (
    SELECT region_5, COUNT(*) AS _n FROM (
      SELECT `region` AS region_5 FROM `orders@new`
    )
    GROUP BY region_5
  )
)

-- v/1, aggregate: arrivals only
SELECT IF(`arrives`, 'added', 'removed') AS _side, IF(`arrives`, `new__id`, `old__id`) AS _id, IF(`arrives`, `new_region_5`, `old_region_5`) AS region_5, IF(`arrives`, `new__n`, `old__n`) AS _n FROM (
  SELECT new__id, old__id, new_region_5, new__n, old_region_5, old__n, leaves, comes, turn, arrives FROM (
    SELECT new__id, old__id, new_region_5, new__n, old_region_5, old__n, `is_old` AND NOT ((`is_old` AND `is_new`) AND `new_region_5` IS NOT DISTINCT FROM `old_region_5` AND `new__n` IS NOT DISTINCT FROM `old__n`) AS leaves, `is_new` AND NOT ((`is_old` AND `is_new`) AND `new_region_5` IS NOT DISTINCT FROM `old_region_5` AND `new__n` IS NOT DISTINCT FROM `old__n`) AS comes FROM (
      SELECT NOT `old__id` IS NULL AS is_old, CAST(COALESCE(`old__n`, CAST(0 AS BIGINT)) + COALESCE(`_n`, CAST(0 AS BIGINT)) AS BIGINT) > 0 AS is_new, `_id` AS new__id, old__id, `region_5` AS new_region_5, CAST(COALESCE(`old__n`, CAST(0 AS BIGINT)) + COALESCE(`_n`, CAST(0 AS BIGINT)) AS BIGINT) AS new__n, old_region_5, old__n
      FROM (
        SELECT region_5, _n, CONCAT_WS('.', HEX(XXHASH64(1, `region_5` IS NULL, `region_5`)), HEX(XXHASH64(2, `region_5` IS NULL, `region_5`))) AS _id FROM (
          SELECT region_5, COUNT(*) AS _n FROM (
            SELECT `region` AS region_5 FROM `orders@added`
          )
          GROUP BY region_5
        )
      )
      LEFT JOIN (
        SELECT `_id` AS old__id, `region_5` AS old_region_5, `_n` AS old__n FROM `v/1@own`
      ) ON `_id` = `old__id`
    )
  )
  LATERAL VIEW posexplode(ARRAY(FALSE, TRUE)) g AS turn, arrives
)
WHERE IF(`arrives`, `comes`, `leaves`)

-- v/1, aggregate: arrivals and departures
SELECT IF(`arrives`, 'added', 'removed') AS _side, IF(`arrives`, `new__id`, `old__id`) AS _id, IF(`arrives`, `new_region_5`, `old_region_5`) AS region_5, IF(`arrives`, `new__n`, `old__n`) AS _n FROM (
  SELECT new__id, old__id, new_region_5, new__n, old_region_5, old__n, leaves, comes, turn, arrives FROM (
    SELECT new__id, old__id, new_region_5, new__n, old_region_5, old__n, `is_old` AND NOT ((`is_old` AND `is_new`) AND `new_region_5` IS NOT DISTINCT FROM `old_region_5` AND `new__n` IS NOT DISTINCT FROM `old__n`) AS leaves, `is_new` AND NOT ((`is_old` AND `is_new`) AND `new_region_5` IS NOT DISTINCT FROM `old_region_5` AND `new__n` IS NOT DISTINCT FROM `old__n`) AS comes FROM (
      SELECT NOT `old__id` IS NULL AS is_old, CAST(COALESCE(`old__n`, CAST(0 AS BIGINT)) + COALESCE(`_n`, CAST(0 AS BIGINT)) AS BIGINT) > 0 AS is_new, `_id` AS new__id, old__id, `region_5` AS new_region_5, CAST(COALESCE(`old__n`, CAST(0 AS BIGINT)) + COALESCE(`_n`, CAST(0 AS BIGINT)) AS BIGINT) AS new__n, old_region_5, old__n
      FROM (
        SELECT region_5, _n, CONCAT_WS('.', HEX(XXHASH64(1, `region_5` IS NULL, `region_5`)), HEX(XXHASH64(2, `region_5` IS NULL, `region_5`))) AS _id FROM (
          SELECT region_5, SUM(`_w`) AS _n FROM (
            SELECT region_5, IF(`_state_region_5`, 1, -1) AS _w FROM (
              SELECT `region_3` AS region_5, `_state_region_3` AS _state_region_5 FROM (
                SELECT `region` AS region_3, TRUE AS _state_region_3 FROM `orders@added`
                UNION ALL
                SELECT `region` AS region_3, FALSE AS _state_region_3 FROM `orders@removed`
              )
            )
          )
          GROUP BY region_5
        )
      )
      LEFT JOIN (
        SELECT `_id` AS old__id, `region_5` AS old_region_5, `_n` AS old__n FROM `v/1@own`
      ) ON `_id` = `old__id`
    )
  )
  LATERAL VIEW posexplode(ARRAY(FALSE, TRUE)) g AS turn, arrives
)
WHERE IF(`arrives`, `comes`, `leaves`)
