-- A resource. Its row is locked first by whoever moves somebody in its line, and stays for a day
-- after its last fence, so that fences rise; sweeping removes it then.
--
-- In it is a seat for one contender that takes all there is, so that a free resource is taken, given
-- back and claimed by one statement on one row. While somebody has the seat, nobody among the
-- contenders holds. If it waited before, its row of that time is still there (seat_waited), and says
-- nothing: to delete it would delay the hand-over. What looks at all holders first takes the one in
-- the seat out of it (holdfast_1_unseat).
CREATE TABLE IF NOT EXISTS holdfast_lines (
    id             BINARY(32) NOT NULL PRIMARY KEY, -- SHA-256 of the name, which may be long
    name           TEXT     NOT NULL,               -- with every unusual byte as %XX
    capacity       BIGINT   NOT NULL DEFAULT 0,
    fairness       CHAR(1)  NOT NULL DEFAULT 'f',   -- f: in order, b: barging
    last_ticket    BIGINT   NOT NULL DEFAULT 0,
    last_fence     BIGINT   NOT NULL DEFAULT 0,
    crowd          BIGINT   NOT NULL DEFAULT 0,     -- no fewer than it has contenders' rows
    seat_nonce     CHAR(32) NOT NULL DEFAULT '',    -- '': nobody has it; then the rest says nothing
    seat_ticket    BIGINT   NOT NULL DEFAULT 0,
    seat_fence     BIGINT   NOT NULL DEFAULT 0,
    seat_lease_end BIGINT   NOT NULL DEFAULT 0,
    seat_claim_end BIGINT   NOT NULL DEFAULT 0,     -- 0: admitted; else it is only offered
    seat_since     BIGINT   NOT NULL DEFAULT 0,
    seat_client    CHAR(32) NOT NULL DEFAULT '',
    seat_owner     TEXT,
    seat_host      TEXT,
    seat_pid       INT      NOT NULL DEFAULT 0,
    seat_waited    BOOLEAN  NOT NULL DEFAULT FALSE,
    seat_serial    BIGINT   NOT NULL DEFAULT 0,     -- as a contender's
    seat_told_to   CHAR(32) NOT NULL DEFAULT '',    -- the client, until it knows that it is offered
    KEY holdfast_told_seat (seat_told_to)
) ENGINE = InnoDB DEFAULT CHARACTER SET ascii COLLATE ascii_bin;

-- A contender. All moments are microseconds since 1970 by the clock of this server.
-- phase: admitted; offered: its place is reserved until claim_end; waiting; lapsed: waiting, but it
-- did not claim when it was its turn, and is passed over until it is heard of; left: not in line,
-- and an enter of it that comes before lease_end is refused.
CREATE TABLE IF NOT EXISTS holdfast_contenders (
    line      BINARY(32) NOT NULL,
    nonce     CHAR(32)   NOT NULL,
    phase     VARCHAR(8) NOT NULL,
    ticket    BIGINT     NOT NULL DEFAULT 0,
    weight    BIGINT     NOT NULL DEFAULT 0,     -- 0 of one that joined another's hold
    fence     BIGINT     NOT NULL DEFAULT 0,
    lease_end BIGINT     NOT NULL,
    claim_end BIGINT     NOT NULL DEFAULT 0,
    since     BIGINT     NOT NULL DEFAULT 0,     -- when it was admitted, or entered while it is not
    client    CHAR(32)   NOT NULL DEFAULT '',
    owner     TEXT       NOT NULL,
    host      TEXT       NOT NULL,
    pid       INT        NOT NULL DEFAULT 0,
    told      CHAR(1)    NOT NULL DEFAULT '',    -- o: it is its turn; w: look
    told_at   BIGINT     NOT NULL DEFAULT 0,     -- 0: it knows
    serial    BIGINT     NOT NULL DEFAULT 0,     -- of its last renewal: a lower one comes late
    PRIMARY KEY (line, nonce),
    KEY holdfast_in_order (line, phase, ticket),
    KEY holdfast_of_client (client)
) ENGINE = InnoDB DEFAULT CHARACTER SET ascii COLLATE ascii_bin;

-- An older version's misses some.
SELECT id, name, capacity, fairness, last_ticket, last_fence, crowd, seat_nonce, seat_ticket,
        seat_fence, seat_lease_end, seat_claim_end, seat_since, seat_client, seat_owner, seat_host,
        seat_pid, seat_waited, seat_serial, seat_told_to
    FROM holdfast_lines LIMIT 0;
SELECT line, nonce, phase, ticket, weight, fence, lease_end, claim_end, since, client, owner, host,
        pid, told, told_at, serial
    FROM holdfast_contenders LIMIT 0;
