-- !sql
-- Everything that holdfast keeps and runs in a MySQL or MariaDB database. Repeating it changes
-- nothing. The number in the procedures' names is made of their text: clients of another version of
-- holdfast bring procedures of their own, and find the same rows.
--
-- Procedures only: to create a function needs a right of its own where there is a binary log. The
-- same algorithm, step by step, as in the functions for PostgreSQL; only the seat (see tables.sql)
-- is MySQL's, where statements in procedures are dear. A request is sent as
--     CALL holdfast_1_VERB(..., its_end)
-- in a session with READ COMMITTED and time_zone = '+00:00'. its_end: 1, it is a transaction of its
-- own; 0, one has been started, and is ended by whoever did. For several that are renewed or entered
-- together there is a CALL each, all in one go.

-- The moment, in microseconds since 1970. SYSDATE is read when a row is locked, where NOW() stands
-- still within a statement, and can be set; it is in the session's time zone, whoever calls, so what
-- that is ahead of UTC is taken off. Our words have one collation, whatever the database's: else a key
-- would not be used.
-- let $local = TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', SYSDATE(6))
-- let $now = $local + 1000000 * TIMESTAMPDIFF(SECOND, NOW(), UTC_TIMESTAMP())
-- let $ascii = CHARACTER SET ascii COLLATE ascii_bin

-- How many contenders a line has at the most. Less than none is somebody else's word, and is no
-- reason not to look for them.
-- let $crowd = IF(crowd < 0, 1000000, crowd)

-- A procedure keeps the mode of the session that makes it.
SET SESSION sql_mode = 'STRICT_TRANS_TABLES';

-- include tables.sql
-- include line.sql
-- include moving.sql
-- include seat.sql
-- include enter.sql
-- include renew.sql
-- include leave.sql
-- include inspect.sql
-- include sweep.sql
-- include shedlock.sql
