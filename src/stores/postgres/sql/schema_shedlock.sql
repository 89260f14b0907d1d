-- !sql
-- include schema.sql

-- As ShedLock's documentation has it.
CREATE TABLE IF NOT EXISTS shedlock (
    name       varchar(64)  NOT NULL PRIMARY KEY,
    lock_until timestamp    NOT NULL,
    locked_at  timestamp    NOT NULL,
    locked_by  varchar(255) NOT NULL
);
