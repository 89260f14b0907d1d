-- !sql
-- Everything that holdfast keeps and runs in a MySQL or MariaDB database. Repeating it changes
-- nothing. The number in the procedures' names is made of their text: clients of another version of
-- holdfast bring procedures of their own, and find the same rows.
--
-- Procedures only: to create a function needs a right of its own where there is a binary log. The
-- same algorithm, step by step, as in the functions for PostgreSQL; only the seat (see tables.sql)
-- is MySQL's, where statements in procedures are dear. A request is sent as
--     CALL holdfast_1_VERB(..., its_end)
-- in a session with READ COMMITTED and time_zone = '+00:00'. its_end: 2, it is a transaction of its
-- own; else one has been started, and 1 ends it. For several that are renewed or entered together
-- there is a CALL each, all in one go.

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
