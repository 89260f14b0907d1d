-- The hash tag as Redisson writes it, and the key of our records. `a` and `{a}` have one tag, but
-- must not share their records.
local function tag_and_holds(name)
    if string.find(name, '{', 1, true) then return name, 'holdfast_holds:' .. name .. ':' end
    local tag = '{' .. name .. '}'
    return tag, 'holdfast_holds:' .. tag
end
