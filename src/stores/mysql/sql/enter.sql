-- Nothing of this request is left, and what would come after it does not.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_undo()
SQL SECURITY INVOKER
BEGIN
    SET @holdfast_stopped = TRUE, @holdfast_undone = TRUE;
    ROLLBACK;
END;

-- Several are entered in order, up to the first that is not admitted: @holdfast_stopped is set then,
-- and what would come after it does not. When it is gone or refused, nothing of this transaction is
-- left: all of it is rolled back.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_enter(
    IN its_name TEXT $ascii, IN its_nonce CHAR(32) $ascii, IN its_client CHAR(32) $ascii,
    IN its_owner TEXT $ascii, IN its_host TEXT $ascii, IN its_pid INT, IN its_weight BIGINT,
    IN its_capacity BIGINT, IN its_fairness CHAR(1) $ascii, IN its_patience CHAR(1) $ascii,
    IN its_lease BIGINT, IN its_reentry INT, IN its_end INT)
SQL SECURITY INVOKER
body: BEGIN
    DECLARE line_id BINARY(32);
    DECLARE line_capacity, line_ticket, line_fence, line_crowd, now_is, room, hold_weight, its_fence
        BIGINT;
    DECLARE known_end, seat_end BIGINT;
    DECLARE line_fairness CHAR(1) $ascii;
    DECLARE known, new_phase VARCHAR(8) $ascii;
    DECLARE seat CHAR(32) $ascii;
    IF its_end THEN START TRANSACTION; ELSEIF @holdfast_stopped THEN LEAVE body; END IF;
    WHILE line_id IS NULL DO
        SELECT id, capacity, fairness, last_ticket, last_fence, $crowd, seat_nonce,
                IF(seat_claim_end = 0, seat_lease_end, LEAST(seat_lease_end, seat_claim_end))
            INTO line_id, line_capacity, line_fairness, line_ticket, line_fence, line_crowd, seat,
                seat_end
            FROM holdfast_lines WHERE id = UNHEX(SHA2(its_name, 256)) FOR UPDATE;
        IF line_id IS NULL THEN CALL holdfast_1_make(its_name); END IF;
    END WHILE;
    SET now_is = $now;
    SET room = its_capacity;
    IF line_crowd > 0 THEN
        SELECT phase, lease_end INTO known, known_end FROM holdfast_contenders
            WHERE line = line_id AND nonce = its_nonce;
    END IF;
    IF seat <> '' THEN
        IF known IS NOT NULL OR seat = its_nonce OR seat_end <= now_is OR its_reentry = 1
            OR line_capacity <> its_capacity OR line_fairness <> its_fairness THEN
            CALL holdfast_1_unseat(line_id);
            SET line_crowd = line_crowd + 1;
            SELECT phase, lease_end INTO known, known_end FROM holdfast_contenders
                WHERE line = line_id AND nonce = its_nonce;
            SET seat = '';
        ELSE
            SET room = 0;
        END IF;
    END IF;
    IF line_crowd > 0 AND seat = '' THEN
        IF known = 'left' THEN
            SELECT 'withdrawn';
            CALL holdfast_1_undo();
            LEAVE body;
        END IF;
        IF line_capacity = 0 THEN
            -- The row is a new one. Where somebody is in line all the same, a hand deleted the old
            -- one, and what that said is what a contender asks for.
            SET line_capacity = its_capacity, line_fairness = its_fairness;
            IF known IS NOT NULL THEN
                UPDATE holdfast_lines SET capacity = its_capacity, fairness = its_fairness
                    WHERE id = line_id;
            END IF;
        END IF;
        IF known_end <= now_is THEN
            -- Its lease has ended; whoever looks at the line next takes it out.
            SELECT 0, 0, 0, -1;
            CALL holdfast_1_undo();
            LEAVE body;
        END IF;
        IF known IS NOT NULL THEN
            CALL holdfast_1_renew_one(line_id, line_capacity, line_fairness, line_fence, its_nonce,
                                      its_lease, NULL, now_is, its_end);
            LEAVE body;
        END IF;
        CALL holdfast_1_advance(line_id, line_capacity, line_fairness, now_is, its_nonce, FALSE,
                                room);
        IF line_capacity <> its_capacity OR line_fairness <> its_fairness THEN
            -- The first contender decides what the resource is like.
            IF EXISTS (SELECT 1 FROM holdfast_contenders
                       WHERE line = line_id AND phase <> 'left' AND lease_end > now_is) THEN
                SELECT 'conflict', line_capacity, line_fairness;
                CALL holdfast_1_undo();
                LEAVE body;
            END IF;
            SET room = its_capacity;
        END IF;
        IF its_reentry = 1 THEN
            -- Not one that is over and left to be taken out: its place may be another one's by now.
            SELECT weight, fence INTO hold_weight, its_fence FROM holdfast_contenders
                WHERE line = line_id AND phase = 'admitted' AND weight > 0 AND owner = its_owner
                    AND (lease_end > now_is OR fence IN (
                        SELECT fence FROM holdfast_contenders
                            WHERE line = line_id AND phase = 'admitted' AND weight = 0
                                AND lease_end > now_is))
                ORDER BY ticket LIMIT 1;
        END IF;
    END IF;
    IF hold_weight < its_weight THEN
        SELECT 'deadlock';
        CALL holdfast_1_undo();
        LEAVE body;
    ELSEIF hold_weight IS NOT NULL THEN
        SET new_phase = 'admitted', its_weight = 0;
    ELSEIF its_weight <= room THEN
        IF line_fence >= 9007199254740991 THEN
            SELECT 'fence', line_fence;
            CALL holdfast_1_undo();
            LEAVE body;
        END IF;
        SET new_phase = 'admitted', its_fence = GREATEST(line_fence + 1, now_is),
            line_fence = its_fence;
    ELSEIF its_patience = 'n' THEN
        SELECT 0, 0, 0, -1;
        CALL holdfast_1_undo();
        LEAVE body;
    ELSE
        SET new_phase = 'waiting', @holdfast_stopped = TRUE;
    END IF;
    SET line_ticket = GREATEST(line_ticket + 1, now_is);
    INSERT INTO holdfast_contenders (line, nonce, phase, ticket, weight, fence, lease_end, since,
                                     client, owner, host, pid)
        VALUES (line_id, its_nonce, new_phase, line_ticket, its_weight, COALESCE(its_fence, 0),
                now_is + its_lease * 1000, now_is, its_client, its_owner, its_host, its_pid);
    UPDATE holdfast_lines SET capacity = its_capacity, fairness = its_fairness,
        last_ticket = line_ticket, last_fence = line_fence, crowd = $crowd + 1 WHERE id = line_id;
    IF new_phase = 'admitted' THEN
        CALL holdfast_1_answer(its_end, 3, line_ticket, its_fence, -1);
    ELSE
        CALL holdfast_1_still_waiting(line_id, seat, its_nonce, line_ticket, now_is, its_end);
    END IF;
END;
