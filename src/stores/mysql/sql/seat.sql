-- The seat in a resource's own row. What is done by one statement from outside (see
-- src/stores/mysql/seat.cpp) is:
--     taking it      when nobody has it and there are no contenders (crowd = 0)
--     leaving it     when there are no contenders
--     claiming and renewing it
-- Everything else comes here.

-- Puts whoever has the seat among the contenders.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_unseat(IN in_line BINARY(32))
SQL SECURITY INVOKER
BEGIN
    INSERT INTO holdfast_contenders (line, nonce, phase, ticket, weight, fence, lease_end,
                                     claim_end, since, client, owner, host, pid, told, told_at)
        SELECT id, seat_nonce, IF(seat_claim_end = 0, 'admitted', 'offered'), seat_ticket, capacity,
                seat_fence, seat_lease_end, seat_claim_end, seat_since, seat_client, seat_owner,
                seat_host, seat_pid, 'o', IF(seat_told_to = '', 0, seat_claim_end)
            FROM holdfast_lines WHERE id = in_line;
    UPDATE holdfast_lines SET seat_nonce = '', seat_told_to = '', crowd = crowd + 1
        WHERE id = in_line;
END;

-- Where no contender's row is left the seat can be taken again.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_recount(IN in_line BINARY(32))
SQL SECURITY INVOKER
IF NOT EXISTS (SELECT 1 FROM holdfast_contenders WHERE line = in_line) THEN
    UPDATE holdfast_lines SET crowd = 0 WHERE id = in_line;
END IF;

-- All of a fifo line is free, but for the seat: the first that waits has that from now on, or nobody.
-- `done` is false when that one is overdue, or wants less than all: then nothing has been changed.
--
-- It is woken as soon as it is told, and finds the row locked while the rest is written.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_seat_next(
    IN in_line BINARY(32), IN its_capacity BIGINT, IN its_crowd BIGINT, IN now_is BIGINT,
    OUT done BOOLEAN)
SQL SECURITY INVOKER
BEGIN
    DECLARE next, next_client, after_it, after_client
        CHAR(32) CHARACTER SET ascii COLLATE ascii_bin;
    DECLARE next_owner, next_host TEXT CHARACTER SET ascii COLLATE ascii_bin;
    DECLARE next_ticket, next_weight, next_lease_end, next_since, next_pid BIGINT;
    IF its_crowd > 0 THEN
        SELECT nonce, client, owner, host, ticket, weight, lease_end, since, pid
            INTO next, next_client, next_owner, next_host, next_ticket, next_weight, next_lease_end,
                next_since, next_pid
            FROM holdfast_contenders
            WHERE line = in_line AND phase = 'waiting' ORDER BY ticket LIMIT 1;
    END IF;
    SET done = next IS NULL OR (next_lease_end > now_is AND next_weight = its_capacity);
    IF next IS NULL THEN
        UPDATE holdfast_lines SET seat_nonce = '', seat_told_to = '' WHERE id = in_line;
        IF its_crowd > 0 THEN
            DELETE FROM holdfast_contenders
                WHERE line = in_line AND phase = 'left' AND lease_end <= now_is;
            CALL holdfast_1_recount(in_line);
        END IF;
    ELSEIF done THEN
        UPDATE holdfast_lines
            SET seat_nonce = next, seat_ticket = next_ticket, seat_fence = 0,
                seat_lease_end = next_lease_end, seat_claim_end = now_is + 1000000,
                seat_since = next_since, seat_client = next_client, seat_owner = next_owner,
                seat_host = next_host, seat_pid = next_pid, seat_told_to = next_client,
                crowd = crowd - 1
            WHERE id = in_line;
        CALL holdfast_1_ring(next_client);
        DELETE FROM holdfast_contenders WHERE line = in_line AND nonce = next;
        IF its_crowd > 1 THEN
            SELECT nonce, client INTO after_it, after_client FROM holdfast_contenders
                WHERE line = in_line AND phase = 'waiting' AND lease_end > now_is
                ORDER BY ticket LIMIT 1;
            IF after_it IS NOT NULL THEN
                CALL holdfast_1_tell_to_look(in_line, after_it, after_client, now_is);
            END IF;
        END IF;
    END IF;
END;

-- One that waits while another has the seat: extends its lease, unless that is NULL, and shows where
-- it stands. `done` is false when it does not wait, or its lease is over.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_wait_for_seat(
    IN in_line BINARY(32), IN its_nonce CHAR(32) CHARACTER SET ascii COLLATE ascii_bin,
    IN its_lease BIGINT, IN now_is BIGINT, IN its_end INT, OUT done BOOLEAN)
SQL SECURITY INVOKER
BEGIN
    DECLARE its_ticket BIGINT;
    SELECT ticket INTO its_ticket FROM holdfast_contenders
        WHERE line = in_line AND nonce = its_nonce AND phase = 'waiting' AND lease_end > now_is;
    SET done = its_ticket IS NOT NULL;
    IF done THEN
        UPDATE holdfast_contenders
            SET told_at = 0, lease_end = COALESCE(now_is + its_lease * 1000, lease_end)
            WHERE line = in_line AND nonce = its_nonce;
        CALL holdfast_1_still_waiting(in_line, its_nonce, its_ticket, now_is, its_end);
    END IF;
END;
