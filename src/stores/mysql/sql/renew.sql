-- Where one stands that is among the contenders, and lives. Its line is locked. Who asks is there: one
-- that was passed over counts again.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_standing_one(
    IN line_id BINARY(32), IN line_capacity BIGINT, IN line_fairness CHAR(1) $ascii,
    IN its_nonce CHAR(32) $ascii, IN its_phase VARCHAR(8) $ascii, IN its_ticket BIGINT,
    IN its_weight BIGINT, IN its_fence BIGINT, IN now_is BIGINT, IN its_end INT)
SQL SECURITY INVOKER
BEGIN
    DECLARE held, room BIGINT;
    UPDATE holdfast_contenders SET told_at = 0, phase = IF(phase = 'lapsed', 'waiting', phase)
        WHERE line = line_id AND nonce = its_nonce;
    -- A claim stands as long as nobody else came for the place.
    IF its_phase <> 'offered' THEN
        CALL holdfast_1_advance(line_id, line_capacity, line_fairness, now_is, its_nonce, FALSE,
                                room);
        SELECT phase INTO its_phase FROM holdfast_contenders
            WHERE line = line_id AND nonce = its_nonce;
    END IF;
    CALL holdfast_1_held(line_id, now_is, held);
    IF its_phase = 'admitted' THEN
        CALL holdfast_1_answer(its_end, 3, its_ticket, its_fence, -1);
    -- Nothing is reserved under barging: its renewal decides.
    ELSEIF its_phase = 'offered' OR (line_fairness = 'b' AND its_weight <= line_capacity - held) THEN
        CALL holdfast_1_answer(its_end, 2, its_ticket, 0, -1);
    ELSE
        CALL holdfast_1_still_waiting(line_id, '', its_nonce, its_ticket, now_is, its_end);
    END IF;
END;

-- Extends a lease, and admits whom a place is reserved for, or who may take a free one. Never
-- re-creates. Answers as enter does. A renewal that is older than one before, by its serial, comes
-- late and changes nothing. Without a serial it is an enter that comes again, and shortens nothing.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_renew_one(
    IN line_id BINARY(32), IN its_capacity BIGINT, IN its_fairness CHAR(1) $ascii,
    IN line_fence BIGINT, IN its_nonce CHAR(32) $ascii, IN its_lease BIGINT, IN its_serial BIGINT,
    IN now_is BIGINT, IN its_end INT)
SQL SECURITY INVOKER
body: BEGIN
    DECLARE its_phase VARCHAR(8) $ascii;
    DECLARE its_ticket, its_weight, its_fence, its_lease_end, last_serial, offers, room BIGINT;
    SELECT phase, ticket, weight, fence, lease_end, serial
        INTO its_phase, its_ticket, its_weight, its_fence, its_lease_end, last_serial
        FROM holdfast_contenders
        WHERE line = line_id AND nonce = its_nonce AND phase <> 'left';
    IF its_phase IS NULL THEN
        CALL holdfast_1_answer(its_end, 0, 0, 0, -1);
        LEAVE body;
    END IF;
    IF its_weight = 0 THEN
        CALL holdfast_1_check_joined(line_id, its_phase, its_fence, its_lease_end);
    END IF;
    IF its_lease_end <= now_is THEN
        CALL holdfast_1_remove(line_id, its_nonce);
        CALL holdfast_1_advance(line_id, its_capacity, its_fairness, now_is, its_nonce, TRUE,
                                room);
        CALL holdfast_1_answer(its_end, 0, 0, 0, -1);
        SET @holdfast_stopped = TRUE;
        LEAVE body;
    END IF;
    IF its_serial < last_serial THEN
        CALL holdfast_1_standing_one(line_id, its_capacity, its_fairness, its_nonce, its_phase,
                                     its_ticket, its_weight, its_fence, now_is, its_end);
        LEAVE body;
    END IF;
    SET its_lease_end = GREATEST(now_is + its_lease * 1000, IF(its_serial IS NULL, its_lease_end, 0));
    IF its_phase IN ('waiting', 'lapsed') THEN
        UPDATE holdfast_contenders
            SET phase = 'waiting', lease_end = its_lease_end, told_at = 0,
                serial = COALESCE(its_serial, serial)
            WHERE line = line_id AND nonce = its_nonce;
        CALL holdfast_1_advance(line_id, its_capacity, its_fairness, now_is, its_nonce, FALSE,
                                room);
        SELECT phase INTO its_phase FROM holdfast_contenders
            WHERE line = line_id AND nonce = its_nonce;
        IF its_phase = 'waiting' AND (its_fairness = 'f' OR its_weight > room) THEN
            SET @holdfast_stopped = TRUE;
            CALL holdfast_1_still_waiting(line_id, '', its_nonce, its_ticket, now_is, its_end);
            LEAVE body;
        END IF;
    END IF;
    IF its_phase <> 'admitted' THEN
        IF line_fence >= 9007199254740991 THEN
            IF its_end THEN COMMIT; END IF;
            SELECT 'fence', line_fence;
            SET @holdfast_stopped = TRUE;
            LEAVE body;
        END IF;
        SET its_fence = GREATEST(line_fence + 1, now_is);
        UPDATE holdfast_lines SET last_fence = its_fence WHERE id = line_id;
    END IF;
    UPDATE holdfast_contenders
        SET since = IF(phase = 'admitted', since, now_is), phase = 'admitted', fence = its_fence,
            lease_end = its_lease_end, told_at = 0, serial = COALESCE(its_serial, serial)
        WHERE line = line_id AND nonce = its_nonce;
    IF its_phase = 'waiting' THEN
        -- A barger left the line from wherever it stood: whoever is first now must know.
        CALL holdfast_1_tell_stand_by(line_id, '', now_is);
        CALL holdfast_1_call_next_barger(line_id, its_ticket, room - its_weight, now_is);
    ELSEIF its_phase = 'offered' AND its_weight < its_capacity THEN
        -- More may fit than could be offered at once.
        CALL holdfast_1_offers(line_id, offers);
        IF offers < 50 THEN
            CALL holdfast_1_advance(line_id, its_capacity, its_fairness, now_is, its_nonce, FALSE,
                                    room);
        END IF;
    END IF;
    CALL holdfast_1_answer(its_end, 3, its_ticket, its_fence, -1);
END;

-- Whether somebody else has the row of one of many that are renewed together, still has it after a
-- second (innodb_lock_wait_timeout), and may have it for long. Else it is locked now. All such waits
-- together are short, whether or not the rows were had in the end: no further one begins when
-- @holdfast_patience (microseconds) is used up.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_lock_or_skip(
    IN its_name TEXT $ascii, OUT is_locked BOOLEAN)
SQL SECURITY INVOKER
body: BEGIN
    DECLARE its_id, found BINARY(32);
    DECLARE began DATETIME(6);
    DECLARE EXIT HANDLER FOR 1205 SET is_locked = TRUE, @holdfast_patience = 0;
    SET its_id = UNHEX(SHA2(its_name, 256)), is_locked = FALSE;
    SELECT id INTO found FROM holdfast_lines WHERE id = its_id FOR UPDATE SKIP LOCKED;
    IF found IS NOT NULL THEN LEAVE body; END IF;
    -- Not by EXISTS in a SET or an IF: that would wait for the row to share it.
    SELECT COUNT(*) INTO is_locked FROM holdfast_lines WHERE id = its_id;
    IF is_locked AND @holdfast_patience > 0 THEN
        SET began = SYSDATE(6);
        SELECT id INTO found FROM holdfast_lines WHERE id = its_id FOR UPDATE;
        SET is_locked = FALSE,
            @holdfast_patience = @holdfast_patience
                - TIMESTAMPDIFF(MICROSECOND, began, SYSDATE(6));
    END IF;
END;

-- Called for many in one transaction, sorted by name, so that two never wait for each other. One
-- whose row somebody else has for long is answered with a 4, and costs the others little.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_renew(
    IN its_name TEXT $ascii, IN its_nonce CHAR(32) $ascii, IN its_lease BIGINT,
    IN its_serial BIGINT, IN its_end INT)
SQL SECURITY INVOKER
body: BEGIN
    DECLARE line_id BINARY(32);
    DECLARE line_capacity, line_fence, now_is, its_ticket, its_fence, its_claim_end, seat_end,
        last_serial BIGINT;
    DECLARE line_fairness CHAR(1) $ascii;
    DECLARE seat CHAR(32) $ascii DEFAULT '';
    DECLARE done, is_locked BOOLEAN DEFAULT FALSE;
    IF its_end THEN
        START TRANSACTION;
    ELSE
        CALL holdfast_1_lock_or_skip(its_name, is_locked);
        IF is_locked THEN
            CALL holdfast_1_answer(its_end, 4, 0, 0, -1);
            LEAVE body;
        END IF;
    END IF;
    SELECT id, capacity, fairness, last_fence, seat_nonce, seat_ticket, seat_fence, seat_claim_end,
            seat_serial,
            IF(seat_claim_end = 0 OR seat_nonce = its_nonce, seat_lease_end,
               LEAST(seat_lease_end, seat_claim_end))
        INTO line_id, line_capacity, line_fairness, line_fence, seat, its_ticket, its_fence,
            its_claim_end, last_serial, seat_end
        FROM holdfast_lines WHERE id = UNHEX(SHA2(its_name, 256)) FOR UPDATE;
    SET now_is = $now;
    -- In a row that a hand deleted and somebody made anew nobody's turn would come: see enter.
    IF line_capacity = 0 THEN
        CALL holdfast_1_answer(its_end, 0, 0, 0, -1);
        LEAVE body;
    END IF;
    IF seat = its_nonce AND seat_end > now_is AND its_serial < last_serial THEN
        -- Who asks knows by now.
        IF its_serial < 0 THEN UPDATE holdfast_lines SET seat_told_to = '' WHERE id = line_id; END IF;
        CALL holdfast_1_answer(its_end, IF(its_claim_end = 0, 3, 2), its_ticket, its_fence, -1);
        LEAVE body;
    END IF;
    IF seat = its_nonce AND seat_end > now_is AND line_fence < 9007199254740991 THEN
        IF its_claim_end > 0 THEN
            SET its_fence = GREATEST(line_fence + 1, now_is), line_fence = its_fence;
        END IF;
        UPDATE holdfast_lines
            SET seat_since = IF(its_claim_end = 0, seat_since, now_is), last_fence = line_fence,
                seat_fence = its_fence, seat_lease_end = now_is + its_lease * 1000,
                seat_claim_end = 0, seat_told_to = '', seat_serial = its_serial
            WHERE id = line_id;
        CALL holdfast_1_answer(its_end, 3, its_ticket, its_fence, -1);
        LEAVE body;
    END IF;
    IF seat <> '' THEN
        IF seat <> its_nonce AND seat_end > now_is THEN
            CALL holdfast_1_wait_for_seat(line_id, seat, its_nonce, its_lease, its_serial, now_is,
                                          its_end, done);
        END IF;
        IF done THEN LEAVE body; END IF;
        CALL holdfast_1_unseat(line_id);
    END IF;
    CALL holdfast_1_renew_one(line_id, line_capacity, line_fairness, line_fence, its_nonce,
                              its_lease, its_serial, now_is, its_end);
END;

-- Where a contender stands. Extends nothing, as a renewal that comes late does not; ends whose lease or
-- claim is over.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_standing(
    IN its_name TEXT $ascii, IN its_nonce CHAR(32) $ascii, IN its_end INT)
SQL SECURITY INVOKER
CALL holdfast_1_renew(its_name, its_nonce, 0, -1, its_end);
