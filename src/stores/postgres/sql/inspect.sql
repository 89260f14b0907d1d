-- Who holds and who waits, in ticket order. Shows nothing that is over or not ours, and ends
-- nothing.
CREATE OR REPLACE FUNCTION holdfast_1_rows(the_line holdfast_lines, now bigint)
RETURNS SETOF text[] LANGUAGE sql AS $$
    SELECT ARRAY[the_line.name, the_line.capacity::text, the_line.fairness,
                 CASE WHEN phase = 'admitted' OR (phase = 'offered' AND claim_end > now)
                     THEN 'holder' ELSE 'waiter' END,
                 nonce, owner, weight::text, fence::text, ((lease_end - now) / 1000)::text, host,
                 pid::text, greatest((now - since) / 1000, 0)::text, ticket::text]
        FROM holdfast_contenders
        WHERE line = the_line.id AND phase <> 'left' AND lease_end > now
            AND nonce <> repeat('0', 32) ORDER BY ticket
$$;

CREATE OR REPLACE FUNCTION holdfast_1_inspect(prefix text)
RETURNS SETOF text[] LANGUAGE sql AS $$
    SELECT holdfast_1_rows(found_line, holdfast_1_now())
        FROM holdfast_lines found_line WHERE starts_with(name, prefix)
$$;

CREATE OR REPLACE FUNCTION holdfast_1_look_at(its_name text)
RETURNS SETOF text[] LANGUAGE sql AS $$
    SELECT holdfast_1_rows(found_line, holdfast_1_now())
        FROM holdfast_lines found_line WHERE id = sha256(convert_to(its_name, 'UTF8'))
$$;

-- Removes what is over and nobody needs any more: contenders whose lease has ended, and resources
-- that nobody contends for, once the clock alone makes the next fence larger. Passes over those
-- that somebody is at.
CREATE OR REPLACE FUNCTION holdfast_1_sweep()
RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    now bigint := holdfast_1_now();
    the_line holdfast_lines;
    counted bigint;
    contenders bigint := 0;
    lines bigint;
BEGIN
    FOR the_line IN SELECT * FROM holdfast_lines
        WHERE id IN (SELECT line FROM holdfast_contenders WHERE lease_end <= now)
        ORDER BY name FOR UPDATE SKIP LOCKED
    LOOP
        counted := (SELECT count(*) FROM holdfast_contenders WHERE line = the_line.id);
        DELETE FROM holdfast_contenders WHERE line = the_line.id AND lease_end <= now
            AND phase IN ('left', 'waiting', 'lapsed');
        PERFORM holdfast_1_advance(the_line, now, '', true);
        contenders := contenders + counted
            - (SELECT count(*) FROM holdfast_contenders WHERE line = the_line.id);
    END LOOP;
    DELETE FROM holdfast_lines WHERE id IN (
        SELECT id FROM holdfast_lines idle WHERE last_fence < now - 86400000000
            AND NOT EXISTS (SELECT FROM holdfast_contenders WHERE line = idle.id)
        FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS lines = ROW_COUNT;
    RETURN ARRAY[contenders::text, lines::text];
END $$;
