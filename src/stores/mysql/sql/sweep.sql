-- What is over goes in steps. This is the last line of one that begins behind an id; NULL when there
-- are no more than so many.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_end_of_step(
    IN behind VARBINARY(33), IN most INT, OUT up_to VARBINARY(33))
SQL SECURITY INVOKER
BEGIN
    SET most = most - 1;
    SELECT id INTO up_to FROM holdfast_lines WHERE id > behind ORDER BY id LIMIT 1 OFFSET most;
END;

-- Forgets resources that nobody contends for, once the clock alone makes the next fence larger, with
-- the contenders that died there: those behind one id, up to another, but for what somebody is at. A
-- transaction of its own. Of crowds of dead ones some hundreds go now, and their line with the last
-- of them; none where somebody has joined a hold just before that ended.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_forget_between(
    IN behind VARBINARY(33), IN up_to VARBINARY(33), IN now_is BIGINT, OUT forgotten BIGINT)
SQL SECURITY INVOKER
BEGIN
    DECLARE line_id BINARY(32);
    DECLARE line_crowd BIGINT;
    DECLARE removed INT DEFAULT 0;
    DECLARE ended BOOLEAN DEFAULT FALSE;
    DECLARE idle CURSOR FOR SELECT id, crowd FROM holdfast_lines
        WHERE id > behind AND id <= up_to AND last_fence < now_is - 86400000000
            AND (seat_nonce = '' OR seat_lease_end <= now_is)
            AND NOT EXISTS (SELECT 1 FROM holdfast_contenders
                            WHERE line = id AND lease_end > now_is)
        FOR UPDATE SKIP LOCKED;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET ended = TRUE;
    SET forgotten = 0;
    START TRANSACTION;
    OPEN idle;
    each_one: LOOP
        FETCH idle INTO line_id, line_crowd;
        IF ended OR removed >= 500 THEN LEAVE each_one; END IF;
        IF line_crowd > 0 AND NOT EXISTS (SELECT 1 FROM holdfast_contenders
                                          WHERE line = line_id AND lease_end > now_is) THEN
            DELETE FROM holdfast_contenders WHERE line = line_id AND lease_end <= now_is LIMIT 500;
            SET removed = removed + ROW_COUNT();
        END IF;
        DELETE FROM holdfast_lines WHERE id = line_id
            AND NOT EXISTS (SELECT 1 FROM holdfast_contenders WHERE line = line_id);
        SET forgotten = forgotten + ROW_COUNT();
    END LOOP;
    CLOSE idle;
    COMMIT;
END;

-- A step of that alone, small enough to be done beside other work: the next 50 lines behind this id
-- (in hexadecimal digits). Answers as sweep does.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_forget(IN its_behind VARCHAR(64), IN its_end INT)
SQL SECURITY INVOKER
BEGIN
    DECLARE behind VARBINARY(33) DEFAULT UNHEX(its_behind);
    DECLARE up_to VARBINARY(33);
    DECLARE forgotten BIGINT;
    CALL holdfast_1_end_of_step(behind, 50, up_to);
    CALL holdfast_1_forget_between(behind, COALESCE(up_to, REPEAT(x'ff', 33)),
        $now, forgotten);
    SELECT 0, forgotten, LOWER(HEX(COALESCE(up_to, '')));
END;

-- How many contenders of a line were over: of a crowd some thousands, and then there may be more.
-- Passes on what they held; passes over a line that somebody is at. A transaction of its own.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_sweep_line(
    IN line_id BINARY(32), IN now_is BIGINT, OUT removed BIGINT, OUT any_left BOOLEAN)
SQL SECURITY INVOKER
body: BEGIN
    DECLARE line_capacity, room BIGINT;
    DECLARE line_fairness CHAR(1) $ascii;
    DECLARE seat CHAR(32) $ascii DEFAULT '';
    DECLARE seat_end BIGINT;
    DECLARE is_locked BOOLEAN;
    SET removed = 0, any_left = FALSE;
    START TRANSACTION;
    SELECT capacity, fairness, seat_nonce, seat_lease_end
        INTO line_capacity, line_fairness, seat, seat_end
        FROM holdfast_lines WHERE id = line_id FOR UPDATE SKIP LOCKED;
    IF line_capacity IS NULL THEN
        -- Not by EXISTS in the IF: that would wait for the row to share it.
        SELECT COUNT(*) INTO is_locked FROM holdfast_lines WHERE id = line_id;
        IF is_locked THEN
            COMMIT;
            LEAVE body;
        END IF;
    END IF;
    IF seat <> '' AND seat_end <= now_is THEN
        CALL holdfast_1_unseat(line_id);
        SET seat = '';
    END IF;
    SET removed = (SELECT COUNT(*) FROM holdfast_contenders WHERE line = line_id);
    -- The row that whoever has the seat left there is its own to delete.
    DELETE FROM holdfast_contenders WHERE line = line_id AND lease_end <= now_is
        AND nonce <> seat AND (phase IN ('left', 'waiting', 'lapsed') OR line_capacity IS NULL)
        LIMIT 2000;
    SET any_left = ROW_COUNT() = 2000;
    IF seat = '' THEN
        CALL holdfast_1_advance(line_id, line_capacity, line_fairness, now_is, '', TRUE, room);
    END IF;
    CALL holdfast_1_recount(line_id);
    SET removed = removed - (SELECT COUNT(*) FROM holdfast_contenders WHERE line = line_id);
    COMMIT;
END;

-- Removes what is over and nobody needs any more. A step of it: the next 500 lines behind this id (in
-- hexadecimal digits), about 100 ms, and no further than a crowd of dead ones, of which some
-- thousands go: so it stops nobody for long. Answers what was removed, and the last id, or the begin
-- of that of a crowd, with which the next step goes on; none when that was all.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_sweep(IN its_behind VARCHAR(64), IN its_end INT)
SQL SECURITY INVOKER
BEGIN
    DECLARE behind VARBINARY(33) DEFAULT UNHEX(its_behind);
    DECLARE up_to, overdue, overdue_seat VARBINARY(33);
    DECLARE line_id VARBINARY(33) DEFAULT behind;
    DECLARE now_is, removed, idle BIGINT;
    DECLARE contenders BIGINT DEFAULT 0;
    DECLARE started DATETIME(6) DEFAULT SYSDATE(6);
    DECLARE more, any_left BOOLEAN;
    SET now_is = $now;
    CALL holdfast_1_end_of_step(behind, 500, up_to);
    SET more = up_to IS NOT NULL, up_to = COALESCE(up_to, REPEAT(x'ff', 33));
    each_line: LOOP
        SET overdue = NULL, overdue_seat = NULL;
        SELECT line INTO overdue FROM holdfast_contenders
            WHERE line > line_id AND line <= up_to AND lease_end <= now_is ORDER BY line LIMIT 1;
        SELECT id INTO overdue_seat FROM holdfast_lines
            WHERE id > line_id AND id <= COALESCE(overdue, up_to) AND seat_nonce <> ''
                AND seat_lease_end <= now_is ORDER BY id LIMIT 1;
        SET line_id = COALESCE(overdue_seat, overdue);
        IF line_id IS NULL THEN LEAVE each_line; END IF;
        CALL holdfast_1_sweep_line(line_id, now_is, removed, any_left);
        SET contenders = contenders + removed;
        IF any_left OR TIMESTAMPDIFF(MICROSECOND, started, SYSDATE(6)) > 100000 THEN
            SET more = TRUE, up_to = IF(any_left, LEFT(line_id, 31), line_id);
            LEAVE each_line;
        END IF;
    END LOOP;
    CALL holdfast_1_forget_between(behind, up_to, now_is, idle);
    SELECT contenders, idle, IF(more, LOWER(HEX(up_to)), '');
END;
