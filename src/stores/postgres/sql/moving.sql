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

-- Of holders some hundreds at the most: those that are left hold nothing any more (see held), and
-- whoever looks next, which is in a moment then, goes on with it. But one whose claim alone is over
-- may still come: it is passed over before its place is another one's.
CREATE OR REPLACE FUNCTION holdfast_1_end_overdue(in_line bytea, now bigint, asker text)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    one holdfast_contenders;
BEGIN
    UPDATE holdfast_contenders SET phase = 'lapsed'
        WHERE line = in_line AND phase = 'offered' AND claim_end <= now AND lease_end > now;
    FOR one IN SELECT * FROM holdfast_contenders
        WHERE line = in_line AND phase IN ('admitted', 'offered') AND lease_end <= now
        LIMIT 500
    LOOP
        -- Its weight may have become another one's since it was read.
        SELECT * INTO one FROM holdfast_contenders WHERE line = one.line AND nonce = one.nonce;
        PERFORM holdfast_1_remove(one);
        IF one.phase = 'offered' AND one.nonce <> asker THEN
            PERFORM holdfast_1_tell(one, 'g');
        END IF;
    END LOOP;
END $$;

-- Takes out a waiter whose lease has ended. Some hundreds at the most in one request: the others are
-- passed by, and left to the next one. Answers how many there were by now.
CREATE OR REPLACE FUNCTION holdfast_1_remove_dead(one holdfast_contenders, asker text,
                                                  removed integer)
RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
    IF removed = 500 THEN RETURN removed; END IF;
    DELETE FROM holdfast_contenders WHERE line = one.line AND nonce = one.nonce;
    IF one.nonce <> asker THEN PERFORM holdfast_1_tell(one, 'g'); END IF;
    RETURN removed + 1;
END $$;

-- Fifo: reserves places for the first in line until one does not fit, or as many are offered as may
-- be at one time: claims offer the next. That is the stand-by, and is told when there was another
-- before. Barging: reserves nothing, and tells those that would fit: their renewals decide. The
-- first that does not fit, or is one too many to be told at once, is to look whether they came.
-- Whoever is beyond reach learns of room with its own renewals, so that a long line of heavy
-- contenders costs nothing each time.
CREATE OR REPLACE FUNCTION holdfast_1_pass_on(the_line holdfast_lines, room bigint, now bigint,
                                              asker text, moved boolean)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    fifo boolean := the_line.fairness = 'f';
    one holdfast_contenders;
    offers bigint := holdfast_1_offers(the_line.id);
    passed integer := 0;
    removed integer := 0;
BEGIN
    FOR one IN SELECT * FROM holdfast_contenders
        WHERE line = the_line.id AND phase = 'waiting' ORDER BY ticket
    LOOP
        IF one.lease_end <= now THEN
            removed := holdfast_1_remove_dead(one, asker, removed);
            moved := moved OR fifo;
        ELSIF one.weight <= room AND offers < 100 THEN
            IF fifo THEN
                UPDATE holdfast_contenders SET phase = 'offered', claim_end = now + 1000000
                    WHERE line = the_line.id AND nonce = one.nonce;
            END IF;
            room := room - greatest(one.weight, 0);
            offers := offers + 1;
            moved := true;
            IF one.nonce <> asker THEN PERFORM holdfast_1_tell(one, 'o'); END IF;
        ELSE
            passed := passed + 1;
            IF moved AND passed = 1 AND one.nonce <> asker THEN
                PERFORM holdfast_1_tell(one, 'w ' || least(
                    holdfast_1_look(the_line.id, now), CASE WHEN NOT fifo THEN 1000 END));
            END IF;
            EXIT WHEN fifo OR room = 0 OR offers = 100 OR passed = 64;
        END IF;
    END LOOP;
END $$;

-- Barging: one of those that were called has come. When there is room for more than are called at
-- once, the next one that came within reach by that is called. And the one behind it is, too: those
-- before it may be dead, all that were called.
CREATE OR REPLACE FUNCTION holdfast_1_call_next_barger(came holdfast_contenders, room bigint,
                                                       now bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    next holdfast_contenders;
BEGIN
    IF room = 0 THEN RETURN; END IF;
    SELECT * INTO next FROM holdfast_contenders
        WHERE line = came.line AND phase = 'waiting' AND lease_end > now AND ticket > came.ticket
        ORDER BY ticket LIMIT 1;
    IF next.weight <= room THEN PERFORM holdfast_1_tell(next, 'o'); END IF;
    IF room < 100 THEN RETURN; END IF;
    SELECT * INTO next FROM holdfast_contenders
        WHERE line = came.line AND phase = 'waiting' AND lease_end > now
        ORDER BY ticket OFFSET 99 LIMIT 1;
    IF next.weight <= room THEN PERFORM holdfast_1_tell(next, 'o'); END IF;
END $$;

-- Ends what is overdue and passes free places on. `freed`: a place became free, or who waits first
-- is another one than before; under barging only that is worth telling. Answers how much room there
-- is for a newcomer, by the admission rule: after this the first that waits does not fit, or waits
-- for others to claim, so under fifo there is none while anybody waits. With `freed` nobody asks for
-- that.
CREATE OR REPLACE FUNCTION holdfast_1_advance(the_line holdfast_lines, now bigint, asker text,
                                              freed boolean DEFAULT false)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    asked boolean := NOT freed;
    room bigint;
    any_overdue boolean;
    any_waiting boolean;
BEGIN
    SELECT the_line.capacity - coalesce(sum(greatest(weight, 0)), 0),
            bool_or(lease_end <= now OR (phase = 'offered' AND claim_end <= now)),
            EXISTS (SELECT FROM holdfast_contenders
                    WHERE line = the_line.id AND phase = 'waiting')
        INTO room, any_overdue, any_waiting FROM holdfast_contenders
        WHERE line = the_line.id AND phase IN ('admitted', 'offered');
    IF any_overdue THEN
        PERFORM holdfast_1_end_overdue(the_line.id, now, asker);
        freed := true;
        room := the_line.capacity - holdfast_1_held(the_line.id, now);
    END IF;
    IF NOT any_waiting THEN RETURN room; END IF;
    IF the_line.fairness = 'b' THEN
        IF freed AND room > 0 THEN
            PERFORM holdfast_1_pass_on(the_line, room, now, asker, false);
        END IF;
        RETURN room;
    END IF;
    IF freed OR room > 0 THEN
        PERFORM holdfast_1_pass_on(the_line, room, now, asker, freed);
    END IF;
    IF NOT asked THEN RETURN NULL; END IF;
    -- All that waited may have been over, or have been offered a place.
    IF EXISTS (SELECT FROM holdfast_contenders
               WHERE line = the_line.id AND phase = 'waiting' AND lease_end > now) THEN
        RETURN 0;
    END IF;
    RETURN the_line.capacity - holdfast_1_held(the_line.id, now);
END $$;
