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
    found_line holdfast_lines;
BEGIN
    LOOP
        found_line := holdfast_1_lock(its_name);
        EXIT WHEN found_line.id IS NOT NULL;
        INSERT INTO holdfast_lines (id, name)
            VALUES (sha256(convert_to(its_name, 'UTF8')), its_name) ON CONFLICT DO NOTHING;
    END LOOP;
    RETURN found_line;
END $$;

-- The weight of all holders.
CREATE OR REPLACE FUNCTION holdfast_1_held(of_line bytea) RETURNS bigint LANGUAGE sql AS $$
    SELECT coalesce(sum(weight), 0)::bigint FROM holdfast_contenders
        WHERE line = of_line AND phase IN ('admitted', 'offered')
$$;

-- The nonce of the first that waits and was not passed over: it alone looks when something ahead
-- ends.
CREATE OR REPLACE FUNCTION holdfast_1_stand_by(of_line bytea, now bigint) RETURNS text
LANGUAGE sql AS $$
    SELECT nonce FROM holdfast_contenders
        WHERE line = of_line AND phase = 'waiting' AND lease_end > now ORDER BY ticket LIMIT 1
$$;

-- How many milliseconds the stand-by waits before it looks.
CREATE OR REPLACE FUNCTION holdfast_1_look(of_line bytea, now bigint) RETURNS bigint
LANGUAGE sql AS $$
    SELECT coalesce(greatest((min(CASE phase WHEN 'offered' THEN least(lease_end, claim_end)
                                      ELSE lease_end END) - now + 999) / 1000, 1), 1000)
        FROM holdfast_contenders WHERE line = of_line AND phase IN ('admitted', 'offered')
$$;

-- Told to its client, when this is committed: o, it is its turn; g, it is gone; w MILLISECONDS, it
-- is the stand-by, and nothing can be learnt before.
CREATE OR REPLACE FUNCTION holdfast_1_tell(whom holdfast_contenders, word text) RETURNS void
LANGUAGE sql AS $$
    SELECT pg_notify('holdfast_' || whom.client, whom.nonce || ' ' || word)
$$;

-- The fence after the last one; nothing when that is a planted value.
CREATE OR REPLACE FUNCTION holdfast_1_fence(last_fence bigint, now bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN last_fence < 9007199254740991 THEN greatest(last_fence + 1, now) END
$$;
