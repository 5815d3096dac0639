-- SPDX-FileCopyrightText: The Graft authors
--
-- SPDX-License-Identifier: Apache-2.0

-- is_whole says whether a number is.
local function is_whole(number)
  return number == math.floor(number)
end

-- exact is a whole number that Lua can count with: below 2^53.
local function exact(number)
  if number >= 9007199254740992 or number <= -9007199254740992 then
    fail("a number is too large for Lua")
  end
  return number
end

-- numbers are what is computed with: two whole numbers, or two that are not.
local function numbers(a, b)
  if type(a) ~= "number" or type(b) ~= "number" or is_whole(a) ~= is_whole(b) then
    fail("no such overload")
  end
end

-- concat is two lists behind each other.
local function concat(a, b)
  local joined = {}
  for _, item in ipairs(a) do
    joined[#joined + 1] = item
  end
  for _, item in ipairs(b) do
    joined[#joined + 1] = item
  end
  return joined
end

-- add is a sum, or two texts or lists behind each other.
local function add(a, b)
  if type(a) == "string" and type(b) == "string" then
    return a .. b
  elseif is_list(a) and is_list(b) then
    return concat(a, b)
  end
  numbers(a, b)
  return exact(a + b)
end

-- sum_items is the sum of a list of whole numbers.
local function sum_items(value)
  local sum = 0
  for _, item in ipairs(list(value, "sum")) do
    sum = add(sum, item)
  end
  return sum
end

-- sub is a difference.
local function sub(a, b)
  numbers(a, b)
  return exact(a - b)
end

-- mul is a product.
local function mul(a, b)
  numbers(a, b)
  return exact(a * b)
end

-- truncate takes what is behind the point of a number away.
local function truncate(number)
  if number < 0 then
    return math.ceil(number)
  end
  return math.floor(number)
end

-- div is a quotient: whole for whole numbers.
local function div(a, b)
  numbers(a, b)
  if not is_whole(a) then
    return a / b
  elseif b == 0 then
    fail("division by zero")
  end
  return truncate(a / b)
end

-- mod is what a division of whole numbers leaves.
local function mod(a, b)
  numbers(a, b)
  if not is_whole(a) then
    fail("no such overload")
  elseif b == 0 then
    fail("modulus by zero")
  end
  return a - truncate(a / b) * b
end

-- minus is a number with the other sign.
local function minus(number)
  if type(number) ~= "number" then
    fail("no such overload")
  end
  return -number
end

-- int makes a whole number of a number or of a text.
local function int(value)
  if type(value) == "string" and string.find(value, "^[+-]?%d+$") then
    return exact(tonumber((string.match(value, "^%+?(.*)$"))))
  elseif type(value) == "number" then
    return exact(truncate(value))
  end
  fail("int cannot take the value that it was given")
end

-- unsigned is a whole number that is not negative.
local function unsigned(number)
  if number < 0 then
    fail("unsigned integer overflow")
  end
  return number
end

-- double makes a number of a number or of a text.
local function double(value)
  if type(value) == "string" and (string.find(value, "^[+-]?%d+%.?%d*$") or string.find(value, "^[+-]?%.%d+$")) then
    return tonumber((string.match(value, "^%+?(.*)$")))
  elseif type(value) == "number" then
    return value
  end
  fail("double cannot take the value that it was given")
end
