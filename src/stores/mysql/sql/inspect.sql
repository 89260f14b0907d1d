-- Who holds and who waits, in ticket order. Shows nothing that is over, and ends nothing.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_inspect(
    IN prefix TEXT CHARACTER SET ascii COLLATE ascii_bin)
SQL SECURITY INVOKER
BEGIN
    DECLARE now_is BIGINT;
    CALL holdfast_1_now(now_is);
    SELECT name, capacity, fairness,
            IF(phase = 'admitted' OR (phase = 'offered' AND claim_end > now_is), 'holder',
               'waiter'),
            nonce, owner, weight, fence, (lease_end - now_is) DIV 1000, host, pid,
            GREATEST((now_is - since) DIV 1000, 0), ticket
        FROM holdfast_lines JOIN holdfast_contenders ON line = id
        WHERE LEFT(name, LENGTH(prefix)) = prefix AND phase <> 'left' AND lease_end > now_is
        ORDER BY ticket;
END;

CREATE PROCEDURE IF NOT EXISTS holdfast_1_look_at(
    IN its_name TEXT CHARACTER SET ascii COLLATE ascii_bin)
SQL SECURITY INVOKER
BEGIN
    DECLARE now_is BIGINT;
    CALL holdfast_1_now(now_is);
    SELECT name, capacity, fairness,
            IF(phase = 'admitted' OR (phase = 'offered' AND claim_end > now_is), 'holder',
               'waiter'),
            nonce, owner, weight, fence, (lease_end - now_is) DIV 1000, host, pid,
            GREATEST((now_is - since) DIV 1000, 0), ticket
        FROM holdfast_lines JOIN holdfast_contenders ON line = id
        WHERE id = UNHEX(SHA2(its_name, 256)) AND phase <> 'left' AND lease_end > now_is
        ORDER BY ticket;
END;

-- Removes what is over and nobody needs any more: contenders whose lease has ended, and resources
-- that nobody contends for, once the clock alone makes the next fence larger.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_sweep()
SQL SECURITY INVOKER
BEGIN
    DECLARE now_is BIGINT;
    DECLARE contenders INT;
    CALL holdfast_1_now(now_is);
    DELETE FROM holdfast_contenders WHERE phase IN ('left', 'waiting', 'lapsed')
        AND lease_end <= now_is;
    SET contenders = ROW_COUNT();
    DELETE FROM holdfast_lines WHERE last_fence < now_is - 86400000000
        AND id NOT IN (SELECT line FROM holdfast_contenders);
    SELECT contenders, ROW_COUNT();
END;
