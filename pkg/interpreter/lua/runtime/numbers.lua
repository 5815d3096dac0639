-- SPDX-FileCopyrightText: The Graft authors
--
-- SPDX-License-Identifier: Apache-2.0

-- is_whole reports whether a number is whole.
local function is_whole(number)
  return number == math.floor(number)
end

-- exact returns a whole number that Lua represents exactly (below 2^53), or fails.
local function exact(number)
  return check(math.abs(number) < 2 ^ 53, number)
end

-- numbers checks the operands of an arithmetic operator: two whole numbers, or two that are not.
local function numbers(a, b)
  check(type(a) == "number" and type(b) == "number" and is_whole(a) == is_whole(b))
end

-- concat returns the concatenation of two lists.
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

-- add returns a sum, or the concatenation of two strings or lists.
local function add(a, b)
  if type(a) == "string" and type(b) == "string" then
    return a .. b
  elseif is_list(a) and is_list(b) then
    return concat(a, b)
  end
  numbers(a, b)
  return exact(a + b)
end

-- sum_items returns the sum of a list of whole numbers.
local function sum_items(value)
  local sum = 0
  for _, item in ipairs(list(value)) do
    sum = add(sum, item)
  end
  return sum
end

-- sub returns a difference.
local function sub(a, b)
  numbers(a, b)
  return exact(a - b)
end

-- mul returns a product.
local function mul(a, b)
  numbers(a, b)
  return exact(a * b)
end

-- div returns a quotient, which is whole for whole numbers.
local function div(a, b)
  numbers(a, b)
  if not is_whole(a) then
    return a / b
  end
  return (math.modf(a / check(b ~= 0, b)))
end

-- mod returns the remainder of a division of whole numbers.
local function mod(a, b)
  numbers(a, b)
  check(is_whole(a) and b ~= 0)
  return a - math.modf(a / b) * b
end

-- number_in returns a number, or fails if it is none.
local function number_in(value)
  return check(type(value) == "number", value)
end

-- minus returns the negated number.
local function minus(number)
  return -number_in(number)
end

-- int converts a number or a string to a whole number.
local function int(value)
  if type(value) == "string" then
    value = tonumber((string.match(value, "^[+-]?%d+$")))
  end
  value = math.modf(value)
  return check(math.abs(value) < 2 ^ 53, value)
end

-- unsigned returns a whole number, or fails if it is negative.
local function unsigned(number)
  return check(number >= 0, number)
end

-- double converts a number or a string to a floating-point number.
local function double(value)
  if type(value) == "string" and (string.find(value, "^[+-]?%d+%.?%d*$") or string.find(value, "^[+-]?%.%d+$")) then
    return tonumber((string.match(value, "^%+?(.*)$")))
  end
  return number_in(value)
end
