--
-- A script that keeps Lua's own functions busy, which are C: strings, tables,
-- sorting, protected calls, garbage.  Nearly all its time is in short calls.
--
-- usage: lua Calls.lua [rounds]
--

local rounds = tonumber(arg and arg[1]) or 10

local function words(n)
    local text = {}
    for i = 1, n do
        local word = string.format("%d:%s", i, ("x"):rep(i % 7))
        text[#text + 1] = word:upper():sub(1, 4) .. tostring(i * 3)
    end
    return #table.concat(text, ",")
end

local function queue(n)
    local items, sum = {}, 0
    for i = 1, n do
        table.insert(items, i)
        if i % 3 == 0 then
            sum = sum + table.remove(items) + math.max(i % 10, 4)
        end
    end
    return sum + select("#", table.unpack(items, 1, 50))
end

local function sorted(n)
    local keys = {}
    for i = 1, n do
        keys[i] = i * 7919 % 10007
    end
    table.sort(keys, function(a, b) return a > b end)
    return keys[1]
end

local function protected(n)
    local count = 0
    for i = 1, n do
        local fine = pcall(function()
            if i % 10 == 0 then
                error("no")
            end
            return rawequal(i, count)
        end)
        count = count + (fine and 1 or 0)
    end
    return count
end

local checksum = 0
for _ = 1, rounds do
    for _, part in ipairs({ words, queue, sorted, protected }) do
        checksum = (checksum * 31 + part(3000)) % 1000000007
    end
end
print(("rounds %d, checksum %d"):format(rounds, checksum))
