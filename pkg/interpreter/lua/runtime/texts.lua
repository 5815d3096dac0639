-- SPDX-FileCopyrightText: The Graft authors
--
-- SPDX-License-Identifier: Apache-2.0

-- string_of converts a string, a number or a boolean to a string.
local function string_of(value)
  return check(type(value) ~= "table" and type(value) ~= "function", tostring(value))
end

-- text converts a value that is embedded in a string. It fails for small numbers, which Lua writes with an exponent.
local function text(v)
  local kind = type(v)
  check(kind == "string" or kind == "boolean" or kind == "number" and (v == 0 or math.abs(v) >= 0.0001))
  return tostring(v)
end

-- string_in returns a value that must be a string.
local function string_in(value)
  return check(type(value) == "string", value)
end

-- starts_with reports whether a string starts with another.
local function starts_with(value, prefix)
  return string.sub(string_in(value), 1, #string_in(prefix)) == prefix
end

-- ends_with reports whether a string ends with another.
local function ends_with(value, suffix)
  return #string_in(suffix) <= #string_in(value) and string.sub(value, #value - #suffix + 1) == suffix
end

-- includes reports whether a string contains another.
local function includes(value, part)
  return string.find(string_in(value), string_in(part), 1, true) ~= nil
end

-- matches reports whether one of some Lua patterns matches a string.
local function matches(value, ...)
  for _, pattern in ipairs({...}) do
    if string.find(string_in(value), pattern) then
      return true
    end
  end
  return false
end

-- code_of returns the code point of a character.
local function code_of(rune)
  local first, code = string.byte(rune, 1, 1), nil
  if #rune == 1 then
    return first
  end
  code = first % 2 ^ (7 - #rune)
  for i = 2, #rune do
    code = code * 64 + string.byte(rune, i, i) % 64
  end
  return code
end

-- reached returns the steps of an automaton after a character, and true if the automaton accepts.
local function reached(program, steps, first, last)
  local waiting, seen, taking = steps, {}, {}
  while #waiting > 0 do
    local number = table.remove(waiting)
    local step = program[number]
    if step[1] == "match" then
      return true
    elseif step[1] == "rune" and not seen[number] then
      taking[#taking + 1] = step
    elseif not seen[number] and (step[1] == "to" or step[1] == "first" and first or step[1] == "last" and last) then
      for i = 2, #step do
        waiting[#waiting + 1] = step[i]
      end
    end
    seen[number] = true
  end
  return taking
end

-- accepts reports whether an automaton accepts a part of a string.
local function accepts(value, program)
  local found, steps = runes(value), {}
  for i = 1, #found + 1 do
    steps[#steps + 1] = program.start
    local taking = reached(program, steps, i == 1, i > #found)
    if taking == true or i > #found then
      return taking == true
    end
    local code = code_of(found[i])
    steps = {}
    for _, step in ipairs(taking) do
      for j = 3, #step, 2 do
        if code >= step[j] and code <= step[j + 1] then
          steps[#steps + 1] = step[2]
        end
      end
    end
  end
end

-- split splits a string at a separator that is not empty.
local function split(value, separator)
  local parts, from = {}, 1
  while true do
    local first, last = string.find(string_in(value), separator, from, true)
    if not first then
      parts[#parts + 1] = string.sub(value, from)
      return parts
    end
    parts[#parts + 1] = string.sub(value, from, first - 1)
    from = last + 1
  end
end

-- split_any splits a string at a separator, or into characters.
local function split_any(value, separator)
  if separator == "" then
    return runes(value)
  end
  return split(value, string_in(separator))
end

-- join joins strings.
local function join(value, separator)
  for _, item in ipairs(list(value)) do
    string_in(item)
  end
  return table.concat(value, separator)
end

-- replace replaces occurrences of a string.
local function replace(value, old, new)
  check(old ~= "")
  return table.concat(split(value, string_in(old)), string_in(new))
end

-- substring returns a part of a string, by character positions.
local function substring(value, from, to)
  local found = runes(value)
  to = to or #found
  check(from >= 0 and to <= #found and from <= to)
  if from == to then
    return ""
  end
  return table.concat(found, "", from + 1, to)
end

-- char_at returns a character of a string.
local function char_at(value, position)
  local found = runes(value)
  check(position >= 0 and position <= #found)
  return found[position + 1] or ""
end

-- index_of returns the position of the first occurrence of a string in another, in characters, or -1.
local function index_of(value, part)
  local first = string.find(string_in(value), string_in(part), 1, true)
  if not first then
    return -1
  end
  return #runes(string.sub(value, 1, first - 1))
end

-- shift changes the case of ASCII letters.
local function shift(value, first, last, by)
  local out = {}
  for i = 1, #string_in(value) do
    local byte = string.byte(value, i, i)
    if byte >= first and byte <= last then
      byte = byte + by
    end
    out[i] = string.char(byte)
  end
  return table.concat(out)
end

-- lower_ascii converts ASCII letters to lower case.
local function lower_ascii(value)
  return shift(value, 65, 90, 32)
end

-- upper_ascii converts ASCII letters to upper case.
local function upper_ascii(value)
  return shift(value, 97, 122, -32)
end
