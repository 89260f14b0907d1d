-- Who moves in a line, when, and who is told. Whoever asks is not told: the answer says it.

-- A place frees with the last of those who joined it: the first of them takes over the weight.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_hand_to_joined(
    IN in_line BINARY(32), IN its_weight BIGINT, IN its_fence BIGINT)
SQL SECURITY INVOKER
UPDATE holdfast_contenders SET weight = its_weight
    WHERE line = in_line AND phase = 'admitted' AND weight = 0 AND fence = its_fence
    ORDER BY ticket LIMIT 1;

CREATE PROCEDURE IF NOT EXISTS holdfast_1_remove(
    IN in_line BINARY(32), IN its_nonce CHAR(32) $ascii)
SQL SECURITY INVOKER
BEGIN
    DECLARE its_phase VARCHAR(8) $ascii;
    DECLARE its_weight, its_fence BIGINT;
    SELECT phase, weight, fence INTO its_phase, its_weight, its_fence FROM holdfast_contenders
        WHERE line = in_line AND nonce = its_nonce;
    DELETE FROM holdfast_contenders WHERE line = in_line AND nonce = its_nonce;
    IF its_phase = 'admitted' AND its_weight > 0 THEN
        CALL holdfast_1_hand_to_joined(in_line, its_weight, its_fence);
    END IF;
END;

-- Of holders some hundreds at the most: those that are left hold nothing any more (see held), and
-- whoever looks next, which is in a moment then, goes on with it. But one whose claim alone is over
-- may still come: it is passed over before its place is another one's.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_end_overdue(IN in_line BINARY(32), IN now_is BIGINT)
SQL SECURITY INVOKER
BEGIN
    DECLARE its_nonce CHAR(32) $ascii;
    DECLARE ended INT DEFAULT 0;
    UPDATE holdfast_contenders SET phase = 'lapsed'
        WHERE line = in_line AND phase = 'offered' AND claim_end <= now_is AND lease_end > now_is;
    each_one: WHILE ended < 500 DO
        SET ended = ended + 1;
        SET its_nonce = NULL;
        SELECT nonce INTO its_nonce FROM holdfast_contenders
            WHERE line = in_line AND phase IN ('admitted', 'offered') AND lease_end <= now_is
            LIMIT 1;
        IF its_nonce IS NULL THEN LEAVE each_one; END IF;
        CALL holdfast_1_remove(in_line, its_nonce);
    END WHILE;
END;

CREATE PROCEDURE IF NOT EXISTS holdfast_1_tell_to_look(
    IN in_line BINARY(32), IN its_nonce CHAR(32) $ascii, IN its_client CHAR(32) $ascii,
    IN now_is BIGINT)
SQL SECURITY INVOKER
BEGIN
    UPDATE holdfast_contenders SET told = 'w', told_at = GREATEST(told_at + 1, now_is)
        WHERE line = in_line AND nonce = its_nonce;
    CALL holdfast_1_ring(its_client);
END;

-- Whoever waits first now is to look when something ahead of it ends.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_tell_stand_by(
    IN in_line BINARY(32), IN seat CHAR(32) $ascii, IN now_is BIGINT)
SQL SECURITY INVOKER
BEGIN
    DECLARE its_nonce, its_client CHAR(32) $ascii;
    SELECT nonce, client INTO its_nonce, its_client FROM holdfast_contenders
        WHERE line = in_line AND phase = 'waiting' AND lease_end > now_is AND nonce <> seat
        ORDER BY ticket LIMIT 1;
    IF its_nonce IS NOT NULL THEN
        CALL holdfast_1_tell_to_look(in_line, its_nonce, its_client, now_is);
    END IF;
END;

-- Fifo: reserves places for the first in line until one does not fit, or as many are offered as may
-- be at one time: claims offer the next. That is the stand-by, and is told when there was another
-- before. Barging: reserves nothing, and tells those that would fit: their renewals decide. The
-- first that does not fit, or is one too many to be told at once, is to look whether they came.
-- Whoever is beyond reach learns of room with its own renewals, so that a long line of heavy
-- contenders costs nothing each time. Of those whose lease has ended some hundreds are taken out,
-- and the others passed by and left to the next request.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_pass_on(
    IN in_line BINARY(32), IN its_fairness CHAR(1) $ascii, IN room BIGINT, IN now_is BIGINT,
    IN asker CHAR(32) $ascii, IN moved BOOLEAN)
SQL SECURITY INVOKER
BEGIN
    DECLARE its_nonce, its_client CHAR(32) $ascii;
    DECLARE its_ticket, its_weight, its_lease_end, offers BIGINT DEFAULT 0;
    DECLARE passed, removed INT DEFAULT 0;
    CALL holdfast_1_offers(in_line, offers);
    each_one: LOOP
        SET its_nonce = NULL;
        SELECT nonce, client, ticket, weight, lease_end
            INTO its_nonce, its_client, its_ticket, its_weight, its_lease_end
            FROM holdfast_contenders
            WHERE line = in_line AND phase = 'waiting' AND ticket > its_ticket
                AND (removed < 500 OR lease_end > now_is)
            ORDER BY ticket LIMIT 1;
        IF its_nonce IS NULL THEN LEAVE each_one; END IF;
        IF its_lease_end <= now_is THEN
            DELETE FROM holdfast_contenders WHERE line = in_line AND nonce = its_nonce;
            SET removed = removed + 1;
            IF its_fairness = 'f' THEN SET moved = TRUE; END IF;
        ELSEIF its_weight <= room AND offers < 100 THEN
            UPDATE holdfast_contenders
                SET phase = IF(its_fairness = 'f', 'offered', phase), claim_end = now_is + 1000000,
                    told = IF(nonce = asker, told, 'o'),
                    told_at = IF(nonce = asker, told_at, GREATEST(told_at + 1, now_is))
                WHERE line = in_line AND nonce = its_nonce;
            SET room = room - GREATEST(its_weight, 0), offers = offers + 1, moved = TRUE;
            IF its_nonce <> asker THEN CALL holdfast_1_ring(its_client); END IF;
        ELSE
            SET passed = passed + 1;
            IF moved AND passed = 1 AND its_nonce <> asker THEN
                CALL holdfast_1_tell_to_look(in_line, its_nonce, its_client, now_is);
            END IF;
            IF its_fairness = 'f' OR room = 0 OR offers = 100 OR passed = 64 THEN
                LEAVE each_one;
            END IF;
        END IF;
    END LOOP;
END;

-- Barging: one of those that were called has come. When there is room for more than are called at
-- once, the next one that came within reach by that is called. And the one behind it is, too, if it
-- was not: those before it may be dead, all that were called.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_call_next_barger(
    IN in_line BINARY(32), IN its_ticket BIGINT, IN room BIGINT, IN now_is BIGINT)
SQL SECURITY INVOKER
BEGIN
    DECLARE its_nonce, its_client CHAR(32) $ascii;
    DECLARE its_weight BIGINT;
    DECLARE called BOOLEAN;
    IF room > 0 THEN
        SELECT nonce, client, weight, told = 'o' AND told_at > 0
            INTO its_nonce, its_client, its_weight, called FROM holdfast_contenders
            WHERE line = in_line AND phase = 'waiting' AND lease_end > now_is
                AND ticket > its_ticket
            ORDER BY ticket LIMIT 1;
        IF its_weight <= room AND NOT called THEN
            UPDATE holdfast_contenders SET told = 'o', told_at = GREATEST(told_at + 1, now_is)
                WHERE line = in_line AND nonce = its_nonce;
            CALL holdfast_1_ring(its_client);
        END IF;
    END IF;
    IF room >= 100 THEN
        SET its_weight = NULL;
        SELECT nonce, client, weight INTO its_nonce, its_client, its_weight
            FROM holdfast_contenders
            WHERE line = in_line AND phase = 'waiting' AND lease_end > now_is
            ORDER BY ticket LIMIT 1 OFFSET 99;
        IF its_weight <= room THEN
            UPDATE holdfast_contenders SET told = 'o', told_at = GREATEST(told_at + 1, now_is)
                WHERE line = in_line AND nonce = its_nonce;
            CALL holdfast_1_ring(its_client);
        END IF;
    END IF;
END;

-- Ends what is overdue and passes free places on. `freed`: a place became free, or who waits first
-- is another one than before; under barging only that is worth telling. `room` is what there is for
-- a newcomer, by the admission rule: after this the first that waits does not fit, or waits for
-- others to claim, so under fifo there is none while anybody waits. With `freed` nobody asks for
-- that.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_advance(
    IN in_line BINARY(32), IN its_capacity BIGINT, IN its_fairness CHAR(1) $ascii, IN now_is BIGINT,
    IN asker CHAR(32) $ascii, IN freed BOOLEAN, OUT room BIGINT)
SQL SECURITY INVOKER
body: BEGIN
    DECLARE any_overdue, any_waiting BOOLEAN;
    DECLARE asked BOOLEAN DEFAULT NOT freed;
    DECLARE held BIGINT;
    SELECT its_capacity - COALESCE(SUM(GREATEST(weight, 0)), 0),
            MAX(lease_end <= now_is OR (phase = 'offered' AND claim_end <= now_is)),
            EXISTS (SELECT 1 FROM holdfast_contenders WHERE line = in_line AND phase = 'waiting')
        INTO room, any_overdue, any_waiting FROM holdfast_contenders
        WHERE line = in_line AND phase IN ('admitted', 'offered');
    IF any_overdue THEN
        CALL holdfast_1_end_overdue(in_line, now_is);
        SET freed = TRUE;
        CALL holdfast_1_held(in_line, now_is, held);
        SET room = its_capacity - held;
    END IF;
    IF NOT any_waiting THEN LEAVE body; END IF;
    IF its_fairness = 'b' THEN
        IF freed AND room > 0 THEN
            CALL holdfast_1_pass_on(in_line, 'b', room, now_is, asker, FALSE);
        END IF;
        LEAVE body;
    END IF;
    IF freed OR room > 0 THEN
        CALL holdfast_1_pass_on(in_line, 'f', room, now_is, asker, freed);
    END IF;
    IF NOT asked THEN LEAVE body; END IF;
    -- All that waited may have been over, or have been offered a place.
    IF EXISTS (SELECT 1 FROM holdfast_contenders
               WHERE line = in_line AND phase = 'waiting' AND lease_end > now_is) THEN
        SET room = 0;
    ELSE
        CALL holdfast_1_held(in_line, now_is, held);
        SET room = its_capacity - held;
    END IF;
END;
