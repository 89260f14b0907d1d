-- What is over goes in steps, each in a transaction of its own. This is the last line of one that
-- begins behind an id; none when there are no more than so many.
CREATE OR REPLACE FUNCTION holdfast_1_end_of_step(behind bytea, most integer) RETURNS bytea
LANGUAGE sql AS $$
    SELECT id FROM holdfast_lines WHERE id > behind ORDER BY id OFFSET most - 1 LIMIT 1
$$;

-- Forgets resources that nobody contends for, once the clock alone makes the next fence larger, with
-- the contenders that died there. Passes over those that somebody is at. Whoever comes for one while
-- it is not locked yet is admitted, with a new fence: so it is not taken for an idle one then; and
-- where somebody has joined a hold just before that ended, nobody is removed. Of a crowd of dead ones
-- some hundreds go now, and their line with the last of them.
CREATE OR REPLACE FUNCTION holdfast_1_forget_between(behind bytea, up_to bytea, now bigint)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    idle bytea[] := ARRAY(SELECT id FROM holdfast_lines
        WHERE id > behind AND id <= up_to AND last_fence < now - 86400000000
            AND NOT EXISTS (SELECT FROM holdfast_contenders WHERE line = id AND lease_end > now)
        FOR UPDATE SKIP LOCKED);
    forgotten bigint;
BEGIN
    IF cardinality(idle) = 0 THEN RETURN 0; END IF;
    DELETE FROM holdfast_contenders WHERE (line, nonce) IN (
        SELECT line, nonce FROM holdfast_contenders dead
            WHERE line = ANY (idle) AND lease_end <= now
                AND NOT EXISTS (SELECT FROM holdfast_contenders living
                                WHERE living.line = dead.line AND living.lease_end > now)
            LIMIT 500);
    DELETE FROM holdfast_lines WHERE id = ANY (idle)
        AND NOT EXISTS (SELECT FROM holdfast_contenders WHERE line = id);
    GET DIAGNOSTICS forgotten = ROW_COUNT;
    RETURN forgotten;
END $$;

-- A step of that alone, small enough to be done beside other work: the next 50 lines behind this id.
-- Answers as sweep does.
CREATE OR REPLACE FUNCTION holdfast_1_forget(its_behind text) RETURNS text[]
LANGUAGE plpgsql AS $$
DECLARE
    behind bytea := decode(its_behind, 'hex');
    up_to bytea := holdfast_1_end_of_step(behind, 50);
    forgotten bigint;
BEGIN
    -- Undone by a crash it is done again by another.
    PERFORM set_config('synchronous_commit', 'off', true);
    forgotten := holdfast_1_forget_between(behind, coalesce(up_to, holdfast_1_last_id()),
                                           holdfast_1_now());
    RETURN ARRAY['0', forgotten::text, coalesce(encode(up_to, 'hex'), '')];
END $$;

-- How many contenders of a line, which is locked, were over: of a crowd some thousands, and then
-- there may be more. Passes on what they held.
CREATE OR REPLACE FUNCTION holdfast_1_sweep_line(the_line holdfast_lines, now bigint,
                                                 OUT removed bigint, OUT more boolean)
LANGUAGE plpgsql AS $$
DECLARE
    counted bigint := (SELECT count(*) FROM holdfast_contenders WHERE line = the_line.id);
    most bigint := 2000;
BEGIN
    DELETE FROM holdfast_contenders WHERE line = the_line.id AND nonce IN (
        SELECT nonce FROM holdfast_contenders WHERE line = the_line.id AND lease_end <= now
            AND phase IN ('left', 'waiting', 'lapsed') LIMIT most);
    GET DIAGNOSTICS removed = ROW_COUNT;
    more := removed = most;
    PERFORM holdfast_1_advance(the_line, now, '', true);
    removed := counted - (SELECT count(*) FROM holdfast_contenders WHERE line = the_line.id);
END $$;

-- Removes what is over and nobody needs any more: contenders whose lease has ended, and resources
-- that nobody contends for, once the clock alone makes the next fence larger. Passes over those
-- that somebody is at. A step of it, in a transaction of its own: the next 500 lines behind this id,
-- no more than about 50 ms, and no further than a crowd of dead ones, of which some thousands go: for
-- whoever comes for one of these lines waits so long. Answers what was removed, and the last id, or
-- the begin of that of a crowd, with which the next step goes on; none when that was all.
CREATE OR REPLACE FUNCTION holdfast_1_sweep(its_behind text)
RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    now bigint := holdfast_1_now();
    behind bytea := decode(its_behind, 'hex');
    up_to bytea;
    more boolean;
    the_line holdfast_lines;
    swept record;
    contenders bigint := 0;
    orphans bigint;
    lines bigint;
BEGIN
    -- Undone by a crash it is done again by the next.
    PERFORM set_config('synchronous_commit', 'off', true);
    up_to := holdfast_1_end_of_step(behind, 500);
    more := up_to IS NOT NULL;
    up_to := coalesce(up_to, holdfast_1_last_id());
    FOR the_line IN SELECT * FROM holdfast_lines
        WHERE id > behind AND id <= up_to
            AND EXISTS (SELECT FROM holdfast_contenders WHERE line = id AND lease_end <= now)
        ORDER BY id FOR UPDATE SKIP LOCKED
    LOOP
        SELECT * INTO swept FROM holdfast_1_sweep_line(the_line, now);
        contenders := contenders + swept.removed;
        IF swept.more OR holdfast_1_now() > now + 50000 THEN
            up_to := CASE WHEN swept.more THEN substring(the_line.id FROM 1 FOR 31)
                     ELSE the_line.id END;
            more := true;
            EXIT;
        END IF;
    END LOOP;
    DELETE FROM holdfast_contenders WHERE line > behind AND line <= up_to AND lease_end <= now
        AND NOT EXISTS (SELECT FROM holdfast_lines WHERE id = line);
    GET DIAGNOSTICS orphans = ROW_COUNT;
    lines := holdfast_1_forget_between(behind, up_to, now);
    RETURN ARRAY[(contenders + orphans)::text, lines::text,
                 CASE WHEN more THEN encode(up_to, 'hex') ELSE '' END];
END $$;
