-- v/1, aggregate: first
SELECT 'added' AS _side, _id, region_3, count_customer_5_value FROM (
  SELECT region_3, count_customer_5_value, CONCAT_WS('.', HEX(XXHASH64(1, `region_3` IS NULL, `region_3`)), HEX(XXHASH64(2, `region_3` IS NULL, `region_3`))) AS _id FROM (
    SELECT region_3, COUNT(DISTINCT `customer_2`) AS count_customer_5_value FROM (
      SELECT customer AS customer_2, region AS region_3 FROM `orders@new`
    )
    GROUP BY region_3
  )
)

-- v/1, aggregate: arrivals only
WITH part_1 AS (
  SELECT touched_0 FROM (
    SELECT `region` AS touched_0 FROM `orders@added`
  )
  GROUP BY touched_0
)
SELECT IF(`arrives`, 'added', 'removed') AS _side, IF(`arrives`, `new__id`, `old__id`) AS _id, IF(`arrives`, `new_region_3`, `old_region_3`) AS region_3, IF(`arrives`, `new_count_customer_5_value`, `old_count_customer_5_value`) AS count_customer_5_value FROM (
  SELECT new__id, old__id, new_region_3, new_count_customer_5_value, old_region_3, old_count_customer_5_value, leaves, comes, turn, arrives FROM (
    SELECT new__id, old__id, new_region_3, new_count_customer_5_value, old_region_3, old_count_customer_5_value, `is_old` AND NOT ((`is_old` AND `is_new`) AND `new_region_3` IS NOT DISTINCT FROM `old_region_3` AND `new_count_customer_5_value` IS NOT DISTINCT FROM `old_count_customer_5_value`) AS leaves, `is_new` AND NOT ((`is_old` AND `is_new`) AND `new_region_3` IS NOT DISTINCT FROM `old_region_3` AND `new_count_customer_5_value` IS NOT DISTINCT FROM `old_count_customer_5_value`) AS comes FROM (
      SELECT NOT `old__id` IS NULL AS is_old, NOT `_id` IS NULL AS is_new, `_id` AS new__id, old__id, `region_3` AS new_region_3, `count_customer_5_value` AS new_count_customer_5_value, old_region_3, old_count_customer_5_value
      FROM (
        SELECT region_3, count_customer_5_value, CONCAT_WS('.', HEX(XXHASH64(1, `region_3` IS NULL, `region_3`)), HEX(XXHASH64(2, `region_3` IS NULL, `region_3`))) AS _id FROM (
          SELECT region_3, COUNT(DISTINCT `customer_2`) AS count_customer_5_value FROM (
            SELECT customer_2, region_3
            FROM (
              SELECT customer AS customer_2, region AS region_3 FROM `orders@new`
            )
            LEFT SEMI JOIN part_1 ON `region_3` IS NOT DISTINCT FROM `touched_0`
          )
          GROUP BY region_3
        )
      )
      FULL JOIN (
        SELECT `_id` AS old__id, `region_3` AS old_region_3, `count_customer_5_value` AS old_count_customer_5_value FROM (
          SELECT region_3, count_customer_5_value, _id
          FROM `v/1@own`
          LEFT SEMI JOIN (
            SELECT CONCAT_WS('.', HEX(XXHASH64(1, `touched_0` IS NULL, `touched_0`)), HEX(XXHASH64(2, `touched_0` IS NULL, `touched_0`))) AS touched_id FROM part_1
          ) ON `_id` = `touched_id`
        )
      ) ON `_id` = `old__id`
    )
  )
  LATERAL VIEW posexplode(ARRAY(FALSE, TRUE)) g AS turn, arrives
)
WHERE IF(`arrives`, `comes`, `leaves`)

-- v/1, aggregate: arrivals and departures
WITH part_1 AS (
  SELECT touched_0 FROM (
    SELECT `region_3` AS touched_0 FROM (
      SELECT `customer` AS customer_2, `region` AS region_3, TRUE AS _state_customer_2 FROM `orders@added`
      UNION ALL
      SELECT `customer` AS customer_2, `region` AS region_3, FALSE AS _state_customer_2 FROM `orders@removed`
    )
  )
  GROUP BY touched_0
)
SELECT IF(`arrives`, 'added', 'removed') AS _side, IF(`arrives`, `new__id`, `old__id`) AS _id, IF(`arrives`, `new_region_3`, `old_region_3`) AS region_3, IF(`arrives`, `new_count_customer_5_value`, `old_count_customer_5_value`) AS count_customer_5_value FROM (
  SELECT new__id, old__id, new_region_3, new_count_customer_5_value, old_region_3, old_count_customer_5_value, leaves, comes, turn, arrives FROM (
    SELECT new__id, old__id, new_region_3, new_count_customer_5_value, old_region_3, old_count_customer_5_value, `is_old` AND NOT ((`is_old` AND `is_new`) AND `new_region_3` IS NOT DISTINCT FROM `old_region_3` AND `new_count_customer_5_value` IS NOT DISTINCT FROM `old_count_customer_5_value`) AS leaves, `is_new` AND NOT ((`is_old` AND `is_new`) AND `new_region_3` IS NOT DISTINCT FROM `old_region_3` AND `new_count_customer_5_value` IS NOT DISTINCT FROM `old_count_customer_5_value`) AS comes FROM (
      SELECT NOT `old__id` IS NULL AS is_old, NOT `_id` IS NULL AS is_new, `_id` AS new__id, old__id, `region_3` AS new_region_3, `count_customer_5_value` AS new_count_customer_5_value, old_region_3, old_count_customer_5_value
      FROM (
        SELECT region_3, count_customer_5_value, CONCAT_WS('.', HEX(XXHASH64(1, `region_3` IS NULL, `region_3`)), HEX(XXHASH64(2, `region_3` IS NULL, `region_3`))) AS _id FROM (
          SELECT region_3, COUNT(DISTINCT `customer_2`) AS count_customer_5_value FROM (
            SELECT customer_2, region_3
            FROM (
              SELECT customer AS customer_2, region AS region_3 FROM `orders@new`
            )
            LEFT SEMI JOIN part_1 ON `region_3` IS NOT DISTINCT FROM `touched_0`
          )
          GROUP BY region_3
        )
      )
      FULL JOIN (
        SELECT `_id` AS old__id, `region_3` AS old_region_3, `count_customer_5_value` AS old_count_customer_5_value FROM (
          SELECT region_3, count_customer_5_value, _id
          FROM `v/1@own`
          LEFT SEMI JOIN (
            SELECT CONCAT_WS('.', HEX(XXHASH64(1, `touched_0` IS NULL, `touched_0`)), HEX(XXHASH64(2, `touched_0` IS NULL, `touched_0`))) AS touched_id FROM part_1
          ) ON `_id` = `touched_id`
        )
      ) ON `_id` = `old__id`
    )
  )
  LATERAL VIEW posexplode(ARRAY(FALSE, TRUE)) g AS turn, arrives
)
WHERE IF(`arrives`, `comes`, `leaves`)
