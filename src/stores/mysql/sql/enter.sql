-- Answers of all verbs are rows: a state (0 gone, 1 waiting, 2 offered, 3 admitted), ticket, fence
-- and look (-1: none); or why it is refused, and what belongs to that.

-- The fence after the last one, or null when that is a planted value; kept in the resource's row.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_next_fence(IN in_line BINARY(32), IN last BIGINT,
                                                     IN now_is BIGINT, OUT next BIGINT)
SQL SECURITY INVOKER
IF last < 9007199254740991 THEN
    SET next = GREATEST(last + 1, now_is);
    UPDATE holdfast_lines SET last_fence = next WHERE id = in_line;
END IF;

-- Several are entered in order, up to the first that is not admitted: @holdfast_stopped is set then.
-- When that is gone or refused, nothing of this is left: all of it is rolled back.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_enter(
    IN its_name TEXT CHARACTER SET ascii COLLATE ascii_bin,
    IN its_nonce CHAR(32) CHARACTER SET ascii COLLATE ascii_bin,
    IN its_client CHAR(32) CHARACTER SET ascii COLLATE ascii_bin,
    IN its_owner TEXT CHARACTER SET ascii COLLATE ascii_bin,
    IN its_host TEXT CHARACTER SET ascii COLLATE ascii_bin, IN its_pid INT,
    IN its_weight BIGINT, IN its_capacity BIGINT,
    IN its_fairness CHAR(1) CHARACTER SET ascii COLLATE ascii_bin,
    IN its_patience CHAR(1) CHARACTER SET ascii COLLATE ascii_bin,
    IN its_lease BIGINT, IN its_reentry INT)
SQL SECURITY INVOKER
body: BEGIN
    DECLARE line_id BINARY(32);
    DECLARE line_capacity, line_ticket, line_fence, now_is, held, hold_weight, its_fence BIGINT;
    DECLARE known_end BIGINT;
    DECLARE line_fairness CHAR(1) CHARACTER SET ascii COLLATE ascii_bin;
    DECLARE known, new_phase VARCHAR(8) CHARACTER SET ascii COLLATE ascii_bin;
    IF @holdfast_stopped THEN LEAVE body; END IF;
    CALL holdfast_1_lock_or_make(its_name, line_id, line_capacity, line_fairness, line_ticket,
                                 line_fence);
    CALL holdfast_1_now(now_is);
    SELECT phase, lease_end INTO known, known_end FROM holdfast_contenders
        WHERE line = line_id AND nonce = its_nonce;
    IF known = 'left' THEN
        SELECT 'withdrawn';
        SET @holdfast_stopped = TRUE;
        ROLLBACK;
        LEAVE body;
    END IF;
    IF known_end <= now_is THEN
        -- Its lease has ended; whoever looks at the line next takes it out.
        SELECT 0, 0, 0, -1;
        SET @holdfast_stopped = TRUE;
        ROLLBACK;
        LEAVE body;
    END IF;
    IF known IS NOT NULL THEN
        CALL holdfast_1_renew_one(line_id, line_capacity, line_fairness, line_fence, its_nonce,
                                  its_lease, now_is);
        LEAVE body;
    END IF;
    CALL holdfast_1_advance(line_id, line_capacity, line_fairness, now_is, its_nonce, FALSE);
    IF line_capacity <> its_capacity OR line_fairness <> its_fairness THEN
        -- The first contender decides what the resource is like.
        IF EXISTS (SELECT 1 FROM holdfast_contenders
                   WHERE line = line_id AND phase <> 'left' AND lease_end > now_is) THEN
            SELECT 'conflict', line_capacity, line_fairness;
            SET @holdfast_stopped = TRUE;
            ROLLBACK;
            LEAVE body;
        END IF;
    END IF;
    IF its_reentry = 1 THEN
        SELECT weight, fence INTO hold_weight, its_fence FROM holdfast_contenders
            WHERE line = line_id AND phase = 'admitted' AND weight > 0 AND owner = its_owner
            ORDER BY ticket LIMIT 1;
    END IF;
    CALL holdfast_1_held(line_id, held);
    IF hold_weight < its_weight THEN
        SELECT 'deadlock';
        SET @holdfast_stopped = TRUE;
        ROLLBACK;
        LEAVE body;
    ELSEIF hold_weight IS NOT NULL THEN
        SET new_phase = 'admitted', its_weight = 0;
    -- After advance the first that waits does not fit, so under fifo nobody behind it does.
    ELSEIF its_weight <= its_capacity - held AND (its_fairness = 'b' OR NOT EXISTS (
        SELECT 1 FROM holdfast_contenders WHERE line = line_id AND phase = 'waiting')) THEN
        SET new_phase = 'admitted';
        CALL holdfast_1_next_fence(line_id, line_fence, now_is, its_fence);
        IF its_fence IS NULL THEN
            SELECT 'fence', line_fence;
            SET @holdfast_stopped = TRUE;
            ROLLBACK;
            LEAVE body;
        END IF;
    ELSEIF its_patience = 'n' THEN
        SELECT 0, 0, 0, -1;
        SET @holdfast_stopped = TRUE;
        ROLLBACK;
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
        last_ticket = line_ticket WHERE id = line_id;
    IF new_phase = 'admitted' THEN
        SELECT 3, line_ticket, its_fence, -1;
    ELSE
        CALL holdfast_1_still_waiting(line_id, its_nonce, now_is);
    END IF;
END;
