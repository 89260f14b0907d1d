-- Answers of all verbs are words: a state (0 gone, 1 waiting, 2 offered, 3 admitted), ticket, fence
-- and look (-1: none); or why it is refused, and what belongs to that.

-- What one that waits is answered. The stand-by may be as dead as the holder: the next ones look a
-- claim time after each other. And where there is room but for the stand-by, its end is what they
-- wait for.
CREATE OR REPLACE FUNCTION holdfast_1_still_waiting(one holdfast_contenders, now bigint)
RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    ahead bigint := holdfast_1_few_ahead_of(one, now);
    look bigint := -1;
    first holdfast_contenders;
BEGIN
    IF ahead IS NOT NULL THEN look := holdfast_1_look(one.line, now) + 1000 * ahead; END IF;
    IF ahead > 0 AND one.weight + holdfast_1_held(one.line, now)
        <= (SELECT capacity FROM holdfast_lines WHERE id = one.line) THEN
        first := holdfast_1_stand_by(one.line, now);
        look := least(look, (first.lease_end - now + 999) / 1000);
    END IF;
    RETURN ARRAY['1', one.ticket::text, '0', look::text];
END $$;

-- The newcomer `one` is put into the line: admitted to a place of its own, to one that it joins, or
-- to the end.
CREATE OR REPLACE FUNCTION holdfast_1_place(the_line holdfast_lines, one holdfast_contenders,
                                            now bigint)
RETURNS text[] LANGUAGE plpgsql AS $$
BEGIN
    one.ticket := greatest(the_line.last_ticket + 1, now);
    IF one.phase = 'admitted' AND one.weight > 0 THEN
        one.fence := holdfast_1_fence(the_line.last_fence, now);
        IF one.fence IS NULL THEN RETURN ARRAY['fence', the_line.last_fence::text]; END IF;
        the_line.last_fence := one.fence;
    END IF;
    INSERT INTO holdfast_contenders SELECT one.*;
    UPDATE holdfast_lines SET capacity = the_line.capacity, fairness = the_line.fairness,
            last_ticket = one.ticket, last_fence = the_line.last_fence
        WHERE id = the_line.id;
    IF one.phase = 'admitted' THEN
        RETURN ARRAY['3', one.ticket::text, one.fence::text, '-1'];
    END IF;
    RETURN holdfast_1_still_waiting(one, now);
END $$;

CREATE OR REPLACE FUNCTION holdfast_1_enter(
    its_name text, its_nonce text, its_client text, its_owner text, its_host text, its_pid integer,
    its_weight bigint, its_capacity bigint, its_fairness text, its_patience text, its_lease bigint,
    its_reentry text)
RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    the_line holdfast_lines := holdfast_1_lock_or_make(its_name);
    now bigint := holdfast_1_now();
    one holdfast_contenders;
    hold holdfast_contenders;
    room bigint;
BEGIN
    SELECT * INTO one FROM holdfast_contenders WHERE line = the_line.id AND nonce = its_nonce;
    IF one.phase = 'left' THEN RETURN ARRAY['withdrawn']; END IF;
    IF the_line.capacity = 0 THEN
        -- The row is a new one. Where somebody is in line all the same, a hand deleted the old one,
        -- and what that said is what a contender asks for.
        the_line.capacity := its_capacity;
        the_line.fairness := its_fairness;
        IF one.phase IS NOT NULL THEN
            UPDATE holdfast_lines SET capacity = its_capacity, fairness = its_fairness
                WHERE id = the_line.id;
        END IF;
    END IF;
    IF one.phase IS NOT NULL THEN
        -- A late copy shortens nothing that renewals have lengthened.
        RETURN holdfast_1_renew_one(the_line, one, greatest(one.lease_end, now + its_lease * 1000),
                                    now);
    END IF;
    room := holdfast_1_advance(the_line, now, its_nonce);
    IF (the_line.capacity, the_line.fairness) <> (its_capacity, its_fairness) THEN
        -- The first contender decides what the resource is like.
        IF EXISTS (SELECT FROM holdfast_contenders
                   WHERE line = the_line.id AND phase <> 'left' AND lease_end > now) THEN
            RETURN ARRAY['conflict', the_line.capacity::text, the_line.fairness];
        END IF;
        the_line.capacity := its_capacity;
        the_line.fairness := its_fairness;
        room := its_capacity;
    END IF;
    one := ROW(the_line.id, its_nonce, 'waiting', 0, its_weight, 0, now + its_lease * 1000, 0, now,
               its_client, its_owner, its_host, its_pid, 0);
    IF its_reentry = '1' THEN
        -- Not one that is over and left to be taken out: its place may be another one's by now.
        SELECT * INTO hold FROM holdfast_contenders
            WHERE line = the_line.id AND phase = 'admitted' AND weight > 0 AND owner = its_owner
                AND (lease_end > now OR fence IN (
                    SELECT fence FROM holdfast_contenders
                        WHERE line = the_line.id AND phase = 'admitted' AND weight = 0
                            AND lease_end > now))
            ORDER BY ticket LIMIT 1;
    END IF;
    IF hold.nonce IS NOT NULL THEN
        IF its_weight > hold.weight THEN RETURN ARRAY['deadlock']; END IF;
        one.phase := 'admitted';
        one.weight := 0;
        one.fence := hold.fence;
    ELSIF its_weight <= room THEN
        one.phase := 'admitted';
    ELSIF its_patience = 'n' THEN
        RETURN ARRAY['0', '0', '0', '-1'];
    END IF;
    RETURN holdfast_1_place(the_line, one, now);
END $$;

-- Several, in order, up to the first that is not admitted. When that is gone or refused, nothing of
-- this is left: all of it is rolled back.
CREATE OR REPLACE FUNCTION holdfast_1_enter_all(
    names text[], nonces text[], clients text[], owners text[], hosts text[], pids integer[],
    weights bigint[], capacities bigint[], fairnesses text[], patiences text[], leases bigint[],
    reentries text[])
RETURNS SETOF text[] LANGUAGE plpgsql AS $$
DECLARE
    answer text[];
BEGIN
    FOR i IN 1 .. array_length(names, 1) LOOP
        answer := holdfast_1_enter(names[i], nonces[i], clients[i], owners[i], hosts[i], pids[i],
            weights[i], capacities[i], fairnesses[i], patiences[i], leases[i], reentries[i]);
        IF answer[1] NOT IN ('1', '3') THEN RAISE EXCEPTION USING ERRCODE = 'HF000'; END IF;
        RETURN NEXT answer;
        EXIT WHEN answer[1] <> '3';
    END LOOP;
EXCEPTION WHEN SQLSTATE 'HF000' THEN
    RETURN NEXT answer;
END $$;
