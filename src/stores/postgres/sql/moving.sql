-- Who moves in a line, when, and who is told. Whoever asks is not told: the answer says it.

-- A place frees with the last of those who joined it: the first of them takes over the weight.
CREATE OR REPLACE FUNCTION holdfast_1_hand_to_joined(holder holdfast_contenders) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE holdfast_contenders SET weight = holder.weight
        WHERE line = holder.line AND nonce = (
            SELECT nonce FROM holdfast_contenders
                WHERE line = holder.line AND phase = 'admitted' AND weight = 0
                    AND fence = holder.fence AND nonce <> holder.nonce
                ORDER BY ticket LIMIT 1);
END $$;

CREATE OR REPLACE FUNCTION holdfast_1_remove(one holdfast_contenders) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM holdfast_contenders WHERE line = one.line AND nonce = one.nonce;
    IF one.phase = 'admitted' AND one.weight > 0 THEN
        PERFORM holdfast_1_hand_to_joined(one);
    END IF;
END $$;

CREATE OR REPLACE FUNCTION holdfast_1_end_overdue(in_line bytea, now bigint, asker text)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    one holdfast_contenders;
BEGIN
    FOR one IN SELECT * FROM holdfast_contenders
        WHERE line = in_line AND phase IN ('admitted', 'offered')
            AND (lease_end <= now OR (phase = 'offered' AND claim_end <= now))
    LOOP
        IF one.lease_end > now THEN
            UPDATE holdfast_contenders SET phase = 'lapsed'
                WHERE line = one.line AND nonce = one.nonce;
        ELSE
            -- Its weight may have become another one's since it was read.
            SELECT * INTO one FROM holdfast_contenders
                WHERE line = one.line AND nonce = one.nonce;
            PERFORM holdfast_1_remove(one);
            IF one.phase = 'offered' AND one.nonce <> asker THEN
                PERFORM holdfast_1_tell(one, 'g');
            END IF;
        END IF;
    END LOOP;
END $$;

-- Fifo: reserves places for the first in line until one does not fit. That is the stand-by, and is
-- told when there was another before.
CREATE OR REPLACE FUNCTION holdfast_1_pass_on(in_line bytea, room bigint, now bigint, asker text,
                                              moved boolean)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    one holdfast_contenders;
BEGIN
    FOR one IN SELECT * FROM holdfast_contenders
        WHERE line = in_line AND phase = 'waiting' ORDER BY ticket
    LOOP
        IF one.lease_end <= now THEN
            DELETE FROM holdfast_contenders WHERE line = in_line AND nonce = one.nonce;
            IF one.nonce <> asker THEN PERFORM holdfast_1_tell(one, 'g'); END IF;
        ELSIF one.weight <= room THEN
            UPDATE holdfast_contenders SET phase = 'offered', claim_end = now + 1000000
                WHERE line = in_line AND nonce = one.nonce;
            room := room - one.weight;
            IF one.nonce <> asker THEN PERFORM holdfast_1_tell(one, 'o'); END IF;
        ELSE
            IF moved AND one.nonce <> asker THEN
                PERFORM holdfast_1_tell(one, 'w ' || holdfast_1_look(in_line, now));
            END IF;
            RETURN;
        END IF;
        moved := true;
    END LOOP;
END $$;

-- Barging: reserves nothing, and tells those that would fit: their renewals decide. The first that
-- does not fit is to look whether they came. Whoever is beyond reach learns of room with its own
-- renewals, so that a long line of heavy contenders costs nothing each time.
CREATE OR REPLACE FUNCTION holdfast_1_call_bargers(in_line bytea, room bigint, now bigint,
                                                   asker text)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    one holdfast_contenders;
    called boolean := false;
    passed integer := 0;
BEGIN
    FOR one IN SELECT * FROM holdfast_contenders
        WHERE line = in_line AND phase = 'waiting' ORDER BY ticket
    LOOP
        IF one.lease_end <= now THEN
            DELETE FROM holdfast_contenders WHERE line = in_line AND nonce = one.nonce;
            IF one.nonce <> asker THEN PERFORM holdfast_1_tell(one, 'g'); END IF;
        ELSIF one.weight <= room THEN
            room := room - one.weight;
            called := true;
            IF one.nonce <> asker THEN PERFORM holdfast_1_tell(one, 'o'); END IF;
        ELSE
            passed := passed + 1;
            IF called AND passed = 1 AND one.nonce <> asker THEN
                PERFORM holdfast_1_tell(one, 'w ' || least(holdfast_1_look(in_line, now), 1000));
            END IF;
            EXIT WHEN room = 0 OR passed = 64;
        END IF;
    END LOOP;
END $$;

-- Ends what is overdue and passes free places on. `freed`: a place became free, or who waits first
-- is another one than before; under barging only that is worth telling. Answers how much room there
-- is for a newcomer, by the admission rule: after this the first that waits does not fit, so under
-- fifo there is none while anybody waits. With `freed` nobody asks for that.
CREATE OR REPLACE FUNCTION holdfast_1_advance(the_line holdfast_lines, now bigint, asker text,
                                              freed boolean DEFAULT false)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    asked boolean := NOT freed;
    room bigint;
    any_overdue boolean;
    any_waiting boolean;
BEGIN
    SELECT the_line.capacity - coalesce(sum(weight), 0),
            bool_or(lease_end <= now OR (phase = 'offered' AND claim_end <= now)),
            EXISTS (SELECT FROM holdfast_contenders
                    WHERE line = the_line.id AND phase = 'waiting')
        INTO room, any_overdue, any_waiting FROM holdfast_contenders
        WHERE line = the_line.id AND phase IN ('admitted', 'offered');
    IF any_overdue THEN
        PERFORM holdfast_1_end_overdue(the_line.id, now, asker);
        freed := true;
        room := the_line.capacity - holdfast_1_held(the_line.id);
    END IF;
    IF NOT any_waiting THEN RETURN room; END IF;
    IF the_line.fairness = 'b' THEN
        IF freed AND room > 0 THEN
            PERFORM holdfast_1_call_bargers(the_line.id, room, now, asker);
        END IF;
        RETURN room;
    END IF;
    IF freed OR room > 0 THEN
        PERFORM holdfast_1_pass_on(the_line.id, room, now, asker, freed);
    END IF;
    IF NOT asked THEN RETURN NULL; END IF;
    -- All that waited may have been over, or have been offered a place.
    IF EXISTS (SELECT FROM holdfast_contenders
               WHERE line = the_line.id AND phase = 'waiting') THEN
        RETURN 0;
    END IF;
    RETURN the_line.capacity - holdfast_1_held(the_line.id);
END $$;
