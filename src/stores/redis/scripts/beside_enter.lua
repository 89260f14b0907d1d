local function contender_at(i)
    local at = 4 * i - 3
    return {
        nonce = ARGV[at + 1],
        who = ARGV[at + 2],
        lease = ARGV[at + 3],
        mode = string.sub(ARGV[at + 4], 1, 1),
        reenter = string.sub(ARGV[at + 4], 2) == 'j', -- joins its owner's hold
    }
end

-- Judges all contenders before it admits any, so that an error or a refusal has written nothing.
-- Only what an earlier copy of the request was admitted to is left to be taken back then.
local function enter(judge, admit, take_back)
    local verdicts, last = {}, nil
    for i = 1, #KEYS do
        last = judge(KEYS[i], contender_at(i))
        verdicts[i] = last
        if not last.fence then break end
    end

    local refused = last.failure or not last.fence and ARGV[1] == 'n'
    local reply = {}
    for _, verdict in ipairs(verdicts) do
        local state, look = admitted, -1
        if refused then
            if verdict.repeated then take_back(verdict) end
            if not verdict.fence then state = gone end
        elseif verdict.fence then
            admit(verdict)
        else
            state, look = waiting, verdict.look
        end
        local size = #reply
        reply[size + 1], reply[size + 2] = state, 1
        reply[size + 3], reply[size + 4] = verdict.fence or 0, look
    end
    if last.failure then return {last.failure, #verdicts - 1, last.planted} end
    return reply
end
