-- SPDX-FileCopyrightText: The Graft authors
--
-- SPDX-License-Identifier: Apache-2.0

-- items returns the items of a list, or the keys of an object.
local function items(value)
  if value[1] ~= nil then
    return value
  end
  local keys = {}
  for key in pairs(value) do
    keys[#keys + 1] = key
  end
  table.sort(keys)
  return keys
end

-- exists_one reports whether a condition holds for exactly one item.
local function exists_one(values, holds)
  local held = 0
  for _, item in ipairs(values) do
    if holds(item) then
      held = held + 1
    end
  end
  return held == 1
end

-- filter returns the items for which a condition holds.
local function filter(values, holds)
  local kept = {}
  for _, item in ipairs(values) do
    if holds(item) then
      kept[#kept + 1] = item
    end
  end
  return kept
end

-- where returns the items of a list whose field has a value.
local function where(values, field, wanted)
  check(values[1] ~= nil or next(values) == nil)
  local kept = {}
  for _, item in ipairs(values) do
    check(get(nil, item, field) ~= nil)
    if item[field] == wanted then
      kept[#kept + 1] = item
    end
  end
  return kept
end

-- map returns the results of a function for each item.
local function map(value, of)
  local made = {}
  for _, item in ipairs(items(value)) do
    made[#made + 1] = of(item)
  end
  return made
end

-- list returns a value that must be a list.
local function list(value)
  return check(is_list(value), value)
end

-- equal reports whether two values are equal.
local function equal(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then
    return a == b
  end
  for key, value in pairs(a) do
    if not equal(value, b[key]) then
      return false
    end
  end
  for key in pairs(b) do
    if a[key] == nil then
      return false
    end
  end
  return true
end

-- compare returns a negative number, 0 or a positive number for less, equal or greater.
local function compare(a, b)
  if type(check(type(a) == type(b), a)) == "boolean" then
    a, b = a and 1 or 0, b and 1 or 0
  end
  return a < b and -1 or a > b and 1 or 0
end

-- extreme_item returns the first item of a list in an order. It skips items that cannot be compared.
local function extreme_item(value, direction)
  local best
  for _, item in ipairs(list(value)) do
    check(type(item) ~= "table" and type(item) ~= "function")
    local done, order = pcall(compare, item, best)
    if best == nil or done and order == direction then
      best = item
    end
  end
  return check(best ~= nil, best)
end

-- max_item returns the largest item of a list.
local function max_item(value)
  return extreme_item(value, 1)
end

-- min_item returns the smallest item of a list.
local function min_item(value)
  return extreme_item(value, -1)
end

-- given returns the fields of an object that are not absent.
local function given(value)
  for key, member in pairs(value) do
    if member == none then
      value[key] = nil
    end
  end
  return value
end

-- given_items returns the items of a list that are not absent.
local function given_items(value)
  local kept = {}
  for _, item in ipairs(value) do
    if item ~= none then
      kept[#kept + 1] = item
    end
  end
  return kept
end

-- is_in reports whether a value is in a list, or is a key of an object.
local function is_in(value, container)
  check(type(container) == "table")
  if is_map(container) then
    return type(value) ~= "function" and container[value] ~= nil
  end
  for _, item in ipairs(container) do
    if equal(item, value) then
      return true
    end
  end
  return false
end

-- holds_item is is_in for a value that is no table.
local function holds_item(value, container)
  check(type(container) == "table")
  if container[1] == nil then
    return container[value] ~= nil
  end
  for _, item in ipairs(container) do
    if item == value then
      return true
    end
  end
  return false
end

-- runes returns the characters of a string.
local function runes(value)
  check(type(value) == "string")
  local found = {}
  for rune in string.gmatch(value, "[%z\1-\127\192-\255][\128-\191]*") do
    found[#found + 1] = rune
  end
  return found
end

-- size returns the number of characters of a string, or of items of a list or an object.
local function size(value)
  if type(value) == "string" then
    return #runes(value)
  end
  return #items(value)
end
