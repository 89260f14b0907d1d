-- !sql
-- Everything that holdfast keeps and runs in a PostgreSQL database. Repeating it changes nothing.
-- The number in the functions' names is made of their text: clients of another version of holdfast
-- bring functions of their own, and find the same rows.

-- Sent as one request, and so one transaction. Clients that find nothing yet come at the same time,
-- and creating is not safe beside itself. It takes longer than the requests whose time limit our
-- sessions have.
SELECT set_config('statement_timeout', '30s', true), set_config('lock_timeout', '30s', true);
SELECT pg_advisory_xact_lock(4740001);

-- include tables.sql
-- include line.sql
-- include moving.sql
-- include enter.sql
-- include renew.sql
-- include leave.sql
-- include inspect.sql
-- include sweep.sql
-- include shedlock.sql
