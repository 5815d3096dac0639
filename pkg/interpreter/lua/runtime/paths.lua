-- SPDX-FileCopyrightText: The Graft authors
--
-- SPDX-License-Identifier: Apache-2.0

-- copy returns a deep copy. Karmada rejects a table that is used in two places.
local function copy(value)
  if value == null then
    return nil
  elseif type(value) ~= "table" then
    return value
  end
  local copied = {}
  for key, member in pairs(value) do
    check(type(key) == "string" or member ~= null)
    copied[key] = copy(member)
  end
  return copied
end

-- meant reports whether an item has a member with a value: {"name", "a"}. A third element true requires a string.
local function meant(item, step)
  if not is_map(item) then
    return false
  end
  local member = item[step[1]]
  return member == step[2] or not step[3] and (type(member) == "number" or type(member) == "boolean") and tostring(member) == step[2]
end

-- step_to returns the value one step below a value, and its key, or nil.
local function step_to(value, step)
  if type(value) ~= "table" then
    return nil
  elseif type(step) == "table" then
    for i, item in ipairs(value) do
      if meant(item, step) then
        return item, i
      end
    end
    return nil
  elseif type(step) == "string" and value[1] ~= nil then
    return nil
  end
  return value[step], step
end

-- follow returns the value at a path, or nil.
local function follow(value, path)
  for _, step in ipairs(path) do
    value = step_to(value, step)
  end
  return value
end

-- take_away removes the value at a path, or all items that match a selection by member.
local function take_away(value, path)
  for i = 1, #path - 1 do
    value = step_to(value, path[i])
  end
  local last = path[#path]
  if type(value) ~= "table" then
    return
  elseif type(last) == "string" then
    if value[1] == nil then
      value[last] = nil
    end
    return
  end
  for i = #value, 1, -1 do
    if last == i or type(last) == "table" and meant(value[i], last) then
      table.remove(value, i)
    end
  end
end

-- keyed returns a new item with the member that selects it.
local function keyed(step)
  local value = step[2]
  if not step[3] then
    if value == "true" or value == "false" then
      value = value == "true"
    elseif string.find(value, "^-?[1-9]%d*$") and #value < 16 or value == "0" then
      value = tonumber(value)
    end
  end
  return {[step[1]] = value}
end

-- ensure returns the child one step below a value, and creates it if it is missing.
local function ensure(value, path, i)
  local step, next_step = path[i], path[i + 1]
  local in_list = type(next_step) ~= "string"
  local found = step_to(value, step)
  if found ~= nil then
    return check(in_list and is_list(found) or not in_list and is_map(found), found)
  end
  check(type(step) == "string" or type(step) == "table" and not in_list)
  if type(step) == "table" then
    value[#value + 1] = keyed(step)
    return value[#value]
  end
  value[step] = {}
  return value[step]
end

-- put sets the value at a path. nil removes it.
local function put(root, path, value)
  if value == nil then
    take_away(root, path)
    return
  end
  for i = 1, #path - 1 do
    root = ensure(root, path, i)
  end
  local last = path[#path]
  local _, key = step_to(root, last)
  if type(last) == "table" then
    root[key or #root + 1] = value
  else
    check(type(last) ~= "number" or root[last] ~= nil)
    root[last] = value
  end
end

-- reaches reports whether all list items on a path exist.
local function reaches(value, path)
  for i = 1, #path - 1 do
    value = step_to(value, path[i])
    if value == nil and type(path[i]) ~= "string" then
      return false
    end
  end
  return true
end

-- retain copies the observed object's value at a path, except into items that no longer exist.
local function retain(object, observed, path)
  local kept = follow(observed, path)
  if kept ~= nil and reaches(object, path) then
    put(object, path, copy(kept))
  end
end

-- keep copies the status fields at paths.
local function keep(made, status, ...)
  for _, path in ipairs({...}) do
    local value = follow(status, path)
    if value ~= nil then
      put(made, path, copy(value))
    end
  end
end

-- keep_all copies a whole status.
local function keep_all(made, status)
  if is_map(status) then
    for key, value in pairs(status) do
      made[key] = copy(value)
    end
  end
end
