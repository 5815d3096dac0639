-- SPDX-FileCopyrightText: The Graft authors
--
-- SPDX-License-Identifier: Apache-2.0

-- check fails unless a condition holds, and names the rule, which the script sets. It returns a value.
local function check(ok, v)
  if not ok then
    error(rule .. ": a value is missing or invalid", 0)
  end
  return v
end

-- null is the value null of an expression. Fields of Karmada's objects never have it.
local function null() end

-- none is the value of an absent optional.
local function none() end

-- is_list reports whether a value is a list. An empty table is both list and object, because Karmada does not distinguish them.
local function is_list(v)
  return type(v) == "table" and (v[1] ~= nil or next(v) == nil)
end

-- is_map reports whether a value is an object.
local function is_map(v)
  return type(v) == "table" and v[1] == nil
end

-- get returns the value at keys and positions, or the default. It fails if there is a list where an object must be.
local function get(d, v, k, ...)
  if k == nil then
    return v
  elseif type(v) ~= "table" then
    return d
  elseif type(k) == "number" then
    k = k + 1
  else
    check(v[1] == nil)
  end
  if v[k] == nil then
    return d
  end
  return get(d, v[k], ...)
end

-- at returns the value at keys and positions. It fails if there is none.
local function at(...)
  local v = get(nil, ...)
  return check(v ~= nil, v)
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
  return check(value ~= none, value)
end

-- non_zero returns a value, or none if it is empty.
local function non_zero(value)
  if value == null or value == 0 or value == "" or value == false or type(value) == "table" and next(value) == nil then
    return none
  end
  return value
end
