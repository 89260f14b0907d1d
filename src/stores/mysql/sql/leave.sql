-- Where a contender stands. Extends nothing; ends whose lease or claim is over.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_standing(
    IN its_name TEXT CHARACTER SET ascii COLLATE ascii_bin,
    IN its_nonce CHAR(32) CHARACTER SET ascii COLLATE ascii_bin, IN its_end BOOLEAN)
SQL SECURITY INVOKER
body: BEGIN
    DECLARE line_id BINARY(32);
    DECLARE line_capacity, line_ticket, line_fence, now_is, held, room BIGINT;
    DECLARE line_fairness CHAR(1) CHARACTER SET ascii COLLATE ascii_bin;
    DECLARE its_phase VARCHAR(8) CHARACTER SET ascii COLLATE ascii_bin;
    DECLARE its_ticket, its_weight, its_fence, its_lease_end, its_told_at BIGINT;
    SELECT id, capacity, fairness, last_ticket, last_fence
        INTO line_id, line_capacity, line_fairness, line_ticket, line_fence
        FROM holdfast_lines WHERE id = UNHEX(SHA2(its_name, 256)) FOR UPDATE;
    SET now_is = TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', SYSDATE(6));
    SELECT phase, ticket, weight, fence, lease_end, told_at
        INTO its_phase, its_ticket, its_weight, its_fence, its_lease_end, its_told_at
        FROM holdfast_contenders
        WHERE line = line_id AND nonce = its_nonce AND phase <> 'left';
    IF its_phase IS NULL THEN
        CALL holdfast_1_answer(its_end, 0, 0, 0, -1);
        LEAVE body;
    END IF;
    IF its_lease_end <= now_is THEN
        CALL holdfast_1_remove(line_id, its_nonce);
        CALL holdfast_1_advance(line_id, line_capacity, line_fairness, now_is, its_nonce, TRUE,
                                room);
        CALL holdfast_1_answer(its_end, 0, 0, 0, -1);
        LEAVE body;
    END IF;
    IF its_told_at > 0 THEN
        UPDATE holdfast_contenders SET told_at = 0 WHERE line = line_id AND nonce = its_nonce;
    END IF;
    -- A claim stands as long as nobody else came for the place.
    IF its_phase <> 'offered' THEN
        CALL holdfast_1_advance(line_id, line_capacity, line_fairness, now_is, its_nonce, FALSE,
                                room);
        SELECT phase INTO its_phase FROM holdfast_contenders
            WHERE line = line_id AND nonce = its_nonce;
    END IF;
    CALL holdfast_1_held(line_id, held);
    IF its_phase = 'admitted' THEN
        CALL holdfast_1_answer(its_end, 3, its_ticket, its_fence, -1);
    -- Nothing is reserved for one that was passed over, nor under barging: its renewal decides.
    ELSEIF its_phase = 'offered' OR ((its_phase = 'lapsed' OR line_fairness = 'b')
        AND its_weight <= line_capacity - held) THEN
        CALL holdfast_1_answer(its_end, 2, its_ticket, 0, -1);
    ELSE
        CALL holdfast_1_still_waiting(line_id, its_nonce, its_ticket, now_is, its_end);
    END IF;
END;

-- Takes a contender out of its line and passes its place on. For that many milliseconds a delayed
-- enter of it is refused. Answers where it stood.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_leave(
    IN its_name TEXT CHARACTER SET ascii COLLATE ascii_bin,
    IN its_nonce CHAR(32) CHARACTER SET ascii COLLATE ascii_bin, IN its_tombstone BIGINT,
    IN its_end BOOLEAN)
SQL SECURITY INVOKER
BEGIN
    DECLARE line_id BINARY(32);
    DECLARE line_capacity, line_ticket, line_fence, now_is, room BIGINT;
    DECLARE line_fairness CHAR(1) CHARACTER SET ascii COLLATE ascii_bin;
    DECLARE its_phase VARCHAR(8) CHARACTER SET ascii COLLATE ascii_bin;
    DECLARE its_ticket, its_weight, its_fence, its_lease_end BIGINT;
    DECLARE freed BOOLEAN DEFAULT TRUE;
    SELECT id, capacity, fairness, last_ticket, last_fence
        INTO line_id, line_capacity, line_fairness, line_ticket, line_fence
        FROM holdfast_lines WHERE id = UNHEX(SHA2(its_name, 256)) FOR UPDATE;
    WHILE line_id IS NULL AND its_tombstone > 0 DO
        CALL holdfast_1_make(its_name);
        SELECT id, capacity, fairness, last_ticket, last_fence
            INTO line_id, line_capacity, line_fairness, line_ticket, line_fence
            FROM holdfast_lines WHERE id = UNHEX(SHA2(its_name, 256)) FOR UPDATE;
    END WHILE;
    SET now_is = TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', SYSDATE(6));
    SELECT phase, ticket, weight, fence, lease_end
        INTO its_phase, its_ticket, its_weight, its_fence, its_lease_end FROM holdfast_contenders
        WHERE line = line_id AND nonce = its_nonce AND phase <> 'left';
    IF its_phase IS NOT NULL THEN
        DELETE FROM holdfast_contenders WHERE line = line_id AND nonce = its_nonce;
    END IF;
    -- Mostly it was the only one.
    IF its_phase IS NOT NULL AND EXISTS (SELECT 1 FROM holdfast_contenders WHERE line = line_id)
    THEN
        IF its_phase IN ('waiting', 'lapsed') THEN
            SET freed = NOT EXISTS (SELECT 1 FROM holdfast_contenders
                WHERE line = line_id AND phase = 'waiting' AND ticket < its_ticket);
        ELSEIF its_weight > 0 AND EXISTS (SELECT 1 FROM holdfast_contenders
            WHERE line = line_id AND phase = 'admitted' AND weight = 0 AND fence = its_fence) THEN
            CALL holdfast_1_hand_to_joined(line_id, its_weight, its_fence);
        END IF;
        CALL holdfast_1_advance(line_id, line_capacity, line_fairness, now_is, its_nonce, freed,
                                room);
    END IF;
    IF its_tombstone > 0 THEN
        DELETE FROM holdfast_contenders
            WHERE line = line_id AND phase = 'left' AND lease_end <= now_is;
        INSERT INTO holdfast_contenders (line, nonce, phase, lease_end, owner, host)
            VALUES (line_id, its_nonce, 'left', now_is + its_tombstone * 1000, '', '')
            ON DUPLICATE KEY UPDATE phase = phase;
    END IF;
    IF its_phase IS NULL OR its_lease_end <= now_is THEN
        CALL holdfast_1_answer(its_end, 0, 0, 0, -1);
    ELSE
        CALL holdfast_1_answer(
            its_end, CASE its_phase WHEN 'admitted' THEN 3 WHEN 'offered' THEN 2 ELSE 1 END,
            its_ticket, IF(its_phase = 'admitted', its_fence, 0), -1);
    END IF;
END;
