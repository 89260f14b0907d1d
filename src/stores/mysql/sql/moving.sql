-- Who moves in a line, when, and who is told. Whoever asks is not told: the answer says it.

-- Takes it out. A place frees with the last of those who joined it: the first of them takes over
-- the weight.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_remove(
    IN in_line BINARY(32), IN its_nonce CHAR(32) CHARACTER SET ascii COLLATE ascii_bin)
SQL SECURITY INVOKER
BEGIN
    DECLARE its_phase VARCHAR(8) CHARACTER SET ascii COLLATE ascii_bin;
    DECLARE its_weight, its_fence BIGINT;
    SELECT phase, weight, fence INTO its_phase, its_weight, its_fence FROM holdfast_contenders
        WHERE line = in_line AND nonce = its_nonce;
    DELETE FROM holdfast_contenders WHERE line = in_line AND nonce = its_nonce;
    IF its_phase = 'admitted' AND its_weight > 0 THEN
        UPDATE holdfast_contenders SET weight = its_weight
            WHERE line = in_line AND phase = 'admitted' AND weight = 0 AND fence = its_fence
            ORDER BY ticket LIMIT 1;
    END IF;
END;

-- Ends what is overdue; `freed` when anything was.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_end_overdue(IN in_line BINARY(32), IN now_is BIGINT,
                                                      INOUT freed BOOLEAN)
SQL SECURITY INVOKER
BEGIN
    DECLARE its_nonce CHAR(32) CHARACTER SET ascii COLLATE ascii_bin;
    DECLARE its_lease_end BIGINT;
    each_one: LOOP
        SET its_nonce = NULL;
        SELECT nonce, lease_end INTO its_nonce, its_lease_end FROM holdfast_contenders
            WHERE line = in_line AND phase IN ('admitted', 'offered')
                AND (lease_end <= now_is OR (phase = 'offered' AND claim_end <= now_is)) LIMIT 1;
        IF its_nonce IS NULL THEN LEAVE each_one; END IF;
        SET freed = TRUE;
        IF its_lease_end > now_is THEN
            UPDATE holdfast_contenders SET phase = 'lapsed'
                WHERE line = in_line AND nonce = its_nonce;
        ELSE
            CALL holdfast_1_remove(in_line, its_nonce);
        END IF;
    END LOOP;
END;

-- Fifo: reserves places for the first in line until one does not fit. That is the stand-by, and is
-- told when there was another before. Barging: reserves nothing, and tells those that would fit:
-- their renewals decide. The first that does not fit is to look whether they came. Whoever is
-- beyond reach learns of room with its own renewals, so that a long line of heavy contenders costs
-- nothing each time.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_pass_on(
    IN in_line BINARY(32), IN its_fairness CHAR(1) CHARACTER SET ascii COLLATE ascii_bin,
    IN room BIGINT, IN now_is BIGINT,
    IN asker CHAR(32) CHARACTER SET ascii COLLATE ascii_bin, IN moved BOOLEAN)
SQL SECURITY INVOKER
BEGIN
    DECLARE its_nonce CHAR(32) CHARACTER SET ascii COLLATE ascii_bin;
    DECLARE its_ticket, its_weight, its_lease_end BIGINT DEFAULT 0;
    DECLARE passed INT DEFAULT 0;
    each_one: LOOP
        SET its_nonce = NULL;
        SELECT nonce, ticket, weight, lease_end
            INTO its_nonce, its_ticket, its_weight, its_lease_end FROM holdfast_contenders
            WHERE line = in_line AND phase = 'waiting' AND ticket > its_ticket
            ORDER BY ticket LIMIT 1;
        IF its_nonce IS NULL THEN LEAVE each_one; END IF;
        IF its_lease_end <= now_is THEN
            DELETE FROM holdfast_contenders WHERE line = in_line AND nonce = its_nonce;
            IF its_fairness = 'f' THEN SET moved = TRUE; END IF;
        ELSEIF its_weight <= room THEN
            IF its_fairness = 'f' THEN
                UPDATE holdfast_contenders SET phase = 'offered', claim_end = now_is + 1000000
                    WHERE line = in_line AND nonce = its_nonce;
            END IF;
            SET room = room - its_weight, moved = TRUE;
            IF its_nonce <> asker THEN
                CALL holdfast_1_tell(in_line, its_nonce, 'o', now_is);
            END IF;
        ELSE
            SET passed = passed + 1;
            IF moved AND passed = 1 AND its_nonce <> asker THEN
                CALL holdfast_1_tell(in_line, its_nonce, 'w', now_is);
            END IF;
            IF its_fairness = 'f' OR room = 0 OR passed = 64 THEN LEAVE each_one; END IF;
        END IF;
    END LOOP;
END;

-- Ends what is overdue and passes free places on. `freed`: a place became free, or who waits first
-- is another one than before; under barging only that is worth telling.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_advance(
    IN in_line BINARY(32), IN its_capacity BIGINT,
    IN its_fairness CHAR(1) CHARACTER SET ascii COLLATE ascii_bin, IN now_is BIGINT,
    IN asker CHAR(32) CHARACTER SET ascii COLLATE ascii_bin, IN freed BOOLEAN)
SQL SECURITY INVOKER
BEGIN
    DECLARE held BIGINT;
    CALL holdfast_1_end_overdue(in_line, now_is, freed);
    IF EXISTS (SELECT 1 FROM holdfast_contenders WHERE line = in_line AND phase = 'waiting') THEN
        CALL holdfast_1_held(in_line, held);
        IF its_fairness = 'f' AND (freed OR held < its_capacity) THEN
            CALL holdfast_1_pass_on(in_line, 'f', its_capacity - held, now_is, asker, freed);
        ELSEIF its_fairness = 'b' AND freed AND held < its_capacity THEN
            CALL holdfast_1_pass_on(in_line, 'b', its_capacity - held, now_is, asker, FALSE);
        END IF;
    END IF;
END;
