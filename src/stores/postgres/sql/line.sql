-- The moment, which goes on within a transaction.
CREATE OR REPLACE FUNCTION holdfast_1_now() RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
$$;

-- Locks the resource's row. Statements after this one see all that was done under the lock; a
-- statement that waited for it would not.
CREATE OR REPLACE FUNCTION holdfast_1_lock(its_name text) RETURNS holdfast_lines
LANGUAGE plpgsql AS $$
DECLARE
    found_line holdfast_lines;
BEGIN
    SELECT * INTO found_line FROM holdfast_lines
        WHERE id = sha256(convert_to(its_name, 'UTF8')) FOR UPDATE;
    RETURN found_line;
END $$;

-- The same, and makes the row when there is none.
CREATE OR REPLACE FUNCTION holdfast_1_lock_or_make(its_name text) RETURNS holdfast_lines
LANGUAGE plpgsql AS $$
DECLARE
    its_id bytea := sha256(convert_to(its_name, 'UTF8'));
    found_line holdfast_lines;
BEGIN
    LOOP
        SELECT * INTO found_line FROM holdfast_lines WHERE id = its_id FOR UPDATE;
        IF FOUND THEN RETURN found_line; END IF;
        INSERT INTO holdfast_lines (id, name) VALUES (its_id, its_name) ON CONFLICT DO NOTHING;
    END LOOP;
END $$;

-- The weight of all holders. Those whose lease has ended may be left there for the next request to
-- take out, and do not count, unless one that lives joined their place: it will take the weight
-- over. A weight below nothing is planted, and makes no room.
CREATE OR REPLACE FUNCTION holdfast_1_held(of_line bytea, now bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
BEGIN
    RETURN (SELECT coalesce(sum(greatest(weight, 0)), 0) FROM holdfast_contenders
        WHERE line = of_line AND phase IN ('admitted', 'offered')
            AND (lease_end > now OR fence IN (
                SELECT fence FROM holdfast_contenders
                    WHERE line = of_line AND phase = 'admitted' AND weight = 0
                        AND lease_end > now)));
END $$;

-- Of one without a weight: whether it joined a hold whose own row is gone, by somebody's hand. Nobody
-- has the place then.
CREATE OR REPLACE FUNCTION holdfast_1_is_orphan(one holdfast_contenders) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    RETURN one.phase = 'admitted' AND NOT EXISTS (
        SELECT FROM holdfast_contenders WHERE line = one.line AND phase = 'admitted'
            AND weight > 0 AND fence = one.fence);
END $$;

-- How many have been offered a place and have not claimed it.
CREATE OR REPLACE FUNCTION holdfast_1_offers(of_line bytea) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    RETURN (SELECT count(*) FROM holdfast_contenders WHERE line = of_line AND phase = 'offered');
END $$;

-- The first that waits and was not passed over: it looks when something ahead ends.
CREATE OR REPLACE FUNCTION holdfast_1_stand_by(of_line bytea, now bigint)
RETURNS holdfast_contenders LANGUAGE plpgsql AS $$
DECLARE
    first holdfast_contenders;
BEGIN
    SELECT * INTO first FROM holdfast_contenders
        WHERE line = of_line AND phase = 'waiting' AND lease_end > now ORDER BY ticket LIMIT 1;
    RETURN first;
END $$;

-- How many wait ahead of it; nothing when they are many.
CREATE OR REPLACE FUNCTION holdfast_1_few_ahead_of(one holdfast_contenders, now bigint)
RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    RETURN array_position(ARRAY(SELECT nonce FROM holdfast_contenders
        WHERE line = one.line AND phase = 'waiting' AND lease_end > now
        ORDER BY ticket LIMIT 8), one.nonce) - 1;
END $$;

-- How many milliseconds the stand-by waits before it looks. A holder that is not ours (see
-- shedlock.sql) tells nobody when it lets go.
CREATE OR REPLACE FUNCTION holdfast_1_look(of_line bytea, now bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
BEGIN
    RETURN (SELECT coalesce(greatest((min(CASE
                WHEN phase = 'offered' THEN least(lease_end, claim_end)
                WHEN nonce = repeat('0', 32) THEN least(lease_end, now + 1000000)
                ELSE lease_end END) - now + 999) / 1000, 1), 1000)
        FROM holdfast_contenders WHERE line = of_line AND phase IN ('admitted', 'offered'));
END $$;

-- Told to its client, when this is committed: o, it is its turn; g, it is gone; w MILLISECONDS, it
-- is the stand-by, and nothing can be learnt before. Not while the server's queue of notifications is
-- nearly full, because somebody listens and does not read: what comes then would fail the whole
-- transaction at its end. Whoever is not told looks with its next renewal.
CREATE OR REPLACE FUNCTION holdfast_1_tell(whom holdfast_contenders, word text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF pg_notification_queue_usage() < 0.9 THEN
        PERFORM pg_notify('holdfast_' || whom.client, whom.nonce || ' ' || word);
    END IF;
END $$;

-- The fence after the last one; nothing when that is a planted value.
CREATE OR REPLACE FUNCTION holdfast_1_fence(last_fence bigint, now bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN last_fence < 9007199254740991 THEN greatest(last_fence + 1, now) END
$$;
