-- From here on this transaction waits for no row longer than so many milliseconds, and no longer than
-- it would have. Answers how long. Its commit may have to wait as well, for others that tell somebody
-- something: whoever calls this puts the limit back.
CREATE OR REPLACE FUNCTION holdfast_1_wait_little(patience bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    usual bigint := extract(epoch FROM current_setting('lock_timeout')::interval) * 1000;
BEGIN
    -- Nought is no limit.
    patience := greatest(least(patience, nullif(usual, 0)), 1);
    PERFORM set_config('lock_timeout', patience::text, true);
    RETURN patience;
END $$;

-- Extends a lease up to new_end, and admits whom a place is reserved for, or who may take a free one.
-- Never re-creates. Where one that waits is told when to look, others are told the clock.
CREATE OR REPLACE FUNCTION holdfast_1_renew_one(the_line holdfast_lines, one holdfast_contenders,
                                                new_end bigint, now bigint)
RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    room bigint;
    next holdfast_contenders;
BEGIN
    IF one.lease_end <= now OR (one.weight = 0 AND holdfast_1_is_orphan(one)) THEN
        PERFORM holdfast_1_remove(one);
        PERFORM holdfast_1_advance(the_line, now, one.nonce, true);
        RETURN ARRAY['0', '0', '0', now::text];
    END IF;
    IF one.phase IN ('waiting', 'lapsed') THEN
        UPDATE holdfast_contenders
            SET phase = 'waiting', lease_end = new_end, serial = one.serial
            WHERE line = one.line AND nonce = one.nonce;
        room := holdfast_1_advance(the_line, now, one.nonce);
        SELECT * INTO one FROM holdfast_contenders WHERE line = one.line AND nonce = one.nonce;
        IF one.phase = 'waiting' AND (the_line.fairness = 'f' OR one.weight > room) THEN
            RETURN holdfast_1_still_waiting(one, now);
        END IF;
    END IF;
    IF one.phase <> 'admitted' THEN
        one.fence := holdfast_1_fence(the_line.last_fence, now);
        IF one.fence IS NULL THEN RETURN ARRAY['fence', the_line.last_fence::text]; END IF;
        one.since := now;
        UPDATE holdfast_lines SET last_fence = one.fence WHERE id = the_line.id;
    END IF;
    UPDATE holdfast_contenders SET phase = 'admitted', fence = one.fence, since = one.since,
            lease_end = new_end, serial = one.serial
        WHERE line = one.line AND nonce = one.nonce;
    IF one.phase = 'waiting' THEN
        -- A barger left the line from wherever it stood: whoever is first now must know.
        next := holdfast_1_stand_by(one.line, now);
        IF next.ticket > one.ticket THEN
            PERFORM holdfast_1_tell(next, 'w ' || holdfast_1_look(one.line, now));
        END IF;
        PERFORM holdfast_1_call_next_barger(one, room - one.weight, now);
    ELSIF one.phase = 'offered' AND one.weight < the_line.capacity
        AND holdfast_1_offers(one.line) < 50 THEN
        -- More may fit than could be offered at once.
        PERFORM holdfast_1_advance(the_line, now, one.nonce);
    END IF;
    RETURN ARRAY['3', one.ticket::text, one.fence::text, now::text];
END $$;

-- A copy that comes after a later renewal of the same contender only asks where it stands: it would
-- shorten what the later one has lengthened.
CREATE OR REPLACE FUNCTION holdfast_1_renew_in_line(its_name text, its_nonce text, its_lease bigint,
                                                    its_serial bigint)
RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    the_line holdfast_lines := holdfast_1_lock(its_name);
    now bigint := holdfast_1_now();
    one holdfast_contenders;
BEGIN
    SELECT * INTO one FROM holdfast_contenders
        WHERE line = the_line.id AND nonce = its_nonce AND phase <> 'left';
    -- In a row that a hand deleted and somebody made anew nobody's turn would come: see enter.
    IF one.nonce IS NULL OR the_line.capacity = 0 THEN
        RETURN ARRAY['0', '0', '0', now::text];
    END IF;
    IF its_serial < one.serial THEN RETURN holdfast_1_standing_of(the_line, one, now); END IF;
    one.serial := its_serial;
    RETURN holdfast_1_renew_one(the_line, one, now + its_lease * 1000, now);
END $$;

-- It waits for a row a part of its lease: as long as it waits, it has one of its client's few
-- connections, which others need for theirs. But with a long lease no shorter than those who enter:
-- whoever gives up loses its place among those who wait for the row, and they would go first.
CREATE OR REPLACE FUNCTION holdfast_1_renew(its_name text, its_nonce text, its_lease bigint,
                                            its_serial bigint)
RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    usual text := current_setting('lock_timeout');
    answer text[];
BEGIN
    PERFORM holdfast_1_wait_little(its_lease / 3);
    answer := holdfast_1_renew_in_line(its_name, its_nonce, its_lease, its_serial);
    PERFORM set_config('lock_timeout', usual, true);
    RETURN answer;
END $$;

-- Locks the row of one of many that are renewed together, if there is one. Answers how many
-- milliseconds are left of the patience; nothing where somebody else has the row, still has it when
-- the patience is used up, and may have it for long.
CREATE OR REPLACE FUNCTION holdfast_1_lock_or_skip(its_name text, patience bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    its_id bytea := sha256(convert_to(its_name, 'UTF8'));
    began bigint;
BEGIN
    PERFORM FROM holdfast_lines WHERE id = its_id FOR UPDATE SKIP LOCKED;
    IF FOUND OR NOT EXISTS (SELECT FROM holdfast_lines WHERE id = its_id) THEN
        RETURN patience;
    END IF;
    IF patience = 0 THEN RETURN NULL; END IF;
    began := holdfast_1_now();
    PERFORM holdfast_1_wait_little(patience);
    BEGIN
        PERFORM FROM holdfast_lines WHERE id = its_id FOR UPDATE;
    EXCEPTION WHEN lock_not_available THEN
        RETURN NULL;
    END;
    RETURN greatest(patience - (holdfast_1_now() - began) / 1000, 0);
END $$;

-- Many in one transaction. Whoever asks sorts them by name, so that two never wait for each other.
-- One whose row somebody else has for long is answered with a 4. It costs the others little: all
-- waits for such rows together last a moment of their lease, a second at the most, however many those
-- are and whether or not they were had in the end; and a wait for another row, which ends the whole
-- request, no longer.
CREATE OR REPLACE FUNCTION holdfast_1_renew_all(names text[], nonces text[], leases bigint[],
                                                serials bigint[])
RETURNS SETOF text[] LANGUAGE plpgsql AS $$
DECLARE
    usual text := current_setting('lock_timeout');
    patience bigint := holdfast_1_wait_little(least(leases[1] / 12, 1000));
    left_over bigint;
BEGIN
    FOR i IN 1 .. array_length(names, 1) LOOP
        left_over := holdfast_1_lock_or_skip(names[i], patience);
        patience := coalesce(left_over, 0);
        IF left_over IS NULL THEN
            RETURN NEXT ARRAY['4', '0', '0', '-1'];
        ELSE
            RETURN NEXT holdfast_1_renew_in_line(names[i], nonces[i], leases[i], serials[i]);
        END IF;
    END LOOP;
    PERFORM set_config('lock_timeout', usual, true);
END $$;
