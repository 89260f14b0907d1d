-- Raises what the server would say when the user may not run this command on these keys. Asked for
-- before the first of several writes: what a script has written is not taken back when it is refused
-- in the middle.
local function need(command, ...)
    if redis.acl_check_cmd(command, ...) then return end
    error({ err = "NOPERM this user may not run '" .. command .. "' on '" ..
        table.concat({ ... }, "', '") .. "'" })
end
