-- SPDX-FileCopyrightText: The Graft authors
--
-- SPDX-License-Identifier: Apache-2.0

-- follow returns the value at a path, or nil.
local function follow(value, path)
  for _, key in ipairs(path) do
    if not is_map(value) then
      return nil
    end
    value = value[key]
  end
  return value
end

-- dotted returns a path as text.
local function dotted(path)
  return table.concat(path, ".")
end

-- put sets the value at a path. nil removes it.
local function put(root, path, value)
  for i = 1, #path - 1 do
    local key = path[i]
    if not is_map(root[key]) then
      if value == nil then
        return
      elseif root[key] ~= nil then
        error(dotted(path) .. ": the parent must be an object", 0)
      end
      root[key] = {}
    end
    root = root[key]
  end
  root[path[#path]] = value
end

-- retain copies the observed object's value at a path, except into items that no longer exist.
local function retain(object, observed, path)
  local kept = follow(observed, path)
  if kept ~= nil then
    put(object, path, copy(kept))
  end
end
