-- SPDX-FileCopyrightText: The Graft authors
--
-- SPDX-License-Identifier: Apache-2.0

-- null is what an expression writes so: no field of an object that Karmada hands over is.
local function null() end

-- none is what is absent.
local function none() end

-- fail refuses to answer.
local function fail(message)
  error(message, 0)
end

-- is_list says whether a value is a list. Karmada hands over empty lists and empty objects alike: such a table is both.
local function is_list(value)
  return type(value) == "table" and (value[1] ~= nil or next(value) == nil)
end

-- is_map says whether a value is an object.
local function is_map(value)
  return type(value) == "table" and value[1] == nil
end

-- find is what stands below a value at keys and positions, or none.
local function find(value, ...)
  for _, key in ipairs({...}) do
    if type(value) ~= "table" then
      return none
    end
    if type(key) == "number" then
      key = key + 1
    elseif value[1] ~= nil then
      fail("there is a list where an object must be")
    end
    value = value[key]
    if value == nil then
      return none
    end
  end
  return value
end

-- has says whether a value has a field.
local function has(value, key)
  return find(value, key) ~= none
end

-- at is what stands below a value at keys, which must be there.
local function at(value, ...)
  for _, key in ipairs({...}) do
    value = find(value, key)
    if value == none then
      fail("there is no " .. key)
    end
  end
  return value
end

-- index is what stands in a value at a key or a position that was computed, which must be there.
local function index(value, key)
  local found = find(value, key)
  if found == none then
    fail("there is no such key")
  end
  return found
end

-- get is what stands below a value at keys and positions, or else the default.
local function get(default, ...)
  local found = find(...)
  if found == none then
    return default
  end
  return found
end

-- or_else is a value that may be absent, or else what is computed.
local function or_else(value, default)
  if value == none then
    return default()
  end
  return value
end

-- present is a value that may be absent, and must not be.
local function present(value)
  if value == none then
    fail("optional.none() dereference")
  end
  return value
end

-- non_zero is a value, or none where it is empty.
local function non_zero(value)
  if value == null or value == 0 or value == "" or value == false or type(value) == "table" and next(value) == nil then
    return none
  end
  return value
end
