-- A resource. Its row is locked first by whoever moves somebody in its line, and stays for a day
-- after its last fence, so that fences rise; sweeping removes it then.
CREATE TABLE IF NOT EXISTS holdfast_lines (
    id          bytea  PRIMARY KEY,         -- sha256 of the name, which may be long
    name        text   NOT NULL,            -- with every unusual byte as %XX
    capacity    bigint NOT NULL DEFAULT 0,
    fairness    text   NOT NULL DEFAULT 'f', -- f: in order, b: barging
    last_ticket bigint NOT NULL DEFAULT 0,
    last_fence  bigint NOT NULL DEFAULT 0
);

-- A contender. All moments are microseconds since 1970 by the clock of this server.
-- phase: admitted; offered: its place is reserved until claim_end; waiting; lapsed: waiting, but it
-- did not claim when it was its turn, and is passed over until it is heard of; left: not in line,
-- and an enter of it that comes before lease_end is refused.
CREATE TABLE IF NOT EXISTS holdfast_contenders (
    line      bytea   NOT NULL,
    nonce     text    NOT NULL,
    phase     text    NOT NULL,
    ticket    bigint  NOT NULL DEFAULT 0,
    weight    bigint  NOT NULL DEFAULT 0,   -- 0 of one that joined another's hold
    fence     bigint  NOT NULL DEFAULT 0,
    lease_end bigint  NOT NULL,
    claim_end bigint  NOT NULL DEFAULT 0,
    since     bigint  NOT NULL DEFAULT 0,   -- when it was admitted, or entered while it is not
    client    text    NOT NULL DEFAULT '',
    owner     text    NOT NULL DEFAULT '',
    host      text    NOT NULL DEFAULT '',
    pid       integer NOT NULL DEFAULT 0,
    serial    bigint  NOT NULL DEFAULT 0,   -- of its last renewal; an earlier one changes nothing
    PRIMARY KEY (line, nonce)
);
-- An older version's misses some.
DO $$ BEGIN
    PERFORM id, name, capacity, fairness, last_ticket, last_fence FROM holdfast_lines LIMIT 0;
    PERFORM line, nonce, phase, ticket, weight, fence, lease_end, claim_end, since, client, owner,
            host, pid, serial
        FROM holdfast_contenders LIMIT 0;
END $$;
CREATE INDEX IF NOT EXISTS holdfast_contenders_in_order
    ON holdfast_contenders (line, phase, ticket);
