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
                                     claim_end, since, client, owner, host, pid, told, told_at,
                                     serial)
        SELECT id, seat_nonce, IF(seat_claim_end = 0, 'admitted', 'offered'), seat_ticket, capacity,
                seat_fence, seat_lease_end, seat_claim_end, seat_since, seat_client, seat_owner,
                seat_host, seat_pid, 'o', IF(seat_told_to = '', 0, seat_claim_end), seat_serial
            FROM holdfast_lines WHERE id = in_line
        ON DUPLICATE KEY UPDATE phase = IF(seat_claim_end = 0, 'admitted', 'offered'),
            fence = seat_fence, lease_end = seat_lease_end, claim_end = seat_claim_end,
            since = seat_since, told = 'o', told_at = IF(seat_told_to = '', 0, seat_claim_end),
            serial = seat_serial;
    UPDATE holdfast_lines SET seat_nonce = '', seat_told_to = '', crowd = $crowd + 1
        WHERE id = in_line;
END;

-- Where no contender's row is left the seat can be taken again.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_recount(IN in_line BINARY(32))
SQL SECURITY INVOKER
IF NOT EXISTS (SELECT 1 FROM holdfast_contenders WHERE line = in_line) THEN
    UPDATE holdfast_lines SET crowd = 0 WHERE id = in_line;
END IF;

-- One that waits while another has the seat: extends its lease, unless the serial is NULL or comes
-- late, and shows where it stands. `done` is false when it does not wait, or its lease is over.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_wait_for_seat(
    IN in_line BINARY(32), IN seat CHAR(32) $ascii, IN its_nonce CHAR(32) $ascii,
    IN its_lease BIGINT, IN its_serial BIGINT, IN now_is BIGINT, IN its_end INT, OUT done BOOLEAN)
SQL SECURITY INVOKER
BEGIN
    DECLARE its_ticket BIGINT;
    SELECT ticket INTO its_ticket FROM holdfast_contenders
        WHERE line = in_line AND nonce = its_nonce AND phase = 'waiting' AND lease_end > now_is;
    SET done = its_ticket IS NOT NULL;
    IF done THEN
        UPDATE holdfast_contenders
            SET told_at = 0,
                lease_end = IF(its_serial >= serial, now_is + its_lease * 1000, lease_end),
                serial = IF(its_serial >= serial, its_serial, serial)
            WHERE line = in_line AND nonce = its_nonce;
        CALL holdfast_1_still_waiting(in_line, seat, its_nonce, its_ticket, now_is, its_end);
    END IF;
END;
