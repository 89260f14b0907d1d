-- Behind all lines: an id is a hash of 32 bytes.
CREATE OR REPLACE FUNCTION holdfast_1_last_id() RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
    SELECT decode(repeat('ff', 33), 'hex')
$$;

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

-- A page: the lines behind this id (in hexadecimal digits) with the next thousand contenders. A line
-- is in one page, and seen as it was at one moment. The last row says where the next page starts.
CREATE OR REPLACE FUNCTION holdfast_1_inspect(prefix text, its_behind text)
RETURNS SETOF text[] LANGUAGE plpgsql AS $$
DECLARE
    behind bytea := decode(its_behind, 'hex');
    up_to bytea;
    more boolean;
BEGIN
    SELECT line INTO up_to FROM holdfast_contenders WHERE line > behind
        ORDER BY line OFFSET 999 LIMIT 1;
    more := up_to IS NOT NULL;
    up_to := coalesce(up_to, holdfast_1_last_id());
    RETURN QUERY SELECT holdfast_1_rows(found_line, holdfast_1_now())
        FROM holdfast_lines found_line
        WHERE id IN (SELECT line FROM holdfast_contenders WHERE line > behind AND line <= up_to)
            AND starts_with(name, prefix);
    IF more THEN RETURN NEXT ARRAY['next', encode(up_to, 'hex')]; END IF;
END $$;

CREATE OR REPLACE FUNCTION holdfast_1_look_at(its_name text)
RETURNS SETOF text[] LANGUAGE sql AS $$
    SELECT holdfast_1_rows(found_line, holdfast_1_now())
        FROM holdfast_lines found_line WHERE id = sha256(convert_to(its_name, 'UTF8'))
$$;

-- How many contenders of a line, which is locked, were over. Passes on what they held.
CREATE OR REPLACE FUNCTION holdfast_1_sweep_line(the_line holdfast_lines, now bigint)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    counted bigint := (SELECT count(*) FROM holdfast_contenders WHERE line = the_line.id);
BEGIN
    DELETE FROM holdfast_contenders WHERE line = the_line.id AND lease_end <= now
        AND phase IN ('left', 'waiting', 'lapsed');
    PERFORM holdfast_1_advance(the_line, now, '', true);
    RETURN counted - (SELECT count(*) FROM holdfast_contenders WHERE line = the_line.id);
END $$;

-- Removes what is over and nobody needs any more: contenders whose lease has ended, and resources
-- that nobody contends for, once the clock alone makes the next fence larger. Passes over those
-- that somebody is at. A step of it, in a transaction of its own: the next 500 lines behind this id,
-- and no more than 50 ms, for whoever comes for one of them waits so long. Answers what was removed,
-- and the last id; none when that was all.
CREATE OR REPLACE FUNCTION holdfast_1_sweep(its_behind text)
RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    now bigint := holdfast_1_now();
    behind bytea := decode(its_behind, 'hex');
    up_to bytea;
    more boolean;
    the_line holdfast_lines;
    contenders bigint := 0;
    orphans bigint;
    lines bigint;
BEGIN
    -- Undone by a crash it is done again by the next.
    PERFORM set_config('synchronous_commit', 'off', true);
    SELECT id INTO up_to FROM holdfast_lines WHERE id > behind ORDER BY id OFFSET 499 LIMIT 1;
    more := up_to IS NOT NULL;
    up_to := coalesce(up_to, holdfast_1_last_id());
    FOR the_line IN SELECT * FROM holdfast_lines
        WHERE id > behind AND id <= up_to
            AND EXISTS (SELECT FROM holdfast_contenders WHERE line = id AND lease_end <= now)
        ORDER BY id FOR UPDATE SKIP LOCKED
    LOOP
        contenders := contenders + holdfast_1_sweep_line(the_line, now);
        IF holdfast_1_now() > now + 50000 THEN
            up_to := the_line.id;
            more := true;
            EXIT;
        END IF;
    END LOOP;
    DELETE FROM holdfast_contenders WHERE line > behind AND line <= up_to AND lease_end <= now
        AND NOT EXISTS (SELECT FROM holdfast_lines WHERE id = line);
    GET DIAGNOSTICS orphans = ROW_COUNT;
    DELETE FROM holdfast_lines WHERE id IN (
        SELECT id FROM holdfast_lines idle
            WHERE id > behind AND id <= up_to AND last_fence < now - 86400000000
                AND NOT EXISTS (SELECT FROM holdfast_contenders WHERE line = idle.id)
            FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS lines = ROW_COUNT;
    RETURN ARRAY[(contenders + orphans)::text, lines::text,
                 CASE WHEN more THEN encode(up_to, 'hex') ELSE '' END];
END $$;
