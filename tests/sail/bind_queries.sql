-- select list, order, limit
select * from t
select t.*, b + 1 as b1 from t where a = 1
select a, b, a + b total, total * 2 as twice from t
select distinct a, c from t
select distinct a from t order by a desc limit 2
select a, b from t order by b desc, a, c limit 3
select c from t order by b, a, c limit 4 offset 2
select a as x, b from t where b > 5 order by x, b limit 100
-- aggregates
select a, sum(b), count(*), count(b), min(c), max(b), avg(b) from t group by a
select a, sum(b) as s from t group by 1 having s > 20
select a k, sum(b) from t group by k
select a + 1, count(*) from t group by a + 1
select a + 1 as x, count(*) from t group by x having count(*) > 1
select a, c, count(*) from t group by all
select sum(b) from t
select sum(b) from e
select count(*), sum(a), max(b) from e
select a, sum(b) from e group by a
select sum(b) filter (where c = 'x'), count(distinct a), count(distinct a, c), sum(distinct b) from t
select a, count(distinct c) filter (where b > 5) from t group by a
select a, sum(b) * 2 + count(*) as z, coalesce(max(c), 'none') from t group by a
select sum(b) / count(*) from t having count(*) > 3
select 1 from t having count(*) > 100
select a, sum(b) from t group by a order by sum(b) desc, a limit 2
select a from t group by a order by count(*) desc, a limit 1
select a, case when sum(b) > 30 then 'big' else c end from t group by a, c
select a, upper(c) || '!' as u from t group by a, upper(c)
select a, upper(c) as u, count(*) from t group by a, upper(c) having upper(c) = 'X'
-- joins
select * from t join s on t.a = s.a
select * from t join s using (a)
select a, t.b, s.d from t left join s using (a)
select a, t.b, s.d from t right join s using (a)
select a, t.a, s.a, t.b, s.d from t full join s using (a)
select * from t full outer join s using (a, c)
select * from t natural join s
select * from t natural left join s
select * from t left join s on t.a = s.a and s.d > 10
select * from t left join s on t.a = s.a and t.b > 10
select t.a, s.d from t right join s on t.a = s.a and t.b < s.d
select t.a, s.d from t full join s on t.a = s.a and t.b = s.d
select * from t left semi join s on t.a = s.a
select * from t left anti join s on t.a = s.a
select * from t left anti join s on t.a = s.a and t.b = s.d
select * from t left semi join s using (a, c)
select count(*) from t cross join s
select t.a, s.a, u.k from t, s, u where t.a = s.a and s.a = u.k
select t.a, u.k, s.d from t, s left join u on s.a = u.k where t.a = s.a
select x.a, y.a from t x join t y on x.b = y.b and x.a <> y.a
select x.a from t x, t y where x.a < y.a
select * from (select a, sum(b) as sb from t group by a) g join s on g.a = s.a
select g.x from (select a from t) as g(x)
select * from (t join s on t.a = s.a) left join u on u.k = t.a
-- WITH, VALUES, no FROM
with w as (select a, count(*) n from t group by a) select x.a, y.n from w x join w y on x.n = y.n
with w(p, q) as (select a, b from t), v as (select p, sum(q) sq from w group by p) select * from v, w where v.p = w.p
with w as (select 1 as one) select * from w, (with w as (select 2 as two) select * from w) z
with t as (select a from t where a = 1) select * from t
select * from values (1, 'a'), (2, null), (null, 'c') as v(x, y)
select * from values (1), (2.5)
select 1 as x, 'a' as y
select 1 where 1 = 0
-- set operations
select a from t union select a from s
select a, c from t union all select a, c from s
select a, b from t union all select d, 1.5 from s
select null as x union all select a from t
select a from t intersect select a from s
select a, c from t intersect select a, c from s
select a from t except select a from s
select a, c from t minus select a, c from s
select a from t intersect all select a from s
select a from t except all select a from s
select a from t except all select a from e
select a from t union select a from s union select k from u
select a from t union all select a from s union select k from u
(select a from t order by b limit 2) union all (select a from s where d = 10)
select a from t union all select a from s order by 1 desc limit 3
select a from t intersect select a from s union select 7
-- grouping sets
select a, c, count(*) from t group by rollup(a, c)
select a, c, sum(b), grouping(a), grouping(c), grouping_id() from t group by cube(a, c)
select a, c, sum(b) from t group by grouping sets ((a), (c), (a, c), ())
select a, c, sum(b) from t group by grouping sets ((a), (a), (c))
select a, sum(a) from t group by rollup(a)
select a, c, count(*) from t group by a, rollup(c)
select a, c, count(*) from t group by a, c with rollup
select coalesce(c, 'all') cc, count(*) from t group by rollup(c) order by cc limit 3
-- windows
select a, b, row_number() over (partition by a order by b, c) rn from t
select a, b, sum(b) over (partition by a), sum(b) over (partition by c), count(*) over () from t
select a, sum(b) over (partition by a order by b, c rows between unbounded preceding and current row) from t
select a, sum(b) over w, avg(b) over w from t window w as (partition by a)
select a, sum(sum(b)) over (partition by a + 1) from t group by a
select a, c, rank() over (partition by a order by sum(b) desc) r, sum(b) from t group by a, c
select a, lag(b) over (partition by a order by b, c), lead(b, 1, 0) over (partition by a order by b, c), first_value(b) over (partition by a order by b, c) from t
select * from (select a, b, row_number() over (partition by a order by b desc, c) rn from t) where rn = 1
select a, b / sum(b) over (partition by a) as share from t
select ntile(2) over (partition by a order by b, c), dense_rank() over (order by a) from t
-- EXISTS and IN
select a, b from t where exists (select 1 from s where s.a = t.a)
select a, b from t where not exists (select 1 from s where s.a = t.a)
select a, b from t where exists (select 1 from s where s.a = t.a and s.d > t.b)
select a, b from t where not exists (select * from s where s.d < t.b)
select a, b from t where exists (select 1 from e)
select a, b from t where not exists (select 1 from e)
select a, b from t where exists (select 1 from s)
select a, b from t where a in (select a from s)
select a, b from t where a not in (select a from s)
select a, b from t where a not in (select a from s where a is not null)
select a, b from t where a not in (select a from e)
select a, b from t where a not in (select s.a from s where s.c = t.c)
select a, b from t where b in (select d from s where s.a = t.a)
select a, b from t where b not in (select d from s where s.a = t.a)
select a, b from t where (a, b) in (select a, d from s)
select a, b from t where (a, b) not in (select a, d from s)
select a, b from t where (a, b) not in (select a, d from s where a is not null and d is not null)
-- scalar subqueries
select a, b from t where b > (select avg(d) from s)
select a, b from t where b > (select avg(d) from s where s.a = t.a)
select a, b from t where b >= (select max(d) from s where s.a = t.a and s.c = t.c)
select a, (select count(*) from s where s.a = t.a) n from t
select a, (select count(*) + 1 from s where s.a = t.a) n from t
select a, (select sum(d) from s where s.a = t.a) n, (select max(d) from s) m from t
select a, (select coalesce(sum(d), 0) from s where s.a = t.a) n from t
select a from t where (select count(*) from s where s.a = t.a) = 0
select a, (select count(*) from s where s.d < t.b) n from t
select a, (select sum(d) from s where s.d < t.b and s.a = t.a) n from t
select a, (select max(d) + t.b from s where s.a = t.a) from t
  = select t.a, g.m + t.b from t left join (select a, max(d) m from s group by a) g on g.a = t.a
select a, (select count(*) from s where s.a = t.a having count(*) > 2) from t
select a, (select count(*) from s where s.a < t.a having count(*) = 0) from t
select k, (select v from u u2 where u2.k = u.k) from u
select k, (select u2.v + u.v from u u2 where u2.k = u.k) from u
select a, (select k from u where u.k = t.a and u.v > 0) from t
select a, (select v from u limit 1) is null from t
select a, (select v from u order by k desc limit 1) from t
select a, (select d from s where s.a = t.a order by d desc limit 1) from t
-- subqueries as values
select a, exists (select 1 from s where s.a = t.a) from t
select a, not exists (select 1 from s where s.d > t.b) from t
select a, a in (select a from s) from t
select a, a in (select a from s where a is not null) from t
select a, a not in (select a from s where s.c = t.c) from t
select a, a in (select a from e) from t
select a, (a, b) in (select a, d from s) from t
select a, b in (select d from s where s.a = t.a) from t
select a, b in (select d from s where s.a > t.a) from t
select a from t where a in (select a from s) or b > 20
-- subqueries below OR, nested, in HAVING, in GROUP BY
select a from t where not (a in (select a from s) or b > 20)
select a from t where exists (select 1 from s where s.a = t.a) or exists (select 1 from u where u.k = t.b)
select a from t where exists (select 1 from s where s.a = t.a and exists (select 1 from u where u.k = s.a))
select a from t where exists (select 1 from s where s.a = t.a and exists (select 1 from u where u.k = s.a and u.v < t.b))
  = select t.a from t where exists (select 1 from s join u on u.k = s.a where s.a = t.a and u.v < t.b)
select a from t where a in (select a from s where d in (select b from t t2 where t2.a = t.a))
  = select t.a from t where exists (select 1 from s join t t2 on t2.b = s.d where s.a = t.a and t2.a = t.a)
select a from t where a in (select s.a from s where s.d > (select avg(u.v) from u where u.k = s.a))
select a from t where a = (select max(s.a) from s where s.d = (select max(s2.d) from s s2 where s2.c = t.c))
  = select t.a from t join (select s2.c, max(s.a) m from s join (select c, max(d) md from s group by c) s2 on s.d = s2.md group by s2.c) q on q.c = t.c and q.m = t.a
select a, case when exists (select 1 from s where s.a = t.a) then 'yes' when a in (select k from u) then 'maybe' else 'no' end from t
select a, sum(b) from t group by a having sum(b) > (select avg(d) from s)
select a, sum(b) from t group by a having sum(b) > (select sum(d) from s where s.a = t.a)
select a, (select max(d) from s where s.a = t.a) from t group by a
  = select x.a, y.m from (select a from t group by a) x left join (select a, max(d) m from s group by a) y on x.a = y.a
select a, sum(b), (select count(*) from s where s.a = t.a) from t group by a
  = select x.a, x.sb, coalesce(y.m, 0) from (select a, sum(b) sb from t group by a) x left join (select a, count(*) m from s group by a) y on x.a = y.a
select sum((select count(*) from s where s.a = t.a)) from t
select (select max(d) from s where s.a = t.a) as m, count(*) from t group by (select max(d) from s where s.a = t.a)
select a from t order by (select max(d) from s where s.a = t.a), b, c limit 3
  = select t.a from t left join (select a, max(d) m from s group by a) y on t.a = y.a order by m, b, c limit 3
select a from t where a in (select a from s group by a having count(*) > 1)
select a from t where b in (select max(d) from s where s.c = t.c group by s.a)
select a from t where exists (select a, count(*) from s where s.c = t.c group by a having count(*) > 1)
select a from t where b > (select sum(x.d) from (select d from s where s.a = t.a) x)
select a from t where exists (select 1 from s where s.a = t.a union all select 1 from u where u.k = t.b)
select a from t where a in (select a from s where s.c = t.c union select k from u)
select a from t where (select count(*) from s left join u on s.a = u.k where s.a = t.a) > 1
select a from t where (select count(u.k) from s left join u on s.a = u.k and u.v > t.b) > 0
select a from t where exists (select 1 from s full join u on s.a = u.k where s.c = t.c)
-- subqueries in join conditions
select a from t where exists (select 1 from (select a, row_number() over (order by d, c) r from s where s.c = t.c) q where q.r = 1 and q.a = t.a)
select t.a from t join s on t.a = s.a and t.b in (select d from s)
select t.a, s.d from t left join s on t.a = s.a and s.d in (select b from t)
select t.a, s.d from t left join s on t.a = s.a and exists (select 1 from u where u.k = t.a)
select t.a, s.d from t left join s on t.a = s.a and t.b not in (select v from u)
select a from t where coalesce((select max(v) from u where u.k = t.a), 0) = 0
select a, (select count(*) from s where s.a = t.a and s.d = t.b) x, (select count(*) from s where s.a = t.a) y from t
-- nested types and generators
select k, transform(arr, x -> x + k) as q, filter(arr, x -> x > 1), exists(arr, x -> x = 2), aggregate(arr, 0, (acc, x) -> acc + coalesce(x, 0)) from n
select k, transform(sts, e -> e.p) from n
select k, e.c from n lateral view explode(arr) e as c
select k, e.c from n lateral view outer explode(arr) e as c
select k, p, c from n lateral view posexplode(arr) e as p, c
select k, kk, vv from n lateral view explode(m) e as kk, vv
select k, c, c2 from n lateral view explode(arr) e as c lateral view explode(array(c, k)) f as c2
select k, explode(arr) from n
select k, explode(arr) as el from n where k < 3
select k, explode_outer(arr) as el from n
select posexplode(arr), k from n
select explode(m) as (x, y), k from n
select k, inline(sts) from n
select k, p, q from n lateral view inline(sts) i as p, q
select c, count(*) from n lateral view explode(arr) e as c group by c
select explode(collect_set(a)) from t
select k from n where exists (select 1 from u where array_contains(n.arr, u.k))
-- names and functions
select T.A, "lit" from T where T.B > 1
select `a`, B from t as `my t` where `my t`.a is not null
select a, b from t where a between 1 and 2 and c like 'x%' and b in (10, 20)
select a is null, a <=> b, not a = 1, -b, cast(b as string), b % 3, a || c from t
select date_add(date '2020-01-01', a), add_months(date '2020-01-31', 1), date '2020-01-01' + interval 1 month from t
select year(date '2020-05-01'), extract(month from date '2020-05-01'), date_trunc('month', timestamp '2020-05-05 10:00:00'), trunc(date '2020-05-05', 'MM')
select if(a = 1, 'one', 'other'), nvl(a, 0), nullif(a, 1), greatest(a, b), least(a, b), concat_ws('-', a, c), substring(c, 1, 1), length(c), lpad(c, 3, '*'), round(b / 3, 2), abs(-b), b div 3 from t
select stddev(b), variance(b), corr(a, b), bool_and(a > 0), bool_or(a > 2), every(a > 0), bit_and(b), bit_or(b), bit_xor(b), stddev_pop(b), var_pop(b), covar_pop(a, b), skewness(b), kurtosis(b) from t
select a, percentile_cont(0.5) within group (order by b) from t group by a
select a, sum(case when c = 'x' then b else 0 end) / sum(b) from t group by a
select a from t where b > 10 limit 0
-- what rewrites touch
select count(*) from (select a from t order by a limit 3)
select sum(x) from (select a as x from t union all select k from u)
select a, max(b) m from t group by a having max(b) > 10 and exists (select 1 from s where s.a = t.a)
select a from t where a > (select min(a) from s) and a < (select max(a) from s) and exists (select 1 from u where k = t.a)
select avg(n) from (select a, count(*) n from t group by a)
select x.a, x.rk from (select a, b, rank() over (partition by a order by b) rk from t) x join s on x.a = s.a where rk <= 2
select * from (select a, b from t) pq where a = 1 and b = 10
select * from (select a, sum(b) sb from t group by a) where a = 1
select * from (select a, b from t union all select a, d from s) where a = 1 and b > 10
select t.a, s.d from t left join s on t.a = s.a where s.d > 10
select t.a, s.d from t left join s on t.a = s.a where s.d is null
select t.a, s.d from t left join s on t.a = s.a where coalesce(s.d, 0) = 0
select t.a, s.d from t left join s on t.a = s.a where t.b > 10 and (s.d = 10 or s.d is null)
select t.a, s.d from t full join s on t.a = s.a where t.b > 10
select * from t, s where (t.a = s.a and t.b = 10) or (t.a = s.a and s.d = 20)
select * from t, s where (t.a = s.a and t.b = 10) or (t.a = s.a)
select a, b from (select a, b, count(*) over (partition by a) n from t) where a = 1 and n > 1
select count(*) from t left join (select distinct a from s) q on t.a = q.a
select 1 from t, (select max(a) from s)
select a from (select a, max(b) mb, count(*) n from t group by a)
select max(n) from (select a, count(*) n, sum(b) from t group by a) where a is not null
select a, first_value(b) over (partition by a order by b desc, c) f, last_value(b) over (partition by a order by b, c rows between unbounded preceding and unbounded following) l from t
select s.c, count(*) filter (where exists (select 1 from u where u.k = s.a)) from s group by s.c
-- IN and NOT IN as Spark has them
select a, a in (select a from s) x, a not in (select a from s) y, not (a in (select a from s)) z from t
select a, (a in (select a from s)) is null x from t
select a, case when a not in (select a from s) then 'no' when a in (select a from s) then 'yes' else 'unknown' end from t
select a, not (a in (select a from s) or b > 20) x, not (a in (select a from s) and b > 20) y from t
select a, coalesce(a in (select a from s), true) from t
select a, b from t where (a in (select a from s)) is null
select a, b from t where coalesce(a in (select a from s), true)
select a, b from t where a not in (select a from s) or b > 20
select a, b from t where case when a in (select a from s) then true else false end
select t.a, s.d from t join s on t.a = s.a and t.b not in (select v from u)
select t.a, s.d from t left join s on t.a = s.a and s.d not in (select v from u)
select t.a, s.d from t right join s on t.a = s.a and s.d not in (select v from u)
select t.a, s.d from t left join s on t.a = s.a and (t.b not in (select v from u) or t.a = 7)
select t.a, s.d from t left join s on t.a = s.a and t.b in (select v from u)
select t.a, s.d from t full join s on t.a = s.a and t.b in (select b from t where b < 15)
select a, sum(b) from t group by a having sum(b) not in (select v from u)
select a, (a, b) not in (select a, d from s) from t
select a, sum(b) not in (select v from u) x, sum(b) in (select v from u) y from t group by a
select count(*) filter (where a not in (select a from s)), count(*) filter (where a in (select a from s)) from t
select 1 a where 1 not in (select null)
select 1 a where 1 not in (select cast(null as int))
-- LATERAL and the rest
select * from t, lateral (select * from s where s.a = t.a) x
select t.a, m from t left join lateral (select max(d) m from s where s.a = t.a) x on x.m > 10
select t.a, n from t, lateral (select count(*) n from s where s.a = t.a)
select t.a, x.d from t, lateral (select d from s where s.a = t.a order by d desc limit 1) x
select t.a, u.v, x.d from t, u, lateral (select d from s where s.a = t.a and s.d > u.v) x
select k, c from n, lateral explode(arr) as e(c)
select st.*, k from n where k < 3
select k, struct(k, k + 1 as kk) as s2, named_struct('q', k) from n
select q.k, q.kk from (select struct(k, k + 1 as kk) as q from n)
select a, count(*) over (partition by a, c) as n1, max(b) over (partition by c, a) as n2 from t
select t.a from t where t.b = (select min(s.d) from s, u where s.a = u.k and t.a = s.a)
select a, sum(b) from t where a in (select k from u where v is not null) group by a having count(*) > 1 order by 2 desc limit 5
select a, (select string(max(d)) || 'x' from s where s.a = t.a) from t
select * from t where (a, c) in (select a, c from s where s.d = t.b)
select * from t where exists (select 1 from s where s.a = t.a and (s.d = t.b or s.c = t.c))
select t.a, g.n from t join (select a, count(*) n from s group by a having count(*) > 1) g on g.a = t.a and g.n > t.a
select distinct on_a, n from (select a as on_a, count(*) over (partition by a) n from t)
select a, b from t where b = (select max(b) from t) or b = (select min(b) from t)
select max(total) from (select a, sum(b) total from t group by a union all select a, sum(d) from s group by a)
select case when a is null then 'null' else 'not' end as k, count(*) from t group by case when a is null then 'null' else 'not' end
select a % 2 = 0 as even, count(*) from t group by even
select percentile_disc(0.5) within group (order by b), percentile_cont(0.25) within group (order by b desc), mode() within group (order by b) from t
select to_char(b, '999'), unix_date(date '1970-01-05') from t
select * from values 'a', 'b' as tab(x)
select tab.x from values (1), (2) as tab(x)
select a, percentile_cont(0.5) within group (order by b) filter (where c = 'x') from t group by a
select percentile_cont(0.5) within group (order by b) over (partition by a) from t
select k, explode(arr) as el from n order by el desc, k limit 2
select posexplode(arr), k from n order by pos, col, k limit 2
select * from (with w as (select 1 a) select (select max(a) from w) m) x, (with w as (select 2 a) select (select max(a) from w) m) y
select a from t where not (a in (select a from s where a is not null) or exists (select 1 from u where u.k = t.b))
select a from t where not (not (a in (select a from s)))
select a from t where not (a not in (select a from s) and b > 10)
