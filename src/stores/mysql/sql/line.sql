-- Everybody who moves somebody in a line locks its row first, by
--     SELECT ... FROM holdfast_lines WHERE id = UNHEX(SHA2(name, 256)) FOR UPDATE
-- and statements after that one see all that was done under the lock. It finds nothing when there
-- is no such row: under READ COMMITTED nothing is locked then. The moment is read after that.

-- Makes a resource's row and locks it, with all of its lock: IGNORE would share it, and two who
-- share it wait for each other. With a crowd: it is not known that there is nobody.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_make(IN its_name TEXT $ascii)
SQL SECURITY INVOKER
INSERT INTO holdfast_lines (id, name, crowd) VALUES (UNHEX(SHA2(its_name, 256)), its_name, 1)
    ON DUPLICATE KEY UPDATE name = name;

-- The weight of all holders. Those whose lease has ended may be left there for the next request to
-- take out, and do not count, unless one that lives joined their place: it will take the weight
-- over. A weight below nothing is planted, and makes no room.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_held(
    IN in_line BINARY(32), IN now_is BIGINT, OUT held BIGINT)
SQL SECURITY INVOKER
SELECT COALESCE(SUM(GREATEST(weight, 0)), 0) INTO held FROM holdfast_contenders
    WHERE line = in_line AND phase IN ('admitted', 'offered')
        AND (lease_end > now_is OR fence IN (
            SELECT fence FROM holdfast_contenders
                WHERE line = in_line AND phase = 'admitted' AND weight = 0
                    AND lease_end > now_is));

-- Of one that joined a hold: its lease is over when the row of that hold is gone, by somebody's
-- hand. Nobody has the place then.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_check_joined(
    IN in_line BINARY(32), IN its_phase VARCHAR(8) $ascii, IN its_fence BIGINT,
    INOUT its_lease_end BIGINT)
SQL SECURITY INVOKER
IF its_phase = 'admitted' AND NOT EXISTS (
    SELECT 1 FROM holdfast_contenders
        WHERE line = in_line AND phase = 'admitted' AND weight > 0 AND fence = its_fence) THEN
    SET its_lease_end = 0;
END IF;

-- How many have been offered a place and have not claimed it.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_offers(IN in_line BINARY(32), OUT offers BIGINT)
SQL SECURITY INVOKER
SELECT COUNT(*) INTO offers FROM holdfast_contenders WHERE line = in_line AND phase = 'offered';

-- How many milliseconds the stand-by waits before it looks. A holder that is not ours (see
-- shedlock.sql) tells nobody when it lets go.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_look(
    IN in_line BINARY(32), IN now_is BIGINT, OUT look BIGINT)
SQL SECURITY INVOKER
BEGIN
    DECLARE first_end BIGINT;
    SELECT MIN(CASE
            WHEN phase = 'offered' THEN LEAST(lease_end, claim_end)
            WHEN nonce = REPEAT('0', 32) THEN LEAST(lease_end, now_is + 1000000)
            ELSE lease_end END)
        INTO first_end FROM holdfast_contenders
        WHERE line = in_line AND phase IN ('admitted', 'offered');
    IF first_end IS NULL THEN
        SELECT IF(seat_claim_end = 0, seat_lease_end, LEAST(seat_lease_end, seat_claim_end))
            INTO first_end FROM holdfast_lines WHERE id = in_line AND seat_nonce <> '';
    END IF;
    SET look = COALESCE(GREATEST((first_end - now_is + 999) DIV 1000, 1), 1000);
END;

-- Ends the sleep of a client that another user's session sleeps for, by the rights of whoever made
-- this procedure: CONNECTION ADMIN (SUPER before there was that). Without them, who waits looks by
-- itself. Nothing but such a session has a lock of that name.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_wake(IN its_client CHAR(32) $ascii)
SQL SECURITY DEFINER
BEGIN
    DECLARE sleeper BIGINT DEFAULT IS_USED_LOCK(CONCAT('holdfast_', its_client));
    DECLARE CONTINUE HANDLER FOR 1094, 1095, 1227 BEGIN END;
    IF sleeper IS NOT NULL THEN KILL QUERY sleeper; END IF;
END;

-- Wakes a client that is told something: told and told_at of a contender, or seat_told_to of a line,
-- have been written. It claims, finds the row locked and waits for the commit; not for the disk,
-- since rows are unlocked before a commit waits for that. To end a sleep of one's own user needs no right.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_ring(IN its_client CHAR(32) $ascii)
SQL SECURITY INVOKER
BEGIN
    DECLARE sleeper BIGINT DEFAULT IS_USED_LOCK(CONCAT('holdfast_', its_client));
    DECLARE CONTINUE HANDLER FOR 1094 BEGIN END; -- it has ended by now
    DECLARE CONTINUE HANDLER FOR 1095
    BEGIN
        DECLARE CONTINUE HANDLER FOR 1370, 1449 BEGIN END; -- no right to call it; its maker is gone
        CALL holdfast_1_wake(its_client);
    END;
    IF sleeper IS NOT NULL THEN KILL QUERY sleeper; END IF;
END;

-- The answers of all verbs are rows of these four: a state (0 gone, 1 waiting, 2 offered, 3
-- admitted; 4, of one of many that are renewed: somebody has its row), ticket, fence and look (-1:
-- none); or a word that says why it is refused, and what belongs to that. With the last of a request
-- its transaction ends, before the answer: so there is one thing to be sent and to wake up for.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_answer(
    IN its_end INT, IN state INT, IN ticket BIGINT, IN fence BIGINT, IN look BIGINT)
SQL SECURITY INVOKER
BEGIN
    IF its_end THEN COMMIT; END IF;
    SELECT state, ticket, fence, look;
END;

-- What one that waits is answered: the first that waits and was not passed over is the stand-by,
-- and looks when something ahead ends. It may be as dead as the holder: the next ones look a claim
-- time after each other. And where there is room but for the stand-by, its end is what they wait
-- for. `seat`: who has the seat, and is not meant by its row.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_still_waiting(
    IN in_line BINARY(32), IN seat CHAR(32) $ascii, IN its_nonce CHAR(32) $ascii,
    IN its_ticket BIGINT, IN now_is BIGINT, IN its_end INT)
SQL SECURITY INVOKER
BEGIN
    DECLARE look BIGINT DEFAULT -1;
    DECLARE ahead, its_weight, its_capacity, held, first_end BIGINT;
    SELECT SUM(ticket < its_ticket), SUM(IF(nonce = its_nonce, weight, 0)) INTO ahead, its_weight
        FROM (SELECT nonce, ticket, weight FROM holdfast_contenders
            WHERE line = in_line AND phase = 'waiting' AND lease_end > now_is AND nonce <> seat
            ORDER BY ticket LIMIT 8) first_few
        HAVING SUM(nonce = its_nonce) > 0;
    IF ahead IS NOT NULL THEN
        CALL holdfast_1_look(in_line, now_is, look);
        SET look = look + 1000 * ahead;
    END IF;
    IF ahead > 0 AND seat = '' THEN
        SELECT capacity INTO its_capacity FROM holdfast_lines WHERE id = in_line;
        CALL holdfast_1_held(in_line, now_is, held);
        IF its_weight <= its_capacity - held THEN
            SELECT lease_end INTO first_end FROM holdfast_contenders
                WHERE line = in_line AND phase = 'waiting' AND lease_end > now_is
                ORDER BY ticket LIMIT 1;
            SET look = LEAST(look, (first_end - now_is + 999) DIV 1000);
        END IF;
    END IF;
    CALL holdfast_1_answer(its_end, 1, its_ticket, 0, look);
END;

-- Makes this session the one where the client sleeps. One that it has lost, and the server has not
-- missed yet, ends.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_hang_bell(IN its_client CHAR(32) $ascii)
SQL SECURITY INVOKER
BEGIN
    DECLARE sleeper BIGINT DEFAULT IS_USED_LOCK(CONCAT('holdfast_', its_client));
    DECLARE CONTINUE HANDLER FOR 1094, 1095 BEGIN END;
    IF sleeper IS NOT NULL THEN KILL sleeper; END IF;
    SELECT GET_LOCK(CONCAT('holdfast_', its_client), 1);
END;

-- Sleeps until something is told to the client that is not in `seen` yet (each by nonce and
-- told_at: several are told at the same moment), and shows all that is told. What is told before the sleep begins is found, also when it is not committed
-- yet: its session reads so (READ UNCOMMITTED); what comes later ends the sleep. It locks nothing:
-- it would find a row by an index that whoever has locked the row changes later. Whoever is told
-- asks for its place then, and waits for the commit by that.
--
-- It sleeps by waiting for a lock that another session of the client has: so it ends with the
-- client. Out of SLEEP() a session wakes by one mutex for all of them, and only when its own hour
-- is over if the client is gone; that is for the moment in which there is no other session.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_listen(
    IN its_client CHAR(32) $ascii, IN seen MEDIUMTEXT $ascii, IN seconds INT)
SQL SECURITY INVOKER
BEGIN
    DECLARE awake VARCHAR(64) CHARACTER SET ascii DEFAULT CONCAT('holdfast_', its_client, '_awake');
    DECLARE news INT;
    -- It woke just when it had got the lock: as long as it has that, it would not sleep any more.
    IF IS_USED_LOCK(awake) = CONNECTION_ID() THEN DO RELEASE_LOCK(awake); END IF;
    -- In this order: what is told with a seat may move to the contenders meanwhile, and not back.
    SELECT COUNT(*) INTO news FROM holdfast_lines
        WHERE seat_told_to = its_client
            AND FIND_IN_SET(CONCAT(seat_nonce, seat_claim_end), seen) = 0;
    IF news = 0 THEN
        SELECT COUNT(*) INTO news FROM holdfast_contenders
            WHERE client = its_client AND told_at > 0
                AND FIND_IN_SET(CONCAT(nonce, told_at), seen) = 0;
    END IF;
    IF news = 0 THEN
        IF IS_USED_LOCK(awake) IS NULL THEN
            DO SLEEP(1);
        ELSEIF GET_LOCK(awake, seconds) = 1 THEN
            DO RELEASE_LOCK(awake);
        END IF;
    END IF;
    SELECT seat_nonce, 'o', seat_claim_end FROM holdfast_lines WHERE seat_told_to = its_client
    UNION ALL SELECT nonce, told, told_at FROM holdfast_contenders
        WHERE client = its_client AND told_at > 0;
END;
