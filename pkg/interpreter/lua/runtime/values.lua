-- SPDX-FileCopyrightText: The Graft authors
--
-- SPDX-License-Identifier: Apache-2.0

-- null is the value null of an expression. Fields of Karmada's objects never have it.
local function null() end

-- none is the value of an absent optional.
local function none() end

-- is_list reports whether a value is a list. An empty table is both list and object, because Karmada does not distinguish them.
local function is_list(value)
  return type(value) == "table" and (value[1] ~= nil or next(value) == nil)
end

-- is_map reports whether a value is an object.
local function is_map(value)
  return type(value) == "table" and value[1] == nil
end

-- child returns the value at a key or position, or nil.
local function child(value, key)
  if type(value) ~= "table" then
    return nil
  elseif type(key) == "number" then
    return value[key + 1]
  elseif value[1] ~= nil then
    error("there is a list where an object must be", 0)
  end
  return value[key]
end

-- at returns the value at keys. It fails if there is none.
local function at(value, ...)
  for _, key in ipairs({...}) do
    value = child(value, key)
    if value == nil then
      error("there is no " .. key, 0)
    end
  end
  return value
end

-- index returns the value at a computed key or position. It fails if there is none.
local function index(value, key)
  local found = child(value, key)
  if found == nil then
    error("there is no such key", 0)
  end
  return found
end

-- get returns the value at keys and positions, or the default.
local function get(default, value, ...)
  for _, key in ipairs({...}) do
    value = child(value, key)
    if value == nil then
      return default
    end
  end
  return value
end

-- or_else returns a value, or the result of a function if it is absent.
local function or_else(value, default)
  if value == none then
    return default()
  end
  return value
end

-- present returns a value, or fails if it is absent.
local function present(value)
  if value == none then
    error("optional.none() dereference", 0)
  end
  return value
end

-- non_zero returns a value, or none if it is empty.
local function non_zero(value)
  if value == null or value == 0 or value == "" or value == false or type(value) == "table" and next(value) == nil then
    return none
  end
  return value
end
