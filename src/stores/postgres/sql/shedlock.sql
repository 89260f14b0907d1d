-- ShedLock's table (name, lock_until, locked_at, locked_by), shared with it: whoever's name stands
-- there holds the lock until lock_until. Ours stand in a line of holdfast_lines too, by barging;
-- the holder of ShedLock's is put there as one more contender, with a nonce of noughts, whenever
-- somebody looks. Each verb is done between the two: what the row says comes into the line, what
-- the line says then goes into the row. Both are locked meanwhile.

CREATE OR REPLACE FUNCTION holdfast_1_moment(of_column timestamp) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$
    SELECT (extract(epoch FROM of_column) * 1000000)::bigint
$$;
CREATE OR REPLACE FUNCTION holdfast_1_column(of_moment bigint) RETURNS timestamp
LANGUAGE sql IMMUTABLE AS $$
    SELECT timestamp '1970-01-01' + of_moment * interval '1 microsecond'
$$;

-- The table's columns may keep less of a moment than ours, and round to the nearest: these say what
-- is kept of one, no earlier and no later than it is. Milliseconds mostly, or else whole seconds.
CREATE OR REPLACE FUNCTION holdfast_1_millisecond_after(of_moment bigint) RETURNS timestamp
LANGUAGE sql IMMUTABLE AS $$
    SELECT holdfast_1_column((of_moment + 999) / 1000 * 1000)
$$;
CREATE OR REPLACE FUNCTION holdfast_1_second_after(of_moment bigint) RETURNS timestamp
LANGUAGE sql IMMUTABLE AS $$
    SELECT date_trunc('second', holdfast_1_column(of_moment)) + interval '1 second'
$$;
CREATE OR REPLACE FUNCTION holdfast_1_second_of(of_moment bigint) RETURNS timestamp
LANGUAGE sql IMMUTABLE AS $$
    SELECT date_trunc('second', holdfast_1_column(of_moment))
$$;

-- There is always a row, for one that is not there cannot be locked.
CREATE OR REPLACE FUNCTION holdfast_1_from_shedlock(its_line text, its_name text) RETURNS bytea
LANGUAGE plpgsql AS $$
DECLARE
    the_line holdfast_lines := holdfast_1_lock_or_make(its_line);
    now bigint := holdfast_1_now();
    foreign_nonce text := repeat('0', 32);
    theirs record;
    holder text;
BEGIN
    LOOP
        SELECT * INTO theirs FROM shedlock WHERE name = its_name FOR UPDATE;
        EXIT WHEN FOUND;
        INSERT INTO shedlock (name, lock_until, locked_at, locked_by)
            VALUES (its_name, holdfast_1_second_of(now), holdfast_1_second_of(now), '')
            ON CONFLICT DO NOTHING;
    END LOOP;
    -- ShedLock writes UTC without a zone. In a column with one that is another instant in each zone of
    -- a session.
    IF pg_typeof(theirs.lock_until) <> 'timestamp'::regtype THEN
        RAISE EXCEPTION 'shedlock.lock_until is %', pg_typeof(theirs.lock_until)
            USING ERRCODE = 'HF001';
    END IF;
    UPDATE holdfast_lines SET capacity = 1000000000, fairness = 'b'
        WHERE id = the_line.id AND (capacity, fairness) <> (1000000000, 'b');
    IF holdfast_1_moment(theirs.lock_until) > now THEN
        holder := coalesce(substring(theirs.locked_by FROM '^holdfast:([0-9a-f]{32})'), '');
        IF NOT EXISTS (SELECT FROM holdfast_contenders WHERE line = the_line.id
                       AND nonce = holder AND phase = 'admitted') THEN
            holder := foreign_nonce;
        END IF;
    END IF;
    -- Whose name does not stand there any more has lost it: somebody's clock was ahead, or a hand
    -- was in it.
    DELETE FROM holdfast_contenders WHERE line = the_line.id AND phase = 'admitted'
        AND nonce IS DISTINCT FROM holder;
    IF holder = foreign_nonce THEN
        INSERT INTO holdfast_contenders (line, nonce, phase, weight, lease_end, since)
            VALUES (the_line.id, foreign_nonce, 'admitted', 1000000000,
                    holdfast_1_moment(theirs.lock_until), holdfast_1_moment(theirs.locked_at))
            ON CONFLICT (line, nonce) DO UPDATE SET lease_end = excluded.lease_end;
    END IF;
    RETURN the_line.id;
END $$;

CREATE OR REPLACE FUNCTION holdfast_1_to_shedlock(its_line bytea, its_name text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    holder holdfast_contenders;
    now bigint := holdfast_1_now();
BEGIN
    SELECT * INTO holder FROM holdfast_contenders WHERE line = its_line AND phase = 'admitted';
    IF holder.nonce IS NULL THEN
        UPDATE shedlock SET lock_until = holdfast_1_column(now)
            WHERE name = its_name AND lock_until > holdfast_1_column(now);
        UPDATE shedlock SET lock_until = holdfast_1_second_of(now)
            WHERE name = its_name AND lock_until > holdfast_1_column(now);
    ELSIF holder.nonce <> repeat('0', 32) THEN
        UPDATE shedlock SET lock_until = holdfast_1_millisecond_after(holder.lease_end),
                locked_at = holdfast_1_column(holder.since),
                locked_by = left('holdfast:' || holder.nonce || ' ' || holder.owner, 255)
            WHERE name = its_name;
        UPDATE shedlock SET lock_until = holdfast_1_second_after(holder.lease_end)
            WHERE name = its_name AND lock_until < holdfast_1_column(holder.lease_end);
    END IF;
END $$;

-- A verb of ours, with the words that it is called with. The last is the name in ShedLock's table, in
-- hexadecimal digits.
CREATE OR REPLACE FUNCTION holdfast_1_beside_shedlock(verb text, VARIADIC words text[])
RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    ours integer := cardinality(words) - 1;
    shared_name text := convert_from(decode(words[ours + 1], 'hex'), 'UTF8');
    usual text := current_setting('lock_timeout');
    line_id bytea;
    answer text[];
BEGIN
    -- As a renewal does by itself, which comes too late here: the rows are locked before it.
    IF verb = 'renew' THEN PERFORM holdfast_1_wait_little(words[3]::bigint / 3); END IF;
    line_id := holdfast_1_from_shedlock(words[1], shared_name);
    EXECUTE 'SELECT holdfast_1_' || verb || '(' || (
        SELECT string_agg(quote_literal(words[place]), ',' ORDER BY place)
            FROM generate_series(1, ours) place) || ')' INTO answer;
    PERFORM holdfast_1_to_shedlock(line_id, shared_name);
    IF verb = 'renew' THEN PERFORM set_config('lock_timeout', usual, true); END IF;
    RETURN answer;
END $$;

-- Who holds by ShedLock comes with the first page, name and owner as hexadecimal digits behind a
-- mark.
CREATE OR REPLACE FUNCTION holdfast_1_shedlock_inspect(its_lines text, its_behind text,
                                                       its_prefix text)
RETURNS SETOF text[] LANGUAGE plpgsql AS $$
DECLARE
    now bigint := holdfast_1_now();
BEGIN
    RETURN QUERY SELECT holdfast_1_inspect(its_lines, its_behind);
    IF its_behind <> '' THEN RETURN; END IF;
    RETURN QUERY SELECT ARRAY['%shedlock=' || encode(convert_to(name, 'UTF8'), 'hex'), '1000000000',
            'b', 'holder', repeat('0', 32), encode(convert_to(locked_by, 'UTF8'), 'hex'),
            '1000000000', '0', ((holdfast_1_moment(lock_until) - now) / 1000)::text, '', '0',
            greatest((now - holdfast_1_moment(locked_at)) / 1000, 0)::text, '0']
        FROM shedlock
        WHERE starts_with(name, convert_from(decode(its_prefix, 'hex'), 'UTF8'))
            AND lock_until > holdfast_1_column(now)
            AND NOT EXISTS (SELECT FROM holdfast_contenders WHERE phase = 'admitted'
                AND nonce = substring(locked_by FROM '^holdfast:([0-9a-f]{32})'));
END $$;
