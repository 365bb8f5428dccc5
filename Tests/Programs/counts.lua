--
-- A fixed amount of work for the tests that compare counts: it touches most of
-- the interpreter, uses nothing that differs from run to run (no clock, no
-- addresses), and makes about two million calls of C functions; the argument
-- is a part of that: 10 is a tenth.
--

local part = tonumber((arg or {})[1] or 1)

math.randomseed(42)

-- Sorting, with and without a comparison in Lua.

local numbers = {}
for i = 1, 4000 // part do
    numbers[i] = math.random(1, 100000)
end
table.sort(numbers)
table.sort(numbers, function(a, b) return a > b end)

-- Recursion in Lua, and through C (string.gsub calls back).

local function fib(n)
    if n < 2 then
        return n
    end
    return fib(n - 1) + fib(n - 2)
end

local function nest(depth)
    if depth == 0 then
        return "x"
    end
    return (string.gsub("ab", "b", function() return nest(depth - 1) end))
end

-- Errors leave C frames by longjmp.

local caught = 0
for i = 1, 300 // part do
    local ok = pcall(string.rep)
    if not ok then
        caught = caught + 1
    end
    ok = pcall(function() error({ code = i }) end)
    if not ok then
        caught = caught + 1
    end
end

-- Coroutines, metatables, string building, garbage.

local function range(n)
    return coroutine.wrap(function()
        for i = 1, n do
            coroutine.yield(i)
        end
    end)
end

local sum = 0
for i in range(2000 // part) do
    sum = sum + i
end

local vector = {}
vector.__index = vector
vector.__add = function(a, b)
    return setmetatable({ x = a.x + b.x }, vector)
end
vector.__lt = function(a, b) return a.x < b.x end

local v = setmetatable({ x = 0 }, vector)
local one = setmetatable({ x = 1 }, vector)
for _ = 1, 3000 // part do
    v = v + one
end

local lines = {}
for i = 1, 3000 // part do
    lines[#lines + 1] = ("%d:%s"):format(i, string.rep("x", i % 7))
end
local text = table.concat(lines, ",")
local _, replaced = text:gsub("x", "y")

local chunk = load("local t = {} for i = 1, 100 do t[i] = i * 2.5 end return #t")

collectgarbage()
print(numbers[1], fib(part == 1 and 18 or 12), #nest(part == 1 and 40 or 20), caught, sum, v.x, one < v,
      #text, replaced, chunk())
