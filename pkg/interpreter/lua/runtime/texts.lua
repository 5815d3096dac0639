-- SPDX-FileCopyrightText: The Graft authors
--
-- SPDX-License-Identifier: Apache-2.0

-- decimal writes a number as JSON does.
local function decimal(number)
  local digits_before, power = string.match(tostring(number), "^(.*)e%-0?(%d+)$")
  if is_whole(number) then
    return tostring(number)
  elseif math.abs(number) < 0.000001 then
    return digits_before .. "e-" .. power
  end
  for digits = 1, 20 do
    local written = string.format("%." .. digits .. "f", number)
    if tonumber(written) == number then
      return written
    end
  end
  return tostring(number)
end

-- string_of makes a text of a text, a number, true or false.
local function string_of(value)
  if type(value) == "table" or type(value) == "function" then
    fail("string cannot take the value that it was given")
  end
  return tostring(value)
end

-- text writes a value within a text.
local function text(value)
  if type(value) == "number" then
    return decimal(value)
  elseif type(value) == "table" or type(value) == "function" then
    fail("the value cannot be written as text")
  end
  return tostring(value)
end

-- string_in is a value that must be a text.
local function string_in(value)
  if type(value) ~= "string" then
    fail("no such overload")
  end
  return value
end

-- starts_with says whether a text begins with another.
local function starts_with(value, prefix)
  return string.sub(string_in(value), 1, #string_in(prefix)) == prefix
end

-- ends_with says whether a text ends with another.
local function ends_with(value, suffix)
  return #string_in(suffix) <= #string_in(value) and string.sub(value, #value - #suffix + 1) == suffix
end

-- includes says whether a text is in another.
local function includes(value, part)
  return string.find(string_in(value), string_in(part), 1, true) ~= nil
end

-- matches says whether one of some patterns of Lua matches a text.
local function matches(value, ...)
  for _, pattern in ipairs({...}) do
    if string.find(string_in(value), pattern) then
      return true
    end
  end
  return false
end

-- code_of is the number of a character.
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

-- reached are the steps of an automaton that take a character, after those that are given; true where it has found what it is for.
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

-- accepts says whether an automaton finds something in a text.
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

-- split takes a text apart.
local function split(value, separator)
  if separator == "" then
    return runes(value)
  end
  local parts, from = {}, 1
  while true do
    local first, last = string.find(string_in(value), string_in(separator), from, true)
    if not first then
      parts[#parts + 1] = string.sub(value, from)
      return parts
    end
    parts[#parts + 1] = string.sub(value, from, first - 1)
    from = last + 1
  end
end

-- join puts texts together.
local function join(value, separator)
  for _, item in ipairs(list(value, "join")) do
    string_in(item)
  end
  return table.concat(value, separator)
end

-- replace writes another text in place of each that is found.
local function replace(value, old, new)
  if old == "" then
    fail("replace needs a text that is replaced")
  end
  return table.concat(split(value, old), string_in(new))
end

-- substring is a part of a text, by the positions of characters.
local function substring(value, from, to)
  local found = runes(value)
  to = to or #found
  if from < 0 or to > #found or from > to then
    fail("index out of bounds")
  elseif from == to then
    return ""
  end
  return table.concat(found, "", from + 1, to)
end

-- char_at is a character of a text.
local function char_at(value, position)
  local found = runes(value)
  if position < 0 or position > #found then
    fail("index out of bounds")
  end
  return found[position + 1] or ""
end

-- index_of is the position of the first character at which a text is found in another, or -1.
local function index_of(value, part)
  local first = string.find(string_in(value), string_in(part), 1, true)
  if not first then
    return -1
  end
  return #runes(string.sub(value, 1, first - 1))
end

-- shift writes letters of ASCII in another case.
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

-- lower_ascii writes capital letters of ASCII as small ones.
local function lower_ascii(value)
  return shift(value, 65, 90, 32)
end

-- upper_ascii writes small letters of ASCII as capital ones.
local function upper_ascii(value)
  return shift(value, 97, 122, -32)
end
