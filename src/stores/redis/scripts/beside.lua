-- What the layouts of others share. Their lock is not ours alone: any client may delete or replace
-- it at any time. So our own keys beside it add to what the lock itself says, and are never
-- believed without it.

local gone, waiting, offered, admitted = 0, 1, 2, 3

local now_us
local function microseconds()
    if not now_us then
        local time = redis.call('TIME')
        now_us = time[1] * 1000000 + time[2]
    end
    return now_us
end

local function milliseconds() return math.floor(microseconds() / 1000) end

-- Lua's own conversion keeps 14 digits only.
local function digits(number) return string.format('%.0f', number) end

-- Gives the hash tag as Redisson writes it, and the key of our records. `a` and `{a}` have the
-- same tag, but must not share their records.
local function tag_and_holds(name)
    if string.find(name, '{', 1, true) then return name, 'holdfast_holds:' .. name .. ':' end
    local tag = '{' .. name .. '}'
    return tag, 'holdfast_holds:' .. tag
end

-- Reads a string of ours. GETEX, since a GET arms client tracking: a waiter is to be told of the
-- lock alone, and a key for each nonce would fill the server's table.
local function read_quietly(key) return redis.call('GETEX', key) end

-- Tombstones -------------------------------------------------------------------------------------

local function tombstone(tag, nonce) return 'holdfast_left:' .. tag .. ':' .. nonce end

local function plant_tombstone(tag, nonce, lifetime_ms)
    if lifetime_ms ~= '0' then redis.call('SET', tombstone(tag, nonce), '1', 'PX', lifetime_ms) end
end

-- Fences -----------------------------------------------------------------------------------------

local largest_fence = 9007199254740991  -- 2^53 - 1: beyond it doubles skip numbers
local day_ms = 86400000

-- Gives nil and what is stored when that cannot be a fence of ours.
local function next_fence(tag)
    local last = read_quietly('holdfast_fence:' .. tag)
    if not last then return microseconds() end
    local number = string.find(last, '^%d+$') and tonumber(last)
    if not number or number >= largest_fence then return nil, last end
    return math.max(number + 1, microseconds())
end

local function keep_fence(tag, fence)
    redis.call('SET', 'holdfast_fence:' .. tag, digits(fence), 'PXAT',
               digits(math.floor(fence / 1000) + day_ms))
end

-- Records ----------------------------------------------------------------------------------------

-- `hold` names the hold as the lock does. The host's size goes before host and owner, for both may
-- hold any byte.
local function record_of(hold, fence, contender)
    return hold .. ' ' .. digits(fence) .. ' ' .. digits(milliseconds()) .. ' ' .. contender.pid ..
           ' ' .. #contender.host .. ' ' .. contender.host .. contender.owner
end

-- Gives which hold it is, and its fence.
local function gist_of(record)
    local hold, fence = string.match(record, '^(%S+) (%d+) ')
    return hold, tonumber(fence)
end

local function parsed(record)
    local hold, fence, since, pid, host_size, text =
        string.match(record, '^(%S+) (%d+) (%d+) (%d+) (%d+) (.*)$')
    if not hold then return nil end
    return {
        hold = hold,
        fence = tonumber(fence),
        age = math.max(0, milliseconds() - since),
        pid = tonumber(pid),
        host = string.sub(text, 1, host_size),
        owner = string.sub(text, host_size + 1),
    }
end

-- Entering and renewing --------------------------------------------------------------------------

-- A layout gives two functions. `judge(name, contender)` only reads, and its verdict has `fence`
-- when the contender can be admitted (and `repeated` when it already is), `failure`, or `look` when
-- the lock is busy. `admit(verdict)` writes.

-- The verdict on one that nothing is in the way of. `fence`: of the hold that it joins, if any.
local function judge_unhindered(verdict, fence)
    if read_quietly(tombstone(verdict.tag, verdict.contender.nonce)) then
        verdict.failure = 'withdrawn'
    elseif fence then
        verdict.fence = fence
    else
        verdict.fence, verdict.planted = next_fence(verdict.tag)
        if not verdict.fence then verdict.failure = 'fence' end
    end
    return verdict
end

local function judge_in_order(judge)
    local verdicts = {}
    for i, name in ipairs(KEYS) do
        local at = 7 * i - 6
        verdicts[i] = judge(name, {
            nonce = ARGV[at + 1],
            owner = ARGV[at + 2],
            host = ARGV[at + 3],
            pid = ARGV[at + 4],
            lease = ARGV[at + 5],
            mode = ARGV[at + 6],
            reenter = ARGV[at + 7] == '1',
        })
        if not verdicts[i].fence then break end
    end
    return verdicts
end

-- Judges all before it admits any, so that an error or a refusal has written nothing. Only what an
-- earlier copy of the request was admitted to is left to be taken back then.
local function enter(judge, admit, take_back)
    local verdicts = judge_in_order(judge)
    local last = verdicts[#verdicts]
    local refused = last.failure or not last.fence and ARGV[1] == 'n'
    local reply = {}
    for i, verdict in ipairs(verdicts) do
        local state, look = admitted, -1
        if not verdict.fence then
            state, look = waiting, verdict.look
            if refused then state, look = gone, -1 end
        elseif not refused then
            admit(verdict)
        elseif verdict.repeated then
            take_back(verdict)
        end
        local at = 4 * i
        reply[at - 3], reply[at - 2] = state, 1
        reply[at - 1], reply[at] = verdict.fence or 0, look
    end
    if last.failure then return {last.failure, #verdicts - 1, last.planted} end
    return reply
end

-- Gives a standing; nothing when it fails.
local function renewed(verdict, believes, admit)
    if believes == 'h' and not verdict.repeated or verdict.failure == 'withdrawn' then
        return gone, 0, -1
    end
    if verdict.failure == 'fence' then return nil end
    if not verdict.fence then return waiting, 0, verdict.look end
    admit(verdict)
    return admitted, verdict.fence, -1
end

-- A failure is told only when all others have been renewed: it must not cost them their holds.
local function renew(judge, admit)
    local reply, failure = {}, nil
    for i = 0, (#ARGV - 1) / 7 - 1 do
        local at = 7 * i + 1
        local verdict = judge(KEYS[1], {
            nonce = ARGV[at + 1],
            mode = ARGV[at + 3],
            owner = ARGV[at + 4],
            host = ARGV[at + 5],
            pid = ARGV[at + 6],
            reenter = ARGV[at + 7] == '1',
            lease = ARGV[1],
        })
        local state, fence, look = renewed(verdict, ARGV[at + 2], admit)
        if state then
            reply[3 * i + 1], reply[3 * i + 2], reply[3 * i + 3] = state, fence, look
        elseif not failure then
            failure = {verdict.failure, i, verdict.planted}
        end
    end
    return failure or reply
end
