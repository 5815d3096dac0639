-- SPDX-FileCopyrightText: The Graft authors
--
-- SPDX-License-Identifier: Apache-2.0

-- bool returns a condition's value, or fails if it is not a boolean.
local function bool(value)
  return check(type(value) == "boolean", value)
end

-- all reports whether a condition holds for all items. It is false if the condition is false for an item, even if it
-- fails for other items. Without a condition, the items are conditions.
local function all(values, holds)
  local failed
  for _, item in ipairs(values) do
    local done, held = pcall(holds or item, item)
    if done and not held then
      return false
    end
    failed = failed or not done
  end
  return check(not failed, true)
end

-- exists reports whether a condition holds for an item, even if it fails for other items. Without a condition, the
-- items are conditions.
local function exists(values, holds)
  local failed
  for _, item in ipairs(values) do
    local done, held = pcall(holds or item, item)
    if done and held then
      return true
    end
    failed = failed or not done
  end
  return check(not failed, false)
end

-- pick returns one of two values.
local function pick(condition, yes, no)
  if condition then
    return yes()
  end
  return no()
end
