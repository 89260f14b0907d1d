-- Where a page of inspect ends: behind the next thousand contenders, and no more than so many seats.
-- NULL: it is the last.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_end_of_page(
    IN behind VARBINARY(33), OUT up_to VARBINARY(33))
SQL SECURITY INVOKER
BEGIN
    DECLARE last_seat VARBINARY(33);
    SELECT line INTO up_to FROM holdfast_contenders WHERE line > behind
        ORDER BY line LIMIT 1 OFFSET 999;
    SELECT id INTO last_seat FROM holdfast_lines
        WHERE id > behind AND id < COALESCE(up_to, REPEAT(x'ff', 33)) AND seat_nonce <> ''
        ORDER BY id LIMIT 1 OFFSET 999;
    SET up_to = COALESCE(last_seat, up_to);
END;

-- Who holds and who waits in these lines, in ticket order. Shows nothing that is over or not ours,
-- and ends nothing.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_show_lines(
    IN first VARBINARY(33), IN last VARBINARY(33), IN prefix TEXT $ascii)
SQL SECURITY INVOKER
BEGIN
    DECLARE now_is BIGINT DEFAULT $now;
    SELECT name, capacity, fairness,
            IF(phase = 'admitted' OR (phase = 'offered' AND claim_end > now_is), 'holder',
               'waiter'),
            nonce, owner, weight, fence, (lease_end - now_is) DIV 1000, host, pid,
            GREATEST((now_is - since) DIV 1000, 0), ticket
        FROM holdfast_lines JOIN holdfast_contenders ON line = id
        WHERE id >= first AND id <= last AND LEFT(name, LENGTH(prefix)) = prefix
            AND phase <> 'left' AND lease_end > now_is AND nonce <> seat_nonce
            AND nonce <> REPEAT('0', 32)
    UNION ALL SELECT name, capacity, fairness,
            IF(seat_claim_end = 0 OR seat_claim_end > now_is, 'holder', 'waiter'),
            seat_nonce, seat_owner, capacity, IF(seat_claim_end = 0, seat_fence, 0),
            (seat_lease_end - now_is) DIV 1000, seat_host, seat_pid,
            GREATEST((now_is - seat_since) DIV 1000, 0), seat_ticket
        FROM holdfast_lines
        WHERE id >= first AND id <= last AND LEFT(name, LENGTH(prefix)) = prefix
            AND seat_nonce <> '' AND seat_lease_end > now_is
        ORDER BY ticket;
END;

-- A page: the lines behind this id (in hexadecimal digits). A line is in one page. The last row says
-- where the next page starts.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_inspect(
    IN prefix TEXT $ascii, IN its_behind VARCHAR(64), IN its_end INT)
SQL SECURITY INVOKER
BEGIN
    DECLARE behind VARBINARY(33) DEFAULT UNHEX(its_behind);
    DECLARE next_page VARBINARY(33);
    CALL holdfast_1_end_of_page(behind, next_page);
    CALL holdfast_1_show_lines(CONCAT(behind, x'00'), COALESCE(next_page, REPEAT(x'ff', 33)),
                               prefix);
    IF next_page IS NOT NULL THEN SELECT 'next', LOWER(HEX(next_page)); END IF;
END;

CREATE PROCEDURE IF NOT EXISTS holdfast_1_look_at(IN its_name TEXT $ascii, IN its_end INT)
SQL SECURITY INVOKER
CALL holdfast_1_show_lines(UNHEX(SHA2(its_name, 256)), UNHEX(SHA2(its_name, 256)), its_name);
