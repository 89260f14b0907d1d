-- Who holds and who waits, in ticket order. Shows nothing that is over or not ours, and ends
-- nothing.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_inspect(
    IN prefix TEXT CHARACTER SET ascii COLLATE ascii_bin, IN its_end BOOLEAN)
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
            AND nonce <> REPEAT('0', 32)
        ORDER BY ticket;
    IF its_end THEN COMMIT; END IF;
END;

CREATE PROCEDURE IF NOT EXISTS holdfast_1_look_at(
    IN its_name TEXT CHARACTER SET ascii COLLATE ascii_bin, IN its_end BOOLEAN)
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
        ORDER BY ticket;
    IF its_end THEN COMMIT; END IF;
END;

-- Removes what is over and nobody needs any more: contenders whose lease has ended, and resources
-- that nobody contends for, once the clock alone makes the next fence larger. Line by line, so that
-- it stops nobody for long.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_sweep(IN its_end BOOLEAN)
SQL SECURITY INVOKER
BEGIN
    DECLARE line_id BINARY(32) DEFAULT '';
    DECLARE line_capacity, now_is, counted, room BIGINT;
    DECLARE line_fairness CHAR(1) CHARACTER SET ascii COLLATE ascii_bin;
    DECLARE contenders BIGINT DEFAULT 0;
    SET now_is = TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', SYSDATE(6));
    each_line: LOOP
        SET line_capacity = NULL;
        SELECT MIN(line) INTO line_id FROM holdfast_contenders
            WHERE line > line_id AND lease_end <= now_is;
        IF line_id IS NULL THEN LEAVE each_line; END IF;
        SELECT capacity, fairness INTO line_capacity, line_fairness FROM holdfast_lines
            WHERE id = line_id FOR UPDATE;
        SELECT COUNT(*) INTO counted FROM holdfast_contenders WHERE line = line_id;
        DELETE FROM holdfast_contenders WHERE line = line_id AND lease_end <= now_is
            AND (phase IN ('left', 'waiting', 'lapsed') OR line_capacity IS NULL);
        CALL holdfast_1_advance(line_id, line_capacity, line_fairness, now_is, '', TRUE, room);
        SET contenders = contenders + counted
            - (SELECT COUNT(*) FROM holdfast_contenders WHERE line = line_id);
        COMMIT;
    END LOOP;
    DELETE FROM holdfast_lines WHERE last_fence < now_is - 86400000000
        AND id NOT IN (SELECT line FROM holdfast_contenders);
    SELECT contenders, ROW_COUNT();
    COMMIT;
END;
