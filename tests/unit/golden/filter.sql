-- v/1, keep: first
SELECT 'added' AS _side, _id, id_5, twice_6 FROM (
  SELECT id_5, twice_6, `_id_id_5` AS _id FROM (
    SELECT `id` AS id_5, `amount` * 2 AS twice_6, `_id` AS _id_id_5 FROM `orders@new`
    WHERE `region` = 'EU'
  )
)

-- v/1, keep: arrivals only
SELECT 'added' AS _side, `_id_id_5` AS _id, id_5, twice_6 FROM (
  SELECT `id` AS id_5, `amount` * 2 AS twice_6, `_id` AS _id_id_5 FROM `orders@added`
  WHERE `region` = 'EU'
)

-- v/1, keep: arrivals and departures
SELECT IF(`_state_id_5`, 'added', 'removed') AS _side, `_id_id_5` AS _id, id_5, twice_6 FROM (
  SELECT `id_1` AS id_5, `amount_4` * 2 AS twice_6, `_id_id_1` AS _id_id_5, `_state_id_1` AS _state_id_5 FROM (
    SELECT `id` AS id_1, `region` AS region_3, `amount` AS amount_4, `_id` AS _id_id_1, TRUE AS _state_id_1 FROM `orders@added`
    UNION ALL
    SELECT `id` AS id_1, `region` AS region_3, `amount` AS amount_4, `_id` AS _id_id_1, FALSE AS _state_id_1 FROM `orders@removed`
  )
  WHERE `region_3` = 'EU'
)
