-- Takes one out of the contenders. Its phase is NULL when it is not there. `had_all`: it was all
-- that there is, so that nobody holds now, nor is one left that is over: beside a seat nobody ends
-- those. `freed`: a place became free, or who waits first is another one than before.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_take_out(
    IN in_line BINARY(32), IN its_nonce CHAR(32) $ascii, IN its_capacity BIGINT, IN now_is BIGINT,
    OUT its_phase VARCHAR(8) $ascii, OUT its_ticket BIGINT, OUT its_fence BIGINT,
    OUT its_lease_end BIGINT, OUT had_all BOOLEAN, OUT freed BOOLEAN)
SQL SECURITY INVOKER
body: BEGIN
    DECLARE its_weight BIGINT;
    SELECT phase, ticket, weight, fence, lease_end
        INTO its_phase, its_ticket, its_weight, its_fence, its_lease_end FROM holdfast_contenders
        WHERE line = in_line AND nonce = its_nonce AND phase <> 'left';
    IF its_phase IS NULL THEN LEAVE body; END IF;
    DELETE FROM holdfast_contenders WHERE line = in_line AND nonce = its_nonce;
    SET had_all = FALSE, freed = TRUE;
    IF its_phase IN ('waiting', 'lapsed') THEN
        SET freed = NOT EXISTS (SELECT 1 FROM holdfast_contenders
            WHERE line = in_line AND phase = 'waiting' AND ticket < its_ticket
                AND lease_end > now_is);
    ELSEIF its_weight > 0 AND EXISTS (SELECT 1 FROM holdfast_contenders
        WHERE line = in_line AND phase = 'admitted' AND weight = 0 AND fence = its_fence) THEN
        CALL holdfast_1_hand_to_joined(in_line, its_weight, its_fence);
    ELSE
        SET had_all = its_weight = its_capacity AND NOT EXISTS (
            SELECT 1 FROM holdfast_contenders
                WHERE line = in_line AND phase IN ('admitted', 'offered'));
    END IF;
END;

-- Takes a contender out of its line and passes its place on. For that many milliseconds a delayed
-- enter of it is refused. Answers where it stood, and (as look) 0 when others may have been there.
--
-- Where all of a fifo line becomes free, the first that waits has the seat from then on, or nobody:
-- unless that one is overdue, or wants less than all. It is woken as soon as it is told, and finds
-- the row locked while the rest is written. In one procedure, as far as a hand-over goes: a call
-- within it costs as much as half a statement.
CREATE PROCEDURE IF NOT EXISTS holdfast_1_leave(
    IN its_name TEXT $ascii, IN its_nonce CHAR(32) $ascii, IN its_tombstone BIGINT, IN its_end INT)
SQL SECURITY INVOKER
BEGIN
    DECLARE line_id BINARY(32);
    DECLARE line_capacity, line_crowd, now_is, room BIGINT;
    DECLARE line_fairness CHAR(1) $ascii;
    DECLARE seat CHAR(32) $ascii DEFAULT '';
    DECLARE its_phase VARCHAR(8) $ascii;
    DECLARE its_ticket, its_fence, its_lease_end BIGINT;
    DECLARE next, next_client CHAR(32) $ascii;
    DECLARE next_owner, next_host TEXT $ascii;
    DECLARE next_ticket, next_weight, next_lease_end, next_since, next_pid, next_serial BIGINT;
    DECLARE had_all, freed BOOLEAN DEFAULT TRUE;
    DECLARE waited, passed_on BOOLEAN DEFAULT FALSE;
    IF its_end THEN START TRANSACTION; END IF;
    read_line: LOOP
        SELECT id, capacity, fairness, $crowd, seat_nonce, seat_ticket, seat_fence, seat_lease_end,
                seat_waited, IF(seat_claim_end = 0, 'admitted', 'offered')
            INTO line_id, line_capacity, line_fairness, line_crowd, seat, its_ticket, its_fence,
                its_lease_end, waited, its_phase
            FROM holdfast_lines WHERE id = UNHEX(SHA2(its_name, 256)) FOR UPDATE;
        IF line_id IS NOT NULL OR its_tombstone = 0 THEN LEAVE read_line; END IF;
        CALL holdfast_1_make(its_name);
    END LOOP;
    SET now_is = $now;
    IF seat <> its_nonce THEN
        IF seat <> '' THEN
            CALL holdfast_1_unseat(line_id);
            SET line_crowd = line_crowd + 1;
        END IF;
        SET waited = FALSE;
        CALL holdfast_1_take_out(line_id, its_nonce, line_capacity, now_is, its_phase, its_ticket,
                                 its_fence, its_lease_end, had_all, freed);
    END IF;
    IF its_phase IS NOT NULL AND had_all AND line_fairness = 'f' THEN
        IF line_crowd > 0 THEN
            SELECT nonce, client, owner, host, ticket, weight, lease_end, since, pid, serial
                INTO next, next_client, next_owner, next_host, next_ticket, next_weight,
                    next_lease_end, next_since, next_pid, next_serial
                FROM holdfast_contenders
                WHERE line = line_id AND phase = 'waiting' AND nonce <> its_nonce
                ORDER BY ticket LIMIT 1;
        END IF;
        IF next IS NULL THEN
            UPDATE holdfast_lines SET seat_nonce = '', seat_told_to = '' WHERE id = line_id;
            IF waited THEN
                DELETE FROM holdfast_contenders WHERE line = line_id AND nonce = its_nonce;
            END IF;
            IF line_crowd > 0 THEN
                DELETE FROM holdfast_contenders
                    WHERE line = line_id AND phase = 'left' AND lease_end <= now_is;
                CALL holdfast_1_recount(line_id);
            END IF;
            SET passed_on = TRUE;
        ELSEIF next_lease_end > now_is AND next_weight = line_capacity THEN
            UPDATE holdfast_lines
                SET seat_nonce = next, seat_ticket = next_ticket, seat_fence = 0,
                    seat_lease_end = next_lease_end, seat_claim_end = now_is + 1000000,
                    seat_since = next_since, seat_client = next_client, seat_owner = next_owner,
                    seat_host = next_host, seat_pid = next_pid, seat_waited = TRUE,
                    seat_serial = next_serial, seat_told_to = next_client,
                    crowd = crowd - waited
                WHERE id = line_id;
            CALL holdfast_1_ring(next_client);
            IF waited THEN
                DELETE FROM holdfast_contenders WHERE line = line_id AND nonce = its_nonce;
            END IF;
            IF line_crowd > 1 + waited THEN
                CALL holdfast_1_tell_stand_by(line_id, next, now_is);
            END IF;
            SET passed_on = TRUE;
        END IF;
    END IF;
    IF its_phase IS NOT NULL AND NOT passed_on THEN
        IF seat = its_nonce THEN
            UPDATE holdfast_lines SET seat_nonce = '', seat_told_to = '' WHERE id = line_id;
            DELETE FROM holdfast_contenders WHERE line = line_id AND nonce = its_nonce;
        END IF;
        CALL holdfast_1_advance(line_id, line_capacity, line_fairness, now_is, its_nonce, freed,
                                room);
        IF had_all THEN CALL holdfast_1_recount(line_id); END IF;
    END IF;
    IF its_tombstone > 0 THEN
        DELETE FROM holdfast_contenders
            WHERE line = line_id AND phase = 'left' AND lease_end <= now_is;
        INSERT INTO holdfast_contenders (line, nonce, phase, lease_end, owner, host)
            VALUES (line_id, its_nonce, 'left', now_is + its_tombstone * 1000, '', '')
            ON DUPLICATE KEY UPDATE phase = phase;
        UPDATE holdfast_lines SET crowd = $crowd + 1 WHERE id = line_id;
    END IF;
    IF its_end THEN COMMIT; END IF;
    IF its_phase IS NULL OR its_lease_end <= now_is THEN
        SELECT 0, 0, 0, -1;
    ELSE
        SELECT CASE its_phase WHEN 'admitted' THEN 3 WHEN 'offered' THEN 2 ELSE 1 END,
            its_ticket, IF(its_phase = 'admitted', its_fence, 0), IF(line_crowd > 0, 0, -1);
    END IF;
END;
