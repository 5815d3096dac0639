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

-- all_of says whether all conditions hold. One that is false decides, whatever fails beside it.
local function all_of(...)
  local failed
  for _, condition in ipairs({...}) do
    local done, held = pcall(condition)
    if done and held == false then
      return false
    elseif not done or held ~= true then
      failed = failed or not done and held or "no such overload"
    end
  end
  if failed then
    error(failed, 0)
  end
  return true
end

-- any_of says whether a condition holds. One that is true decides, whatever fails beside it.
local function any_of(...)
  local failed
  for _, condition in ipairs({...}) do
    local done, held = pcall(condition)
    if done and held == true then
      return true
    elseif not done or held ~= false then
      failed = failed or not done and held or "no such overload"
    end
  end
  if failed then
    error(failed, 0)
  end
  return false
end

-- pick computes one of two values.
local function pick(condition, yes, no)
  if condition then
    return yes()
  end
  return no()
end
