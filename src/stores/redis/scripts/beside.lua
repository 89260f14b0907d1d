-- What the layouts of others share. Their lock is not ours alone: any client may delete or replace
-- it at any time. So our own keys beside it add to what the lock itself says, and are never
-- believed without it.
--
-- Our strings are read by GETEX. A GET would arm client tracking: a waiter is to be told of the
-- lock alone, and a key for each nonce would fill the server's table.

-- include rights.lua

local gone, waiting, offered, admitted = 0, 1, 2, 3
