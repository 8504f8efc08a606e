-- v/1, limit: first
SELECT 'added' AS _side, _id, id_5, amount_6 FROM (
  SELECT id_5, amount_6, `_id_id_5` AS _id FROM (
    SELECT id_5, amount_6, _id_id_5 FROM (
      SELECT `id` AS id_5, `amount` AS amount_6, `_id` AS _id_id_5 FROM `orders@new`
    )
    ORDER BY `amount_6` DESC, `_id_id_5` ASC
    LIMIT 3
  )
)

-- v/1, limit: arrivals only
SELECT IF(`arrives`, 'added', 'removed') AS _side, IF(`arrives`, `new__id`, `old__id`) AS _id, IF(`arrives`, `new_id_5`, `old_id_5`) AS id_5, IF(`arrives`, `new_amount_6`, `old_amount_6`) AS amount_6 FROM (
  SELECT new__id, old__id, new_id_5, new_amount_6, old_id_5, old_amount_6, leaves, comes, turn, arrives FROM (
    SELECT new__id, old__id, new_id_5, new_amount_6, old_id_5, old_amount_6, `is_old` AND NOT ((`is_old` AND `is_new`) AND `new_id_5` IS NOT DISTINCT FROM `old_id_5` AND `new_amount_6` IS NOT DISTINCT FROM `old_amount_6`) AS leaves, `is_new` AND NOT ((`is_old` AND `is_new`) AND `new_id_5` IS NOT DISTINCT FROM `old_id_5` AND `new_amount_6` IS NOT DISTINCT FROM `old_amount_6`) AS comes FROM (
      SELECT NOT `old__id` IS NULL AS is_old, NOT `_id` IS NULL AS is_new, `_id` AS new__id, old__id, `id_5` AS new_id_5, `amount_6` AS new_amount_6, old_id_5, old_amount_6
      FROM (
        SELECT id_5, amount_6, `_id_id_5` AS _id FROM (
          SELECT id_5, amount_6, _id_id_5 FROM (
            SELECT `id` AS id_5, `amount` AS amount_6, `_id` AS _id_id_5 FROM `orders@new`
          )
          ORDER BY `amount_6` DESC, `_id_id_5` ASC
          LIMIT 3
        )
      )
      FULL JOIN (
        SELECT `_id` AS old__id, `id_5` AS old_id_5, `amount_6` AS old_amount_6 FROM `v/1@own`
      ) ON `_id` = `old__id`
    )
  )
  LATERAL VIEW posexplode(ARRAY(FALSE, TRUE)) g AS turn, arrives
)
WHERE IF(`arrives`, `comes`, `leaves`)

-- v/1, limit: arrivals and departures
SELECT IF(`arrives`, 'added', 'removed') AS _side, IF(`arrives`, `new__id`, `old__id`) AS _id, IF(`arrives`, `new_id_5`, `old_id_5`) AS id_5, IF(`arrives`, `new_amount_6`, `old_amount_6`) AS amount_6 FROM (
  SELECT new__id, old__id, new_id_5, new_amount_6, old_id_5, old_amount_6, leaves, comes, turn, arrives FROM (
    SELECT new__id, old__id, new_id_5, new_amount_6, old_id_5, old_amount_6, `is_old` AND NOT ((`is_old` AND `is_new`) AND `new_id_5` IS NOT DISTINCT FROM `old_id_5` AND `new_amount_6` IS NOT DISTINCT FROM `old_amount_6`) AS leaves, `is_new` AND NOT ((`is_old` AND `is_new`) AND `new_id_5` IS NOT DISTINCT FROM `old_id_5` AND `new_amount_6` IS NOT DISTINCT FROM `old_amount_6`) AS comes FROM (
      SELECT NOT `old__id` IS NULL AS is_old, NOT `_id` IS NULL AS is_new, `_id` AS new__id, old__id, `id_5` AS new_id_5, `amount_6` AS new_amount_6, old_id_5, old_amount_6
      FROM (
        SELECT id_5, amount_6, `_id_id_5` AS _id FROM (
          SELECT id_5, amount_6, _id_id_5 FROM (
            SELECT `id` AS id_5, `amount` AS amount_6, `_id` AS _id_id_5 FROM `orders@new`
          )
          ORDER BY `amount_6` DESC, `_id_id_5` ASC
          LIMIT 3
        )
      )
      FULL JOIN (
        SELECT `_id` AS old__id, `id_5` AS old_id_5, `amount_6` AS old_amount_6 FROM `v/1@own`
      ) ON `_id` = `old__id`
    )
  )
  LATERAL VIEW posexplode(ARRAY(FALSE, TRUE)) g AS turn, arrives
)
WHERE IF(`arrives`, `comes`, `leaves`)
