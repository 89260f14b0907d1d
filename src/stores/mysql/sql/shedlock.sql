-- ShedLock's table (name, lock_until, locked_at, locked_by), shared with it: whoever's name stands
-- there holds the lock until lock_until. Ours stand in a line of holdfast_lines too, by barging;
-- the holder of ShedLock's is put there as one more contender, with a nonce of noughts, whenever
-- somebody looks. Each verb is done between the two: what the row says comes into the line, what
-- the line says then goes into the row. Both are locked meanwhile.

-- There is always a row, for one that is not there cannot be locked.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_from_shedlock(
    IN its_line TEXT CHARACTER SET ascii COLLATE ascii_bin,
    IN its_name VARCHAR(64) CHARACTER SET utf8mb4, OUT line_id BINARY(32))
SQL SECURITY INVOKER
BEGIN
    DECLARE now_is, their_end, their_start BIGINT;
    DECLARE their_name VARCHAR(255) CHARACTER SET utf8mb4;
    DECLARE holder CHAR(32) CHARACTER SET ascii COLLATE ascii_bin DEFAULT '';
    WHILE line_id IS NULL DO
        CALL holdfast_1_make(its_line);
        SELECT id INTO line_id FROM holdfast_lines WHERE id = UNHEX(SHA2(its_line, 256)) FOR UPDATE;
    END WHILE;
    INSERT INTO shedlock (name, lock_until, locked_at, locked_by)
        VALUES (its_name, SYSDATE(3), SYSDATE(3), '') ON DUPLICATE KEY UPDATE name = shedlock.name;
    SET now_is = TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', SYSDATE(6));
    SELECT TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', lock_until),
            TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', locked_at), locked_by
        INTO their_end, their_start, their_name FROM shedlock WHERE name = its_name FOR UPDATE;
    UPDATE holdfast_lines SET capacity = 1000000000, fairness = 'b', crowd = crowd + 1
        WHERE id = line_id;
    IF their_end > now_is THEN
        IF their_name LIKE 'holdfast:%' THEN
            SELECT nonce INTO holder FROM holdfast_contenders WHERE line = line_id
                AND nonce = CONVERT(SUBSTRING(their_name, 10, 32) USING ascii)
                AND phase = 'admitted';
        END IF;
        IF holder = '' THEN SET holder = REPEAT('0', 32); END IF;
    END IF;
    -- Whose name does not stand there any more has lost it: somebody's clock was ahead, or a hand
    -- was in it.
    DELETE FROM holdfast_contenders WHERE line = line_id AND phase = 'admitted' AND nonce <> holder;
    IF holder = REPEAT('0', 32) THEN
        INSERT INTO holdfast_contenders (line, nonce, phase, weight, lease_end, since, owner, host)
            VALUES (line_id, holder, 'admitted', 1000000000, their_end, their_start, '', '')
            ON DUPLICATE KEY UPDATE lease_end = their_end;
    END IF;
    SET @holdfast_undone = FALSE;
END;

CREATE PROCEDURE IF NOT EXISTS holdfast_1_to_shedlock(
    IN line_id BINARY(32), IN its_name VARCHAR(64) CHARACTER SET utf8mb4, IN its_end INT)
SQL SECURITY INVOKER
BEGIN
    DECLARE holder CHAR(32) CHARACTER SET ascii COLLATE ascii_bin;
    DECLARE its_owner TEXT CHARACTER SET ascii COLLATE ascii_bin;
    DECLARE its_lease_end, its_start BIGINT;
    IF NOT @holdfast_undone THEN
        SELECT nonce, owner, lease_end, since INTO holder, its_owner, its_lease_end, its_start
            FROM holdfast_contenders WHERE line = line_id AND phase = 'admitted' LIMIT 1;
        IF holder IS NULL THEN
            UPDATE shedlock SET lock_until = SYSDATE(3)
                WHERE name = its_name AND lock_until > SYSDATE(3);
        ELSEIF holder <> REPEAT('0', 32) THEN
            UPDATE shedlock
                SET lock_until = DATE'1970-01-01' + INTERVAL its_lease_end MICROSECOND,
                    locked_at = DATE'1970-01-01' + INTERVAL its_start MICROSECOND,
                    locked_by = LEFT(CONCAT('holdfast:', holder, ' ', its_owner), 255)
                WHERE name = its_name;
        END IF;
    END IF;
    IF its_end THEN COMMIT; END IF;
END;

CREATE PROCEDURE IF NOT EXISTS holdfast_1_shedlock_enter(
    IN its_line TEXT CHARACTER SET ascii COLLATE ascii_bin,
    IN its_nonce CHAR(32) CHARACTER SET ascii COLLATE ascii_bin,
    IN its_client CHAR(32) CHARACTER SET ascii COLLATE ascii_bin,
    IN its_owner TEXT CHARACTER SET ascii COLLATE ascii_bin,
    IN its_host TEXT CHARACTER SET ascii COLLATE ascii_bin, IN its_pid INT,
    IN its_weight BIGINT, IN its_capacity BIGINT,
    IN its_fairness CHAR(1) CHARACTER SET ascii COLLATE ascii_bin,
    IN its_patience CHAR(1) CHARACTER SET ascii COLLATE ascii_bin,
    IN its_lease BIGINT, IN its_reentry INT,
    IN its_name VARCHAR(512) CHARACTER SET ascii COLLATE ascii_bin, IN its_end INT)
SQL SECURITY INVOKER
BEGIN
    DECLARE shared_name VARCHAR(64) CHARACTER SET utf8mb4
        DEFAULT CONVERT(UNHEX(its_name) USING utf8mb4);
    DECLARE line_id BINARY(32);
    IF its_end = 2 THEN START TRANSACTION; END IF;
    CALL holdfast_1_from_shedlock(its_line, shared_name, line_id);
    CALL holdfast_1_enter(its_line, its_nonce, its_client, its_owner, its_host, its_pid, its_weight,
                          its_capacity, its_fairness, its_patience, its_lease, its_reentry, 0);
    CALL holdfast_1_to_shedlock(line_id, shared_name, its_end);
END;

CREATE PROCEDURE IF NOT EXISTS holdfast_1_shedlock_renew(
    IN its_line TEXT CHARACTER SET ascii COLLATE ascii_bin,
    IN its_nonce CHAR(32) CHARACTER SET ascii COLLATE ascii_bin, IN its_lease BIGINT,
    IN its_serial BIGINT, IN its_name VARCHAR(512) CHARACTER SET ascii COLLATE ascii_bin,
    IN its_end INT)
SQL SECURITY INVOKER
BEGIN
    DECLARE shared_name VARCHAR(64) CHARACTER SET utf8mb4
        DEFAULT CONVERT(UNHEX(its_name) USING utf8mb4);
    DECLARE line_id BINARY(32);
    IF its_end = 2 THEN START TRANSACTION; END IF;
    CALL holdfast_1_from_shedlock(its_line, shared_name, line_id);
    CALL holdfast_1_renew(its_line, its_nonce, its_lease, its_serial, 0);
    CALL holdfast_1_to_shedlock(line_id, shared_name, its_end);
END;

CREATE PROCEDURE IF NOT EXISTS holdfast_1_shedlock_standing(
    IN its_line TEXT CHARACTER SET ascii COLLATE ascii_bin,
    IN its_nonce CHAR(32) CHARACTER SET ascii COLLATE ascii_bin,
    IN its_name VARCHAR(512) CHARACTER SET ascii COLLATE ascii_bin, IN its_end INT)
SQL SECURITY INVOKER
BEGIN
    DECLARE shared_name VARCHAR(64) CHARACTER SET utf8mb4
        DEFAULT CONVERT(UNHEX(its_name) USING utf8mb4);
    DECLARE line_id BINARY(32);
    IF its_end = 2 THEN START TRANSACTION; END IF;
    CALL holdfast_1_from_shedlock(its_line, shared_name, line_id);
    CALL holdfast_1_standing(its_line, its_nonce, 0);
    CALL holdfast_1_to_shedlock(line_id, shared_name, its_end);
END;

CREATE PROCEDURE IF NOT EXISTS holdfast_1_shedlock_leave(
    IN its_line TEXT CHARACTER SET ascii COLLATE ascii_bin,
    IN its_nonce CHAR(32) CHARACTER SET ascii COLLATE ascii_bin, IN its_tombstone BIGINT,
    IN its_name VARCHAR(512) CHARACTER SET ascii COLLATE ascii_bin, IN its_end INT)
SQL SECURITY INVOKER
BEGIN
    DECLARE shared_name VARCHAR(64) CHARACTER SET utf8mb4
        DEFAULT CONVERT(UNHEX(its_name) USING utf8mb4);
    DECLARE line_id BINARY(32);
    IF its_end = 2 THEN START TRANSACTION; END IF;
    CALL holdfast_1_from_shedlock(its_line, shared_name, line_id);
    CALL holdfast_1_leave(its_line, its_nonce, its_tombstone, 0);
    CALL holdfast_1_to_shedlock(line_id, shared_name, its_end);
END;

-- Who holds by ShedLock comes with name and owner as hexadecimal digits, behind a mark.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_shedlock_inspect(
    IN its_lines TEXT CHARACTER SET ascii COLLATE ascii_bin, IN its_behind VARCHAR(64),
    IN its_prefix VARCHAR(512) CHARACTER SET ascii COLLATE ascii_bin, IN its_end INT)
SQL SECURITY INVOKER
BEGIN
    DECLARE now_is BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', SYSDATE(6));
    DECLARE prefix VARCHAR(64) CHARACTER SET utf8mb4
        DEFAULT CONVERT(UNHEX(its_prefix) USING utf8mb4);
    CALL holdfast_1_inspect(its_lines, its_behind, 0);
    SELECT CONCAT('%shedlock=', LOWER(HEX(name))), 1000000000, 'b', 'holder', REPEAT('0', 32),
            LOWER(HEX(locked_by)), 1000000000, 0,
            (TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', lock_until) - now_is) DIV 1000, '', 0,
            GREATEST((now_is - TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', locked_at)) DIV 1000,
                     0), 0
        FROM shedlock
        WHERE LEFT(name, CHAR_LENGTH(prefix)) = prefix
            AND TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', lock_until) > now_is
            AND NOT EXISTS (SELECT 1 FROM holdfast_contenders WHERE phase = 'admitted'
                AND locked_by LIKE CONCAT('holdfast:', nonce, '%'));
END;
