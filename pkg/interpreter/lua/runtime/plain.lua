-- SPDX-FileCopyrightText: The Graft authors
--
-- SPDX-License-Identifier: Apache-2.0

-- follow returns the value at a path, or nil.
local function follow(v, path)
  for _, key in ipairs(path) do
    if not is_map(v) then
      return nil
    end
    v = v[key]
  end
  return v
end

-- put sets the value at a path. nil removes it.
local function put(root, path, v)
  for i = 1, #path - 1 do
    local key = path[i]
    if v == nil and not is_map(root[key]) then
      return
    elseif root[key] == nil then
      root[key] = {}
    end
    root = check(is_map(root[key]), root[key])
  end
  root[path[#path]] = v
end

-- retain copies the observed object's value at a path, except into items that no longer exist.
local function retain(object, observed, path)
  local kept = follow(observed, path)
  if kept ~= nil then
    put(object, path, copy(kept))
  end
end
