-- Who holds and who waits, in ticket order. Shows nothing that is over or not ours, and ends
-- nothing.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_inspect(
    IN prefix TEXT CHARACTER SET ascii COLLATE ascii_bin, IN its_behind VARCHAR(64), IN its_end INT)
SQL SECURITY INVOKER
BEGIN
    DECLARE now_is BIGINT;
    SET now_is = TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', SYSDATE(6));
    SELECT name, capacity, fairness,
            IF(phase = 'admitted' OR (phase = 'offered' AND claim_end > now_is), 'holder',
               'waiter'),
            nonce, owner, weight, fence, (lease_end - now_is) DIV 1000, host, pid,
            GREATEST((now_is - since) DIV 1000, 0), ticket
        FROM holdfast_lines JOIN holdfast_contenders ON line = id
        WHERE LEFT(name, LENGTH(prefix)) = prefix AND phase <> 'left' AND lease_end > now_is
            AND nonce <> seat_nonce AND nonce <> REPEAT('0', 32)
    UNION ALL SELECT name, capacity, fairness,
            IF(seat_claim_end = 0 OR seat_claim_end > now_is, 'holder', 'waiter'),
            seat_nonce, seat_owner, capacity, IF(seat_claim_end = 0, seat_fence, 0),
            (seat_lease_end - now_is) DIV 1000, seat_host, seat_pid,
            GREATEST((now_is - seat_since) DIV 1000, 0), seat_ticket
        FROM holdfast_lines
        WHERE LEFT(name, LENGTH(prefix)) = prefix AND seat_nonce <> '' AND seat_lease_end > now_is
        ORDER BY ticket;
END;

CREATE PROCEDURE IF NOT EXISTS holdfast_1_look_at(
    IN its_name TEXT CHARACTER SET ascii COLLATE ascii_bin, IN its_end INT)
SQL SECURITY INVOKER
BEGIN
    DECLARE now_is BIGINT;
    SET now_is = TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', SYSDATE(6));
    SELECT name, capacity, fairness,
            IF(phase = 'admitted' OR (phase = 'offered' AND claim_end > now_is), 'holder',
               'waiter'),
            nonce, owner, weight, fence, (lease_end - now_is) DIV 1000, host, pid,
            GREATEST((now_is - since) DIV 1000, 0), ticket
        FROM holdfast_lines JOIN holdfast_contenders ON line = id
        WHERE id = UNHEX(SHA2(its_name, 256)) AND phase <> 'left' AND lease_end > now_is
            AND nonce <> seat_nonce
    UNION ALL SELECT name, capacity, fairness,
            IF(seat_claim_end = 0 OR seat_claim_end > now_is, 'holder', 'waiter'),
            seat_nonce, seat_owner, capacity, IF(seat_claim_end = 0, seat_fence, 0),
            (seat_lease_end - now_is) DIV 1000, seat_host, seat_pid,
            GREATEST((now_is - seat_since) DIV 1000, 0), seat_ticket
        FROM holdfast_lines
        WHERE id = UNHEX(SHA2(its_name, 256)) AND seat_nonce <> '' AND seat_lease_end > now_is
        ORDER BY ticket;
END;

-- Removes what is over and nobody needs any more: contenders whose lease has ended, and resources
-- that nobody contends for, once the clock alone makes the next fence larger. Line by line, so that
-- it stops nobody for long.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_sweep(IN its_behind VARCHAR(64), IN its_end INT)
SQL SECURITY INVOKER
BEGIN
    DECLARE line_id BINARY(32) DEFAULT '';
    DECLARE line_capacity, now_is, counted, room BIGINT;
    DECLARE line_fairness CHAR(1) CHARACTER SET ascii COLLATE ascii_bin;
    DECLARE seat CHAR(32) CHARACTER SET ascii COLLATE ascii_bin DEFAULT '';
    DECLARE contenders BIGINT DEFAULT 0;
    SET now_is = TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', SYSDATE(6));
    each_seat: LOOP
        SELECT MIN(id) INTO line_id FROM holdfast_lines
            WHERE id > line_id AND seat_nonce <> '' AND seat_lease_end <= now_is;
        IF line_id IS NULL THEN LEAVE each_seat; END IF;
        START TRANSACTION;
        SELECT seat_nonce INTO seat FROM holdfast_lines
            WHERE id = line_id AND seat_lease_end <= now_is FOR UPDATE;
        IF seat <> '' THEN CALL holdfast_1_unseat(line_id); END IF;
        SET seat = '';
        COMMIT;
    END LOOP;
    SET line_id = '';
    each_line: LOOP
        SET line_capacity = NULL, seat = '';
        SELECT MIN(line) INTO line_id FROM holdfast_contenders
            WHERE line > line_id AND lease_end <= now_is;
        IF line_id IS NULL THEN LEAVE each_line; END IF;
        START TRANSACTION;
        SELECT capacity, fairness, seat_nonce INTO line_capacity, line_fairness, seat
            FROM holdfast_lines WHERE id = line_id FOR UPDATE;
        SELECT COUNT(*) INTO counted FROM holdfast_contenders WHERE line = line_id;
        -- The row that whoever has the seat left there is its own to delete.
        DELETE FROM holdfast_contenders WHERE line = line_id AND lease_end <= now_is
            AND nonce <> seat AND (phase IN ('left', 'waiting', 'lapsed') OR line_capacity IS NULL);
        IF seat = '' THEN
            CALL holdfast_1_advance(line_id, line_capacity, line_fairness, now_is, '', TRUE, room);
        END IF;
        CALL holdfast_1_recount(line_id);
        SET contenders = contenders + counted
            - (SELECT COUNT(*) FROM holdfast_contenders WHERE line = line_id);
        COMMIT;
    END LOOP;
    DELETE FROM holdfast_lines WHERE last_fence < now_is - 86400000000 AND seat_nonce = ''
        AND id NOT IN (SELECT line FROM holdfast_contenders);
    SELECT contenders, ROW_COUNT(), '';
END;
