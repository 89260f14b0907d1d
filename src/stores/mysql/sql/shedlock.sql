-- ShedLock's table (name, lock_until, locked_at, locked_by), shared with it: whoever's name stands
-- there holds the lock until lock_until. Ours stand in a line of holdfast_lines too, by barging;
-- the holder of ShedLock's is put there as one more contender, with a nonce of noughts, whenever
-- somebody looks. Each verb is called between the two in one transaction: what the row says comes
-- into the line (from_shedlock), what the line says then goes into the row (to_shedlock). Both are
-- locked meanwhile. Names of theirs come in hexadecimal digits.
--
-- Its columns are TIMESTAMPs, into which ShedLock writes the moment in UTC as if it were one of its
-- session's time zone, and reads it so: another session sees another moment. So ours has their time
-- zone while it is at their row: the server's, or the one in @holdfast_their_zone. The row is found
-- by the collation of its own column, as the key is: so by statements with parameters, for a
-- variable of a procedure has a collation of its own, and an explicit one would use no index.
--
-- Its columns may keep milliseconds or whole seconds alone, and round or cut off: what is kept of a
-- lease is never less than that, and what is over is never in the future.

CREATE PROCEDURE IF NOT EXISTS holdfast_1_enter_their_zone()
SQL SECURITY INVOKER
SET @holdfast_zone = @@time_zone,
    time_zone = COALESCE(@holdfast_their_zone, @@GLOBAL.time_zone);

CREATE PROCEDURE IF NOT EXISTS holdfast_1_leave_their_zone()
SQL SECURITY INVOKER
SET time_zone = @holdfast_zone;

-- Without transactions nothing of their table would be locked between reading and writing, and both
-- would hold. Asked once in a session: it takes as long as the rest.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_check_shedlock()
SQL SECURITY INVOKER
BEGIN
    IF @holdfast_their_engine IS NULL THEN
        SELECT engine INTO @holdfast_their_engine FROM information_schema.tables
            WHERE table_schema = DATABASE() AND table_name = 'shedlock';
    END IF;
    IF @holdfast_their_engine <> 'InnoDB' THEN
        SET @holdfast_their_engine = NULL;
        SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 45001, MESSAGE_TEXT = 'shedlock is not InnoDB';
    END IF;
END;

-- Locks their row, and shows it in @holdfast_until, @holdfast_since and @holdfast_by. There is always
-- one, for a row that is not there cannot be locked.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_read_shedlock(
    IN its_name VARCHAR(64) CHARACTER SET utf8mb4)
SQL SECURITY INVOKER
BEGIN
    CALL holdfast_1_check_shedlock();
    SET @holdfast_name = its_name, @holdfast_until = NULL;
    CALL holdfast_1_enter_their_zone();
    INSERT INTO shedlock (name, lock_until, locked_at, locked_by)
        VALUES (its_name, UTC_TIMESTAMP(), UTC_TIMESTAMP(), '')
        ON DUPLICATE KEY UPDATE name = shedlock.name;
    PREPARE holdfast_read FROM
        'SELECT TIMESTAMPDIFF(MICROSECOND, DATE''1970-01-01'', lock_until),
                TIMESTAMPDIFF(MICROSECOND, DATE''1970-01-01'', locked_at), locked_by
            INTO @holdfast_until, @holdfast_since, @holdfast_by
            FROM shedlock WHERE name = ? FOR UPDATE';
    EXECUTE holdfast_read USING @holdfast_name;
    DEALLOCATE PREPARE holdfast_read;
    CALL holdfast_1_leave_their_zone();
END;

CREATE PROCEDURE IF NOT EXISTS holdfast_1_write_shedlock(
    IN its_name VARCHAR(64) CHARACTER SET utf8mb4, IN its_end BIGINT, IN its_start BIGINT,
    IN its_holder VARCHAR(255) CHARACTER SET utf8mb4)
SQL SECURITY INVOKER
BEGIN
    SET @holdfast_name = its_name, @holdfast_until = (its_end + 999) DIV 1000 * 1000,
        @holdfast_since = its_start, @holdfast_by = its_holder,
        @holdfast_second = its_end DIV 1000000 + 1;
    CALL holdfast_1_enter_their_zone();
    PREPARE holdfast_write FROM
        'UPDATE shedlock SET lock_until = DATE''1970-01-01'' + INTERVAL ? MICROSECOND,
                locked_at = DATE''1970-01-01'' + INTERVAL ? MICROSECOND, locked_by = ?
            WHERE name = ?';
    EXECUTE holdfast_write USING @holdfast_until, @holdfast_since, @holdfast_by, @holdfast_name;
    DEALLOCATE PREPARE holdfast_write;
    PREPARE holdfast_round FROM
        'UPDATE shedlock SET lock_until = DATE''1970-01-01'' + INTERVAL ? SECOND
            WHERE name = ? AND lock_until < DATE''1970-01-01'' + INTERVAL ? MICROSECOND';
    EXECUTE holdfast_round USING @holdfast_second, @holdfast_name, @holdfast_until;
    DEALLOCATE PREPARE holdfast_round;
    CALL holdfast_1_leave_their_zone();
END;

CREATE PROCEDURE IF NOT EXISTS holdfast_1_free_shedlock(
    IN its_name VARCHAR(64) CHARACTER SET utf8mb4)
SQL SECURITY INVOKER
BEGIN
    SET @holdfast_name = its_name;
    CALL holdfast_1_enter_their_zone();
    PREPARE holdfast_free FROM
        'UPDATE shedlock SET lock_until = UTC_TIMESTAMP(3)
            WHERE name = ? AND lock_until > UTC_TIMESTAMP(3)';
    EXECUTE holdfast_free USING @holdfast_name;
    DEALLOCATE PREPARE holdfast_free;
    PREPARE holdfast_round FROM
        'UPDATE shedlock SET lock_until = UTC_TIMESTAMP()
            WHERE name = ? AND lock_until > UTC_TIMESTAMP(3)';
    EXECUTE holdfast_round USING @holdfast_name;
    DEALLOCATE PREPARE holdfast_round;
    CALL holdfast_1_leave_their_zone();
END;

CREATE PROCEDURE IF NOT EXISTS holdfast_1_from_shedlock(
    IN its_line TEXT $ascii, IN its_name VARCHAR(512) $ascii)
SQL SECURITY INVOKER
BEGIN
    DECLARE line_id BINARY(32);
    DECLARE now_is, their_end BIGINT;
    DECLARE holder CHAR(32) $ascii DEFAULT '';
    WHILE line_id IS NULL DO
        CALL holdfast_1_make(its_line);
        SELECT id INTO line_id FROM holdfast_lines WHERE id = UNHEX(SHA2(its_line, 256)) FOR UPDATE;
    END WHILE;
    CALL holdfast_1_read_shedlock(CONVERT(UNHEX(its_name) USING utf8mb4));
    SET now_is = $now;
    SET their_end = @holdfast_until;
    UPDATE holdfast_lines SET capacity = 1000000000, fairness = 'b', crowd = $crowd + 1
        WHERE id = line_id;
    IF their_end > now_is THEN
        IF @holdfast_by LIKE 'holdfast:%' THEN
            SELECT nonce INTO holder FROM holdfast_contenders WHERE line = line_id
                AND nonce = CONVERT(SUBSTRING(@holdfast_by, 10, 32) USING ascii) COLLATE ascii_bin
                AND phase = 'admitted';
        END IF;
        IF holder = '' THEN SET holder = REPEAT('0', 32); END IF;
    END IF;
    -- Whose name does not stand there any more has lost it: somebody's clock was ahead, or a hand
    -- was in it.
    DELETE FROM holdfast_contenders WHERE line = line_id AND phase = 'admitted' AND nonce <> holder;
    IF holder = REPEAT('0', 32) THEN
        INSERT INTO holdfast_contenders (line, nonce, phase, weight, lease_end, since, owner, host)
            VALUES (line_id, holder, 'admitted', 1000000000, their_end, @holdfast_since, '', '')
            ON DUPLICATE KEY UPDATE lease_end = their_end;
    END IF;
    SET @holdfast_stopped = FALSE, @holdfast_undone = FALSE;
END;

CREATE PROCEDURE IF NOT EXISTS holdfast_1_to_shedlock(
    IN its_line TEXT $ascii, IN its_name VARCHAR(512) $ascii)
SQL SECURITY INVOKER
BEGIN
    DECLARE shared_name VARCHAR(64) CHARACTER SET utf8mb4
        DEFAULT CONVERT(UNHEX(its_name) USING utf8mb4);
    DECLARE holder CHAR(32) $ascii;
    DECLARE its_owner TEXT $ascii;
    DECLARE its_lease_end, its_start BIGINT;
    IF NOT @holdfast_undone THEN
        SELECT nonce, owner, lease_end, since INTO holder, its_owner, its_lease_end, its_start
            FROM holdfast_contenders
            WHERE line = UNHEX(SHA2(its_line, 256)) AND phase = 'admitted' LIMIT 1;
        IF holder IS NULL THEN
            CALL holdfast_1_free_shedlock(shared_name);
        ELSEIF holder <> REPEAT('0', 32) THEN
            CALL holdfast_1_write_shedlock(shared_name, its_lease_end, its_start,
                LEFT(CONCAT('holdfast:', holder, ' ', its_owner), 255));
        END IF;
    END IF;
END;

-- Who holds by ShedLock comes with name and owner as hexadecimal digits, behind a mark.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_inspect_shedlock(
    IN prefix VARCHAR(64) CHARACTER SET utf8mb4, IN now_is BIGINT)
SQL SECURITY INVOKER
BEGIN
    CALL holdfast_1_enter_their_zone();
    SELECT CONCAT('%shedlock=', LOWER(HEX(CONVERT(name USING utf8mb4)))), 1000000000, 'b', 'holder',
            REPEAT('0', 32), LOWER(HEX(CONVERT(locked_by USING utf8mb4))), 1000000000, 0,
            (TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', lock_until) - now_is) DIV 1000, '', 0,
            GREATEST((now_is - TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', locked_at)) DIV 1000,
                     0), 0
        FROM shedlock
        WHERE LEFT(CONVERT(name USING utf8mb4) COLLATE utf8mb4_bin, CHAR_LENGTH(prefix)) = prefix
            AND TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', lock_until) > now_is
            AND NOT EXISTS (SELECT 1 FROM holdfast_contenders WHERE phase = 'admitted'
                AND CONVERT(locked_by USING utf8mb4) COLLATE utf8mb4_bin
                    LIKE CONCAT('holdfast:', nonce, '%'));
    CALL holdfast_1_leave_their_zone();
END;

-- Those come with the first page.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_shedlock_inspect(
    IN its_lines TEXT $ascii, IN its_behind VARCHAR(64), IN its_prefix VARCHAR(512) $ascii,
    IN its_end INT)
SQL SECURITY INVOKER
BEGIN
    DECLARE now_is BIGINT DEFAULT $now;
    DECLARE prefix VARCHAR(64) CHARACTER SET utf8mb4
        DEFAULT CONVERT(UNHEX(its_prefix) USING utf8mb4);
    CALL holdfast_1_inspect(its_lines, its_behind, 0);
    IF its_behind = '' THEN
        CALL holdfast_1_inspect_shedlock(prefix, now_is);
    END IF;
END;
