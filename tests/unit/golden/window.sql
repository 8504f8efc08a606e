-- v/1, window: first
SELECT 'added' AS _side, _id, id_1, region_3, amount_4, rank_5 FROM (
  SELECT id_1, region_3, amount_4, rank_5, `_id_id_1` AS _id FROM (
    SELECT id_1, region_3, amount_4, _id_id_1, RANK() OVER (PARTITION BY `region_3` ORDER BY `amount_4`) AS rank_5 FROM (
      SELECT id AS id_1, region AS region_3, amount AS amount_4, _id AS _id_id_1 FROM `orders@new`
    )
  )
)

-- v/1, window: arrivals only
WITH part_1 AS (
  SELECT touched_0 FROM (
    SELECT `region` AS touched_0 FROM `orders@added`
  )
  GROUP BY touched_0
)
SELECT IF(`arrives`, 'added', 'removed') AS _side, IF(`arrives`, `new__id`, `old__id`) AS _id, IF(`arrives`, `new_id_1`, `old_id_1`) AS id_1, IF(`arrives`, `new_region_3`, `old_region_3`) AS region_3, IF(`arrives`, `new_amount_4`, `old_amount_4`) AS amount_4, IF(`arrives`, `new_rank_5`, `old_rank_5`) AS rank_5 FROM (
  SELECT new__id, old__id, new_id_1, new_region_3, new_amount_4, new_rank_5, old_id_1, old_region_3, old_amount_4, old_rank_5, leaves, comes, turn, arrives FROM (
    SELECT new__id, old__id, new_id_1, new_region_3, new_amount_4, new_rank_5, old_id_1, old_region_3, old_amount_4, old_rank_5, `is_old` AND NOT ((`is_old` AND `is_new`) AND `new_id_1` IS NOT DISTINCT FROM `old_id_1` AND `new_region_3` IS NOT DISTINCT FROM `old_region_3` AND `new_amount_4` IS NOT DISTINCT FROM `old_amount_4` AND `new_rank_5` IS NOT DISTINCT FROM `old_rank_5`) AS leaves, `is_new` AND NOT ((`is_old` AND `is_new`) AND `new_id_1` IS NOT DISTINCT FROM `old_id_1` AND `new_region_3` IS NOT DISTINCT FROM `old_region_3` AND `new_amount_4` IS NOT DISTINCT FROM `old_amount_4` AND `new_rank_5` IS NOT DISTINCT FROM `old_rank_5`) AS comes FROM (
      SELECT NOT `old__id` IS NULL AS is_old, NOT `_id` IS NULL AS is_new, `_id` AS new__id, old__id, `id_1` AS new_id_1, `region_3` AS new_region_3, `amount_4` AS new_amount_4, `rank_5` AS new_rank_5, old_id_1, old_region_3, old_amount_4, old_rank_5
      FROM (
        SELECT id_1, region_3, amount_4, rank_5, `_id_id_1` AS _id FROM (
          SELECT id_1, region_3, amount_4, _id_id_1, RANK() OVER (PARTITION BY `region_3` ORDER BY `amount_4`) AS rank_5 FROM (
            SELECT id_1, region_3, amount_4, _id_id_1
            FROM (
              SELECT id AS id_1, region AS region_3, amount AS amount_4, _id AS _id_id_1 FROM `orders@new`
            )
            LEFT SEMI JOIN part_1 ON `region_3` IS NOT DISTINCT FROM `touched_0`
          )
        )
      )
      FULL JOIN (
        SELECT `_id` AS old__id, `id_1` AS old_id_1, `region_3` AS old_region_3, `amount_4` AS old_amount_4, `rank_5` AS old_rank_5 FROM (
          SELECT id_1, region_3, amount_4, rank_5, _id
          FROM `v/1@own`
          LEFT SEMI JOIN part_1 ON `region_3` IS NOT DISTINCT FROM `touched_0`
        )
      ) ON `_id` = `old__id`
    )
  )
  LATERAL VIEW posexplode(ARRAY(FALSE, TRUE)) g AS turn, arrives
)
WHERE IF(`arrives`, `comes`, `leaves`)

-- v/1, window: arrivals and departures
WITH part_1 AS (
  SELECT touched_0 FROM (
    SELECT `region_3` AS touched_0 FROM (
      SELECT `id` AS id_1, `region` AS region_3, `amount` AS amount_4, TRUE AS _state_id_1 FROM `orders@added`
      UNION ALL
      SELECT `id` AS id_1, `region` AS region_3, `amount` AS amount_4, FALSE AS _state_id_1 FROM `orders@removed`
    )
  )
  GROUP BY touched_0
)
SELECT IF(`arrives`, 'added', 'removed') AS _side, IF(`arrives`, `new__id`, `old__id`) AS _id, IF(`arrives`, `new_id_1`, `old_id_1`) AS id_1, IF(`arrives`, `new_region_3`, `old_region_3`) AS region_3, IF(`arrives`, `new_amount_4`, `old_amount_4`) AS amount_4, IF(`arrives`, `new_rank_5`, `old_rank_5`) AS rank_5 FROM (
  SELECT new__id, old__id, new_id_1, new_region_3, new_amount_4, new_rank_5, old_id_1, old_region_3, old_amount_4, old_rank_5, leaves, comes, turn, arrives FROM (
    SELECT new__id, old__id, new_id_1, new_region_3, new_amount_4, new_rank_5, old_id_1, old_region_3, old_amount_4, old_rank_5, `is_old` AND NOT ((`is_old` AND `is_new`) AND `new_id_1` IS NOT DISTINCT FROM `old_id_1` AND `new_region_3` IS NOT DISTINCT FROM `old_region_3` AND `new_amount_4` IS NOT DISTINCT FROM `old_amount_4` AND `new_rank_5` IS NOT DISTINCT FROM `old_rank_5`) AS leaves, `is_new` AND NOT ((`is_old` AND `is_new`) AND `new_id_1` IS NOT DISTINCT FROM `old_id_1` AND `new_region_3` IS NOT DISTINCT FROM `old_region_3` AND `new_amount_4` IS NOT DISTINCT FROM `old_amount_4` AND `new_rank_5` IS NOT DISTINCT FROM `old_rank_5`) AS comes FROM (
      SELECT NOT `old__id` IS NULL AS is_old, NOT `_id` IS NULL AS is_new, `_id` AS new__id, old__id, `id_1` AS new_id_1, `region_3` AS new_region_3, `amount_4` AS new_amount_4, `rank_5` AS new_rank_5, old_id_1, old_region_3, old_amount_4, old_rank_5
      FROM (
        SELECT id_1, region_3, amount_4, rank_5, `_id_id_1` AS _id FROM (
          SELECT id_1, region_3, amount_4, _id_id_1, RANK() OVER (PARTITION BY `region_3` ORDER BY `amount_4`) AS rank_5 FROM (
            SELECT id_1, region_3, amount_4, _id_id_1
            FROM (
              SELECT id AS id_1, region AS region_3, amount AS amount_4, _id AS _id_id_1 FROM `orders@new`
            )
            LEFT SEMI JOIN part_1 ON `region_3` IS NOT DISTINCT FROM `touched_0`
          )
        )
      )
      FULL JOIN (
        SELECT `_id` AS old__id, `id_1` AS old_id_1, `region_3` AS old_region_3, `amount_4` AS old_amount_4, `rank_5` AS old_rank_5 FROM (
          SELECT id_1, region_3, amount_4, rank_5, _id
          FROM `v/1@own`
          LEFT SEMI JOIN part_1 ON `region_3` IS NOT DISTINCT FROM `touched_0`
        )
      ) ON `_id` = `old__id`
    )
  )
  LATERAL VIEW posexplode(ARRAY(FALSE, TRUE)) g AS turn, arrives
)
WHERE IF(`arrives`, `comes`, `leaves`)
