-- The moment is read after the row is locked, by SYSDATE: NOW() stands still within a statement, and
-- can be set.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_now(OUT now_is BIGINT)
SQL SECURITY INVOKER
SET now_is = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6));

-- Locks the resource's row. Statements after this one see all that was done under the lock. The
-- line is null when there is no such row: under READ COMMITTED nothing is locked then.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_lock(
    IN its_name TEXT CHARACTER SET ascii COLLATE ascii_bin, OUT line_id BINARY(32),
    OUT its_capacity BIGINT, OUT its_fairness CHAR(1) CHARACTER SET ascii COLLATE ascii_bin,
    OUT its_ticket BIGINT, OUT its_fence BIGINT)
SQL SECURITY INVOKER
BEGIN
    SELECT id, capacity, fairness, last_ticket, last_fence
        INTO line_id, its_capacity, its_fairness, its_ticket, its_fence
        FROM holdfast_lines WHERE id = UNHEX(SHA2(its_name, 256)) FOR UPDATE;
END;

-- The same, and makes the row when there is none.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_lock_or_make(
    IN its_name TEXT CHARACTER SET ascii COLLATE ascii_bin, OUT line_id BINARY(32),
    OUT its_capacity BIGINT, OUT its_fairness CHAR(1) CHARACTER SET ascii COLLATE ascii_bin,
    OUT its_ticket BIGINT, OUT its_fence BIGINT)
SQL SECURITY INVOKER
BEGIN
    CALL holdfast_1_lock(its_name, line_id, its_capacity, its_fairness, its_ticket, its_fence);
    WHILE line_id IS NULL DO
        -- An update takes the row's lock whole. IGNORE would share it, and two who share it wait
        -- for each other.
        INSERT INTO holdfast_lines (id, name) VALUES (UNHEX(SHA2(its_name, 256)), its_name)
            ON DUPLICATE KEY UPDATE name = name;
        CALL holdfast_1_lock(its_name, line_id, its_capacity, its_fairness, its_ticket, its_fence);
    END WHILE;
END;

-- The weight of all holders.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_held(IN in_line BINARY(32), OUT held BIGINT)
SQL SECURITY INVOKER
SELECT COALESCE(SUM(weight), 0) INTO held FROM holdfast_contenders
    WHERE line = in_line AND phase IN ('admitted', 'offered');

-- How many milliseconds the stand-by waits before it looks.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_look(IN in_line BINARY(32), IN now_is BIGINT,
                                               OUT look BIGINT)
SQL SECURITY INVOKER
SELECT COALESCE(GREATEST((MIN(IF(phase = 'offered', LEAST(lease_end, claim_end), lease_end))
                          - now_is + 999) DIV 1000, 1), 1000)
    INTO look FROM holdfast_contenders
    WHERE line = in_line AND phase IN ('admitted', 'offered');

-- Told to its client, whose bell is rung when this is committed.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_tell(
    IN in_line BINARY(32), IN whom CHAR(32) CHARACTER SET ascii COLLATE ascii_bin,
    IN word CHAR(1) CHARACTER SET ascii COLLATE ascii_bin, IN now_is BIGINT)
SQL SECURITY INVOKER
BEGIN
    UPDATE holdfast_contenders SET told = word, told_at = GREATEST(told_at + 1, now_is)
        WHERE line = in_line AND nonce = whom;
    SET @holdfast_bells = CONCAT(COALESCE(@holdfast_bells, ''),
        (SELECT client FROM holdfast_contenders WHERE line = in_line AND nonce = whom), ',');
END;

-- What one that waits is answered: the first that waits and was not passed over is the stand-by,
-- and looks when something ahead ends.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_still_waiting(
    IN in_line BINARY(32), IN its_nonce CHAR(32) CHARACTER SET ascii COLLATE ascii_bin,
    IN now_is BIGINT)
SQL SECURITY INVOKER
BEGIN
    DECLARE look BIGINT DEFAULT -1;
    DECLARE stand_by CHAR(32) CHARACTER SET ascii COLLATE ascii_bin;
    SELECT nonce INTO stand_by FROM holdfast_contenders
        WHERE line = in_line AND phase = 'waiting' AND lease_end > now_is ORDER BY ticket LIMIT 1;
    IF stand_by = its_nonce THEN CALL holdfast_1_look(in_line, now_is, look); END IF;
    SELECT 1, ticket, 0, look FROM holdfast_contenders WHERE line = in_line AND nonce = its_nonce;
END;

-- Ends the sleep of a client that another user's session sleeps for, by the rights of whoever made
-- this procedure: CONNECTION ADMIN (SUPER before there was that). Without them, who waits looks by
-- itself. Nothing but such a session has a lock of that name.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_wake(
    IN its_client CHAR(32) CHARACTER SET ascii COLLATE ascii_bin)
SQL SECURITY DEFINER
BEGIN
    DECLARE sleeper BIGINT DEFAULT IS_USED_LOCK(CONCAT('holdfast_', its_client));
    DECLARE CONTINUE HANDLER FOR 1094, 1095, 1227 BEGIN END;
    IF sleeper IS NOT NULL THEN KILL QUERY sleeper; END IF;
END;

-- Ends a transaction, and wakes the clients of those who were told something in it. A client that
-- listens sleeps in a session that has the lock of its name. To end the sleep of one's own user's
-- sessions needs no right.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_commit()
SQL SECURITY INVOKER
BEGIN
    DECLARE bells TEXT CHARACTER SET ascii COLLATE ascii_bin DEFAULT @holdfast_bells;
    DECLARE its_client CHAR(32) CHARACTER SET ascii COLLATE ascii_bin;
    DECLARE sleeper BIGINT;
    DECLARE CONTINUE HANDLER FOR 1094 BEGIN END; -- it has ended by now
    DECLARE CONTINUE HANDLER FOR 1095
    BEGIN
        DECLARE CONTINUE HANDLER FOR 1370, 1449 BEGIN END; -- no right to call it; its maker is gone
        CALL holdfast_1_wake(its_client);
    END;
    SET @holdfast_bells = NULL, @holdfast_stopped = NULL;
    COMMIT;
    WHILE bells <> '' DO
        SET its_client = SUBSTRING_INDEX(bells, ',', 1);
        SET bells = SUBSTRING(bells, LOCATE(',', bells) + 1);
        SET sleeper = IS_USED_LOCK(CONCAT('holdfast_', its_client));
        IF sleeper IS NOT NULL THEN KILL QUERY sleeper; END IF;
    END WHILE;
END;

-- Makes this session the one where the client sleeps. One that it has lost, and the server has not
-- missed yet, ends.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_hang_bell(
    IN its_client CHAR(32) CHARACTER SET ascii COLLATE ascii_bin)
SQL SECURITY INVOKER
BEGIN
    DECLARE sleeper BIGINT DEFAULT IS_USED_LOCK(CONCAT('holdfast_', its_client));
    DECLARE CONTINUE HANDLER FOR 1094, 1095 BEGIN END;
    IF sleeper IS NOT NULL THEN KILL sleeper; END IF;
    SELECT GET_LOCK(CONCAT('holdfast_', its_client), 1);
END;

-- Sleeps until something is told to the client that is not in `seen` yet (their told_at), and shows
-- all that is told. What is told before the sleep began is found, what comes during it wakes.
--
-- It sleeps by waiting for a lock that another session of the client has: so it ends with the
-- client. Out of SLEEP() a session wakes by one mutex for all of them, and only when its own hour is
-- over if the client is gone; that is for the moment in which there is no other session.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_listen(
    IN its_client CHAR(32) CHARACTER SET ascii COLLATE ascii_bin, IN seen MEDIUMTEXT,
    IN seconds INT)
SQL SECURITY INVOKER
BEGIN
    DECLARE awake VARCHAR(64) CHARACTER SET ascii DEFAULT CONCAT('holdfast_', its_client, '_awake');
    IF NOT EXISTS (SELECT 1 FROM holdfast_contenders
                   WHERE client = its_client AND told_at > 0 AND FIND_IN_SET(told_at, seen) = 0)
    THEN
        IF IS_USED_LOCK(awake) IS NULL THEN
            DO SLEEP(1);
        ELSEIF GET_LOCK(awake, seconds) = 1 THEN
            DO RELEASE_LOCK(awake);
        END IF;
    END IF;
    SELECT nonce, told, told_at FROM holdfast_contenders
        WHERE client = its_client AND told_at > 0;
END;
