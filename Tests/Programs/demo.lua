--
-- A script with a bit of everything for the demonstration: strings, tables,
-- closures, recursion, sorting, garbage and plain arithmetic.
--
-- usage: lua demo.lua [rounds]
--

local rounds = tonumber(arg and arg[1]) or 12

local seed = 12345
local function random(limit)
    seed = (seed * 1103515245 + 12345) % 2147483648
    return seed % limit + 1
end

local function strings()
    local words, count = {}, {}
    for i = 1, 2000 do
        words[i] = string.format("word%d", random(300))
    end
    local text = table.concat(words, " ")
    for word in text:gmatch("%a+%d") do
        count[word] = (count[word] or 0) + 1
    end
    local upper = text:gsub("%d+", function(n) return "<" .. n .. ">" end)
    return #upper + #text:reverse():upper() + (text:find("word299", 1, true) or 0)
end

local function tables()
    local rows = {}
    for i = 1, 3000 do
        rows[i] = { id = i, key = random(1000), name = "row" .. i }
    end
    table.sort(rows, function(a, b)
        if a.key ~= b.key then
            return a.key < b.key
        end
        return a.id < b.id
    end)
    local sum = 0
    for i, row in ipairs(rows) do
        sum = sum + i * row.key
    end
    return sum
end

local function closures()
    local steps = {}
    for i = 1, 50 do
        steps[i] = function(x) return x * i % 1000 + 1 end
    end
    local x = 1
    for _ = 1, 200 do
        for i = 1, #steps do
            x = steps[i](x)
        end
    end
    return x
end

local function fib(n)
    if n < 2 then
        return n
    end
    return fib(n - 1) + fib(n - 2)
end

local function sieve(limit)
    local composite, count = {}, 0
    for i = 2, limit do
        if not composite[i] then
            count = count + 1
            for j = i * i, limit, i do
                composite[j] = true
            end
        end
    end
    return count
end

local function mandelbrot(size)
    local inside = 0
    for y = 0, size - 1 do
        for x = 0, size - 1 do
            local cr, ci = 3 * x / size - 2, 2 * y / size - 1
            local zr, zi, n = 0.0, 0.0, 0
            while n < 100 and zr * zr + zi * zi < 4 do
                zr, zi = zr * zr - zi * zi + cr, 2 * zr * zi + ci
                n = n + 1
            end
            if n == 100 then
                inside = inside + 1
            end
        end
    end
    return inside
end

local function errors()
    local caught = 0
    for i = 1, 500 do
        local ok = pcall(function()
            if i % 2 == 0 then
                error({ code = i })
            end
            return tostring(i)
        end)
        if not ok then
            caught = caught + 1
        end
    end
    return caught
end

local parts = {
    { "strings", strings },
    { "tables", tables },
    { "closures", closures },
    { "fib", function() return fib(20) end },
    { "sieve", function() return sieve(60000) end },
    { "mandelbrot", function() return mandelbrot(960) end },
    { "errors", errors },
}

local checksum = 0
for _ = 1, rounds do
    for _, part in ipairs(parts) do
        checksum = (checksum * 31 + part[2]()) % 1000000007
    end
end
print(("rounds %d, checksum %d"):format(rounds, checksum))
