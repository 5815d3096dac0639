-- SPDX-FileCopyrightText: The Graft authors
--
-- SPDX-License-Identifier: Apache-2.0

-- bool returns a condition's value, or fails if it is not a boolean.
local function bool(value)
  if type(value) ~= "boolean" then
    error("no such overload", 0)
  end
  return value
end

-- settle returns the result of the first item that decides a condition, even if the condition fails for other items.
-- Without a condition, the items are conditions.
local function settle(list, decides, holds)
  local failed
  for _, item in ipairs(list) do
    local done, held = pcall(holds or item, item)
    if done and held == decides then
      return decides
    elseif not done then
      failed = failed or held
    end
  end
  if failed then
    error(failed, 0)
  end
  return not decides
end

-- all_of reports whether all conditions hold.
local function all_of(...)
  return settle({...}, false)
end

-- any_of reports whether a condition holds.
local function any_of(...)
  return settle({...}, true)
end

-- pick returns one of two values.
local function pick(condition, yes, no)
  if condition then
    return yes()
  end
  return no()
end
