local function part(text)
    return { text; #text }
end
