-- SPDX-FileCopyrightText: The Graft authors
--
-- SPDX-License-Identifier: Apache-2.0

-- bool is a condition, which must be true or false.
local function bool(value)
  if type(value) ~= "boolean" then
    fail("no such overload")
  end
  return value
end

-- settle says whether a condition holds for items: the first for which it is what decides does, whatever fails beside it.
local function settle(list, holds, decides)
  local failed
  for _, item in ipairs(list) do
    local done, held = pcall(holds, item)
    if done and held == decides then
      return decides
    elseif not done or type(held) ~= "boolean" then
      failed = failed or not done and held or "no such overload"
    end
  end
  if failed then
    error(failed, 0)
  end
  return not decides
end

-- call computes a condition.
local function call(condition)
  return condition()
end

-- all_of says whether all conditions hold.
local function all_of(...)
  return settle({...}, call, false)
end

-- any_of says whether a condition holds.
local function any_of(...)
  return settle({...}, call, true)
end

-- pick computes one of two values.
local function pick(condition, yes, no)
  if condition then
    return yes()
  end
  return no()
end
