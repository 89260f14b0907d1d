-- Where a contender stands, of a line that is locked. Extends nothing; ends whose lease or claim is
-- over. Who asks is there: one that was passed over counts again.
CREATE OR REPLACE FUNCTION holdfast_1_standing_of(the_line holdfast_lines, one holdfast_contenders,
                                                  now bigint)
RETURNS text[] LANGUAGE plpgsql AS $$
BEGIN
    IF one.lease_end <= now OR (one.weight = 0 AND holdfast_1_is_orphan(one)) THEN
        PERFORM holdfast_1_remove(one);
        PERFORM holdfast_1_advance(the_line, now, one.nonce, true);
        RETURN ARRAY['0', '0', '0', '-1'];
    END IF;
    IF one.phase = 'lapsed' THEN
        UPDATE holdfast_contenders SET phase = 'waiting'
            WHERE line = the_line.id AND nonce = one.nonce;
    END IF;
    -- A claim stands as long as nobody else came for the place.
    IF one.phase <> 'offered' THEN
        PERFORM holdfast_1_advance(the_line, now, one.nonce);
        SELECT * INTO one FROM holdfast_contenders
            WHERE line = the_line.id AND nonce = one.nonce;
    END IF;
    IF one.phase = 'admitted' THEN
        RETURN ARRAY['3', one.ticket::text, one.fence::text, '-1'];
    END IF;
    -- Nothing is reserved under barging: its renewal decides.
    IF one.phase = 'offered' OR (the_line.fairness = 'b'
        AND one.weight <= the_line.capacity - holdfast_1_held(the_line.id, now)) THEN
        RETURN ARRAY['2', one.ticket::text, '0', '-1'];
    END IF;
    RETURN holdfast_1_still_waiting(one, now);
END $$;

CREATE OR REPLACE FUNCTION holdfast_1_standing(its_name text, its_nonce text)
RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    the_line holdfast_lines := holdfast_1_lock(its_name);
    one holdfast_contenders;
BEGIN
    SELECT * INTO one FROM holdfast_contenders
        WHERE line = the_line.id AND nonce = its_nonce AND phase <> 'left';
    IF one.nonce IS NULL OR the_line.capacity = 0 THEN RETURN ARRAY['0', '0', '0', '-1']; END IF;
    RETURN holdfast_1_standing_of(the_line, one, holdfast_1_now());
END $$;

-- Takes a contender out of its line and passes its place on. For that many milliseconds a delayed
-- enter of it is refused. Answers where it stood.
CREATE OR REPLACE FUNCTION holdfast_1_leave(its_name text, its_nonce text, its_tombstone bigint)
RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    the_line holdfast_lines;
    now bigint;
    one holdfast_contenders;
    freed boolean := true;
BEGIN
    IF its_tombstone > 0 THEN
        the_line := holdfast_1_lock_or_make(its_name);
    ELSE
        -- A crash of the server may undo it: then the place is free when the lease has ended, as if
        -- the holder had died. Whoever claims it waits for the disk, and so for this too.
        PERFORM set_config('synchronous_commit', 'off', true);
        the_line := holdfast_1_lock(its_name);
    END IF;
    now := holdfast_1_now();
    DELETE FROM holdfast_contenders
        WHERE line = the_line.id AND nonce = its_nonce AND phase <> 'left' RETURNING * INTO one;
    IF one.nonce IS NOT NULL THEN
        IF one.phase IN ('waiting', 'lapsed') THEN
            freed := NOT EXISTS (SELECT FROM holdfast_contenders
                WHERE line = the_line.id AND phase = 'waiting' AND ticket < one.ticket
                    AND lease_end > now);
        ELSIF one.weight > 0 AND EXISTS (SELECT FROM holdfast_contenders
            WHERE line = the_line.id AND phase = 'admitted' AND weight = 0 AND fence = one.fence)
        THEN
            PERFORM holdfast_1_hand_to_joined(one);
        END IF;
        PERFORM holdfast_1_advance(the_line, now, its_nonce, freed);
    END IF;
    IF its_tombstone > 0 THEN
        DELETE FROM holdfast_contenders
            WHERE line = the_line.id AND phase = 'left' AND lease_end <= now;
        INSERT INTO holdfast_contenders (line, nonce, phase, lease_end)
            VALUES (the_line.id, its_nonce, 'left', now + its_tombstone * 1000)
            ON CONFLICT (line, nonce) DO NOTHING;
    END IF;
    IF one.nonce IS NULL OR one.lease_end <= now THEN RETURN ARRAY['0', '0', '0', '-1']; END IF;
    RETURN ARRAY[CASE one.phase WHEN 'admitted' THEN '3' WHEN 'offered' THEN '2' ELSE '1' END,
                 one.ticket::text,
                 CASE one.phase WHEN 'admitted' THEN one.fence ELSE 0 END::text, '-1'];
END $$;
