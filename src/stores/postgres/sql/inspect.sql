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
