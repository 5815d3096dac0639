-- SPDX-FileCopyrightText: The Graft authors
--
-- SPDX-License-Identifier: Apache-2.0

-- follow is what stands at a path, nil where nothing does.
local function follow(value, path)
  for _, key in ipairs(path) do
    if not is_map(value) then
      return nil
    end
    value = value[key]
  end
  return value
end

-- dotted writes a path.
local function dotted(path)
  return table.concat(path, ".")
end

-- take_away takes the place at a path away.
local function take_away(value, path)
  for i = 1, #path - 1 do
    value = is_map(value) and value[path[i]]
  end
  if is_map(value) then
    value[path[#path]] = nil
  end
end

-- put makes the place at a path a value; null and nil take it away.
local function put(root, path, value)
  value = copy(value)
  if value == nil then
    take_away(root, path)
    return
  end
  for i = 1, #path - 1 do
    local key = path[i]
    if root[key] == nil then
      root[key] = {}
    elseif not is_map(root[key]) then
      fail(dotted(path) .. ": on the way there must be an object")
    end
    root = root[key]
  end
  root[path[#path]] = value
end

-- retain keeps what the observed object has at a path.
local function retain(object, observed, path)
  local kept = follow(observed, path)
  if kept ~= nil then
    put(object, path, kept)
  end
end
